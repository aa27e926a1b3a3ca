import { inRoom, until } from "./harness/demo.mjs";
import { browser } from "./harness/browser.mjs";
for (const q of ["", "&algorithm=promp&env=navigation", "&algorithm=rl2-ppo&env=bandit"]) {
  try { await inRoom(`#room=meta${q}`, async (page) => {
    const btn = page.locator("#meta").getByRole("button", { name: "Train", exact: true });
    await btn.waitFor(); await page.waitForTimeout(1500); const t=Date.now(); await btn.click();
    await page.waitForTimeout(6000);
    console.log((await page.locator("#meta").innerText()).split("\n").filter(l=>/steps|frames|ms|curve|point/i.test(l)).slice(0,12).join(" | "));
  }); } catch(e) { console.log(e.message.slice(0,300)); }
}
await (await browser()).close(); process.exit(0);
