// The types are found by whoever resolves modules as Node or as bundlers do.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { fixture } from "./harness/page.mjs";

const tsc = fileURLToPath(new URL("node_modules/.bin/tsc", import.meta.url));

for (const [module, resolution] of [
  ["NodeNext", "NodeNext"],
  ["ESNext", "Bundler"],
]) {
  test(`types are found with moduleResolution ${resolution}`, () => {
    const flags = [
      "--noEmit",
      "--strict",
      "--target",
      "ES2022",
      "--types",
      "",
      "--module",
      module,
      "--moduleResolution",
      resolution,
    ];
    const { status, stdout } = spawnSync(tsc, [...flags, `${fixture("types")}use.ts`], { encoding: "utf8" });
    assert.equal(stdout, "");
    assert.equal(status, 0);
  });
}
