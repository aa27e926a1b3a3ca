import { reducedMotion } from "./dom.js";

const calls = new Set<() => void>();
let moves = !reducedMotion();

/** Whether pictures move: one switch for all of them. */
export function moving(): boolean {
  return moves;
}

/** Lets pictures move, or holds them still. */
export function setMoving(on: boolean): void {
  if (on !== moves) {
    moves = on;
    calls.forEach((call) => call());
  }
}

/** Calls when pictures are held or let go. */
export function onMotionChange(call: () => void): void {
  calls.add(call);
}
