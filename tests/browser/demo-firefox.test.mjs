// The web demo in Firefox, where there is one: QUICKSTUDY_REQUIRE_FIREFOX=1 makes a missing one a failure.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { test } from "node:test";
import { DEMO, PATIENCE } from "./harness/demo.mjs";
import { executable, inFirefox } from "./harness/firefox.mjs";
import { serve } from "./harness/server.mjs";

const missing = executable() === undefined && process.env.QUICKSTUDY_REQUIRE_FIREFOX !== "1";
const SCREENS = new URL("screenshots/", import.meta.url);
const shot = (name) => new URL(`firefox-${name}.png`, SCREENS).pathname;

/** Waits until the text of an element matches. */
const says = (page, selector, pattern) =>
  page.waitForFunction(
    (where, source) => new RegExp(source).test(document.querySelector(where)?.textContent ?? ""),
    PATIENCE,
    selector,
    pattern.source,
  );

test("Firefox shows every room, trains, and adapts", { skip: missing && "there is no Firefox here" }, async () => {
  const server = await serve({ "/": `${DEMO}dist` });
  mkdirSync(SCREENS, { recursive: true });
  try {
    await inFirefox(server.url, async (page) => {
      await says(page, "#learn-when", /^After 60 s/);
      await page.screenshot({ path: shot("learn") });
      await page.click("#learn [data-testid=train]");
      await says(page, "[data-testid=speed]", /^[1-9].* steps\/s/);
      await says(page, "#learn-when", /^After [1-9]/);
      await page.click('[data-room="adapt"]');
      await page.waitForSelector("[data-testid=card-meta] canvas", PATIENCE);
      await says(page, "[data-testid=adapt-status]", /Meta-trained: /);
      await page.screenshot({ path: shot("adapt") });
      await page.click('[data-room="meta"]');
      await says(page, "#meta-found", /^[1-9]/);
      await page.screenshot({ path: shot("meta") });
      const tops = await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth);
      assert.ok(tops, "it scrolls sideways");
    });
  } finally {
    await server.close();
  }
});
