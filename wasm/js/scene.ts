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

/** The part of a canvas that `paint` needs; that of a page and that of a worker have it. */
export type Canvas2D = Pick<
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
