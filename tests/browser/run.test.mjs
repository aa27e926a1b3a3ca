// Runs: progress, abort, pause, devices that are missing or lost, errors.
import assert from "node:assert/strict";
import { test } from "node:test";
import { withPage } from "./harness/page.mjs";

test("a run reports every iteration, pauses, stops, and saves what it has", () =>
  withPage(async (page) => {
    const seen = await page.evaluate(async () => {
      const { train } = await import("/quickstudy/index.js");
      const calls = [];
      const run = train({
        algorithm: "ppo",
        env: "cartpole",
        steps: 1_000_000,
        device: "cpu",
        onProgress: ({ iteration }) => calls.push(iteration),
      });
      const iterated = [];
      for await (const { iteration, envSteps, totalSteps, stepsPerSecond, seconds } of run) {
        iterated.push({ iteration, envSteps, totalSteps, ok: stepsPerSecond > 0 && seconds > 0 });
        if (iterated.length === 3) break;
      }
      run.pause();
      await new Promise((resolve) => setTimeout(resolve, 300));
      const held = run.progress.iteration;
      await new Promise((resolve) => setTimeout(resolve, 300));
      const still = run.progress.iteration;
      const saved = (await run.save()).length;
      run.resume();
      await new Promise((resolve) => setTimeout(resolve, 300));
      run.stop();
      const { reason, last } = await run.finished;
      await run.dispose();
      const after = await run.save().catch((error) => error.kind);
      return { calls, iterated, held, still, saved, reason, last: last.iteration, after };
    });
    assert.deepEqual(
      seen.iterated.map(({ ok }) => ok),
      [true, true, true],
    );
    assert.deepEqual(seen.calls.slice(0, 3), [1, 2, 3]);
    assert.equal(seen.held, seen.still);
    assert.ok(seen.last > seen.still && seen.saved > 1000);
    assert.equal(seen.reason, "stopped");
    assert.equal(seen.after, "disposed");
  }));

test("an AbortSignal ends a run with an AbortError, before or while it trains", () =>
  withPage(async (page) => {
    const seen = await page.evaluate(async () => {
      const { train, AbortedError } = await import("/quickstudy/index.js");
      const out = [];
      for (const early of [true, false]) {
        const control = new AbortController();
        if (early) control.abort("enough");
        const options = { algorithm: "ppo", env: "cartpole", steps: 1_000_000, device: "cpu", signal: control.signal };
        const run = train(options);
        let iterations = 0;
        try {
          for await (const _ of run) if (++iterations === 2) control.abort("enough");
          out.push("not aborted");
        } catch (error) {
          const again = await run.finished.catch((other) => other === error);
          out.push([error instanceof AbortedError, error.name, error.kind, error.cause, again, iterations < 4]);
        }
        await run.dispose();
      }
      return out;
    });
    const expected = [true, "AbortError", "aborted", "enough", true, true];
    assert.deepEqual(seen, [expected, expected]);
  }));

test("without WebGPU it trains on the processor and says so", () =>
  withPage(async (page) => {
    await page.addInitScript(() => Object.defineProperty(Navigator.prototype, "gpu", { value: undefined }));
    await page.reload();
    const seen = await page.evaluate(async () => {
      const { init, train } = await import("/quickstudy/index.js");
      // Workers have a navigator of their own.
      const { devices } = await init();
      const notices = [];
      const worker = false;
      const run = train({
        algorithm: "ppo",
        env: "cartpole",
        steps: 1,
        device: "gpu",
        worker,
        onNotice: (n) => notices.push(n),
      });
      const { last } = await run.finished;
      await run.dispose();
      return { devices, device: last.device, notices };
    });
    assert.ok(seen.devices.includes("cpu"));
    assert.equal(seen.device.kind, "cpu");
    assert.match(seen.device.reason, /^training on the CPU: there is no WebGPU here/);
    assert.deepEqual(seen.notices, [{ kind: "device", message: seen.device.reason }]);
  }));

test("a run whose GPU is lost goes on from its last copy on a new device", () =>
  withPage(async (page) => {
    for (const worker of [true, false]) {
      const seen = await page.evaluate(async (worker) => {
        const { train } = await import("/quickstudy/index.js");
        const config = { envs: 8, horizon: 16, minibatches: 2, epochs: 1, hidden: [8] };
        const notices = [];
        const rows = [];
        const options = {
          algorithm: "ppo",
          env: "cartpole",
          steps: 128 * 12,
          device: "gpu",
          config,
          saveEvery: 0,
          worker,
        };
        const run = train({ ...options, onNotice: (notice) => notices.push(notice) });
        for await (const { iteration, envSteps, device } of run) {
          rows.push([iteration, envSteps, device.kind]);
          if (rows.length === 4) await (await run.session).loseDevice();
        }
        const { reason } = await run.finished;
        await run.dispose();
        return { notices, rows, reason };
      }, worker);
      assert.equal(seen.reason, "finished");
      assert.equal(seen.notices.length, 1, JSON.stringify(seen.notices));
      assert.equal(seen.notices[0].kind, "recovered");
      assert.match(seen.notices[0].message, /lost.*goes on from its last copy, \d+ steps, on a new GPU device/);
      assert.deepEqual(seen.rows.at(-1).slice(0, 2), [12, 128 * 12]);
      // Nothing is skipped: the iteration after a loss is at most the one after the last that was seen.
      seen.rows.forEach(([iteration], i) => i && assert.ok(iteration <= seen.rows[i - 1][0] + 1));
    }
  }));

test("what cannot be says what was wrong, with a class and a stable kind", () =>
  withPage(async (page) => {
    const seen = await page.evaluate(async () => {
      const { train, createSession, loadPolicy, ...rest } = await import("/quickstudy/index.js");
      const small = {
        algorithm: "ppo",
        env: "cartpole",
        steps: 64,
        device: "cpu",
        config: { envs: 4, horizon: 16, hidden: [4] },
      };
      const tried = async (options) => {
        const run = train(options);
        const error = await run.finished.then(
          () => undefined,
          (error) => error,
        );
        const name = Object.keys(rest).find((key) => error?.constructor === rest[key]);
        return [name, error?.kind, error?.message];
      };
      return [
        await tried({ algorithm: "pop", env: "cartpole" }),
        await tried({ algorithm: "ppo", env: "cartpol" }),
        await tried({ algorithm: "ppo", env: "cartpole", config: { clip_esp: 1 } }),
        await tried({ algorithm: "ppo", env: "cartpole", config: { gamma: 2 } }),
        await tried({ algorithm: "ppo", env: "cartpole", config: { epochs: 2.5 } }),
        await tried({ algorithm: "ppo", env: "cartpole", seed: -1 }),
        await tried({ algorithm: "ppo", env: "cartpole", device: "tpu" }),
        await tried({ algorithm: "ppo", env: "cartpole", gamma: 0.9 }),
        await tried({ snapshot: new Uint8Array([1, 2, 3]) }),
        await tried({ algorithm: "promp", env: "cartpole" }),
        await tried(undefined),
        await tried({ algorithm: "no-such", env: "cartpole" }),
        await tried({ algorithm: "ppo", env: "cartpole", config: { gamma: null } }),
        await tried({ algorithm: "ppo", env: "cartpole", config: "gamma" }),
        await tried({ algorithm: "ppo", env: "cartpole", steps: "1000" }),
        await tried({ algorithm: "ppo", env: "cartpole", signal: "stop" }),
        await tried({ algorithm: "ppo", env: "cartpole", saveEvery: -1 }),
        await tried({ snapshot: new Uint8Array([1, 2, 3]), algorithm: "ppo" }),
        await tried({
          ...small,
          onProgress: () => {
            throw new Error("mine");
          },
        }),
        await loadPolicy(new Uint8Array(100)).catch((error) => [error.constructor.name, error.kind]),
        await createSession({ algorithm: "ppo", env: 7 }).catch((error) => [error.constructor.name, error.kind]),
      ];
    });
    const parts = seen.map(([name, kind, message]) => [name, kind, message ?? ""]);
    const expected = [
      ["UnknownNameError", "unknown", "`ppo`"],
      ["UnknownNameError", "unknown", "did you mean `cartpole`?"],
      ["UnknownNameError", "unknown", "did you mean `clip_eps`?"],
      ["ConfigError", "config", "gamma: 2 is not in 0 to 1"],
      ["ConfigError", "config", "epochs: expected a whole number"],
      ["ConfigError", "config", "seed: expected a whole number"],
      ["ConfigError", "config", 'device: expected "auto", "cpu" or "gpu"'],
      ["ConfigError", "config", "unknown option `gamma`; there are algorithm, env"],
      ["SnapshotError", "snapshot", "safetensors"],
      ["ConfigError", "config", "has a single task"],
      ["ConfigError", "config", "got undefined"],
      ["UnknownNameError", "unknown", "unknown algorithm `no-such`; `catalogue()` has all names"],
      ["ConfigError", "config", "gamma: expected a value, got null"],
      ["ConfigError", "config", 'config: expected an object of settings, got "gamma"'],
      ["ConfigError", "config", 'steps: expected a whole number of at least 1, got "1000"'],
      ["ConfigError", "config", "signal: expected an AbortSignal"],
      ["ConfigError", "config", "saveEvery: expected seconds"],
      ["ConfigError", "config", "algorithm: a snapshot brings its own"],
      ["ConfigError", "config", "onProgress threw: mine"],
      ["SnapshotError", "snapshot", ""],
      ["ConfigError", "config", ""],
    ];
    expected.forEach(([name, kind, part], i) => {
      assert.deepEqual(parts[i].slice(0, 2), [name, kind], parts[i][2]);
      assert.ok(parts[i][2].includes(part), `${parts[i][2]} lacks ${part}`);
    });
  }));

test("a snapshot with fewer steps than are made says so; a seed that does not exist, too", () =>
  withPage(async (page) => {
    const seen = await page.evaluate(async () => {
      const { train } = await import("/quickstudy/index.js");
      const run = train({
        algorithm: "ppo",
        env: "cartpole",
        steps: 128,
        device: "cpu",
        config: { envs: 4, horizon: 16, hidden: [4] },
      });
      await run.finished;
      const snapshot = await run.save();
      const told = ({ kind, message }) => [kind, message];
      const missing = await run.save(1).catch(told);
      await run.dispose();
      const fewer = await train({ snapshot: snapshot.buffer, steps: 64 }).finished.catch(told);
      return [missing, fewer];
    });
    assert.deepEqual(seen, [
      ["config", "index: expected a whole number in 0 to 0, got 1"],
      ["config", "steps: 128 are made already, so 64 in all cannot be"],
    ]);
  }));

test("a failure that nobody awaits is an unhandled rejection; one that somebody awaits, and an abort, are not", () =>
  withPage(async (page) => {
    const seen = await page.evaluate(async () => {
      const { train } = await import("/quickstudy/index.js");
      const messages = [];
      addEventListener("unhandledrejection", (event) => {
        event.preventDefault();
        messages.push(event.reason.message);
      });
      const soon = () => new Promise((resolve) => setTimeout(resolve, 100));
      const wrong = { algorithm: "ppo", env: "cartpol", device: "cpu" };
      train(wrong);
      while (messages.length === 0) await soon(); // What fails is said once the package is loaded.
      const alone = messages.splice(0);
      await train(wrong).finished.catch(() => undefined);
      await train(wrong).session.catch(() => undefined);
      await (async () => {
        for await (const _ of train(wrong)) break;
      })().catch(() => undefined);
      await train(wrong).dispose();
      train({ algorithm: "ppo", env: "cartpole", device: "cpu", signal: AbortSignal.abort() });
      await soon();
      return { alone, others: messages };
    });
    assert.equal(seen.alone.length, 1);
    assert.match(seen.alone[0], /unknown environment `cartpol`/);
    assert.deepEqual(seen.others, []);
  }));

test("two tabs train at once, and so do two runs of one tab", () =>
  withPage(async (first) => {
    const second = await first.context().newPage();
    await second.goto(first.url());
    const run = async (seed) => {
      const { train } = await import("/quickstudy/index.js");
      const runs = [seed, seed + 1].map((seed) =>
        train({ algorithm: "ppo", env: "cartpole", seed, steps: 10_000, device: "cpu" }),
      );
      const ended = await Promise.all(runs.map(({ finished }) => finished));
      await Promise.all(runs.map((run) => run.dispose()));
      return ended.map(({ last }) => last.metrics["train/policy_loss"]);
    };
    const [a, b, again] = await Promise.all([first.evaluate(run, 1), second.evaluate(run, 2), second.evaluate(run, 1)]);
    assert.deepEqual(a, again);
    assert.equal(a[1], b[0]);
    assert.notEqual(a[0], b[0]);
  }));

test("episodes take as many steps as the environment's name says, in a resumed run too", () =>
  withPage(async (page) => {
    const seen = await page.evaluate(async () => {
      const { envSpec, train } = await import("/quickstudy/index.js");
      const env = "pendulum:time_limit=20";
      const config = { envs: 4, horizon: 40, minibatches: 2, epochs: 1, hidden: [4] };
      const lengths = async (options) => {
        const run = train({ device: "cpu", ...options });
        const { last } = await run.finished;
        const [{ lengths }] = await run.evaluate(3);
        const snapshot = (await run.save()).buffer;
        await run.dispose();
        return [last.metrics["rollout/ep_len_mean"], ...lengths, snapshot];
      };
      const first = await lengths({ algorithm: "ppo", env, steps: 160, config });
      const resumed = await lengths({ snapshot: first.pop(), steps: 320 });
      resumed.pop();
      const none = await envSpec("pendulum:time_limit=0").catch(({ kind, message }) => [kind, message]);
      return { horizon: (await envSpec(env)).horizon, first, resumed, none };
    });
    assert.equal(seen.horizon, 20);
    assert.deepEqual(seen.first, [20, 20, 20, 20]);
    assert.deepEqual(seen.resumed, [20, 20, 20, 20]);
    assert.equal(seen.none[0], "config");
    assert.match(seen.none[1], /time_limit=0: expected a whole number/);
  }));
