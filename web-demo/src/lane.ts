import type { Adaptation } from "quickstudy";
import { element, say } from "./dom.js";
import { mean, reward } from "./format.js";
import type { Who } from "./look.js";
import type { Contestant } from "./policies.js";

/** A policy adapting, beside others: its picture, and what it got. */
export interface Lane {
  readonly root: HTMLElement;
  readonly who: Who;
  readonly name: string;
  /** Shows another task at once; what was done for the one before fades. */
  aim(task: readonly number[]): void;
  /** Adapts to the task as far as its first moments need; what happened can be shown afterwards. */
  begin(seed: number): Promise<void>;
  /** Adapts as far as it goes. */
  finish(seed: number): Promise<void>;
  /** Stages and steps of what happened. */
  readonly stages: number;
  readonly steps: number;
  /** Shows a moment of it. */
  show(stage: number, step: number): void;
  /** Points of the shared curve up to a moment. */
  points(stage: number, step: number): [x: number, y: number][];
  /** The result in a few words, for readers who do not see the picture. */
  readonly summary: string;
}

/** The frame of a lane: its name, the picture, and its score below. */
export class LaneFrame {
  readonly root: HTMLElement;
  readonly canvas = element("canvas", { role: "img" });
  /** The picture, and what lies over it. */
  readonly picture: HTMLElement;
  /** Results by stage, for readers who do not see the picture. */
  readonly list = element("ol", { class: "stages unseen", "aria-label": "Results" });
  #score = element("b");
  #note = element("span");
  #more = element("i");

  constructor({ who, name }: Contestant) {
    this.canvas.setAttribute("aria-label", `${name}: at the start`);
    this.picture = element("div", { class: "picture" }, this.canvas);
    this.root = element(
      "article",
      { class: "lane", "aria-label": name, "data-who": who, "data-testid": `card-${who === "own" ? "yours" : who}` },
      element("h2", {}, name),
      this.picture,
      element("p", { class: "score" }, this.#score, element("span", {}, this.#note, this.#more)),
      this.list,
    );
  }

  /** Says the score, of what it is, and where there is room more of it. */
  score(value: string, note: string, more = ""): void {
    say(this.#score, value);
    say(this.#note, note);
    say(this.#more, more);
  }
}

/** The name of a stage. */
export function stageName(unit: Adaptation["unit"], stage: number): string {
  if (unit !== "gradient steps") {
    return `Episode ${stage + 1}`;
  }
  return stage === 0 ? "First try" : stage === 1 ? "After 1 step" : `After ${stage} steps`;
}

/** Mean return of a stage. */
export function stageReturn(adaptation: Adaptation | undefined, stage: number): number {
  return mean(adaptation?.stages[stage]?.returns[0] ?? []);
}

/** Returns of the first and the last stage in words. */
export function summary(adaptation: Adaptation | undefined): string {
  const last = (adaptation?.stages.length ?? 1) - 1;
  const [first, after] = [reward(stageReturn(adaptation, 0)), reward(stageReturn(adaptation, last))];
  return adaptation?.unit === "gradient steps"
    ? `return ${first} before, ${after} after ${last} gradient step${last === 1 ? "" : "s"}`
    : `return ${first} in episode 1, ${after} in episode ${last + 1}`;
}
