// node bench.mjs: what the built package and the web page take in headless Chromium; fails if start-up takes too long.
// Needs `npm ci` and `node harness/install.mjs` here first, and `npm run build` in web-demo. `node bench.mjs page`: the
// page alone.
import { browser } from "./harness/browser.mjs";
import { pageTimes } from "./harness/page-times.mjs";
import { withPage } from "./harness/page.mjs";

/** Milliseconds: what the package promises on a machine with nothing else to do. */
const LONGEST_START_UP = 300;

/**
 * Milliseconds in a page that has loaded nothing: of the import, and from there on to the end of the first iteration of
 * PPO on CartPole, which loads and compiles the WebAssembly, starts a worker and plans the program.
 */
const startUp = async () => {
  const start = performance.now();
  const { createSession } = await import("/quickstudy/index.js");
  const imported = performance.now();
  const session = await createSession({ algorithm: "ppo", env: "cartpole", device: "cpu" });
  await session.step();
  const taken = performance.now();
  session.dispose();
  return { import: imported - start, first: taken - imported };
};

/** Environment steps per second of training, the best of some stretches. */
const speed = async (options) => {
  const { createSession } = await import("/quickstudy/index.js");
  const session = await createSession({ ...options, device: "cpu", steps: 1e9 });
  for (let i = 0; i < 10; i++) await session.step();
  let best = 0;
  for (let i = 0; i < 6; i++) {
    const [start, before] = [performance.now(), session.envSteps];
    while (performance.now() - start < 500) await session.step();
    best = Math.max(best, (1000 * (session.envSteps - before)) / (performance.now() - start));
  }
  session.dispose();
  return best;
};

/**
 * Training with a copy of the policy each second, as the web page keeps them, over training without: environment steps
 * per second, in stretches that take turns; the milliseconds of a copy, and the part of the time that copies take.
 */
const keeping = async (options) => {
  const { createSession } = await import("/quickstudy/index.js");
  const session = await createSession({ ...options, device: "cpu", steps: 1e12 });
  for (let i = 0; i < 5; i++) await session.step();
  const speeds = { with: [], without: [] };
  const copies = [];
  let trained = 0;
  for (let turn = 0; turn < 10; turn++) {
    const which = turn % 2 === 0 ? "without" : "with";
    const [start, before] = [performance.now(), session.envSteps];
    let kept = start;
    while (performance.now() - start < 2500) {
      await session.step();
      if (which === "with" && performance.now() - kept >= 1000) {
        kept = performance.now();
        await session.policyBytes();
        copies.push(performance.now() - kept);
      }
    }
    if (which === "with") trained += performance.now() - start;
    speeds[which].push((1000 * (session.envSteps - before)) / (performance.now() - start));
  }
  session.dispose();
  const part = copies.reduce((sum, ms) => sum + ms, 0) / trained;
  const middle = (list) => list.sort((a, b) => a - b)[Math.floor(list.length / 2)];
  return { ratio: middle(speeds.with) / middle(speeds.without), copy: middle(copies), part };
};

/** Dispatches per iteration on WebGPU, and the processor's microseconds for each. */
const dispatches = async () => {
  const { createSession } = await import("/quickstudy/index.js");
  const config = { envs: 16, horizon: 32, minibatches: 4, epochs: 4, hidden: [64, 64] };
  const session = await createSession({ algorithm: "ppo", env: "cartpole", device: "gpu", steps: 1e9, config });
  for (let i = 0; i < 3; i++) await session.step();
  const [count, seconds] = [session.dispatches, session.hostSeconds];
  for (let i = 0; i < 20; i++) await session.step();
  const made = session.dispatches - count;
  const each = (1e6 * (session.hostSeconds - seconds)) / made;
  session.dispose();
  return [made / 20, each];
};

async function packageTimes() {
  const starts = [];
  for (let i = 0; i < 15; i++) await withPage(async (page) => starts.push(await page.evaluate(startUp)));
  for (const [key, what] of [
    ["import", "import"],
    ["first", "from there to the first iteration"],
  ]) {
    const ms = starts.map((start) => start[key]).sort((a, b) => a - b);
    const [best, median, worst] = [ms[0], ms[7], ms[14]].map((x) => x.toFixed(0));
    console.log(`start-up, 15 fresh pages, ${what}: ${median} ms in the middle, ${best} to ${worst}`);
    if (key === "first" && ms[7] > LONGEST_START_UP) {
      console.error(`error: that is more than ${LONGEST_START_UP} ms`);
      process.exitCode = 1;
    }
  }
  await withPage(async (page) => {
    for (const size of [
      [4, 128],
      [64, 32],
      [256, 32],
    ]) {
      const config = { envs: size[0], horizon: size[1], minibatches: 4, epochs: 4, hidden: [64, 64] };
      const made = await page.evaluate(speed, { algorithm: "ppo", env: "cartpole", config });
      console.log(`PPO CartPole, ${size.join(" × ")}: ${Math.round(made).toLocaleString("en")} environment steps/s`);
    }
    for (const algorithm of ["sac", "td3"]) {
      const config = { hidden: [64, 64], batch_size: 100, learning_starts: 100, memory_size: 100_000 };
      const made = await page.evaluate(speed, { algorithm, env: "pendulum", config });
      console.log(
        `${algorithm.toUpperCase()} Pendulum, 64 × 64, batches of 100, an update per step: ` +
          `${Math.round(made).toLocaleString("en")} steps/s`,
      );
    }
  });
  await withPage(async (page) => {
    for (const [algorithm, env] of [
      ["ppo", "cartpole"],
      ["ppo", "half-cheetah"],
      ["sac", "pendulum"],
    ]) {
      const { ratio, copy, part } = await page.evaluate(keeping, { algorithm, env });
      console.log(
        `a policy kept each second, ${algorithm.toUpperCase()} ${env}: ${copy.toFixed(1)} ms for each, ` +
          `${(100 * part).toFixed(2)} % of the time, at ${(100 * ratio).toFixed(1)} % of the speed without`,
      );
    }
  });
  await withPage(async (page) => {
    const [made, each] = await page.evaluate(dispatches);
    console.log(
      `WebGPU: ${made} dispatches per iteration of 16 minibatches, ${each.toFixed(2)} µs of the processor for each`,
    );
  });
}

if (process.argv[2] !== "page") await packageTimes();
await pageTimes();
await (await browser()).close();
