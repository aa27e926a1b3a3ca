import type { Session } from "quickstudy";
import { button, element, freshId, say } from "./dom.js";
import { picked, type Picked } from "./files.js";
import { compact, count } from "./format.js";

/** What a run is doing. */
export type State = "preparing" | "ready" | "training" | "paused" | "finished" | "failed";

const LABELS: Record<State, string> = {
  preparing: "Train",
  ready: "Train",
  training: "Pause",
  paused: "Continue",
  finished: "Train longer",
  failed: "Try again",
};

/** What buttons ask for. */
export interface Presses {
  primary(): void;
  reset(): void;
  save(): void;
  load(file: Picked): void;
  copy(): void;
}

/** The buttons of a run, and what it says about itself. */
export class Controls {
  #primary: HTMLButtonElement;
  #save: HTMLButtonElement;
  #status = element("p", { role: "status", class: "status", "data-testid": "status" });
  #figures = element("p", { class: "figures", "data-testid": "figures" });
  #device = element("p", { class: "device", "data-testid": "device-sentence" });
  #bar = element("progress", { max: 1, value: 0, "aria-label": "Steps made of those to make" });

  constructor(box: HTMLElement, presses: Presses) {
    this.#primary = button("Train", () => presses.primary(), { class: "primary", "data-testid": "train" });
    this.#save = button("Save", () => presses.save(), { "data-testid": "save" });
    const file = element("input", { type: "file", accept: ".safetensors", id: freshId("load"), "data-testid": "load" });
    file.addEventListener("change", () => void picked(file).then((found) => found && presses.load(found)));
    const buttons = element("div", { class: "buttons" });
    buttons.append(
      this.#primary,
      button("Reset", () => presses.reset(), { "data-testid": "reset" }),
      this.#save,
      element("label", { class: "file", for: file.id }, "Load", file),
      button("Copy link", () => presses.copy(), { "data-testid": "copy-link" }),
    );
    box.replaceChildren(buttons, this.#bar, this.#status, this.#figures, this.#device);
  }

  /** Shows what the run is doing, and whether there is one to save; the text is also read out. */
  enter(state: State, text: string, savable: boolean): void {
    this.#primary.textContent = LABELS[state];
    this.#save.disabled = !savable;
    this.tell(text);
  }

  /** Says something, also to those who do not look there. */
  tell(text: string): void {
    say(this.#status, text);
  }

  /** How far it is. */
  progress(made: number, total: number, perSecond?: number): void {
    this.#bar.value = made / total;
    const rate = perSecond === undefined ? "" : ` · ${compact(perSecond)} steps per second`;
    say(this.#figures, `${count(made)} of ${count(total)} steps${rate}`);
  }

  /** Where it runs, and why there. */
  device({ kind, name, reason }: Session["device"]): void {
    const text = reason ?? `training on the ${kind === "gpu" ? "GPU" : "CPU"}${name && `: ${name}`}`;
    say(this.#device, `${text.charAt(0).toUpperCase()}${text.slice(1)}.`);
  }
}
