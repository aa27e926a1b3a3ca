// run.mjs FILE [--browser] [--only REGEX] [--seconds N]: the speeds of FILE, built by scripts/bench-wasm.sh, in Node.js
// or, with --browser, in a worker of headless Chromium (the environment variable CHROME, or `chromium`).
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { measure } from "./speed.mjs";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    browser: { type: "boolean" },
    only: { type: "string", default: "" },
    seconds: { type: "string", default: "2" },
  },
});
const bytes = readFileSync(positionals[0]);

const worker = `import { measure } from "/speed.mjs";
try {
  const bytes = await (await fetch("/module.wasm")).arrayBuffer();
  const lines = await measure(bytes, new RegExp(${JSON.stringify(values.only)}), ${Number(values.seconds)});
  await fetch("/done", { method: "POST", body: lines.join("\\n") });
} catch (error) {
  await fetch("/done", { method: "POST", body: String(error) });
}`;
const files = {
  "/": ["text/html", `<script>new Worker("/worker.mjs", { type: "module" })</script>`],
  "/worker.mjs": ["text/javascript", worker],
  "/speed.mjs": ["text/javascript", readFileSync(new URL("speed.mjs", import.meta.url))],
  "/module.wasm": ["application/wasm", bytes],
};

/** What the worker reports. */
function inBrowser() {
  return new Promise((resolve, reject) => {
    const profile = mkdtempSync(join(tmpdir(), "quickstudy-bench-"));
    let browser;
    const server = createServer(async (request, response) => {
      if (request.method === "POST") {
        let text = "";
        for await (const part of request) text += part;
        response.end();
        browser.once("exit", () => rmSync(profile, { recursive: true, force: true, maxRetries: 5 }));
        browser.kill();
        server.close();
        server.closeAllConnections();
        resolve(text.split("\n"));
        return;
      }
      const [type, body] = files[request.url] ?? [];
      // Isolated pages have the finer clock.
      response.writeHead(type ? 200 : 404, {
        "content-type": type ?? "text/plain",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-embedder-policy": "require-corp",
      });
      response.end(body);
    });
    server.listen(0, "127.0.0.1", () => {
      const flags = ["--headless", "--no-sandbox", "--no-first-run", `--user-data-dir=${profile}`];
      const address = `http://127.0.0.1:${server.address().port}/`;
      browser = spawn(process.env.CHROME ?? "chromium", [...flags, address], { stdio: "ignore" });
      browser.once("error", reject);
    });
  });
}

const lines = values.browser
  ? await inBrowser()
  : await measure(bytes, new RegExp(values.only), Number(values.seconds));
console.log(lines.join("\n"));
