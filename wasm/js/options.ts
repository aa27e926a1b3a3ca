import type { EnvironmentDefinition } from "./environment.js";
import type { EnvRequest, SessionRequest } from "./engine.js";
import { only, optional, shown, whole } from "./check.js";
import { ConfigError } from "./errors.js";
import type { AlgorithmName, Configs } from "./settings.js";
import type { DeviceRequest } from "./types.js";

/**
 * An environment: the name of a built-in one, such as `"cartpole"`, `"bandit:arms=10"` or
 * `"pendulum:time_limit=100"`; the URL of a module whose default export is a definition, which runs in the worker; or
 * a definition, which runs on the calling thread.
 */
export type EnvironmentOption = string | URL | { module: string | URL } | EnvironmentDefinition;

/** Snapshots as bytes, one or several. */
export type Snapshots = Uint8Array | ArrayBuffer | readonly Uint8Array[];

/** What to train. */
export interface SessionOptions<A extends AlgorithmName = AlgorithmName> {
  /** Name of the algorithm, such as `"ppo"`. */
  algorithm: A;
  env: EnvironmentOption;
  /** Settings that differ from the preset's or the defaults. */
  config?: Configs[A];
  /** Default 0. The same seed gives the same run on the same device. */
  seed?: number;
  /** Several runs side by side, one per seed, instead of `seed`. */
  seeds?: readonly number[];
  /** Environment steps per seed; default the preset's, or 100,000. */
  steps?: number;
  /** Iterations per seed, instead of `steps`. */
  iterations?: number;
  /**
   * Begin with the parameters of other runs, of their snapshots or policies: one for all seeds, or one for each. All
   * else begins anew, a replay buffer too, which the policy fills with `config: { warm_up: "policy" }`.
   */
  from?: Snapshots;
  /** Default `"auto"`. */
  device?: DeviceRequest;
  /**
   * Trains in a worker if true, the default where there are any. A definition's environments run where it was made.
   */
  worker?: boolean;
}

/** Training that goes on from a snapshot, of this package or of the command line. */
export interface RestoreOptions extends Pick<SessionOptions, "device" | "worker" | "steps" | "iterations"> {
  /** One per seed. */
  snapshot: Snapshots;
  /** Only for an environment that is not built in. */
  env?: EnvironmentOption;
  /** A snapshot brings its own. */
  algorithm?: never;
  /** A snapshot brings its own. */
  config?: never;
  /** A snapshot brings its own. */
  seed?: never;
  /** A snapshot brings its own. */
  seeds?: never;
  /** A snapshot brings its own. */
  from?: never;
}

/** An environment as threads are told of it. */
export function envRequest(env: EnvironmentOption): EnvRequest {
  if (typeof env === "string") {
    return { kind: "builtin", name: env };
  }
  if (env instanceof URL) {
    return { kind: "module", url: env.href };
  }
  if (typeof env === "object" && env !== null && "module" in env) {
    // Relative to the page; a worker would take its own place for it.
    const base = typeof location === "undefined" ? undefined : location.href;
    return { kind: "module", url: new URL(env.module, base).href };
  }
  if (typeof env === "object" && env !== null && "spec" in env) {
    return { kind: "object", definition: env };
  }
  throw new ConfigError("env: expected a name, the URL of a module, or a definition", { key: "env" });
}

const KEYS = [
  ...["algorithm", "env", "config", "seed", "seeds", "steps", "iterations", "device", "worker", "snapshot", "from"],
  ...["signal", "onProgress", "onNotice", "saveEvery", "paused"],
];

/** What a snapshot brings along. */
const OF_SNAPSHOTS = ["algorithm", "config", "seed", "seeds", "from"] as const;

/** The files of an option that takes snapshots. */
function files(key: "snapshot" | "from", given: Snapshots): Uint8Array[] {
  const bytes = given instanceof ArrayBuffer ? new Uint8Array(given) : given;
  const all = Array.isArray(bytes) ? [...(bytes as Uint8Array[])] : [bytes as Uint8Array];
  if (all.length === 0 || !all.every((one) => one instanceof Uint8Array)) {
    const problem = `${key}: expected bytes (Uint8Array or ArrayBuffer), or a list of Uint8Arrays, got ${shown(given)}`;
    throw new ConfigError(problem, { key });
  }
  return all;
}

/** Checks options and names what is wrong with them. */
export function sessionRequest(options: SessionOptions | RestoreOptions): SessionRequest {
  only("option", options, KEYS, "; settings of the algorithm go into `config`");
  const device = options.device ?? "auto";
  if (!["auto", "cpu", "gpu"].includes(device)) {
    throw new ConfigError(`device: expected "auto", "cpu" or "gpu", got ${shown(device)}`, { key: "device" });
  }
  optional("worker", options.worker, "boolean");
  const steps = options.steps === undefined ? undefined : whole("steps", options.steps, 1);
  const iterations = options.iterations === undefined ? undefined : whole("iterations", options.iterations, 1);
  if (steps !== undefined && iterations !== undefined) {
    throw new ConfigError("give steps or iterations, not both", { key: "iterations" });
  }
  const none: EnvRequest = { kind: "builtin", name: "" };
  if ("snapshot" in options && options.snapshot !== undefined) {
    const own = OF_SNAPSHOTS.find((key) => options[key] !== undefined);
    if (own !== undefined) {
      throw new ConfigError(`${own}: a snapshot brings its own; leave it out`, { key: own });
    }
    const snapshots = files("snapshot", options.snapshot);
    const env = options.env === undefined ? none : envRequest(options.env);
    return { algorithm: "", env, seeds: [], steps, iterations, config: {}, snapshots, from: [], device };
  }
  if (typeof options.algorithm !== "string") {
    throw new ConfigError(`algorithm: expected a name, got ${shown(options.algorithm)}`, { key: "algorithm" });
  }
  if (options.seed !== undefined && options.seeds !== undefined) {
    throw new ConfigError("give seed or seeds, not both", { key: "seeds" });
  }
  const seeds = (options.seeds ?? [options.seed ?? 0]).map((seed) => whole("seed", seed, 0));
  const config = settings(options.config);
  const from = options.from === undefined ? [] : files("from", options.from);
  const env = envRequest(options.env);
  const { algorithm } = options;
  return { algorithm, env, seeds, steps, iterations, config, snapshots: undefined, from, device };
}

/** Settings that are given; what they may be, the algorithm says. */
function settings(config: unknown): Record<string, unknown> {
  if (config === undefined) {
    return {};
  }
  if (typeof config !== "object" || config === null || Array.isArray(config)) {
    throw new ConfigError(`config: expected an object of settings, got ${shown(config)}`, { key: "config" });
  }
  const given = Object.entries(config).filter(([, value]) => value !== undefined);
  const none = given.find(([, value]) => value === null)?.[0];
  if (none !== undefined) {
    throw new ConfigError(`${none}: expected a value, got null; leave it out for the default`, { key: none });
  }
  return Object.fromEntries(given);
}
