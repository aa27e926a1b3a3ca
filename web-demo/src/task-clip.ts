import { createSession, type Policy, type SpecInfo } from "quickstudy";
import { chip } from "./bandit.js";
import { disc, prepared, stroke } from "../../native-cli/assets/page/canvas.js";
import { heldOut, reach, type HeldOut } from "./held-out.js";
import { moving } from "./motion.js";
import { OFFERS } from "./policies.js";
import { recorded } from "./recorded-meta.js";
import { theme } from "./theme.js";

/** Tasks that are shown one after the other. */
const TASKS = 3;
/** Seconds of a task, and of the walk or the pulls in it. */
const [ROUND, ACTS] = [2.4, 1.7];
/** Margin around where goals may be. */
const MARGIN = 1.3;

/** A small picture of a policy on held-out tasks: of a recorded one, and where there is none, of an untrained one. */
export class TaskClip {
  #tasks: readonly HeldOut[] = [];
  #spec: SpecInfo | undefined;

  /** Lets the policy adapt to some tasks. */
  async open(env: string): Promise<this> {
    const algorithm = OFFERS.find(({ envs }) => envs.includes(env))?.algorithm;
    if (algorithm === undefined) return this;
    const policy = (await recorded(env, algorithm))?.policy ?? (await fresh(algorithm, env));
    try {
      const drawn = policy.info.family === "memory" ? { deterministic: false } : {};
      this.#tasks = heldOut(await policy.adapt({ tasks: TASKS, ...drawn }), policy.info.spec);
      this.#spec = policy.info.spec;
    } finally {
      policy.dispose();
    }
    return this;
  }

  /** Paints the moment of a time in ms; whatever is chosen is blue. */
  paint(canvas: HTMLCanvasElement, now: number, chosen: boolean): void {
    const paper = prepared(canvas);
    if (!paper) return;
    const { context, wide, high } = paper;
    const colours = theme();
    context.fillStyle = colours[chosen ? "accent-soft" : "page"];
    context.fillRect(0, 0, wide, high);
    const seconds = moving() ? now / 1000 : ACTS;
    const task = this.#tasks[Math.floor(seconds / ROUND) % Math.max(this.#tasks.length, 1)];
    if (!task || !this.#spec) return;
    const part = Math.min((seconds % ROUND) / ACTS, 1);
    const colour = colours[chosen ? "accent" : "neutral-deep"];
    if (this.#spec.plane) this.#walk(context, [wide, high], task, part, colour);
    else pulls(context, [wide, high], task, part, colour);
  }

  #walk(
    context: CanvasRenderingContext2D,
    [wide, high]: [number, number],
    task: HeldOut,
    part: number,
    ink: string,
  ): void {
    const colours = theme();
    const half = MARGIN * (reach(this.#spec!) || Math.max(...task.task.map(Math.abs)));
    const scale = high / (2 * half);
    const at = ([x, y]: readonly [number, number]): [number, number] => [wide / 2 + scale * x, high / 2 - scale * y];
    disc(context, at(task.task as [number, number]), 4.5, colours.goal);
    context.strokeStyle = ink;
    context.lineWidth = 2;
    context.lineCap = context.lineJoin = "round";
    const seen = task.after.slice(0, Math.max(Math.ceil(part * task.after.length), 1));
    stroke(context, seen.map(at));
    disc(context, at(seen.at(-1) ?? [0, 0]), 3.5, ink);
  }
}

/** The policy that a run would begin with. */
async function fresh(algorithm: (typeof OFFERS)[number]["algorithm"], env: string): Promise<Policy> {
  const session = await createSession({ algorithm, env, device: "cpu" });
  try {
    return await session.policy();
  } finally {
    session.dispose();
  }
}

/** Arms as high as they pay often, and the pulls so far: full where they paid. */
function pulls(
  context: CanvasRenderingContext2D,
  [wide, high]: [number, number],
  { task, pulls: all }: HeldOut,
  part: number,
  ink: string,
): void {
  const [colours, best] = [theme(), Math.max(...task)];
  const [apart, count] = [Math.min(16, wide / (task.length + 1)), Math.ceil(part * all.length)];
  task.forEach((chance, i) => {
    const x = wide / 2 + (i - (task.length - 1) / 2) * apart;
    context.fillStyle = chance === best ? colours.goal : colours.neutral;
    context.fillRect(x - 4, 0.72 * high - 0.62 * high * chance, 8, 0.62 * high * chance);
    if (all[count - 1]?.arm !== i) return;
    context.strokeStyle = ink;
    context.lineWidth = 1.75;
    context.strokeRect(x - 6, 0.06 * high, 12, 0.68 * high);
  });
  all.slice(0, count).forEach(({ paid }, i) => {
    chip(context, wide / 2 + (i - (all.length - 1) / 2) * 8, 0.88 * high, 2.4, ink, paid > 0);
  });
}
