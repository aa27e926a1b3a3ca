#!/usr/bin/env node
// Prints how fast the contestants of the room Adapt run at asked speeds: mean speed over the second half of the second
// episode, in m/s. Gradient steps count as episodes.
//
//   node scripts/speeds.mjs [SEEDS]
import { readFileSync } from "node:fs";
import { createSession, envSpec, loadPolicy } from "quickstudy";

const ENV = "half-cheetah-vel";
const ASKED = [0.5, 1, 1.5, 2, 2.5];
const seeds = Number(process.argv[2] ?? 3);
const { course, dt } = await envSpec(ENV);

const session = await createSession({ algorithm: "rl2-ppo", env: ENV, device: "cpu" });
const folder = new URL("../public/policies/", import.meta.url);
const shipped = (name) => loadPolicy(readFileSync(new URL(`${ENV}-${name}.safetensors`, folder)));
const contestants = [
  ["untrained", await session.policy()],
  ["one task", await shipped("one-task")],
  ["meta-trained", await shipped("meta")],
];

/** Mean speed over the second half of an episode's path. */
function speed({ states, rewards }) {
  const [steps, width] = [rewards.length, states.length / rewards.length];
  const [from, to] = [Math.floor(steps / 2), steps - 1];
  return (states[to * width + course] - states[from * width + course]) / ((to - from) * dt);
}

const rows = [];
for (const asked of ASKED) {
  const row = { asked };
  for (const [name, policy] of contestants) {
    const speeds = [];
    for (let seed = 0; seed < seeds; seed++) {
      const { stages } = await policy.adapt({ to: [[asked]], episodes: 2, seed });
      speeds.push(speed(stages[1].paths[0]));
    }
    row[name] = speeds.map((value) => value.toFixed(2)).join(" ");
  }
  rows.push(row);
}
console.table(rows);
process.exit(0);
