// Pictures get onto a canvas the same way one by one and hundreds at once.
import assert from "node:assert/strict";
import { test } from "node:test";
import { withPage } from "./harness/page.mjs";

for (const env of ["cartpole", "mountain-car", "grid-world", "pendulum"]) {
  test(`a grid of ${env} shows what single pictures show`, () =>
    withPage(async (page) => {
      const { different, painted, placed } = await page.evaluate(async (name) => {
        const { createSession, paint, paintGrid, place, scenes, Viewer } = await import("/quickstudy/index.js");
        const session = await createSession({ algorithm: "ppo", env: name, device: "cpu" });
        const policy = await session.policy();
        const viewer = await Viewer.open(policy, 12);
        for (let i = 0; i < 5; i++) await viewer.advance();
        const all = [...scenes(await viewer.scenes())];
        const [columns, width, height, gap] = [4, 480, 360, 2];
        const canvas = () => {
          const made = Object.assign(document.createElement("canvas"), { width, height }).getContext("2d");
          made.fillStyle = "#fff";
          made.fillRect(0, 0, width, height);
          return made;
        };
        const [single, grid] = [canvas(), canvas()];
        const [across, down] = [width / columns, height / 3];
        all.forEach((scene, i) => {
          const [left, top] = [(i % columns) * across, Math.floor(i / columns) * down];
          paint(single, scene, left + 1, top + 1, across - gap, down - gap);
        });
        paintGrid(grid, all, columns, width, height, gap);
        const [a, b] = [single, grid].map((one) => one.getImageData(0, 0, width, height).data);
        let [different, painted] = [0, 0];
        for (let i = 0; i < a.length; i++) {
          if (Math.abs(a[i] - b[i]) > 64) different += 1;
          if (a[i] < 250) painted += 1;
        }
        const { scale, x, y } = place([-1, 1, -1, 1], 0, 0, 200, 100);
        return { different, painted, placed: [scale, x, y] };
      }, env);
      assert.ok(painted > 1000, `${painted} numbers of pixels are painted`);
      // Edges that touch are blended once instead of twice.
      assert.ok(different < 0.01 * painted, `${different} of ${painted} differ`);
      assert.deepEqual(placed, [50, 100, 50], "in the middle, as large as fits");
    }));
}
