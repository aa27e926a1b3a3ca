// The web demo's one screen: what is in sight, how worlds are chosen, where settings are, and the code of a run.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { chosen, DEMO, inRoom, number, PATIENCE, until } from "./harness/demo.mjs";

const recipes = JSON.parse(readFileSync(`${DEMO}src/recipes.json`, "utf8"));
const ready = (page) => until(page.locator("#learn").getByTestId("status"), /Ready/);
const size = (width, height) => ({ context: { viewport: { width, height } } });
const scrolls = (page) =>
  page.evaluate(() => {
    const { scrollWidth, scrollHeight, clientWidth, clientHeight } = document.documentElement;
    return { sideways: scrollWidth - clientWidth, down: scrollHeight - clientHeight };
  });
/** Whether all of an element is on the screen. */
const inSight = (locator) =>
  locator.evaluate((element) => {
    const { top, bottom, left, right } = element.getBoundingClientRect();
    return top >= 0 && left >= 0 && bottom <= innerHeight + 0.5 && right <= innerWidth + 0.5;
  });

for (const [width, height] of [
  [1440, 900],
  [1024, 768],
]) {
  test(`at ${width} by ${height} Learn is one screen, before and while it trains`, () =>
    inRoom(
      "#room=learn&env=cartpole",
      async (page) => {
        await ready(page);
        for (const what of ["#learn-title", "#learn-stage", "#learn [data-testid=train]", "#learn-curve", "footer"]) {
          assert.ok(await inSight(page.locator(what)), what);
        }
        assert.ok(await inSight(page.getByTestId("world-cartpole")));
        assert.ok(await inSight(page.locator("#learn").getByTestId("algorithm")));
        const before = await page.locator("#learn-stage").boundingBox();
        await page.locator("#learn").getByTestId("train").click();
        await until(page.getByTestId("latest"), /Return/);
        assert.deepEqual(await page.locator("#learn-stage").boundingBox(), before, "nothing moves");
        assert.deepEqual(await scrolls(page), { sideways: 0, down: 0 });
        await page.locator("#learn .settings > summary").click();
        assert.deepEqual(await scrolls(page), { sideways: 0, down: 0 }, "the rail scrolls inside itself");
      },
      size(width, height),
    ));
}

for (const width of [320, 600]) {
  test(`at ${width} no room scrolls sideways, with all settings open`, () =>
    inRoom(
      "#room=learn&env=cartpole",
      async (page) => {
        await ready(page);
        for (const room of ["learn", "adapt", "meta"]) {
          await page.locator(`nav [data-room=${room}]`).click();
          if (room === "adapt") await until(page.getByTestId("adapt-status"), /Meta-trained: /);
          if (room === "meta") await until(page.getByTestId("meta-latest"), /before/);
          await page.evaluate(() => document.querySelectorAll("details").forEach((fold) => (fold.open = true)));
          assert.ok((await scrolls(page)).sideways <= 0, room);
        }
      },
      size(width, 844),
    ));
}

test("on a phone the stage stays in sight after a tap on Train, also beside the choices", () =>
  inRoom(
    "#room=learn&env=cartpole",
    async (page) => {
      await ready(page);
      const stage = page.locator("#learn-stage");
      const train = page.locator("#learn").getByTestId("train");
      assert.ok((await inSight(stage)) && (await inSight(train)));
      await train.tap();
      await until(page.getByTestId("latest"), /Return/);
      assert.ok((await inSight(stage)) && (await inSight(page.locator("#learn-curve"))));
      await page.locator("#learn .settings").scrollIntoViewIfNeeded();
      await page.evaluate(() => scrollTo(0, document.querySelector("#learn .settings").offsetTop - 300));
      assert.ok(await page.evaluate(() => scrollY > 200));
      assert.ok(await inSight(stage));
      // Nothing is painted over it.
      const { x, y, width, height } = await stage.boundingBox();
      const top = ([left, down]) => document.elementFromPoint(left, down).closest("#learn-stage") !== null;
      assert.ok(await page.evaluate(top, [x + width / 2, y + height - 20]));
    },
    { context: { viewport: { width: 390, height: 844 }, hasTouch: true } },
  ));

test("settings are folded, each is in one fold, and what is changed is counted", () =>
  inRoom(
    "#room=learn&env=cartpole",
    async (page) => {
      await ready(page);
      const settings = page.locator("#learn .settings");
      assert.equal(await page.locator("#learn details[open]").count(), 0);
      assert.equal(await settings.getByTestId("seed").isVisible(), false);
      await settings.locator("> summary").click();
      for (const first of ["setting-learning_rate", "setting-envs", "seed"]) {
        assert.ok(await settings.getByTestId(first).isVisible(), first);
      }
      assert.equal(await settings.locator("[data-testid^=setting-]:visible").count(), 2);
      const folds = await settings.locator(".fold:visible > summary").allTextContents();
      assert.deepEqual(
        folds.map((text) => text.replace(/\d+$/, "")),
        ["Run", "Learning", "Credit", "Exploration", "Network"],
      );
      // The page's own steps and device are in the first of them.
      const inFolds = folds.reduce((sum, text) => sum + number(/\d+$/.exec(text)[0]), 0) - 2;
      assert.equal(2 + inFolds, await settings.locator("[data-testid^=setting-]").count());
      await settings.getByTestId("setting-learning_rate").fill("0.002");
      await settings.getByTestId("seed").fill("4");
      await settings.getByTestId("seed").blur();
      await until(settings.locator("> summary"), /2 changed/);
      // A field that is wrong is shown, however deep it is.
      await page.goto(page.url().replace(/#.*/, "#room=learn&env=cartpole&algorithm=ppo&set.gamma=7"));
      await until(page.locator("#learn").getByTestId("status"), /see the field/);
      assert.ok(await settings.getByTestId("setting-gamma").isVisible());
    },
    size(1440, 900),
  ));

test("worlds are a radio group with one tab stop, operated by arrows", () =>
  inRoom(
    "#room=learn&env=cartpole",
    async (page) => {
      await ready(page);
      const room = page.locator("#learn");
      const group = room.getByRole("radiogroup", { name: "World" });
      const cards = group.getByRole("radio");
      assert.equal(await cards.count(), 6);
      assert.deepEqual(await group.locator("[tabindex='0']").allTextContents(), ["CartPole"]);
      await room.getByTestId("world-cartpole").focus();
      await page.keyboard.press("ArrowRight");
      assert.equal(await chosen(room), "mountain-car");
      await until(page.locator("#learn-title"), /climb/);
      await page.keyboard.press("ArrowUp");
      await page.keyboard.press("ArrowLeft");
      assert.equal(await chosen(room), "pendulum");
      assert.deepEqual(await group.locator("[aria-checked=true]").allTextContents(), ["Pendulum"]);
      assert.equal(await page.evaluate(() => document.activeElement.dataset.testid), "world-pendulum");
      await page.waitForFunction(() => /env=pendulum/.test(location.hash), undefined, PATIENCE);
      // The others are in a list.
      await room.getByTestId("more-worlds").selectOption("bit-flip");
      assert.equal(await group.locator("[aria-checked=true]").count(), 0);
      await page.waitForFunction(() => /env=bit-flip/.test(location.hash), undefined, PATIENCE);
    },
    size(1440, 900),
  ));

test("before a run there is what the untrained policy reaches, measured here", () =>
  inRoom(
    "#room=learn&env=mountain-car&algorithm=trpo",
    async (page) => {
      const described = page.locator("#learn-curve-described");
      // Nobody gets up that hill by chance within 200 steps, and no run of this learner was recorded.
      await until(described, /^Nothing is trained yet\. untrained, 10 episodes: −200\./);
      assert.equal(await page.locator("#learn-when").textContent(), "Untrained");
      assert.ok(await page.locator("#learn-ages").isHidden());
      await page.locator("#learn").getByTestId("train").click();
      await until(described, /yours: −200 at first, .*untrained/);
    },
    size(1440, 900),
  ));

test("cards have pictures of their worlds", () =>
  inRoom(
    "#room=learn&env=cartpole",
    async (page) => {
      await page.waitForFunction(
        () =>
          [...document.querySelectorAll("#learn .world canvas")].every((canvas) => {
            const { width, height } = canvas;
            const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
            return new Set(new Uint32Array(data.buffer)).size > 2;
          }),
        undefined,
        PATIENCE,
      );
    },
    size(1440, 900),
  ));

/** What the code that is shown calls `train` with. */
const called = async (page) => {
  const text = await page.locator("#learn").getByTestId("code").textContent();
  const made = [];
  const body = text.replace('import { train } from "quickstudy";', "");
  assert.notEqual(body, text);
  new Function("train", body)((options) => made.push(options));
  assert.equal(made.length, 1);
  return made[0];
};

test("the code that is shown is the call that makes the run", () =>
  inRoom(
    "#room=learn&env=cartpole",
    async (page) => {
      await ready(page);
      const { steps, settings: own } = recipes["ppo/cartpole"];
      assert.deepEqual(await called(page), { algorithm: "ppo", env: "cartpole", steps, config: own });
      const hash = "#room=learn&env=pendulum&algorithm=trpo&seed=3&steps=900&device=cpu";
      await page.goto(page.url().replace(/#.*/, `${hash}&set.gamma=0.97&set.hidden=32,16`));
      await until(page.locator("#learn").getByTestId("code"), /trpo/);
      await ready(page);
      const options = await called(page);
      const config = { gamma: 0.97, hidden: [32, 16] };
      assert.deepEqual(options, { algorithm: "trpo", env: "pendulum", seed: 3, steps: 900, device: "cpu", config });
      // It runs, and has the settings of the page's run.
      const setup = await page.evaluate(async (given) => {
        const { createSession } = await import("/quickstudy/index.js");
        const session = await createSession(given);
        const { env, algorithm, seeds, settings } = session.setup;
        const some = settings.filter(({ key }) => ["gamma", "hidden"].includes(key)).map(({ value }) => value);
        return { env, algorithm, seeds, some };
      }, options);
      assert.deepEqual(setup, { env: "pendulum", algorithm: "trpo", seeds: [3], some: [0.97, [32, 16]] });
    },
    size(1440, 900),
  ));
