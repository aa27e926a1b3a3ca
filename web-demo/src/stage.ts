import { paint, paintGrid, scenes, Viewer, type Policy, type Scene } from "quickstudy";
import { sharpen } from "./card.js";
import { reducedMotion } from "./dom.js";
import { FrameRate } from "./frame-rate.js";
import { arrange } from "./places.js";
import { onThemeChange, theme } from "./theme.js";
import { tinted } from "./tint.js";

/** Environment steps per second that can be followed where things move smoothly. */
export const SMOOTH = 60;
/** Environments that are played: one in front, the others around it. */
const PLAYED = 25;

/** Environments that a policy plays at the pace of the screen: one in front, and a small crowd. */
export class Stage {
  #canvas: HTMLCanvasElement;
  #context: CanvasRenderingContext2D;
  #rate = new FrameRate();
  #onRate: (figure: { perSecond: number; longest: number }) => void;
  #viewer: Viewer | undefined;
  #list: Float32Array | undefined;
  #fresh = false;
  #busy = false;
  #steppedAt = 0;
  #pace = SMOOTH;
  #env = "";
  #onShown: (count: number) => void;
  #frame: number | undefined;
  #generation = 0;
  /** Whether pictures move. Still ones change with the policy. */
  animated = !reducedMotion();

  /** `onShown` is told how many environments are seen, `onRate` how often they are painted. */
  constructor(
    canvas: HTMLCanvasElement,
    onShown: (count: number) => void,
    onRate: (figure: { perSecond: number; longest: number }) => void,
  ) {
    const context = canvas.getContext("2d", { alpha: false });
    if (!context) {
      throw new Error("this browser has no 2-D canvas");
    }
    this.#canvas = canvas;
    this.#context = context;
    this.#onShown = onShown;
    this.#onRate = onRate;
    new ResizeObserver(() => this.#fit()).observe(canvas);
    onThemeChange(() => this.#paint());
    this.#fit();
  }

  /** Shows a policy from first states on, at so many steps per second. */
  async open(policy: Policy, seed: number, pace: number): Promise<void> {
    const generation = ++this.#generation;
    const viewer = await Viewer.open(policy, PLAYED, { seed });
    if (generation !== this.#generation) {
      viewer.dispose();
      return;
    }
    this.#viewer?.dispose();
    this.#viewer = viewer;
    this.#pace = pace;
    this.#env = policy.info.env;
    this.#take(await viewer.scenes());
    this.#paint();
  }

  /** Goes on with a newer policy. */
  async hand(policy: Policy): Promise<void> {
    const viewer = this.#viewer;
    await viewer?.setPolicy(policy);
    if (viewer && !this.animated) {
      this.#take(await viewer.advance());
    }
  }

  /** Moves, as long as the page is seen. */
  play(): void {
    this.#frame ??= requestAnimationFrame((now) => this.#tick(now));
  }

  /** Stands still and costs nothing. */
  rest(): void {
    if (this.#frame !== undefined) {
      cancelAnimationFrame(this.#frame);
      this.#frame = undefined;
    }
  }

  #tick(now: number): void {
    this.#frame = requestAnimationFrame((next) => this.#tick(next));
    const figure = this.#rate.tick(now);
    if (figure) {
      this.#onRate(figure);
    }
    // Half a frame of slack, so that a screen of 60 Hz makes every step.
    if (this.animated && !this.#busy && now - this.#steppedAt >= 1000 / this.#pace - 8) {
      // In step with the pace, though frames are not.
      this.#steppedAt = Math.max(this.#steppedAt + 1000 / this.#pace, now - 1000 / this.#pace);
      void this.#advance();
    }
    if (this.#fresh) {
      this.#fresh = false;
      this.#paint();
    }
  }

  async #advance(): Promise<void> {
    const viewer = this.#viewer;
    if (!viewer) {
      return;
    }
    this.#busy = true;
    try {
      const list = await viewer.advance();
      if (viewer === this.#viewer) {
        this.#take(list);
      }
    } catch {
      // It was disposed of meanwhile; the next one is on its way.
    } finally {
      this.#busy = false;
    }
  }

  #take(list: Float32Array): void {
    this.#list = list;
    this.#fresh = true;
  }

  #fit(): void {
    if (sharpen(this.#canvas)) {
      this.#paint();
    }
  }

  #paint(): void {
    const { width, height, clientWidth } = this.#canvas;
    const context = this.#context;
    const colours = theme();
    const sky = context.createLinearGradient(0, 0, 0, height);
    sky.addColorStop(0, colours["sky-1"]);
    sky.addColorStop(1, colours["sky-2"]);
    context.fillStyle = sky;
    context.fillRect(0, 0, width, height);
    const [first, ...others] = [...scenes(this.#list ?? new Float32Array())];
    if (!first || clientWidth === 0) {
      return;
    }
    const { hero, crowd } = arrange(first.view, width, height, width / clientWidth);
    const around = tinted(others, "crowd");
    let from = 0;
    for (const { left, top, width: across, height: down, columns, rows } of crowd) {
      const part: Scene[] = around.slice(from, from + columns * rows);
      from += part.length;
      context.save();
      context.translate(left, top);
      paintGrid(context, part, columns, across, down, 0.14 * (across / columns));
      context.restore();
    }
    this.#onShown(1 + from);
    const [scene] = tinted([first], "hero", this.#env);
    // What lies beyond a picture's view, such as a pole that falls, is not to be seen elsewhere.
    context.save();
    context.beginPath();
    context.rect(hero.left, hero.top, hero.width, hero.height);
    context.clip();
    paint(context, scene!, hero.left, hero.top, hero.width, hero.height);
    context.restore();
  }
}
