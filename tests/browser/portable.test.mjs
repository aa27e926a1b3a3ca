// What moves between browser and command line, and that both compute the same.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { distance, fromBase64, parameters, toBase64, withCli } from "./harness/cli.mjs";
import { withPage } from "./harness/page.mjs";

/** Trains in a page; the snapshot as text. */
const trainInPage = async ({ options, snapshot }) => {
  const { createSession } = await import("/quickstudy/index.js");
  const bytes = snapshot && Uint8Array.from(atob(snapshot), (c) => c.charCodeAt(0));
  const session = await createSession(bytes ? { snapshot: bytes, ...options } : options);
  while (!session.done) await session.step();
  const [saved] = await session.snapshots();
  const { kind } = session.device;
  session.dispose();
  let text = "";
  saved.forEach((byte) => (text += String.fromCharCode(byte)));
  return { kind, saved: btoa(text) };
};

/** Twenty steps of chance, then twenty with an update each. */
const MEMORY = { batch_size: 16, hidden: [16], learning_starts: 20, iteration_steps: 20 };
const asFlags = (settings) =>
  Object.entries(settings).flatMap(([key, value]) => ["--set", `${key}=${JSON.stringify(value)}`]);

const SETTINGS = { envs: 16, horizon: 32, minibatches: 4, epochs: 2 };
const flags = asFlags(SETTINGS);

test("one iteration on WebGPU and on WebAssembly leads to what the native processor computes", () =>
  withCli(async (cli, folder) => {
    for (const [algorithm, env, steps, settings, set] of [
      ["ppo", "cartpole", 512, SETTINGS, flags],
      ["ppo", "pendulum", 512, SETTINGS, flags],
      ["ppo", "half-cheetah", 512, SETTINGS, flags],
      ["dqn", "cartpole", 40, { ...MEMORY, train_freq: 1 }, asFlags({ ...MEMORY, train_freq: 1 })],
      ["td3", "pendulum", 40, { ...MEMORY, prioritised: true }, asFlags({ ...MEMORY, prioritised: true })],
      ["sac", "pendulum", 40, MEMORY, asFlags(MEMORY)],
      ["promp", "navigation", 1, { meta_batch: 2, rollouts: 4 }, asFlags({ meta_batch: 2, rollouts: 4 })],
    ]) {
      const run = `${algorithm}-${env}`;
      cli(
        "train",
        algorithm,
        "--env",
        env,
        "--seed",
        "3",
        "--steps",
        String(steps),
        ...set,
        "--eval-every",
        "0",
        "--out",
        run,
      );
      const native = parameters(new Uint8Array(readFileSync(join(folder, run, "last.safetensors"))));
      await withPage(async (page) => {
        const options = { algorithm, env, seed: 3, steps, config: settings };
        for (const device of ["cpu", "gpu"]) {
          const { kind, saved } = await page.evaluate(trainInPage, { options: { ...options, device } });
          assert.equal(kind, device);
          const off = distance(parameters(fromBase64(saved)), native);
          // The cheetah's contacts begin and end at numbers that are rounded otherwise on a GPU.
          const most = env === "half-cheetah" && device === "gpu" ? 1e-4 : 1e-5;
          assert.ok(off <= most, `${run} on ${device}: ‖θ − native‖ is ${off} of ‖native‖`);
        }
      });
    }
  }));

test("what the browser trained goes on and is evaluated on the command line, and the other way round", () =>
  withCli(async (cli, folder) => {
    await withPage(async (page) => {
      const options = { algorithm: "ppo", env: "cartpole", seed: 5, steps: 30_000, config: SETTINGS, device: "cpu" };
      const { saved } = await page.evaluate(trainInPage, { options });
      writeFileSync(join(folder, "browser.safetensors"), fromBase64(saved));
      const [, mean] = /mean_return ([\d.]+)/.exec(cli("eval", "browser.safetensors", "--episodes", "20"));
      assert.ok(Number(mean) > 100, `${mean} after 30,000 steps in the browser`);
      mkdirSync(join(folder, "on"));
      writeFileSync(join(folder, "on", "last.safetensors"), fromBase64(saved));
      cli("train", "--resume", "on", "--steps", "32000", "--eval-every", "0");
      // 63 iterations of 512 steps.
      assert.match(cli("eval", "on", "--last", "--episodes", "1"), /after 32 256 steps/);

      cli(
        "train",
        "ppo",
        "--env",
        "cartpole",
        "--seed",
        "6",
        "--steps",
        "2048",
        ...flags,
        "--eval-every",
        "0",
        "--out",
        "native",
      );
      const snapshot = toBase64(readFileSync(join(folder, "native", "last.safetensors")));
      // Twice the steps: the browser goes on where the command line ended.
      const on = await page.evaluate(trainInPage, { options: { steps: 4096, device: "cpu" }, snapshot });
      writeFileSync(join(folder, "on.safetensors"), fromBase64(on.saved));
      assert.match(cli("eval", "on.safetensors", "--episodes", "1"), /after 4 096 steps/);
    });
  }));

test("a run with a replay buffer goes on in the browser once it is exported", () =>
  withCli(async (cli, folder) => {
    const settings = ["hidden=[8]", "batch_size=8", "learning_starts=100", "memory_size=250"].flatMap((set) => [
      "--set",
      set,
    ]);
    cli("train", "sac", "--env", "pendulum", "--steps", "400", ...settings, "--eval-every", "0", "--out", "native");
    cli("export", "native", "-o", "native.safetensors");
    const read = (name) => toBase64(readFileSync(join(folder, name)));
    await withPage(async (page) => {
      const options = { steps: 600, device: "cpu" };
      const on = await page.evaluate(trainInPage, { options, snapshot: read("native.safetensors") });
      writeFileSync(join(folder, "on.safetensors"), fromBase64(on.saved));
      assert.match(cli("eval", "on.safetensors", "--episodes", "1"), /after 600 steps/);
      // Without its segments the file of the run folder is not all of it.
      const alone = page.evaluate(trainInPage, { options, snapshot: read(join("native", "last.safetensors")) });
      await assert.rejects(alone, /quickstudy export/);
    });
  }));

test("a run begins in the browser with the parameters of one of the command line", () =>
  withCli(async (cli, folder) => {
    const settings = { hidden: [8], batch_size: 8, learning_starts: 100, memory_size: 250 };
    cli(
      "train",
      "sac",
      "--env",
      "pendulum",
      "--steps",
      "400",
      ...asFlags(settings),
      "--eval-every",
      "0",
      "--out",
      "native",
    );
    const file = readFileSync(join(folder, "native", "last.safetensors"));
    const begin = async ({ options, text }) => {
      const { createSession } = await import("/quickstudy/index.js");
      const from = text && Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
      const session = await createSession({ ...options, from });
      const all = await session.snapshots();
      await session.step();
      session.dispose();
      return all.map((saved) => btoa(Array.from(saved, (byte) => String.fromCharCode(byte)).join("")));
    };
    await withPage(async (page) => {
      const options = { algorithm: "sac", env: "pendulum", seeds: [8, 9], steps: 600, config: settings, device: "cpu" };
      const text = toBase64(file);
      // Its memory is in segments, which are not needed.
      for (const saved of await page.evaluate(begin, { options, text })) {
        assert.deepEqual(parameters(fromBase64(saved)), parameters(new Uint8Array(file)));
      }
      const other = { ...options, config: { ...settings, hidden: [4] } };
      await assert.rejects(
        page.evaluate(begin, { options: other, text }),
        /policy\.0\.weight.*\[8, 3\].*expected \[4, 3\]/,
      );
    });
  }));

test("a policy that the command line meta-trained adapts in the browser as there", () =>
  withCli(async (cli, folder) => {
    cli("train", "rl2-ppo", "--env", "bandit", "--steps", "200k", "--eval-every", "0", "--out", "bandit");
    const output = cli("adapt", "bandit", "--last", "--tasks", "200", "--seed", "1");
    const [, native] = /whole trial\s+return\s+([\d.]+)/.exec(output);
    await withPage(async (page) => {
      const snapshot = toBase64(readFileSync(join(folder, "bandit", "last.safetensors")));
      const total = await page.evaluate(async (text) => {
        const { loadPolicy } = await import("/quickstudy/index.js");
        const policy = await loadPolicy(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)));
        const { stages } = await policy.adapt({ tasks: 200, seed: 1 });
        policy.dispose();
        const mean = (list) => list.reduce((a, b) => a + b) / list.length;
        return stages.reduce((sum, { returns }) => sum + mean(returns.map(mean)), 0);
      }, snapshot);
      // The same tasks and draws; a pull may differ where two arms are nearly equal.
      assert.ok(Math.abs(total - Number(native)) < 0.05, `${total} in the browser, ${native} natively`);
    });
  }));
