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
