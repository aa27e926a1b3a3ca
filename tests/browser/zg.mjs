import { inRoom, until } from "./harness/demo.mjs";
import { browser } from "./harness/browser.mjs";
for (const algorithm of ["ppo","trpo"]) for (const env of ["cartpole","pendulum","acrobot","mountain-car-continuous","mountain-car"]) {
  if (algorithm==="trpo" && env==="mountain-car") continue;
  try { await inRoom(`#room=learn&algorithm=${algorithm}&env=${env}`, async (page) => {
    const btn = page.locator("#learn").getByRole("button", { name: "Train", exact: true });
    await btn.waitFor(); await page.waitForTimeout(1200); await btn.click();
    console.log(algorithm, env, await until(page.getByTestId("first-point"), /ms/));
    await page.waitForTimeout(2500);
    console.log("   ", (await page.locator("#learn").innerText()).split("\n").filter(l=>/steps|frames|second|fps/i.test(l)).slice(0,6).join(" | "));
  }); } catch(e) { console.log(algorithm, env, e.message.slice(0,300)); }
}
await (await browser()).close(); process.exit(0);
