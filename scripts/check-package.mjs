#!/usr/bin/env node
// What is in the built npm package and how large it is. Fails where it holds anything but modules, types, documents and
// licences, would run or fetch anything else when it is installed, or is too large.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, gzipSync } from "node:zlib";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = join(root, "wasm");
// Bytes, compressed by gzip.
const LARGEST = { "dist/quickstudy_wasm_bg.wasm": 1_450_000 };
const NEEDED = [
  "LICENSE-APACHE",
  "LICENSE-MIT",
  "README.md",
  "THIRD-PARTY-NOTICES.txt",
  "dist/index.d.ts",
  "dist/index.js",
  "dist/quickstudy_wasm_bg.wasm",
  "dist/worker.js",
  "package.json",
];
const ALLOWED =
  /^(dist\/(page\/)?[\w-]+\.(js|d\.ts|wasm|wasm\.d\.ts)|README\.md|LICENSE-\w+|THIRD-PARTY-\w+\.txt|package\.json)$/;

const faults = [];
const [{ files, version }] = JSON.parse(
  execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], { cwd: folder, encoding: "utf8" }),
);
const paths = files.map((file) => file.path);
for (const path of NEEDED) if (!paths.includes(path)) faults.push(`${path} is missing`);
for (const path of paths) if (!ALLOWED.test(path)) faults.push(`${path} does not belong into the package`);

const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
for (const kind of ["dependencies", "optionalDependencies", "peerDependencies", "bundleDependencies"]) {
  if (kind in manifest) faults.push(`package.json has ${kind}`);
}
for (const script of ["preinstall", "install", "postinstall", "prepare"]) {
  if (script in (manifest.scripts ?? {})) faults.push(`package.json runs a script on ${script}`);
}
const ofWorkspace = /\[workspace\.package\][^[]*?\nversion = "(.*)"/.exec(
  readFileSync(join(root, "Cargo.toml"), "utf8"),
)?.[1];
if (version !== ofWorkspace) faults.push(`package.json has version ${version}, Cargo.toml ${ofWorkspace}`);

const total = { bytes: 0, gzip: 0, brotli: 0 };
const print = (name, { bytes, gzip, brotli }) => {
  console.log([name.padEnd(30), ...[bytes, gzip, brotli].map((n) => n.toLocaleString("en").padStart(11))].join(""));
};
console.log(["file".padEnd(30), ...["bytes", "gzip", "brotli"].map((name) => name.padStart(11))].join(""));
for (const path of paths.filter((path) => /\.(js|wasm)$/.test(path))) {
  const content = readFileSync(join(folder, path));
  const size = {
    bytes: content.length,
    gzip: gzipSync(content, { level: 9 }).length,
    brotli: brotliCompressSync(content).length,
  };
  for (const key in total) total[key] += size[key];
  print(path, size);
  if (path.endsWith(".wasm") && !(size.gzip <= LARGEST[path])) {
    faults.push(`${path} has ${size.gzip} bytes compressed by gzip, more than ${LARGEST[path]}`);
  }
}
print("all", total);

for (const fault of faults) console.error(`error: ${fault}`);
process.exitCode = faults.length ? 1 : 0;
