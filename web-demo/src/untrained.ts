import { loadPolicy } from "quickstudy";
import { mean } from "./format.js";

/** Episodes that the untrained policy is measured on: as long as one takes, for they are played side by side. */
const EPISODES = 10;

/** A return to compare with, and what it is of. */
export interface Level {
  value: number;
  label: string;
}

/** Measures what a policy is paid that has not learnt. Actions are drawn, as in training, whose returns curves show. */
export async function untrained(bytes: Uint8Array): Promise<Level> {
  const policy = await loadPolicy(bytes);
  try {
    const { returns } = await policy.evaluate({ episodes: EPISODES, deterministic: false });
    return { value: mean(returns), label: `untrained, ${EPISODES} episodes` };
  } finally {
    policy.dispose();
  }
}
