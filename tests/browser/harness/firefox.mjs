// Firefox, by WebDriver BiDi: `FIREFOX`, or the first of its names on the PATH.
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import puppeteer from "puppeteer-core";

const NAMES = ["firefox-esr", "firefox"];

/** Where Firefox is; nothing where there is none. */
export function executable() {
  if (process.env.FIREFOX) return process.env.FIREFOX;
  return process.env.PATH.split(delimiter)
    .flatMap((folder) => NAMES.map((name) => join(folder, name)))
    .find((path) => existsSync(path));
}

/** Opens `url` in a window of this size and calls `use(page)`; errors on the console and in scripts are failures. */
export async function inFirefox(url, use, { width = 1440, height = 900 } = {}) {
  const browser = await puppeteer.launch({ browser: "firefox", executablePath: executable(), headless: true });
  const wrong = [];
  try {
    const page = await browser.newPage();
    page.on("console", (message) => message.type() === "error" && wrong.push(`console: ${message.text()}`));
    page.on("pageerror", (error) => wrong.push(`exception: ${error.stack ?? error}`));
    await page.setViewport({ width, height });
    await page.goto(url);
    await use(page);
  } finally {
    await browser.close();
  }
  if (wrong.length) throw new Error(wrong.join("\n"));
}
