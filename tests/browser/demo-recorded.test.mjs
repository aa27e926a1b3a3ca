// Learn before and after Train: what was recorded earlier says so, and gives way to what is trained here.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { at, choose, chosen, inRoom, number, PATIENCE, until } from "./harness/demo.mjs";

const desktop = { context: { viewport: { width: 1440, height: 900 } } };
const ages = (page) => page.locator("#learn-ages .age").evaluateAll((cards) => cards.map((card) => card.dataset.whose));
/** The pixels of a canvas, as one number. */
const picture = (locator) =>
  locator.evaluate((canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return new Uint32Array(data.buffer).reduce((sum, pixel, i) => (Math.imul(sum, 31) + (pixel ^ i)) | 0, 7);
  });
/** Waits until a canvas shows something else. */
async function moves(page, locator) {
  const before = await picture(locator);
  const end = Date.now() + PATIENCE.timeout;
  while ((await picture(locator)) === before) {
    assert.ok(Date.now() < end, "it stands still");
    await page.waitForTimeout(30);
  }
}

test("an address that says nothing opens on the recorded cheetah, which runs before anything is pressed", () =>
  at(
    "",
    async (page) => {
      const room = page.locator("#learn");
      await until(page.locator("#learn-caption"), /^Cheetah, recorded earlier, 25 copies$/);
      const moved = await page.waitForFunction(() => performance.getEntriesByName("first step")[0]?.startTime);
      console.log(`first step ${Math.round(await moved.jsonValue())} ms after the page was asked for`);
      assert.match(await page.locator("#learn-when").textContent(), /^After \d+ s of training$/);
      await until(room.getByTestId("latest"), /^−?\d+\.\d m\/s · −?\d+ m$/);
      await moves(page, page.locator("#learn-canvas"));
      assert.equal(await chosen(room), "half-cheetah");
      await until(room.getByTestId("status"), /Ready/);
      // It can be looked up how that was made.
      const [command] = await page.locator("#learn-ages .age").evaluateAll((cards) => cards.map(({ title }) => title));
      assert.match(command, /^Recorded by: node scripts\/record\.mjs half-cheetah \w+\. .* return of \d+ episodes/);

      // One's own line begins as soon as Train is pressed, with what the untrained policy was paid, measured before.
      const [first, paid] = [room.getByTestId("age-0"), /^Untrained(\S+) · /];
      const untrained = async () => number(paid.exec(await first.textContent())[1]);
      const theirs = await untrained();
      await page.waitForFunction(() => performance.getEntriesByName("untrained measured").length, undefined, PATIENCE);
      await page.evaluate(() => {
        globalThis.said = [];
        const described = document.querySelector("#learn-curve-described");
        new MutationObserver(() => said.push(described.textContent)).observe(described, { childList: true });
      });
      await room.getByTestId("train").click();
      await page.waitForFunction(() => performance.getEntriesByName("first of training").length, undefined, PATIENCE);
      const [began] = await page.evaluate(() => globalThis.said.filter((text) => /yours: \S+ at first/.test(text)));
      const [, at, now] = /yours: (\S+) at first, (\S+) after 0 s/.exec(began);
      assert.equal(at, now, "there is a single point before any of training");
      const times = ["first point", "first of training"].map((name) =>
        page.evaluate((key) => performance.getEntriesByName(key)[0].duration, name),
      );
      const [soon, trained] = (await Promise.all(times)).map(Math.round);
      console.log(`first point ${soon} ms after Train, first of training ${trained} ms`);
      // Both ages are the same kind of number: what a policy is paid that moves its legs by chance.
      await until(first, /yours$/);
      assert.equal(await untrained(), number(at));
      assert.ok(theirs < -100 && number(at) < -100, `${theirs} recorded, ${at} here`);
    },
    desktop,
  ));

test("three ages are recorded at first, and the visitor's once the run is as old", () =>
  inRoom(
    "#room=learn&env=cartpole&steps=200000",
    async (page) => {
      const room = page.locator("#learn");
      await until(room.getByTestId("status"), /Ready/);
      assert.deepEqual(await ages(page), ["recorded", "recorded", "recorded"]);
      assert.match(await room.getByTestId("age-0").textContent(), /^Untrained[\d.]+ · recorded$/);
      assert.match(await page.locator("#learn-curve-described").textContent(), /^Return, recorded: \S+ at first/);
      for (const i of [1, 2]) await moves(page, room.getByTestId(`age-${i}`).locator("canvas"));
      await page.evaluate(() => {
        globalThis.whenMine = new Promise((done) => {
          const when = document.querySelector("#learn-when");
          const look = () => when.textContent === "Untrained" && done(performance.now());
          new MutationObserver(look).observe(when, { childList: true, characterData: true, subtree: true });
          document
            .querySelector("#learn [data-testid=train]")
            .addEventListener("click", () => (globalThis.pressed = performance.now()), true);
        });
      });
      await room.getByTestId("train").click();
      const wait = await page.evaluate(async () => (await globalThis.whenMine) - globalThis.pressed);
      console.log(`the untrained policy is on the stage ${Math.round(wait)} ms after Train`);
      await page.waitForFunction(
        () => document.querySelector("[data-testid=age-0]").dataset.whose === "yours",
        undefined,
        PATIENCE,
      );
      assert.match(await room.getByTestId("age-0").textContent(), /^Untrained.* · yours$/);
      await until(page.locator("#learn-curve-described"), /recorded: .*yours: /);
      // A run that has made its steps earlier has its last policy instead of the next age.
      await until(room.getByTestId("status"), /^Finished/);
      const count = (whose, least) =>
        page.waitForFunction(
          ([name, least]) => document.querySelectorAll(`[data-whose=${name}]`).length >= least,
          [whose, least],
          PATIENCE,
        );
      await count("yours", 2);
      assert.match(await room.getByTestId("age-1").textContent(), /^After \d+ s[\d.]+ · yours$/);
      await room.getByTestId("reset").click();
      await count("recorded", 3);
    },
    desktop,
  ));

test("a recorded age has the number that its curve has there", () => {
  const folder = new URL("../../web-demo/public/recorded/", import.meta.url);
  const worlds = JSON.parse(readFileSync(new URL("../../web-demo/src/recorded.json", import.meta.url)));
  const runs = Object.entries(worlds).flatMap(([env, learners]) => learners.map((learner) => `${env}.${learner}.json`));
  for (const run of runs) {
    const { ages, seconds, returns } = JSON.parse(readFileSync(new URL(run, folder)));
    for (const age of ages.slice(1)) {
      // Points are half a second apart or more, and iterations may take as long.
      const near = returns.filter((_, i) => Math.abs(seconds[i] - age.seconds) < 2);
      assert.ok(Math.min(...near) <= age.return && age.return <= Math.max(...near), `${run}: ${age.return} of ${near}`);
    }
  }
});

test("cards are alive: in each a recorded policy acts", () =>
  inRoom(
    "#room=learn&env=cartpole",
    async (page) => {
      for (const env of ["half-cheetah", "acrobot", "pendulum", "mountain-car"]) {
        await moves(page, page.getByTestId(`world-${env}`).locator("canvas"));
      }
    },
    desktop,
  ));

test("a world without a recorded run shows the untrained policy, and no empty card", () =>
  inRoom(
    "#room=learn&env=cartpole",
    async (page) => {
      const room = page.locator("#learn");
      await until(room.getByTestId("status"), /Ready/);
      assert.ok(await page.locator("#learn-ages").isVisible());
      await choose(room, "bit-flip");
      await until(page.locator("#learn-when"), /^Untrained$/);
      await page.locator("#learn-ages").waitFor({ state: "hidden", ...PATIENCE });
      await choose(room, "pendulum");
      await until(page.locator("#learn-caption"), /^Pendulum, recorded earlier/);
      assert.deepEqual(await ages(page), ["recorded", "recorded", "recorded"]);
    },
    desktop,
  ));
