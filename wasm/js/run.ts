import { breathe } from "./breathe.js";
import { whole } from "./check.js";
import { AbortedError, ConfigError, DeviceError, asError } from "./errors.js";
import { sessionRequest, type RestoreOptions, type SessionOptions } from "./options.js";
import type { Policy } from "./policy.js";
import { checkRun, type Progress, type RunOptions, type RunResult } from "./run-options.js";
import { Session } from "./session.js";
import type { AlgorithmName } from "./settings.js";
import type { Episodes, Metrics, SetupInfo } from "./types.js";

/** Losses of devices in a row after which a run gives up: one without an iteration in between. */
const MAX_LOSSES = 3;

/**
 * A training run. It goes on by itself; iterating it gives every iteration from then on.
 *
 * @example
 * const run = train({ algorithm: "ppo", env: "cartpole" });
 * for await (const { envSteps, returnMean } of run) console.log(envSteps, returnMean);
 */
export class Run implements AsyncIterable<Progress> {
  #session: Promise<Session>;
  #options: (SessionOptions | RestoreOptions) & RunOptions;
  #listeners = new Set<{ push(progress: Progress): void; end(error?: unknown): void }>();
  #last: Progress | undefined;
  #paused: Promise<void> | undefined;
  #unpause: (() => void) | undefined;
  #stopped = false;
  #saved: { bytes: Uint8Array[]; at: number } | undefined;
  #finished: Promise<RunResult>;
  /** Whether somebody looks at how it ends, or at least at whether it begins. */
  #watched: "not" | "beginning" | "end" = "not";
  #opened = false;
  /** Ends the waiting for what is on its way. */
  #leave: (() => void) | undefined;

  /** @internal */
  constructor(options: (SessionOptions | RestoreOptions) & RunOptions) {
    this.#options = options;
    if (options?.paused) {
      this.pause();
    }
    this.#session = this.#open();
    this.#finished = this.#drive().then(
      (result) => {
        this.#end();
        return result;
      },
      (error: unknown) => {
        const typed = error instanceof AbortedError ? error : asError(error);
        this.#end(typed);
        throw typed;
      },
    );
    this.#session.catch(() => undefined);
    // A failure that nobody would hear of is one that the browser or Node.js reports.
    this.#finished.catch((error: unknown) => {
      const told = this.#watched === "end" || (this.#watched === "beginning" && !this.#opened);
      if (!told && !(error instanceof AbortedError)) {
        throw error;
      }
    });
  }

  /** How it ends: rejected if it fails, with an {@link AbortedError} if it is aborted. */
  get finished(): Promise<RunResult> {
    this.#watched = "end";
    return this.#finished;
  }

  async #open(): Promise<Session> {
    const request = sessionRequest(this.#options);
    checkRun(this.#options);
    if (this.#options.signal?.aborted) {
      throw new AbortedError(this.#options.signal.reason);
    }
    const session = await Session.open(request, this.#options.worker);
    this.#opened = true;
    if (session.device.reason) {
      this.#options.onNotice?.({ kind: "device", message: session.device.reason });
    }
    return session;
  }

  /**
   * Waits, but not when the run is aborted or disposed of meanwhile: an environment may take its time, or never answer.
   */
  #unlessLeft<T>(coming: Promise<T>): Promise<T | undefined> {
    // No race with a promise that lives as long as the run: it would keep every iteration's metrics.
    return new Promise((resolve, reject) => {
      this.#leave = () => resolve(undefined);
      coming.then(resolve, reject);
    });
  }

  async #drive(): Promise<RunResult> {
    const session = await this.#session;
    const { signal } = this.#options;
    const leave = (): void => this.#leave?.();
    signal?.addEventListener("abort", leave);
    try {
      return await this.#iterate(session);
    } finally {
      signal?.removeEventListener("abort", leave);
    }
  }

  async #iterate(session: Session): Promise<RunResult> {
    const { signal, onProgress, saveEvery = 5 } = this.#options;
    const resumedAt = session.allSteps;
    let [seconds, losses] = [0, 0];
    while (!session.done && !this.#stopped) {
      if (signal?.aborted) {
        throw new AbortedError(signal.reason);
      }
      if (this.#paused) {
        await this.#unlessLeft(this.#paused);
        continue;
      }
      const start = performance.now();
      let rows: (Metrics | undefined)[];
      try {
        // Only a GPU is lost, so that a processor's runs need no copies.
        if (session.device.kind === "gpu" && (!this.#saved || performance.now() - this.#saved.at >= 1000 * saveEvery)) {
          this.#saved = { bytes: await session.snapshots(), at: performance.now() };
        }
        const stepped = await this.#unlessLeft(session.step());
        if (!stepped) {
          continue;
        }
        rows = stepped;
        losses = 0;
      } catch (error) {
        losses += 1;
        if (!(error instanceof DeviceError) || error.kind !== "device-lost" || losses > MAX_LOSSES) {
          throw error;
        }
        this.#session = this.#recover(session, error);
        session = await this.#session;
        continue;
      }
      seconds += (performance.now() - start) / 1000;
      const { iteration, envSteps, totalSteps, allSteps, device } = session;
      const metrics = rows[0] ?? this.#last?.metrics ?? {};
      const stepsPerSecond = (allSteps - resumedAt) / Math.max(seconds, 1e-9);
      const returnMean = metrics["rollout/ep_return_mean"] ?? NaN;
      this.#last = {
        iteration,
        envSteps,
        totalSteps,
        seconds,
        stepsPerSecond,
        returnMean,
        metrics,
        seeds: rows,
        device,
      };
      try {
        onProgress?.(this.#last);
      } catch (cause) {
        throw new ConfigError(`onProgress threw: ${cause instanceof Error ? cause.message : String(cause)}`, {
          key: "onProgress",
          cause,
        });
      }
      for (const listener of this.#listeners) {
        listener.push(this.#last);
      }
      if (session.local) {
        await breathe();
      }
    }
    return { reason: session.done ? "finished" : "stopped", last: this.#last };
  }

  /** Goes on from the last copy on another device. */
  async #recover(lost: Session, error: DeviceError): Promise<Session> {
    const snapshot = this.#saved?.bytes;
    const { env } = this.#options;
    const { seeds } = lost.setup;
    lost.dispose();
    const again: SessionOptions | RestoreOptions = snapshot
      ? { snapshot, device: "gpu" as const, ...(env !== undefined && typeof env !== "string" ? { env } : {}) }
      : { ...this.#options, device: "gpu" as const };
    const session = await Session.open(sessionRequest(again), this.#options.worker);
    const where = session.device.kind === "gpu" ? "a new GPU device" : "the CPU";
    const from = snapshot ? `its last copy, ${session.envSteps} steps` : "the beginning";
    const go = seeds.length > 1 ? "the runs go" : "the run goes";
    const message = `${error.message}; ${go} on from ${from}, on ${where}`;
    this.#options.onNotice?.({ kind: "recovered", message });
    return session;
  }

  #end(error?: unknown): void {
    this.#unpause?.();
    for (const listener of this.#listeners) {
      listener.end(error);
    }
    this.#listeners.clear();
  }

  /** The session behind it, once it is ready: for what it can do besides. */
  get session(): Promise<Session> {
    this.#watched = this.#watched === "not" ? "beginning" : this.#watched;
    return this.#session;
  }

  /** What is trained, with every setting and its origin. */
  get setup(): Promise<SetupInfo> {
    return this.session.then((session) => session.setup);
  }

  /** The last iteration. */
  get progress(): Progress | undefined {
    return this.#last;
  }

  /** Whether it is paused. */
  get isPaused(): boolean {
    return this.#paused !== undefined;
  }

  /** Holds after the current iteration. */
  pause(): void {
    this.#paused ??= new Promise((resolve) => {
      this.#unpause = () => {
        this.#paused = undefined;
        resolve();
      };
    });
  }

  /** Goes on after a pause. */
  resume(): void {
    this.#unpause?.();
  }

  /** Ends it after the current iteration; what it learnt can still be saved. */
  stop(): void {
    this.#stopped = true;
    this.resume();
  }

  /**
   * Everything needed to go on with the seed of this number, from 0, as the last iteration left it:
   * a file that the command line reads, too.
   */
  async save(index = 0): Promise<Uint8Array> {
    const session = await this.session;
    whole("index", index, 0, session.setup.seeds.length - 1);
    return (await session.snapshots())[index]!;
  }

  /** The policy of the seed of this number, from 0, as it is now. Dispose of it after use. */
  async policy(index = 0): Promise<Policy> {
    return (await this.session).policy(index);
  }

  /** As {@link Session.evaluate}, between two iterations. */
  async evaluate(episodes = 100): Promise<Episodes[]> {
    return (await this.session).evaluate(episodes);
  }

  /** Stops and frees everything. */
  async dispose(): Promise<void> {
    this.stop();
    this.#leave?.();
    await this.finished.catch(() => undefined);
    await this.#session.then((session) => session.dispose()).catch(() => undefined);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Progress, void, void> {
    const queue: Progress[] = [];
    let [ended, error, wake] = [false, undefined as unknown, undefined as (() => void) | undefined];
    const listener = {
      push(progress: Progress) {
        queue.push(progress);
        wake?.();
      },
      end(why?: unknown) {
        [ended, error] = [true, why];
        wake?.();
      },
    };
    this.#listeners.add(listener);
    // A run that has ended before calls nobody.
    this.finished.then(
      () => listener.end(),
      (why: unknown) => listener.end(why),
    );
    try {
      for (;;) {
        const next = queue.shift();
        if (next) {
          yield next;
        } else if (ended) {
          if (error !== undefined) {
            throw error;
          }
          return;
        } else {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      }
    } finally {
      this.#listeners.delete(listener);
    }
  }
}

/**
 * Trains: in a worker, unless the environment is an object of the calling thread.
 *
 * @example
 * const onProgress = ({ returnMean }) => console.log(returnMean);
 * const run = train({ algorithm: "ppo", env: "cartpole", seed: 1, onProgress });
 * await run.finished;
 * const [{ returns }] = await run.evaluate(100);
 */
export function train<A extends AlgorithmName>(options: (SessionOptions<A> | RestoreOptions) & RunOptions): Run {
  return new Run(options as SessionOptions & RunOptions);
}
