import { draw, scenes, type Adaptation, type Scene, type SpecInfo } from "quickstudy";
import { frame, paintScene, type Card } from "./card.js";
import { element } from "./dom.js";
import { mean, reward } from "./format.js";
import { stageName } from "./plane.js";
import type { Contestant } from "./policies.js";
import { onThemeChange } from "./theme.js";

/** Episodes of policies that adapt by these, and gradient steps of others. */
const EPISODES = 2;
const INNER_STEPS = 1;

/** A number with one digit behind the point, without a sign of 0. */
function tenths(value: number): string {
  return (Math.round(10 * value) / 10 + 0).toFixed(1).replace("-", "−");
}

/** A body that should run at a velocity which only its rewards tell: how it runs, stage by stage, and how far. */
export class Runner implements Card {
  readonly root: HTMLElement;
  readonly name: string;
  #contestant: Contestant;
  #spec: SpecInfo;
  #canvas = element("canvas", { class: "paper wide", role: "img" });
  #list = element("ol", { class: "stages", "aria-label": "Return by stage" });
  #pictures: Scene[][] = [];
  #adaptation: Adaptation | undefined;
  #at: [stage: number, step: number] = [0, 0];

  constructor(contestant: Contestant, spec: SpecInfo) {
    this.#contestant = contestant;
    this.#spec = spec;
    this.name = contestant.name;
    this.root = frame(contestant, this.#canvas, this.#list);
    new ResizeObserver(() => this.#paint()).observe(this.#canvas);
    onThemeChange(() => this.#paint());
  }

  async adapt(task: readonly number[], seed: number): Promise<void> {
    const { policy } = this.#contestant;
    const sizes = policy.info.family === "gradients" ? { innerSteps: INNER_STEPS } : { episodes: EPISODES };
    const adaptation = await policy.adapt({ to: [task], seed, ...sizes });
    const lists = adaptation.stages.map(({ paths }) => draw(this.#spec.name, paths[0]!.states, task));
    this.#pictures = (await Promise.all(lists)).map((list) => [...scenes(list)]);
    this.#adaptation = adaptation;
    this.#list.replaceChildren(
      ...adaptation.stages.map((_, stage) => {
        const name = stageName(adaptation.unit, stage);
        const way = `${tenths(this.#metres(stage))} of ${tenths(this.#asked(stage, task))} m`;
        return element("li", {}, `${name}: ${reward(this.#return(stage))} `, element("span", { class: "dots" }, way));
      }),
    );
    this.#canvas.setAttribute("aria-label", `${this.name}: ${this.summary}`);
  }

  #return(stage: number): number {
    return mean(this.#adaptation?.stages[stage]?.returns[0] ?? []);
  }

  /** How far it got in the episode that is shown. */
  #metres(stage: number): number {
    const states = this.#adaptation?.stages[stage]?.paths[0]?.states ?? new Float32Array();
    const width = states.length / (this.#pictures[stage]?.length || 1);
    const place = this.#spec.course ?? 0;
    return (states[states.length - width + place] ?? 0) - (states[place] ?? 0);
  }

  /** How far it would have got at the velocity that was asked for. */
  #asked(stage: number, [velocity]: readonly number[]): number {
    return ((this.#pictures[stage]?.length ?? 1) - 1) * this.#spec.dt * (velocity ?? 0);
  }

  get stages(): number {
    return this.#pictures.length;
  }

  get steps(): number {
    return Math.max(...this.#pictures.map((pictures) => pictures.length));
  }

  get summary(): string {
    const last = this.stages - 1;
    const [first, after] = [reward(this.#return(0)), reward(this.#return(last))];
    return this.#adaptation?.unit === "gradient steps"
      ? `return ${first} before, ${after} after a gradient step`
      : `return ${first} in episode 1, ${after} in episode ${last + 1}`;
  }

  show(stage: number, step: number): void {
    this.#at = [Math.min(stage, this.stages - 1), step];
    [...this.#list.children].forEach((item, i) => item.classList.toggle("now", i === stage));
    this.#paint();
  }

  #paint(): void {
    const [stage, step] = this.#at;
    const pictures = this.#pictures[stage];
    paintScene(this.#canvas, pictures?.[Math.min(step, pictures.length - 1)]);
  }
}
