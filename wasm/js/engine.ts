import { ConfigError, DeviceError, QuickstudyError, asError } from "./errors.js";
import { rawSource, type EnvironmentDefinition, type RawSource } from "./environment.js";
import { breathe } from "./breathe.js";
import { load, type Raw } from "./load.js";
import type { RawDevice, RawPolicy, RawSession, RawViewer } from "./quickstudy_wasm.js";
import type { DeviceInfo, DeviceKind, DeviceRequest, Metrics, MetaTest } from "./types.js";

/** An environment as a thread is told of it. */
export type EnvRequest =
  | { kind: "builtin"; name: string }
  | { kind: "module"; url: string }
  /** Only on the thread that has it. */
  | { kind: "object"; definition: EnvironmentDefinition };

/** How long a run is, in all. */
export interface RunLength {
  steps?: number | undefined;
  iterations?: number | undefined;
}

/** What to train. */
export interface SessionRequest {
  algorithm: string;
  env: EnvRequest;
  seeds: number[];
  steps: number | undefined;
  iterations: number | undefined;
  config: Record<string, unknown>;
  /** Go on from these instead, one per seed. */
  snapshots: Uint8Array[] | undefined;
  /** Begin with the parameters of these. */
  from: Uint8Array[];
  device: DeviceRequest;
}

/** How far a session is. */
export interface SessionStatus {
  iteration: number;
  envSteps: number;
  totalSteps: number;
  allSteps: number;
  done: boolean;
  /** Dispatches on a GPU so far. */
  dispatches: number;
  /** Seconds that the processor spent on recording and submitting them. */
  hostSeconds: number;
}

interface Thing {
  device: RawDevice;
  /** Calls wait for the one before. */
  queue: Promise<unknown>;
  free(): void;
}

type SessionThing = Thing & { session: RawSession };
type PolicyThing = Thing & { policy: RawPolicy };
type ViewerThing = Thing & { viewer: RawViewer };

/** Everything that the package does, on the thread that it is made on: a worker, or the caller's. */
export class Engine {
  #raw: Raw | undefined;
  #cpu: Promise<RawDevice> | undefined;
  #gpu: Promise<RawDevice> | undefined;
  #things = new Map<number, Thing>();
  #next = 1;

  /** Makes the bindings ready. */
  async start(module: WebAssembly.Module): Promise<void> {
    this.#raw = await load(module);
  }

  get #bindings(): Raw {
    if (!this.#raw) {
      throw new QuickstudyError("internal", "the bindings are not loaded");
    }
    return this.#raw;
  }

  /** All names with what they mean. */
  async describe(): Promise<unknown> {
    return this.#bindings.describe();
  }

  /** A built-in environment's spec. */
  async envSpec(name: string): Promise<unknown> {
    return this.#bindings.envSpec(name);
  }

  /** Opens a device, or says why it cannot be. */
  async probe(kind: DeviceKind): Promise<{ name: string } | { reason: string }> {
    try {
      return { name: (await this.#open(kind)).name };
    } catch (error) {
      return { reason: asError(error).message };
    }
  }

  async #open(kind: DeviceKind): Promise<RawDevice> {
    if (kind === "cpu") {
      return (this.#cpu ??= this.#bindings.RawDevice.open("cpu"));
    }
    // One that is lost stays so; another may be had.
    if ((await this.#gpu?.catch(() => undefined))?.loss !== undefined) {
      this.#gpu = undefined;
    }
    this.#gpu ??= this.#openGpu();
    this.#gpu.catch(() => {
      this.#gpu = undefined;
    });
    return this.#gpu;
  }

  async #openGpu(): Promise<RawDevice> {
    const gpu = (globalThis.navigator as { gpu?: { requestAdapter(): Promise<unknown> } } | undefined)?.gpu;
    if (!gpu) {
      throw new DeviceError("device", "there is no WebGPU here (navigator.gpu is missing)");
    }
    if (!(await gpu.requestAdapter())) {
      throw new DeviceError(
        "device",
        "WebGPU has no adapter: no graphics card, or a browser that does not trust its driver",
      );
    }
    return this.#bindings.RawDevice.open("gpu");
  }

  /** Whether the GPU is one that runs on the processor. */
  async #gpuIsSoftware(): Promise<boolean> {
    type Adapter = { isFallbackAdapter?: boolean; info?: { isFallbackAdapter?: boolean } } | null;
    const gpu = (globalThis.navigator as { gpu?: { requestAdapter(): Promise<Adapter> } } | undefined)?.gpu;
    const adapter = await gpu?.requestAdapter();
    return adapter?.info?.isFallbackAdapter ?? adapter?.isFallbackAdapter ?? false;
  }

  async #source(env: EnvRequest): Promise<RawSource | undefined> {
    if (env.kind === "builtin") {
      return undefined;
    }
    if (env.kind === "object") {
      return rawSource(env.definition, breathe);
    }
    let module: { default?: EnvironmentDefinition };
    try {
      module = (await import(/* @vite-ignore */ /* webpackIgnore: true */ env.url)) as typeof module;
    } catch (cause) {
      // Bundlers copy what a URL names as it is, or put it into the page whole.
      const hint =
        "; a module of an environment must be served as it is and import nothing that a browser does not find";
      const url = env.url.length > 120 ? `${env.url.slice(0, 60)}…` : env.url;
      const why = (cause as Error).message.replaceAll(env.url, url);
      throw new ConfigError(`env: the module ${url} cannot be loaded: ${why}${hint}`, { key: "env", cause });
    }
    if (!module.default) {
      throw new ConfigError(`env: the module ${env.url} has no default export`, { key: "env" });
    }
    return rawSource(module.default, breathe);
  }

  #make(request: SessionRequest, device: RawDevice, source: RawSource | undefined): RawSession {
    const { RawSession } = this.#bindings;
    if (request.snapshots) {
      const session = RawSession.restore(device, request.snapshots, source);
      if (request.steps !== undefined || request.iterations !== undefined) {
        try {
          setLength(session, request);
        } catch (error) {
          session.free();
          throw error;
        }
      }
      return session;
    }
    const { algorithm, env, seeds, steps, iterations, config, from } = request;
    const name = env.kind === "builtin" ? env.name : undefined;
    return RawSession.start(device, { algorithm, env: name, seeds, steps, iterations, config }, source, from);
  }

  /** Milliseconds of an iteration after the first one, on a device of its own. */
  async #time(request: SessionRequest, device: RawDevice): Promise<number> {
    const session = this.#make(request, device, undefined);
    try {
      await session.step();
      const start = performance.now();
      await session.step();
      return performance.now() - start;
    } finally {
      session.free();
    }
  }

  /** The device to take, and why it is not the one that was asked for. */
  async #choose(request: SessionRequest, source: RawSource | undefined): Promise<[RawDevice, string | undefined]> {
    const cpu = await this.#open("cpu");
    if (request.device === "cpu") {
      return [cpu, undefined];
    }
    let gpu: RawDevice;
    try {
      gpu = await this.#open("gpu");
    } catch (error) {
      return [cpu, `training on the CPU: ${asError(error).message}`];
    }
    if (request.device === "gpu") {
      return [gpu, undefined];
    }
    if (source) {
      return [cpu, "training on the CPU: the environment is there"];
    }
    if (await this.#gpuIsSoftware()) {
      return [cpu, `training on the CPU: ${gpu.name || "the GPU"} is software`];
    }
    try {
      const [onGpu, onCpu] = [await this.#time(request, gpu), await this.#time(request, cpu)];
      const ms = (time: number) => `${time.toFixed(1)} ms`;
      return onGpu < onCpu
        ? [gpu, `training on the GPU: ${ms(onGpu)} per iteration, ${ms(onCpu)} on the CPU`]
        : [cpu, `training on the CPU: ${ms(onCpu)} per iteration, ${ms(onGpu)} on the GPU`];
    } catch (error) {
      return [cpu, `training on the CPU: the GPU failed, ${asError(error).message}`];
    }
  }

  #keep(thing: Thing): number {
    const id = this.#next++;
    this.#things.set(id, thing);
    return id;
  }

  /** Runs a call on a thing after those before it. */
  #on<T extends Thing, R>(id: number, call: (thing: T) => R | Promise<R>): Promise<R> {
    const thing = this.#things.get(id) as T | undefined;
    if (!thing) {
      return Promise.reject(new QuickstudyError("disposed", "it was disposed of before"));
    }
    const result = thing.queue.then(() => call(thing)).catch((error: unknown) => explain(error, thing.device));
    thing.queue = result.catch(() => undefined);
    return result;
  }

  /** Starts a session. */
  async session(
    request: SessionRequest,
  ): Promise<{ id: number; device: DeviceInfo; setup: unknown; status: SessionStatus }> {
    const source = await this.#source(request.env);
    const [device, reason] = await this.#choose(request, source);
    const session = this.#make(request, device, source);
    const thing: SessionThing = { device, session, queue: Promise.resolve(), free: () => session.free() };
    const info: DeviceInfo = { kind: device.kind as DeviceKind, name: device.name, reason };
    return { id: this.#keep(thing), device: info, setup: session.setup(), status: status(session) };
  }

  /** One iteration. */
  async step(id: number): Promise<{ rows: (Metrics | undefined)[]; status: SessionStatus }> {
    return this.#on(id, async ({ session }: SessionThing) => {
      // What is missing is null in plain objects.
      const rows = ((await session.step()) as (Metrics | null)[]).map((row) => row ?? undefined);
      return { rows, status: status(session) };
    });
  }

  /** Snapshots of all seeds, or policies of all. */
  async snapshots(id: number, what: "session" | "policy", seeds: number): Promise<Uint8Array[]> {
    return this.#on(id, async ({ session }: SessionThing) => {
      const all: Uint8Array[] = [];
      for (let index = 0; index < seeds; index++) {
        all.push(await (what === "session" ? session.snapshot(index) : session.policySnapshot(index)));
      }
      return all;
    });
  }

  /** Episodes of the policies as they are. */
  async evaluateSession(id: number, episodes: number): Promise<unknown> {
    return this.#on(id, ({ session }: SessionThing) => session.evaluate(episodes));
  }

  /** Makes so many environment steps or iterations in all. */
  async setLength(id: number, length: RunLength): Promise<SessionStatus> {
    return this.#on(id, ({ session }: SessionThing) => {
      setLength(session, length);
      return status(session);
    });
  }

  /** Gives the GPU up as a driver that is reset does: for tests of what follows. */
  async loseDevice(): Promise<void> {
    const gpu = await this.#gpu;
    gpu?.lose();
  }

  /** Loads a policy. */
  async policy(
    bytes: Uint8Array,
    env: EnvRequest | undefined,
    kind: DeviceKind,
  ): Promise<{ id: number; info: unknown }> {
    const source = env && (await this.#source(env));
    const device = await this.#open(kind);
    const policy = this.#bindings.RawPolicy.load(device, bytes, source);
    const thing: PolicyThing = { device, policy, queue: Promise.resolve(), free: () => policy.free() };
    return { id: this.#keep(thing), info: policy.info() };
  }

  /** Episodes of a policy. */
  async evaluate(id: number, episodes: number, seed: number, deterministic: boolean | undefined): Promise<unknown> {
    return this.#on(id, ({ policy }: PolicyThing) => policy.evaluate(episodes, BigInt(seed), deterministic));
  }

  /** Adaptation of a policy to tasks. */
  async adapt(id: number, test: MetaTest & { given: number[][] | undefined }): Promise<unknown> {
    return this.#on(id, ({ policy }: PolicyThing) => policy.adapt(test));
  }

  /** Adaptation of a policy to one task, and what it believed meanwhile. */
  async guesses(
    id: number,
    test: { to: number[]; episodes: number | undefined; draws: number; seed: number },
  ): Promise<unknown> {
    return this.#on(id, ({ policy }: PolicyThing) => policy.guesses(test));
  }

  /** One episode of a policy, step by step. */
  async trajectory(id: number, seed: number, deterministic: boolean): Promise<unknown> {
    return this.#on(id, ({ policy }: PolicyThing) => policy.trajectory(BigInt(seed), deterministic));
  }

  /** What a policy does. */
  async act(
    id: number,
    obs: Float64Array,
    seed: number,
    deterministic: boolean,
    fresh: boolean,
  ): Promise<Float64Array> {
    return this.#on(id, ({ policy }: PolicyThing) => policy.act(obs, BigInt(seed), deterministic, fresh));
  }

  /** What that led to. */
  async observe(id: number, obs: Float64Array, rewards: Float64Array, terminated: Uint8Array): Promise<void> {
    return this.#on(id, ({ policy }: PolicyThing) => policy.observe(obs, rewards, terminated));
  }

  /** Environments that a policy plays for somebody to look at. */
  async viewer(policyId: number, count: number, seed: number, deterministic: boolean): Promise<number> {
    return this.#on(policyId, ({ policy, device }: PolicyThing) => {
      const viewer = this.#bindings.RawViewer.open(policy, count, BigInt(seed), deterministic);
      const thing: ViewerThing = { device, viewer, queue: Promise.resolve(), free: () => viewer.free() };
      return this.#keep(thing);
    });
  }

  /** A newer policy of the same run for a viewer. */
  async viewPolicy(viewerId: number, policyId: number): Promise<void> {
    return this.#on(policyId, ({ policy }: PolicyThing) =>
      this.#on(viewerId, ({ viewer }: ViewerThing) => viewer.setPolicy(policy)),
    );
  }

  /** One step of a viewer's environments: scenes as one list. */
  async advance(viewerId: number): Promise<Float32Array> {
    return this.#on(viewerId, ({ viewer }: ViewerThing) => viewer.advance());
  }

  /** A viewer's scenes as they are. */
  async scenes(viewerId: number): Promise<Float32Array> {
    return this.#on(viewerId, ({ viewer }: ViewerThing) => viewer.scenes());
  }

  /** Scenes of states of a built-in environment. */
  async draw(env: string, states: Float32Array, task: Float32Array): Promise<Float32Array> {
    return this.#bindings.draw(env, states, task);
  }

  /** Frees a thing after its calls. */
  async dispose(id: number): Promise<void> {
    const thing = this.#things.get(id);
    this.#things.delete(id);
    await thing?.queue;
    thing?.free();
  }
}

/** Milliseconds in which a browser should have told that a device is lost. */
const NEWS = 500;

/** The loss of a device in place of its consequences, of which a browser tells first. */
async function explain(error: unknown, device: RawDevice): Promise<never> {
  const typed = asError(error);
  if (typed.kind === "device" && device.kind === "gpu") {
    for (const start = performance.now(); performance.now() - start < NEWS && device.loss === undefined;) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    if (device.loss !== undefined) {
      throw new DeviceError("device-lost", device.loss);
    }
  }
  throw typed;
}

/** Sets the length of a run, if one is given. */
function setLength(session: RawSession, { steps, iterations }: RunLength): void {
  if (steps !== undefined) {
    session.setSteps(steps);
  } else if (iterations !== undefined) {
    session.setIterations(iterations);
  }
}

function status(session: RawSession): SessionStatus {
  const { iteration, envSteps, totalSteps, allSteps, done, dispatches, hostSeconds } = session;
  return { iteration, envSteps, totalSteps, allSteps, done, dispatches, hostSeconds };
}
