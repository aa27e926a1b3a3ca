import type { Adaptation, Place, SpecInfo } from "quickstudy";
import { disc, prepared, stroke } from "../../native-cli/assets/page/canvas.js";
import { fillCloud, spread, type Cloud } from "./cloud.js";
import { element } from "./dom.js";
import { reward } from "./format.js";
import { GoalHandle, type Pick } from "./goal-handle.js";
import { LaneFrame, stageName, stageReturn, summary, type Lane } from "./lane.js";
import { LOOKS } from "./look.js";
import type { Contestant } from "./policies.js";
import { onThemeChange, theme } from "./theme.js";

/** Gradient steps of everybody who makes such. */
const INNER_STEPS = 3;
/** Episodes of everybody who infers a belief, and draws from it that are shown. */
const EPISODES = 3;
const DRAWS = 48;
/** Margin of a plane around the places where goals may be: environments draw themselves so. */
const MARGIN = 1.25;

/** Half the width of the plane that is seen. */
export function halfWidth({ task }: SpecInfo): number {
  return MARGIN * Math.max(...task.slice(0, 2).flatMap(({ low, high }) => [Math.abs(low ?? 1), Math.abs(high ?? 1)]));
}

/** Where a plane lies on a canvas. */
export function placePlane(half: number, left: number, top: number, width: number, height: number): Place {
  return { scale: Math.min(width, height) / (2 * half), x: left + width / 2, y: top + height / 2 };
}

/**
 * A policy that walks in the plane: its first try and the one after each gradient step, or episode by episode. Of one
 * that infers a belief, it shows that as well.
 */
export class Plane implements Lane {
  readonly root: HTMLElement;
  readonly who;
  readonly name: string;
  #contestant: Contestant;
  #spec: SpecInfo;
  #frame: LaneFrame;
  #handle: GoalHandle;
  #task: readonly number[] = [0, 0];
  #adaptation: Adaptation | undefined;
  /** By stage and step, of a policy that infers a belief. */
  #clouds: Cloud[][] = [];
  #at: [stage: number, step: number] = [0, 0];
  /** True while all that is known was done for another task. */
  #stale = false;

  /** `pick` is told where the goal is put. */
  constructor(contestant: Contestant, spec: SpecInfo, pick: Pick) {
    this.#contestant = contestant;
    this.#spec = spec;
    this.who = contestant.who;
    this.name = contestant.name;
    this.#frame = new LaneFrame(contestant);
    this.root = this.#frame.root;
    this.#handle = new GoalHandle(this.#frame.picture, spec, () => this.#place, pick);
    new ResizeObserver(() => this.#paint()).observe(this.#frame.canvas);
    onThemeChange(() => this.#paint());
  }

  aim(task: readonly number[]): void {
    this.#task = [...task];
    this.#stale = true;
    this.#paint();
  }

  /** The first stages are those of a longer adaptation from the same seed, and known much sooner. */
  begin(seed: number): Promise<void> {
    return this.#adapt(seed, 1);
  }

  finish(seed: number): Promise<void> {
    return this.#adapt(seed, this.#contestant.policy.info.family === "inference" ? EPISODES : INNER_STEPS);
  }

  async #adapt(seed: number, stages: number): Promise<void> {
    const { policy } = this.#contestant;
    const [task, { family }] = [this.#task, policy.info];
    if (family === "inference") {
      const guesses = await policy.guesses({ to: task, episodes: stages, draws: DRAWS, seed });
      this.#take(task, guesses, guesses.places);
    } else {
      const sizes = family === "gradients" ? { innerSteps: stages } : {};
      this.#take(task, await policy.adapt({ to: [task], seed, ...sizes }), []);
    }
  }

  #take(task: readonly number[], adaptation: Adaptation, clouds: Cloud[][]): void {
    // It has another task by now.
    if (task !== this.#task) return;
    this.#adaptation = adaptation;
    this.#clouds = clouds;
    this.#stale = false;
    this.#frame.list.replaceChildren(...adaptation.stages.map((_, stage) => this.#line(stage)));
    this.#frame.canvas.setAttribute("aria-label", `${this.name}: ${this.summary}`);
  }

  #line(stage: number): HTMLElement {
    const name = stageName(this.#adaptation?.unit ?? "episodes", stage);
    const dots = this.#believed(stage);
    return element("li", {}, `${name}: ${reward(stageReturn(this.#adaptation, stage))}${dots && ` ${dots}`}`);
  }

  /** Says by numbers that the dots gather: their spread at the beginning and the end of an episode. */
  #believed(stage: number): string {
    const [first, last] = [this.#clouds[stage]?.[0], this.#clouds[stage]?.at(-1)];
    return first && last ? `dots ±${reward(spread(first))} → ±${reward(spread(last))}` : "";
  }

  get stages(): number {
    return this.#adaptation?.stages.length ?? 0;
  }

  get steps(): number {
    return this.#adaptation?.horizon ?? 1;
  }

  get summary(): string {
    return summary(this.#adaptation);
  }

  show(stage: number, step: number): void {
    this.#at = [Math.max(Math.min(stage, this.stages - 1), 0), step];
    const [now] = this.#at;
    const name = stageName(this.#adaptation?.unit ?? "episodes", now);
    const cloud = this.#clouds[now]?.[Math.min(step, this.#clouds[now].length - 1)];
    const believes = cloud ? ` · dots ±${reward(spread(cloud))}` : "";
    this.#frame.score(
      this.#stale ? "–" : reward(stageReturn(this.#adaptation, now)),
      this.#stale ? "" : `${name.charAt(0).toLowerCase()}${name.slice(1)}`,
      this.#stale ? "" : believes,
    );
    this.#paint();
  }

  points(stage: number): [number, number][] {
    const known = Math.min(stage + 1, this.stages);
    return this.#stale ? [] : Array.from({ length: known }, (_, at) => [at, stageReturn(this.#adaptation, at)]);
  }

  /** Where the plane lies, in pixels of the page. */
  get #place(): Place {
    const { clientWidth, clientHeight } = this.#frame.canvas;
    return placePlane(halfWidth(this.#spec), 0, 0, clientWidth, clientHeight);
  }

  #paint(): void {
    const paper = prepared(this.#frame.canvas);
    if (!paper) return;
    const { context, wide, high } = paper;
    const [at, colours, look] = [this.#place, theme(), LOOKS[this.who]];
    ground(context, wide, high, at, this.#spec);
    const [stage, step] = this.#at;
    const clouds = this.#stale ? undefined : this.#clouds[stage];
    const cloud = clouds?.[Math.min(step, clouds.length - 1)];
    const [x, y] = this.#task as [number, number];
    const size = Math.max(5, 0.07 * halfWidth(this.#spec) * at.scale);
    const goal: [number, number] = [at.x + at.scale * x, at.y - at.scale * y];
    disc(context, goal, size, colours.goal);
    context.globalAlpha = this.#handle.held ? 0.3 : 0.16;
    disc(context, goal, 2.2 * size, colours.goal);
    context.globalAlpha = 1;
    // What it believes lies over what is true.
    if (cloud) fillCloud(context, cloud, at);
    context.strokeStyle = colours[look.colour];
    context.lineCap = context.lineJoin = "round";
    const bold = Math.max(2, 0.022 * halfWidth(this.#spec) * at.scale);
    for (let earlier = 0; earlier <= stage; earlier++) {
      const now = earlier === stage && !this.#stale;
      context.globalAlpha = now ? 1 : 0.15 + (0.3 * earlier) / Math.max(stage, 1);
      context.lineWidth = now ? bold : 1.5;
      stroke(context, this.#way(earlier, now ? step + 1 : Infinity, at));
    }
    context.globalAlpha = 1;
    const walker = this.#walker(at);
    if (walker) {
      disc(context, walker, 0.95 * size, colours.paper);
      disc(context, walker, 0.7 * size, colours[look.deep]);
    }
    this.#handle.put(this.#task, goal);
  }

  /** Where it stands now: at the start of a task that it has not tried yet. */
  #walker(at: Place): [number, number] | undefined {
    const [stage, step] = this.#stale ? [0, 0] : this.#at;
    return this.#way(stage, step + 1, at).at(-1);
  }

  /** Where it was in the first `rows` states of a stage. */
  #way(stage: number, rows: number, { scale, x, y }: Place): [number, number][] {
    const [path] = this.#adaptation?.stages[stage]?.paths ?? [];
    if (!path) return [];
    const { states, rewards } = path;
    const [across, up] = this.#spec.plane ?? [0, 1];
    return Array.from({ length: Math.min(rows, rewards.length) }, (_, i) => {
      const row = i * (states.length / rewards.length);
      return [x + scale * states[row + across]!, y - scale * states[row + up]!];
    });
  }
}

/** The plane itself: its axes, and where goals may be. */
function ground(
  context: CanvasRenderingContext2D,
  wide: number,
  high: number,
  { scale, x, y }: Place,
  { task }: SpecInfo,
): void {
  const colours = theme();
  context.fillStyle = colours.ground;
  context.fillRect(0, 0, wide, high);
  context.strokeStyle = colours["ground-line"];
  context.lineWidth = 1;
  const [across, up] = task;
  const [left, right] = [across?.low ?? -1, across?.high ?? 1];
  const [low, top] = [up?.low ?? -1, up?.high ?? 1];
  context.beginPath();
  context.moveTo(x, y - scale * top);
  context.lineTo(x, y - scale * low);
  context.moveTo(x + scale * left, y);
  context.lineTo(x + scale * right, y);
  context.rect(x + scale * left, y - scale * top, scale * (right - left), scale * (top - low));
  context.stroke();
}
