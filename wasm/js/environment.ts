import { only, shown, whole } from "./check.js";
import { ConfigError } from "./errors.js";

/** One number of an observation, an action or a task: its name and the range it keeps to. */
export interface Dim {
  name: string;
  /** Smallest value; none: no bound. */
  low?: number;
  /** Largest value; none: no bound. */
  high?: number;
}

/** One of several choices that an action makes at once: its name, and the names of its options. */
export interface NamedChoice {
  name: string;
  choices: string[];
}

/** What an environment takes and gives. */
export interface EnvironmentSpec {
  /** Name in messages and snapshots. */
  name: string;
  /** The observation's numbers, or how many there are. */
  observation: number | Dim[];
  /**
   * The actions of an agent: one of several choices, by number or by name; several choices at once, each by the number
   * of its options or by their names; or a vector of numbers, all with bounds.
   */
  action: { choices: number | string[] | number[] | NamedChoice[] } | { vector: Required<Dim>[] };
  /** Steps after which an episode is cut off: what `time_limit` is to a built-in environment. */
  horizon: number;
  /** Parameters that tell tasks apart; none: a single task. */
  task?: Required<Dim>[];
  /** Names of what steps report besides rewards. */
  info?: string[];
  /** Seconds that a step takes in the simulated world. */
  dt?: number;
}

/** What a step leads to. */
export interface StepResult {
  /** What the agent sees next, also where the episode ended. */
  observation: ArrayLike<number>;
  reward: number;
  /** Whether the episode ended in a final state. */
  terminated?: boolean;
  /** Whether it was cut off; the spec's time limit is kept without this. */
  truncated?: boolean;
  /** Values of the spec's `info`, in that order. */
  info?: ArrayLike<number>;
}

/** Random numbers of one call. The same seed of a run gives the same ones, so that training repeats exactly. */
export interface Chance {
  /** A whole number from 0 up to 2³² − 1, for a generator of one's own. */
  readonly seed: number;
  /** A number from 0 up to, but not including, 1. */
  random(): number;
}

/** One environment. Its methods may return promises. */
export interface Environment {
  /** Start an episode: its first observation. */
  reset(chance: Chance): ArrayLike<number> | Promise<ArrayLike<number>>;
  /** One step with the number of a choice, a vector of such where there are several, or a vector within its bounds. */
  step(action: number | Float64Array, chance: Chance): StepResult | Promise<StepResult>;
  /** The task of the episodes that follow, from the next reset on. */
  setTask?(task: Float64Array): void | Promise<void>;
  /** The parameters of one task; without this, each is uniform in its range. */
  sampleTask?(chance: Chance): ArrayLike<number> | Promise<ArrayLike<number>>;
}

/** An environment written in JavaScript: what it takes and gives, and how one of many is made. */
export interface EnvironmentDefinition {
  spec: EnvironmentSpec;
  /** Makes environment `number` of those that run side by side. */
  create(number: number): Environment;
}

/**
 * Says that an object is an environment, so that a module's default export is checked as it is written.
 *
 * @example
 * export default defineEnvironment({ spec: { … }, create: () => new Walk() });
 */
export function defineEnvironment(definition: EnvironmentDefinition): EnvironmentDefinition {
  return definition;
}

/** Random numbers from a seed, by mulberry32: a counter and a mixer, enough for a game. */
class SeededChance implements Chance {
  #state: number;

  constructor(
    readonly seed: number,
    other: number,
  ) {
    this.#state = (seed ^ Math.imul(other, 0x9e3779b1)) >>> 0;
  }

  random(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }
}

const SPEC = ["name", "observation", "action", "horizon", "task", "info", "dt"];

/** Whether actions are the number of one choice, not several at once or a vector. */
function isOneChoice(action: EnvironmentSpec["action"]): boolean {
  if (!("choices" in action)) {
    return false;
  }
  return typeof action.choices === "number" || action.choices.every((choice: unknown) => typeof choice === "string");
}

/** Names what is wrong with a list of choices: it has the names of one, or the counts or names of several. */
function checkChoices(choices: unknown[], fail: (what: string) => never): void {
  const [first] = choices;
  if (typeof first === "number") {
    choices.forEach((count) => whole("env.spec.action.choices", count, 1));
    return;
  }
  const named = (choice: unknown): boolean =>
    typeof choice === "object" && choice !== null && "name" in choice && "choices" in choice;
  const fits = typeof first === "object" ? named : (choice: unknown): boolean => typeof choice === "string";
  if (!choices.every(fits)) {
    fail("names, counts of options or an array of { name, choices }");
  }
}

/** Names what is wrong with a spec's shape; ranges are checked where environments are made. */
function checkSpec(spec: EnvironmentSpec): void {
  only("property of env.spec", spec, SPEC);
  const { name, observation, action } = spec;
  const expected = (key: string, what: string, got: unknown): never => {
    throw new ConfigError(`env.spec.${key}: expected ${what}, got ${shown(got)}`, { key: `env.spec.${key}` });
  };
  if (typeof name !== "string" || name === "") {
    expected("name", "a name", name);
  }
  if (!Array.isArray(observation)) {
    whole("env.spec.observation", observation, 1);
  }
  const { choices, vector } = (typeof action === "object" && action !== null ? action : {}) as {
    choices?: unknown;
    vector?: unknown;
  };
  if ((choices === undefined) === (vector === undefined)) {
    expected("action", "{ choices } or { vector }", action);
  }
  if (Array.isArray(choices)) {
    checkChoices(choices, (what) => expected("action.choices", what, choices));
  } else if (choices !== undefined) {
    whole("env.spec.action.choices", choices, 1);
  }
  if (vector !== undefined && !Array.isArray(vector)) {
    expected("action.vector", "an array of { name, low, high }", vector);
  }
  whole("env.spec.horizon", spec.horizon, 1);
}

/** Faults of a step's result that would train on without a word. */
function checkStep(stepped: StepResult): StepResult {
  if (typeof stepped === "object" && stepped !== null) {
    if ("done" in stepped) {
      throw new TypeError("`done` means nothing here: say `terminated`, or `truncated` where an episode is cut off");
    }
    for (const end of ["terminated", "truncated"] as const) {
      const value: unknown = stepped[end];
      if (value !== undefined && typeof value !== "boolean") {
        throw new TypeError(`\`${end}\` is ${shown(value)}, expected true or false`);
      }
    }
  }
  return typeof stepped === "object" && stepped !== null ? copyOf(stepped) : stepped;
}

/** Numbers as they are now: an environment may use its array again, also one that it shares with the others. */
function kept<T>(numbers: T): T {
  if (Array.isArray(numbers)) return numbers.slice() as T;
  return ArrayBuffer.isView(numbers) && !(numbers instanceof DataView) ? (numbers as Float64Array & T).slice() as T : numbers;
}

/** The copy of a step's result, also of one that is an object of a class. */
function copyOf({ observation, reward, terminated, truncated, info }: StepResult): StepResult {
  return { observation: kept(observation), reward, terminated, truncated, info: kept(info) } as StepResult;
}

/** What the bindings call: see `js_env.rs`. */
export interface RawEnvironment {
  reset(low: number, high: number): unknown;
  step(action: Float64Array, low: number, high: number): unknown;
  setTask(task: Float64Array): unknown;
  sampleTask(low: number, high: number): unknown;
}

/** What makes environments for the bindings. */
export interface RawSource {
  spec: EnvironmentSpec;
  create(number: number): RawEnvironment;
  pause(): Promise<void> | undefined;
}

/** Milliseconds of work after which a thread that also paints gets a pause. */
const SLICE = 8;

/** Environments as the bindings call them; `pause` lets the thread do something else. */
export function rawSource(definition: EnvironmentDefinition, pause: () => Promise<void>): RawSource {
  const isObject = typeof definition === "object" && definition !== null;
  if (!isObject || typeof definition.create !== "function" || typeof definition.spec !== "object") {
    throw new ConfigError("env: expected { spec, create } as `defineEnvironment` takes it", { key: "env" });
  }
  only("property of an environment", definition, ["spec", "create"]);
  const { spec } = definition;
  checkSpec(spec);
  const discrete = isOneChoice(spec.action);
  const dims = spec.task ?? [];
  let since = Date.now();
  return {
    spec,
    create(number) {
      const env = definition.create(number);
      for (const method of ["reset", "step"] as const) {
        if (typeof env?.[method] !== "function") {
          throw new TypeError(`environments need a function \`${method}\``);
        }
      }
      if (dims.length > 0 && typeof env.setTask !== "function") {
        throw new TypeError("the spec has task parameters, so environments need a function `setTask`");
      }
      return {
        reset(low, high) {
          const first = env.reset(new SeededChance(low, high));
          return first instanceof Promise ? first.then(kept) : kept(first);
        },
        // A copy: the bindings' memory may move while an environment keeps what it got.
        step(action, low, high) {
          const stepped = env.step(discrete ? action[0]! : action.slice(), new SeededChance(low, high));
          return stepped instanceof Promise ? stepped.then(checkStep) : checkStep(stepped);
        },
        setTask: (task) => env.setTask?.(task.slice()),
        sampleTask(low, high) {
          const chance = new SeededChance(low, high);
          if (!env.sampleTask) return dims.map((d) => d.low + (d.high - d.low) * chance.random());
          const task = env.sampleTask(chance);
          return task instanceof Promise ? task.then(kept) : kept(task);
        },
      };
    },
    pause() {
      if (Date.now() - since < SLICE) {
        return undefined;
      }
      return pause().then(() => {
        since = Date.now();
      });
    },
  };
}
