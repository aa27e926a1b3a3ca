import { loadPolicy, paint, scenes, Viewer, type Scene } from "quickstudy";
import { sharpen } from "../../native-cli/assets/page/canvas.js";
import { between } from "./body.js";
import { moving } from "./motion.js";
import { theme, type Theme } from "./theme.js";
import { tinted, type Role } from "./tint.js";

/** Pictures of a clip at most: it begins again after these. */
const LONGEST = 160;
/** Pictures of the moment that is shown where nothing moves. */
const STILL = 28;
/** Seconds of a step up to which pictures between two steps are straight enough. */
const STRAIGHT = 0.06;

/** A small picture of a policy that acts: played once, then shown again and again. */
export class Clip {
  #viewer: Viewer | undefined;
  #list: Scene[] = [];
  #dt = 0.05;
  #env = "";
  #begun = 0;
  #busy = false;
  #disposed = false;

  /** Opens a policy; its first picture can be seen then. */
  async open(bytes: Uint8Array, seed = 0): Promise<this> {
    const policy = await loadPolicy(bytes);
    try {
      const viewer = await Viewer.open(policy, 1, { seed });
      this.#viewer = viewer;
      [this.#env, this.#dt] = [policy.info.env, Math.max(policy.info.spec.dt, 1 / 60)];
      this.#take(await viewer.scenes());
    } finally {
      policy.dispose();
    }
    while (!moving() && this.#list.length < STILL && this.#viewer) await this.#step();
    return this;
  }

  #take(list: Float32Array): void {
    const [scene] = scenes(list);
    // Letters are too small to be read.
    if (scene) this.#list.push({ view: scene.view, shapes: scene.shapes.filter(({ kind }) => kind !== "text") });
  }

  async #step(): Promise<void> {
    const viewer = this.#viewer;
    if (!viewer || this.#busy) return;
    this.#busy = true;
    try {
      this.#take(await viewer.advance());
    } catch {
      this.#close();
    } finally {
      this.#busy = false;
    }
    if (this.#list.length >= LONGEST || this.#disposed) this.#close();
  }

  #close(): void {
    this.#viewer?.dispose();
    this.#viewer = undefined;
  }

  /** Paints the moment of a time in ms, in the colours of a role on a ground. */
  paint(canvas: HTMLCanvasElement, now: number, role: Role, ground: keyof Theme): void {
    sharpen(canvas);
    const context = canvas.getContext("2d");
    if (!context) return;
    const { width, height } = canvas;
    context.fillStyle = theme()[ground];
    context.fillRect(0, 0, width, height);
    const scene = this.#at(now);
    if (scene) paint(context, tinted([scene], role, this.#env)[0]!, 0, 0, width, height);
  }

  #at(now: number): Scene | undefined {
    const length = this.#list.length;
    if (!moving()) return this.#list[Math.min(STILL, length) - 1];
    if (this.#begun === 0) this.#begun = now;
    const played = (now - this.#begun) / 1000 / this.#dt;
    if (this.#viewer) {
      // The first time, as fast as it can be played.
      if (played >= length - 1) void this.#step();
      if (played > length) this.#begun = now - length * this.#dt * 1000;
    }
    const at = Math.floor(played) % length;
    const [before, after] = [this.#list[at], this.#list[at + 1]];
    return before && after && this.#dt <= STRAIGHT ? between(before, after, played % 1) : before;
  }

  dispose(): void {
    this.#disposed = true;
    this.#close();
  }
}
