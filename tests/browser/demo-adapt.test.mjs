// Adapt: policies meet a task of the reader's, and what comes of it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { inRoom, number, PATIENCE, until } from "./harness/demo.mjs";

/** The numbers of each line of a card's results. */
const numbers = async (page, card, pattern) =>
  (await page.getByTestId(card).locator(".stages li").allTextContents()).map((line) =>
    pattern.exec(line).slice(1).map(number),
  );

test("Adapt: the meta-trained policy is better after its last step than before the first, and than the others", () =>
  inRoom("#room=adapt&env=navigation&task=-0.40,0.40", async (page) => {
    await until(page.getByTestId("adapt-status"), /Meta-trained: return/);
    const returns = async (card) =>
      (await page.getByTestId(card).locator(".stages li").allTextContents()).map((line) => number(line.split(": ")[1]));
    const [untrained, single, meta] = [
      await returns("card-untrained"),
      await returns("card-one-task"),
      await returns("card-meta"),
    ];
    assert.equal(meta.length, 4);
    assert.ok(meta.at(-1) > meta[0] + 20 && meta.at(-1) > -15, meta.join());
    assert.ok(meta.at(-1) > single.at(-1) + 10, `${meta} against ${single}`);
    assert.ok(meta.at(-1) > untrained.at(-1), `${meta} against ${untrained}`);

    assert.match(
      await page.getByTestId("who-meta-trained").locator("pre").textContent(),
      /^quickstudy train promp --env navigation/,
    );
  }));

test("Adapt: at the bandit the meta-trained policy earns more than the others", () =>
  inRoom("#room=adapt&env=bandit&task=0.1,0.1,0.1,0.1,0.9", async (page) => {
    await until(page.getByTestId("adapt-status"), /Meta-trained: /);
    const mean = async (card) => number(/trials: ([\d.]+) of 10/.exec(await page.getByTestId(card).textContent())[1]);
    const [untrained, single, meta] = [
      await mean("card-untrained"),
      await mean("card-one-task"),
      await mean("card-meta"),
    ];
    assert.ok(meta > untrained + 2 && meta > single + 1, `${untrained}, ${single}, ${meta}`);
    assert.equal(await page.getByTestId("card-meta").locator(".pull").count(), 10);
  }));

test("Adapt: who infers the goal is shown with what it believes, which closes in on it", () =>
  inRoom("#room=adapt&env=point-robot&task=0.60,0.50", async (page) => {
    await until(page.getByTestId("adapt-status"), /Meta-trained: return .* in episode 1, .* in episode 3/);
    const LINE = /^Episode (\d): (\S+) dots ±([\d.]+) → ±([\d.]+)$/;
    const [untrained, single, meta] = [
      await numbers(page, "card-untrained", LINE),
      await numbers(page, "card-one-task", LINE),
      await numbers(page, "card-meta", LINE),
    ];
    assert.deepEqual([untrained.length, single.length, meta.length], [3, 3, 3]);
    const [first, second, third] = meta;
    // The dots before the first episode, and after it.
    assert.ok(second[2] < first[2] / 2 && second[2] === first[3], `${first} and ${second}`);
    assert.ok(
      third[1] > first[1] && third[1] > single[2][1] && third[1] > untrained[2][1],
      `${meta} against ${single} and ${untrained}`,
    );
    assert.ok(untrained[2][3] > third[3] + 0.2, `${untrained} against ${meta}`);

    // The dots are there, at the goal in the end.
    const canvas = page.getByTestId("card-meta").locator("canvas");
    const purple = await canvas.evaluate((canvas) => {
      const { width, height } = canvas;
      const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
      let [count, x, y] = [0, 0, 0];
      for (let at = 0; at < data.length; at += 4) {
        const [r, g, b] = data.subarray(at, at + 3);
        if (b > g + 40 && r > g + 20) {
          count += 1;
          x += (at / 4) % width;
          y += Math.floor(at / 4 / width);
        }
      }
      // The plane is 2.5 wide and high, in the middle of the picture.
      const scale = 2.5 / Math.min(width, height);
      return { count, x: (x / count - width / 2) * scale, y: (height / 2 - y / count) * scale };
    });
    assert.ok(purple.count > 20 && Math.hypot(purple.x - 0.6, purple.y - 0.5) < 0.35, JSON.stringify(purple));

    assert.match(
      await page.getByTestId("who-meta-trained").locator("pre").textContent(),
      /^quickstudy train pearl --env point-robot/,
    );
  }));

test("Adapt: the meta-trained cheetah finds out which speed is asked for, and runs at it", () =>
  inRoom("#room=adapt&env=half-cheetah-vel&task=2.00", async (page) => {
    await until(page.getByTestId("adapt-status"), /Meta-trained: return/);
    const LINE = /^(?:Episode \d|First try|After 1 step): (\S+) (\S+) of (\S+) m$/;
    const [untrained, single, meta] = [
      await numbers(page, "card-untrained", LINE),
      await numbers(page, "card-one-task", LINE),
      await numbers(page, "card-meta", LINE),
    ];
    // 199 steps of 0.05 s at 2 m/s.
    const [got, way, asked] = meta.at(-1);
    assert.ok(Math.abs(asked - 19.9) < 0.01 && Math.abs(way - asked) < 4, `${meta}`);
    assert.ok(got > single.at(-1)[0] + 50 && got > untrained.at(-1)[0] + 150, `${meta}, ${single}, ${untrained}`);
    await page.getByTestId("task-0").fill("0.5");
    await until(page.locator("#adapt-dial output").first(), /^0\.5 m/);
    await until(page.getByTestId("card-meta").locator(".stages"), /of 5\.0 m/);
  }));
