import { paintGrid, scenes, Viewer, type Policy, type Scene } from "quickstudy";
import { reducedMotion } from "./dom.js";
import { FrameRate } from "./frame-rate.js";
import { onThemeChange, theme } from "./theme.js";
import { tinted } from "./tint.js";

/** Environment steps per second that can be followed where things move smoothly. */
export const SMOOTH = 60;
const GAP = 2;

/** Columns at which `count` pictures of this shape become largest in a rectangle. */
function columns(count: number, aspect: number, width: number, height: number): number {
  let [best, scale] = [1, 0];
  for (let n = 1; n <= count; n++) {
    const fits = Math.min(width / (n * aspect), height / Math.ceil(count / n));
    if (fits > scale) [best, scale] = [n, fits];
  }
  return best;
}

/** Many environments that a policy plays, drawn on one canvas at the pace of the screen. */
export class Gallery {
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
  /** How many environments are shown. */
  shown = 0;
  #frame: number | undefined;
  #generation = 0;
  /** Whether pictures move. Still ones change with the policy. */
  animated = !reducedMotion();

  constructor(canvas: HTMLCanvasElement, onRate: (figure: { perSecond: number; longest: number }) => void) {
    const context = canvas.getContext("2d", { alpha: false });
    if (!context) {
      throw new Error("this browser has no 2-D canvas");
    }
    this.#canvas = canvas;
    this.#context = context;
    this.#onRate = onRate;
    new ResizeObserver(() => this.#fit()).observe(canvas);
    onThemeChange(() => this.#paint());
    this.#fit();
  }

  /** Shows a policy in so many environments from first states on, at so many steps per second. */
  async open(policy: Policy, seed: number, shown: number, pace: number): Promise<void> {
    const generation = ++this.#generation;
    const viewer = await Viewer.open(policy, shown, { seed });
    if (generation !== this.#generation) {
      viewer.dispose();
      return;
    }
    this.#viewer?.dispose();
    this.#viewer = viewer;
    this.#pace = pace;
    this.shown = shown;
    this.#take(await viewer.scenes());
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
    const { clientWidth, clientHeight } = this.#canvas;
    const ratio = Math.min(devicePixelRatio, 2);
    const [width, height] = [Math.round(clientWidth * ratio), Math.round(clientHeight * ratio)];
    if (width > 0 && (this.#canvas.width !== width || this.#canvas.height !== height)) {
      [this.#canvas.width, this.#canvas.height] = [width, height];
      this.#fresh = true;
    }
  }

  #paint(): void {
    const { width, height } = this.#canvas;
    this.#context.fillStyle = theme().ground;
    this.#context.fillRect(0, 0, width, height);
    const all: Scene[] = tinted([...scenes(this.#list ?? new Float32Array())], "hero");
    const [first] = all;
    if (!first) {
      return;
    }
    const [xmin, xmax, ymin, ymax] = first.view;
    const across = columns(all.length, (xmax - xmin) / (ymax - ymin), width, height);
    paintGrid(this.#context, all, across, width, height, GAP);
  }
}
