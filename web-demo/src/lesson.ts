import { count, learner, reward } from "./format.js";
import { AGES, History, valueAt, type Points, type Snapshot } from "./history.js";
import type { Age } from "./ages.js";
import { oldest, recordedPolicy, type RecordedAge, type RecordedRun } from "./recorded.js";
import type { Rival } from "./rival.js";
import type { Line } from "./timeline.js";
import type { Act } from "./troupe.js";

/** Somebody to be seen, whose bytes may have to be fetched. */
export interface Wanted {
  key: string;
  act(): Promise<Act>;
}

/** A moment of a run: of the visitor's, or of a recorded one. */
interface Moment {
  seconds: number;
  envSteps: number;
  value: number;
}

/** Lines of earlier runs at most. */
const MAX_GHOSTS = 4;
let runs = 0;

/** A lesson: one learner in one world, with its recorded run, the visitor's own, and maybe somebody to race against. */
export class Lesson {
  readonly env: string;
  readonly algorithm: string;
  readonly against: string | undefined;
  /** Recorded runs of the learner, and of whom it races against. */
  recorded: RecordedRun | undefined;
  recordedRival: RecordedRun | undefined;
  /** The visitor's run, once it has begun, and the one that waits to. */
  own: History | undefined;
  waiting: History | undefined;
  rival: Rival | undefined;
  ghosts: Line[] = [];
  #id = (runs += 1);

  constructor(env: string, algorithm: string, against: string | undefined) {
    [this.env, this.algorithm, this.against] = [env, algorithm, against];
  }

  /** As it is, but against somebody else. */
  with(against: string | undefined): Lesson {
    const { recorded, own, waiting, ghosts } = this;
    return Object.assign(new Lesson(this.env, this.algorithm, against), { recorded, own, waiting, ghosts });
  }

  /** Takes over earlier lines of this world from the lesson before. */
  after(before: Lesson | undefined): void {
    if (before?.env !== this.env) return;
    const line = before.own && { points: before.own.points, style: "ghost" as const, label: "" };
    this.ghosts = [...before.ghosts, ...(line && line.points.seconds.length > 1 ? [line] : [])].slice(-MAX_GHOSTS);
  }

  /** True while everything that is shown was recorded earlier. */
  get isRecorded(): boolean {
    return this.own === undefined && this.recorded !== undefined;
  }

  /** Seconds of the newest moment. */
  get end(): number {
    return this.own ? this.own.seconds : this.recorded ? oldest(this.recorded).seconds : 0;
  }

  /** Seconds that can be looked at, where only some can. */
  get stops(): readonly number[] | undefined {
    return this.own ? undefined : (this.recorded?.ages.map(({ seconds }) => seconds) ?? [0]);
  }

  #age(run: RecordedRun, at: number | undefined): RecordedAge {
    const seconds = at ?? this.end;
    return run.ages.reduce((best, age) =>
      Math.abs(age.seconds - seconds) < Math.abs(best.seconds - seconds) ? age : best,
    );
  }

  #snapshot(history: History, at: number | undefined): Snapshot | undefined {
    return at === undefined ? history.newest : history.nearest(at);
  }

  /** The moment that is looked at. */
  moment(at: number | undefined): Moment {
    if (this.own) {
      const { seconds, envSteps, value } = this.own;
      return (at === undefined ? undefined : this.own.nearest(at)) ?? { seconds, envSteps, value };
    }
    if (this.recorded) {
      const { seconds, envSteps, return: value } = this.#age(this.recorded, at);
      return { seconds, envSteps, value };
    }
    return { seconds: 0, envSteps: this.waiting?.envSteps ?? 0, value: NaN };
  }

  /** The policy to be seen in front. */
  hero(at: number | undefined): Wanted | undefined {
    const mine = this.own ? this.#snapshot(this.own, at) : this.recorded ? undefined : this.waiting?.newest;
    if (mine) return this.#kept("own", mine);
    return !this.own && this.recorded ? recorded(this.#age(this.recorded, at)) : undefined;
  }

  /** The policy that one's own run begins with. */
  get first(): Wanted | undefined {
    const first = this.waiting?.newest;
    return first && this.#kept("own", first);
  }

  /** The policy to be seen behind it. */
  second(at: number | undefined): Wanted | undefined {
    if (this.own) {
      const theirs = this.rival && this.#snapshot(this.rival.history, at);
      return theirs && this.#kept(`rival ${this.against}`, theirs);
    }
    return this.recorded && this.recordedRival && recorded(this.#age(this.recordedRival, at));
  }

  #kept(whose: string, { seconds, bytes }: Snapshot): Wanted {
    const key = `${whose} ${this.#id} ${seconds}`;
    return { key, act: () => Promise.resolve({ key, bytes }) };
  }

  /** Lines by seconds, one's own last. */
  get lines(): Line[] {
    const [own, rival] = [this.own, this.rival];
    const label = this.own ? "" : "a recorded run";
    const lines: Line[] = [...this.ghosts];
    if (this.recordedRival && !(own && rival)) {
      const name = this.own ? "" : `${learner(this.against!)}, recorded`;
      lines.push({ points: curve(this.recordedRival), style: "against", label: name });
    }
    if (this.recorded) lines.push({ points: curve(this.recorded), style: "recorded", label });
    if (own && rival) lines.push({ points: rival.history.points, style: "rival", label: learner(rival.algorithm) });
    if (own) lines.push({ points: own.points, style: "own", label: learner(this.algorithm) });
    return lines;
  }

  /** Ages of one's own run on its line. */
  get rings(): [number, number][] {
    const points = this.own?.points;
    return AGES.flatMap((age) => {
      const value = points && valueAt(points, age);
      return value === undefined ? [] : [[age, value] satisfies [number, number]];
    });
  }

  /** Three policies of the learner: recorded ones, until one's own run is as old. `ended`: it gets no older. */
  ages(ended: boolean): Age[] {
    const own = this.own;
    const all = AGES.map((at, i) => {
      const mine = own?.age(at);
      if (mine) return this.#mine(mine, at);
      const past = this.recorded?.ages[i];
      return past && this.recorded ? theirs(this.recorded, past) : undefined;
    });
    // A run that has ended earlier has its last policy instead of the first that it has not reached.
    const missing = AGES.findIndex((at) => own !== undefined && own.age(at) === undefined);
    const last = own?.newest;
    if (ended && missing > 0 && last && last.seconds >= 1) all[missing] = this.#mine(last, last.seconds);
    return all.filter((age) => age !== undefined);
  }

  #mine(snapshot: Snapshot, seconds: number): Age {
    const { key, act } = this.#kept("own", snapshot);
    const { value, envSteps } = snapshot;
    const first = seconds === 0 ? this.own?.points.values[0] : undefined;
    const how = `Your run after ${count(envSteps)} steps. The number is the mean return of its latest episodes.`;
    const bytes = async (): Promise<Uint8Array> => (await act()).bytes;
    return { key, seconds, result: reward(Number.isFinite(value) ? value : (first ?? NaN)), yours: true, how, bytes };
  }

  /** Return that one's own run is ahead by at a second; by default, at the last that both have reached. */
  lead(at: number | undefined): number | undefined {
    const [own, rival] = [this.own, this.rival];
    if (own && rival) {
      const both = Math.min(own.points.seconds.at(-1) ?? 0, rival.history.points.seconds.at(-1) ?? 0);
      const second = Math.min(at ?? both, both);
      const [mine, theirs] = [valueAt(own.points, second), valueAt(rival.history.points, second)];
      return mine === undefined || theirs === undefined ? undefined : mine - theirs;
    }
    const [mine, theirs] = [this.recorded, this.recordedRival];
    return !own && mine && theirs ? this.#age(mine, at).return - this.#age(theirs, at).return : undefined;
  }

  /** The lines in words. */
  get described(): string {
    const parts = this.lines.map(({ style, points: { seconds, values } }) => {
      const name = { own: "yours", rival: "the rival's", recorded: "recorded", against: "the rival's, recorded" };
      const said = style === "ghost" ? "an earlier run" : name[style];
      const last = values.length - 1;
      return last < 0
        ? `${said}: nothing yet`
        : `${said}: ${reward(values[0]!)} at first, ${reward(values[last]!)} after ${Math.round(seconds[last]!)} s`;
    });
    return parts.length > 0 ? `Return, ${parts.join("; ")}.` : "Nothing is trained yet.";
  }

  /** A moment in words, as it is read out. */
  spoken(at: number | undefined): string {
    const { seconds, envSteps, value } = this.moment(at);
    const when = `${Math.round(at ?? seconds)} seconds of training`;
    const paid = Number.isFinite(value) ? `, return ${reward(value)}` : "";
    const whose = this.isRecorded ? ", recorded" : this.own && at === undefined ? ", now" : "";
    return `${when}${whose}: ${count(envSteps)} steps${paid}`;
  }
}

function recorded(age: RecordedAge): Wanted {
  const key = `recorded ${age.policy}`;
  return { key, act: async () => ({ key, bytes: await recordedPolicy(age) }) };
}

function theirs({ command, episodes }: RecordedRun, age: RecordedAge): Age {
  const { seconds, return: value, policy } = age;
  const what = seconds === 0 ? `${episodes} episodes` : "its latest episodes then";
  const how = `Recorded by: ${command}. The number is the mean return of ${what}.`;
  const result = reward(value);
  return { key: `recorded ${policy}`, seconds, result, yours: false, how, bytes: () => recordedPolicy(age) };
}

const curves = new WeakMap<RecordedRun, Points>();

/** The curve of a recorded run. */
function curve(run: RecordedRun): Points {
  const known = curves.get(run) ?? { seconds: run.seconds, values: run.returns, steps: run.envSteps };
  curves.set(run, known);
  return known;
}
