import { envSpec, loadPolicy, type SpecInfo } from "quickstudy";
import { Bandit } from "../bandit.js";
import type { Card } from "../card.js";
import { button, byId, element, freshId, options, reducedMotion, say } from "../dom.js";
import { picked, type Picked } from "../files.js";
import { count } from "../format.js";
import { Plane } from "../plane.js";
import { Playback } from "../playback.js";
import { ADAPTABLE, contestants, type Contestant } from "../policies.js";
import { Runner } from "../runner.js";
import type { Choices } from "../url-state.js";
import type { RoomView } from "./room.js";

interface Place {
  label: string;
  story: string;
  task: number[];
  /** Milliseconds of a step. */
  pace: number;
}

const PLACES: Record<string, Place> = {
  navigation: {
    label: "Find a hidden goal",
    story:
      "The agent walks in the plane and never sees the goal; it is only paid for being near it. Each gradient step " +
      "changes its network a little, from what 20 tries paid. Click in a plane to move the goal.",
    task: [-0.35, 0.3],
    pace: 12,
  },
  "point-robot": {
    label: "Infer where the goal is",
    story:
      "The agent walks in the plane, never sees the goal, and is paid less the further it is away. Nothing in its " +
      "network changes: from what each step paid, it infers where the goal may be. The dots show what it believes: " +
      "where it would go, one dot for each draw from its belief. Each episode begins elsewhere. Click in a plane to " +
      "move the goal.",
    task: [0.6, 0.5],
    pace: 110,
  },
  "half-cheetah-vel": {
    label: "Run at an asked speed",
    story:
      "A cheetah should run at a speed that it is never told: it is only paid for being near it. Nothing in its " +
      "network changes: from what its first steps are paid it finds out, within its memory, which speed is asked " +
      "for. The green arrow is that speed, the blue one its own. Set the speed yourself.",
    task: [1.5],
    pace: 25,
  },
  bandit: {
    label: "Find the arm that pays",
    story:
      "A slot machine with five arms, each paying 1 with a chance that the agent is never told, and ten pulls to " +
      "make the most of it. Nothing in its network changes: it adapts within its memory alone. Set the chances " +
      "yourself.",
    task: [0.1, 0.3, 0.4, 0.9, 0.2],
    pace: 450,
  },
};

/** Milliseconds after the last change of a task before it is adapted to. */
const SETTLE = 120;

/** Adapt: trained policies meet a task of the reader's. */
export class AdaptRoom implements RoomView {
  #env = element("select", { "data-testid": "adapt-env" });
  #sliders = byId("adapt-task");
  #told = byId("adapt-told");
  #results = byId("adapt-results");
  #cards = byId("adapt-cards");
  #playback = new Playback();
  #shown: Card[] = [];
  #own = new Map<string, Contestant>();
  #known = new Map<string, Promise<Contestant[]>>();
  #spec: SpecInfo | undefined;
  #task: number[] = [];
  #seed = 0;
  #settling: ReturnType<typeof setTimeout> | undefined;
  #adapting: Promise<void> = Promise.resolve();
  #opening = 0;
  #generation = 0;
  /** Whether a button asked to watch: then there should be something to see. */
  #watching = false;
  #chosen: () => void;

  constructor(given: Partial<Choices>, chosen: () => void) {
    this.#chosen = chosen;
    this.#env.id = freshId("place");
    options(
      this.#env,
      ADAPTABLE.map((env) => [env, PLACES[env]?.label ?? env]),
    );
    this.#env.addEventListener("change", () => void this.#open(undefined));
    const file = element("input", { type: "file", accept: ".safetensors", "data-testid": "adapt-load" });
    file.addEventListener("change", () => void picked(file).then((found) => found && this.offered(found)));
    byId("adapt-place").replaceChildren(element("label", { for: this.#env.id }, "Task"), this.#env);
    byId("adapt-buttons").replaceChildren(
      button("Adapt again", () => this.#again(), { class: "play", "data-testid": "adapt-play" }),
      button("Random task", () => this.#byChance(), { class: "text", "data-testid": "adapt-chance" }),
      element("label", { class: "file text" }, "Load your own policy", file),
    );
    this.apply(given);
  }

  /** What is chosen, for an address. */
  get choices(): Partial<Choices> {
    return { env: this.#env.value, task: this.#task };
  }

  /** Shows what an address says. */
  apply({ env, task }: Partial<Choices>): void {
    if (env !== undefined && ADAPTABLE.includes(env)) {
      this.#env.value = env;
    }
    void this.#open(task);
  }

  enter(): void {
    this.#settled(0);
  }

  leave(): void {
    this.#playback.stop();
  }

  /** A policy from a file, to be compared with the others. */
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
      this.#own.set(env, { name: "Yours", about, command: undefined, policy });
      this.#env.value = env;
      await this.#open(this.#spec?.name === env ? this.#task : undefined);
      return true;
    } catch (error) {
      this.#tell(`${name}: ${(error as Error).message}`);
      return false;
    }
  }

  async #open(task: readonly number[] | undefined): Promise<void> {
    const opening = ++this.#opening;
    const env = this.#env.value;
    const place = PLACES[env]!;
    this.#playback.stop();
    say(byId("adapt-story"), place.story);
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
      this.#spec = spec;
      this.#task = fitting(spec, task) ?? [...place.task];
      this.#shown = [...all, ...(own ? [own] : [])].map((contestant) => {
        if (spec.course !== undefined) {
          return new Runner(contestant, spec);
        }
        return spec.plane ? new Plane(contestant, spec, (x, y) => this.#goTo([x, y])) : new Bandit(contestant, env);
      });
      this.#cards.replaceChildren(...this.#shown.map(({ root }) => root));
      this.#showSliders();
      this.#settled(0);
    } catch (error) {
      this.#tell((error as Error).message);
    }
  }

  #showSliders(): void {
    const dims = this.#spec?.task ?? [];
    const rows = dims.map(({ name, low, high }, i) => {
      const id = freshId("task");
      const value = element("output", { for: id, "aria-live": "off" }, (this.#task[i] ?? 0).toFixed(2));
      const input = element("input", {
        type: "range",
        id,
        min: low ?? -1,
        max: high ?? 1,
        step: 0.01,
        "data-testid": `task-${i}`,
      });
      input.value = String(this.#task[i]);
      input.addEventListener("input", () => {
        this.#task[i] = Number(input.value);
        say(value, input.valueAsNumber.toFixed(2));
        this.#settled(SETTLE);
      });
      return element("div", { class: "slider" }, element("label", { for: id }, named(name)), input, value);
    });
    this.#sliders.replaceChildren(...rows);
  }

  #goTo(task: readonly number[]): void {
    this.#task = (this.#spec?.task ?? []).map(({ low, high }, i) => {
      return Math.min(Math.max(task[i] ?? 0, low ?? -Infinity), high ?? Infinity);
    });
    this.#showSliders();
    this.#settled(0);
  }

  #byChance(): void {
    this.#watching = true;
    this.#goTo(
      (this.#spec?.task ?? []).map(({ low, high }) => (low ?? 0) + Math.random() * ((high ?? 1) - (low ?? 0))),
    );
  }

  #again(): void {
    this.#watching = true;
    this.#seed += 1;
    this.#settled(0);
  }

  /** Adapts once the task rests; one adaptation at a time, the newest task first. */
  #settled(wait: number): void {
    clearTimeout(this.#settling);
    this.#settling = setTimeout(() => {
      const generation = ++this.#generation;
      this.#adapting = this.#adapting.then(() => this.#adapt(generation));
    }, wait);
  }

  async #adapt(generation: number): Promise<void> {
    const [env, task] = [this.#spec?.name, [...this.#task]];
    if (generation !== this.#generation || env === undefined) {
      return;
    }
    this.#chosen();
    this.#playback.stop();
    this.#tell("Adapting …");
    try {
      for (const card of this.#shown) {
        await card.adapt(task, this.#seed);
        if (generation !== this.#generation) {
          return;
        }
        card.show(0, 0);
      }
      this.#play(PLACES[env]!.pace);
    } catch (error) {
      this.#tell((error as Error).message);
    }
  }

  #play(pace: number): void {
    const cards = this.#shown;
    this.#tell("Adapted. Playing it step by step …");
    if (this.#watching) {
      this.#watching = false;
      cards[0]?.root.scrollIntoView({ block: "nearest", behavior: reducedMotion() ? "auto" : "smooth" });
    }
    this.#playback.play({
      stages: Math.max(...cards.map(({ stages }) => stages)),
      steps: Math.max(...cards.map(({ steps }) => steps)),
      pace,
      show: (stage, step) => cards.forEach((card) => card.show(stage, step)),
      ended: () => this.#tell("Done. ", cards.map(({ name, summary }) => `${name}: ${summary}.`).join(" ")),
    });
  }

  /** Says something; results are read out alone, for the cards show them, and a long text would push these away. */
  #tell(text: string, results = ""): void {
    say(this.#told, text);
    say(this.#results, results);
  }
}

/** A task from an address, if it is one of this environment. */
function fitting(spec: SpecInfo, task: readonly number[] | undefined): number[] | undefined {
  const fits =
    task?.length === spec.task.length &&
    spec.task.every(({ low, high }, i) => task[i]! >= (low ?? -Infinity) && task[i]! <= (high ?? Infinity));
  return task && fits ? [...task] : undefined;
}

function named(dim: string): string {
  const arm = /^chance_(\d+)$/.exec(dim);
  return arm ? `Arm ${Number(arm[1]) + 1} pays` : dim.replaceAll("_", " ");
}
