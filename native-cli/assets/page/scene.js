// The painter of scenes, of this page and of the npm package: the folder is linked into its sources, where types are.
/** @import { Canvas2D, Place, Scene, Shape } from "../scene.js" */

/**
 * Where {@link paint} puts a view: to draw over a picture, or to find what was clicked.
 * @type {(view: Scene["view"], left: number, top: number, width: number, height: number) => Place}
 */
export function place([xmin, xmax, ymin, ymax], left, top, width, height) {
  const scale = Math.min(width / (xmax - xmin), height / (ymax - ymin));
  return {
    scale,
    x: left + (width - scale * (xmax - xmin)) / 2 - scale * xmin,
    y: top + (height - scale * (ymax - ymin)) / 2 + scale * ymax,
  };
}

/**
 * A point of a shape on the canvas; `i` is where its x is.
 * @type {(shape: Shape, i: number, at: Place) => [x: number, y: number]}
 */
function spot({ points }, i, { scale, x, y }) {
  return [x + scale * (points[i] ?? 0), y - scale * (points[i + 1] ?? 0)];
}

/** @type {(color: number) => string} */
function css(color) {
  return `#${color.toString(16).padStart(6, "0")}`;
}

/**
 * Writes a text. Letters are no part of a path.
 * @type {(canvas: Canvas2D, shape: Shape, at: Place, font: string) => void}
 */
function write(canvas, shape, at, font) {
  canvas.fillStyle = css(shape.color);
  canvas.font = `${at.scale * shape.size}px ${font}`;
  canvas.textAlign = "center";
  canvas.fillText(shape.text ?? "", ...spot(shape, 0, at));
}

/**
 * Adds the outline of a shape to the path.
 * @type {(canvas: Canvas2D, shape: Shape, at: Place) => void}
 */
function trace(canvas, shape, at) {
  const [x, y] = spot(shape, 0, at);
  if (shape.kind === "circle") {
    const radius = Math.max(at.scale * shape.size, 0.5);
    // Without it, a line would lead there from the shape before.
    canvas.moveTo(x + radius, y);
    canvas.arc(x, y, radius, 0, 2 * Math.PI);
    return;
  }
  canvas.moveTo(x, y);
  for (let i = 2; i < shape.points.length; i += 2) canvas.lineTo(...spot(shape, i, at));
}

/**
 * Fills or strokes the path in the way of a shape.
 * @type {(canvas: Canvas2D, shape: Shape, scale: number) => void}
 */
function ink(canvas, { kind, color, size }, scale) {
  if (kind === "line" || kind === "polyline") {
    canvas.strokeStyle = css(color);
    canvas.lineWidth = Math.max(scale * size, 1);
    canvas.stroke();
  } else {
    canvas.fillStyle = css(color);
    canvas.fill();
  }
}

/**
 * Whether two shapes can be parts of one path.
 * @type {(a: Shape, b: Shape) => boolean}
 */
function alike(a, b) {
  return a.kind === b.kind && a.color === b.color && a.size === b.size;
}

/**
 * Paints scenes at their places, shape by shape: those that look alike in scene after scene at once.
 * @param {Canvas2D} canvas
 * @param {readonly (readonly [Scene, Place])[]} all
 * @param {string} font
 */
function paintAt(canvas, all, font = "sans-serif") {
  canvas.lineCap = "round";
  canvas.lineJoin = "round";
  const most = all.reduce((count, [{ shapes }]) => Math.max(count, shapes.length), 0);
  for (let i = 0; i < most; i++) {
    /** @type {[Shape, number] | undefined} */
    let last;
    for (const [{ shapes }, at] of all) {
      const shape = shapes[i];
      if (!shape) {
        continue;
      }
      if (shape.kind === "text") {
        if (last) ink(canvas, ...last);
        last = undefined;
        write(canvas, shape, at, font);
        continue;
      }
      if (!last || !alike(last[0], shape) || last[1] !== at.scale) {
        if (last) ink(canvas, ...last);
        canvas.beginPath();
        last = [shape, at.scale];
      }
      trace(canvas, shape, at);
    }
    if (last) ink(canvas, ...last);
  }
}

/**
 * Paints a scene into a rectangle of a canvas, as large as fits, in its middle.
 * @param {Canvas2D} canvas
 * @param {Scene} scene
 * @param {number} left
 * @param {number} top
 * @param {number} width
 * @param {number} height
 * @param {string} [font] The family of letters.
 */
export function paint(canvas, scene, left, top, width, height, font) {
  paintAt(canvas, [[scene, place(scene.view, left, top, width, height)]], font);
}

/**
 * Paints scenes into a canvas of this width and height, row by row of a grid of so many columns, `gap` apart. Shapes
 * that look alike in scene after scene are painted at once, so that hundreds of scenes keep pace with the screen.
 * @param {Canvas2D} canvas
 * @param {readonly Scene[]} all
 * @param {number} columns
 * @param {number} width
 * @param {number} height
 */
export function paintGrid(canvas, all, columns, width, height, gap = 2) {
  const [across, down] = [width / columns, height / Math.ceil(all.length / columns)];
  paintAt(
    canvas,
    all.map((scene, i) => {
      const [left, top] = [(i % columns) * across + gap / 2, Math.floor(i / columns) * down + gap / 2];
      return [scene, place(scene.view, left, top, across - gap, down - gap)];
    }),
  );
}
