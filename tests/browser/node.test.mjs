// Servers import what only browsers run: the import alone must do nothing.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { fixture } from "./harness/page.mjs";

test("importing in Node touches nothing of a browser, and the process ends by itself", () => {
  const script = `${fixture("node")}import.mjs`;
  const { names, touched, added } = JSON.parse(
    execFileSync(process.execPath, [script], { encoding: "utf8", timeout: 60_000 }),
  );
  assert.ok(names.includes("version"));
  assert.deepEqual(touched, []);
  assert.equal(added, 0);
});
