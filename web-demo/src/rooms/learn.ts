import { loadPolicy, type Catalogue, type Policy, type Progress, type Run } from "quickstudy";
import { Curve } from "../curve.js";
import { byId, element, reducedMotion, say } from "../dom.js";
import type { Picked } from "../files.js";
import { count, mean, reward, title } from "../format.js";
import { Gallery, SMOOTH } from "../gallery.js";
import { Trainer, type Watcher } from "../trainer.js";
import type { Choices } from "../url-state.js";
import type { RoomView } from "./room.js";

/** What can be seen in each environment. */
const STORIES: Record<string, string> = {
  cartpole: "Push the cart left or right so that the pole stays up. One point for each step; 500 is the most.",
  "cartpole-no-velocities":
    "The same pole, but nobody says how fast it falls: to know that, a policy has to remember where it was. 500 is " +
    "the most.",
  pendulum: "Swing the pendulum up and keep it there with little force. 0 would be perfect; −200 is good.",
  acrobot: "Swing the lower link above the line by the joint between the two. Each step costs a point.",
  "mountain-car": "The engine is too weak: rock back and forth to get up the hill. Each step costs a point.",
  "mountain-car-continuous": "The same hill with a throttle: 100 points for the flag, less the fuel.",
  "grid-world": "Cross the ice to the goal; holes end the episode.",
  "bit-flip": "Flip bits until the lower row equals the upper one. Each step that does not get there costs a point.",
  "point-origin": "Move the point to the middle. Each step costs its distance from there.",
  "half-cheetah":
    "Run to the right with six motors in the legs: speed is reward, effort costs. Nobody says how to run; 1,500 is a " +
    "run, and 5,000 is a good one.",
  hopper:
    "Hop to the right on one leg. A point for each step that it stands, and speed; 3,800 is what its authors ask.",
  walker2d: "Walk to the right on two legs. A point for each step that it stands, and speed.",
  swimmer: "Swim by turning two joints in a thick fluid. Speed is reward; 360 is what its authors ask.",
  reacher: "Bring the tip of the arm to the green disc. Each step costs the distance; −4 is good.",
  "inverted-pendulum": "Push the cart so that the pole stays up. One point for each step; 1,000 is the most.",
  "inverted-double-pendulum":
    "Two poles, one on the other. About nine points for each step that they stand; 9,100 is what its authors ask.",
  "ball-on-beam":
    "Turn the beam so that the ball rolls to its middle and stays there. A step there is worth a point.",
  "ball-on-beam-discrete": "The same beam with three torques: left, right and none.",
  "mass-spring": "Hold the mass on the spring at the green line. Each step costs the squared distance from there.",
  "pyrado-pendulum":
    "Swing the rod up by rocking it: the motor is too weak to lift it. A step upright is worth a point.",
  "qube-swing-up":
    "Swing up the pole by turning the arm that it hangs from, and keep both still. A step upright is worth a point.",
  "qube-stabilise": "Keep the pole at the end of the arm upright. A step upright and still is worth a point.",
  "qcartpole-stabilise": "Keep the pole on the cart upright, away from the ends of the rail. 0 would be perfect.",
  "qcartpole-swing-up": "Swing up the pole by moving the cart, away from the ends of the rail. 0 would be perfect.",
  "ball-balancer": "Tilt the plate so that the ball rolls to its middle. A step there is worth a point.",
};

/** How many environments are shown: fewer of bodies, whose pictures have more to see. */
function shown(env: string): number {
  return BODIES.has(env.split(":")[0]!) ? 40 : 256;
}

const BODIES = new Set([
  "half-cheetah",
  "hopper",
  "walker2d",
  "hopper-rand-params",
  "walker2d-rand-params",
  "swimmer",
  "reacher",
  "inverted-pendulum",
  "inverted-double-pendulum",
]);

/** Steps per second: an environment's own speed, where the screen can follow. */
function pace({ info }: Policy): number {
  return Math.min(SMOOTH, 1 / info.spec.dt);
}

/** Learn: one environment, one algorithm, many copies to look at. */
export class LearnRoom implements RoomView, Watcher {
  readonly lookEvery = 1000;
  readonly trainer: Trainer;
  #gallery: Gallery;
  #curve: Curve;
  #catalogue: Catalogue;
  #story = byId("learn-story");
  #latest = byId("learn-latest");
  #first = byId("learn-first");
  #caption = byId("learn-caption");
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
    this.#gallery = new Gallery(byId("learn-canvas") as HTMLCanvasElement, ({ perSecond, longest }) => {
      const frames = `${perSecond.toFixed(0)} frames per second (longest ${longest.toFixed(0)} ms)`;
      say(rate, `${frames}, ${this.#gallery.shown} environments`);
    });
    this.#curve = new Curve(
      byId("learn-curve"),
      "Learning curve: mean return of recent episodes by environment steps",
      ["return"],
    );
    this.#animationSwitch();
    const envs = catalogue.envs.filter(({ spec }) => spec.task.length === 0).map(({ spec }) => spec.name);
    const single = catalogue.algorithms.filter(({ family }) => family === "single-task");
    const offers = single.map(({ name, envs: fits }) => ({
      algorithm: name,
      envs: envs.filter((env) => fits.includes(env)),
    }));
    this.trainer = new Trainer(byId("learn-controls"), byId("learn-choices"), catalogue, offers, given, this);
    this.trainer.reset();
  }

  #animationSwitch(): void {
    const input = element("input", { type: "checkbox", id: "learn-animate" });
    input.checked = !reducedMotion();
    input.addEventListener("change", () => {
      this.#gallery.animated = input.checked;
    });
    byId("learn-motion").replaceChildren(input, element("label", { for: input.id }, "Move"));
  }

  enter(): void {
    this.#gallery.play();
  }

  leave(): void {
    this.#gallery.rest();
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
    const story = STORIES[env] ?? `${title(env)}.`;
    say(this.#story, story);
    const { envSteps } = await run.session;
    this.#visitor = false;
    await this.#show(await run.policy(), choices.seed);
    const who =
      envSteps === 0
        ? "an untrained policy: it has not learnt anything yet"
        : `a policy after ${count(envSteps)} steps`;
    say(this.#caption, `${shown(env)} copies of ${title(env)}, played by ${who}.`);
    if (!again) say(this.#latest, envSteps === 0 ? "Press Train." : "Ready to go on.");
  }

  async #show(policy: Policy, seed: number): Promise<void> {
    try {
      await this.#gallery.open(policy, seed, shown(policy.info.env), pace(policy));
    } finally {
      policy.dispose();
    }
  }

  progressed({ envSteps, returnMean, device }: Progress): void {
    if (!Number.isFinite(returnMean)) {
      return;
    }
    const first = this.#curve.points === 0;
    const pressed = first ? this.trainer.takePress() : undefined;
    this.#curve.add(
      envSteps,
      [returnMean],
      pressed === undefined ? undefined : () => this.#timed(performance.now() - pressed),
    );
    const solved = this.#catalogue.envs.find(({ spec }) => spec.name === this.#shown?.env)?.spec.solved_at;
    const goal =
      solved === null || solved === undefined
        ? ""
        : returnMean >= solved
          ? " · solved"
          : ` · solved at ${reward(solved)}`;
    say(this.#latest, `Return ${reward(returnMean)}${goal} · on the ${device.kind === "gpu" ? "GPU" : "CPU"}`);
  }

  #timed(ms: number): void {
    say(this.#first, `First point of the curve ${ms.toFixed(0)} ms after Train.`);
  }

  async looked(run: Run): Promise<void> {
    const policy = await run.policy();
    try {
      if (this.#visitor) {
        this.#visitor = false;
        await this.#gallery.open(policy, this.choices.seed ?? 0, shown(policy.info.env), pace(policy));
      } else {
        await this.#gallery.hand(policy);
      }
      say(
        this.#caption,
        `${shown(policy.info.env)} copies of ${title(policy.info.env)}, played by the policy ` +
          `after ${count(policy.info.envSteps)} steps.`,
      );
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
    say(
      this.#caption,
      `${file.name}: ${shown(info.env)} copies of ${title(info.env)}, ` +
        `played by ${info.algorithm} after ${count(info.envSteps)} steps.`,
    );
    say(
      this.#latest,
      `Return ${reward(mean(returns))} over 100 episodes. ` +
        "The file holds a policy only: it can be watched, not trained further.",
    );
    return true;
  }
}
