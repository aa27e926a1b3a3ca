// Learn's pictures stand still for whoever wants that, and nothing on the page is pushed about by training.
import assert from "node:assert/strict";
import { test } from "node:test";
import { inRoom, PATIENCE, until } from "./harness/demo.mjs";

const desktop = { viewport: { width: 1440, height: 900 } };
/** All canvases of the room as they are. */
const pictures = (page) =>
  page.evaluate(() => [...document.querySelectorAll("#learn canvas")].map((canvas) => canvas.toDataURL()));

for (const env of ["half-cheetah", "cartpole"]) {
  test(`who wants less motion gets still pictures of ${env}, which say something all the same`, () =>
    inRoom(
      `#room=learn&env=${env}`,
      async (page) => {
        const room = page.locator("#learn");
        await until(room.getByTestId("status"), /Ready/);
        await until(page.locator("#learn-caption"), /recorded earlier, \d+ copies/);
        await page.waitForLoadState("networkidle");
        // What is on its way arrives, once.
        const end = Date.now() + PATIENCE.timeout;
        for (let before = []; ; ) {
          const now = await pictures(page);
          if (now.join() === before.join()) break;
          assert.ok(Date.now() < end, "pictures never stand still");
          before = now;
          await page.waitForTimeout(1500);
        }
        const first = await pictures(page);
        await page.waitForTimeout(400);
        assert.deepEqual(await pictures(page), first);
        assert.equal(await page.locator("#learn-still").getAttribute("aria-pressed"), "true");
        // A button lets them move.
        await page.locator("#learn-still").click();
        await page.waitForFunction(
          (still) => document.querySelector("#learn-canvas").toDataURL() !== still,
          first[0],
          PATIENCE,
        );
      },
      { context: { ...desktop, reducedMotion: "reduce" } },
    ));
}

for (const [width, height] of [
  [1440, 900],
  [390, 844],
]) {
  test(`at ${width} by ${height} nothing moves while it trains`, () =>
    inRoom(
      "#room=learn&env=cartpole&rival=dqn",
      async (page) => {
        const room = page.locator("#learn");
        await until(room.getByTestId("status"), /Ready/);
        await until(page.locator("#learn-caption"), /recorded earlier, \d+ copies/);
        await page.evaluate(() => {
          globalThis.shifts = [];
          new PerformanceObserver((list) => {
            for (const { value, sources } of list.getEntries()) {
              shifts.push({ value, what: sources.map(({ node }) => node?.id || node?.className || node?.nodeName) });
            }
          }).observe({ type: "layout-shift" });
        });
        await room.getByTestId("train").click();
        await page.waitForFunction(
          () => Number(document.querySelector("#learn-curve").getAttribute("aria-valuemax")) >= 11,
          undefined,
          PATIENCE,
        );
        const shifts = await page.evaluate(() => globalThis.shifts);
        const sum = shifts.reduce((all, { value }) => all + value, 0);
        assert.ok(sum <= 0.01, JSON.stringify(shifts));
      },
      { context: { viewport: { width, height } } },
    ));
}
