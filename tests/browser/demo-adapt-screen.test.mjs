// Adapt's one screen: three columns at every width, and the task by pointer, by keys and by sliders.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { inRoom, number, PATIENCE, trio, until } from "./harness/demo.mjs";

const size = (width, height, more = {}) => ({ context: { viewport: { width, height }, ...more } });
const ended = (page) => until(page.getByTestId("adapt-status"), /Meta-trained: /);
const opened = (page) => page.locator(".lane canvas").nth(2).waitFor(PATIENCE);
const outputs = (page) => page.locator("#adapt-dial output").allTextContents();

for (const [width, height] of [
  [1440, 900],
  [1024, 768],
  [390, 844],
  [320, 640],
]) {
  test(`at ${width} by ${height} the three pictures have the same tops and bottoms, for every task`, () =>
    inRoom(
      "#room=adapt",
      async (page) => {
        for (const env of ["navigation", "point-robot", "half-cheetah-vel", "bandit"]) {
          await page.getByTestId(`task-${env}`).click();
          await page.waitForFunction((name) => location.hash.includes(`env=${name}`), env, PATIENCE);
          for (const { width, height } of await trio(page)) assert.ok(width > 90 && height > 120, `${env}: ${height}`);
          const [sideways, down] = await page.evaluate(() => {
            const { scrollWidth, scrollHeight, clientWidth, clientHeight } = document.documentElement;
            return [scrollWidth - clientWidth, scrollHeight - clientHeight];
          });
          assert.ok(sideways <= 0, `${env}: ${sideways} pixels sideways`);
          if (width >= 900) assert.ok(down <= 0, `${env}: ${down} pixels down`);
        }
      },
      size(width, height),
    ));
}

test("a drag in the second plane moves all goals and the address, which is replaced", () =>
  inRoom(
    "#room=adapt&env=navigation",
    async (page) => {
      await opened(page);
      const goals = () => page.getByTestId("goal").evaluateAll((all) => all.map((goal) => goal.ariaValueText));
      const [first] = await goals();
      const before = await page.evaluate(() => {
        addEventListener("pointermove", () => (globalThis.movedAt = performance.now()), true);
        return history.length;
      });
      const { x, y, width, height } = await page.locator(".lane canvas").nth(1).boundingBox();
      const scale = Math.min(width, height) / 1.25;
      const at = (across, up) => [x + width / 2 + across * scale, y + height / 2 - up * scale];
      await page.mouse.move(...at(-0.35, 0.3));
      await page.mouse.down();
      await page.mouse.move(...at(0, 0), { steps: 4 });
      await page.mouse.move(...at(0.4, -0.2), { steps: 4 });
      // They follow while it is held.
      const held = await goals();
      assert.notEqual(held[0], first);
      await page.mouse.up();
      assert.deepEqual(new Set(await goals()), new Set(["0.40 right, 0.20 down"]));
      assert.deepEqual(await outputs(page), ["0.40", "−0.20"]);
      assert.match(page.url(), /task=0\.40%2C-0\.20/);
      assert.equal(await page.evaluate(() => history.length), before);
      const waited = await page.evaluate(async () => {
        const after = () => performance.getEntriesByName("start again").find(({ startTime }) => startTime > movedAt);
        while (!after()) await new Promise((done) => requestAnimationFrame(done));
        return after().startTime - movedAt;
      });
      console.log(`all start again ${waited.toFixed(0)} ms after the goal rests`);
      await ended(page);
      // It went there, and the others did not.
      const found = async (who) => number(await page.getByTestId(`card-${who}`).locator("b").textContent());
      assert.ok((await found("meta")) > (await found("one-task")) && (await found("meta")) > -20);
      assert.equal(await page.getByTestId("adapt-play").textContent(), "Again");
      // Far outside is the edge.
      await page.mouse.move(...at(0, 0));
      await page.mouse.down();
      await page.mouse.move(x + width * 3, y + height / 2);
      await page.mouse.up();
      assert.equal((await outputs(page))[0], "0.50");
    },
    size(1440, 900),
  ));

test("arrow keys move the goal that has the focus, and sliders do as well", () =>
  inRoom(
    "#room=adapt&env=point-robot&task=0.60,0.50",
    async (page) => {
      await opened(page);
      const goal = page.getByRole("slider", { name: "Goal" }).nth(2);
      await goal.focus();
      await page.keyboard.press("ArrowLeft");
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("Shift+ArrowDown");
      // Parts of a range from −1 to 1.
      assert.equal(await goal.getAttribute("aria-valuetext"), "0.56 right, 0.26 up");
      assert.equal(await goal.getAttribute("aria-valuenow"), "0.56");
      assert.deepEqual(await outputs(page), ["0.56", "0.26"]);
      assert.match(page.url(), /task=0\.56%2C0\.26/);
      await page.getByRole("slider", { name: "across" }).focus();
      await page.keyboard.press("ArrowLeft");
      assert.equal(await goal.getAttribute("aria-valuetext"), "0.55 right, 0.26 up");
      await ended(page);
    },
    size(1440, 900),
  ));

test("the pacer runs at the asked speed, and leaves whoever does not keep up", () =>
  inRoom(
    "#room=adapt&env=half-cheetah-vel&task=2.00",
    async (page) => {
      await ended(page);
      const ahead = (who) => page.getByTestId(`card-${who}`).evaluate((lane) => Number(lane.dataset.ahead));
      // At the end of the second episode: 199 steps of 0.05 s at 2 m/s, of which the untrained one makes none.
      assert.ok(Math.abs((await ahead("untrained")) - 19.9) < 0.5, String(await ahead("untrained")));
      assert.ok((await ahead("one-task")) > 10, String(await ahead("one-task")));
      assert.ok(Math.abs(await ahead("meta")) < 3, String(await ahead("meta")));
      // Turned while they run, they begin again at another speed.
      await page.getByTestId("adapt-play").click();
      await until(page.getByTestId("adapt-play"), /Pause/);
      await page.waitForFunction(() => Number(document.querySelector("[data-who=untrained]").dataset.ahead) > 1);
      await page.getByRole("slider", { name: "Asked speed" }).fill("0.5");
      await page.waitForFunction(() => Number(document.querySelector("[data-who=untrained]").dataset.ahead) < 0.5);
      assert.deepEqual(await outputs(page), ["0.5 m/s"]);
      assert.match(page.url(), /task=0\.50/);
      await ended(page);
      assert.ok(Math.abs((await ahead("untrained")) - 4.975) < 0.5, String(await ahead("untrained")));
      const curve = await page.locator("#adapt-curve").getAttribute("aria-label");
      assert.match(curve, /Meta-trained: .* at first, 0\.[45]\d now/);
    },
    size(1440, 900),
  ));

test("pulls are chips: full paid, hollow did not; five sliders say how often", () =>
  inRoom(
    "#room=adapt&env=bandit&task=0,0,0,1,0",
    async (page) => {
      await ended(page);
      assert.equal(await page.getByRole("slider").count(), 5);
      const pulls = await page.getByTestId("card-meta").locator(".pull").allTextContents();
      assert.equal(pulls.length, 10);
      for (const pull of pulls) assert.match(pull, /^arm 4 paid$|^arm [1235] did not pay$/);
      const paid = pulls.filter((pull) => / paid$/.test(pull)).length;
      assert.equal(await page.getByTestId("card-meta").locator("b").textContent(), `${paid} of 10`);
      const curve = await page.locator("#adapt-curve").getAttribute("aria-label");
      assert.equal(Number(/Meta-trained: .*, (\S+) now/.exec(curve)[1]), paid);
    },
    size(390, 844),
  ));

test("tasks are a radio group operated by arrows; play is at most six tabs away, pauses and goes on", () =>
  inRoom(
    "#room=adapt",
    async (page) => {
      await opened(page);
      const group = page.getByRole("radiogroup", { name: "Task" });
      assert.equal(await group.getByRole("radio").count(), 4);
      assert.equal(await group.locator("[tabindex='0']").count(), 1);
      const play = page.getByTestId("adapt-play");
      await until(play, /Pause/);
      await page.locator("main").focus();
      let tabs = 0;
      while (!(await play.evaluate((button) => button === document.activeElement)) && tabs < 10) {
        await page.keyboard.press("Tab");
        tabs += 1;
      }
      assert.ok(tabs <= 6, `${tabs} tabs`);
      await page.keyboard.press("Enter");
      await until(play, /Go on/);
      await page.keyboard.press("Enter");
      await until(play, /Pause/);
      await page.getByTestId("task-navigation").focus();
      await page.keyboard.press("ArrowUp");
      assert.equal(await group.getAttribute("data-value"), "bandit");
      await until(page.locator("#adapt-title"), /best arm/);
      assert.equal(await page.evaluate(() => document.activeElement.dataset.testid), "task-bandit");
    },
    size(1440, 900),
  ));

test("on a phone the three stay in sight while the rest scrolls beneath them", () =>
  inRoom(
    "#room=adapt",
    async (page) => {
      await opened(page);
      await page.evaluate(() => scrollTo(0, document.querySelector("#adapt .rail").offsetTop - 350));
      assert.ok(await page.evaluate(() => scrollY > 200));
      const { y, height } = await page.locator("#adapt-trio").boundingBox();
      assert.ok(y >= 0 && y + height < 400, `${y} ${height}`);
      const small = await page.evaluate(() =>
        [...document.querySelectorAll("#adapt :is(button, input:not([type=file]), summary, .goal, label.file)")]
          .map((target) => [target.outerHTML.slice(0, 60), target.getBoundingClientRect()])
          .filter(([, { width, height }]) => width > 0 && (height < 44 || width < 44))
          .map(([name, { width, height }]) => `${name}: ${width} by ${height}`),
      );
      assert.deepEqual(small, []);
    },
    size(390, 844, { hasTouch: true }),
  ));

test("a policy of the reader's stands where the untrained one did: there are three columns still", () =>
  inRoom(
    "#room=adapt&env=bandit",
    async (page) => {
      await opened(page);
      const names = () => page.locator(".lane h2").allTextContents();
      assert.deepEqual(await names(), ["Untrained", "One task", "Meta-trained"]);
      const buffer = readFileSync(new URL("../../web-demo/public/policies/bandit-meta.safetensors", import.meta.url));
      await page.getByTestId("adapt-load").setInputFiles({ name: "mine.safetensors", mimeType: "", buffer });
      await until(page.getByTestId("adapt-status"), /Yours: /);
      assert.deepEqual(await names(), ["Yours", "One task", "Meta-trained"]);
      assert.match(await page.getByTestId("who-yours").textContent(), /mine\.safetensors/);
      const pictures = page.locator(".lane canvas");
      const tops = await pictures.evaluateAll((all) => all.map((picture) => picture.getBoundingClientRect().y));
      assert.equal(new Set(tops).size, 1);
    },
    size(320, 640),
  ));
