import type { Progress, Run } from "quickstudy";

/** A policy as it was at a moment of training. */
export interface Snapshot {
  seconds: number;
  envSteps: number;
  /** Mean return of recent episodes then. */
  value: number;
  bytes: Uint8Array;
}

/** Points of a curve by seconds of training. */
export interface Points {
  seconds: number[];
  values: number[];
  steps: number[];
}

/** Seconds at which policies are kept whatever happens: those of the ages. */
export const AGES: readonly number[] = [0, 10, 60];
/** Milliseconds between policies that are kept. */
const EVERY = 1000;
/** Bytes and policies that are kept at most. */
const [MAX_BYTES, MAX_COUNT] = [48 << 20, 240];

/** A run as it went: its curve, and its policies second by second, fewer of them the longer it is. */
export class History {
  readonly points: Points = { seconds: [], values: [], steps: [] };
  #kept: Snapshot[] = [];
  #ages = new Map<number, Snapshot>();
  /** Seconds before the last pause, and when that ended. */
  #before = 0;
  #since: number | undefined;
  #askedAt = -Infinity;
  #asking: Promise<void> | undefined;
  /** Seconds of training so far; pauses do not count. */
  seconds = 0;
  envSteps = 0;
  value = NaN;

  /** Lets seconds count, or not: by the clock, so that two runs at once have as many. */
  set running(on: boolean) {
    const now = performance.now();
    if (this.#since !== undefined) this.#before += (now - this.#since) / 1000;
    this.#since = on ? now : undefined;
  }

  /** Takes an iteration; true if it brought a point. */
  add({ envSteps, returnMean }: Progress): boolean {
    this.seconds = this.#before + (this.#since === undefined ? 0 : (performance.now() - this.#since) / 1000);
    this.envSteps = envSteps;
    if (!Number.isFinite(returnMean)) return false;
    this.value = returnMean;
    this.point(this.seconds, envSteps, returnMean);
    return true;
  }

  /** Takes a point; one that is earlier than all others becomes the first. */
  point(seconds: number, steps: number, value: number): void {
    const { points } = this;
    const at = seconds < (points.seconds[0] ?? 0) ? 0 : points.seconds.length;
    points.seconds.splice(at, 0, seconds);
    points.values.splice(at, 0, value);
    points.steps.splice(at, 0, steps);
  }

  /** True once a second has passed since a policy was kept. */
  get due(): boolean {
    return this.#asking === undefined && performance.now() - this.#askedAt >= EVERY;
  }

  /** Keeps the policy as it is now; while one is on its way, no other is asked for. */
  async keep(run: Run): Promise<Snapshot | undefined> {
    if (!this.#asking) {
      this.#askedAt = performance.now();
      this.#asking = this.#take(run).finally(() => (this.#asking = undefined));
    }
    await this.#asking;
    return this.newest;
  }

  async #take(run: Run): Promise<void> {
    const [bytes] = await (await run.session).policyBytes();
    const { seconds, envSteps, value } = this;
    if (bytes && seconds >= (this.newest?.seconds ?? 0)) this.#put({ seconds, envSteps, value, bytes });
  }

  #put(snapshot: Snapshot): void {
    if (this.newest?.seconds === snapshot.seconds) this.#kept.pop();
    this.#kept.push(snapshot);
    for (const age of AGES) {
      if (snapshot.seconds >= age && !this.#ages.has(age)) this.#ages.set(age, snapshot);
    }
    const size = (): number => this.#kept.reduce((sum, { bytes }) => sum + bytes.length, 0);
    while (this.#kept.length > 8 && (this.#kept.length > MAX_COUNT || size() > MAX_BYTES)) this.#thin();
  }

  /** Forgets the policy whose neighbours are closest, but no age's, nor the first or the last: stretches stay even. */
  #thin(): void {
    const [kept, ages] = [this.#kept, new Set(this.#ages.values())];
    let [least, at] = [Infinity, -1];
    for (let i = 1; i < kept.length - 1; i++) {
      const apart = kept[i + 1]!.seconds - kept[i - 1]!.seconds;
      if (apart < least && !ages.has(kept[i]!)) [least, at] = [apart, i];
    }
    if (at > 0) kept.splice(at, 1);
  }

  get newest(): Snapshot | undefined {
    return this.#kept.at(-1);
  }

  /** The policy of an age: the first one that was kept from then on. */
  age(seconds: number): Snapshot | undefined {
    return this.#ages.get(seconds);
  }

  /** Policies that are kept. */
  get kept(): number {
    return this.#kept.length;
  }

  /** The policy that was kept nearest to a second. */
  nearest(seconds: number): Snapshot | undefined {
    const distance = (snapshot: Snapshot): number => Math.abs(snapshot.seconds - seconds);
    return this.#kept.reduce<Snapshot | undefined>(
      (best, snapshot) => (!best || distance(snapshot) < distance(best) ? snapshot : best),
      undefined,
    );
  }
}

/** The value of a curve at a second, between its points on a straight way; nothing before and after them. */
export function valueAt({ seconds, values }: Points, at: number): number | undefined {
  const after = seconds.findIndex((second) => second >= at);
  if (after < 0) return undefined;
  if (after === 0) return seconds[0] === at ? values[0] : undefined;
  const [from, to] = [seconds[after - 1]!, seconds[after]!];
  const part = to > from ? (at - from) / (to - from) : 1;
  return values[after - 1]! + part * (values[after]! - values[after - 1]!);
}
