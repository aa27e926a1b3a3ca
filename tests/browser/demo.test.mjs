// The web demo as its readers use it.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { choose, chosen, inRoom, number, PATIENCE, until, worlds } from "./harness/demo.mjs";

const STEPS = /^([\d,]+) of ([\d,]+) steps/;

test("Learn trains CartPole: the curve rises, the pictures move, the figures are there", () =>
  inRoom("#room=learn&env=cartpole", async (page) => {
    const room = page.locator("#learn");
    await until(room.getByTestId("status"), /Ready/);
    await room.getByTestId("train").click();
    const first = await page.waitForFunction(() => performance.getEntriesByName("first point")[0]?.duration);
    assert.ok((await first.jsonValue()) > 0);
    await until(room.getByTestId("latest"), /Return (1\d\d|[2-9]\d\d|[6-9]\d)/);
    assert.match(await page.locator("#learn-curve-described").textContent(), /yours: .* at first, .* after \d+ s/);
    assert.match(await until(room.getByTestId("fps"), /frames/), /^\d+ frames per second$/);
    assert.match(await until(room.getByTestId("figures"), /^[1-9]/), STEPS);
    assert.match(await until(page.getByTestId("speed"), /^[1-9]/), /^[\d.]+[KM]? steps\/son .*, in this tab$/);
    assert.match(await room.getByTestId("device-sentence").textContent(), /^Training on the (CPU|GPU)(: .+)?\.$/);
    await until(page.locator("#learn-when"), /^After [1-9]\d* s of training$/);
    assert.match(await page.locator("#learn-caption").textContent(), /^CartPole, newest policy, \d\d copies$/);

    await room.getByTestId("train").click();
    await until(room.getByTestId("status"), /^Paused/);
    await until(page.getByTestId("speed"), /^Ready/);
    await page.waitForTimeout(500);
    const held = await room.getByTestId("figures").textContent();
    await page.waitForTimeout(500);
    assert.equal(await room.getByTestId("figures").textContent(), held, "nothing is trained in a pause");
    await room.getByTestId("reset").click();
    await until(room.getByTestId("figures"), /^0 of/);
    // The run before stays as a faint line, and nothing is the visitor's yet.
    await until(page.locator("#learn-curve-described"), /^Return, an earlier run: (?!.*yours)/);
    await until(page.locator("#learn-caption"), /recorded earlier/);
  }));

test("Learn offers every environment with a single task, and trains by every kind of algorithm", () =>
  inRoom("#room=learn&env=cartpole", async (page) => {
    const room = page.locator("#learn");
    await until(room.getByTestId("status"), /Ready/);
    const envs = await worlds(room);
    assert.ok(envs.includes("pendulum") && envs.includes("grid-world") && !envs.includes("navigation"), envs.join());
    // One behind the other so that each environment is one that the algorithm before can have.
    const pairs = [
      ..."trpo ddpg td3 sac".split(" ").map((name) => ["pendulum", name]),
      ["cartpole", "dqn"],
      ["cartpole", "dql"],
    ];
    for (const [env, algorithm] of [...pairs, ["grid-world", "ppo"]]) {
      await choose(room, env);
      await room.getByTestId("algorithm").selectOption(algorithm);
      // Pressed before it is ready, it begins as soon as it is.
      await room.getByTestId("train").click();
      await until(room.getByTestId("figures"), /^[1-9]/);
      await room.getByTestId("train").click();
    }
  }));

test("a run that has made its steps can go on for as many more", () =>
  inRoom("#room=learn&env=cartpole&steps=1000", async (page) => {
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
    assert.match(await page.locator("#learn-curve-described").textContent(), /^(?!.*an earlier run).*yours: /);
  }));

test("settings come from the address, and what is wrong with them is said beside their field", () =>
  inRoom("#room=learn&env=pendulum&algorithm=ppo&seed=7&set.learning_rate=-1&set.gamma=0.9", async (page) => {
    const room = page.locator("#learn");
    await until(room.getByTestId("status"), /see the field/);
    assert.equal(await chosen(room), "pendulum");
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

test("what cannot be trained is said beside its field, and the run that is there stays", () =>
  inRoom("#room=learn&env=cartpole&seed=5", async (page) => {
    const room = page.locator("#learn");
    const [status, figures, rate, seed] = ["status", "figures", "setting-learning_rate", "seed"].map((id) =>
      room.getByTestId(id),
    );
    const complaint = (field) => field.locator("xpath=../p[@class='error']");
    const made = async () => number(STEPS.exec(await figures.textContent())[1]);
    const savable = () => room.getByTestId("save").isEnabled();
    await until(status, /Ready/);
    await room.locator(".settings > summary").click();
    await room.getByTestId("train").click();
    await until(figures, /^[1-9]/);
    await room.getByTestId("train").click();
    await until(status, /^Paused/);
    await room.getByTestId("train").click();
    const before = await made();

    // While it trains: it goes on.
    await rate.fill("zzz");
    await rate.blur();
    await until(status, /see the field that is marked/);
    assert.equal(await rate.getAttribute("aria-invalid"), "true");
    assert.match(await complaint(rate).textContent(), /learning_rate: .*zzz/);
    assert.equal(await room.getByTestId("train").textContent(), "Pause");
    assert.ok(await savable());
    await until(figures, new RegExp(`^(?!${before.toLocaleString("en")} )[1-9]`));
    await room.getByTestId("train").click();
    await until(status, /^Paused/);
    assert.ok((await made()) > before);

    // While it is paused: it stays so, and can be saved.
    await rate.fill("-1");
    await rate.blur();
    await until(complaint(rate), /-1 is not above 0/);
    await until(status, /see the field that is marked/);
    assert.equal(await room.getByTestId("train").textContent(), "Go on");
    const held = await made();
    const [download] = await Promise.all([page.waitForEvent("download"), room.getByTestId("save").click()]);
    assert.equal(download.suggestedFilename(), `cartpole-ppo-seed5-${held}.safetensors`);

    // Corrected to what the run has, there is nothing to start over; what it has anyway may also be typed.
    for (const text of ["", /^[\d.]+/.exec(await rate.getAttribute("placeholder"))[0]]) {
      await rate.fill(text);
      await rate.blur();
      await until(status, /^Paused/);
      assert.equal(await rate.getAttribute("aria-invalid"), null);
      assert.equal(await made(), held);
      await rate.fill("0");
      await rate.blur();
      await until(status, /see the field/);
    }
    await rate.fill("");
    await rate.blur();
    await until(status, /^Paused/);

    // A number that is none stays to be corrected; the address keeps the last one.
    await seed.fill("abc");
    await seed.blur();
    await until(status, /see the field/);
    assert.equal(await seed.inputValue(), "abc");
    assert.equal(await seed.getAttribute("aria-invalid"), "true");
    assert.match(await complaint(seed).textContent(), /expected a whole number from 0 on, got abc/);
    assert.match(page.url(), /seed=5$/);
    await seed.fill("5");
    await seed.blur();
    await until(status, /^Paused/);
    assert.equal(await made(), held);
    await room.getByTestId("train").click();
    await until(figures, new RegExp(`^(?!${held.toLocaleString("en")} )[1-9]`));

    // Other values that can be are another run.
    await seed.fill("6");
    await seed.blur();
    await until(figures, /^0 of/);
    await until(status, /^Ready/);
    assert.match(page.url(), /seed=6/);
  }));

test("without WebGPU the page says so and trains on the CPU", () =>
  inRoom(
    "#room=learn&env=cartpole",
    async (page) => {
      const room = page.locator("#learn");
      await until(room.getByTestId("device-sentence"), /^Training on the CPU: .*WebGPU/);
      await room.getByTestId("train").click();
      await until(room.getByTestId("figures"), /^[1-9]/);
      await until(page.getByTestId("speed"), /^[1-9].*on the processor, in this tab$/);
      assert.match(await page.getByTestId("speed").getAttribute("title"), /WebGPU/);
    },
    { webgpu: false },
  ));

test("two tabs train at once", () =>
  inRoom("#room=learn&env=cartpole", async (page, server) => {
    const other = await page.context().newPage();
    await other.goto(`${server.url}#room=learn&env=cartpole&seed=1`);
    for (const tab of [page, other]) {
      await until(tab.locator("#learn").getByTestId("status"), /Ready/);
      await tab.locator("#learn").getByTestId("train").click();
    }
    for (const tab of [page, other]) {
      const figures = await until(tab.locator("#learn").getByTestId("figures"), /^[1-9]/);
      assert.ok(number(STEPS.exec(figures)[1]) > 0);
    }
  }));

test("the keyboard alone reaches Train", () =>
  inRoom("#room=learn&env=cartpole", async (page) => {
    const room = page.locator("#learn");
    await until(room.getByTestId("status"), /Ready/);
    const train = room.getByTestId("train");
    for (let presses = 0; presses < 10; presses++) {
      await page.keyboard.press("Tab");
      if (await train.evaluate((button) => button === document.activeElement)) break;
    }
    assert.ok(
      await train.evaluate((button) => button.matches(":focus-visible")),
      "Train is focused, and that can be seen",
    );
    await page.keyboard.press("Enter");
    await until(room.getByTestId("status"), /^Training/);
    assert.equal(await train.textContent(), "Pause");
  }));

test("who wants less motion gets still pictures and results at once", () =>
  inRoom(
    "#room=adapt&env=bandit",
    async (page) => {
      await until(page.getByTestId("adapt-status"), /Meta-trained: /);
      assert.equal(await page.getByTestId("card-meta").locator(".pull").count(), 10);
      await page.goto(page.url().replace(/#.*/, "#room=learn&env=cartpole"));
      assert.equal(await page.locator("#learn-still").getAttribute("aria-pressed"), "true");
    },
    { context: { reducedMotion: "reduce" } },
  ));

const SCREENS = fileURLToPath(new URL("screenshots/", import.meta.url));
const LOOKS = [
  ["desktop-light", { viewport: { width: 1440, height: 900 }, colorScheme: "light" }],
  ["desktop-dark", { viewport: { width: 1440, height: 900 }, colorScheme: "dark" }],
  ["tablet-light", { viewport: { width: 1024, height: 768 }, colorScheme: "light" }],
  ["phone-dark", { viewport: { width: 390, height: 844 }, colorScheme: "dark" }],
  ["wide-phone", { viewport: { width: 600, height: 800 } }],
  ["narrow", { viewport: { width: 320, height: 740 } }],
];

for (const [look, context] of LOOKS) {
  test(`screenshots: ${look}, and nothing is wider than the screen`, () =>
    inRoom(
      "#room=learn&env=cartpole",
      async (page) => {
        mkdirSync(SCREENS, { recursive: true });
        const wait = {
          learn: async () => {
            await until(page.locator("#learn-when"), /of training/);
            await page.waitForFunction(() => performance.getEntriesByName("first step").length, undefined, PATIENCE);
          },
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

test("a room that is asked for is entered, also when the one before writes the address meanwhile", () =>
  inRoom("#room=learn&env=cartpole", async (page) => {
    await until(page.locator("#learn").getByTestId("status"), /Ready/);
    await page.evaluate(() => {
      document.querySelector("nav [data-room=adapt]").click();
      // The browser has yet to tell that the address changed. A field that says what it said makes the room write it.
      const seed = document.querySelector("#learn [data-testid=seed]");
      for (const type of ["input", "change"]) seed.dispatchEvent(new Event(type, { bubbles: true }));
    });
    await page.locator("#adapt").waitFor(PATIENCE);
  }));
