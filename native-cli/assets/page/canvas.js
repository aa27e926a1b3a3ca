/** @typedef {readonly [x: number, y: number]} Point */

/**
 * A canvas that is ready to be painted on, in pixels of the page.
 * @typedef {{ context: CanvasRenderingContext2D, wide: number, high: number }} Paper
 */

/**
 * Makes a canvas as fine as the screen; true if that changed it.
 * @type {(canvas: HTMLCanvasElement) => boolean}
 */
export function sharpen(canvas) {
  const ratio = Math.min(devicePixelRatio, 2);
  const [width, height] = [Math.round(canvas.clientWidth * ratio), Math.round(canvas.clientHeight * ratio)];
  if (width === 0 || (canvas.width === width && canvas.height === height)) return false;
  [canvas.width, canvas.height] = [width, height];
  return true;
}

/**
 * Makes a canvas ready to be painted on, and empty; nothing where it cannot be seen.
 * @type {(canvas: HTMLCanvasElement) => Paper | undefined}
 */
export function prepared(canvas) {
  sharpen(canvas);
  const context = canvas.getContext("2d");
  const [wide, high] = [canvas.clientWidth, canvas.clientHeight];
  if (!context || wide === 0) return undefined;
  const ratio = canvas.width / wide;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, wide, high);
  return { context, wide, high };
}

/**
 * A line through points.
 * @type {(points: readonly Point[]) => Path2D}
 */
export function path(points) {
  const path = new Path2D();
  points.forEach(([x, y]) => path.lineTo(x, y));
  return path;
}

/**
 * Strokes a line through points.
 * @param {CanvasRenderingContext2D} context
 * @param {readonly Point[]} points
 * @param {readonly number[]} [dash]
 */
export function stroke(context, points, dash = []) {
  context.setLineDash([...dash]);
  context.stroke(path(points));
  context.setLineDash([]);
}

/**
 * Fills a circle.
 * @type {(context: CanvasRenderingContext2D, middle: Point, radius: number, colour: string) => void}
 */
export function disc(context, [x, y], radius, colour) {
  context.fillStyle = colour;
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
}
