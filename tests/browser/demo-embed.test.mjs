// The page as a part of somebody else's: small, without storage, and without taking the focus.
import assert from "node:assert/strict";
import { test } from "node:test";
import { at, PATIENCE, trio, until } from "./harness/demo.mjs";

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
        for (const id of ["#learn-stage", "#learn [data-testid=train]", "#learn-curve canvas", "#open"]) {
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

for (const [width, height] of [
  [720, 440],
  [320, 360],
]) {
  test(`embedded at ${width} by ${height} Adapt has three columns and its task, Learn to learn forty pictures`, () =>
    at(
      "?embed=1#room=adapt&env=navigation&task=0.30,0.20",
      async (page) => {
        const open = page.getByRole("link", { name: "Open in quickstudy" });
        for (const env of ["navigation", "half-cheetah-vel", "bandit"]) {
          if (env !== "navigation") await page.evaluate((to) => (location.hash = `#room=adapt&env=${to}`), env);
          await page.waitForFunction((name) => location.hash.includes(`env=${name}`), env, PATIENCE);
          const sliders = { navigation: 2, "half-cheetah-vel": 1, bandit: 5 }[env];
          await page.locator(`#adapt-dial[data-count="${sliders}"]`).waitFor({ state: "attached", ...PATIENCE });
          for (const { width, height } of await trio(page)) assert.ok(width > 80 && height > 80, `${env}: ${height}`);
          assert.deepEqual(await scrolls(page), [false, false], env);
          // A goal is dragged where it lies; a speed and chances need their sliders.
          assert.equal(await page.locator("#adapt-dial").isVisible(), sliders !== 2, env);
          for (const id of ["#adapt-trio", "#adapt [data-testid=adapt-play]", "#open"]) {
            assert.ok(await inside(page.locator(id)), `${env}: ${id}`);
          }
          if (sliders !== 2) assert.ok(await inside(page.locator("#adapt-dial")), env);
          assert.ok(await page.evaluate(() => document.activeElement === document.body), "no focus is taken");
        }
        await open.hover();
        assert.match(await open.getAttribute("href"), /^\/#room=adapt&env=bandit&task=/);
        await page.evaluate(() => (location.hash = "#room=meta&env=navigation"));
        await until(page.getByTestId("meta-latest"), /^Recorded\. /);
        for (const id of ["#meta-stage", "#meta [data-testid=train]", "#open"]) {
          assert.ok(await inside(page.locator(id)), id);
        }
        assert.equal(await page.locator("#meta-canvas").getAttribute("data-cells"), "40");
        assert.deepEqual(await scrolls(page), [false, false]);
      },
      { context: { viewport: { width, height } }, init: forbidden },
    ));
}

test("a goal is dragged in an embedded page, too, and the link takes it along", () =>
  at(
    "?embed=1#room=adapt&env=navigation&task=0.30,0.20",
    async (page) => {
      await page.getByTestId("goal").nth(1).waitFor(PATIENCE);
      const { x, y, width, height } = await page.locator(".lane canvas").nth(1).boundingBox();
      await page.mouse.move(x + width / 2, y + height / 2);
      await page.mouse.down();
      await page.mouse.up();
      const open = page.getByRole("link", { name: "Open in quickstudy" });
      await open.hover();
      const task = /task=([^&]+)/.exec(await open.getAttribute("href"))[1];
      // The middle is the origin, to a pixel.
      for (const value of decodeURIComponent(task).split(",")) assert.ok(Math.abs(Number(value)) < 0.03, task);
    },
    { context: { viewport: { width: 390, height: 480 } }, init: forbidden },
  ));

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
