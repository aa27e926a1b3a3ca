// Learn to learn: a meta-policy is trained, and measured on tasks that it never trains on.
import assert from "node:assert/strict";
import { test } from "node:test";
import { inRoom, number, PATIENCE, until } from "./harness/demo.mjs";

test("Learn to learn: held-out tasks are adapted to better as training goes on", () =>
  inRoom("#room=meta&env=navigation", async (page) => {
    const room = page.locator("#meta");
    await until(room.getByTestId("status"), /Ready/);
    await room.getByTestId("train").click();
    await until(room.getByTestId("meta-latest"), /after · [1-9]/);
    const curve = page.locator("#meta-curve");
    const [, first, last] = /after adapting: (\S+) at first, (\S+) after/.exec(await curve.getAttribute("aria-label"));
    assert.ok(Number.isFinite(number(first)) && Number.isFinite(number(last)));
    await room.getByTestId("train").click();
    await until(room.getByTestId("status"), /^Paused/);
    // What is trained here can be tried in the other room.
    await room.getByTestId("try").click();
    await until(page.getByTestId("adapt-status"), /Yours: return/);
  }));

test("Learn to learn: what is tried is what was measured, also while it trains", () =>
  inRoom("#room=meta&env=navigation", async (page) => {
    const room = page.locator("#meta");
    await until(room.getByTestId("status"), /Ready/);
    await room.getByTestId("train").click();
    await until(room.getByTestId("meta-latest"), /after · [1-9]/);
    await room.getByTestId("try").click();
    await until(page.getByTestId("adapt-status"), /Yours: return/);
    const text = await page.getByTestId("who-yours").textContent();
    const [, measured, tried] = /navigation after ([\d,]+) steps: promp, seed 0, after ([\d,]+) steps/.exec(text);
    assert.equal(tried, measured);
  }));

test("Learn to learn by memory: the bandit's last pull comes to pay more than its first", () =>
  inRoom("#room=meta&env=bandit&algorithm=rl2-ppo&steps=400000", async (page) => {
    const room = page.locator("#meta");
    await until(room.getByTestId("status"), /Ready/);
    await room.getByTestId("train").click();
    const better = /: (0\.\d+) before, (0\.\d+) after/;
    const end = Date.now() + PATIENCE.timeout;
    let [before, after] = [0, 0];
    while (after < before + 0.1 && Date.now() < end) {
      const text = await until(room.getByTestId("meta-latest"), better);
      [before, after] = better.exec(text).slice(1).map(Number);
      await page.waitForTimeout(200);
    }
    assert.ok(after >= before + 0.1, `${before} before, ${after} after`);
  }));

test("Learn to learn by a belief: the last episode comes to pay more than the first", () =>
  inRoom("#room=meta&env=point-robot&algorithm=pearl", async (page) => {
    const room = page.locator("#meta");
    await until(room.getByTestId("status"), /Ready/);
    await room.getByTestId("train").click();
    const better = /First and last of 3 episodes: (\S+) before, (\S+) after/;
    const end = Date.now() + PATIENCE.timeout;
    let [before, after] = [0, 0];
    while (after < before + 3 && Date.now() < end) {
      const text = await until(room.getByTestId("meta-latest"), better);
      [before, after] = better.exec(text).slice(1).map(number);
      await page.waitForTimeout(200);
    }
    assert.ok(after >= before + 3, `${before} before, ${after} after`);
    assert.ok(await page.locator("#meta-canvas").isVisible());
    await room.getByTestId("train").click();
    await until(room.getByTestId("status"), /^Paused/);
    await room.getByTestId("try").click();
    await until(page.getByTestId("adapt-status"), /Yours: return/);
    assert.match(await page.getByTestId("card-yours").textContent(), /dots ±/);
  }));

/** Pixels of the accent on a canvas: nothing but what is the reader's own has it. */
const blue = (page, id) =>
  page.locator(id).evaluate((canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    let count = 0;
    for (let at = 0; at < data.length; at += 4) {
      if (data[at] < 24 && Math.abs(data[at + 1] - 114) < 12 && Math.abs(data[at + 2] - 178) < 12) count += 1;
    }
    return count;
  });
const forty = (page) =>
  page.locator("#meta-canvas").evaluate(({ dataset }) => ({ cells: Number(dataset.cells), lit: Number(dataset.lit) }));
const light = (width, height) => ({ context: { viewport: { width, height }, colorScheme: "light" } });

test("before there is a run, forty tasks of a recorded one are shown in grey; then all is the reader's", () =>
  inRoom(
    "#room=meta&env=navigation",
    async (page) => {
      await until(page.getByTestId("meta-latest"), /^Recorded\. /);
      assert.match(await page.locator("#meta-stage .note").textContent(), /After 60 s of practice *recorded earlier/);
      const { cells, lit } = await forty(page);
      assert.equal(cells, 40);
      assert.equal(Number(await page.locator("#meta-found").textContent()), lit);
      assert.equal(await blue(page, "#meta-canvas"), 0);
      assert.equal(await blue(page, "#meta-curve"), 0);
      assert.match(await page.locator("#meta-curve").getAttribute("aria-label"), /Recorded\. before.* after 60 s/);
      assert.equal(await page.getByTestId("try").isDisabled(), true, "what is recorded is not the visitor's");
      // As many are found if the recorded policy is asked here.
      const found = await page.evaluate(async () => {
        const { loadPolicy } = await import("/quickstudy/index.js");
        const file = await fetch("./recorded/meta.navigation.promp.safetensors");
        const policy = await loadPolicy(await file.arrayBuffer());
        const { tasks, stages } = await policy.adapt({ tasks: 40 });
        const ends = stages.at(-1).paths.map(({ states, rewards }) => states.slice(-states.length / rewards.length));
        // Goals are within ±0.5.
        return tasks.filter(([x, y], i) => Math.hypot(ends[i][0] - x, ends[i][1] - y) < 0.125).length;
      });
      assert.equal(found, lit);

      await page.locator("#meta").getByTestId("train").click();
      await page.waitForFunction(() => document.querySelector("#meta-canvas").dataset.lit === "0");
      assert.match(await page.locator("#meta-stage .note").textContent(), /Untrained *yours/);
      assert.equal((await forty(page)).cells, 40);
      await until(page.getByTestId("meta-latest"), /^Adapting by 2 gradient steps: .* after · [1-9]/);
      const lights = () => Number(document.querySelector("#meta-canvas").dataset.lit) > 5;
      await page.waitForFunction(lights, undefined, PATIENCE);
      await page.locator("#meta").getByTestId("train").click();
      await until(page.locator("#meta").getByTestId("status"), /^Paused/);
      assert.ok((await blue(page, "#meta-canvas")) > 100);
      assert.ok((await blue(page, "#meta-curve")) > 20);
      assert.match(await page.locator("#meta-stage .note").textContent(), /After \d+ s of practice *yours/);
      assert.match(await page.locator("#meta-curve").getAttribute("aria-label"), /Yours\. before adapting/);
    },
    light(1440, 900),
  ));

for (const [width, height] of [
  [1440, 900],
  [1024, 768],
  [390, 844],
  [320, 640],
]) {
  test(`at ${width} by ${height} Learn to learn has its stage, player and forty pictures in sight`, () =>
    inRoom(
      "#room=meta&env=bandit",
      async (page) => {
        await until(page.getByTestId("meta-latest"), /^Recorded\. /);
        assert.equal((await forty(page)).cells, 40);
        const bottom = (what) => page.locator(what).evaluate((found) => found.getBoundingClientRect().bottom);
        assert.ok((await bottom("#meta-stage")) <= height);
        if (height > 700) assert.ok((await bottom("#meta [data-testid=train]")) <= height);
        const [sideways, down] = await page.evaluate(() => {
          const { scrollWidth, scrollHeight, clientWidth, clientHeight } = document.documentElement;
          return [scrollWidth - clientWidth, scrollHeight - clientHeight];
        });
        assert.ok(sideways <= 0 && (width < 900 || down <= 0), `${sideways} sideways, ${down} down`);
      },
      light(width, height),
    ));
}

test("pictures of Learn to learn walk, until they are held still", () =>
  inRoom(
    "#room=meta&env=navigation",
    async (page) => {
      await until(page.getByTestId("meta-latest"), /^Recorded\. /);
      const picture = () => page.locator("#meta-canvas").evaluate((canvas) => canvas.toDataURL());
      const first = await picture();
      await page.waitForTimeout(400);
      assert.notEqual(await picture(), first);
      // So do those of all cards, the first time that something is known of them.
      const cards = page.locator("#meta .world canvas");
      assert.equal(await cards.count(), 4);
      const seen = () => cards.evaluateAll((all) => all.map((canvas) => canvas.toDataURL()));
      const before = await seen();
      await page.waitForFunction(
        (old) => [...document.querySelectorAll("#meta .world canvas")].every((one, i) => one.toDataURL() !== old[i]),
        before,
        PATIENCE,
      );
      for (const distinct of await cards.evaluateAll((all) =>
        all.map((canvas) => {
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          return new Set(new Uint32Array(data.buffer)).size;
        }),
      )) {
        assert.ok(distinct > 5, "a card is empty");
      }
      await page.locator("#meta-still").click();
      const held = await picture();
      await page.waitForTimeout(400);
      assert.equal(await picture(), held);
    },
    light(1440, 900),
  ));
