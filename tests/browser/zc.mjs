import { browser } from "./harness/browser.mjs";
import { withPage } from "./harness/page.mjs";
const run = async () => {
  const out={}; let t=performance.now(); const mark=(n)=>{const now=performance.now(); out[n]=Math.round((now-t)*10)/10; t=now;};
  const r = await fetch("/quickstudy/quickstudy_wasm_bg.wasm"); mark("headers");
  const b = await r.arrayBuffer(); mark("body");
  const m = await WebAssembly.compile(b); mark("compile");
  const m3 = await WebAssembly.compileStreaming(fetch("/quickstudy/quickstudy_wasm_bg.wasm?2")); mark("streaming");
  const w = new Worker(URL.createObjectURL ? "/quickstudy/worker.js" : "", {type:"module"}); mark("spawn");
  w.onmessage = null;
  const done = new Promise(r => { w.onmessage = r; }); w.postMessage({id:1, method:"start", args:[m]}); await done; mark("worker up + instantiate");
  return out;
};
for (let i=0;i<5;i++) await withPage(async (page) => console.log(JSON.stringify(await page.evaluate(run))));
await (await browser()).close();
