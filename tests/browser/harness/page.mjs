// A page of the package in a real browser, where any complaint of the browser is a failure.
import { fileURLToPath } from "node:url";
import { browser } from "./browser.mjs";
import { serve } from "./server.mjs";

/** The folder of the package as it is installed from its tarball, and of its modules. */
export const PACKAGE = fileURLToPath(new URL("../node_modules/quickstudy/", import.meta.url));
export const DIST = `${PACKAGE}dist`;

/** A folder of `fixtures`. */
export const fixture = (name) => fileURLToPath(new URL(`../fixtures/${name}/`, import.meta.url));

/** Pages that are being loaded again: their document is left, and with it whatever it was fetching. */
const left = new WeakSet();

/** Loads the page again. Requests that this cuts off are no fault of the page's. */
export async function again(page) {
  left.add(page);
  await page.reload();
  left.delete(page);
}

/**
 * Opens `/` of a server that has the package's modules under `/quickstudy/`, and calls `use(page, server)`. Fails if
 * `use` does, and if by then anything went wrong in page or workers: errors on the console (violations of the policy
 * are such), exceptions that nobody caught, requests that failed. `folders` and `isolated` are the server's, `context`
 * is Playwright's, `webgpu` the browser's.
 */
export async function withPage(use, { folders = {}, isolated = false, context = {}, webgpu = true } = {}) {
  const server = await serve({ "/quickstudy/": DIST, ...folders }, { isolated });
  try {
    await visit(server.url, (page) => use(page, server), context, webgpu);
  } finally {
    await server.close();
  }
}

/** As `withPage`, on a server that runs already. */
export async function visit(url, use, context = {}, webgpu = true) {
  const session = await (await browser(webgpu)).newContext(context);
  const wrong = [];
  try {
    const page = await session.newPage();
    page.on(
      "console",
      (message) => message.type() === "error" && wrong.push(`console: ${message.text()} (${message.location().url})`),
    );
    page.on("pageerror", (error) => wrong.push(`exception: ${error.stack ?? error}`));
    page.on("requestfailed", (request) => {
      const why = request.failure()?.errorText;
      if (!(left.has(page) && why === "net::ERR_ABORTED")) wrong.push(`request: ${request.url()}: ${why}`);
    });
    page.on(
      "response",
      (response) => response.status() >= 400 && wrong.push(`${response.status()}: ${response.url()}`),
    );
    await page.goto(url, { waitUntil: "load" });
    await use(page);
    await page.evaluate(() => new Promise((resolve) => setTimeout(resolve))); // What was on its way is reported.
  } catch (error) {
    wrong.unshift(error.stack ?? String(error));
  } finally {
    await session.close();
  }
  if (wrong.length) throw new Error(wrong.join("\n"));
}
