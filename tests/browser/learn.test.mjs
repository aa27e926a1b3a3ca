// It learns in a real browser, on the processor and on WebGPU.
import assert from "node:assert/strict";
import { test } from "node:test";
import { withPage } from "./harness/page.mjs";

/** Trains PPO on CartPole in a page until an evaluation of 20 episodes reaches 475, or all steps are made. */
const learn = async ({ device, steps, config, every }) => {
  const { createSession } = await import("/quickstudy/index.js");
  const session = await createSession({ algorithm: "ppo", env: "cartpole", seed: 0, device, steps, config });
  const mean = async () => {
    const [{ returns }] = await session.evaluate(20);
    return returns.reduce((a, b) => a + b) / returns.length;
  };
  const untrained = await mean();
  let best = untrained;
  while (!session.done && best < 475) {
    await session.step();
    if (session.iteration % every === 0 || session.done) best = Math.max(best, await mean());
  }
  const { kind } = session.device;
  const { dispatches, iteration, envSteps } = session;
  session.dispose();
  return { untrained, best, kind, dispatches, iteration, envSteps };
};

test("PPO learns CartPole on the processor, in a worker", () =>
  withPage(async (page) => {
    const { untrained, best, kind } = await page.evaluate(learn, {
      device: "cpu",
      steps: 100_000,
      config: {},
      every: 10,
    });
    assert.equal(kind, "cpu");
    assert.ok(untrained < 100 && best >= 475, `${untrained} before, ${best} after training`);
  }));

test("PPO teaches the cheetah to run on the processor, in a worker", () =>
  withPage(async (page) => {
    const { untrained, trained, seconds } = await page.evaluate(async () => {
      const { createSession } = await import("/quickstudy/index.js");
      const session = await createSession({ algorithm: "ppo", env: "half-cheetah", device: "cpu" });
      const mean = async () => {
        const [{ returns }] = await session.evaluate(20);
        return returns.reduce((a, b) => a + b) / returns.length;
      };
      const untrained = await mean();
      const start = performance.now();
      while (session.envSteps < 200_000) await session.step();
      const seconds = (performance.now() - start) / 1000;
      const trained = await mean();
      session.dispose();
      return { untrained, trained, seconds };
    });
    console.log(`return ${trained.toFixed(0)} after 200,000 steps, which took ${seconds.toFixed(1)} s`);
    assert.ok(untrained < 200 && trained >= 1500, `${untrained} before, ${trained} after training`);
  }));

test("PPO learns CartPole on WebGPU", () =>
  withPage(async (page) => {
    // Few large minibatches: on a software adapter every dispatch costs.
    const config = { envs: 32, horizon: 32, minibatches: 1, epochs: 16, learning_rate: 3e-3, hidden: [32, 32] };
    const args = { device: "gpu", steps: 60_000, config, every: 4 };
    const { untrained, best, kind, dispatches } = await page.evaluate(learn, args);
    assert.equal(kind, "gpu");
    assert.ok(dispatches > 0);
    assert.ok(untrained < 100 && best >= 475, `${untrained} before, ${best} after training`);
  }));

test("meta-learners train in a page and adapt to held-out tasks", () =>
  withPage(async (page) => {
    const { before, after, untrained } = await page.evaluate(async () => {
      const { train } = await import("/quickstudy/index.js");
      const config = { meta_batch: 8, rollouts: 10, hidden: [32, 32] };
      const run = train({ algorithm: "promp", env: "navigation", steps: 600_000, device: "cpu", config, paused: true });
      const mean = (list) => list.reduce((a, b) => a + b) / list.length;
      const measure = async () => {
        const policy = await run.policy();
        const { stages } = await policy.adapt({ tasks: 20 });
        policy.dispose();
        return stages.map(({ returns }) => mean(returns.map(mean)));
      };
      const untrained = (await measure()).at(-1);
      run.resume();
      await run.finished;
      const [before, ...rest] = await measure();
      await run.dispose();
      return { before, after: rest.at(-1), untrained };
    });
    // Standing still earns −41.5 on average.
    assert.ok(
      after > before + 4 && after > untrained + 4,
      `${untrained} untrained, ${before} before, ${after} after adaptation`,
    );
  }));
