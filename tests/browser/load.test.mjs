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

const showsTheVersion = async (page) => {
  await page.waitForFunction(() => document.querySelector("#version").value);
  assert.equal(await page.locator("#version").textContent(), version);
};

test("as a module of a page, without a bundler", () =>
  withPage(showsTheVersion, { folders: { "/": fixture("plain") } }));

test("bundled by Vite without configuration", async () => {
  const outDir = await mkdtemp(join(tmpdir(), "quickstudy-vite-"));
  try {
    await build({ root: fixture("vite"), configFile: false, logLevel: "warn", build: { outDir, emptyOutDir: true } });
    await withPage(showsTheVersion, { folders: { "/": outDir } });
  } finally {
    await rm(outDir, { recursive: true });
  }
});

test("served by Vite while developing, without configuration", async () => {
  const cacheDir = await mkdtemp(join(tmpdir(), "quickstudy-vite-"));
  const address = { host: "127.0.0.1", port: 0 };
  const server = await createServer({ root: fixture("vite"), configFile: false, logLevel: "warn", cacheDir, server: address });
  try {
    await server.listen();
    await visit(server.resolvedUrls.local[0], showsTheVersion);
  } finally {
    await server.close();
    await rm(cacheDir, { recursive: true });
  }
});
