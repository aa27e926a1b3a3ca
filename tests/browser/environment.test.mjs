// Environments written in JavaScript: in the worker by a module's URL, on the calling thread as objects.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fixture, withPage } from "./harness/page.mjs";

const folders = { "/envs/": fixture("envs") };

/** Trains PPO on the walk: mean return of the last evaluation, and how the page did meanwhile. */
const train = async ({ how, later, shared }) => {
  const { train } = await import("/quickstudy/index.js");
  const { walk } = await import("/envs/walk.js");
  const env = how === "object" ? walk({ later, shared }) : { module: "/envs/walk.js" };
  const config = { envs: 8, horizon: 64, minibatches: 4, epochs: 4, learning_rate: 3e-3, hidden: [16] };
  const run = train({ algorithm: "ppo", env, seed: 1, steps: 30_000, device: "cpu", config });
  // What the page does besides: without pauses it would not come round.
  let [frames, done] = [0, false];
  const beat = () => (frames++, done || setTimeout(beat));
  beat();
  const { last } = await run.finished;
  done = true;
  const [{ returns }] = await run.evaluate(20);
  const { local } = await run.session;
  const [bytes] = await (await run.session).snapshots();
  await run.dispose();
  const mean = returns.reduce((a, b) => a + b) / 20;
  return { mean, frames, local, loss: last.metrics["train/policy_loss"], bytes: bytes.length };
};

test("an object trains on the calling thread, which stays alive; answers may be promises", () =>
  withPage(async (page) => {
    const now = await page.evaluate(train, { how: "object", later: false });
    const later = await page.evaluate(train, { how: "object", later: true });
    for (const { mean, frames, local } of [now, later]) {
      assert.ok(local);
      // Eleven steps to the end, the last of which pays: 0.5. At random it is below −1.
      assert.ok(mean > 0.4, `mean return ${mean}`);
      assert.ok(frames > 10, `${frames} turns of the page's own`);
    }
    assert.equal(now.loss, later.loss);
    // Each sees its own place also where all write theirs into one array.
    const shared = await page.evaluate(train, { how: "object", later: false, shared: true });
    assert.deepEqual([shared.loss, shared.mean], [now.loss, now.mean]);
  }, { folders }));

test("a module's URL trains in the worker, to the same numbers", () =>
  withPage(async (page) => {
    const inWorker = await page.evaluate(train, { how: "module" });
    const onPage = await page.evaluate(train, { how: "object", later: false });
    assert.equal(inWorker.local, false);
    assert.ok(inWorker.mean > 0.4, `mean return ${inWorker.mean}`);
    assert.equal(inWorker.loss, onPage.loss);
  }, { folders }));

test("several choices at once are an array with the number of an option of each", () =>
  withPage(async (page) => {
    const seen = await page.evaluate(async () => {
      const { train } = await import("/quickstudy/index.js");
      const named = [
        { name: "gear", choices: ["1", "2", "3"] },
        { name: "brake", choices: ["off", "on"] },
      ];
      const trained = async (choices) => {
        const steps = [];
        // The third gear and no brake.
        const step = (action) => {
          steps.push([...action]);
          return { observation: [0], reward: Number(action[0] === 2) + Number(action[1] === 0) };
        };
        const spec = { name: "car", observation: 1, action: { choices }, horizon: 8 };
        const env = { spec, create: () => ({ reset: () => [0], step }) };
        const config = { envs: 4, horizon: 32, minibatches: 2, hidden: [8], learning_rate: 0.02 };
        const run = train({ algorithm: "ppo", env, seed: 1, steps: 5000, device: "cpu", config });
        await run.finished;
        const [{ returns }] = await run.evaluate(10);
        const policy = await run.policy();
        const acted = [...(await policy.act([0, 0]))];
        policy.dispose();
        await run.dispose();
        return { steps, acted, mean: returns.reduce((a, b) => a + b) / returns.length };
      };
      return [await trained([3, 2]), await trained(named)];
    });
    for (const { steps, acted, mean } of seen) {
      assert.ok(steps.every(([gear, brake, ...rest]) => gear in [0, 1, 2] && brake in [0, 1] && rest.length === 0));
      assert.ok(mean > 15, `mean return ${mean} of 16`);
      assert.deepEqual(acted, [2, 0, 2, 0]);
    }
    assert.deepEqual(seen[0].steps, seen[1].steps);
  }));

test("environments may share an array and the object around it", () =>
  withPage(async (page) => {
    const [shared, own] = await page.evaluate(async () => {
      const { train } = await import("/quickstudy/index.js");
      const trained = async (all) => {
        const create = () => {
          const result = all ?? { observation: new Float64Array(1), reward: 0, truncated: false };
          let [steps, bit] = [0, 0];
          const show = (chance) => {
            bit = Number(chance.random() < 0.5);
            result.observation[0] = bit;
            return result.observation;
          };
          const step = (action, chance) => {
            result.reward = Number(action === bit);
            show(chance);
            result.truncated = ++steps === 20;
            return result;
          };
          return { reset: (chance) => ((steps = 0), show(chance)), step };
        };
        const spec = { name: "bits", observation: 1, action: { choices: 2 }, horizon: 50 };
        const config = { envs: 4, horizon: 64, minibatches: 4, hidden: [8], learning_rate: 0.01 };
        const run = train({ algorithm: "ppo", env: { spec, create }, seed: 1, steps: 4000, device: "cpu", config });
        const { last } = await run.finished;
        const [{ returns }] = await run.evaluate(10);
        await run.dispose();
        return { loss: last.metrics["train/policy_loss"], returns: [...returns] };
      };
      return [await trained({ observation: new Float64Array(1), reward: 0, truncated: false }), await trained()];
    });
    assert.deepEqual(shared, own);
  }));

test("TRPO trains on it, too", () =>
  withPage(async (page) => {
    const [before, after] = await page.evaluate(async () => {
      const { createSession } = await import("/quickstudy/index.js");
      const { walk } = await import("/envs/walk.js");
      const config = { envs: 8, horizon: 64, minibatches: 4, hidden: [16], max_kl: 0.05 };
      const options = { algorithm: "trpo", env: walk({}), seed: 1, steps: 10_000, device: "cpu", config };
      const session = await createSession(options);
      const mean = async () => {
        const [{ returns }] = await session.evaluate(20);
        return returns.reduce((a, b) => a + b) / returns.length;
      };
      const before = await mean();
      while (!session.done) await session.step();
      const after = await mean();
      session.dispose();
      return [before, after];
    });
    assert.ok(before < 0, `untrained: ${before}`);
    assert.ok(after > 0.4, `mean return ${after}`);
  }, { folders }));

test("meta-learners set tasks", () =>
  withPage(async (page) => {
    const seen = await page.evaluate(async () => {
      const { train } = await import("/quickstudy/index.js");
      const { walk } = await import("/envs/walk.js");
      const tasks = [];
      const env = walk({ task: [{ name: "goal", low: -1, high: 1 }] });
      const create = env.create;
      env.create = () => {
        const one = create();
        const set = one.setTask;
        one.setTask = (task) => (tasks.push(task[0]), set.call(one, task));
        return one;
      };
      const config = { meta_batch: 3, rollouts: 2, hidden: [8] };
      const run = train({ algorithm: "promp", env, steps: 1, config });
      const { last } = await run.finished;
      await run.dispose();
      return { tasks, returns: last.metrics["meta/step_1_return"] };
    });
    // Three tasks, two environments each, one of each group after the other.
    assert.equal(seen.tasks.length, 6);
    assert.equal(new Set(seen.tasks).size, 3);
    assert.ok(seen.tasks.every((goal) => goal >= -1 && goal < 1));
    assert.ok(Number.isFinite(seen.returns));
  }, { folders }));

test("RL² learns to search for a hidden goal, and adapts to goals of one's own", () =>
  withPage(async (page) => {
    const { untrained, trained, unit } = await page.evaluate(async () => {
      const { createSession } = await import("/quickstudy/index.js");
      const { walk } = await import("/envs/walk.js");
      const env = walk({ task: [{ name: "goal", low: -1, high: 1 }] });
      const config = { meta_batch: 32, episodes: 2, minibatches: 4, units: 16, learning_rate: 5e-3 };
      const options = { algorithm: "rl2-ppo", env, seed: 1, steps: 200_000, device: "cpu", config };
      const session = await createSession(options);
      const test = async () => {
        const policy = await session.policy();
        const { unit, stages } = await policy.adapt({ to: [[-1], [1]], rollouts: 20 });
        policy.dispose();
        return { unit, returns: stages.map(({ returns }) => returns.flat().reduce((a, b) => a + b) / 40) };
      };
      const untrained = (await test()).returns;
      while (!session.done) await session.step();
      const { unit, returns: trained } = await test();
      session.dispose();
      return { untrained, trained, unit };
    });
    assert.equal(unit, "episodes");
    // Eleven steps straight to the goal: 0.5. Whoever does not know where it is looks on one side first.
    assert.ok(untrained[1] < -1, `untrained: ${untrained}`);
    assert.ok(trained[1] > 0.3 && trained[1] > trained[0] + 0.5, `trained: ${trained}`);
  }, { folders }));

test("a policy trained by gradient steps adapts in its environment, stage by stage", () =>
  withPage(async (page) => {
    const seen = await page.evaluate(async () => {
      const { train } = await import("/quickstudy/index.js");
      const { walk } = await import("/envs/walk.js");
      const env = walk({ later: true, task: [{ name: "goal", low: -1, high: 1 }] });
      const { create } = env;
      const tasks = [];
      env.create = () => {
        const one = create();
        const set = one.setTask;
        one.setTask = (task) => (tasks.push(task[0]), set.call(one, task));
        return one;
      };
      const config = { meta_batch: 3, rollouts: 4, hidden: [8] };
      const run = train({ algorithm: "promp", env, steps: 1, device: "cpu", config });
      await run.finished;
      const policy = await run.policy();
      const drawn = await policy.adapt({ tasks: 3, innerSteps: 2 });
      tasks.length = 0;
      const given = await policy.adapt({ to: [[0.1]], innerSteps: 1 });
      const set = [...tasks];
      const [played] = await run.evaluate(5);
      const refused = [];
      for (const asked of [{ deterministic: true }, { to: [[0.1, 2]] }, { tasks: 16_000, rollouts: 16_000 }]) {
        refused.push(await policy.adapt(asked).catch(({ kind, key }) => [kind, key]));
      }
      policy.dispose();
      await run.dispose();
      return { drawn, given, set, played, refused };
    });
    const { drawn, given, set, played, refused } = seen;
    assert.deepEqual([drawn.unit, drawn.stages.length, drawn.tasks.length], ["gradient steps", 3, 3]);
    assert.ok(drawn.stages.every(({ returns }) => returns.length === 3 && returns.every((all) => all.length === 4)));
    assert.ok(set.length === 4 && set.every((goal) => goal === 0.1), `setTask got ${set}`);
    assert.equal(given.stages.length, 2);
    const [path] = given.stages[0].paths;
    assert.equal(path.states.length, path.actions.length);
    const possible = played.lengths.every((length) => length >= 1 && length <= 40);
    assert.ok(played.returns.length === 5 && possible, `${played.lengths}`);
    assert.deepEqual(refused, [["config", "deterministic"], ["config", "tasks"], ["config", "tasks"]]);
  }, { folders }));

test("what an environment does wrong is an EnvironmentError that names it, with its exception as the cause", () =>
  withPage(async (page) => {
    const seen = await page.evaluate(async () => {
      const { train } = await import("/quickstudy/index.js");
      const { walk } = await import("/envs/walk.js");
      const spoiled = (spoil) => {
        const env = walk();
        const { create } = env;
        env.create = (number) => (number === 3 ? spoil(create(number)) : create(number));
        return env;
      };
      const cases = [
        (env) => ((env.step = () => { throw new RangeError("out of cheese"); }), env),
        (env) => ((env.step = () => Promise.reject(new RangeError("out of cheese"))), env),
        (env) => ((env.step = () => ({ observation: [1, 2], reward: 0 })), env),
        (env) => ((env.step = () => ({ observation: [1], reward: NaN })), env),
        (env) => ((env.step = () => undefined), env),
        (env) => ((env.reset = () => [Infinity]), env),
        () => ({ reset: () => [0] }),
      ];
      const out = [];
      for (const spoil of cases) {
        const config = { envs: 4, horizon: 8, minibatches: 1 };
        const run = train({ algorithm: "ppo", env: spoiled(spoil), steps: 1, config });
        const error = await run.finished.then(() => undefined, (error) => error);
        out.push([error?.name, error?.message, error?.cause instanceof RangeError]);
        await run.dispose();
      }
      return out;
    });
    const at = "environment walk: number 3 (copy 3 of task 0), ";
    const expected = [
      ["step: threw: out of cheese", true],
      ["step: threw: out of cheese", true],
      ["step: the observation has 2 numbers, expected 1", false],
      ["step: the reward is NaN, expected a finite number", false],
      ["step: gave undefined, expected { observation", false],
      ["reset: the observation holds inf", false],
      ["create: threw: environments need a function `step`", false],
    ];
    expected.forEach(([part, caused], i) => {
      const [name, message, cause] = seen[i];
      assert.equal(name, "EnvironmentError");
      assert.ok(message.startsWith(at + part), message);
      assert.equal(cause, caused, message);
    });
  }, { folders }));

test("a run whose environment never answers can be aborted and disposed of", () =>
  withPage(async (page) => {
    const seen = await page.evaluate(async () => {
      const { train } = await import("/quickstudy/index.js");
      const spec = { name: "silent", observation: 1, action: { choices: 2 }, horizon: 5 };
      const [asked, answer] = (() => {
        let heard;
        return [new Promise((resolve) => (heard = resolve)), () => heard()];
      })();
      const step = () => (answer(), new Promise(() => {}));
      const env = { spec, create: () => ({ reset: () => [0], step }) };
      const config = { envs: 1, horizon: 8, minibatches: 1, hidden: [4] };
      const options = { algorithm: "ppo", env, device: "cpu", config };
      const controller = new AbortController();
      const first = train({ ...options, signal: controller.signal });
      const ended = first.finished.catch(({ name }) => name);
      await asked;
      controller.abort();
      const aborted = await ended;
      await first.dispose();
      const second = train(options);
      await second.session;
      await second.dispose();
      return [aborted, (await second.finished).reason];
    });
    assert.deepEqual(seen, ["AbortError", "stopped"]);
  }));

test("specs and steps that would train on without a word are refused", () =>
  withPage(async (page) => {
    const messages = await page.evaluate(async () => {
      const { train } = await import("/quickstudy/index.js");
      const spec = { name: "sad", observation: 1, action: { choices: 2 }, horizon: 5 };
      const stepped = { observation: [0], reward: 0 };
      const config = { envs: 1, horizon: 8, minibatches: 1, hidden: [4] };
      const told = (spec, result = stepped) => {
        const env = { spec, create: () => ({ reset: () => [0], step: () => result }) };
        const { finished } = train({ algorithm: "ppo", env, steps: 8, device: "cpu", config });
        return finished.then(() => "", ({ message }) => message);
      };
      return [
        await told(spec),
        await told({ ...spec, horizn: 3 }),
        await told({ ...spec, name: undefined }),
        await told({ ...spec, action: 2 }),
        await told({ ...spec, action: { choices: [3, 0] } }),
        await told({ ...spec, action: { choices: [3, "two"] } }),
        await told({ ...spec, action: { choices: ["one", 2] } }),
        await told({ ...spec, action: { choices: [{ name: "gear" }] } }),
        await told({ ...spec, horizon: "10" }),
        await told(spec, { ...stepped, done: true }),
        await told(spec, { ...stepped, terminated: "no" }),
      ];
    });
    const expected = [
      /^$/,
      /unknown property of env\.spec `horizn`; there are name, observation/,
      /env\.spec\.name: expected a name, got undefined/,
      /env\.spec\.action: expected \{ choices \} or \{ vector \}, got 2/,
      /env\.spec\.action\.choices: expected a whole number of at least 1, got 0/,
      /env\.spec\.action\.choices: expected a whole number of at least 1, got "two"/,
      /env\.spec\.action\.choices: expected names, counts of options or/,
      /env\.spec\.action\.choices: expected names, counts of options or/,
      /env\.spec\.horizon: expected a whole number of at least 1, got "10"/,
      /step: threw: `done` means nothing here: say `terminated`/,
      /step: threw: `terminated` is "no", expected true or false/,
    ];
    messages.forEach((message, i) => assert.match(message, expected[i]));
  }));
