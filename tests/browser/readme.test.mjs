// The examples of the package's README run as they are written: in Node, and in a page.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { PACKAGE, withPage } from "./harness/page.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const examples = [...readFileSync(join(PACKAGE, "README.md"), "utf8").matchAll(/```js\n([\s\S]*?)```/g)].map(
  ([, text]) => text,
);

/** What each example must print in the end. */
const expected = [
  (lines) => {
    const [, mean] = /mean return ([\d.]+)/.exec(lines.join("\n"));
    assert.ok(Number(mean) >= 475, `mean return ${mean}`);
    assert.match(lines.at(-1), /^snapshot \d+ bytes$/);
  },
  (lines) => {
    const means = lines.map((line) => Number(line.split(" ").at(-1)));
    // The best arm pays 0.9; in the first pull nothing is known of it.
    assert.ok(means.length === 10 && means.at(-1) > 0.6 && means.at(-1) > means[0] + 0.1, lines.join("\n"));
  },
  (lines) => assert.ok(Number(lines.at(-1).split(" ").at(-1)) > 0.4, lines.at(-1)),
];

assert.equal(examples.length, expected.length, "the README has as many examples as are checked here");

examples.forEach((text, i) => {
  test(`example ${i + 1} in Node`, () => {
    // Beside node_modules, where the package is installed.
    const folder = mkdtempSync(join(here, ".example-"));
    try {
      writeFileSync(join(folder, "example.mjs"), text);
      const output = execFileSync(process.execPath, ["example.mjs"], {
        cwd: folder,
        encoding: "utf8",
        timeout: 200_000,
      });
      expected[i](output.trim().split("\n"));
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test(`example ${i + 1} in a page`, async () => {
    const folder = mkdtempSync(join(here, ".example-"));
    try {
      writeFileSync(join(folder, "example.js"), text.replace('"quickstudy"', '"/quickstudy/index.js"'));
      await withPage(
        async (page) => {
          const lines = [];
          page.on("console", (message) => lines.push(message.text()));
          await page.evaluate(() => import("/example/example.js"));
          expected[i](lines);
        },
        { folders: { "/example/": folder } },
      );
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
