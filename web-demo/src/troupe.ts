import { loadPolicy, scenes, Viewer, type Policy, type PolicyInfo, type Scene } from "quickstudy";
import { between, body, follows, place, runs } from "./body.js";

/** Environments that are played on the stage: one in front, the others around it. */
export const PLAYED = 25;
/** Environment steps per second that can be followed where things move smoothly. */
const SMOOTH = 60;
/** Seconds of a step up to which pictures between two steps are straight enough. */
const STRAIGHT = 0.06;
/** Steps whose pictures are kept: the way of the last second or so, for speeds and after-images. */
const KEPT = 24;

/** A policy to be seen, by a key that is another for each. */
export interface Act {
  key: string;
  bytes: Uint8Array;
}

/** Environments that a policy plays, and the last steps of the first of them. */
export class Troupe {
  #viewer: Viewer;
  readonly #info: PolicyInfo;
  #count: number;
  /** True for bodies that run along a line. */
  readonly runs: boolean;
  /** Steps per second: an environment's own speed, where the screen can follow. */
  readonly pace: number;
  #before: Scene[];
  #after: Scene[];
  #trail: Scene[];
  act: Act;
  steps = 0;

  private constructor(act: Act, viewer: Viewer, { info }: Policy, count: number, list: Float32Array) {
    this.act = act;
    this.#viewer = viewer;
    this.#info = info;
    this.#count = count;
    this.pace = Math.min(SMOOTH, 1 / info.spec.dt);
    const all = [...scenes(list)];
    this.runs = all[0] !== undefined && runs(all[0]);
    this.#after = this.#before = this.#bare(all);
    this.#trail = this.#after.slice(0, 1);
  }

  /** Opens some environments at first states that the seed names. */
  static async open(act: Act, count: number, seed: number): Promise<Troupe> {
    const policy = await loadPolicy(act.bytes);
    try {
      const viewer = await Viewer.open(policy, count, { seed });
      return new Troupe(act, viewer, policy, count, await viewer.scenes());
    } finally {
      policy.dispose();
    }
  }

  get env(): string {
    return this.#info.env;
  }

  get count(): number {
    return this.#count;
  }

  #bare(all: Scene[]): Scene[] {
    return this.runs ? all.map(body) : all;
  }

  /** Goes on with another policy, where its networks are of this shape; false where they are not. */
  async hand(act: Act): Promise<boolean> {
    const policy = await loadPolicy(act.bytes);
    try {
      if (policy.info.env !== this.env) return false;
      await this.#viewer.setPolicy(policy);
      this.act = act;
      return true;
    } catch {
      return false;
    } finally {
      policy.dispose();
    }
  }

  /** One step everywhere. */
  async step(): Promise<void> {
    const all = this.#bare([...scenes(await this.#viewer.advance())]);
    [this.#before, this.#after] = [this.#after, all];
    this.steps += 1;
    const [first, last] = [all[0], this.#trail.at(-1)];
    if (first) {
      const before = last && follows(last, first) ? this.#trail : [];
      this.#trail = [...before, first].slice(-KEPT);
    }
  }

  /** All pictures at a part of the way from the last step but one to the last. */
  at(part: number): Scene[] {
    return part >= 1 || this.#info.spec.dt > STRAIGHT
      ? this.#after
      : this.#after.map((scene, i) => between(this.#before[i] ?? scene, scene, part));
  }

  /** The first one's picture some steps ago. */
  earlier(steps: number): Scene | undefined {
    return this.#trail.at(-1 - steps);
  }

  /** Speed of the first one in the last second, in m/s. */
  get speed(): number {
    const [first, last] = [this.#trail[0], this.#trail.at(-1)];
    const seconds = (this.#trail.length - 1) * this.#info.spec.dt;
    return first && last && seconds > 0 ? (place(last) - place(first)) / seconds : 0;
  }

  /** Metres that the first one is from the beginning. */
  get metres(): number {
    const last = this.#trail.at(-1);
    return last && this.runs ? place(last) : 0;
  }

  dispose(): void {
    this.#viewer.dispose();
  }
}
