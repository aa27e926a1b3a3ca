#!/usr/bin/env node
// notices.mjs CRATE TARGET: licences of the crates that are compiled into this one, for people to whom it is passed on.
import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const [CRATE, TARGET] = process.argv.slice(2);
const cargo = (...args) =>
  execFileSync("cargo", [...args, "--locked"], { cwd: root, encoding: "utf8", maxBuffer: 1 << 28 });

// What runs while compiling only is not passed on.
const tree = ["-p", CRATE, "--target", TARGET, "-e", "normal,no-proc-macro", "--prefix", "none"];
const contained = new Set(
  cargo("tree", ...tree, "--format", "{p}")
    .split("\n")
    .map((line) => line.split(" ").slice(0, 2).join(" ")),
);
const { packages } = JSON.parse(cargo("metadata", "--format-version", "1", "--filter-platform", TARGET));
const foreign = packages.filter(({ name, version, source }) => source !== null && contained.has(`${name} v${version}`));

/** Texts of the licence that we choose where there is a choice: MIT's, which names the holders of the copyright. */
const texts = (one) => {
  const folder = dirname(one.manifest_path);
  const files = readdirSync(folder).filter((name) => /^(licen[cs]e|copying|notice|unlicense)/i.test(name));
  const mit = files.filter((name) => /mit/i.test(name));
  return (mit.length ? mit : files).sort().map((name) => readFileSync(join(folder, name), "utf8").trim());
};

const byText = new Map();
for (const one of foreign.sort((a, b) => a.name.localeCompare(b.name))) {
  const all = texts(one);
  const text = all.length
    ? all.join("\n\n")
    : `${one.license}: its text does not come with the crate, see ${one.repository}`;
  byText.set(text, [...(byText.get(text) ?? []), `${one.name} ${one.version} (${one.license})`]);
}

const rule = "-".repeat(80);
console.log(
  "What is compiled into this package: the Rust standard library " +
    "(MIT OR Apache-2.0, https://github.com/rust-lang/rust)",
);
console.log("and these crates:");
for (const [text, names] of byText) console.log(`\n${rule}\n${names.join("\n")}\n${rule}\n\n${text}`);
