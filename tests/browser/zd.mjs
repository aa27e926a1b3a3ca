import { serve } from "./harness/server.mjs";
import { visit } from "./harness/page.mjs";
import { browser } from "./harness/browser.mjs";
const server = await serve({ "/quickstudy/": process.argv[2] ?? "/work/main/wasm/dist" });
const run = async () => {
  const out={}; let t=performance.now(); const mark=(n)=>{const now=performance.now(); out[n]=Math.round((now-t)*10)/10; t=now;};
  const r = await fetch("/quickstudy/quickstudy_wasm_bg.wasm"); mark("headers");
  const b = await r.arrayBuffer(); mark("body");
  const m3 = await WebAssembly.compileStreaming(fetch("/quickstudy/quickstudy_wasm_bg.wasm?2")); mark("streaming");
  return out;
};
const run2 = async () => {
  const t=performance.now(); const { createSession } = await import("/quickstudy/index.js"); const t1=performance.now();
  const s = await createSession({ algorithm: "ppo", env: "cartpole", device: "cpu" }); const t2=performance.now(); await s.step(); const t3=performance.now();
  return [t1-t,t2-t1,t3-t2,t3-t].map(Math.round);
};
for (let i=0;i<0;i++) await visit(server.url, async (page) => console.log(JSON.stringify(await page.evaluate(run))));
for (let i=0;i<10;i++) await visit(server.url, async (page) => console.log(JSON.stringify(await page.evaluate(run2))));
await (await browser()).close(); await server.close();
