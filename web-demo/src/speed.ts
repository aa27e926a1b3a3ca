import type { DeviceInfo } from "quickstudy";
import { element, say } from "./dom.js";
import { compact } from "./format.js";

/** Milliseconds between figures: more often nobody can read. */
const PACE = 500;

/** The pill in the header: how fast the run of the room is, and on what. */
export class Speed {
  #box: HTMLElement;
  #figure = element("b");
  #place = element("span");
  #told = 0;

  constructor(box: HTMLElement) {
    this.#box = box;
    box.replaceChildren(element("i", { "aria-hidden": "true" }), this.#figure, this.#place);
    this.rest();
  }

  /** Names where it runs; the reason is shown on demand. */
  device({ kind, reason }: DeviceInfo): void {
    say(this.#place, `${kind === "gpu" ? "on WebGPU" : "on the processor"}, in this tab`);
    this.#box.title = reason ?? "";
  }

  /** Shows steps per second. */
  show(perSecond: number): void {
    const now = performance.now();
    if (now - this.#told >= PACE) {
      this.#told = now;
      say(this.#figure, `${compact(perSecond)} steps/s`);
      this.#box.classList.add("busy");
    }
  }

  /** Nothing is trained. */
  rest(): void {
    this.#told = 0;
    say(this.#figure, "Ready");
    this.#box.classList.remove("busy");
  }
}
