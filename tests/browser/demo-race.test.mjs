// Learn with a rival: two runs at once, seconds against seconds.
import assert from "node:assert/strict";
import { test } from "node:test";
import { inRoom, PATIENCE, until } from "./harness/demo.mjs";

const desktop = { context: { viewport: { width: 1440, height: 900 }, colorScheme: "light" } };
const LEAD = /^([\d.]+ ahead: (PPO|DQN)|Level)$/;
const described = (page) => page.locator("#learn-curve-described");

/** Lets the page note how the lines of its timeline are drawn: colours, dashes and labels. */
const noteLines = (page) =>
  page.evaluate(() => {
    globalThis.drawn = [];
    const { stroke, fillText } = CanvasRenderingContext2D.prototype;
    const mine = (context) => context.canvas.parentElement?.id === "learn-curve";
    CanvasRenderingContext2D.prototype.stroke = function (...path) {
      if (mine(this)) drawn.push({ colour: this.strokeStyle, dash: this.getLineDash().join(" ") });
      return stroke.apply(this, path);
    };
    CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
      if (mine(this)) drawn.push({ colour: this.fillStyle, text });
      return fillText.call(this, text, ...place);
    };
  });
/** Waits until something was drawn so. */
const drew = (page, wanted) =>
  page.waitForFunction(
    (some) => globalThis.drawn.some((one) => Object.entries(some).every(([key, value]) => one[key] === value)),
    wanted,
    PATIENCE,
  );
/** Pixels of the stage that are as orange as the rival. */
const orange = (page) =>
  page.locator("#learn-canvas").evaluate((canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    let count = 0;
    for (let at = 0; at < data.length; at += 4) {
      if (data[at] > 140 && data[at] > 1.8 * data[at + 1] && data[at + 2] < 60) count += 1;
    }
    return count;
  });

test("a rival trains beside one's own run: a dashed orange line, an agent on the stage, and who leads", () =>
  inRoom(
    "#room=learn&env=cartpole&algorithm=ppo",
    async (page) => {
      const room = page.locator("#learn");
      await until(room.getByTestId("status"), /Ready/);
      assert.equal(await orange(page), 0);
      await noteLines(page);
      // Those with a recorded run come first.
      const offered = await room.getByTestId("rival").locator("option").allTextContents();
      assert.deepEqual(offered.slice(0, 2), ["Race against …", "against A2C"]);
      assert.ok(offered.length > 5 && !offered.includes("against PPO"), offered.join());
      await room.getByTestId("rival").selectOption("a2c");
      await page.waitForFunction(() => /rival=a2c/.test(location.hash), undefined, PATIENCE);
      // Before a run, both recorded ones, in grey.
      await until(described(page), /the rival's, recorded: .*; recorded: /);
      await drew(page, { text: "A2C, recorded", colour: "#56606c" });
      await until(room.getByTestId("latest"), LEAD);
      while ((await orange(page)) === 0) await page.waitForTimeout(50);

      await room.getByTestId("train").click();
      await until(described(page), /the rival's: \S+ at first.*yours: \S+ at first/);
      await drew(page, { colour: "#d55e00", dash: "7 5" });
      await drew(page, { text: "A2C", colour: "#a84700" });
      await drew(page, { text: "PPO", colour: "#005587" });
      await until(room.getByTestId("latest"), LEAD);
      assert.ok((await orange(page)) > 0);
      // In grey, the rival's line is interrupted, one's own is not. A line that has just begun is one dash.
      const begun = Date.now();
      let { "#0072b2": solid, "#d55e00": dashed } = await inked(page);
      while (dashed >= 0.9 && Date.now() - begun < PATIENCE.timeout) {
        await page.waitForTimeout(250);
        ({ "#0072b2": solid, "#d55e00": dashed } = await inked(page));
      }
      assert.ok(solid > 0.97 && dashed < 0.9 && dashed > 0.3, `inked: ${solid} of one's own, ${dashed} of the rival's`);

      // Both hold, and go on, together.
      await room.getByTestId("train").click();
      await until(room.getByTestId("status"), /^Paused/);
      await page.waitForTimeout(1500);
      const held = await described(page).textContent();
      await page.waitForTimeout(1500);
      assert.equal(await described(page).textContent(), held);
      const [, theirs, mine] = /the rival's: .*? after (\d+) s.*yours: .*? after (\d+) s/.exec(held);
      console.log(`the rival has trained for ${theirs} s, the run for ${mine} s`);

      // Another rival, or none, leaves one's own run as it is.
      const figures = await room.getByTestId("figures").textContent();
      await room.getByTestId("rival").selectOption("");
      await page.waitForFunction(() => !/rival/.test(location.hash), undefined, PATIENCE);
      await until(described(page), /^(?!.*rival).*yours: /);
      assert.equal(await room.getByTestId("figures").textContent(), figures);
      await until(room.getByTestId("latest"), /^Return /);
    },
    desktop,
  ));

/**
 * The race painted once more by the page's own calls, in grey and each line alone: parts of a line's length that are
 * inked. Whoever sees no colours tells lines by that.
 */
const inked = (page) =>
  page.evaluate(async () => {
    const { stroke } = CanvasRenderingContext2D.prototype;
    const shares = {};
    const { promise, resolve } = Promise.withResolvers();
    const pointsOf = new WeakMap();
    const { lineTo } = Path2D.prototype;
    const mine = (context) => context.canvas.parentElement?.id === "learn-curve";
    Path2D.prototype.lineTo = function (x, y) {
      if (!pointsOf.has(this)) pointsOf.set(this, []);
      pointsOf.get(this).push([x, y]);
      return lineTo.call(this, x, y);
    };
    CanvasRenderingContext2D.prototype.stroke = function (...path) {
      const points = pointsOf.get(path[0]) ?? [];
      if (mine(this) && this.lineWidth >= 2.5 && points.length > 1) {
        // The line alone on white, as grey as a screenshot would be.
        const { width, height } = this.canvas;
        const alone = Object.assign(document.createElement("canvas"), { width, height }).getContext("2d");
        alone.fillStyle = "#fff";
        alone.fillRect(0, 0, width, height);
        alone.setTransform(this.getTransform());
        for (const key of ["strokeStyle", "lineWidth", "lineJoin", "lineCap"]) alone[key] = this[key];
        alone.setLineDash(this.getLineDash());
        stroke.apply(alone, path);
        const { data } = alone.getImageData(0, 0, width, height);
        const { a } = this.getTransform();
        let [all, dark] = [0, 0];
        for (let i = 1; i < points.length; i++) {
          const [[x, y], [x2, y2]] = [points[i - 1], points[i]];
          const steps = Math.ceil(2 * Math.hypot(x2 - x, y2 - y));
          for (let at = 0; at < steps; at++) {
            const along = [x + ((x2 - x) * at) / steps, y + ((y2 - y) * at) / steps];
            const [left, top] = along.map((value) => Math.round(value * a));
            const [r, g, b] = data.subarray(4 * (top * width + left));
            all += 1;
            if (0.2126 * r + 0.7152 * g + 0.0722 * b < 200) dark += 1;
          }
        }
        if (all > 60) shares[this.strokeStyle] = dark / all;
        if (Object.keys(shares).length === 2) resolve();
      }
      return stroke.apply(this, path);
    };
    await promise;
    CanvasRenderingContext2D.prototype.stroke = stroke;
    Path2D.prototype.lineTo = lineTo;
    return shares;
  });

test("cheetahs race over one ground, and the number says by how many metres", () =>
  inRoom(
    "#room=learn&env=half-cheetah&rival=sac",
    async (page) => {
      const room = page.locator("#learn");
      await until(room.getByTestId("latest"), /^\d+\.\d m ahead: (PPO|SAC)$/);
      assert.ok((await orange(page)) > 100);
      await until(room.getByTestId("status"), /Ready/);
      await room.getByTestId("train").click();
      await until(described(page), /the rival's: /);
      await until(room.getByTestId("latest"), /^\d+\.\d m ahead: (PPO|SAC)$/);
    },
    desktop,
  ));
