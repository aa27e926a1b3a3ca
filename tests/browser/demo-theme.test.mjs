// Light and dark: the page follows at once, canvases too, and remembers what was asked for.
import assert from "node:assert/strict";
import { test } from "node:test";
import { inRoom, PATIENCE, until } from "./harness/demo.mjs";
import { again } from "./harness/page.mjs";

const shown = (page) => page.evaluate(() => document.documentElement.dataset.theme);
/** The browser tells the page of it in its own time. */
const becomes = (page, theme) =>
  page.waitForFunction((wanted) => document.documentElement.dataset.theme === wanted, theme, PATIENCE);
const READY = {
  learn: (page) => until(page.locator("#learn-caption"), /copies/),
  adapt: (page) => until(page.getByTestId("adapt-status"), /Meta-trained: /),
  meta: (page) => until(page.getByTestId("meta-latest"), /before/),
};

/** The brightest pixel of all canvases that are seen, and the luminance of the ink, each of 255. */
const brightest = (page) =>
  page.evaluate(() => {
    const luminance = (r, g, b) => 0.2126 * r + 0.7152 * g + 0.0722 * b;
    const ink = getComputedStyle(document.documentElement).getPropertyValue("--ink").trim();
    const [r, g, b] = [1, 3, 5].map((at) => Number.parseInt(ink.slice(at, at + 2), 16));
    let [most, canvases, where] = [0, 0, ""];
    for (const canvas of document.querySelectorAll("canvas")) {
      if (canvas.clientWidth === 0 || canvas.width === 0) continue;
      canvases += 1;
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      for (let at = 0; at < data.length; at += 4) {
        const bright = (luminance(data[at], data[at + 1], data[at + 2]) * data[at + 3]) / 255;
        if (bright > most) [most, where] = [bright, canvas.id || canvas.className];
      }
    }
    return { most, where, canvases, ink: luminance(r, g, b) };
  });

test("in the dark no canvas has a pixel brighter than the ink, in any room, also after a switch", () =>
  inRoom(
    "#room=learn&env=cartpole",
    async (page) => {
      assert.equal(await shown(page), "light");
      for (const [room, ready] of Object.entries(READY)) {
        await page.locator(`nav [data-room=${room}]`).click();
        await ready(page);
        const day = await brightest(page);
        assert.ok(day.canvases > 0 && day.most > 200, `${room}: ${JSON.stringify(day)}`);
        await page.emulateMedia({ colorScheme: "dark" });
        await becomes(page, "dark");
        // All follow within a frame.
        await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
        const night = await brightest(page);
        assert.ok(night.most <= night.ink + 1, `${room}: ${JSON.stringify(night)}`);
        await page.emulateMedia({ colorScheme: "light" });
        await becomes(page, "light");
      }
    },
    { context: { colorScheme: "light", viewport: { width: 1440, height: 900 } } },
  ));

test("the theme button goes from the system's theme to light and to dark, which is remembered", () =>
  inRoom(
    "#room=learn&env=cartpole",
    async (page) => {
      const button = page.getByTestId("theme");
      const named = (name) => page.waitForFunction((text) => document.querySelector("#theme").ariaLabel === text, name);
      await named("Theme: as the system");
      assert.equal(await shown(page), "dark");
      await button.click();
      await named("Theme: light");
      assert.equal(await shown(page), "light");
      await again(page);
      await named("Theme: light");
      assert.equal(await shown(page), "light");
      await button.click();
      await named("Theme: dark");
      await button.click();
      await named("Theme: as the system");
      await page.emulateMedia({ colorScheme: "light" });
      await becomes(page, "light");
    },
    { context: { colorScheme: "dark" } },
  ));

test("where nothing may be stored, the theme button works until the page is left", () =>
  inRoom(
    "#room=learn&env=cartpole",
    async (page) => {
      await page.addInitScript(() => {
        Object.defineProperty(globalThis, "localStorage", {
          get() {
            throw new DOMException("forbidden", "SecurityError");
          },
        });
      });
      await again(page);
      await page.waitForFunction(() => document.querySelector("#theme").ariaLabel === "Theme: as the system");
      await page.getByTestId("theme").click();
      await page.getByTestId("theme").click();
      assert.equal(await shown(page), "dark");
    },
    { context: { colorScheme: "light" } },
  ));
