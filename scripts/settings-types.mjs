#!/usr/bin/env node
// settings-types.mjs: types of the settings of all algorithms for TypeScript, from the bindings in wasm/build.
import { readFileSync } from "node:fs";
import initialise, { describe } from "../wasm/build/quickstudy_wasm.js";

const WIDTH = 120;

await initialise({ module_or_path: readFileSync(new URL("../wasm/build/quickstudy_wasm_bg.wasm", import.meta.url)) });
const { algorithms } = describe();

/** A comment of documentation, on one line if it fits there. */
function comment(indent, text) {
  const line = `${indent}/** ${text} */`;
  if (line.length <= WIDTH) return line;
  const lines = [`${indent}/**`, `${indent} *`];
  for (const word of text.split(" ")) {
    if (`${lines.at(-1)} ${word}`.length > WIDTH) lines.push(`${indent} *`);
    lines[lines.length - 1] += ` ${word}`;
  }
  return [...lines, `${indent} */`].join("\n");
}

/** The type of a setting. */
function type({ range, default: value }) {
  if (Array.isArray(value)) return "number[]";
  if (typeof value !== "string") return typeof value;
  return range
    .split(", ")
    .map((word) => `"${word}"`)
    .join(" | ");
}

/** `PpoConfig`, `MamlTrpoConfig`. */
const interfaceOf = (name) => `${name.replace(/(^|-)./g, (start) => start.at(-1).toUpperCase())}Config`;

for (const { name, meaning, settings } of algorithms) {
  console.log(comment("", `Settings of \`${name}\`: ${meaning}.`));
  console.log(`export interface ${interfaceOf(name)} {`);
  for (const setting of settings) {
    const { key, range } = setting;
    const values = `Values: ${range}; default ${JSON.stringify(setting.default).replaceAll(",", ", ")}.`;
    console.log(comment("  ", `${setting.meaning.replace(/\.+$/, "")}. ${values}`));
    console.log(`  ${key}?: ${type(setting)};`);
  }
  console.log("}\n");
}
console.log("/** Settings by algorithm. */\nexport interface Configs {");
for (const { name } of algorithms) console.log(`  "${name}": ${interfaceOf(name)};`);
console.log("}\n\n/** Names of the algorithms. */\nexport type AlgorithmName = keyof Configs;");
