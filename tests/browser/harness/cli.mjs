// The command line of the same sources, for what moves between it and the browser.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const binary = join(process.env.CARGO_TARGET_DIR ?? join(root, "target"), "release/quickstudy");

/**
 * Runs the command line in a folder that is gone afterwards: `use(run, folder, start)`, where `run(...arguments)` gives
 * its output, and `start(arguments, environment)` a process that goes on and is ended at the latest with `use`.
 */
export async function withCli(use) {
  if (!existsSync(binary)) throw new Error(`${binary} is missing: run cargo build --release first`);
  const folder = mkdtempSync(join(tmpdir(), "quickstudy-cli-"));
  const run = (...args) => execFileSync(binary, args, { cwd: folder, encoding: "utf8", timeout: 240_000 });
  const started = [];
  const start = (args, env = {}) => {
    const stdio = ["ignore", "pipe", "pipe"];
    const child = spawn(binary, args, { cwd: folder, env: { ...process.env, ...env }, stdio });
    started.push(child);
    return child;
  };
  try {
    await use(run, folder, start);
  } finally {
    for (const child of started) child.kill("SIGKILL");
    rmSync(folder, { recursive: true });
  }
}

/**
 * The parameters of a snapshot (a safetensors file, see docs/snapshots.md) as f32 numbers, one tensor after the other.
 */
export function parameters(bytes) {
  const length = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
  const names = Object.keys(header).filter((name) => /^(policy|value|q)\..*(weight|bias|log_std)$/.test(name));
  if (!names.length) throw new Error("no parameters");
  const tensors = names.sort().map((name) => {
    const [from, to] = header[name].data_offsets;
    return [...new Float32Array(bytes.slice(8 + length + from, 8 + length + to).buffer)];
  });
  return tensors.flat();
}

/** ‖a − b‖ over ‖b‖. */
export function distance(a, b) {
  if (a.length !== b.length) throw new Error(`${a.length} numbers against ${b.length}`);
  const norm = (of) => Math.sqrt(b.reduce((sum, _, i) => sum + of(i) ** 2, 0));
  return norm((i) => a[i] - b[i]) / norm((i) => b[i]);
}

/** Bytes as text and back: what crosses between the test and a page. */
export const toBase64 = (bytes) => Buffer.from(bytes).toString("base64");
export const fromBase64 = (text) => new Uint8Array(Buffer.from(text, "base64"));
