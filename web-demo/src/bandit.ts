import { draw, scenes, type Adaptation, type Scene } from "quickstudy";
import { frame, paintScene, type Card } from "./card.js";
import { element, say } from "./dom.js";
import { mean, reward } from "./format.js";
import type { Contestant } from "./policies.js";
import { onThemeChange } from "./theme.js";

/** Trials that the mean is taken over. */
export const TRIALS = 200;

/** One pull: which arm, and whether it paid. */
interface Pull {
  arm: number;
  paid: number;
  scene: Scene;
}

/** A policy at a slot machine: each pull, its pay, and the running total. */
export class Bandit implements Card {
  readonly root: HTMLElement;
  readonly name: string;
  #contestant: Contestant;
  #env: string;
  #canvas = element("canvas", { class: "paper wide", role: "img" });
  #pulls = element("ol", { class: "pulls", "aria-label": "Pulls" });
  #total = element("p", { class: "total" });
  #mean = element("p", { class: "caption" });
  #played: Pull[] = [];
  #adaptation: Adaptation | undefined;
  #step = 0;

  constructor(contestant: Contestant, env: string) {
    this.#contestant = contestant;
    this.#env = env;
    this.name = contestant.name;
    this.root = frame(contestant, this.#canvas, this.#pulls, this.#total, this.#mean);
    new ResizeObserver(() => this.#paint()).observe(this.#canvas);
    onThemeChange(() => this.#paint());
  }

  async adapt(task: readonly number[], seed: number): Promise<void> {
    // Actions are drawn, as in training: what it is unsure of, it tries.
    const adaptation = await this.#contestant.policy.adapt({
      to: [task],
      rollouts: TRIALS,
      seed,
      deterministic: false,
    });
    const pulls = adaptation.stages.flatMap(({ paths }) => {
      const { actions, rewards } = paths[0]!;
      return [...actions].map((arm, i) => ({ arm, paid: rewards[i]! }));
    });
    // Its state is the last pull: which arm, and what it paid.
    const states = Float32Array.from(pulls.flatMap(({ arm, paid }) => [arm, paid]));
    const pictures = [...scenes(await draw(this.#env, states, task))];
    this.#adaptation = adaptation;
    this.#played = pulls.map((pull, i) => ({ ...pull, scene: pictures[i]! }));
    say(this.#mean, `Mean over ${TRIALS} trials: ${reward(this.#meanTotal())} of ${pulls.length}.`);
    this.#canvas.setAttribute("aria-label", `${this.name}: ${this.summary}`);
  }

  #meanTotal(): number {
    return (this.#adaptation?.stages ?? []).reduce((sum, { returns }) => sum + mean(returns[0] ?? []), 0);
  }

  readonly stages = 1;

  get steps(): number {
    return this.#played.length;
  }

  get summary(): string {
    const total = this.#played.reduce((sum, { paid }) => sum + paid, 0);
    return `${total} of ${this.#played.length} pulls paid in this trial; mean ${reward(this.#meanTotal())}`;
  }

  show(_stage: number, step: number): void {
    this.#step = Math.min(step, this.#played.length);
    const seen = this.#played.slice(0, this.#step);
    while (this.#pulls.children.length > seen.length) {
      this.#pulls.lastElementChild?.remove();
    }
    for (const { arm, paid } of seen.slice(this.#pulls.children.length)) {
      this.#pulls.append(chip(arm, paid));
    }
    say(this.#total, `Total ${seen.reduce((sum, { paid }) => sum + paid, 0)} after ${seen.length} pulls`);
    this.#paint();
  }

  #paint(): void {
    paintScene(this.#canvas, this.#played[Math.max(this.#step - 1, 0)]?.scene);
  }
}

function chip(arm: number, paid: number): HTMLElement {
  const won = paid > 0;
  return element(
    "li",
    { class: won ? "pull paid" : "pull", "aria-label": `arm ${arm + 1} ${won ? "paid" : "did not pay"}` },
    `${arm + 1} ${won ? "✓" : "✗"}`,
  );
}
