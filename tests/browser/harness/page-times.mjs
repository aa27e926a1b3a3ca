// How fast the web page is: figures that are printed, never asserted.
import { DEMO } from "./demo.mjs";
import { DIST, visit } from "./page.mjs";
import { serve } from "./server.mjs";

/** Loads of which the middle one is printed. */
const LOADS = 5;
/** Seconds of training until frames are counted, and for which they are. */
const [WARM, COUNTED] = [3, 8];
const PATIENCE = { timeout: 120_000 };
const middle = (list) => list.sort((a, b) => a - b)[Math.floor(list.length / 2)];

/** Opens the page in a fresh browser context, by a main thread that is `slower` times as slow. */
async function open(server, hash, slower, use) {
  let measured;
  await visit(
    "about:blank",
    async (page) => {
      // Workers refuse it ("Operation is only supported for pages, not workers"): they stay as fast as they are.
      const devtools = await page.context().newCDPSession(page);
      await devtools.send("Emulation.setCPUThrottlingRate", { rate: slower });
      await page.goto(`${server.url}${hash}`);
      measured = await use(page);
    },
    { viewport: { width: 1440, height: 900 } },
  );
  return measured;
}

/** Milliseconds from the page's address to the first frame after the hero's first step. */
const moving = (page) =>
  page.evaluate(async () => {
    const frame = () => new Promise(requestAnimationFrame);
    while (performance.getEntriesByName("first step").length === 0) await frame();
    return frame();
  });

/** Milliseconds of a measure of the page's. */
const measure = async (page, name) => {
  const found = await page.waitForFunction((key) => performance.getEntriesByName(key)[0]?.duration, name, PATIENCE);
  return found.jsonValue();
};

/** Frames of the page per second, and the longest in milliseconds. */
const frames = (page) =>
  page.evaluate(async (seconds) => {
    const frame = () => new Promise(requestAnimationFrame);
    const first = await frame();
    let [now, count, longest] = [first, 0, 0];
    while (now - first < 1000 * seconds) {
      const next = await frame();
      longest = Math.max(longest, next - now);
      [now, count] = [next, count + 1];
    }
    return { perSecond: (1000 * count) / (now - first), longest };
  }, COUNTED);

/** Presses Train once the page has come to rest; how soon there is a point, then one of training, and frames. */
async function trained(page) {
  const room = page.locator("#learn");
  await room.getByTestId("status").filter({ hasText: "Ready" }).waitFor(PATIENCE);
  await page.waitForTimeout(4000);
  await page.evaluate(() => document.querySelector("#learn [data-testid=train]").click());
  const first = await measure(page, "first point");
  const line = await measure(page, "first of training").catch(() => NaN);
  await page.waitForTimeout(1000 * WARM);
  const { perSecond, longest } = await frames(page);
  return { first, line, perSecond, longest };
}

/** Prints how soon the hero moves, how soon one's own curve begins, and frames while it trains. */
export async function pageTimes() {
  const server = await serve({ "/": `${DEMO}dist`, "/quickstudy/": DIST });
  const ms = (value) => `${Math.round(value)} ms`;
  try {
    for (const slower of [1, 4]) {
      const how = slower === 1 ? "as it is" : `main thread ${slower} times as slow`;
      const loads = [];
      for (let i = 0; i < LOADS; i++) loads.push(await open(server, "", slower, moving));
      console.log(`page, ${how}: the hero moves ${ms(middle(loads))} after its address (${loads.map(ms).join(", ")})`);
      for (const env of ["cartpole", "half-cheetah"]) {
        const { first, line, perSecond, longest } = await open(server, `#room=learn&env=${env}`, slower, trained);
        console.log(
          `page, ${how}, ${env}: first point ${ms(first)} after Train, first of training ${ms(line)}; ` +
            `${perSecond.toFixed(1)} frames/s while it trains, the longest ${ms(longest)}`,
        );
      }
    }
  } finally {
    await server.close();
  }
}
