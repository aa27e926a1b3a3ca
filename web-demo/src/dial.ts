import type { SpecInfo } from "quickstudy";
import { element, freshId, say } from "./dom.js";
import type { TaskKind } from "./task-kinds.js";

/** The numbers of a task as sliders. */
export class Dial {
  #box: HTMLElement;
  #inputs: HTMLInputElement[] = [];
  #outputs: HTMLOutputElement[] = [];
  #unit: TaskKind["unit"] = String;
  #onInput: (dim: number, value: number) => void;

  constructor(box: HTMLElement, onInput: (dim: number, value: number) => void) {
    this.#box = box;
    this.#onInput = onInput;
  }

  /** Makes the sliders of a kind of task. */
  open({ task }: SpecInfo, { control, dims, unit }: TaskKind): void {
    this.#unit = unit;
    this.#box.dataset["count"] = String(task.length);
    this.#inputs = [];
    this.#outputs = [];
    const rows = task.map(({ name, low, high }, dim) => {
      const id = freshId("task");
      const input = element("input", {
        type: "range",
        id,
        min: low ?? -1,
        max: high ?? 1,
        step: 0.01,
        "data-testid": `task-${dim}`,
      });
      const output = element("output", { for: id, "aria-live": "off" });
      input.addEventListener("input", () => this.#onInput(dim, input.valueAsNumber));
      this.#inputs.push(input);
      this.#outputs.push(output);
      return element("div", { class: "slider" }, element("label", { for: id }, dims[dim] ?? name), input, output);
    });
    this.#box.replaceChildren(element("b", { "aria-hidden": "true" }, control), ...rows);
  }

  /** Shows a task. */
  show(task: readonly number[]): void {
    task.forEach((value, dim) => {
      const [input, output] = [this.#inputs[dim], this.#outputs[dim]];
      if (input && output) {
        if (input.valueAsNumber !== value) input.value = String(value);
        input.setAttribute("aria-valuetext", this.#unit(value));
        say(output, this.#unit(value));
      }
    });
  }
}
