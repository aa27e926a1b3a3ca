// The built web demo, served under the strict policy.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { DIST, visit, withPage } from "./page.mjs";
import { serve } from "./server.mjs";

export const DEMO = fileURLToPath(new URL("../../../web-demo/", import.meta.url));
/** Training on a slow and busy machine takes its time. */
export const PATIENCE = { timeout: 120_000 };

// A page that is there is taken as it is: whoever changes it builds it.
if (!existsSync(`${DEMO}dist/index.html`)) {
  for (const command of [["ci", "--no-audit", "--no-fund"], ["run", "build"]]) {
    execFileSync("npm", command, { cwd: DEMO, stdio: "inherit" });
  }
}

/** Opens a room of the demo and calls `use(page)`; any complaint of the browser is a failure. */
export function inRoom(hash, use, options = {}) {
  return withPage(
    async (page, server) => {
      await page.goto(`${server.url}${hash}`);
      await use(page, server);
    },
    { folders: { "/": `${DEMO}dist` }, ...options },
  );
}

/** Opens the demo at an address and nowhere before; `init` runs in the page before anything else does. */
export async function at(address, use, { context = {}, init } = {}) {
  const server = await serve({ "/": `${DEMO}dist`, "/quickstudy/": DIST });
  try {
    await visit(
      "about:blank",
      async (page) => {
        if (init) await page.addInitScript(init);
        await page.goto(`${server.url}${address}`);
        await use(page, server);
      },
      context,
    );
  } finally {
    await server.close();
  }
}

/** Waits until a text matches, and returns it. */
export async function until(locator, pattern) {
  const page = locator.page();
  const end = Date.now() + PATIENCE.timeout;
  let text = "";
  while (Date.now() < end) {
    text = (await locator.textContent(PATIENCE)) ?? "";
    if (pattern.test(text)) return text;
    await page.waitForTimeout(50);
  }
  throw new Error(`waited for ${pattern}, but it says: ${text}`);
}

/** The world that a room has chosen. */
export const chosen = (room) => room.getByTestId("env").getAttribute("data-value");

/** All worlds of a room: those with a card, and those of the list. */
export const worlds = (room) =>
  room.getByTestId("env").evaluate((root) => [
    ...[...root.querySelectorAll("[role=radio]")].map(({ dataset }) => dataset.testid.replace("world-", "")),
    ...[...root.querySelectorAll("option")].map(({ value }) => value).filter((value) => value !== ""),
  ]);

/** Chooses a world by its card, or from the list of those that have none. */
export async function choose(room, env) {
  const card = room.getByTestId(`world-${env}`);
  if (await card.count()) await card.click();
  else await room.getByTestId("more-worlds").selectOption(env);
}

/** The boxes of the three pictures in Adapt, which stand beside each other. */
export async function trio(page) {
  await page.locator(".lane canvas").nth(2).waitFor(PATIENCE);
  const boxes = await page.locator(".lane canvas").evaluateAll((all) =>
    all.map((canvas) => {
      const { top, bottom, width, height } = canvas.getBoundingClientRect();
      return { top, bottom, width, height };
    }),
  );
  assert.equal(boxes.length, 3);
  const [{ top, bottom }] = boxes;
  assert.ok(boxes.every((box) => box.top === top && box.bottom === bottom), JSON.stringify(boxes));
  return boxes;
}

/** A number as the page writes it. */
export function number(text) {
  return Number(text.replaceAll(",", "").replace("−", "-"));
}
