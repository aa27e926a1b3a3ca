import type { Catalogue } from "quickstudy";
import type { Offer } from "./choices-form.js";

/** Learners of single tasks, and the worlds that each can have. */
export function offersOf({ envs, algorithms }: Catalogue): Offer[] {
  const worlds = envs.filter(({ spec }) => spec.task.length === 0).map(({ spec }) => spec.name);
  const single = algorithms.filter(({ family }) => family === "single-task");
  return single.map(({ name, envs: fits }) => ({ algorithm: name, envs: worlds.filter((env) => fits.includes(env)) }));
}
