// run-wasm-tests.mjs FILE: run Rust's test harness of a program for wasm32-unknown-unknown. It has no output there, and
// a test that fails traps: the stack says which one it was.
import { readFileSync } from "node:fs";

Error.stackTraceLimit = 100;
const file = process.argv[2];
const { instance } = await WebAssembly.instantiate(readFileSync(file), {});
try {
  const status = instance.exports.main(0, 0);
  if (status !== 0) throw new Error(`the tests ended with status ${status}`);
  console.log("all unit tests passed as WebAssembly");
} catch (error) {
  console.error(error.stack);
  process.exit(1);
}
