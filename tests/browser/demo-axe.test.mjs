// Readers with disabilities: axe finds nothing in any room, keys reach what is to be pressed, and targets are large.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import { inRoom, until } from "./harness/demo.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const ADAPTED = (page) => until(page.getByTestId("adapt-status"), /Meta-trained: /);
const MEASURED = (page) => until(page.getByTestId("meta-latest"), /before/);
const ROOMS = [
  ["#room=learn", (page) => until(page.locator("#learn").getByTestId("status"), /Ready/)],
  ["#room=adapt&env=navigation", ADAPTED],
  ["#room=adapt&env=half-cheetah-vel", ADAPTED],
  ["#room=adapt&env=bandit", ADAPTED],
  ["#room=meta&env=point-robot&algorithm=pearl", MEASURED],
];

/** Goes to a room; what was said in it before is not waited for. */
async function open(page, hash) {
  await page.evaluate((to) => {
    for (const id of ["adapt-results", "meta-latest"]) document.getElementById(id).textContent = "";
    location.hash = to;
  }, hash);
}

async function violations(page) {
  // Colours that change slowly are those that they change to.
  await page.waitForTimeout(300);
  const found = await page.evaluate(async () => (await globalThis.axe.run(document)).violations);
  return found.flatMap(({ id, help, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${help}: ${target.join(" ")}: ${failureSummary}`),
  );
}

// Each size and each theme once: what fits does not hang on colours, nor contrast on the size.
for (const [width, height, colorScheme] of [
  [1440, 900, "light"],
  [390, 844, "dark"],
]) {
  test(`at ${width} by ${height}, ${colorScheme}: axe finds nothing in any room, with everything unfolded`, () =>
    inRoom(
      "#room=learn",
      async (page) => {
        await page.evaluate(AXE);
        for (const [hash, ready] of ROOMS) {
          await open(page, hash);
          await ready(page);
          assert.deepEqual(await violations(page), [], hash);
          await page.evaluate(() => document.querySelectorAll("details").forEach((fold) => (fold.open = true)));
          assert.deepEqual(await violations(page), [], `${hash}, unfolded`);
        }
      },
      { context: { viewport: { width, height }, colorScheme, reducedMotion: "reduce", hasTouch: width < 500 } },
    ));
}

for (const room of ["learn", "adapt", "meta"]) {
  test(`from the skip link, play of ${room} is at most six tabs away, and the largest of all buttons`, () =>
    inRoom(
      `#room=${room}`,
      async (page) => {
        const play = page.locator(`#${room} .play`);
        await play.waitFor();
        if (room === "adapt") await ADAPTED(page);
        await page.keyboard.press("Tab");
        assert.equal(await page.evaluate(() => document.activeElement.className), "skip");
        await page.keyboard.press("Enter");
        let tabs = 0;
        while (!(await play.evaluate((button) => button === document.activeElement)) && tabs < 12) {
          await page.keyboard.press("Tab");
          tabs += 1;
        }
        assert.ok(tabs <= 6, `${tabs} tabs`);
        const areas = await page.evaluate(() =>
          [...document.querySelectorAll("button")].map((button) => {
            const { width, height } = button.getBoundingClientRect();
            return [button.className, width * height];
          }),
        );
        // Cards are choices with a picture, which are no buttons to those who see them.
        const others = areas.filter(([name]) => !/play|world|age/.test(name)).map(([, area]) => area);
        const area = Math.max(...areas.filter(([name]) => /play/.test(name)).map(([, size]) => size));
        assert.ok(area > Math.max(...others), `${area} beside ${Math.max(...others)}`);
      },
      { context: { viewport: { width: 1440, height: 900 }, reducedMotion: "reduce" } },
    ));
}

for (const [width, height, least] of [
  [1440, 900, 24],
  [390, 844, 44],
]) {
  test(`at ${width} by ${height} all that can be pressed is at least ${least} pixels high and wide`, () =>
    inRoom(
      "#room=learn",
      async (page) => {
        for (const [hash, ready] of ROOMS) {
          await open(page, hash);
          await ready(page);
          await page.evaluate(() => document.querySelectorAll("details").forEach((fold) => (fold.open = true)));
          const small = await page.evaluate((least) => {
            const targets = "a[href], button, select, input:not([type=file]), label.file, summary, [tabindex='0']";
            return [...document.querySelectorAll(targets)]
              .filter((target) => target.checkVisibility() && !target.matches(".skip"))
              .map((target) => [target.outerHTML.slice(0, 90), target.getBoundingClientRect()])
              .filter(([, { width, height }]) => width < least - 0.5 || height < least - 0.5)
              .map(([name, { width, height }]) => `${name}: ${width} by ${height}`);
          }, least);
          assert.deepEqual(small, [], hash);
        }
      },
      { context: { viewport: { width, height }, reducedMotion: "reduce", hasTouch: width < 500 } },
    ));
}

test("who wants less motion sees stages of Adapt and Learn to learn that stand still", () =>
  inRoom(
    "#room=adapt&env=half-cheetah-vel",
    async (page) => {
      for (const [hash, ready] of ROOMS.slice(1)) {
        await open(page, hash);
        await ready(page);
        await page.waitForTimeout(300);
        const stages = () =>
          page.evaluate(() =>
            [...document.querySelectorAll(".lane canvas, #meta-canvas")]
              .filter((canvas) => canvas.checkVisibility())
              .map((canvas) => canvas.toDataURL()),
          );
        // What a busy machine draws late is no motion: that would go on.
        let still = false;
        for (let last = await stages(), looks = 0; !still && looks < 5; looks += 1) {
          assert.ok(last.length > 0);
          await page.waitForTimeout(400);
          const now = await stages();
          still = JSON.stringify(now) === JSON.stringify(last);
          last = now;
        }
        assert.ok(still, `${hash} moves`);
      }
    },
    { context: { viewport: { width: 1440, height: 900 }, reducedMotion: "reduce" } },
  ));
