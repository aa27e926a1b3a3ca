// Forced colours, as high-contrast themes have them: outlines mark what is chosen, for backgrounds are gone.
import assert from "node:assert/strict";
import { test } from "node:test";
import { inRoom, PATIENCE, until } from "./harness/demo.mjs";

test("with forced colours, outlines mark the room, the card and the age that are chosen, and no others", () =>
  inRoom(
    "#room=learn&env=cartpole",
    async (page) => {
      await until(page.locator("#learn").getByTestId("status"), /Ready/);
      await page.locator("#learn-ages").waitFor(PATIENCE);
      assert.ok(await page.evaluate(() => matchMedia("(forced-colors: active)").matches));
      const outlined = (selector) =>
        page.locator(selector).evaluateAll((all) =>
          all
            .filter((one) => {
              const { outlineStyle, outlineWidth } = getComputedStyle(one);
              return outlineStyle !== "none" && Number.parseFloat(outlineWidth) >= 2;
            })
            .map(({ dataset }) => dataset.room ?? dataset.testid),
        );
      assert.deepEqual(await outlined("nav a"), ["learn"]);
      assert.deepEqual(await outlined("#learn [role=radio]"), ["world-cartpole"]);
      assert.deepEqual(await outlined("#learn-ages .age"), ["age-2"]);
      await page.locator("nav [data-room=adapt]").click();
      await page.waitForFunction(() => location.hash.includes("env=navigation"), undefined, PATIENCE);
      assert.deepEqual(await outlined("nav a"), ["adapt"]);
      assert.deepEqual(await outlined("#adapt [role=radio]"), ["task-navigation"]);
    },
    { context: { viewport: { width: 1440, height: 900 }, forcedColors: "active", reducedMotion: "reduce" } },
  ));
