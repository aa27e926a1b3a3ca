// The types are found by whoever resolves modules as Node or as bundlers do.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { catalogue } from "quickstudy";
import { fixture } from "./harness/page.mjs";

const tsc = fileURLToPath(new URL("node_modules/.bin/tsc", import.meta.url));

/** Compiles a file of the fixture as a user would. */
function compiles(file, module, resolution) {
  const target = ["--noEmit", "--strict", "--target", "ES2022", "--types", ""];
  const modules = ["--module", module, "--moduleResolution", resolution];
  const path = `${fixture("types")}${file}`;
  const { status, stdout } = spawnSync(tsc, [...target, ...modules, path], { encoding: "utf8" });
  assert.equal(stdout, "");
  assert.equal(status, 0);
}

for (const [module, resolution] of [
  ["NodeNext", "NodeNext"],
  ["ESNext", "Bundler"],
]) {
  test(`types are found with moduleResolution ${resolution}`, () => compiles("use.ts", module, resolution));
}

test("types of settings have each setting of each algorithm, and take its default", async () => {
  const { algorithms } = await catalogue();
  const lines = algorithms.map(({ name, settings }) => {
    const defaults = Object.fromEntries(settings.map((setting) => [setting.key, setting.default]));
    return `  ${JSON.stringify(name)}: ${JSON.stringify(defaults)},\n`;
  });
  const all = "{ [A in keyof Configs]: Required<Configs[A]> }";
  const text = `import type { Configs } from "quickstudy";\nexport const all: ${all} = {\n${lines.join("")}};\n`;
  const file = "all-settings.ts";
  try {
    writeFileSync(`${fixture("types")}${file}`, text);
    compiles(file, "NodeNext", "NodeNext");
  } finally {
    rmSync(`${fixture("types")}${file}`, { force: true });
  }
});
