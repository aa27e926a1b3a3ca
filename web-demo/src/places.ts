import type { Scene } from "quickstudy";

/** A rectangle of a canvas. */
export interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** A rectangle with pictures in rows and columns. */
export interface Grid extends Box {
  columns: number;
  rows: number;
}

/** Heights that words on the picture take, above and below. */
const [ABOVE, BELOW, BESIDE] = [60, 16, 16];

function scale(aspect: number, { width, height }: Box): number {
  return Math.min(width / aspect, height);
}

/**
 * Where the one in front and the crowd stand: beside it or beneath it, whichever leaves it larger. `ratio` is pixels
 * of the canvas for each of the page.
 */
export function arrange(
  [xmin, xmax, ymin, ymax]: Scene["view"],
  width: number,
  height: number,
  ratio: number,
): { hero: Box; crowd: Grid[] } {
  const aspect = (xmax - xmin) / (ymax - ymin);
  const [wide, high] = [width / ratio, height / ratio];
  const room: Box = {
    left: BESIDE * ratio,
    top: (high > 300 ? ABOVE : 48) * ratio,
    width: width - 2 * BESIDE * ratio,
    height: height - ((high > 300 ? ABOVE : 48) + BELOW) * ratio,
  };
  const columns = wide > 760 ? 3 : wide > 520 ? 2 : 1;
  const rows = high > 320 ? 4 : 3;
  const aside = room.width * [0.17, 0.22, 0.25][columns - 1]!;
  const beside = { ...room, left: room.left + aside, width: room.width - 2 * aside };
  const beneath = { ...room, height: 0.68 * room.height };
  if (scale(aspect, beside) >= scale(aspect, beneath)) {
    const side = { ...room, width: aside, columns, rows };
    return { hero: beside, crowd: [side, { ...side, left: room.left + room.width - aside }] };
  }
  const down = room.height - beneath.height - 12 * ratio;
  const lines = high > 300 ? 2 : 1;
  // As many as fit at their shape, but no more than there are.
  const fitting = Math.floor(room.width / (0.7 * (down / lines) * aspect));
  const across = Math.max(Math.min(fitting, Math.floor(24 / lines)), 3);
  const top = room.top + beneath.height + 12 * ratio;
  return { hero: beneath, crowd: [{ ...room, top, height: down, columns: across, rows: lines }] };
}
