import { serve } from "./harness/server.mjs";
import { browser } from "./harness/browser.mjs";
const server = await serve({ "/": "/work/main/web-demo/dist" });
const b = await browser();
for (const [room, setup] of [["#/learn?env=cartpole", null]]) for (let i=0;i<4;i++) {
  const ctx = await b.newContext({ viewport: { width: 1280, height: 900 } }); const page = await ctx.newPage();
  const t0 = Date.now(); await page.goto(server.url + room, { waitUntil: "load" }); const t1 = Date.now();
  const html = await page.content(); if (i===0) console.log(html.slice(0,1500));
  await page.waitForFunction(() => [...document.querySelectorAll("button")].some(b => b.textContent.trim()==="Train" && !b.disabled)); const t2 = Date.now();
  console.log(t1-t0, t2-t0);
  await ctx.close();
}
await b.close(); await server.close(); process.exit(0);
