import type { Session } from "quickstudy";
import { button, byId, element, freshId, say } from "./dom.js";
import { picked, type Picked } from "./files.js";
import { count } from "./format.js";
import { Speed } from "./speed.js";

/** What a run is doing. */
export type State = "preparing" | "ready" | "training" | "paused" | "finished" | "failed";

const LABELS: Record<State, string> = {
  preparing: "Train",
  ready: "Train",
  training: "Pause",
  paused: "Go on",
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

/** All runs of the page share one pill, for one of them trains at a time. */
let speed: Speed | undefined;

/** The buttons of a run, and what it says about itself. */
export class Controls {
  #primary: HTMLButtonElement;
  #label = element("span", {}, "Train");
  #save: HTMLButtonElement;
  #status = element("p", { role: "status", class: "status", "data-testid": "status" });
  #figures = element("p", { class: "figures", "data-testid": "figures" });
  #device = element("p", { class: "unseen", "data-testid": "device-sentence" });
  #speed = (speed ??= new Speed(byId("speed")));

  /** Buttons of the run in `box`, those of files in `files`. */
  constructor(box: HTMLElement, files: HTMLElement, presses: Presses) {
    this.#primary = button("", () => presses.primary(), { class: "play", "data-testid": "train" });
    this.#primary.append(this.#label);
    this.#save = button("Save policy", () => presses.save(), { class: "text", "data-testid": "save" });
    const file = element("input", { type: "file", accept: ".safetensors", id: freshId("load"), "data-testid": "load" });
    file.addEventListener("change", () => void picked(file).then((found) => found && presses.load(found)));
    const told = element("div", { class: "told" }, this.#status, this.#figures, this.#device);
    const small = element("div", { class: "small" });
    small.append(
      button("Start over", () => presses.reset(), { class: "text", "data-testid": "reset" }),
      button("Copy link", () => presses.copy(), { class: "text", "data-testid": "copy-link" }),
    );
    box.replaceChildren(this.#primary, told, small);
    files.replaceChildren(this.#save, element("label", { class: "file text", for: file.id }, "Load policy", file));
  }

  /** Shows what the run is doing, and whether there is one to save; the text is also read out. */
  enter(state: State, text: string, savable: boolean): void {
    say(this.#label, LABELS[state]);
    this.#primary.dataset["state"] = state;
    this.#save.disabled = !savable;
    if (state !== "training") this.#speed.rest();
    this.tell(text);
  }

  /** Says something, also to those who do not look there. */
  tell(text: string): void {
    say(this.#status, text);
    // A button that says Pause says as much.
    this.#status.classList.toggle("unseen", text === "Training.");
  }

  /** How far it is. */
  progress(made: number, total: number, perSecond?: number, seconds?: number): void {
    // What was on its way when a run was paused is no speed any more.
    if (perSecond !== undefined && this.#primary.dataset["state"] === "training") this.#speed.show(perSecond);
    const taken = seconds === undefined ? "" : ` in\u00a0${Math.floor(seconds)}\u00a0s`;
    say(this.#figures, `${count(made)} of ${count(total)} steps${taken}`);
  }

  /** Where it runs, and why there. */
  device(device: Session["device"]): void {
    const { kind, name, reason } = device;
    const text = reason ?? `training on the ${kind === "gpu" ? "GPU" : "CPU"}${name && `: ${name}`}`;
    say(this.#device, `${text.charAt(0).toUpperCase()}${text.slice(1)}.`);
    this.#speed.device(device);
  }
}
