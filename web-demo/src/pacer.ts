import type { Place } from "quickstudy";
import { theme } from "./theme.js";

/** Height of the pacer's post in metres, and pixels that it stays away from the edges. */
const [HEIGHT, EDGE] = [0.86, 14];

/** The line in pixels below the top on which a picture's corners say how far and how fast. */
export const corners = (small: boolean): number => (small ? 18 : 30);

/** The line for words above a runner's back, in pixels below the top. */
export const overhead = ({ scale, y }: Place): number => y - 1.02 * scale;

/** Narrow pictures write small, and so do low ones, where the runner's back reaches up to the words of the corners. */
export const writesSmall = (wide: number, place: Place): boolean => wide < 200 || overhead(place) < corners(false) + 18;

/**
 * Paints the pacer: a green post with a pennant at the place where whoever keeps the asked speed would be. One that is
 * out of the picture is an arrow at its edge, with the metres to it.
 */
export function paintPacer(
  context: CanvasRenderingContext2D,
  wide: number,
  place: Place,
  metre: number,
  ahead: number,
  asked: number,
): void {
  const colours = theme();
  const { scale, x, y } = place;
  const small = writesSmall(wide, place);
  const here = x + scale * metre;
  const top = y - HEIGHT * scale;
  context.save();
  context.fillStyle = context.strokeStyle = colours.goal;
  context.font = `600 ${small ? 11 : 12}px ${getComputedStyle(context.canvas).fontFamily}`;
  context.textBaseline = "middle";
  context.lineCap = "round";
  if (here >= EDGE && here <= wide - EDGE) {
    context.lineWidth = small ? 2 : 3;
    context.beginPath();
    context.moveTo(here, y);
    context.lineTo(here, top);
    context.stroke();
    const flag = small ? 8 : 14;
    // The pennant flies backwards, as it moves.
    context.beginPath();
    context.moveTo(here, top);
    context.lineTo(here - 1.4 * flag, top + 0.5 * flag);
    context.lineTo(here, top + flag);
    context.fill();
    context.beginPath();
    context.ellipse(here, y + 1, small ? 6 : 10, small ? 2 : 3, 0, 0, 2 * Math.PI);
    context.fill();
    tag(context, wide, small, `${small ? "" : "pacer "}${asked.toFixed(1)} m/s`, colours.ink);
  } else {
    // An arrow beside the head, or in the corner where there is no room.
    const right = here > wide / 2;
    const [edge, size] = [right ? wide - EDGE / 2 : EDGE / 2, small ? 6 : 10];
    const [inwards, from] = [right ? -1 : 1, small ? 8 : top];
    context.beginPath();
    context.moveTo(edge, from + size);
    context.lineTo(edge + inwards * 1.2 * size, from);
    context.lineTo(edge + inwards * 1.2 * size, from + 2 * size);
    context.fill();
    context.fillStyle = colours.ink;
    context.textAlign = right ? "right" : "left";
    context.fillText(`${Math.abs(ahead).toFixed(1)} m`, edge + inwards * (1.2 * size + 5), from + size);
    if (!small) tag(context, wide, small, `pacer ${asked.toFixed(1)} m/s`, colours.ink);
  }
  context.restore();
}

/** Says in the corner how fast it is. */
function tag(context: CanvasRenderingContext2D, wide: number, small: boolean, text: string, colour: string): void {
  context.fillStyle = colour;
  context.textAlign = "right";
  context.textBaseline = "alphabetic";
  context.fillText(text, wide - (small ? 8 : 16), corners(small));
}
