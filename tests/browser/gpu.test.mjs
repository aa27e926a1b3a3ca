// What WebGPU in a browser is asked to do.
import assert from "node:assert/strict";
import { test } from "node:test";
import { withPage } from "./harness/page.mjs";

/** Dispatches of one iteration of PPO on CartPole, and the processor's time for each. */
const cost = async (config) => {
  const { createSession } = await import("/quickstudy/index.js");
  const options = {
    algorithm: "ppo",
    env: "cartpole",
    steps: 1e6,
    device: "gpu",
    config: { envs: 16, hidden: [16], ...config },
  };
  const session = await createSession(options);
  await session.step();
  const before = [session.dispatches, session.hostSeconds];
  const iterations = 5;
  for (let i = 0; i < iterations; i++) await session.step();
  const dispatches = session.dispatches - before[0];
  const microseconds = (1e6 * (session.hostSeconds - before[1])) / dispatches;
  session.dispose();
  return { dispatches: dispatches / iterations, microseconds };
};

test("a rollout is a few dispatches, however long it is", () =>
  withPage(async (page) => {
    const once = { epochs: 1, minibatches: 1 };
    const short = await page.evaluate(cost, { horizon: 16, ...once });
    const long = await page.evaluate(cost, { horizon: 64, ...once });
    // A rollout step by step would take 48 steps' dispatches more. One more has been seen; which one it is was not
    // looked for.
    const more = long.dispatches - short.dispatches;
    assert.ok(more >= 0 && more <= 1, `${short.dispatches} dispatches, ${long.dispatches} of four times as many steps`);
    // Four at most for rollout and advantages besides one update, which natively takes 42 (and is split in two where
    // sums are long).
    assert.ok(short.dispatches <= 60, `${short.dispatches} dispatches`);
    const updates = await page.evaluate(cost, { horizon: 64, epochs: 4, minibatches: 4 });
    console.log(
      `iteration ${short.dispatches} dispatches, of 16 minibatches ${updates.dispatches}; ` +
        `the processor's time for each ${updates.microseconds.toFixed(2)} µs`,
    );
    assert.ok(updates.microseconds > 0);
  }));
