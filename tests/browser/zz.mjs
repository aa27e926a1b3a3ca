import { browser } from "./harness/browser.mjs";
import { withPage } from "./harness/page.mjs";
import { writeFileSync } from "node:fs";
const run = async () => {
  const out = {}; let t = performance.now(); const t0=t;
  const mark = (n) => { const now = performance.now(); out[n] = Math.round((now - t)*10)/10; t = now; };
  const m = await import("/q/index.js"); mark("import");
  const sh = await import("/q/shared.js");
  const w = await sh.callingThread(); mark("wasm");
  await w.engine.probe("cpu"); mark("probe");
  const session = await m.createSession({ algorithm: "ppo", env: "cartpole", device: "cpu", worker: false }); mark("create");
  for (let i=0;i<4;i++) { await session.step(); mark("step"+i); }
  session.dispose();
  const s2 = await m.createSession({ algorithm: "ppo", env: "cartpole", device: "cpu", worker: false }); mark("create2");
  out.all = Math.round(t - t0);
  return out;
};
for (let i=0;i<3;i++) await withPage(async (page) => {
  console.log(JSON.stringify(await page.evaluate(run)));
}, { folders: { "/q/": process.argv[2] ?? "/tmp/prof/dist" }});
if (!process.argv[2]) await withPage(async (page) => {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("Profiler.enable"); await cdp.send("Profiler.setSamplingInterval", {interval: 200}); await cdp.send("Profiler.start");
  console.log(JSON.stringify(await page.evaluate(run)));
  const { profile } = await cdp.send("Profiler.stop"); writeFileSync("/tmp/prof/c.cpuprofile", JSON.stringify(profile));
}, { folders: { "/q/": "/tmp/prof/dist" }});
await (await browser()).close();
