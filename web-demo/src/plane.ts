import { draw, place, scenes, type Adaptation, type Place, type Scene, type SpecInfo } from "quickstudy";
import { frame, paintScene, type Card } from "./card.js";
import { fillCloud, spread, type Cloud } from "./cloud.js";
import { element } from "./dom.js";
import { mean, reward } from "./format.js";
import type { Contestant } from "./policies.js";
import { onThemeChange, theme } from "./theme.js";
import { strokeTrail } from "./trail.js";

/** Gradient steps of everybody who makes such. */
const INNER_STEPS = 3;
/** Episodes of everybody who infers a belief, and draws from it that are shown. */
const EPISODES = 3;
const DRAWS = 48;

/** The name of a stage. */
export function stageName(unit: Adaptation["unit"], stage: number): string {
  if (unit !== "gradient steps") {
    return `Episode ${stage + 1}`;
  }
  return stage === 0 ? "Before" : stage === 1 ? "After 1 step" : `After ${stage} steps`;
}

/**
 * A policy that walks in the plane: before adaptation and after each gradient step, or episode by episode. Of one
 * that infers a belief, it shows that as well.
 */
export class Plane implements Card {
  readonly root: HTMLElement;
  readonly name: string;
  #contestant: Contestant;
  #spec: SpecInfo;
  #canvas = element("canvas", { class: "paper square", role: "img" });
  #list = element("ol", { class: "stages", "aria-label": "Return by stage" });
  #pictures: Scene[][] = [];
  #adaptation: Adaptation | undefined;
  /** By stage and step, of a policy that infers a belief. */
  #clouds: Cloud[][] = [];
  #at: [stage: number, step: number] = [0, 0];

  /** `pick` is told of places that are clicked. */
  constructor(contestant: Contestant, spec: SpecInfo, pick: (x: number, y: number) => void) {
    this.#contestant = contestant;
    this.#spec = spec;
    this.name = contestant.name;
    this.root = frame(contestant, this.#canvas, this.#list);
    this.#canvas.addEventListener("pointerdown", (event) => this.#picked(event, pick));
    new ResizeObserver(() => this.#paint()).observe(this.#canvas);
    onThemeChange(() => this.#paint());
  }

  async adapt(task: readonly number[], seed: number): Promise<void> {
    const { policy } = this.#contestant;
    const guesses =
      policy.info.family === "inference"
        ? await policy.guesses({ to: task, episodes: EPISODES, draws: DRAWS, seed })
        : undefined;
    const adaptation = guesses ?? (await policy.adapt({ to: [task], innerSteps: INNER_STEPS, seed }));
    const lists = adaptation.stages.map(({ paths }) => draw(this.#spec.name, paths[0]!.states, task));
    this.#pictures = (await Promise.all(lists)).map((list) => [...scenes(list)]);
    this.#adaptation = adaptation;
    this.#clouds = guesses?.places ?? [];
    this.#list.replaceChildren(...adaptation.stages.map((_, stage) => this.#line(stage)));
    this.#canvas.setAttribute("aria-label", `${this.name}: ${this.summary}`);
  }

  #line(stage: number): HTMLElement {
    const [first, last] = [this.#clouds[stage]?.[0], this.#clouds[stage]?.at(-1)];
    const name = stageName(this.#adaptation?.unit ?? "episodes", stage);
    const dots =
      first && last
        ? [element("span", { class: "dots" }, `dots ±${reward(spread(first))} → ±${reward(spread(last))}`)]
        : [];
    return element("li", {}, `${name}: ${reward(this.#return(stage))} `, ...dots);
  }

  #return(stage: number): number {
    return mean(this.#adaptation?.stages[stage]?.returns[0] ?? []);
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
      ? `return ${first} before, ${after} after ${last} gradient steps`
      : `return ${first} in episode 1, ${after} in episode ${last + 1}`;
  }

  show(stage: number, step: number): void {
    this.#at = [Math.min(stage, this.stages - 1), step];
    [...this.#list.children].forEach((item, i) => item.classList.toggle("now", i === stage));
    this.#paint();
  }

  #picked(event: PointerEvent, pick: (x: number, y: number) => void): void {
    const scene = this.#pictures[0]?.[0];
    if (!scene) {
      return;
    }
    const { scale, x, y } = place(scene.view, 0, 0, this.#canvas.width, this.#canvas.height);
    const box = this.#canvas.getBoundingClientRect();
    const ratio = this.#canvas.width / box.width;
    pick(((event.clientX - box.left) * ratio - x) / scale, (y - (event.clientY - box.top) * ratio) / scale);
  }

  #paint(): void {
    const [stage, step] = this.#at;
    const pictures = this.#pictures[stage];
    const scene = pictures?.[Math.min(step, pictures.length - 1)];
    const context = paintScene(this.#canvas, scene);
    if (!context || !scene) {
      return;
    }
    const { width, height } = this.#canvas;
    const at = place(scene.view, 0, 0, width, height);
    const [ratio, clouds] = [width / this.#canvas.clientWidth, this.#clouds[stage]];
    const cloud = clouds?.[Math.min(step, clouds.length - 1)];
    if (cloud) {
      fillCloud(context, cloud, ratio, at);
    }
    context.strokeStyle = theme().accent;
    for (let earlier = 0; earlier <= stage; earlier++) {
      const now = earlier === stage;
      context.globalAlpha = now ? 1 : 0.15 + (0.25 * earlier) / stage;
      context.lineWidth = (now ? 2.5 : 1.5) * ratio;
      this.#trail(context, earlier, now ? step + 1 : Infinity, at);
    }
    context.globalAlpha = 1;
  }

  #trail(context: CanvasRenderingContext2D, stage: number, rows: number, at: Place): void {
    const [path] = this.#adaptation?.stages[stage]?.paths ?? [];
    const pictures = this.#pictures[stage]?.length ?? 0;
    if (path && pictures > 0) {
      strokeTrail(context, path.states, path.states.length / pictures, rows, this.#spec.plane ?? [0, 1], at);
    }
  }
}
