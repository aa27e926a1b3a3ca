// Learn to learn: a meta-policy is trained, and measured on tasks that it never trains on.
import assert from "node:assert/strict";
import { test } from "node:test";
import { inRoom, number, PATIENCE, until } from "./harness/demo.mjs";

test("Learn to learn: held-out tasks are adapted to better as training goes on", () =>
  inRoom("#room=meta&env=navigation", async (page) => {
    const room = page.locator("#meta");
    await until(room.getByTestId("status"), /Ready/);
    await room.getByTestId("train").click();
    await until(room.getByTestId("meta-latest"), /after · [1-9]/);
    const curve = page.locator("#meta-curve");
    const [, first, last] = /after adapting: (\S+) at first, (\S+) after/.exec(await curve.getAttribute("aria-label"));
    assert.ok(Number.isFinite(number(first)) && Number.isFinite(number(last)));
    await room.getByTestId("train").click();
    await until(room.getByTestId("status"), /^Paused/);
    // What is trained here can be tried in the other room.
    await room.getByTestId("try").click();
    await until(page.getByTestId("adapt-status"), /Yours: return/);
  }));

test("Learn to learn: what is tried is what was measured, also while it trains", () =>
  inRoom("#room=meta&env=navigation", async (page) => {
    const room = page.locator("#meta");
    await until(room.getByTestId("status"), /Ready/);
    await room.getByTestId("train").click();
    await until(room.getByTestId("meta-latest"), /after · [1-9]/);
    await room.getByTestId("try").click();
    await until(page.getByTestId("adapt-status"), /Yours: return/);
    const text = await page.getByTestId("who-yours").textContent();
    const [, measured, tried] = /navigation after ([\d,]+) steps: promp, seed 0, after ([\d,]+) steps/.exec(text);
    assert.equal(tried, measured);
  }));

test("Learn to learn by memory: the bandit's last pull comes to pay more than its first", () =>
  inRoom("#room=meta&env=bandit&algorithm=rl2-ppo&steps=400000", async (page) => {
    const room = page.locator("#meta");
    await until(room.getByTestId("status"), /Ready/);
    await room.getByTestId("train").click();
    const better = /: (0\.\d+) before, (0\.\d+) after/;
    const end = Date.now() + PATIENCE.timeout;
    let [before, after] = [0, 0];
    while (after < before + 0.1 && Date.now() < end) {
      const text = await until(room.getByTestId("meta-latest"), better);
      [before, after] = better.exec(text).slice(1).map(Number);
      await page.waitForTimeout(200);
    }
    assert.ok(after >= before + 0.1, `${before} before, ${after} after`);
  }));

test("Learn to learn by a belief: the last episode comes to pay more than the first", () =>
  inRoom("#room=meta&env=point-robot&algorithm=pearl", async (page) => {
    const room = page.locator("#meta");
    await until(room.getByTestId("status"), /Ready/);
    await room.getByTestId("train").click();
    const better = /First and last of 3 episodes: (\S+) before, (\S+) after/;
    const end = Date.now() + PATIENCE.timeout;
    let [before, after] = [0, 0];
    while (after < before + 3 && Date.now() < end) {
      const text = await until(room.getByTestId("meta-latest"), better);
      [before, after] = better.exec(text).slice(1).map(number);
      await page.waitForTimeout(200);
    }
    assert.ok(after >= before + 3, `${before} before, ${after} after`);
    assert.ok(await page.locator("#meta-canvas").isVisible());
    await room.getByTestId("train").click();
    await until(room.getByTestId("status"), /^Paused/);
    await room.getByTestId("try").click();
    await until(page.getByTestId("adapt-status"), /Yours: return/);
    assert.match(await page.getByTestId("card-yours").textContent(), /dots ±/);
  }));
