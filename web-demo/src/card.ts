/** Makes a canvas as fine as the screen; true if that changed it. */
export function sharpen(canvas: HTMLCanvasElement): boolean {
  const ratio = Math.min(devicePixelRatio, 2);
  const [width, height] = [Math.round(canvas.clientWidth * ratio), Math.round(canvas.clientHeight * ratio)];
  if (width === 0 || (canvas.width === width && canvas.height === height)) {
    return false;
  }
  [canvas.width, canvas.height] = [width, height];
  return true;
}

/** A canvas that is ready to be painted on, in pixels of the page. */
export interface Paper {
  context: CanvasRenderingContext2D;
  wide: number;
  high: number;
}

/** Makes a canvas ready to be painted on; nothing where it cannot be seen. */
export function prepared(canvas: HTMLCanvasElement): Paper | undefined {
  sharpen(canvas);
  const context = canvas.getContext("2d");
  const [wide, high] = [canvas.clientWidth, canvas.clientHeight];
  if (!context || wide === 0) return undefined;
  const ratio = canvas.width / wide;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return { context, wide, high };
}
