import type { Adaptation, Path, SpecInfo } from "quickstudy";
import type { Pull } from "./bandit.js";

/** Part of the way from the middle to the edge of where goals may be: whoever ends nearer than that has found one. */
export const NEAR = 0.25;
/** Last pulls of a trial that count, and how many of them have to be of the best arm. */
export const [LAST, MOST] = [3, 2];

/** A way through the plane: x and y of one step after the other. */
export type Way = readonly (readonly [x: number, y: number])[];

/** A held-out task, and what was done on it. */
export interface HeldOut {
  task: readonly number[];
  /** True if adapting found the goal, or the best arm. */
  found: boolean;
  /** The ways before and after adapting, where there is a plane. */
  before: Way;
  after: Way;
  /** The pulls of a trial, where there are arms. */
  pulls: readonly Pull[];
}

/** Half the width of the square in which goals may be. */
export function reach({ task }: SpecInfo): number {
  return Math.max(...task.flatMap(({ low, high }) => [Math.abs(low ?? 0), Math.abs(high ?? 0)]), 0);
}

function way(path: Path, [across, up]: readonly [number, number]): Way {
  const width = path.states.length / path.rewards.length;
  return Array.from(path.rewards, (_, row) => [path.states[row * width + across]!, path.states[row * width + up]!]);
}

/** Each held-out task, and what was done on it. */
export function heldOut({ tasks, stages }: Adaptation, spec: SpecInfo): HeldOut[] {
  return tasks.map((task, i) => {
    const [first, last] = [stages[0]!.paths[i]!, stages.at(-1)!.paths[i]!];
    if (spec.plane) {
      const [before, after] = [way(first, spec.plane), way(last, spec.plane)];
      const [x, y] = after.at(-1)!;
      const far = Math.hypot(x - task[0]!, y - task[1]!);
      const within = reach(spec) || Math.max(...tasks.flat().map(Math.abs));
      return { task, found: far < NEAR * within, before, after, pulls: [] };
    }
    const pulls = stages.flatMap(({ paths }) => {
      const { actions, rewards } = paths[i]!;
      return Array.from(actions, (arm, at) => ({ arm, paid: rewards[at]! }));
    });
    const best = task.indexOf(Math.max(...task));
    const found = pulls.slice(-LAST).filter(({ arm }) => arm === best).length >= MOST;
    return { task, found, before: [], after: [], pulls };
  });
}
