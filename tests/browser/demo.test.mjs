// The web demo as its readers use it.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { inRoom, number, PATIENCE, until } from "./harness/demo.mjs";

const STEPS = /^([\d,]+) of ([\d,]+) steps/;

test("Learn trains CartPole: the curve rises, the pictures move, the figures are there", () =>
  inRoom("#room=learn", async (page) => {
    const room = page.locator("#learn");
    await until(room.getByTestId("status"), /Ready/);
    await room.getByTestId("train").click();
    assert.match(await until(room.getByTestId("first-point"), /ms/), /^First point of the curve \d+ ms after Train\.$/);
    await until(room.getByTestId("latest"), /Return (1\d\d|[2-9]\d\d|[6-9]\d)/);
    assert.match(await page.locator("#learn-curve").getAttribute("aria-label"), /return: .* at first, .* after .* steps/);
    assert.match(await until(room.getByTestId("fps"), /frames/), /^\d+ frames per second .*256 environments$/);
    assert.match(await until(room.getByTestId("figures"), /per second/), /steps per second/);
    assert.match(await room.getByTestId("device-sentence").textContent(), /^Training on the (CPU|GPU): /);
    assert.match(await until(page.locator("#learn-caption"), /after [1-9]/), /256 copies of Cartpole/);

    await room.getByTestId("train").click();
    await until(room.getByTestId("status"), /^Paused/);
    await page.waitForTimeout(500);
    const held = await room.getByTestId("figures").textContent();
    await page.waitForTimeout(500);
    assert.equal(await room.getByTestId("figures").textContent(), held, "nothing is trained in a pause");
    await room.getByTestId("reset").click();
    await until(room.getByTestId("figures"), /^0 of/);
    // The run before stays as a faint line, and the new one has no points yet.
    await page.locator('#learn-curve[aria-label*="nothing yet"]').waitFor({ state: "attached", ...PATIENCE });
  }));

test("Learn offers every environment with a single task, and both algorithms", () =>
  inRoom("#room=learn", async (page) => {
    const room = page.locator("#learn");
    await until(room.getByTestId("status"), /Ready/);
    const envs = await room.getByTestId("env").locator("option").evaluateAll((all) => all.map(({ value }) => value));
    assert.ok(envs.includes("pendulum") && envs.includes("grid-world") && !envs.includes("navigation"), envs.join());
    for (const [env, algorithm] of [["pendulum", "trpo"], ["grid-world", "ppo"]]) {
      await room.getByTestId("env").selectOption(env);
      await room.getByTestId("algorithm").selectOption(algorithm);
      // Pressed before it is ready, it begins as soon as it is.
      await room.getByTestId("train").click();
      await until(room.getByTestId("figures"), /per second/);
      await room.getByTestId("train").click();
    }
  }));

test("a run that has made its steps can go on for as many more", () =>
  inRoom("#room=learn&steps=1000", async (page) => {
    const room = page.locator("#learn");
    await until(room.getByTestId("status"), /Ready/);
    await room.getByTestId("train").click();
    await until(room.getByTestId("status"), /^Finished/);
    assert.equal(await room.getByTestId("train").textContent(), "Train longer");
    const [, made] = STEPS.exec(await room.getByTestId("figures").textContent());
    await room.getByTestId("train").click();
    await until(room.getByTestId("figures"), new RegExp(`^[\\d,]+ of (?!${made} )`));
    await until(room.getByTestId("status"), /^Finished/);
    const [, more] = STEPS.exec(await room.getByTestId("figures").textContent());
    assert.equal(number(more), 2 * number(made));
    // One curve: it is the same run.
    await page.locator('#learn-curve[aria-label*=" after 2"]').waitFor({ state: "attached", ...PATIENCE });
  }));

test("settings come from the address, and what is wrong with them is said beside their field", () =>
  inRoom("#room=learn&env=pendulum&algorithm=ppo&seed=7&set.learning_rate=-1&set.gamma=0.9", async (page) => {
    const room = page.locator("#learn");
    await until(room.getByTestId("status"), /see the field/);
    assert.equal(await room.getByTestId("env").inputValue(), "pendulum");
    assert.equal(await room.getByTestId("seed").inputValue(), "7");
    assert.equal(await room.getByTestId("setting-gamma").inputValue(), "0.9");
    const rate = room.getByTestId("setting-learning_rate");
    assert.equal(await rate.getAttribute("aria-invalid"), "true");
    const described = (await rate.getAttribute("aria-describedby")).split(" ");
    const texts = await Promise.all(described.map((id) => page.locator(`#${id}`).textContent()));
    assert.match(texts.join(" "), /Values: > 0.*learning_rate: -1 is not above 0/s);
    await rate.fill("0.002");
    await rate.blur();
    await until(room.getByTestId("status"), /Ready/);
    assert.equal(await rate.getAttribute("aria-invalid"), null);
    assert.match(page.url(), /set\.learning_rate=0\.002/);
  }));

test("Adapt: the meta-trained policy is better after its last step than before the first, and than the others", () =>
  inRoom("#room=adapt&env=navigation&task=-0.40,0.40", async (page) => {
    await until(page.getByTestId("adapt-status"), /Meta-trained: return/);
    const returns = async (card) =>
      (await page.getByTestId(card).locator(".stages li").allTextContents()).map((line) => number(line.split(": ")[1]));
    const [untrained, single, meta] = [await returns("card-untrained"), await returns("card-trained-on-one-task"), await returns("card-meta-trained")];
    assert.equal(meta.length, 4);
    assert.ok(meta.at(-1) > meta[0] + 20 && meta.at(-1) > -15, meta.join());
    assert.ok(meta.at(-1) > single.at(-1) + 10, `${meta} against ${single}`);
    assert.ok(meta.at(-1) > untrained.at(-1), `${meta} against ${untrained}`);

    // A click in a plane moves the goal there; the same by keyboard.
    const plane = page.getByTestId("card-meta-trained").locator("canvas");
    const { width, height } = await plane.boundingBox();
    await plane.click({ position: { x: 0.75 * width, y: 0.75 * height } });
    await until(page.locator("#adapt-task output").first(), /^0\.3/);
    await page.getByTestId("task-0").focus();
    await page.keyboard.press("ArrowLeft");
    await until(page.locator("#adapt-task output").first(), /^0\.30/);
    assert.match(await page.getByTestId("card-meta-trained").locator("pre").textContent(), /^quickstudy train promp --env navigation/);
  }));

test("Adapt: at the bandit the meta-trained policy earns more than the others", () =>
  inRoom("#room=adapt&env=bandit&task=0.1,0.1,0.1,0.1,0.9", async (page) => {
    await until(page.getByTestId("adapt-status"), /Meta-trained: /);
    const mean = async (card) => number(/trials: ([\d.]+) of 10/.exec(await page.getByTestId(card).textContent())[1]);
    const [untrained, single, meta] = [await mean("card-untrained"), await mean("card-trained-on-one-task"), await mean("card-meta-trained")];
    assert.ok(meta > untrained + 2 && meta > single + 1, `${untrained}, ${single}, ${meta}`);
    assert.equal(await page.getByTestId("card-meta-trained").locator(".pull").count(), 10);
  }));

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

test("without WebGPU the page says so and trains on the CPU", () =>
  inRoom(
    "#room=learn",
    async (page) => {
      const room = page.locator("#learn");
      await until(room.getByTestId("device-sentence"), /^Training on the CPU: .*WebGPU/);
      await room.getByTestId("train").click();
      await until(room.getByTestId("figures"), /per second/);
    },
    { webgpu: false },
  ));

test("two tabs train at once", () =>
  inRoom("#room=learn", async (page, server) => {
    const other = await page.context().newPage();
    await other.goto(`${server.url}#room=learn&seed=1`);
    for (const tab of [page, other]) {
      await until(tab.locator("#learn").getByTestId("status"), /Ready/);
      await tab.locator("#learn").getByTestId("train").click();
    }
    for (const tab of [page, other]) {
      const figures = await until(tab.locator("#learn").getByTestId("figures"), /per second/);
      assert.ok(number(STEPS.exec(figures)[1]) > 0);
    }
  }));

test("the keyboard alone reaches Train", () =>
  inRoom("#room=learn", async (page) => {
    const room = page.locator("#learn");
    await until(room.getByTestId("status"), /Ready/);
    const train = room.getByTestId("train");
    for (let presses = 0; presses < 10; presses++) {
      await page.keyboard.press("Tab");
      if (await train.evaluate((button) => button === document.activeElement)) break;
    }
    assert.ok(await train.evaluate((button) => button.matches(":focus-visible")), "Train is focused, and that can be seen");
    await page.keyboard.press("Enter");
    await until(room.getByTestId("status"), /^Training/);
    assert.equal(await train.textContent(), "Pause");
  }));

test("who wants less motion gets still pictures and results at once", () =>
  inRoom(
    "#room=adapt&env=bandit",
    async (page) => {
      await until(page.getByTestId("adapt-status"), /Meta-trained: /);
      assert.equal(await page.getByTestId("card-meta-trained").locator(".pull").count(), 10);
      await page.goto(page.url().replace(/#.*/, "#room=learn"));
      assert.equal(await page.locator("#learn-animate").isChecked(), false);
    },
    { context: { reducedMotion: "reduce" } },
  ));

const SCREENS = fileURLToPath(new URL("screenshots/", import.meta.url));
const LOOKS = [
  ["desktop-light", { viewport: { width: 1280, height: 800 }, colorScheme: "light" }],
  ["phone-dark", { viewport: { width: 390, height: 844 }, colorScheme: "dark" }],
  ["narrow", { viewport: { width: 360, height: 740 } }],
];

for (const [look, context] of LOOKS) {
  test(`screenshots: ${look}, and nothing is wider than the screen`, () =>
    inRoom(
      "#room=learn",
      async (page) => {
        mkdirSync(SCREENS, { recursive: true });
        const wait = {
          learn: () => until(page.locator("#learn-caption"), /untrained/),
          adapt: () => until(page.getByTestId("adapt-status"), /Meta-trained: /),
          meta: () => until(page.getByTestId("meta-latest"), /before/),
        };
        for (const [room, ready] of Object.entries(wait)) {
          await page.locator(`nav [data-room=${room}]`).click();
          await ready();
          await page.screenshot({ path: `${SCREENS}${room}-${look}.png`, fullPage: true });
          const [content, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
          assert.ok(content <= screen, `${room}: ${content} pixels on a screen of ${screen}`);
        }
      },
      { context },
    ));
}
