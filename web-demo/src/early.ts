import { oldest, recordedLearners, recordedPolicy, recordedRun } from "./recorded.js";
import { PLAYED, Troupe } from "./troupe.js";
import type { Choices } from "./url-state.js";
import { WORLDS } from "./worlds.js";

/** Whoever will be on the stage first, opened while the page is still being made. */
let first: { key: string; troupe: Promise<Troupe> } | undefined;

/** Opens the recorded policy that an address asks for. */
export async function early(given: Partial<Choices>): Promise<void> {
  const { env = Object.keys(WORLDS)[0]!, algorithm, at, seed = 0 } = given;
  const run = await recordedRun(env, algorithm ?? recordedLearners(env)[0] ?? "");
  if (!run || at !== undefined) return;
  const age = oldest(run);
  const act = { key: `recorded ${age.policy}`, bytes: await recordedPolicy(age) };
  first = { key: act.key, troupe: Troupe.open(act, PLAYED, seed) };
  first.troupe.catch(() => (first = undefined));
}

/** Hands over whoever was opened early, once. */
export function opened(key: string): Promise<Troupe> | undefined {
  const found = first?.key === key ? first.troupe : undefined;
  if (found) first = undefined;
  return found;
}
