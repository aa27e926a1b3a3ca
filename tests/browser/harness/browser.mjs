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

const launched = new Map();

/**
 * The browser; WebGPU works in it without a graphics card, or not at all. It is closed when the file's tests have
 * ended.
 */
export function browser(webgpu = true) {
  if (!launched.has(webgpu)) {
    const args = ["--no-sandbox", ...(webgpu ? ["--enable-unsafe-webgpu"] : [])];
    launched.set(webgpu, chromium.launch({ executablePath: executable(), headless: true, args }));
  }
  return launched.get(webgpu);
}

after(async () => {
  for (const one of launched.values()) await (await one).close();
});
