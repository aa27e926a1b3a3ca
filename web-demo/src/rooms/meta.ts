import { envSpec, loadPolicy, type Adaptation, type Catalogue, type Policy, type Progress, type Run } from "quickstudy";
import { button, byId, reducedMotion, say } from "../dom.js";
import type { State } from "../controls.js";
import type { Picked } from "../files.js";
import { compact, count, mean, reward, title } from "../format.js";
import { Forty } from "../forty.js";
import { heldOut } from "../held-out.js";
import { MetaCurve } from "../meta-curve.js";
import { OFFERS } from "../policies.js";
import { recorded } from "../recorded-meta.js";
import { Trainer, type Watcher } from "../trainer.js";
import type { Choices } from "../url-state.js";
import type { RoomView } from "./room.js";

const PLANE = "Each small plane hides a goal that this policy never trains on.";
const FOUND = "A ring is lit where the last try ends near the goal: within a quarter of the way to the edge.";

/** Words about each environment: beneath the headline, and of what to look for. */
const STORIES: Record<string, { lead: string; story: string }> = {
  navigation: {
    lead: `${PLANE} It tries, changes a little, and tries again.`,
    story:
      "The dashed line hardly rises: before it changes, it cannot know the goal. The solid one does: it is paid for " +
      `what it does after its gradient steps. ${FOUND}`,
  },
  "point-corner": {
    lead: `${PLANE} It tries, changes a little, and tries again.`,
    story: `Four corners, one of them the goal. Before adapting it cannot know which; after it, it should. ${FOUND}`,
  },
  "point-robot": {
    lead: `${PLANE} It infers from what each step pays where that may be.`,
    story:
      "Nothing in the network changes on a task: it acts by a draw from what it believes. The solid line is the last " +
      `episode, the dashed one the first. ${FOUND}`,
  },
  bandit: {
    lead: "Each picture is a machine with five arms that this policy never trains on. It has ten pulls.",
    story:
      "A network with a memory is trained over whole trials: its last pull, solid, should pay more often than its " +
      "first, dashed. A ring is lit where two of the last three pulls are of the best arm, which is green.",
  },
};

/** Held-out tasks that it is measured on: enough to see, few enough not to wait. */
const TASKS = 40;
/** Trials per task of policies with a memory, whose single pulls are noisy. */
const TRIALS = 20;

/** A policy, measured on held-out tasks. */
interface Look {
  adaptation: Adaptation;
  policy: { env: string; envSteps: number; spec: Policy["info"]["spec"] };
  /** Mean returns of the first and the last stage. */
  before: number;
  after: number;
}

/** Learn to learn: a meta-policy is trained, and measured on tasks that it never trains on. */
export class MetaRoom implements RoomView, Watcher {
  readonly lookEvery = 2000;
  readonly trainer: Trainer;
  #curve = new MetaCurve(byId("meta-curve") as HTMLCanvasElement);
  #forty = new Forty(byId("meta-canvas") as HTMLCanvasElement);
  #latest = byId("meta-latest");
  /** The newest look at the run of what is chosen, after so many seconds of training. */
  #own: { look: Look; seconds: number } | undefined;
  #policy: { bytes: Uint8Array; name: string } | undefined;
  #chosenRun: Choices | undefined;
  /** True once Train was pressed: then all that is shown is the reader's. */
  #began = false;
  #try = button("Try your policy in Adapt", () => void this.#passOn(), { class: "text", "data-testid": "try" });
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
    byId("meta-try").replaceChildren(this.#try);
    this.#stillSwitch();
    this.trainer = new Trainer("meta", catalogue, OFFERS, given, this);
    this.trainer.reset();
  }

  #stillSwitch(): void {
    const still = byId("meta-still");
    this.#forty.animated = !reducedMotion();
    still.setAttribute("aria-pressed", String(reducedMotion()));
    still.addEventListener("click", () => {
      this.#forty.animated = !this.#forty.animated;
      still.setAttribute("aria-pressed", String(!this.#forty.animated));
    });
  }

  get choices(): Partial<Choices> {
    return this.trainer.form.choices;
  }

  apply(choices: Partial<Choices>): void {
    this.trainer.form.apply(choices);
    this.trainer.reset();
  }

  enter(): void {
    this.#forty.play();
  }

  leave(): void {
    this.#forty.rest();
    this.trainer.pause("Paused while you were in another room.");
  }

  async opened(run: Run, choices: Choices, again: boolean): Promise<void> {
    const { env, algorithm } = await run.setup;
    const { lead, story } = STORIES[env] ?? { lead: `${title(env)}.`, story: "" };
    say(byId("meta-lead"), lead);
    say(byId("meta-story"), story);
    if (again) {
      return;
    }
    if (this.#chosenRun?.env !== choices.env) {
      say(byId("meta-when"), "Getting ready …");
      say(byId("meta-whose"), "");
      this.#forty.show([], await envSpec(env), false);
    }
    this.#chosenRun = choices;
    this.#own = undefined;
    this.#policy = undefined;
    this.#try.disabled = true;
    const { envSteps } = await run.session;
    // What was trained before is the reader's own from the beginning.
    this.#began = envSteps > 0;
    // Measured by the way: Train need not wait for it.
    void this.#before(run, env, algorithm).catch(() => undefined);
  }

  /** Shows a recorded run before there is one of the reader's, and measures the untrained policy meanwhile. */
  async #before(run: Run, env: string, algorithm: string): Promise<void> {
    const choices = this.#chosenRun;
    const found = this.#began ? undefined : await recorded(env, algorithm);
    if (found) {
      try {
        const look = await this.#measure(found.policy);
        if (choices === this.#chosenRun && !this.#began) {
          const points = found.seconds.map((seconds, i) => {
            return { seconds, before: found.before[i]!, after: found.after[i]! };
          });
          this.#curve.recorded(points, names(look.adaptation));
          this.#show(look, found.seconds.at(-1) ?? 0, false);
        }
      } finally {
        found.policy.dispose();
      }
    }
    if (choices === this.#chosenRun && this.#own === undefined) await this.looked(run);
    // Where nothing is recorded, all that is seen is the reader's from the beginning.
    if (choices === this.#chosenRun && !found && this.#own && !this.#began) {
      this.#curve.restart(names(this.#own.look.adaptation));
      this.#add(this.#own.look, this.#own.seconds);
    }
  }

  /** Train was pressed. */
  entered(state: State): void {
    if (state === "training" && !this.#began) this.#begin();
  }

  /** From now on all is the reader's: rings go out, lines begin. */
  #begin(): void {
    this.#began = true;
    const { look, seconds } = this.#own ?? {};
    this.#curve.restart(look ? names(look.adaptation) : ["before", "after"]);
    if (look) this.#curve.add({ seconds: seconds ?? 0, before: look.before, after: look.after });
    this.#forget();
  }

  /** Nothing is known yet of the reader's own. */
  #forget(): void {
    say(byId("meta-when"), "Untrained");
    say(byId("meta-whose"), "yours, which has found nothing yet");
    say(byId("meta-found"), "0");
    say(this.#latest, "");
    this.#forty.clear();
  }

  #add(look: Look, seconds: number): void {
    this.#curve.add({ seconds, before: look.before, after: look.after });
    this.#show(look, seconds, true);
  }

  progressed(_progress: Progress): void {}

  async looked(run: Run): Promise<void> {
    const session = await run.session;
    const choices = this.#chosenRun;
    const [bytes] = await session.policyBytes();
    const seconds = run.progress?.seconds ?? 0;
    // Training goes on meanwhile: what is measured is what can be tried.
    const policy = await loadPolicy(bytes!);
    try {
      const look = await this.#measure(policy);
      if (choices !== this.#chosenRun) {
        return;
      }
      const { env, envSteps } = policy.info;
      const first = this.#own === undefined;
      this.#own = { look, seconds };
      this.#policy = { bytes: bytes!, name: `${env} after ${count(envSteps)} steps` };
      this.#try.disabled = envSteps === 0;
      if (this.#began) {
        if (first) this.#curve.restart(names(look.adaptation));
        this.#add(look, seconds);
      }
    } finally {
      policy.dispose();
    }
  }

  async #measure(policy: Policy): Promise<Look> {
    const remembers = policy.info.family === "memory";
    const drawn = remembers ? { rollouts: TRIALS, deterministic: false } : {};
    const adaptation = await policy.adapt({ tasks: TASKS, ...drawn });
    const means = adaptation.stages.map(({ returns }) => mean(returns.map(mean)));
    return { adaptation, policy: policy.info, before: means[0]!, after: means.at(-1)! };
  }

  /** Shows how a policy fared on each held-out task. */
  #show({ adaptation, policy, before, after }: Look, seconds: number, own: boolean): void {
    const tasks = heldOut(adaptation, policy.spec);
    this.#forty.show(tasks, policy.spec, own);
    const lit = tasks.filter(({ found }) => found).length;
    say(byId("meta-when"), policy.envSteps === 0 ? "Untrained" : `After ${Math.floor(seconds)} s of practice`);
    say(byId("meta-whose"), own ? "yours, on 40 tasks it never trains on" : "recorded earlier");
    say(byId("meta-found"), String(lit));
    const whose = own ? "" : "Recorded. ";
    const returns = `${reward(before)} before, ${reward(after)} after`;
    say(this.#latest, `${whose}${words(adaptation)}: ${returns} · ${compact(policy.envSteps)} steps`);
  }

  async #passOn(): Promise<void> {
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

/** The names of the two lines. */
function names({ unit, stages }: Adaptation): [before: string, after: string] {
  const steps = stages.length - 1;
  if (unit === "gradient steps") return ["first try", `after ${steps} step${steps === 1 ? "" : "s"}`];
  return unit === "steps" ? ["first pull", "last pull"] : ["first episode", "last episode"];
}

function words({ unit, stages }: Adaptation): string {
  const steps = stages.length - 1;
  return unit === "gradient steps"
    ? `Adapting by ${steps} gradient step${steps === 1 ? "" : "s"}`
    : `First and last of ${stages.length} ${unit === "steps" ? "pulls" : "episodes"}`;
}
