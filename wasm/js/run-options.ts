import { optional, shown } from "./check.js";
import { ConfigError } from "./errors.js";
import type { DeviceInfo, Metrics } from "./types.js";

/** One iteration of a run. */
export interface Progress {
  /** Iterations made, of the seeds that are trained now. */
  iteration: number;
  /** Environment steps that each seed has made: those of the seed that has made the fewest. */
  envSteps: number;
  /** Environment steps to make, per seed: {@link Session.totalSteps}. */
  totalSteps: number;
  /** Seconds of training so far, pauses not counted. */
  seconds: number;
  /** Environment steps per second so far, all seeds together. */
  stepsPerSecond: number;
  /** Mean return of recent training episodes of the first seed; NaN before the first has ended. */
  returnMean: number;
  /** All metrics of the first seed: of its last iteration, once it has made its steps. */
  metrics: Metrics;
  /** All metrics of each seed; none of a seed that had made its steps before. */
  seeds: (Metrics | undefined)[];
  /** Where it ran. */
  device: DeviceInfo;
}

/** Something that a run has to say. */
export interface Notice {
  kind: "device" | "recovered";
  message: string;
}

/** Options of a run besides what is trained. */
export interface RunOptions {
  /** Stops training for good; {@link Run.finished} is rejected with an `AbortError`. */
  signal?: AbortSignal;
  /** Called after each iteration. */
  onProgress?: (progress: Progress) => void;
  /** Called when something is worth saying, such as which device was taken and why. */
  onNotice?: (notice: Notice) => void;
  /**
   * Seconds between copies of the state, from which a run goes on when its GPU is lost; default 5, 0: after each
   * iteration.
   */
  saveEvery?: number;
  /** Begin paused. */
  paused?: boolean;
}

/** How a run ended. */
export interface RunResult {
  /** `finished`: all steps are made; `stopped`: {@link Run.stop} was called. */
  reason: "finished" | "stopped";
  /** The last iteration; none if there was none. */
  last: Progress | undefined;
}

/** Names what is wrong with the options that are a run's only. */
export function checkRun({ signal, onProgress, onNotice, saveEvery, paused }: RunOptions): void {
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw new ConfigError(`signal: expected an AbortSignal, got ${shown(signal)}`, { key: "signal" });
  }
  optional("onProgress", onProgress, "function");
  optional("onNotice", onNotice, "function");
  optional("paused", paused, "boolean");
  if (saveEvery !== undefined && !(typeof saveEvery === "number" && saveEvery >= 0)) {
    throw new ConfigError(`saveEvery: expected seconds of at least 0, got ${shown(saveEvery)}`, { key: "saveEvery" });
  }
}
