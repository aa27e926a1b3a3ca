import type { Adaptation } from "quickstudy";
import { prepared } from "../../native-cli/assets/page/canvas.js";
import { element, say } from "./dom.js";
import { mean, reward } from "./format.js";
import { LaneFrame, type Lane } from "./lane.js";
import { LOOKS } from "./look.js";
import type { Contestant } from "./policies.js";
import { onThemeChange, theme } from "./theme.js";

/** Trials that the mean is taken over. */
export const TRIALS = 200;

/** One pull: which arm, and whether it paid. */
export interface Pull {
  arm: number;
  paid: number;
}

/** A policy at a slot machine: each pull, its pay, and the running total. */
export class Bandit implements Lane {
  readonly root: HTMLElement;
  readonly who;
  readonly name: string;
  #contestant: Contestant;
  #frame: LaneFrame;
  #pulls = element("ol", { class: "pulls unseen", "aria-label": "Pulls" });
  #mean = element("p", { class: "unseen" });
  #task: readonly number[] = [];
  #played: Pull[] = [];
  #adaptation: Adaptation | undefined;
  #step = 0;
  #stale = false;

  constructor(contestant: Contestant) {
    this.#contestant = contestant;
    this.who = contestant.who;
    this.name = contestant.name;
    this.#frame = new LaneFrame(contestant);
    this.root = this.#frame.root;
    this.#frame.list.replaceWith(this.#pulls, this.#mean);
    new ResizeObserver(() => this.#paint()).observe(this.#frame.canvas);
    onThemeChange(() => this.#paint());
  }

  aim(task: readonly number[]): void {
    this.#task = [...task];
    this.#stale = true;
    this.#paint();
  }

  async begin(seed: number): Promise<void> {
    const task = this.#task;
    // Actions are drawn, as in training: what it is unsure of, it tries.
    const adaptation = await this.#contestant.policy.adapt({
      to: [task],
      rollouts: TRIALS,
      seed,
      deterministic: false,
    });
    // It has another task by now.
    if (task !== this.#task) return;
    this.#adaptation = adaptation;
    this.#played = adaptation.stages.flatMap(({ paths }) => {
      const { actions, rewards } = paths[0]!;
      return [...actions].map((arm, i) => ({ arm, paid: rewards[i]! }));
    });
    this.#stale = false;
    say(this.#mean, `Mean over ${TRIALS} trials: ${reward(this.#meanTotal())} of ${this.#played.length}.`);
    this.#frame.canvas.setAttribute("aria-label", `${this.name}: ${this.summary}`);
  }

  async finish(): Promise<void> {}

  #meanTotal(): number {
    return (this.#adaptation?.stages ?? []).reduce((sum, { returns }) => sum + mean(returns[0] ?? []), 0);
  }

  readonly stages = 1;

  get steps(): number {
    return Math.max(this.#played.length, 1);
  }

  get summary(): string {
    const paid = `${total(this.#played)} of ${this.#played.length} pulls paid in this trial`;
    return `${paid}; mean ${reward(this.#meanTotal())}`;
  }

  show(_stage: number, step: number): void {
    this.#step = this.#stale ? 0 : Math.min(step, this.#played.length);
    const seen = this.#played.slice(0, this.#step);
    while (this.#pulls.children.length > seen.length) {
      this.#pulls.lastElementChild?.remove();
    }
    for (const { arm, paid } of seen.slice(this.#pulls.children.length)) {
      this.#pulls.append(element("li", { class: "pull" }, `arm ${arm + 1} ${paid > 0 ? "paid" : "did not pay"}`));
    }
    const usual = this.#stale ? "" : ` · ${reward(this.#meanTotal())} in the mean`;
    this.#frame.score(`${total(seen)} of ${this.#played.length || 10}`, "paid", usual);
    this.#paint();
  }

  points(_stage: number, step: number): [number, number][] {
    const seen = this.#stale ? [] : this.#played.slice(0, step);
    return seen.map((_, i) => [i + 1, total(seen.slice(0, i + 1))]);
  }

  #paint(): void {
    const paper = prepared(this.#frame.canvas);
    if (!paper) return;
    const [{ context, wide, high }, colours, look] = [paper, theme(), LOOKS[this.who]];
    context.fillStyle = colours.ground;
    context.fillRect(0, 0, wide, high);
    const gap = wide / (this.#task.length + 0.6);
    const [top, base, across] = [0.1 * high, 0.68 * high, 0.62 * gap];
    const now = this.#stale ? undefined : this.#played[this.#step - 1]?.arm;
    this.#task.forEach((chance, arm) => {
      const x = gap * (arm + 0.3) + 0.19 * gap;
      bar(context, x, top, across, base - top, colours["ground-line"]);
      bar(context, x, base - chance * (base - top), across, chance * (base - top), colours.goal);
      if (arm === now) {
        context.strokeStyle = colours[look.colour];
        context.lineWidth = 3;
        context.beginPath();
        context.roundRect(x - 4, top - 4, across + 8, base - top + 8, 8);
        context.stroke();
      }
    });
    const count = this.#played.length || 10;
    const apart = Math.min(wide / (count + 1.5), 0.11 * high);
    for (let pull = 0; pull < count; pull++) {
      const done = pull < this.#step && !this.#stale;
      const [x, y] = [wide / 2 + (pull - (count - 1) / 2) * apart, 0.85 * high];
      const paid = done && this.#played[pull]!.paid > 0;
      chip(context, x, y, 0.36 * apart, colours[done ? look.colour : "ground-line"], paid);
    }
  }
}

function total(pulls: readonly Pull[]): number {
  return pulls.reduce((sum, { paid }) => sum + paid, 0);
}

function bar(
  context: CanvasRenderingContext2D,
  x: number,
  y: number,
  width: number,
  height: number,
  colour: string,
): void {
  context.fillStyle = colour;
  context.beginPath();
  context.roundRect(x, y, width, height, Math.min(6, height / 2));
  context.fill();
}

/** A pull: full where it paid, hollow where it did not. */
export function chip(
  context: CanvasRenderingContext2D,
  x: number,
  y: number,
  radius: number,
  colour: string,
  full: boolean,
): void {
  context.lineWidth = 1.75;
  context.strokeStyle = context.fillStyle = colour;
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.stroke();
  if (full) context.fill();
}
