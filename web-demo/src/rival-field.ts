import { element, options } from "./dom.js";
import { learner } from "./format.js";
import { recordedLearners } from "./recorded.js";

/** A choice of whom to race against, among learners that can train in a world. */
export class RivalField {
  readonly root: HTMLElement;
  #select = element("select", { "data-testid": "rival", "aria-label": "Race against" });

  constructor(onChange: () => void) {
    const key = element("i", { class: "key two", "aria-hidden": "true" });
    this.root = element("div", { class: "against" }, key, this.#select);
    this.#select.addEventListener("change", onChange);
  }

  /** Offers others than the learner itself, those with a recorded run first; none where there are none. */
  offer(env: string, itself: string, able: readonly string[], wanted: string | undefined): void {
    const others = able.filter((name) => name !== itself);
    const recorded = recordedLearners(env).filter((name) => others.includes(name));
    const sorted = [...recorded, ...others.filter((name) => !recorded.includes(name))];
    options(this.#select, [["", "Race against …"], ...sorted.map((n) => [n, `against ${learner(n)}`] as const)]);
    this.#select.value = wanted !== undefined && sorted.includes(wanted) ? wanted : "";
    this.root.hidden = sorted.length === 0;
  }

  get value(): string | undefined {
    return this.#select.value || undefined;
  }
}
