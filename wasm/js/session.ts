import { whole } from "./check.js";
import type { SessionRequest, SessionStatus } from "./engine.js";
import { QuickstudyError, asError } from "./errors.js";
import { sessionRequest, type RestoreOptions, type SessionOptions } from "./options.js";
import { loadPolicy, type Policy } from "./policy.js";
import type { AlgorithmName } from "./settings.js";
import { callingThread } from "./shared.js";
import { workerThread, workersExist, type Thread } from "./thread.js";
import type { DeviceInfo, Episodes, Metrics, SetupInfo } from "./types.js";

/** Ends a worker whose session was forgotten without being disposed of. */
const forgotten =
  typeof FinalizationRegistry === "undefined" ? undefined : new FinalizationRegistry<Thread>((thread) => thread.end());

/** Training that is stepped by hand: nothing happens between calls. */
export class Session {
  #thread: Thread;
  #id: number;
  #request: SessionRequest;
  #status: SessionStatus;
  #disposed = false;
  /** Where it runs, and why there. */
  readonly device: DeviceInfo;
  /** What is trained, with every setting and its origin. */
  readonly setup: SetupInfo;

  private constructor(thread: Thread, request: SessionRequest, made: Awaited<ReturnType<Thread["engine"]["session"]>>) {
    this.#thread = thread;
    this.#request = request;
    this.#id = made.id;
    this.#status = made.status;
    this.device = made.device;
    this.setup = made.setup as SetupInfo;
    if (!thread.local) {
      forgotten?.register(this, thread, this);
    }
  }

  /** @internal */
  static async open(request: SessionRequest, worker: boolean | undefined): Promise<Session> {
    const inWorker = worker !== false && workersExist() && request.env.kind !== "object";
    const thread = inWorker ? await workerThread() : await callingThread();
    try {
      return new Session(thread, request, await thread.engine.session(request));
    } catch (error) {
      thread.end();
      throw asError(error);
    }
  }

  /** Iterations made, of the seeds that are trained now. */
  get iteration(): number {
    return this.#status.iteration;
  }

  /** Environment steps that each seed has made: those of the seed that has made the fewest. */
  get envSteps(): number {
    return this.#status.envSteps;
  }

  /**
   * Environment steps to make, per seed. Where all iterations make what is planned these are whole
   * iterations, so that it may be more than was asked for; where episodes end early, a seed ends with the
   * iteration in which it makes what was asked for. Where `iterations` were asked for, they are as many as these make
   * on average so far.
   */
  get totalSteps(): number {
    return this.#status.totalSteps;
  }

  /** Environment steps that all seeds have made together. */
  get allSteps(): number {
    return this.#status.allSteps;
  }

  /** True once each seed has made its steps. */
  get done(): boolean {
    return this.#status.done;
  }

  /** Dispatches that all iterations so far took on a GPU. */
  get dispatches(): number {
    return this.#status.dispatches;
  }

  /** Seconds that the processor spent on recording and submitting them. */
  get hostSeconds(): number {
    return this.#status.hostSeconds;
  }

  /** Whether training happens on the calling thread. */
  get local(): boolean {
    return this.#thread.local;
  }

  get #engine(): Thread["engine"] {
    if (this.#disposed) {
      throw new QuickstudyError("disposed", "the session was disposed of before");
    }
    return this.#thread.engine;
  }

  /** One iteration: its metrics, an object for each seed, and none for a seed that had made its steps. */
  async step(): Promise<(Metrics | undefined)[]> {
    try {
      const { rows, status } = await this.#engine.step(this.#id);
      this.#status = status;
      return rows;
    } catch (error) {
      throw asError(error);
    }
  }

  /** Make so many environment steps in all, for example more than a finished run was meant to. */
  async setSteps(steps: number): Promise<void> {
    this.#status = await this.#engine.setLength(this.#id, { steps: whole("steps", steps, 1) });
  }

  /** Make so many iterations in all, whatever the number of steps that they make. */
  async setIterations(iterations: number): Promise<void> {
    this.#status = await this.#engine.setLength(this.#id, { iterations: whole("iterations", iterations, 1) });
  }

  /** Everything needed to go on, one snapshot per seed: files that the command line reads, too. */
  async snapshots(): Promise<Uint8Array[]> {
    try {
      return await this.#engine.snapshots(this.#id, "session", this.setup.seeds.length);
    } catch (error) {
      throw asError(error);
    }
  }

  /** The policies as they are, one per seed: files that the command line reads, too. */
  async policyBytes(): Promise<Uint8Array[]> {
    try {
      return await this.#engine.snapshots(this.#id, "policy", this.setup.seeds.length);
    } catch (error) {
      throw asError(error);
    }
  }

  /** The policy of the seed of this number, from 0, as it is now. Dispose of it after use. */
  async policy(index = 0): Promise<Policy> {
    const bytes = (await this.policyBytes())[whole("index", index, 0, this.setup.seeds.length - 1)]!;
    const { env } = this.#request;
    return loadPolicy(
      bytes,
      env.kind === "builtin" ? {} : { env: env.kind === "module" ? { module: env.url } : env.definition },
    );
  }

  /**
   * Episodes of the deterministic actions as the policy is, on random numbers that training never uses; one entry per
   * seed. In environments written in JavaScript as {@link Policy.evaluate}.
   */
  async evaluate(episodes = 100): Promise<Episodes[]> {
    whole("episodes", episodes, 1);
    try {
      if (this.#request.env.kind === "builtin") {
        return (await this.#engine.evaluateSession(this.#id, episodes)) as Episodes[];
      }
      const all: Episodes[] = [];
      for (let index = 0; index < this.setup.seeds.length; index++) {
        const policy = await this.policy(index);
        try {
          all.push(await policy.evaluate({ episodes }));
        } finally {
          policy.dispose();
        }
      }
      return all;
    } catch (error) {
      throw asError(error);
    }
  }

  /** @internal Gives the GPU up, as a driver that is reset does: for tests. */
  async loseDevice(): Promise<void> {
    await this.#engine.loseDevice();
  }

  /** Frees everything. Calls fail from then on. */
  dispose(): void {
    if (this.#disposed) {
      return;
    }
    this.#disposed = true;
    forgotten?.unregister(this);
    if (this.#thread.local) {
      void this.#thread.engine.dispose(this.#id);
    } else {
      this.#thread.end();
    }
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

/**
 * Training to step by hand. {@link train} does so by itself.
 *
 * @example
 * const session = await createSession({ algorithm: "ppo", env: "cartpole", steps: 20_000 });
 * while (!session.done) console.log(await session.step());
 * session.dispose();
 */
export async function createSession<A extends AlgorithmName>(
  options: SessionOptions<A> | RestoreOptions,
): Promise<Session> {
  return Session.open(sessionRequest(options as SessionOptions), options.worker);
}
