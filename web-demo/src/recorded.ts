import learners from "./recorded.json" with { type: "json" };

/** A policy that was kept while a run was recorded. */
export interface RecordedAge {
  /** Seconds of training. */
  seconds: number;
  envSteps: number;
  /** Mean return of the latest episodes of training, as curves have it; of the untrained one, by drawn actions. */
  return: number;
  /** Name of its file. */
  policy: string;
}

/** A run that was recorded earlier by `scripts/record.mjs`: its curve by seconds, and policies of three ages. */
export interface RecordedRun {
  env: string;
  algorithm: string;
  seed: number;
  /** The command that recorded it. */
  command: string;
  /** Episodes that the untrained policy was measured on. */
  episodes: number;
  ages: RecordedAge[];
  seconds: number[];
  envSteps: number[];
  returns: number[];
}

const LEARNERS: Record<string, readonly string[]> = learners;
const runs = new Map<string, Promise<RecordedRun | undefined>>();
const policies = new Map<string, Promise<Uint8Array>>();

/** Learners with a recorded run in a world; the page's own choice is the first. */
export function recordedLearners(env: string): readonly string[] {
  return LEARNERS[env] ?? [];
}

async function read(name: string): Promise<Response> {
  const response = await fetch(`./recorded/${name}`);
  if (!response.ok) {
    throw new Error(`the recorded ${name} cannot be read: the server answered ${response.status}`);
  }
  return response;
}

/** Reads a recorded run; nothing where there is none. */
export function recordedRun(env: string, algorithm: string): Promise<RecordedRun | undefined> {
  if (!recordedLearners(env).includes(algorithm)) {
    return Promise.resolve(undefined);
  }
  const name = `${env}.${algorithm}.json`;
  const found =
    runs.get(name) ??
    read(name)
      .then((response) => response.json() as Promise<RecordedRun>)
      .catch(() => undefined);
  runs.set(name, found);
  return found;
}

/** Reads the policy of an age. */
export function recordedPolicy({ policy }: RecordedAge): Promise<Uint8Array> {
  const found = policies.get(policy) ?? read(policy).then(async (r) => new Uint8Array(await r.arrayBuffer()));
  policies.set(policy, found);
  // A failure may be tried again.
  found.catch(() => policies.delete(policy));
  return found;
}

/** The oldest policy of a run. */
export function oldest({ ages }: RecordedRun): RecordedAge {
  return ages[ages.length - 1]!;
}
