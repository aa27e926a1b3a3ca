// The web demo without a network: once it was loaded, every room works.
import assert from "node:assert/strict";
import { test } from "node:test";
import { DEMO, PATIENCE, until } from "./harness/demo.mjs";
import { visit } from "./harness/page.mjs";
import { serve } from "./harness/server.mjs";

test("after the first load every room works without a network, and trains", async () => {
  const server = await serve({ "/": `${DEMO}dist` });
  let closed = false;
  try {
    await visit(server.url, async (page) => {
      // It is ready once every file is fetched.
      await page.evaluate(() => navigator.serviceWorker.ready);
      await page.waitForFunction(() => navigator.serviceWorker.controller, undefined, PATIENCE);
      await server.close();
      closed = true;
      await page.reload();
      const learn = page.locator("#learn");
      await until(page.locator("#learn-when"), /^After 60 s/);
      await learn.getByTestId("world-pendulum").click();
      await learn.getByTestId("train").click();
      await until(page.getByTestId("speed"), /steps\/s/);
      await page.goto(`${server.url}#room=meta`);
      await page.locator("#meta").getByTestId("train").click();
      await until(page.getByTestId("meta-latest"), /\d/);
      for (const env of ["navigation", "point-robot", "half-cheetah-vel", "bandit"]) {
        await page.goto(`${server.url}#room=adapt&env=${env}`);
        await page.getByTestId("card-meta").waitFor(PATIENCE);
      }
    });
  } finally {
    if (!closed) await server.close();
  }
  assert.ok(closed);
});
