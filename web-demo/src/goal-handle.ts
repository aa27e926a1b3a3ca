import type { Place, SpecInfo } from "quickstudy";
import { element } from "./dom.js";

/** Told where a goal is put. */
export type Pick = (x: number, y: number) => void;

/** Parts of a goal's range that a key moves it by, and with Shift. */
const [STEP, LEAP] = [0.02, 0.1];

/** The goal of a plane as something to drag, or to move by arrow keys. */
export class GoalHandle {
  #root: HTMLElement;
  #spec: SpecInfo;
  #task: readonly number[] = [0, 0];
  held = false;

  /** Lies over `picture`, which may be pressed anywhere; `place` says where its plane is, in pixels of the page. */
  constructor(picture: HTMLElement, spec: SpecInfo, place: () => Place, pick: Pick) {
    this.#spec = spec;
    this.#root = element("span", {
      class: "goal",
      role: "slider",
      tabindex: 0,
      "aria-label": "Goal",
      "data-testid": "goal",
    });
    picture.append(this.#root);
    picture.classList.add("pressable");
    const moved = ({ clientX, clientY }: PointerEvent): void => {
      const { left, top } = picture.getBoundingClientRect();
      const { scale, x, y } = place();
      pick((clientX - left - x) / scale, (y - (clientY - top)) / scale);
    };
    picture.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      picture.setPointerCapture(event.pointerId);
      this.held = true;
      moved(event);
      this.#root.focus({ preventScroll: true });
      event.preventDefault();
    });
    picture.addEventListener("pointermove", (event) => this.held && moved(event));
    for (const end of ["pointerup", "pointercancel", "lostpointercapture"]) {
      picture.addEventListener(end, () => (this.held = false));
    }
    this.#root.addEventListener("keydown", (event) => {
      const by = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
      if (by) {
        event.preventDefault();
        const part = event.shiftKey ? LEAP : STEP;
        const [x, y] = this.#task.map((value, i) => value + by[i]! * part * this.#range(i)) as [number, number];
        pick(x, y);
      }
    });
  }

  #range(dim: number): number {
    const { low, high } = this.#spec.task[dim] ?? { low: null, high: null };
    return (high ?? 1) - (low ?? -1);
  }

  /** Puts it where the goal is seen. */
  put(task: readonly number[], [left, top]: readonly [number, number]): void {
    this.#task = task;
    const [x, y] = task as [number, number];
    const [across] = this.#spec.task;
    this.#root.style.translate = `${left.toFixed(1)}px ${top.toFixed(1)}px`;
    this.#root.setAttribute("aria-valuemin", String(across?.low ?? -1));
    this.#root.setAttribute("aria-valuemax", String(across?.high ?? 1));
    this.#root.setAttribute("aria-valuenow", x.toFixed(2));
    this.#root.setAttribute("aria-valuetext", `${words(x, "right", "left")}, ${words(y, "up", "down")}`);
  }
}

/** `0.35 left` */
function words(value: number, more: string, less: string): string {
  return `${Math.abs(value).toFixed(2)} ${value < 0 ? less : more}`;
}
