import { only, optional, shown, whole } from "./check.js";
import { ConfigError, QuickstudyError, SnapshotError, asError } from "./errors.js";
import { envRequest, type EnvironmentOption } from "./options.js";
import { callingThread, sharedThread } from "./shared.js";
import type { Thread } from "./thread.js";
import type { Adaptation, DeviceKind, Episodes, Family, Guesses, MetaTest, Path, SpecInfo } from "./types.js";

/** What a policy is. */
export interface PolicyInfo {
  algorithm: string;
  family: Family;
  /** Name of the environment. */
  env: string;
  /** The seed that it was trained with. */
  seed: number;
  /** Environment steps that it was trained for. */
  envSteps: number;
  /** The environment's spaces. */
  spec: SpecInfo;
}

/** Options of {@link loadPolicy}. */
export interface PolicyOptions {
  /** Only for an environment that is not built in. */
  env?: EnvironmentOption;
  /** Default `"cpu"`. */
  device?: DeviceKind;
}

/** A trained policy. */
export class Policy {
  #thread: Thread;
  #id: number;
  #disposed = false;
  /** What it is. */
  readonly info: PolicyInfo;

  private constructor(thread: Thread, id: number, info: PolicyInfo) {
    this.#thread = thread;
    this.#id = id;
    this.info = info;
  }

  /** @internal */
  static async open(given: Uint8Array | ArrayBuffer, options: PolicyOptions): Promise<Policy> {
    const bytes = given instanceof ArrayBuffer ? new Uint8Array(given) : given;
    if (!(bytes instanceof Uint8Array)) {
      throw new SnapshotError(
        "snapshot",
        `expected the bytes of a snapshot (Uint8Array or ArrayBuffer), got ${shown(given)}`,
      );
    }
    only("option", options, ["env", "device"]);
    const env = options.env === undefined ? undefined : envRequest(options.env);
    const thread = await (env?.kind === "object" ? callingThread() : sharedThread());
    try {
      const { id, info } = await thread.engine.policy(bytes, env, options.device ?? "cpu");
      return new Policy(thread, id, info as PolicyInfo);
    } catch (error) {
      throw asError(error);
    }
  }

  async #call<T>(call: (engine: Thread["engine"], id: number) => Promise<unknown>): Promise<T> {
    if (this.#disposed) {
      throw new QuickstudyError("disposed", "the policy was disposed of before");
    }
    try {
      return (await call(this.#thread.engine, this.#id)) as T;
    } catch (error) {
      throw asError(error);
    }
  }

  /**
   * Episodes, by default 100 of the deterministic actions. `seed` names their first states. A meta-trained policy plays
   * each after it has adapted to a held-out task. In environments written in JavaScript it draws its actions, and
   * adapting by gradient steps takes as many rollouts on each task as in training: ask for fewer episodes there.
   */
  async evaluate(options: { episodes?: number; seed?: number; deterministic?: boolean } = {}): Promise<Episodes> {
    only("option", options, ["episodes", "seed", "deterministic"]);
    const { episodes = 100, seed = 0, deterministic } = options;
    optional("deterministic", deterministic, "boolean");
    whole("episodes", episodes, 1);
    whole("seed", seed, 0);
    return this.#call((engine, id) => engine.evaluate(id, episodes, seed, deterministic));
  }

  /**
   * Shows how a meta-trained policy fares on held-out tasks, or on those given, `[D]` numbers each: before adaptation
   * and after each gradient step of it, or episode by episode.
   */
  async adapt(test: MetaTest & { to?: readonly (readonly number[])[] } = {}): Promise<Adaptation> {
    only("option", test, ["to", "tasks", "rollouts", "innerSteps", "episodes", "seed", "deterministic"]);
    const { to, ...rest } = test;
    const given = to?.map((task) => Array.from(task));
    return withPaths(await this.#call<Adaptation>((engine, id) => engine.adapt(id, { ...rest, given })));
  }

  /**
   * How a policy that infers a belief (`info.family` is `"inference"`) adapts to the task `to`, episode by episode, and
   * where it would go at each moment: where an episode of its deterministic actions would end, for each of `draws`
   * draws from what it believes then (default 48). Only in built-in environments that lie in a plane.
   */
  async guesses(options: {
    to: readonly number[];
    episodes?: number;
    draws?: number;
    seed?: number;
  }): Promise<Guesses> {
    only("option", options, ["to", "episodes", "draws", "seed"]);
    const { episodes, draws = 48, seed = 0 } = options;
    const test = {
      to: Array.from(list("to", options.to)),
      episodes,
      draws: whole("draws", draws, 1),
      seed: whole("seed", seed, 0),
    };
    if (episodes !== undefined) {
      whole("episodes", episodes, 1);
    }
    const result = withPaths(await this.#call<Guesses>((engine, id) => engine.guesses(id, test)));
    result.places = result.places.map((stage) => stage.map((places) => Float32Array.from(places)));
    return result;
  }

  /** The first episode of {@link evaluate} with the same seed, step by step; `states` has one more than `actions`. */
  async trajectory(options: { seed?: number; deterministic?: boolean } = {}): Promise<Path & { task: Float32Array }> {
    only("option", options, ["seed", "deterministic"]);
    const { seed = 0, deterministic = true } = options;
    optional("deterministic", deterministic, "boolean");
    whole("seed", seed, 0);
    const path = await this.#call<Path & { task: number[] }>((engine, id) =>
      engine.trajectory(id, seed, deterministic),
    );
    return { ...typed(path), task: Float32Array.from(path.task) };
  }

  /**
   * Acts at one observation, or at several rows of them: the number of a choice, the numbers of several, or a vector
   * within its bounds, for each row.
   *
   * A policy with a memory draws its actions, and remembers from call to call as long as there are as many rows; tell
   * it by {@link observe} what came of them. `fresh` begins anew, as a new `seed` needs.
   */
  async act(
    observation: ArrayLike<number>,
    options: { deterministic?: boolean; seed?: number; fresh?: boolean } = {},
  ): Promise<Float64Array> {
    only("option", options, ["deterministic", "seed", "fresh"]);
    const { deterministic = true, seed = 0, fresh = false } = options;
    optional("deterministic", deterministic, "boolean");
    optional("fresh", fresh, "boolean");
    whole("seed", seed, 0);
    const numbers = list("observation", observation);
    return this.#call((engine, id) => engine.act(id, numbers, seed, deterministic, fresh));
  }

  /** What the last actions led to: observations, rewards and ends, by row. */
  async observe(
    observation: ArrayLike<number>,
    rewards: ArrayLike<number>,
    terminated: readonly boolean[],
  ): Promise<void> {
    const numbers = [list("observation", observation), list("rewards", rewards)] as const;
    const flags = Uint8Array.from(list("terminated", terminated));
    return this.#call((engine, id) => engine.observe(id, ...numbers, flags));
  }

  /** @internal */
  view(count: number, seed: number, deterministic: boolean): Promise<{ thread: Thread; viewer: number }> {
    return this.#call(async (engine, id) => ({
      thread: this.#thread,
      viewer: await engine.viewer(id, count, seed, deterministic),
    }));
  }

  /** @internal */
  takeOver(viewer: number): Promise<void> {
    return this.#call((engine, id) => engine.viewPolicy(viewer, id));
  }

  /** Frees it. Calls fail from then on. */
  dispose(): void {
    if (!this.#disposed) {
      this.#disposed = true;
      void this.#thread.engine.dispose(this.#id);
    }
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

/** Numbers, or what counts as such. */
function list(key: string, value: ArrayLike<number> | readonly boolean[]): Float64Array {
  if (typeof value !== "object" || value === null || typeof value.length !== "number") {
    throw new ConfigError(`${key}: expected an array, got ${shown(value)}`, { key });
  }
  return Float64Array.from(value as ArrayLike<unknown>, Number);
}

/** Lists as they cross from the bindings, typed. */
function typed({
  states,
  actions,
  rewards,
}: {
  states: Iterable<number>;
  actions: Iterable<number>;
  rewards: Iterable<number>;
}): Path {
  return {
    states: Float32Array.from(states),
    actions: Float32Array.from(actions),
    rewards: Float64Array.from(rewards),
  };
}

function withPaths<T extends Adaptation>(result: T): T {
  for (const stage of result.stages) {
    stage.paths = stage.paths.map(typed);
  }
  return result;
}

/** The policy of a snapshot, of this package or of the command line. */
export async function loadPolicy(bytes: Uint8Array | ArrayBuffer, options: PolicyOptions = {}): Promise<Policy> {
  return Policy.open(bytes, options);
}
