import type { EnvironmentDefinition } from "./environment.js";
import type { EnvRequest, SessionRequest } from "./engine.js";
import { ConfigError } from "./errors.js";
import type { AlgorithmName, Configs } from "./settings.js";
import type { DeviceRequest } from "./types.js";

/**
 * An environment: the name of a built-in one, such as `"cartpole"` or `"bandit:arms=10"`; the URL of a module whose default export is a
 * definition, which runs in the worker; or a definition, which runs on the calling thread.
 */
export type EnvironmentOption = string | URL | { module: string | URL } | EnvironmentDefinition;

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
  /** Default `"auto"`. */
  device?: DeviceRequest;
  /** Whether to train in a worker, default true where there are any. A definition's environments run where it was made. */
  worker?: boolean;
}

/** Training that goes on from a snapshot, of this package or of the command line. */
export interface RestoreOptions extends Pick<SessionOptions, "device" | "worker" | "steps"> {
  /** One per seed. */
  snapshot: Uint8Array | readonly Uint8Array[];
  /** Only for an environment that is not built in. */
  env?: EnvironmentOption;
}

/** The largest seed that a number holds exactly. */
const MAX_SEED = Number.MAX_SAFE_INTEGER;

/** A whole number within bounds. */
export function whole(key: string, value: unknown, least: number, most = MAX_SEED): number {
  if (typeof value !== "number" || !Number.isInteger(value) || value < least || value > most) {
    throw new ConfigError(`${key}: expected a whole number in ${least} to ${most}, got ${String(value)}`, { key });
  }
  return value;
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

const KEYS = new Set([
  ...["algorithm", "env", "config", "seed", "seeds", "steps", "device", "worker", "snapshot"],
  ...["signal", "onProgress", "onNotice", "saveEvery", "paused"],
]);

/** Checks options and names what is wrong with them. */
export function sessionRequest(options: SessionOptions | RestoreOptions): SessionRequest {
  if (typeof options !== "object" || options === null) {
    throw new ConfigError("expected options such as { algorithm: \"ppo\", env: \"cartpole\" }");
  }
  const extra = Object.keys(options).find((key) => !KEYS.has(key));
  if (extra !== undefined) {
    throw new ConfigError(`unknown option \`${extra}\`; settings of the algorithm go into \`config\``, { key: extra });
  }
  const device = options.device ?? "auto";
  if (!["auto", "cpu", "gpu"].includes(device)) {
    throw new ConfigError(`device: expected "auto", "cpu" or "gpu", got ${String(device)}`, { key: "device" });
  }
  const steps = options.steps === undefined ? undefined : whole("steps", options.steps, 1);
  const none: EnvRequest = { kind: "builtin", name: "" };
  if ("snapshot" in options) {
    const snapshots = options.snapshot instanceof Uint8Array ? [options.snapshot] : [...options.snapshot];
    if (snapshots.length === 0 || !snapshots.every((bytes) => bytes instanceof Uint8Array)) {
      throw new ConfigError("snapshot: expected bytes (Uint8Array), or a list of them", { key: "snapshot" });
    }
    const env = options.env === undefined ? none : envRequest(options.env);
    return { algorithm: "", env, seeds: [], steps, config: {}, snapshots, device };
  }
  if (typeof options.algorithm !== "string") {
    throw new ConfigError(`algorithm: expected a name such as "ppo", got ${String(options.algorithm)}`, { key: "algorithm" });
  }
  if (options.seed !== undefined && options.seeds !== undefined) {
    throw new ConfigError("give seed or seeds, not both", { key: "seeds" });
  }
  const seeds = (options.seeds ?? [options.seed ?? 0]).map((seed) => whole("seed", seed, 0));
  const given = Object.entries(options.config ?? {}).filter(([, value]) => value !== undefined);
  const config = Object.fromEntries(given);
  return { algorithm: options.algorithm, env: envRequest(options.env), seeds, steps, config, snapshots: undefined, device };
}
