// Guesses of policies that infer a belief: where they would go by it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { withPage } from "./harness/page.mjs";

/** As small as it can be. */
const CONFIG = {
  hidden: [8],
  encoder_hidden_sizes: [8],
  train_tasks: 4,
  meta_batch: 2,
  batch_size: 8,
  num_steps_per_epoch: 1,
  num_initial_steps: 20,
  num_tasks_sample: 2,
  num_steps_prior: 20,
  num_extra_rl_steps_posterior: 0,
  embedding_batch_size: 8,
  embedding_mini_batch_size: 8,
};
const STEPS = 20;

test("guesses are places by episode and step, which change as the belief does", () =>
  withPage(async (page) => {
    const { one, again, elsewhere } = await page.evaluate(async (config) => {
      const { createSession } = await import("/quickstudy/index.js");
      const session = await createSession({
        algorithm: "pearl",
        env: "point-robot",
        steps: 1000,
        device: "cpu",
        config,
      });
      const policy = await session.policy();
      const guesses = async (to) => {
        const { unit, stages, places } = await policy.guesses({ to, episodes: 3, draws: 5, seed: 1 });
        return {
          unit,
          steps: stages.map(({ paths }) => paths[0].rewards.length),
          places: places.map((stage) => stage.map((all) => [...all])),
        };
      };
      const results = {
        one: await guesses([0.7, -0.2]),
        again: await guesses([0.7, -0.2]),
        elsewhere: await guesses([-0.5, 0.9]),
      };
      policy.dispose();
      session.dispose();
      return results;
    }, CONFIG);
    assert.deepEqual([one.unit, one.steps], ["episodes", [STEPS, STEPS, STEPS]]);
    assert.ok(
      one.places.length === 3 &&
        one.places.every((stage) => stage.length === STEPS + 1 && stage.every((all) => all.length === 10)),
    );
    assert.deepEqual(one, again);
    assert.deepEqual(one.places[0][0], elsewhere.places[0][0]);
    assert.notDeepEqual(one.places[0][STEPS], elsewhere.places[0][STEPS]);
    assert.deepEqual(one.places[0][STEPS], one.places[1][0]);
  }));

test("who has no guesses, and what cannot be asked for, is told so", () =>
  withPage(async (page) => {
    const told = await page.evaluate(async (config) => {
      const { createSession } = await import("/quickstudy/index.js");
      const told = [];
      const ask = async (algorithm, env, config, ...all) => {
        const session = await createSession({ algorithm, env, steps: 1000, device: "cpu", config });
        const policy = await session.policy();
        for (const options of all) {
          told.push(await policy.guesses(options).catch(({ kind, message }) => `${kind}: ${message}`));
        }
        policy.dispose();
        session.dispose();
      };
      const to = [0, 0];
      await ask("promp", "navigation", { hidden: [8] }, { to });
      await ask(
        "pearl",
        "point-robot",
        config,
        { to, draws: 0 },
        { to, draws: 5000 },
        { to, episodes: 0 },
        { to: [1] },
        {},
        { to, tasks: 2 },
      );
      class Line {
        setTask([goal]) {
          this.goal = goal;
        }
        reset() {
          this.x = 0;
          return [this.x];
        }
        step([move]) {
          this.x += move;
          return { observation: [this.x], reward: -Math.abs(this.x - this.goal), terminated: false };
        }
      }
      const dims = [{ name: "move", low: -1, high: 1 }];
      const spec = {
        name: "line",
        observation: [{ name: "x", low: -9, high: 9 }],
        action: { vector: dims },
        horizon: 20,
        task: [{ name: "goal", low: -1, high: 1 }],
      };
      await ask("pearl", { spec, create: () => new Line() }, config, { to: [0] });
      return told;
    }, CONFIG);
    const expected = [
      "config: algorithm: a policy of promp infers no belief",
      "config: draws: expected a whole number of at least 1, got 0",
      "config: draws: 5000 is not in 1 to 1024",
      "config: episodes: expected a whole number of at least 1, got 0",
      "config: tasks: [1.0] is no task of `point-robot`",
      "config: to: expected an array, got undefined",
      "config: unknown option `tasks`; there are to, episodes, draws, seed",
      "config: guesses: they are acted out in built-in environments only",
    ];
    assert.equal(told.length, expected.length);
    expected.forEach((start, i) => assert.ok(String(told[i]).startsWith(start), told[i]));
  }));
