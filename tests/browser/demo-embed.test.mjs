// The page as a part of somebody else's: small, without storage, and without taking the focus.
import assert from "node:assert/strict";
import { test } from "node:test";
import { at, PATIENCE, until } from "./harness/demo.mjs";

const scrolls = (page) =>
  page.evaluate(() => {
    const { scrollWidth, scrollHeight, clientWidth, clientHeight } = document.documentElement;
    return [scrollWidth > clientWidth, scrollHeight > clientHeight];
  });
const inside = (locator) =>
  locator.evaluate((element) => {
    const { top, bottom, left, right, width } = element.getBoundingClientRect();
    return width > 0 && top >= 0 && left >= 0 && bottom <= innerHeight && right <= innerWidth;
  });

/** Storage that is forbidden, as in some frames. */
const forbidden = () =>
  Object.defineProperty(globalThis, "localStorage", {
    get() {
      throw new DOMException("forbidden", "SecurityError");
    },
  });

for (const [width, height] of [
  [720, 440],
  [390, 480],
  [320, 360],
]) {
  test(`embedded at ${width} by ${height} there are a stage, a player and a link, and nothing scrolls`, () =>
    at(
      "?embed=1#room=learn&env=cartpole",
      async (page) => {
        await until(page.locator("#learn-caption"), /recorded earlier/);
        assert.deepEqual(await scrolls(page), [false, false]);
        for (const id of ["#learn-stage", "#learn [data-testid=train]", "#learn-curve canvas", "#learn-open"]) {
          assert.ok(await inside(page.locator(id)), id);
        }
        for (const id of [".top", ".rail", ".foot", "#learn-ages"]) {
          assert.equal(await page.locator(id).first().isVisible(), false, id);
        }
        assert.ok(await page.evaluate(() => document.activeElement === document.body), "no focus is taken");
        await page.locator("#learn [data-testid=train]").click();
        await until(page.locator("#learn-curve-described"), /yours: \S+ at first/);
        assert.deepEqual(await scrolls(page), [false, false]);
        const link = page.getByRole("link", { name: "Open in quickstudy" });
        await link.hover();
        assert.equal(await link.getAttribute("href"), "/#room=learn&env=cartpole&algorithm=ppo");
      },
      { context: { viewport: { width, height } }, init: forbidden },
    ));
}

test("embedding and its theme may stand behind the number sign, too, and stay in the address", () =>
  at(
    "#embed=1&theme=dark&room=learn&env=pendulum",
    async (page) => {
      assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
      await until(page.locator("#learn-caption"), /^Pendulum/);
      await page.waitForFunction(() => /env=pendulum.*&embed=1&theme=dark$/.test(location.hash), undefined, PATIENCE);
      const link = page.getByRole("link", { name: "Open in quickstudy" });
      await link.hover();
      assert.match(await link.getAttribute("href"), /^\/#room=learn&env=pendulum&algorithm=\w+$/);
    },
    { context: { viewport: { width: 720, height: 440 }, colorScheme: "light" } },
  ));
