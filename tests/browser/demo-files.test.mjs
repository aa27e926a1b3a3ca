// Files and addresses come from anyone: the web demo takes what is good and shows the rest as text.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { chosen, DEMO, inRoom, until } from "./harness/demo.mjs";

const shipped = (name) => readFileSync(`${DEMO}public/policies/${name}.safetensors`);

test("a saved run goes on where it was, with its settings", async () => {
  let saved;
  let steps;
  await inRoom("#room=learn&env=cartpole&seed=3&set.gamma=0.97", async (page) => {
    const room = page.locator("#learn");
    await until(room.getByTestId("status"), /Ready/);
    await room.getByTestId("train").click();
    await until(room.getByTestId("figures"), /^[1-9]/);
    await room.getByTestId("train").click();
    await until(room.getByTestId("status"), /^Paused/);
    const [download] = await Promise.all([page.waitForEvent("download"), room.getByTestId("save").click()]);
    const name = download.suggestedFilename();
    steps = /^cartpole-ppo-seed3-(\d+)\.safetensors$/.exec(name)?.[1];
    assert.ok(Number(steps) > 0, name);
    saved = readFileSync(await download.path());
  });
  await inRoom("#room=learn&env=pendulum", async (page) => {
    const room = page.locator("#learn");
    await until(room.getByTestId("status"), /Ready/);
    await room
      .getByTestId("load")
      .setInputFiles({ name: "mine.safetensors", mimeType: "application/octet-stream", buffer: saved });
    await until(room.getByTestId("status"), /^Loaded mine\.safetensors/);
    assert.equal((await room.getByTestId("figures").textContent()).split(" ")[0].replaceAll(",", ""), steps);
    assert.equal(await chosen(room), "cartpole");
    assert.equal(await room.getByTestId("seed").inputValue(), "3");
    assert.equal(await room.getByTestId("setting-gamma").inputValue(), "0.97");
    await room.getByTestId("train").click();
    await until(room.getByTestId("figures"), new RegExp(`^(?!${Number(steps).toLocaleString("en")} )[1-9]`));
    await room.getByTestId("train").click();
    const on = (await room.getByTestId("figures").textContent()).split(" ")[0].replaceAll(",", "");
    assert.ok(Number(on) > Number(steps), `${on} after ${steps}`);
  });
});

test("a policy without its training can be looked at, in the room where it belongs", () =>
  inRoom("#room=learn&env=cartpole", async (page) => {
    const room = page.locator("#learn");
    await until(room.getByTestId("status"), /Ready/);
    const file = { name: "nav.safetensors", mimeType: "application/octet-stream", buffer: shipped("navigation-meta") };
    await room.getByTestId("load").setInputFiles(file);
    await until(page.getByTestId("adapt-status"), /Yours: return/);
    assert.match(page.url(), /room=adapt/);
    assert.match(
      await page.getByTestId("who-yours").textContent(),
      /nav\.safetensors: promp, seed 1, after 12,800,000 steps/,
    );
  }));

const SCRIPTS = [
  "alert(1)",
  "globalThis.harmed=1",
  "fetch('/harm')",
  "document.body.remove()",
  "location='javascript:alert(2)'",
];
const SHAPES = [
  (js) => `<script>${js}</script>`,
  (js) => `<img src=x onerror="${js}">`,
  (js) => `"><svg onload=${js}>`,
  (js) => `'><iframe src="javascript:${js}"></iframe>`,
  (js) => `<a href="javascript:${js}" autofocus onfocus=${js}>x</a>`,
  (js) => `</p><details open ontoggle=${js}>`,
  (js) => `<style onload=${js}>*{color:red}</style>`,
  (js) => `<input onfocus=${js} autofocus>`,
  (js) => `<object data="javascript:${js}"></object><embed src=x>`,
  (js) => `\${${js}}{{${js}}}<math><mtext></p><img src=x onerror=${js}>`,
  (js) => `javascript:${js}//<body onload=${js}>`,
  (js) => `<template shadowrootmode=open><script>${js}</script></template>`,
  (js) => `&lt;img src=x onerror=${js}&gt;<base href=//evil.invalid>`,
  (js) => `<link rel=stylesheet href="data:text/css,*{}" onload=${js}>`,
  (js) => `<form action="javascript:${js}"><button autofocus>x</button></form>`,
  (js) => `<video><source onerror=${js}></video>`,
  (js) => `<marquee onstart=${js}>x</marquee>`,
  (js) => `%3Cscript%3E${js}%3C/script%3E`,
  (js) => `__proto__<meta http-equiv=refresh content="0;url=javascript:${js}">`,
  (js) => `constructor"onmouseover=${js} style=position:fixed;inset:0 x="`,
];
const PAYLOADS = SHAPES.flatMap((shape) => SCRIPTS.map(shape));

/** How many elements of each kind a page has. */
const elements = (page) =>
  page.evaluate(() => {
    const count = {};
    for (const { localName } of document.querySelectorAll("*")) count[localName] = (count[localName] ?? 0) + 1;
    return count;
  });

/** A snapshot whose environment has another name. */
function renamed(bytes, from, to) {
  const length = Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.subarray(8, 8 + length).toString("utf8"));
  const metadata = JSON.stringify(header.__metadata__).replaceAll(from, JSON.stringify(to).slice(1, -1));
  const text = Buffer.from(JSON.stringify({ ...header, __metadata__: JSON.parse(metadata) }));
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([size, text, bytes.subarray(8 + length)]);
}

test("markup in file names, in files and in addresses stays text", () =>
  inRoom("#room=adapt&env=bandit", async (page) => {
    assert.equal(PAYLOADS.length, 100);
    const dialogs = [];
    page.on("dialog", (dialog) => (dialogs.push(dialog.message()), dialog.dismiss()));
    const requests = [];
    page.on("request", (request) => requests.push(request.url()));
    await until(page.getByTestId("adapt-status"), /Meta-trained: /);
    const before = await elements(page);
    const status = page.getByTestId("adapt-status");
    for (const payload of PAYLOADS) {
      // A name that is too long for a file is none.
      await page
        .getByTestId("adapt-load")
        .setInputFiles({ name: payload, mimeType: "", buffer: Buffer.from("no snapshot") });
      await page.waitForFunction(
        (text) => document.querySelector("#adapt-status").textContent.startsWith(text),
        payload,
      );
    }
    const inside = renamed(shipped("bandit-meta"), "bandit", PAYLOADS[5]);
    await page.getByTestId("adapt-load").setInputFiles({ name: "inside.safetensors", mimeType: "", buffer: inside });
    await until(status, /^inside\.safetensors: /);
    assert.deepEqual(await elements(page), before);

    for (const payload of PAYLOADS) {
      const text = encodeURIComponent(payload);
      await page.evaluate((hash) => {
        location.hash = hash;
      }, `#room=adapt&env=${text}&task=${text}&algorithm=${text}&set.${text}=${text}`);
      await page.evaluate((hash) => {
        location.hash = hash;
      }, `#${text}`);
    }
    // Nonsense leads to the first room; whoever asks for this one gets what it was.
    await page.goto(`${page.url().replace(/#.*/, "")}#room=adapt&env=bandit`);
    await until(page.locator("#adapt .pulls").first(), /\d/);
    const after = await elements(page);
    for (const kind of [
      "script",
      "img",
      "svg",
      "iframe",
      "object",
      "embed",
      "style",
      "base",
      "link",
      "meta",
      "form",
      "video",
      "math",
      "marquee",
    ]) {
      assert.equal(after[kind], before[kind], kind);
    }
    assert.deepEqual(dialogs, []);
    assert.equal(await page.evaluate(() => globalThis.harmed), undefined);
    assert.deepEqual(
      requests.filter((url) => /harm|evil/.test(url)),
      [],
    );
  }));
