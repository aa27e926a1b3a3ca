import { reducedMotion } from "./dom.js";

const calls = new Set<() => void>();
let moves = !reducedMotion();

/** True while pictures move: one switch for all of them. */
export function moving(): boolean {
  return moves;
}

/** Makes a button hold all pictures still, and let them go. */
export function stillSwitch(button: HTMLElement): void {
  const told = (): void => button.setAttribute("aria-pressed", String(!moves));
  button.addEventListener("click", () => {
    moves = !moves;
    calls.forEach((call) => call());
  });
  onMotionChange(told);
  told();
}

/** Calls when pictures are held or let go. */
export function onMotionChange(call: () => void): void {
  calls.add(call);
}
