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
