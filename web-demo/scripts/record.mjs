#!/usr/bin/env node
// Records the runs that the page shows before there is one of the visitor's: the curve by seconds of training, and the
// policies after 0, 10 and 60 of them, of every world and learner of src/recorded.json, or of those that are named:
//
//   node scripts/record.mjs [WORLD [LEARNER]]
//
// Trains as the page does, by the package and with the page's settings, on one core and without WebGPU. Seconds are
// those that the processor worked, so that other work beside it does not count. Build the package first
// (scripts/build-package.sh).
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { catalogue, loadPolicy, train } from "quickstudy";
import { Stopwatch } from "./stopwatch.mjs";

/** Seconds of training after which the policy is kept. */
const AGES = [0, 10, 60];
/** Episodes that the untrained one is measured on: their actions are drawn, as in training. */
const EPISODES = 20;
const SEED = 0;

const read = (name) => JSON.parse(readFileSync(new URL(name, import.meta.url), "utf8"));
const [recipes, worlds] = [read("../src/recipes.json"), read("../src/recorded.json")];
const { version } = read("../node_modules/quickstudy/package.json");
const folder = new URL("../public/recorded/", import.meta.url);
const mean = (list) => list.reduce((sum, value) => sum + value, 0) / list.length;
const rounded = (value, digits) => Number(value.toPrecision(digits));

/** Trains one learner for the last age's seconds; gives what is to be written. */
async function record(env, algorithm) {
  const { settings = {}, steps: most } = recipes[`${algorithm}/${env}`] ?? {};
  const made = { algorithm, env, seed: SEED, device: "cpu", config: settings };
  const options = most === undefined ? made : { ...made, steps: most };
  const run = train({ ...options, paused: true });
  const session = await run.session;
  const [kept, curve, watch] = [[], [], new Stopwatch()];
  let latest = NaN;
  // Training stands still while a policy is kept: its seconds are those of training alone.
  const keep = async (age) => {
    run.pause();
    const [bytes] = await session.policyBytes();
    watch.stop();
    kept.push({ age, bytes, envSteps: session.envSteps, latest });
    watch.start();
    run.resume();
  };
  await keep(AGES[0]);
  for await (const { envSteps, returnMean } of run) {
    const { seconds } = watch;
    if (Number.isFinite(returnMean)) latest = returnMean;
    if (Number.isFinite(returnMean) && seconds >= (curve.at(-1)?.[0] ?? -1) + 0.5) {
      curve.push([rounded(seconds, 3), envSteps, rounded(returnMean, 4)]);
    }
    const next = AGES[kept.length];
    if (next !== undefined && seconds >= next) await keep(next);
    if (kept.length === AGES.length) break;
  }
  await run.dispose();
  if (kept.length < AGES.length) {
    const end = `${algorithm} on ${env} ended after ${watch.seconds.toFixed(0)} s`;
    throw new Error(`${end}: give it more steps in src/recipes.json`);
  }
  const ages = [];
  for (const { age, bytes, envSteps, latest } of kept) {
    const policy = await loadPolicy(bytes);
    const drawn = await policy.evaluate({ episodes: EPISODES, deterministic: false });
    const probable = await policy.evaluate({ episodes: EPISODES });
    policy.dispose();
    const file = `${env}.${algorithm}.${age}s.safetensors`;
    writeFileSync(new URL(file, folder), bytes);
    // A number as the curve has: of the latest episodes of training, and before there were any, of such as they are.
    const paid = Number.isFinite(latest) ? latest : mean(drawn.returns);
    ages.push({ seconds: age, envSteps, return: rounded(paid, 4), policy: file });
    const means = [paid, mean(drawn.returns), mean(probable.returns)].map((value) => value.toFixed(1));
    const [latestOnes, ofDraws, ofProbable] = means;
    const all = `${latestOnes}, by drawn actions ${ofDraws}, by the most probable ${ofProbable}`;
    console.log(`${env} by ${algorithm}: ${age} s, ${envSteps} steps, return ${all}`);
  }
  const command = `node scripts/record.mjs ${env} ${algorithm}`;
  const [times, steps, returns] = [0, 1, 2].map((column) => curve.map((row) => row[column]));
  const recorded = { env, algorithm, seed: SEED, settings, version, command, episodes: EPISODES, ages };
  const text = JSON.stringify({ ...recorded, seconds: times, envSteps: steps, returns });
  writeFileSync(new URL(`${env}.${algorithm}.json`, folder), `${text}\n`);
}

const [onlyWorld, onlyLearner] = process.argv.slice(2);
const { envs } = await catalogue();
const chosen = Object.entries(worlds)
  .filter(([env]) => onlyWorld === undefined || env === onlyWorld)
  .flatMap(([env, learners]) => learners.map((learner) => [env, learner]))
  .filter(([, learner]) => onlyLearner === undefined || learner === onlyLearner);
if (chosen.length === 0 || !chosen.every(([env]) => envs.some(({ spec }) => spec.name === env))) {
  console.error(`nothing of that name is recorded: src/recorded.json has ${Object.keys(worlds).join(", ")}`);
  process.exit(2);
}
mkdirSync(folder, { recursive: true });
for (const [env, learner] of chosen) await record(env, learner);
