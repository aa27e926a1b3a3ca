import type { Scene } from "quickstudy";

/** Where a view lies on a canvas, as `paint` lays it there. */
export interface Fit {
  scale: number;
  left: number;
  top: number;
}

/** Of a scene that is painted into a rectangle. */
export function fit({ view: [xmin, xmax, ymin, ymax] }: Scene, left: number, top: number, width: number, height: number): Fit {
  const scale = Math.min(width / (xmax - xmin), height / (ymax - ymin));
  return {
    scale,
    left: left + (width - scale * (xmax - xmin)) / 2 - scale * xmin,
    top: top + (height - scale * (ymax - ymin)) / 2 + scale * ymax,
  };
}

/** Strokes the way through the first `rows` of flat states, whose numbers `plane` are the place. */
export function strokeTrail(
  context: CanvasRenderingContext2D,
  states: Float32Array,
  width: number,
  rows: number,
  plane: readonly [number, number],
  { scale, left, top }: Fit,
): void {
  context.beginPath();
  for (let at = 0; at < Math.min(rows * width, states.length); at += width) {
    context.lineTo(left + scale * states[at + plane[0]]!, top - scale * states[at + plane[1]]!);
  }
  context.stroke();
}
