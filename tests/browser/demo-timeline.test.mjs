// Learn's curve is a slider over seconds of training: its playhead puts the policy of a second on the stage.
import assert from "node:assert/strict";
import { test } from "node:test";
import { at, inRoom, PATIENCE, until } from "./harness/demo.mjs";
import { again } from "./harness/page.mjs";

const desktop = { context: { viewport: { width: 1440, height: 900 } } };
const TIMELINE = "#learn-curve";
const spoken = (page) => page.locator(TIMELINE).getAttribute("aria-valuetext");
const says = (page, pattern) =>
  page.waitForFunction(
    ([id, text]) => new RegExp(text).test(document.querySelector(id).getAttribute("aria-valuetext")),
    [TIMELINE, pattern.source],
    PATIENCE,
  );
const seconds = async (page) => Number(await page.locator(TIMELINE).getAttribute("aria-valuemax"));

/** Lets the page note the policies that it loads, each as a number. */
const notePolicies = () => {
    globalThis.loaded = [];
    const { postMessage } = Worker.prototype;
    const find = (value) => {
      if (value instanceof Uint8Array) {
        if (value.length > 5000) loaded.push(value.reduce((sum, byte) => (Math.imul(sum, 31) + byte) | 0, 7));
      } else if (typeof value === "object" && value !== null && !(value instanceof MessagePort)) {
        Object.values(value).forEach(find);
      }
    };
    Worker.prototype.postMessage = function (message, ...rest) {
      find(message);
      return postMessage.call(this, message, ...rest);
    };
};

/** Trains for some seconds, and pauses. */
async function trained(page, least) {
  const room = page.locator("#learn");
  await until(room.getByTestId("status"), /Ready/);
  await room.getByTestId("train").click();
  await page.waitForFunction(
    ([id, most]) => Number(document.querySelector(id).getAttribute("aria-valuemax")) >= most,
    [TIMELINE, least],
    PATIENCE,
  );
  await room.getByTestId("train").click();
  await until(room.getByTestId("status"), /^Paused/);
  await until(page.locator("#learn-caption"), /newest policy/);
}

test("a recorded curve snaps to the policies that were recorded, by keys and by pressing a card", () =>
  inRoom(
    "#room=learn&env=cartpole",
    async (page) => {
      await until(page.locator("#learn").getByTestId("status"), /Ready/);
      const timeline = page.locator(TIMELINE);
      assert.equal(await timeline.getAttribute("role"), "slider");
      assert.match(await spoken(page), /^\d+ seconds of training, recorded: [\d,]+ steps, return \d+/);
      await timeline.focus();
      await page.keyboard.press("Home");
      await says(page, /^0 seconds of training, recorded: 0 steps, return /);
      await until(page.locator("#learn-when"), /^Untrained$/);
      await page.waitForFunction(() => /[#&]at=0(&|$)/.test(location.hash), undefined, PATIENCE);
      await page.keyboard.press("ArrowRight");
      await says(page, /^[1-9]\d* seconds of training, recorded: [1-9]/);
      assert.equal(await page.getByTestId("age-1").getAttribute("aria-pressed"), "true");
      await page.getByTestId("age-0").click();
      await says(page, /^0 seconds/);
      await timeline.focus();
      await page.keyboard.press("End");
      await says(page, /^[1-9]\d* seconds/);
      await page.waitForFunction(() => !/at=/.test(location.hash), undefined, PATIENCE);
    },
    desktop,
  ));

test("the playhead goes back to the policies of one's own run, which differ, and forth to now", () =>
  at(
    "#room=learn&env=cartpole",
    async (page) => {
      await trained(page, 5);
      const timeline = page.locator(TIMELINE);
      const end = await seconds(page);
      assert.match(await spoken(page), new RegExp(`^${end} seconds of training, now: [1-9][\\d,]* steps, return \\d`));
      const loaded = () => page.evaluate(() => globalThis.loaded.at(-1));
      const count = () => page.evaluate(() => globalThis.loaded.length);
      const fresh = async (press) => {
        const before = await count();
        await press();
        await page.waitForFunction((most) => globalThis.loaded.length > most, before, PATIENCE);
        return loaded();
      };
      await timeline.focus();
      const first = await fresh(() => page.keyboard.press("Home"));
      await says(page, /^0 seconds of training: 0 steps/);
      await until(page.locator("#learn-when"), /^At 0 s$/);
      const later = await fresh(async () => {
        for (let i = 0; i < 3; i++) await page.keyboard.press("ArrowRight");
      });
      await says(page, /^3 seconds of training: [1-9][\d,]* steps, return \d/);
      await until(page.locator("#learn-when"), /^At 3 s$/);
      assert.match(await page.locator("#learn-caption").textContent(), /as it was then/);
      const now = await fresh(() => page.keyboard.press("End"));
      await says(page, /, now: /);
      await until(page.locator("#learn-when"), new RegExp(`^After ${end} s of training$`));
      assert.equal(new Set([first, later, now]).size, 3, `${[first, later, now]}`);

      // Dragged by a pointer: the curve begins 52 pixels from the left, ends 76 from the right, and is 60 s long.
      const { x, y, width, height } = await timeline.boundingBox();
      const along = (second) => x + 52 + (second / 60) * (width - 128);
      await page.mouse.move(along(1), y + height / 2);
      await page.mouse.down();
      await says(page, /^1 seconds of training: /);
      await page.mouse.move(along(2), y + height / 2, { steps: 3 });
      await says(page, /^2 seconds of training: /);
      await until(page.locator("#learn-when"), /^At 2 s$/);
      await page.mouse.move(along(end + 3), y + height / 2, { steps: 3 });
      await page.mouse.up();
      await says(page, /, now: /);
      await until(page.locator("#learn-caption"), /newest policy/);
    },
    { ...desktop, init: notePolicies },
  ));

/** Lets the page's clock run 15 times as fast, and notes where the curve writes the end of its axis. */
const fast = () => {
  const now = performance.now.bind(performance);
  performance.now = () => 15 * now();
  globalThis.ends = [];
  const { fillText } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.fillText = function (text, x, ...rest) {
    if (text === "120 s" && this.canvas.parentElement?.id === "learn-curve") ends.push(x);
    return fillText.call(this, text, x, ...rest);
  };
};

test("after a minute the axis glides to 120 s, and never jumps", () =>
  at(
    "#room=learn&env=cartpole",
    async (page) => {
      await trained(page, 66);
      const [left, right] = [52, (await page.locator(TIMELINE).evaluate((box) => box.clientWidth)) - 76];
      await page.waitForFunction((end) => Math.abs(globalThis.ends.at(-1) - end) < 2, right, PATIENCE);
      const ends = await page.evaluate(() => globalThis.ends);
      // Where 120 s would be at first, twice as far as the end of the axis; then nearer and nearer.
      const ways = ends.map((x) => (x - left) / (right - left));
      const steps = [2, ...ways].slice(0, -1).map((before, i) => before - ways[i]);
      assert.ok(new Set(ends.map(Math.round)).size >= 8, ways.join());
      assert.ok(Math.min(...steps) > -0.01 && Math.max(...steps) < 0.25, steps.join());
    },
    { context: { viewport: { width: 1440, height: 900 }, reducedMotion: "no-preference" }, init: fast },
  ));

test("seconds are those of training: a pause is none", () =>
  inRoom(
    "#room=learn&env=cartpole",
    async (page) => {
      const room = page.locator("#learn");
      await trained(page, 1);
      const held = await seconds(page);
      await page.waitForTimeout(2500);
      assert.equal(await seconds(page), held);
      await room.getByTestId("train").click();
      await until(room.getByTestId("status"), /^Training/);
      await page.waitForFunction(
        ([id, before]) => Number(document.querySelector(id).getAttribute("aria-valuemax")) > before,
        [TIMELINE, held],
        PATIENCE,
      );
      assert.ok((await seconds(page)) <= held + 2, `${await seconds(page)} after ${held}`);
    },
    desktop,
  ));

test("a link that is loaded again shows the same world, learner, rival, second and settings", () =>
  inRoom(
    "#room=learn&env=pendulum&algorithm=sac&rival=ppo&at=0&seed=3&set.gamma=0.97",
    async (page) => {
      const room = page.locator("#learn");
      for (const loaded of [1, 2]) {
        if (loaded === 2) await again(page);
        await until(room.getByTestId("status"), /Ready/);
        await until(page.locator("#learn-when"), /^Untrained$/);
        assert.equal(await room.getByTestId("algorithm").inputValue(), "sac");
        assert.equal(await room.getByTestId("rival").inputValue(), "ppo");
        assert.equal(await room.getByTestId("seed").inputValue(), "3");
        assert.equal(await room.getByTestId("setting-gamma").inputValue(), "0.97");
        await says(page, /^0 seconds of training, recorded: /);
        const given = new URLSearchParams(await page.evaluate(() => location.hash.slice(1)));
        const { env, algorithm, rival, at, seed } = Object.fromEntries(given);
        assert.deepEqual([env, algorithm, rival, at, seed], ["pendulum", "sac", "ppo", "0", "3"]);
      }
    },
    desktop,
  ));
