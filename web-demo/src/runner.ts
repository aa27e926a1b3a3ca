import { draw, paint, scenes, type Adaptation, type Place, type Scene, type SpecInfo } from "quickstudy";
import { prepared } from "../../native-cli/assets/page/canvas.js";
import { element } from "./dom.js";
import { reward } from "./format.js";
import { LaneFrame, stageName, stageReturn, summary, type Lane } from "./lane.js";
import { LOOKS, type Who } from "./look.js";
import { corners, overhead, paintPacer, writesSmall } from "./pacer.js";
import type { Contestant } from "./policies.js";
import { onThemeChange, theme } from "./theme.js";
import { tinted, type Role } from "./tint.js";

/** Episodes of policies that adapt by these, and gradient steps of others. */
const EPISODES = 2;
const INNER_STEPS = 1;
/** Seconds over which its own speed is averaged, and steps between points of the curve. */
const WINDOW = 1;
const STRIDE = 5;
/** Metres that are seen across, and the part of the height where the ground is. */
const [ACROSS, GROUND] = [2.6, 0.72];
/** Colours of the scene that its letters and the limbs begin with. */
const LETTERS = 0x26262c;

const ROLES: Record<Who, Role> = { untrained: "crowd", "one-task": "rival", meta: "hero", own: "hero" };

/** A number with one digit behind the point, without a sign of 0. */
export function tenths(value: number): string {
  return (Math.round(10 * value) / 10 + 0).toFixed(1).replace("-", "−");
}

/** The body of a picture: without the course, which is drawn as wide as the canvas, and what is written above it. */
function body({ view, shapes }: Scene): Scene {
  const letters = shapes.findIndex(({ kind, color }) => kind === "text" && color === LETTERS);
  const from = shapes.findIndex(({ kind, color }) => kind === "line" && color === LETTERS);
  return { view, shapes: shapes.slice(Math.max(from, 0), letters < 0 ? undefined : letters) };
}

/**
 * A body that should run at a velocity which only its rewards tell, beside a pacer that runs at exactly this one from
 * the start of each episode.
 */
export class Runner implements Lane {
  readonly root: HTMLElement;
  readonly who;
  readonly name: string;
  #contestant: Contestant;
  #spec: SpecInfo;
  #frame: LaneFrame;
  #task: readonly number[] = [0];
  #bodies: Scene[][] = [];
  #adaptation: Adaptation | undefined;
  #at: [stage: number, step: number] = [0, 0];
  #stale = false;

  constructor(contestant: Contestant, spec: SpecInfo) {
    this.#contestant = contestant;
    this.#spec = spec;
    this.who = contestant.who;
    this.name = contestant.name;
    this.#frame = new LaneFrame(contestant);
    this.root = this.#frame.root;
    new ResizeObserver(() => this.#paint()).observe(this.#frame.canvas);
    onThemeChange(() => this.#paint());
  }

  aim(task: readonly number[]): void {
    this.#task = [...task];
    this.#stale = true;
    this.#paint();
  }

  get #asked(): number {
    return this.#task[0] ?? 0;
  }

  async begin(seed: number): Promise<void> {
    const { policy } = this.#contestant;
    const task = this.#task;
    const sizes = policy.info.family === "gradients" ? { innerSteps: INNER_STEPS } : { episodes: EPISODES };
    const adaptation = await policy.adapt({ to: [task], seed, ...sizes });
    const lists = adaptation.stages.map(({ paths }) => draw(this.#spec.name, paths[0]!.states, task));
    const bodies = (await Promise.all(lists)).map((list) => [...scenes(list)].map(body));
    // It has another task by now.
    if (task !== this.#task) return;
    this.#bodies = bodies;
    this.#adaptation = adaptation;
    this.#stale = false;
    this.#frame.list.replaceChildren(
      ...adaptation.stages.map((_, stage) => {
        const name = stageName(adaptation.unit, stage);
        const last = this.#rows(stage) - 1;
        const asked = last * this.#spec.dt * this.#asked;
        const way = `${tenths(this.#metres(stage, last))} of ${tenths(asked)} m`;
        return element("li", {}, `${name}: ${reward(stageReturn(adaptation, stage))} ${way}`);
      }),
    );
    this.#frame.canvas.setAttribute("aria-label", `${this.name}: ${this.summary}`);
  }

  async finish(): Promise<void> {}

  #rows(stage: number): number {
    return this.#adaptation?.stages[stage]?.paths[0]?.rewards.length ?? 1;
  }

  /** Where it is on its course. */
  #place(stage: number, step: number): number {
    const path = this.#adaptation?.stages[stage]?.paths[0];
    if (!path) {
      return 0;
    }
    const width = path.states.length / path.rewards.length;
    return path.states[Math.min(step, path.rewards.length - 1) * width + (this.#spec.course ?? 0)] ?? 0;
  }

  /** Metres that it got by a step of an episode. */
  #metres(stage: number, step: number): number {
    return this.#place(stage, step) - this.#place(stage, 0);
  }

  /** Its own speed over the last second. */
  #speed(stage: number, step: number): number {
    const now = Math.min(step, this.#rows(stage) - 1);
    const before = Math.max(now - Math.round(WINDOW / this.#spec.dt), 0);
    const way = this.#place(stage, now) - this.#place(stage, before);
    return now === before ? 0 : way / ((now - before) * this.#spec.dt);
  }

  get stages(): number {
    return this.#adaptation?.stages.length ?? 0;
  }

  get steps(): number {
    return Math.max(...this.#bodies.map((bodies) => bodies.length), 1);
  }

  get summary(): string {
    return summary(this.#adaptation);
  }

  show(stage: number, step: number): void {
    this.#at = [Math.max(Math.min(stage, this.stages - 1), 0), step];
    const name = stageName(this.#adaptation?.unit ?? "episodes", this.#at[0]);
    this.#frame.score(
      this.#stale ? "–" : reward(stageReturn(this.#adaptation, this.#at[0])),
      this.#stale ? "" : `${name.charAt(0).toLowerCase()}${name.slice(1)}`,
    );
    this.#paint();
  }

  points(stage: number, step: number): [number, number][] {
    const found: [number, number][] = [];
    if (this.#stale) {
      return found;
    }
    for (let now = 0; now <= Math.min(stage, this.stages - 1); now++) {
      const last = now < stage ? this.#rows(now) : Math.min(step, this.#rows(now));
      for (let at = STRIDE; at < last; at += STRIDE) {
        found.push([(now * this.steps + at) * this.#spec.dt, this.#speed(now, at)]);
      }
    }
    return found;
  }

  #paint(): void {
    const paper = prepared(this.#frame.canvas);
    if (!paper) return;
    const { context, wide, high } = paper;
    const [stage, step] = this.#stale ? [0, 0] : this.#at;
    const bodies = this.#bodies[stage];
    const now = Math.min(step, Math.max((bodies?.length ?? 1) - 1, 0));
    const scene = bodies?.[now];
    const own = this.#place(stage, now);
    const scale = Math.min(wide / ACROSS, (0.9 * GROUND * high) / 1.2);
    const at: Place = { scale, x: wide / 2 - scale * own, y: GROUND * high };
    course(context, wide, high, at);
    const ahead = this.#place(stage, 0) + now * this.#spec.dt * this.#asked - own;
    paintPacer(context, wide, at, own + ahead, ahead, this.#asked);
    this.root.dataset["ahead"] = ahead.toFixed(2);
    if (!scene) {
      return;
    }
    // The same scale and place as the course: its view is put so that it lies on that.
    const [left, right, low, top] = scene.view;
    const [across, up] = [scale * (right - left), scale * (top - low)];
    const [tint] = tinted([scene], ROLES[this.who]);
    paint(context, tint!, at.x + scale * left, at.y - scale * top, across, up);
    this.#say(context, wide, at, [stage, now]);
  }

  /** Says on the picture how far it got, and above its back how fast it is. */
  #say(context: CanvasRenderingContext2D, wide: number, at: Place, [stage, step]: [number, number]): void {
    const [colours, small, font] = [theme(), writesSmall(wide, at), getComputedStyle(this.#frame.canvas).fontFamily];
    context.textAlign = "left";
    context.textBaseline = "alphabetic";
    context.font = `600 ${small ? 12 : 18}px ${font}`;
    context.fillStyle = colours.ink;
    context.fillText(`${tenths(this.#metres(stage, step))} m`, small ? 8 : 16, corners(small));
    context.textAlign = "center";
    context.font = `600 ${small ? 11 : 13}px ${font}`;
    context.fillStyle = colours[LOOKS[this.who].deep];
    // Where its back reaches up to the words of the corners, the speed stands between these, or closely below them.
    const below = corners(small) + 18;
    const line = overhead(at) >= below ? overhead(at) : wide < 200 ? below : corners(small);
    context.fillText(`${tenths(this.#speed(stage, step))} m/s`, wide / 2, line);
  }
}

/** Sky and ground, with a mark at each metre: they pass by as it runs. */
function course(context: CanvasRenderingContext2D, wide: number, high: number, { scale, x, y }: Place): void {
  const colours = theme();
  const sky = context.createLinearGradient(0, 0, 0, y);
  sky.addColorStop(0, colours["sky-1"]);
  sky.addColorStop(1, colours["sky-2"]);
  context.fillStyle = sky;
  context.fillRect(0, 0, wide, y);
  context.fillStyle = colours.ground;
  context.fillRect(0, y, wide, high - y);
  context.strokeStyle = colours["ground-line"];
  context.fillStyle = colours.muted;
  context.lineWidth = 1.5;
  context.textAlign = "center";
  context.textBaseline = "alphabetic";
  context.font = "12px system-ui, sans-serif";
  context.beginPath();
  context.moveTo(0, y);
  context.lineTo(wide, y);
  for (let metre = Math.ceil(-x / scale); metre <= (wide - x) / scale; metre++) {
    const here = x + scale * metre;
    context.moveTo(here, y);
    context.lineTo(here, y + 6);
    context.fillText(String(metre).replace("-", "−"), here, y + 20);
  }
  context.stroke();
}
