/** Where programs run: the processor by WebAssembly with SIMD, or a GPU by WebGPU. */
export type DeviceKind = "cpu" | "gpu";

/**
 * Names the device to run on. `auto` takes a GPU if it is faster on the program at hand, which is timed; small networks
 * are often faster on the processor. Where there is no GPU, `gpu` trains on the processor and says so.
 */
export type DeviceRequest = "auto" | DeviceKind;

/** The device that was taken. */
export interface DeviceInfo {
  kind: DeviceKind;
  /** Its name for people. */
  name: string;
  /** Why it was taken, where it is not simply the one that was asked for. */
  reason: string | undefined;
}

/** Values of one iteration by name, as in `metrics.csv` of the command line; NaN where there is none this time. */
export type Metrics = Record<string, number>;

/** One setting of a run. */
export interface Setting {
  key: string;
  value: unknown;
  /** `default`, `preset …` or `config`. */
  origin: string;
}

/** What is being trained. */
export interface SetupInfo {
  algorithm: string;
  env: string;
  seeds: number[];
  /** Environment steps per seed that were asked for. */
  steps: number;
  /** Iterations per seed, if the run is as long as these say. */
  iterations: number | null;
  /** Name of the preset whose settings apply. */
  preset: string | null;
  settings: Setting[];
}

/** Episodes, one entry each. */
export interface Episodes {
  returns: number[];
  lengths: number[];
  /** Whether it ended by itself, not by the time limit. */
  terminated: boolean[];
}

/** One number of an observation, an action or a task: its name and the range it keeps to (null: no bound). */
export interface DimInfo {
  name: string;
  low: number | null;
  high: number | null;
}

/** Numbers of an observation, from the first to the one before the last. */
export interface Span {
  start: number;
  end: number;
}

/** Everything fixed about a built-in environment. */
export interface SpecInfo {
  name: string;
  observation: DimInfo[];
  action:
    | { kind: "discrete"; names: string[] }
    | { kind: "box"; dims: DimInfo[] }
    | { kind: "multidiscrete"; choices: { name: string; names: string[] }[] };
  horizon: number;
  /** Seconds that a step takes in the simulated world. */
  dt: number;
  /** Mean return from which it counts as solved, where its authors name one. */
  solved_at: number | null;
  /** Parameters that tell tasks apart; empty for a single task. */
  task: DimInfo[];
  /** Which numbers of the state are the agent's place in the plane that it is drawn in, if it moves in one. */
  plane: [number, number] | null;
  /**
   * The number of the state that is the agent's place along a line, in m, if it runs along one at a velocity or in a
   * direction that the first parameter of its task names.
   */
  course?: number;
  /** Names the shapes that it is drawn with, where some need a name: `green: the goal`. */
  legend?: string;
  /**
   * Where its goals are in observations, if it is about reaching such: the numbers that say what is reached and what is
   * sought.
   */
  goal?: { achieved: Span; desired: Span; tolerance: number };
}

/**
 * How the policies of an algorithm come to a task: trained on it, or adapting by gradient steps, by what they remember
 * or by a belief.
 */
export type Family = "single-task" | "gradients" | "memory" | "inference";

/** What there is. */
export interface Catalogue {
  version: string;
  algorithms: {
    name: string;
    meaning: string;
    family: Family;
    /** Built-in environments that it trains on, with its defaults. */
    envs: string[];
    settings: { key: string; range: string; meaning: string; default: unknown }[];
  }[];
  envs: { spec: SpecInfo; parameters: { name: string; default: string; meaning: string }[] }[];
  /** Settings that are known to work. */
  presets: { algorithm: string; env: string; steps: number; settings: Record<string, unknown> }[];
  metrics: { name: string; meaning: string }[];
}

/** What to measure on held-out tasks. */
export interface MetaTest {
  /** How many held-out tasks, default 40. */
  tasks?: number;
  /** Rollouts per task and gradient step, or trials per task; default as in training. */
  rollouts?: number;
  /** Gradient steps of policies that adapt by these; default as in training. */
  innerSteps?: number;
  /** Episodes of a trial, of policies that adapt by their memory or by a belief; default as in training. */
  episodes?: number;
  /** Names the tasks; default 0. */
  seed?: number;
  /**
   * Measure the deterministic actions, default true; what gradient steps learn from is always drawn. In environments
   * written in JavaScript all actions are drawn.
   */
  deterministic?: boolean;
}

/** One episode step by step. */
export interface Path {
  /**
   * The state in which each step was made, one after the other. A trajectory of an environment with a single
   * task ends with the state that its last step led to; paths of adaptations do not have it. Of environments
   * written in JavaScript, what the policy saw.
   */
  states: Float32Array;
  /** What the environment got in each step, one after the other. */
  actions: Float32Array;
  /** What each step paid. */
  rewards: Float64Array;
}

/** How a policy adapted. */
export interface Adaptation {
  /** Parameters of each task. */
  tasks: number[][];
  /** What tells one stage from the next; in gradient steps, the first stage is before them. */
  unit: "gradient steps" | "episodes" | "steps";
  /** Steps of a stage, where `unit` is `steps`. */
  stretch: number;
  /** Episodes of a trial. */
  episodes: number;
  /** Steps after which an episode ends. */
  horizon: number;
  stages: {
    /** Return of each rollout, by task. */
    returns: number[][];
    /** Each task's first rollout. */
    paths: Path[];
  }[];
}

/** How a policy that infers a belief adapted to one task, and where it would have gone at each moment of that. */
export interface Guesses extends Adaptation {
  /**
   * By stage, and by steps that were made in it, from 0 to `horizon`: places in the plane, x and y
   * of one draw after the other. A draw keeps its random numbers and its first state at all times,
   * so that it moves only as the belief does.
   */
  places: Float32Array[][];
}
