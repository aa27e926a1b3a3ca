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
    await until(page.getByTestId("speed"), /^0 steps/);
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

test("Adapt: the meta-trained policy is better after its last step than before the first, and than the others", () =>
  inRoom("#room=adapt&env=navigation&task=-0.40,0.40", async (page) => {
    await until(page.getByTestId("adapt-status"), /Meta-trained: return/);
    const returns = async (card) =>
      (await page.getByTestId(card).locator(".stages li").allTextContents()).map((line) => number(line.split(": ")[1]));
    const [untrained, single, meta] = [
      await returns("card-untrained"),
      await returns("card-trained-on-one-task"),
      await returns("card-meta-trained"),
    ];
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
    assert.match(
      await page.getByTestId("card-meta-trained").locator("pre").textContent(),
      /^quickstudy train promp --env navigation/,
    );
  }));

test("Adapt: on a phone, what is to be watched comes into view, and the button's neighbour says what happens", () =>
  inRoom(
    "#room=adapt&env=navigation",
    async (page) => {
      const status = page.getByTestId("adapt-status");
      await until(status, /Meta-trained: return/);
      await page.evaluate(() => scrollTo(0, 0));
      const plane = page.getByTestId("card-untrained").locator("canvas");
      const seen = () => plane.evaluate((canvas) => canvas.getBoundingClientRect().bottom <= innerHeight);
      assert.equal(await seen(), false);
      await page.evaluate(() => {
        const region = document.querySelector("#adapt-status");
        globalThis.said = [];
        new MutationObserver(() => said.push(region.textContent)).observe(region, {
          childList: true,
          characterData: true,
          subtree: true,
        });
      });
      await page.getByTestId("adapt-play").click();
      await until(status, /^Adapted\. Playing/);
      await page.waitForFunction(
        () => {
          const { top, bottom } = document.querySelector("[data-testid=card-untrained] canvas").getBoundingClientRect();
          return top >= 0 && bottom <= innerHeight;
        },
        undefined,
        PATIENCE,
      );
      await until(status, /Meta-trained: return/);
      const [first, second, third, ...more] = await page.evaluate(() => globalThis.said);
      assert.deepEqual(
        [first, second.startsWith("Adapted."), third.includes("Meta-trained: "), more],
        ["Adapting …", true, true, []],
      );
      // It stands right below the buttons.
      assert.ok(await status.evaluate((region) => region.previousElementSibling.id === "adapt-buttons"));
    },
    { context: { viewport: { width: 390, height: 600 } } },
  ));

test("Adapt: at the bandit the meta-trained policy earns more than the others", () =>
  inRoom("#room=adapt&env=bandit&task=0.1,0.1,0.1,0.1,0.9", async (page) => {
    await until(page.getByTestId("adapt-status"), /Meta-trained: /);
    const mean = async (card) => number(/trials: ([\d.]+) of 10/.exec(await page.getByTestId(card).textContent())[1]);
    const [untrained, single, meta] = [
      await mean("card-untrained"),
      await mean("card-trained-on-one-task"),
      await mean("card-meta-trained"),
    ];
    assert.ok(meta > untrained + 2 && meta > single + 1, `${untrained}, ${single}, ${meta}`);
    assert.equal(await page.getByTestId("card-meta-trained").locator(".pull").count(), 10);
  }));

test("Adapt: who infers the goal is shown with what it believes, which closes in on it", () =>
  inRoom("#room=adapt&env=point-robot&task=0.60,0.50", async (page) => {
    await until(page.getByTestId("adapt-status"), /Meta-trained: return .* in episode 1, .* in episode 3/);
    const LINE = /^Episode (\d): (\S+) dots ±([\d.]+) → ±([\d.]+)$/;
    const lines = async (card) =>
      (await page.getByTestId(card).locator(".stages li").allTextContents()).map((line) =>
        LINE.exec(line).slice(1).map(number),
      );
    const [untrained, single, meta] = [
      await lines("card-untrained"),
      await lines("card-trained-on-one-task"),
      await lines("card-meta-trained"),
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
    const canvas = page.getByTestId("card-meta-trained").locator("canvas");
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
      // The picture is 2.5 wide, its middle 0.
      return { count, x: (x / count / width - 0.5) * 2.5, y: (0.5 - y / count / height) * 2.5 };
    });
    assert.ok(purple.count > 20 && Math.hypot(purple.x - 0.6, purple.y - 0.5) < 0.35, JSON.stringify(purple));

    const { width, height } = await canvas.boundingBox();
    await canvas.click({ position: { x: 0.25 * width, y: 0.5 * height } });
    await until(page.locator("#adapt-task output").first(), /^-0\.6/);
    assert.match(
      await page.getByTestId("card-meta-trained").locator("pre").textContent(),
      /^quickstudy train pearl --env point-robot/,
    );
  }));

test("Adapt: the meta-trained cheetah finds out which speed is asked for, and runs at it", () =>
  inRoom("#room=adapt&env=half-cheetah-vel&task=2.00", async (page) => {
    await until(page.getByTestId("adapt-status"), /Meta-trained: return/);
    const LINE = /^(?:Episode \d|Before|After 1 step): (\S+) (\S+) of (\S+) m$/;
    const lines = async (card) =>
      (await page.getByTestId(card).locator(".stages li").allTextContents()).map((line) =>
        LINE.exec(line).slice(1).map(number),
      );
    const [untrained, single, meta] = [
      await lines("card-untrained"),
      await lines("card-trained-on-one-task"),
      await lines("card-meta-trained"),
    ];
    // 199 steps of 0.05 s at 2 m/s.
    const [got, way, asked] = meta.at(-1);
    assert.ok(Math.abs(asked - 19.9) < 0.01 && Math.abs(way - asked) < 4, `${meta}`);
    assert.ok(got > single.at(-1)[0] + 50 && got > untrained.at(-1)[0] + 150, `${meta}, ${single}, ${untrained}`);
    await page.getByTestId("task-0").fill("0.5");
    await until(page.locator("#adapt-task output").first(), /^0\.50/);
    await until(page.getByTestId("card-meta-trained").locator(".stages"), /of 5\.0 m/);
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

test("Learn to learn: what is tried is what was measured, also while it trains", () =>
  inRoom("#room=meta&env=navigation", async (page) => {
    const room = page.locator("#meta");
    await until(room.getByTestId("status"), /Ready/);
    await room.getByTestId("train").click();
    await until(room.getByTestId("meta-latest"), /after · [1-9]/);
    await room.getByTestId("try").click();
    await until(page.getByTestId("adapt-status"), /Yours: return/);
    const text = await page.getByTestId("card-yours").textContent();
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
      assert.equal(await page.getByTestId("card-meta-trained").locator(".pull").count(), 10);
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
          learn: () => until(page.locator("#learn-when"), /of training/),
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
