import { whole } from "./check.js";
import { asError } from "./errors.js";
import type { Policy } from "./policy.js";
import { sharedThread } from "./shared.js";
import type { Thread } from "./thread.js";

/** Environments that a policy plays for somebody to look at; an episode that ends is followed by a new one. */
export class Viewer {
  #thread: Thread;
  #id: number;

  private constructor(thread: Thread, id: number) {
    this.#thread = thread;
    this.#id = id;
  }

  /** `count` environments at first states that `seed` names. The policy must not be one that adapts to tasks. */
  static async open(
    policy: Policy,
    count: number,
    options: { seed?: number; deterministic?: boolean } = {},
  ): Promise<Viewer> {
    const { seed = 0, deterministic = false } = options;
    const { thread, viewer } = await policy.view(whole("count", count, 1), whole("seed", seed, 0), deterministic);
    return new Viewer(thread, viewer);
  }

  /** Go on with a newer policy of the same run. */
  async setPolicy(policy: Policy): Promise<void> {
    await policy.takeOver(this.#id);
  }

  /** One step everywhere: the flat list of all `scenes`. */
  async advance(): Promise<Float32Array> {
    try {
      return await this.#thread.engine.advance(this.#id);
    } catch (error) {
      throw asError(error);
    }
  }

  /** The flat list of all `scenes` as they are. */
  async scenes(): Promise<Float32Array> {
    try {
      return await this.#thread.engine.scenes(this.#id);
    } catch (error) {
      throw asError(error);
    }
  }

  /** Frees it. */
  dispose(): void {
    void this.#thread.engine.dispose(this.#id);
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

/** The flat list of `scenes` of some states of a built-in environment, one after the other, on one task. */
export async function draw(env: string, states: Float32Array, task: ArrayLike<number> = []): Promise<Float32Array> {
  const { engine } = await sharedThread();
  try {
    return await engine.draw(env, states, Float32Array.from(task));
  } catch (error) {
    throw asError(error);
  }
}
