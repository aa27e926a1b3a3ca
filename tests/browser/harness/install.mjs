// Puts the built package where dependencies are, through its tarball: the tests see exactly what people get.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const source = fileURLToPath(new URL("../../../wasm", import.meta.url));
const installed = fileURLToPath(new URL("../node_modules/quickstudy", import.meta.url));

if (!existsSync(join(source, "dist/index.js"))) {
  throw new Error("wasm/dist is missing: run scripts/build-package.sh first");
}
const folder = mkdtempSync(join(tmpdir(), "quickstudy-"));
try {
  const report = execFileSync("npm", ["pack", "--json", "--pack-destination", folder], {
    cwd: source,
    encoding: "utf8",
  });
  rmSync(installed, { recursive: true, force: true });
  mkdirSync(installed, { recursive: true });
  execFileSync("tar", ["-xzf", join(folder, JSON.parse(report)[0].filename), "-C", installed, "--strip-components=1"]);
} finally {
  rmSync(folder, { recursive: true });
}
