import { envSpec, loadPolicy, type SpecInfo } from "quickstudy";
import { Bandit } from "../bandit.js";
import { ContestCurve } from "../contest-curve.js";
import { linkCopied } from "../keeping.js";
import { Dial } from "../dial.js";
import { button, byId, element, reducedMotion, say } from "../dom.js";
import { picked, type Picked } from "../files.js";
import { count } from "../format.js";
import type { Lane } from "../lane.js";
import { Plane } from "../plane.js";
import { Playback } from "../playback.js";
import { ADAPTABLE, contestants, type Contestant } from "../policies.js";
import { Runner } from "../runner.js";
import { TaskCards } from "../task-cards.js";
import { TASK_KINDS } from "../task-kinds.js";
import type { Choices } from "../url-state.js";
import type { RoomView } from "./room.js";

/** Milliseconds after the last change of a task before it is adapted to. */
const SETTLE = 40;

/** Adapt: trained policies meet a task of the reader's. */
export class AdaptRoom implements RoomView {
  #cards = new TaskCards(byId("adapt-tasks"), () => void this.#open(undefined));
  #dial = new Dial(byId("adapt-dial"), (dim, value) => {
    this.#goTo(this.#task.map((old, i) => (i === dim ? value : old)));
  });
  #curve = new ContestCurve(byId("adapt-curve") as HTMLCanvasElement);
  #told = byId("adapt-told");
  #results = byId("adapt-results");
  #trio = byId("adapt-trio");
  #label = element("span", {}, "Adapt");
  #play = button("", () => this.#press(), { class: "play", "data-testid": "adapt-play", "data-state": "ready" });
  #playback = new Playback();
  #lanes: Lane[] = [];
  #own = new Map<string, Contestant>();
  #known = new Map<string, Promise<Contestant[]>>();
  #spec: SpecInfo | undefined;
  #task: number[] = [];
  #seed = 0;
  #settling: ReturnType<typeof setTimeout> | undefined;
  #adapting: Promise<void> = Promise.resolve();
  #opening = 0;
  #generation = 0;
  #entered = false;
  #chosen: () => void;

  constructor(given: Partial<Choices>, chosen: () => void) {
    this.#chosen = chosen;
    this.#cards.value = ADAPTABLE[0]!;
    const file = element("input", { type: "file", accept: ".safetensors", "data-testid": "adapt-load" });
    file.addEventListener("change", () => void picked(file).then((found) => found && this.offered(found)));
    this.#play.append(this.#label);
    byId("adapt-controls").prepend(this.#play);
    byId("adapt-buttons").replaceChildren(
      button("Random task", () => this.#byChance(), { class: "text", "data-testid": "adapt-chance" }),
      button("Copy link", () => void linkCopied().then((text) => this.#tell(text)), { class: "text" }),
    );
    byId("adapt-files").replaceChildren(element("label", { class: "file text" }, "Load your own policy", file));
    this.apply(given);
  }

  /** Environment and task, for an address. */
  get choices(): Partial<Choices> {
    return { env: this.#cards.value, task: this.#task };
  }

  /** Shows what an address says. */
  apply({ env, task }: Partial<Choices>): void {
    if (env !== undefined && ADAPTABLE.includes(env)) {
      this.#cards.value = env;
    }
    void this.#open(task);
  }

  enter(): void {
    this.#entered = true;
    this.#settled(0);
  }

  leave(): void {
    this.#entered = false;
    this.#playback.stop();
  }

  /** A policy from a file, to be compared with the others: it stands where the untrained one did. */
  async offered({ name, bytes }: Picked): Promise<boolean> {
    try {
      const policy = await loadPolicy(bytes);
      const { env, algorithm, envSteps, seed } = policy.info;
      if (!ADAPTABLE.includes(env)) {
        policy.dispose();
        throw new Error(`it was trained on ${env}; this room has ${ADAPTABLE.join(", ")}`);
      }
      this.#own.get(env)?.policy.dispose();
      const about = `${name}: ${algorithm}, seed ${seed}, after ${count(envSteps)} steps.`;
      this.#own.set(env, { who: "own", name: "Yours", about, command: undefined, policy });
      this.#cards.value = env;
      await this.#open(this.#spec?.name === env ? this.#task : undefined);
      return true;
    } catch (error) {
      this.#tell(`${name}: ${(error as Error).message}`);
      return false;
    }
  }

  async #open(task: readonly number[] | undefined): Promise<void> {
    const opening = ++this.#opening;
    const env = this.#cards.value;
    const kind = TASK_KINDS[env]!;
    this.#playback.stop();
    say(byId("adapt-title"), kind.headline);
    say(byId("adapt-lead"), kind.lead);
    say(byId("adapt-more"), kind.more);
    this.#tell("Getting the policies ready …");
    try {
      const known = this.#known.get(env) ?? contestants(env);
      this.#known.set(env, known);
      known.catch(() => this.#known.delete(env));
      const [spec, all] = [await envSpec(env), await known];
      if (opening !== this.#opening) {
        return;
      }
      const own = this.#own.get(env);
      const three = own ? [own, ...all.filter(({ who }) => who !== "untrained")] : all;
      this.#spec = spec;
      this.#lanes = three.map((contestant) => {
        if (spec.course !== undefined) return new Runner(contestant, spec);
        return spec.plane ? new Plane(contestant, spec, (x, y) => this.#goTo([x, y])) : new Bandit(contestant);
      });
      this.#trio.replaceChildren(...this.#lanes.map(({ root }) => root));
      byId("adapt-who").replaceChildren(...three.flatMap((contestant) => introduced(contestant)));
      this.#dial.open(spec, kind);
      this.#goTo(fitting(spec, task) ?? kind.task);
    } catch (error) {
      this.#tell((error as Error).message);
    }
  }

  /** Another task: everybody sees it at once, and begins anew when it rests. */
  #goTo(task: readonly number[]): void {
    this.#task = (this.#spec?.task ?? []).map(({ low, high }, i) => {
      const within = Math.min(Math.max(task[i] ?? 0, low ?? -Infinity), high ?? Infinity);
      return Math.round(100 * within) / 100;
    });
    this.#dial.show(this.#task);
    this.#lanes.forEach((lane) => lane.aim(this.#task));
    this.#chosen();
    this.#settled(SETTLE);
  }

  #byChance(): void {
    this.#goTo(
      (this.#spec?.task ?? []).map(({ low, high }) => (low ?? 0) + Math.random() * ((high ?? 1) - (low ?? 0))),
    );
  }

  #press(): void {
    if (this.#playback.playing) {
      this.#playback.stop();
      this.#mark("paused", "Go on");
    } else if (this.#play.dataset["state"] === "paused") {
      this.#mark("training", "Pause");
      this.#playback.resume();
    } else {
      this.#seed += 1;
      this.#settled(0);
    }
  }

  #mark(state: string, text: string): void {
    this.#play.dataset["state"] = state;
    say(this.#label, text);
  }

  /** Adapts once the task rests; one adaptation at a time, the newest task first. */
  #settled(wait: number): void {
    clearTimeout(this.#settling);
    this.#settling = setTimeout(() => {
      const generation = ++this.#generation;
      this.#begin();
      this.#adapting = this.#adapting.then(() => this.#adapt(generation));
    }, wait);
  }

  /** Everybody stands at the start. */
  #begin(): void {
    this.#playback.stop();
    this.#lanes.forEach((lane) => {
      lane.aim(this.#task);
      lane.show(0, 0);
    });
    if (this.#spec) this.#curve.show(this.#lanes, this.#spec, this.#task, 0, 0);
    performance.mark("start again");
  }

  async #adapt(generation: number): Promise<void> {
    const [spec, task, lanes] = [this.#spec, [...this.#task], this.#lanes];
    if (generation !== this.#generation || spec === undefined) {
      return;
    }
    this.#tell("Adapting …");
    this.#mark("ready", "Adapt");
    const outdated = (): boolean => generation !== this.#generation || !this.#entered;
    let whole = false;
    try {
      // First moments of all come before the rest of any, so that all begin at once.
      for (const lane of lanes) {
        await lane.begin(this.#seed);
        if (outdated()) return;
      }
      if (!reducedMotion()) this.#film(spec, task, lanes, () => whole);
      for (const lane of lanes) {
        await lane.finish(this.#seed);
        if (outdated()) return;
      }
      whole = true;
      this.#curve.fit(lanes);
      if (reducedMotion()) this.#film(spec, task, lanes, () => whole);
    } catch (error) {
      this.#tell((error as Error).message);
    }
  }

  /** Plays what is known; until all is, there is more to come. */
  #film(spec: SpecInfo, task: readonly number[], lanes: readonly Lane[], whole: () => boolean): void {
    const most = (): number => Math.max(...lanes.map(({ stages }) => stages));
    this.#curve.fit(lanes);
    this.#tell("Adapting, step by step …");
    this.#mark("training", "Pause");
    this.#playback.play({
      stages: () => most() + (whole() ? 0 : 1),
      known: () => (whole() ? most() : Math.min(...lanes.map(({ stages }) => stages))),
      steps: Math.max(...lanes.map(({ steps }) => steps)),
      pace: TASK_KINDS[spec.name]!.pace,
      show: (stage, step) => {
        lanes.forEach((lane) => lane.show(stage, step));
        this.#curve.show(lanes, spec, task, stage, step);
      },
      ended: () => {
        this.#mark("finished", "Again");
        this.#tell("Adapted. Try another task.", lanes.map(({ name, summary }) => `${name}: ${summary}.`).join(" "));
      },
    });
  }

  /** Says something; results are read out alone, for the lanes show them. */
  #tell(text: string, results = ""): void {
    say(this.#told, text);
    say(this.#results, results);
  }
}

/** A task from an address, if it is one of this environment. */
function fitting(spec: SpecInfo, task: readonly number[] | undefined): readonly number[] | undefined {
  const fits =
    task?.length === spec.task.length &&
    spec.task.every(({ low, high }, i) => task[i]! >= (low ?? -Infinity) && task[i]! <= (high ?? Infinity));
  return fits ? task : undefined;
}

/** Who somebody is, and how it was made. */
function introduced({ name, about, command }: Contestant): HTMLElement[] {
  const id = name.toLowerCase().replaceAll(" ", "-");
  const how =
    command === undefined
      ? []
      : [element("details", {}, element("summary", {}, "How it was made"), element("pre", {}, command))];
  const who = element("p", {}, element("b", {}, `${name}. `), about);
  return [element("div", { "data-testid": `who-${id}` }, who, ...how)];
}
