// The page of `quickstudy watch` in a real browser: what it shows of a run, and what its server refuses.
import assert from "node:assert/strict";
import { once } from "node:events";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { withCli } from "./harness/cli.mjs";
import { visit } from "./harness/page.mjs";

const SIZES = [
  { viewport: { width: 1440, height: 900 }, colorScheme: "light" },
  { viewport: { width: 400, height: 800 }, colorScheme: "dark" },
];
const TRAIN = ["train", "ppo", "--env", "cartpole", "--seed", "0", "--out", "run"];

/** Waits until `find` gives something. */
async function found(find) {
  for (const end = Date.now() + 60_000; Date.now() < end; await new Promise((go) => setTimeout(go, 50))) {
    const there = await find();
    if (there) return there;
  }
  throw new Error(`not found: ${find}`);
}

/** The address that a watcher prints. */
function address(watcher) {
  let said = "";
  watcher.stdout.on("data", (bytes) => (said += bytes));
  return found(() => /http:\/\/\S+/.exec(said)?.[0]);
}

/** The share of a canvas that is painted. */
const painted = (page, id) =>
  page.locator(id).evaluate((canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width || 1, canvas.height || 1);
    return data.filter((value, i) => i % 4 === 3 && value > 0).length / (data.length / 4);
  });

test("a finished run is shown with its curves and an agent that plays, at both sizes and in both themes", () =>
  withCli(async (cli, _, start) => {
    cli(...TRAIN, "--steps", "8k", "--eval-every", "2k", "--eval-episodes", "5");
    const watcher = start(["watch", "run"]);
    const url = await address(watcher);
    for (const context of SIZES) {
      await visit(
        url,
        async (page) => {
          await page.locator("#state", { hasText: "Finished" }).waitFor();
          assert.match(await page.locator("#title").textContent(), /cartpole/i);
          assert.match(await page.locator("#facts").textContent(), /8/);
          await found(async () => (await painted(page, "#curve")) > 0.005);
          await found(async () => (await painted(page, "#scene")) > 0.005);
          const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
          assert.ok(wide <= 0, `${wide} pixels are wider than the screen`);
        },
        context,
      );
    }
    const { origin, pathname } = new URL(url);
    for (const path of ["/", pathname.replace(/.(?=.?$)/, "x"), "/../Cargo.toml", `${pathname}../run/config.toml`]) {
      const { status } = await fetch(origin + path);
      assert.ok(status >= 400 && status < 500, `${path}: ${status}`);
    }
    const foreign = await fetch(url, { headers: { origin: "http://example.com" } });
    assert.ok(foreign.status >= 400, `another origin: ${foreign.status}`);
    watcher.kill("SIGINT");
    const [code] = await once(watcher, "exit");
    assert.ok(code === 0 || code === 130, `it ended with ${code}`);
  }));

test("a run that trains is followed, and --open hands its address to the system", () =>
  withCli(async (cli, folder, start) => {
    const tools = join(folder, "tools");
    mkdirSync(tools);
    const opened = join(folder, "opened");
    writeFileSync(join(tools, "xdg-open"), `#!/bin/sh\necho "$1" >${opened}\n`);
    chmodSync(join(tools, "xdg-open"), 0o755);
    const training = start([...TRAIN, "--steps", "100M", "--eval-every", "0", "--save-every", "1"]);
    await found(() => {
      try {
        return readFileSync(join(folder, "run/metrics.jsonl"), "utf8").length;
      } catch {
        return 0;
      }
    });
    const watcher = start(["watch", "run", "--open"], { PATH: `${tools}:${process.env.PATH}` });
    const url = await address(watcher);
    assert.equal(
      await found(() => {
        try {
          return readFileSync(opened, "utf8").trim();
        } catch {
          return "";
        }
      }),
      url,
    );
    await visit(url, async (page) => {
      const steps = () => page.locator("#bar").evaluate((bar) => bar.value);
      const first = await found(steps);
      await found(async () => (await steps()) > first);
      assert.match(await page.locator("#state").textContent(), /train/i);
      await found(async () => (await painted(page, "#scene")) > 0.005);
    });
    training.kill("SIGINT");
    await once(training, "exit");
  }));
