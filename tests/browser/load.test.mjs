// The package loads wherever people put it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { build, createServer } from "vite";
import { PACKAGE, fixture, visit, withPage } from "./harness/page.mjs";

const { version } = JSON.parse(readFileSync(join(PACKAGE, "package.json"), "utf8"));

const trains = async (page) => {
  await page.waitForFunction(() => document.querySelector("#here").value);
  assert.equal(await page.locator("#version").textContent(), version);
  // The fixture of Vite has an environment in a module of its own, too.
  const ids = ["#in-worker", "#here", ...((await page.locator("#own").count()) ? ["#own"] : [])];
  for (const id of ids) assert.equal(await page.locator(id).textContent(), "1024");
};

test("as a module of a page, without a bundler", () => withPage(trains, { folders: { "/": fixture("plain") } }));

test("bundled by Vite without configuration", async () => {
  const outDir = await mkdtemp(join(tmpdir(), "quickstudy-vite-"));
  try {
    await build({ root: fixture("vite"), configFile: false, logLevel: "warn", build: { outDir, emptyOutDir: true } });
    await withPage(trains, { folders: { "/": outDir } });
  } finally {
    await rm(outDir, { recursive: true });
  }
});

test("served by Vite while developing, without configuration", async () => {
  const cacheDir = await mkdtemp(join(tmpdir(), "quickstudy-vite-"));
  const address = { host: "127.0.0.1", port: 0 };
  const server = await createServer({
    root: fixture("vite"),
    configFile: false,
    logLevel: "warn",
    cacheDir,
    server: address,
  });
  try {
    await server.listen();
    await visit(server.resolvedUrls.local[0], trains);
  } finally {
    await server.close();
    await rm(cacheDir, { recursive: true });
  }
});

// Each file more is a round trip more before the first iteration, and the bindings are not for pages that train in a
// worker.
test("a page that trains in a worker loads its module, what both share, the worker's and the WebAssembly once", () =>
  withPage(async (page) => {
    const loaded = [];
    page.on("request", (request) => loaded.push(new URL(request.url()).pathname));
    page.on("worker", (worker) => loaded.push(new URL(worker.url()).pathname));
    await page.evaluate(async () => {
      const { createSession } = await import("/quickstudy/index.js");
      const session = await createSession({ algorithm: "ppo", env: "cartpole", device: "cpu" });
      await session.step();
      session.dispose();
    });
    const kinds = new Set(loaded.map((path) => path.replace(/^\/quickstudy\//, "").replace(/-[A-Z0-9]{8}/, "")));
    assert.deepEqual([...kinds].sort(), ["chunk.js", "index.js", "quickstudy_wasm_bg.wasm", "worker.js"]);
    assert.equal(loaded.filter((path) => path.endsWith(".wasm")).length, 1);
  }));

test("bodies are listed, trained, painted and refused like all else, from one file of WebAssembly", () =>
  withPage(async (page) => {
    const loaded = [];
    page.on("request", (request) => loaded.push(new URL(request.url()).pathname));
    const found = await page.evaluate(async () => {
      const { catalogue, createSession, draw, envSpec, loadPolicy, scenes } = await import("/quickstudy/index.js");
      const { envs, algorithms } = await catalogue();
      const specs = envs.map(({ spec }) => spec);
      const named = specs.find(({ name }) => name === "hopper");
      const session = await createSession({ algorithm: "ppo", env: "hopper:time_limit=20", device: "cpu" });
      const [row] = await session.step();
      const [bytes] = await session.policyBytes();
      session.dispose();
      const policy = await loadPolicy(bytes);
      const { states } = await policy.trajectory({ seed: 1 });
      policy.dispose();
      const wrong = await envSpec("half-cheeta").catch(({ message }) => message);
      const refused = await envSpec("hopper:reset_noise_scale=-1").catch(({ message }) => message);
      const several = await Promise.all(["hopper", "swimmer", "cartpole", "reacher"].map((name) => envSpec(name)));
      return {
        same: JSON.stringify(await envSpec("hopper")) === JSON.stringify(named),
        listed: algorithms.find(({ name }) => name === "sac").envs.includes("walker2d"),
        discrete: algorithms.find(({ name }) => name === "dqn").envs.includes("walker2d"),
        length: row["rollout/ep_len_mean"],
        shapes: [...scenes(await draw("hopper", states))].map(({ shapes }) => shapes.length),
        wrong,
        refused,
        several: several.map(({ name }) => name),
        twice: (await catalogue()).envs.length - envs.length,
      };
    });
    assert.deepEqual(
      { ...found, shapes: undefined },
      {
        same: true,
        listed: true,
        discrete: false,
        length: found.length,
        shapes: undefined,
        wrong: "unknown environment `half-cheeta`, did you mean `half-cheetah`?",
        refused: "env: reset_noise_scale=-1: expected a number in 0 to 1000000",
        several: ["hopper", "swimmer", "cartpole", "reacher"],
        twice: 0,
      },
    );
    assert.ok(found.length > 5 && found.length <= 20, `episodes of ${found.length} steps`);
    assert.ok(found.shapes.length > 5 && found.shapes.every((count) => count > 4), `${found.shapes} shapes`);
    assert.equal(loaded.filter((path) => path.endsWith(".wasm")).length, 1);
  }));
