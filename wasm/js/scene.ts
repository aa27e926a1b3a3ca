/** One shape of a picture; lengths are in the units of its view. */
export interface Shape {
  kind: "line" | "circle" | "polygon" | "polyline" | "text";
  /** `0xrrggbb`. */
  color: number;
  /** Width of strokes, radius of circles, height of letters. */
  size: number;
  /** x and y of each point in turn: ends, centre, corners, the middle of a text's baseline. */
  points: Float32Array;
  /** The letters of a text. */
  text?: string;
}

/** A picture of one state: shapes painted in order. */
export interface Scene {
  /** `[xmin, xmax, ymin, ymax]`, y upwards; keep its aspect ratio. */
  view: [number, number, number, number];
  shapes: Shape[];
}

const KINDS = ["line", "circle", "polygon", "polyline", "text"] as const;

/** A shape of the flat list: the points of a text are its place, then one for each character. */
function shape(kind: Shape["kind"], color: number, size: number, points: Float32Array): Shape {
  if (kind !== "text") return { kind, color, size, points };
  const letters = points.subarray(2).filter((_, i) => i % 2 === 0);
  return { kind, color, size, points: points.subarray(0, 2), text: String.fromCodePoint(...letters) };
}

/** Scenes from the flat list that `Viewer` and `draw` give. */
export function* scenes(list: Float32Array): Generator<Scene> {
  let at = 0;
  while (at < list.length) {
    const count = list[at]!;
    const view: Scene["view"] = [list[at + 1]!, list[at + 2]!, list[at + 3]!, list[at + 4]!];
    at += 5;
    const shapes: Shape[] = [];
    for (let i = 0; i < count; i++) {
      const [kind, color, size, points] = [list[at]!, list[at + 1]!, list[at + 2]!, list[at + 3]!];
      shapes.push(shape(KINDS[kind]!, color, size, list.subarray(at + 4, at + 4 + 2 * points)));
      at += 4 + 2 * points;
    }
    yield { view, shapes };
  }
}

/** The part of a canvas that {@link paint} needs; that of a page and that of a worker have it. */
type Canvas2D = Pick<
  CanvasRenderingContext2D,
  | "beginPath"
  | "moveTo"
  | "lineTo"
  | "closePath"
  | "arc"
  | "fill"
  | "stroke"
  | "lineCap"
  | "lineJoin"
  | "lineWidth"
  | "fillStyle"
  | "strokeStyle"
  | "fillText"
  | "font"
  | "textAlign"
>;

/** Where a view lies on a canvas: a point of it is at `x + scale * point.x`, `y - scale * point.y`. */
export interface Place {
  scale: number;
  x: number;
  y: number;
}

/** Where {@link paint} puts a view: to draw over a picture, or to find what was clicked. */
export function place(
  [xmin, xmax, ymin, ymax]: Scene["view"],
  left: number,
  top: number,
  width: number,
  height: number,
): Place {
  const scale = Math.min(width / (xmax - xmin), height / (ymax - ymin));
  return {
    scale,
    x: left + (width - scale * (xmax - xmin)) / 2 - scale * xmin,
    y: top + (height - scale * (ymax - ymin)) / 2 + scale * ymax,
  };
}

/** Writes a text. Letters are no part of a path. */
function write(canvas: Canvas2D, { color, size, points, text }: Shape, { scale, x, y }: Place): void {
  canvas.fillStyle = css(color);
  canvas.font = `${scale * size}px sans-serif`;
  canvas.textAlign = "center";
  canvas.fillText(text ?? "", x + scale * points[0]!, y - scale * points[1]!);
}

function css(color: number): string {
  return `#${color.toString(16).padStart(6, "0")}`;
}

/** Adds the outline of a shape to the path. */
function trace(canvas: Canvas2D, { kind, size, points }: Shape, { scale, x, y }: Place): void {
  if (kind === "circle") {
    const [cx, cy, radius] = [x + scale * points[0]!, y - scale * points[1]!, Math.max(scale * size, 0.5)];
    // Without it, a line would lead there from the shape before.
    canvas.moveTo(cx + radius, cy);
    canvas.arc(cx, cy, radius, 0, 2 * Math.PI);
    return;
  }
  for (let i = 0; i < points.length; i += 2) {
    const [px, py] = [x + scale * points[i]!, y - scale * points[i + 1]!];
    if (i === 0) canvas.moveTo(px, py);
    else canvas.lineTo(px, py);
  }
}

/** Fills or strokes the path in the way of a shape. */
function ink(canvas: Canvas2D, { kind, color, size }: Shape, scale: number): void {
  const style = css(color);
  if (kind === "line" || kind === "polyline") {
    canvas.strokeStyle = style;
    canvas.lineWidth = Math.max(scale * size, 1);
    canvas.stroke();
  } else {
    canvas.fillStyle = style;
    canvas.fill();
  }
}

/** Whether two shapes can be parts of one path. */
function alike(a: Shape, b: Shape): boolean {
  return a.kind === b.kind && a.color === b.color && a.size === b.size;
}

function paintAt(canvas: Canvas2D, all: readonly (readonly [Scene, Place])[]): void {
  canvas.lineCap = "round";
  canvas.lineJoin = "round";
  const most = all.reduce((count, [{ shapes }]) => Math.max(count, shapes.length), 0);
  for (let i = 0; i < most; i++) {
    let last: [Shape, number] | undefined;
    for (const [{ shapes }, at] of all) {
      const shape = shapes[i];
      if (!shape) {
        continue;
      }
      if (shape.kind === "text") {
        if (last) ink(canvas, ...last);
        last = undefined;
        write(canvas, shape, at);
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

/** Paints a scene into a rectangle of a canvas, as large as fits, in its middle. */
export function paint(canvas: Canvas2D, scene: Scene, left: number, top: number, width: number, height: number): void {
  paintAt(canvas, [[scene, place(scene.view, left, top, width, height)]]);
}

/**
 * Paints scenes into a canvas of this width and height, row by row of a grid of so many columns, `gap` apart. Shapes
 * that look alike in scene after scene are painted at once, so that hundreds of scenes keep pace with the screen.
 */
export function paintGrid(
  canvas: Canvas2D,
  all: readonly Scene[],
  columns: number,
  width: number,
  height: number,
  gap = 2,
): void {
  const [across, down] = [width / columns, height / Math.ceil(all.length / columns)];
  const placed = all.map((scene, i) => {
    const [left, top] = [(i % columns) * across + gap / 2, Math.floor(i / columns) * down + gap / 2];
    return [scene, place(scene.view, left, top, across - gap, down - gap)] as const;
  });
  paintAt(canvas, placed);
}
