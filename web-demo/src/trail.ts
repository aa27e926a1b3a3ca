import type { Place } from "quickstudy";

/** Strokes the way through the first `rows` of flat states, whose numbers `plane` are the place. */
export function strokeTrail(
  context: CanvasRenderingContext2D,
  states: Float32Array,
  width: number,
  rows: number,
  plane: readonly [number, number],
  { scale, x, y }: Place,
): void {
  context.beginPath();
  for (let at = 0; at < Math.min(rows * width, states.length); at += width) {
    context.lineTo(x + scale * states[at + plane[0]]!, y - scale * states[at + plane[1]]!);
  }
  context.stroke();
}
