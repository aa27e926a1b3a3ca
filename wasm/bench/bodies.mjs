// Environment steps per second of bodies as the npm package has them, beside MuJoCo's own npm package, on one thread of
// Node.js: random actions that are held for a step, in both. `scripts/bench-wasm.sh --bodies` builds and installs both.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [guestPath, mujocoFolder, assets, secondsText] = process.argv.slice(2);
const seconds = Number(secondsText);
const ENVS = [
  ["half-cheetah", "half_cheetah.xml", 5],
  ["hopper", "hopper.xml", 4],
  ["walker2d", "walker2d_v5.xml", 4],
];
const LANES = 64;
/** Steps of the dispatch that are timed together. */
const TOGETHER = 20;

/** The questions of a host, as `core/src/env/module` numbers them. */
const [MAKE, RUN] = [1, 3];
const [RESET, STEP] = [0, 1];

const guest = (await WebAssembly.instantiate(readFileSync(guestPath))).instance.exports;

/** The answer to a question. */
function ask(request, env, words) {
  const at = guest.room(words.length) / 4;
  new Uint32Array(guest.memory.buffer, at * 4, words.length).set(words);
  const length = guest.call(request, env);
  return new Uint32Array(guest.memory.buffer, guest.answer(), length);
}

function text(value) {
  const bytes = new TextEncoder().encode(value);
  const words = new Uint32Array(Math.ceil(bytes.length / 4));
  new Uint8Array(words.buffer).set(bytes);
  return [bytes.length, ...words];
}

const bits = (numbers) => new Uint32Array(Float32Array.from(numbers).buffer);

/** Many lanes of an environment, stepped with random actions. */
function lanes(name, widths) {
  const env = ask(MAKE, 0, [...text(name), 0])[1];
  const [state, action] = widths;
  const element = Array.from({ length: LANES }, (_, lane) => lane);
  const key = (step) => [...Array(LANES).fill(step), ...Array(LANES).fill(7)];
  let states = ask(RUN, env, [RESET, 1000, LANES, ...key(0), ...element]).slice(0, state * LANES);
  let counts = new Uint32Array(LANES);
  let number = 1;
  return () => {
    const actions = bits(Array.from({ length: action * LANES }, () => 2 * Math.random() - 1));
    const words = new Uint32Array([RUN, 0, 0].length + states.length + counts.length + actions.length + 3 * LANES);
    let at = 0;
    for (const part of [[STEP, 1000, LANES], states, counts, actions, key(number++), element]) {
      words.set(part, at);
      at += part.length;
    }
    const answer = ask(RUN, env, words);
    states = answer.slice(0, states.length);
    counts = answer.slice(states.length, states.length + LANES);
    return LANES;
  };
}

/** MuJoCo's model, stepped with random controls: so many of its steps are one of the environment. */
function original(mujoco, file, frames) {
  mujoco.FS.writeFile("/model.xml", readFileSync(`${assets}/${file}`, "utf8"));
  const model = mujoco.MjModel.from_xml_path("/model.xml");
  const data = new mujoco.MjData(model);
  let steps = 0;
  return () => {
    if (steps++ % 1000 === 0) mujoco.mj_resetData(model, data);
    for (let i = 0; i < model.nu; i++) data.ctrl[i] = 2 * Math.random() - 1;
    for (let i = 0; i < frames; i++) mujoco.mj_step(model, data);
    return 1;
  };
}

function best(step) {
  for (const start = performance.now(); performance.now() - start < 1000; ) step();
  let speed = 0;
  for (const start = performance.now(); performance.now() - start < seconds * 1000; ) {
    const from = performance.now();
    let made = 0;
    for (let i = 0; i < TOGETHER; i++) made += step();
    speed = Math.max(speed, (1000 * made) / (performance.now() - from));
  }
  return speed;
}

const { default: load } = await import(pathToFileURL(`${mujocoFolder}/mujoco.js`).href);
const mujoco = await load();
for (const [name, file, frames] of ENVS) {
  const model = new mujoco.MjModel.from_xml_string(readFileSync(`${assets}/${file}`, "utf8"));
  const ours = lanes(name, [3 * model.nv, model.nu]);
  const theirs = original(mujoco, file, frames);
  // In turns, so that both meet the same machine.
  const speeds = [0, 0];
  for (let turn = 0; turn < 3; turn++) {
    [ours, theirs].forEach((step, i) => {
      speeds[i] = Math.max(speeds[i], best(step));
    });
  }
  const shown = speeds.map((speed) => `${Math.round(speed / 100) * 100}`.padStart(8));
  console.log(`${name.padEnd(14)}${shown[0]} steps/s, MuJoCo ${shown[1]}: ${(speeds[0] / speeds[1]).toFixed(1)} times`);
}
