// Chromium, one per test file: `CHROME`, or the first of its names on the PATH.
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { after } from "node:test";
import { chromium } from "playwright-core";

const NAMES = ["chromium", "chromium-browser", "google-chrome"];

function executable() {
  if (process.env.CHROME) return process.env.CHROME;
  for (const folder of process.env.PATH.split(delimiter)) {
    for (const name of NAMES) {
      const path = join(folder, name);
      try {
        accessSync(path, constants.X_OK);
        return path;
      } catch {
        // The next one.
      }
    }
  }
  throw new Error(`no Chromium: set CHROME to its path, or put one of ${NAMES.join(", ")} on the PATH`);
}

let launched;

/** The browser; WebGPU works in it without a graphics card. It is closed when the file's tests have ended. */
export function browser() {
  launched ??= chromium.launch({
    executablePath: executable(),
    headless: true,
    args: ["--no-sandbox", "--enable-unsafe-webgpu"],
  });
  return launched;
}

after(async () => (await launched)?.close());
