#!/usr/bin/env node
// Records the meta-training that Learn to learn shows before there is one of the visitor's: returns on held-out tasks
// before and after adapting, by seconds of training, and the policy that training ended with, of every pair of
// environment and algorithm of RUNS, or of the environment that is named:
//
//   node scripts/record-meta.mjs [ENVIRONMENT]
//
// Trains as the page does, by the package and with the page's settings, on one core and without WebGPU. Seconds are
// those that the processor worked, so that other work beside it does not count. Build the package first
// (scripts/build-package.sh).
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { loadPolicy, train } from "quickstudy";
import { Stopwatch } from "./stopwatch.mjs";

const RUNS = [
  ["navigation", "promp"],
  ["point-robot", "pearl"],
  ["bandit", "rl2-ppo"],
];
/** Seconds of training, and between two measurements. */
const [SECONDS, EVERY] = [60, 3];
/** As in src/rooms/meta.ts: held-out tasks, and trials of each of policies with a memory. */
const [TASKS, TRIALS] = [40, 20];
const SEED = 0;
/** More than can be made in that time. */
const STEPS = 1e7;

const read = (name) => JSON.parse(readFileSync(new URL(name, import.meta.url), "utf8"));
const recipes = read("../src/recipes.json");
const { version } = read("../node_modules/quickstudy/package.json");
const folder = new URL("../public/recorded/", import.meta.url);
const mean = (list) => list.reduce((sum, value) => sum + value, 0) / list.length;
const rounded = (value, digits) => Number(value.toPrecision(digits));

/** Mean returns of the first and the last stage of adapting to held-out tasks. */
async function measured(bytes) {
  const policy = await loadPolicy(bytes);
  const drawn = policy.info.family === "memory" ? { rollouts: TRIALS, deterministic: false } : {};
  const { stages } = await policy.adapt({ tasks: TASKS, ...drawn });
  policy.dispose();
  const [before, after] = [stages[0], stages.at(-1)].map(({ returns }) => mean(returns.map(mean)));
  return { before, after };
}

async function record(env, algorithm) {
  const { settings } = recipes[`${algorithm}/${env}`] ?? {};
  const config = settings === undefined ? {} : { config: settings };
  const run = train({ algorithm, env, seed: SEED, device: "cpu", ...config, steps: STEPS, paused: true });
  const session = await run.session;
  const [rows, watch] = [[], new Stopwatch()];
  let bytes;
  // Training stands still while it is measured: its seconds are those of training alone, with the iteration that had
  // begun.
  const look = async () => {
    run.pause();
    [bytes] = await session.policyBytes();
    watch.stop();
    const { seconds } = watch;
    const { before, after } = await measured(bytes);
    rows.push([rounded(seconds, 3), session.envSteps, rounded(before, 4), rounded(after, 4)]);
    console.log(`${env} by ${algorithm}: ${rows.at(-1).join(", ")}`);
    watch.start();
    run.resume();
  };
  await look();
  for await (const _ of run) {
    const { seconds } = watch;
    if (seconds >= EVERY * rows.length || seconds >= SECONDS) await look();
    if (seconds >= SECONDS) break;
  }
  await run.dispose();
  const name = `meta.${env}.${algorithm}`;
  const [seconds, envSteps, before, after] = [0, 1, 2, 3].map((column) => rows.map((row) => row[column]));
  const command = `node scripts/record-meta.mjs ${env}`;
  const about = { env, algorithm, seed: SEED, settings: settings ?? {}, version, command, tasks: TASKS };
  const text = JSON.stringify({ ...about, policy: `${name}.safetensors`, seconds, envSteps, before, after });
  writeFileSync(new URL(`${name}.json`, folder), `${text}\n`);
  writeFileSync(new URL(`${name}.safetensors`, folder), bytes);
}

const [only] = process.argv.slice(2);
const chosen = RUNS.filter(([env]) => only === undefined || env === only);
if (chosen.length === 0) {
  console.error(`nothing of that name is recorded: there is ${RUNS.map(([env]) => env).join(", ")}`);
  process.exit(2);
}
mkdirSync(folder, { recursive: true });
for (const pair of chosen) await record(...pair);
process.exit(0);
