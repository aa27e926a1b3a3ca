import { loadPolicy, type Adaptation, type Catalogue, type Policy, type Progress, type Run } from "quickstudy";
import { Curve } from "../curve.js";
import { button, byId, say } from "../dom.js";
import type { Picked } from "../files.js";
import { compact, count, mean, reward, title } from "../format.js";
import { Goals } from "../goals.js";
import { OFFERS } from "../policies.js";
import { Trainer, type Watcher } from "../trainer.js";
import type { Choices } from "../url-state.js";
import type { RoomView } from "./room.js";

const STORIES: Record<string, string> = {
  navigation:
    "Each task hides a goal somewhere. The network is trained so that one gradient step on a few tries takes it to " +
    "the goal: watch the solid line, the return after adapting, leave the dashed one, the return before it.",
  "point-corner": "Four corners, one of them the goal. Before adapting it cannot know which; after it, it should.",
  "point-robot":
    "Each task hides a goal somewhere. Nothing in the network changes on a task: it infers from what steps paid " +
    "where the goal may be, and acts by a draw from what it believes. Watch the solid line, the last episode, leave " +
    "the dashed one, the first.",
  bandit:
    "Each task is a machine with other chances. A network with a memory is trained over whole trials: its last pull " +
    "should pay more often than its first.",
};

/** Held-out tasks that it is measured on: enough to see, few enough not to wait. */
const TASKS = 40;
/** Trials per task of policies with a memory, whose single pulls are noisy. */
const TRIALS = 20;

/** Learn to learn: a meta-policy is trained, and measured on tasks that it never trains on. */
export class MetaRoom implements RoomView, Watcher {
  readonly lookEvery = 3000;
  readonly trainer: Trainer;
  #curve: Curve;
  #stages: Curve;
  #goals = new Goals(byId("meta-canvas") as HTMLCanvasElement);
  #latest = byId("meta-latest");
  #untrained: number[] = [];
  #policy: { bytes: Uint8Array; name: string } | undefined;
  #shown: Choices | undefined;
  #chosen: () => void;
  #pass: (file: Picked) => Promise<boolean>;

  /** `pass` takes policies to where they can be tried. */
  constructor(
    catalogue: Catalogue,
    given: Partial<Choices>,
    chosen: () => void,
    pass: (file: Picked) => Promise<boolean>,
  ) {
    this.#chosen = chosen;
    this.#pass = pass;
    this.#curve = new Curve(byId("meta-curve"), "Return on held-out tasks over training", [
      "before adapting",
      "after adapting",
    ]);
    this.#curve.labelled(["before", "after"]);
    this.#stages = new Curve(
      byId("meta-stages"),
      "Return on held-out tasks by stage of adaptation",
      ["untrained", "now"],
      (stage) => `at stage ${stage}`,
    );
    byId("meta-try").replaceChildren(
      button("Try your policy in Adapt", () => void this.#try(), { class: "text", "data-testid": "try" }),
    );
    this.trainer = new Trainer("meta", catalogue, OFFERS, given, this);
    this.trainer.reset();
  }

  get choices(): Partial<Choices> {
    return this.trainer.form.choices;
  }

  apply(choices: Partial<Choices>): void {
    this.trainer.form.apply(choices);
    this.trainer.reset();
  }

  enter(): void {}

  leave(): void {
    this.trainer.pause("Paused while you were in another room.");
  }

  async opened(run: Run, choices: Choices, again: boolean): Promise<void> {
    const { env } = await run.setup;
    this.#curve.upTo((await run.session).totalSteps);
    say(byId("meta-story"), STORIES[env] ?? `${title(env)}.`);
    if (!again) {
      const before = this.#shown;
      const comparable = before?.env === choices.env;
      this.#curve.restart(undefined);
      if (!comparable) this.#curve.forget();
      this.#shown = choices;
      this.#untrained = [];
      say(this.#latest, "");
    }
    // Measured by the way: Train need not wait for it.
    void this.looked(run).catch(() => undefined);
  }

  progressed(_progress: Progress): void {}

  async looked(run: Run): Promise<void> {
    const session = await run.session;
    const [bytes] = await session.policyBytes();
    // Training goes on meanwhile: what is measured is what can be tried.
    const policy = await loadPolicy(bytes!);
    try {
      const { env, envSteps } = policy.info;
      const adaptation = await this.#measure(policy);
      if (this.#shown?.env !== env) {
        return;
      }
      const means = adaptation.stages.map(({ returns }) => mean(returns.map(mean)));
      const [before, after] = [means[0]!, means.at(-1)!];
      if (this.#untrained.length === 0) this.#untrained = means;
      this.#curve.add(envSteps, [before, after]);
      this.#stages.replace([this.#untrained, means]);
      this.#policy = { bytes: bytes!, name: `${env} after ${count(envSteps)} steps` };
      say(
        this.#latest,
        `${words(adaptation)}: ${reward(before)} before, ${reward(after)} after · ${compact(envSteps)} steps`,
      );
      byId("meta-picture").hidden = !(await this.#goals.show(env, adaptation));
    } finally {
      policy.dispose();
    }
  }

  async #measure(policy: Policy): Promise<Adaptation> {
    const remembers = policy.info.family === "memory";
    return policy.adapt({ tasks: TASKS, ...(remembers ? { rollouts: TRIALS, deterministic: false } : {}) });
  }

  async #try(): Promise<void> {
    if (this.#policy && (await this.#pass(this.#policy))) {
      location.hash = "#room=adapt";
    }
  }

  chosen(): void {
    this.#chosen();
  }

  async offered(file: Picked): Promise<boolean> {
    if (await this.#pass(file)) {
      location.hash = "#room=adapt";
      return true;
    }
    return false;
  }
}

function words({ unit, stages }: Adaptation): string {
  const steps = stages.length - 1;
  return unit === "gradient steps"
    ? `Adapting by ${steps} gradient step${steps === 1 ? "" : "s"}`
    : `First and last of ${stages.length} ${unit === "steps" ? "pulls" : "episodes"}`;
}
