import type { Scene, Shape } from "quickstudy";

/** Colours in which environments draw ground and marks. */
const GROUND: ReadonlySet<number> = new Set([0xe2e4e8, 0x96969e]);
/** Words in which a body that runs along a line says where it is, and how fast. */
const RUNS = /^−?-?[\d.]+ m\s+−?-?[\d.]+ m\/s$/;
/** Part of a picture's width; whatever moves further from one step to the next has begun anew. */
const LEAP = 0.3;

/** True for a scene of a body that runs along a line, past which its view moves with it. */
export function runs({ shapes }: Scene): boolean {
  return shapes.some(({ kind, text }) => kind === "text" && RUNS.test(text ?? ""));
}

/** A scene without its ground, its marks and its words. */
export function body({ view, shapes }: Scene): Scene {
  return { view, shapes: shapes.filter(({ kind, color }) => kind !== "text" && !GROUND.has(color)) };
}

/** The place along the line: the middle of the view, in m. */
export function place({ view: [from, to] }: Scene): number {
  return (from + to) / 2;
}

/** True if a second scene is a step after the first one, not the beginning of another episode. */
export function follows(before: Scene, after: Scene): boolean {
  return Math.abs(place(after) - place(before)) < LEAP * (after.view[1] - after.view[0]);
}

/** A moment between two steps: each point on the straight way from where it was to where it is. */
export function between(before: Scene, after: Scene, part: number): Scene {
  const alike =
    before.shapes.length === after.shapes.length &&
    before.shapes.every(({ kind, points }, i) => {
      const other = after.shapes[i]!;
      return kind === other.kind && points.length === other.points.length;
    });
  if (!alike || !follows(before, after)) {
    return after;
  }
  const leap = LEAP * (after.view[1] - after.view[0]);
  const shapes = after.shapes.map((shape, i): Shape => {
    const from = before.shapes[i]!.points;
    const points = shape.points.map((to, at) => from[at]! + part * (to - from[at]!));
    return shape.points.some((to, at) => Math.abs(to - from[at]!) > leap) ? shape : { ...shape, points };
  });
  const view = after.view.map((to, i) => before.view[i]! + part * (to - before.view[i]!)) as Scene["view"];
  return { view, shapes };
}
