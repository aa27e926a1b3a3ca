import { spawn } from "node:child_process";
import { openSync } from "node:fs";
import { chromium } from "playwright-core";
import { serve } from "./harness/server.mjs";
const [dir, flags, worker] = [process.argv[2], process.argv[3], process.argv[4] !== "main"];
const fd = openSync("/tmp/prof/trace.txt", "w");
const child = spawn("/usr/bin/chromium", ["--headless=new", "--no-sandbox", "--remote-debugging-port=9333", "--user-data-dir=/tmp/prof/ud", ...(flags ? [`--js-flags=${flags}`] : []), "about:blank"], { stdio: ["ignore", fd, fd] });
let b; for (let i=0;i<50;i++) { try { b = await chromium.connectOverCDP("http://127.0.0.1:9333"); break; } catch { await new Promise(r=>setTimeout(r,200)); } }
const server = await serve({ "/q/": dir });
const run = async (worker) => {
  const out = {}; let t = performance.now(); const t0=t;
  const mark = (n) => { const now = performance.now(); out[n] = Math.round((now - t)*10)/10; t = now; };
  const m = await import("/q/index.js"); mark("import");
  const session = await m.createSession({ algorithm: "ppo", env: "cartpole", device: "cpu", worker }); mark("create");
  for (let i=0;i<6;i++) { await session.step(); mark("step"+i); if (!i) out.start = Math.round(t-t0); }
  return out;
};
for (let i = 0; i < 5; i++) {
const ctx = await b.newContext(); const page = await ctx.newPage(); await page.goto(server.url);
console.log(JSON.stringify(await page.evaluate(run, worker)));
await ctx.close();
}
await b.close(); child.kill(); await server.close(); process.exit(0);
