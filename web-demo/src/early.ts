import { loadPolicy } from "quickstudy";
import { oldest, recordedLearners, recordedPolicy, recordedRun } from "./recorded.js";
import type { Choices } from "./url-state.js";
import { WORLDS } from "./worlds.js";

/** Begins to load what will be on the stage first, while the page is still being made. */
export async function early({ env = Object.keys(WORLDS)[0]!, algorithm, at }: Partial<Choices>): Promise<void> {
  const run = await recordedRun(env, algorithm ?? recordedLearners(env)[0] ?? "");
  if (!run) return;
  const age = at === undefined ? undefined : run.ages.find(({ seconds }) => seconds >= at);
  // The first of a world loads and compiles what it needs.
  (await loadPolicy(await recordedPolicy(age ?? oldest(run)))).dispose();
}
