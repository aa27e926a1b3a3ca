import { loadPolicy, type Catalogue, type Policy, type Progress, type Run } from "quickstudy";
import { Curve } from "../curve.js";
import { byId, element, reducedMotion, say } from "../dom.js";
import type { Picked } from "../files.js";
import { count, learner, mean, reward, title } from "../format.js";
import { SMOOTH, Stage } from "../stage.js";
import { Trainer, type Watcher } from "../trainer.js";
import type { Choices } from "../url-state.js";
import { headline, STORIES } from "../worlds.js";
import type { RoomView } from "./room.js";

/** Steps per second: an environment's own speed, where the screen can follow. */
function pace({ info }: Policy): number {
  return Math.min(SMOOTH, 1 / info.spec.dt);
}

/** Episodes that the untrained policy is measured on. */
const UNTRAINED = 10;

/** Learn: one environment, one algorithm, many copies to look at. */
export class LearnRoom implements RoomView, Watcher {
  readonly lookEvery = 1000;
  readonly trainer: Trainer;
  #stage: Stage;
  #curve: Curve;
  #catalogue: Catalogue;
  #latest = byId("learn-latest");
  #when = byId("learn-when");
  #caption = byId("learn-caption");
  /** Who acts on the stage, and how many are seen. */
  #acting: string | undefined;
  #copies = 0;
  #shown: Choices | undefined;
  /** Whether a policy from a file is shown instead of the run's. */
  #visitor = false;
  #chosen: () => void;
  #pass: (file: Picked) => Promise<boolean>;

  constructor(
    catalogue: Catalogue,
    given: Partial<Choices>,
    chosen: () => void,
    pass: (file: Picked) => Promise<boolean>,
  ) {
    this.#catalogue = catalogue;
    this.#chosen = chosen;
    this.#pass = pass;
    const rate = byId("learn-fps");
    this.#stage = new Stage(
      byId("learn-canvas") as HTMLCanvasElement,
      (copies) => {
        this.#copies = copies;
        this.#name();
      },
      ({ perSecond, longest }) => {
        say(rate, `${perSecond.toFixed(0)} frames per second`);
        rate.title = `The longest took ${longest.toFixed(0)} ms`;
      },
    );
    this.#curve = new Curve(
      byId("learn-curve"),
      "Learning curve: mean return of recent episodes by environment steps",
      ["return"],
    );
    this.#stillSwitch();
    const envs = catalogue.envs.filter(({ spec }) => spec.task.length === 0).map(({ spec }) => spec.name);
    const single = catalogue.algorithms.filter(({ family }) => family === "single-task");
    const offers = single.map(({ name, envs: fits }) => ({
      algorithm: name,
      envs: envs.filter((env) => fits.includes(env)),
    }));
    this.trainer = new Trainer("learn", catalogue, offers, given, this);
    this.trainer.reset();
  }

  #stillSwitch(): void {
    const still = byId("learn-still");
    still.setAttribute("aria-pressed", String(reducedMotion()));
    still.addEventListener("click", () => {
      this.#stage.animated = !this.#stage.animated;
      still.setAttribute("aria-pressed", String(!this.#stage.animated));
    });
  }

  enter(): void {
    this.#stage.play();
  }

  leave(): void {
    this.#stage.rest();
    this.trainer.pause("Paused while you were in another room.");
  }

  get choices(): Partial<Choices> {
    return this.trainer.form.choices;
  }

  apply(choices: Partial<Choices>): void {
    this.trainer.form.apply(choices);
    this.trainer.reset();
  }

  async opened(run: Run, choices: Choices, again: boolean): Promise<void> {
    if (!again) {
      const before = this.#shown;
      const comparable = before?.env === choices.env;
      this.#curve.restart(comparable && before ? `${before.algorithm}, seed ${before.seed}` : undefined);
      if (!comparable) this.#curve.forget();
      this.#shown = choices;
    }
    const env = (await run.setup).env;
    say(byId("learn-title"), headline(env));
    say(byId("learn-story"), STORIES[env] ?? `${title(env)}.`);
    if (!byId("learn").hidden) document.title = `${headline(env).replace("\n", " ")} · quickstudy`;
    this.#curve.labelled([learner(choices.algorithm)]);
    const { envSteps, totalSteps } = await run.session;
    this.#curve.upTo(totalSteps);
    this.#visitor = false;
    await this.#show(await run.policy(), choices.seed);
    this.#cast(env, envSteps);
    if (!again) {
      this.#tell(undefined);
      if (envSteps === 0) void this.#untrained(run).catch(() => undefined);
    }
  }

  /** Measures what acting without having learnt pays: a level to compare with. Train need not wait for it. */
  async #untrained(run: Run): Promise<void> {
    const choices = this.#shown;
    // Actions are drawn, as in training, whose returns the curve shows.
    const policy = await run.policy();
    try {
      const { returns } = await policy.evaluate({ episodes: UNTRAINED, deterministic: false });
      if (choices === this.#shown && policy.info.envSteps === 0) {
        this.#curve.level(mean(returns), `untrained, ${UNTRAINED} episodes`);
      }
    } finally {
      policy.dispose();
    }
  }

  /** Says who is on the stage. */
  #cast(env: string, envSteps: number): void {
    say(this.#when, envSteps === 0 ? "Untrained" : `After ${count(envSteps)} steps`);
    this.#acting = `${title(env)}, newest policy`;
    this.#name();
  }

  #name(): void {
    if (this.#acting !== undefined) say(this.#caption, `${this.#acting}, ${this.#copies} copies`);
  }

  /** Says what episodes pay, and what else is known of it. */
  #tell(value: number | undefined, rest = ""): void {
    const known = value === undefined ? [] : ["Return ", element("b", {}, reward(value))];
    this.#latest.replaceChildren(...known, element("span", { class: "more" }, rest));
  }

  async #show(policy: Policy, seed: number): Promise<void> {
    try {
      await this.#stage.open(policy, seed, pace(policy));
    } finally {
      policy.dispose();
    }
  }

  progressed({ envSteps, returnMean }: Progress): void {
    if (!Number.isFinite(returnMean)) {
      return;
    }
    const first = this.#curve.points === 0;
    const pressed = first ? this.trainer.takePress() : undefined;
    this.#curve.add(
      envSteps,
      [returnMean],
      // How soon something can be seen is measured, for whoever looks.
      pressed === undefined ? undefined : () => performance.measure("first point", { start: pressed }),
    );
    const solved = this.#catalogue.envs.find(({ spec }) => spec.name === this.#shown?.env)?.spec.solved_at;
    const known = solved !== null && solved !== undefined;
    this.#tell(returnMean, !known ? "" : returnMean >= solved ? " · solved" : ` · solved at ${reward(solved)}`);
  }

  async looked(run: Run): Promise<void> {
    const policy = await run.policy();
    try {
      if (this.#visitor) {
        this.#visitor = false;
        await this.#stage.open(policy, this.choices.seed ?? 0, pace(policy));
      } else {
        await this.#stage.hand(policy);
      }
      this.#cast(policy.info.env, policy.info.envSteps);
    } finally {
      policy.dispose();
    }
  }

  chosen(): void {
    this.#chosen();
  }

  async offered(file: Picked): Promise<boolean> {
    let policy: Policy;
    try {
      policy = await loadPolicy(file.bytes);
    } catch {
      return false;
    }
    const { info } = policy;
    if (info.spec.task.length > 0) {
      policy.dispose();
      return this.#pass(file);
    }
    const { returns } = await policy.evaluate({ episodes: 100 });
    this.#visitor = true;
    await this.#show(policy, info.seed);
    say(this.#when, `${learner(info.algorithm)} after ${count(info.envSteps)} steps`);
    this.#acting = `${title(info.env)} by ${file.name}, a policy to be watched, not trained further`;
    this.#name();
    this.#tell(mean(returns), " over 100 episodes");
    return true;
  }
}
