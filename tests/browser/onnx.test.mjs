// A policy of the command line as an ONNX model, in the runtime of browsers, by the program of docs/onnx.md.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { withCli } from "./harness/cli.mjs";
import { withPage } from "./harness/page.mjs";

const RUNTIME = fileURLToPath(new URL("./node_modules/onnxruntime-web/dist/", import.meta.url));
const PAGE = fileURLToPath(new URL("../../docs/onnx.md", import.meta.url));
const IMPORT = 'import * as ort from "onnxruntime-web/wasm";\n';
const SMALL = "--steps 256 --threads 1 --eval-every 0 --set envs=2 --set hidden=[8]";
const SEEN = [0, 1, 2, 3, 4].map((t) => [Math.sin(t + 1), Math.cos(3 * t), 2 * Math.sin(5 * t)]);

/**
 * Trains, and gives the actions of the model for observations, one after the other, and the tensors of the policy. A
 * new episode begins where `null` stands in place of an observation.
 */
async function actions(settings, seen) {
  let found;
  await withCli(async (run, folder) => {
    run("train", ...`${settings} ${SMALL} --out run`.split(" "));
    run("export", "run", "-o", "policy.onnx");
    const [, program] = readFileSync(PAGE, "utf8").match(/```js\n(.*?)```/s);
    assert.ok(program.startsWith(IMPORT));
    const modules = 'import * as ort from "/runtime/ort.wasm.bundle.min.mjs";\nort.env.wasm.numThreads = 1;\n';
    writeFileSync(join(folder, "program.js"), `${program.replace(IMPORT, modules)}export { act, reset };\n`);
    writeFileSync(join(folder, "index.html"), '<!doctype html><link rel="icon" href="data:,"><title>test</title>');
    const act = async (seen) => {
      const { act, reset } = await import("/program.js");
      const all = [];
      for (const observation of seen) {
        if (observation) all.push(await act(observation));
        else reset();
      }
      return all;
    };
    const acted = await new Promise((resolve, reject) => {
      const use = async (page) => resolve(await page.evaluate(act, seen));
      withPage(use, { folders: { "/": folder, "/runtime/": RUNTIME } }).catch(reject);
    });
    found = { acted, tensors: tensors(readFileSync(join(folder, "run/last.safetensors"))) };
  });
  return found;
}

/** The tensors of a snapshot as functions of their index. */
function tensors(bytes) {
  const length = Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.subarray(8, 8 + length));
  const floats = (name) => {
    const [from, to] = header[name].data_offsets;
    const start = bytes.byteOffset + 8 + length;
    return new Float32Array(bytes.buffer.slice(start + from, start + to));
  };
  /** weight @ x + bias */
  const linear = (name, x) => {
    const weight = floats(`${name}.weight`);
    return [...floats(`${name}.bias`)].map((b, o) => x.reduce((sum, v, i) => sum + v * weight[o * x.length + i], b));
  };
  return { floats, linear };
}

test("a policy with a normaliser acts as its snapshot says", async () => {
  const { acted, tensors } = await actions("ppo --env pendulum --set normalise_observations=true", SEEN);
  const [mean, std] = ["mean", "std"].map((name) => tensors.floats(`policy.0.${name}`));
  const scaled = SEEN.map((x) => x.map((v, i) => Math.max(-10, Math.min(10, (v - mean[i]) / std[i]))));
  const expected = scaled.map((x) => tensors.linear("policy.2", tensors.linear("policy.1", x).map(Math.tanh))[0]);
  assert.ok(Math.max(...expected.map(Math.abs)) > 1e-3, `${expected}`);
  acted.forEach(([action], t) => assert.ok(Math.abs(action - expected[t]) < 1e-5, `${acted} ${expected}`));
});

test("a policy that remembers acts otherwise where it has seen something else before", async () => {
  const settings = "a2c --env pendulum --set cell=gru --set units=8 --set normalise_observations=false";
  const [x, y] = SEEN;
  const { acted, tensors } = await actions(settings, [x, x, y, null, x]);
  const sigmoid = (v) => 1 / (1 + Math.exp(-v));
  const unit = "policy.gru";
  const product = (gate, h) => {
    const weight = tensors.floats(`${unit}.${gate}.recurrent.weight`);
    const bias = tensors.floats(`${unit}.${gate}.recurrent.bias`);
    return [...bias].map((b, o) => h.reduce((sum, v, i) => sum + v * weight[o * h.length + i], b));
  };
  let h = Array(8).fill(0);
  const expected = [x, x, y].map((seen) => {
    const [z, r, n] = ["update", "reset", "candidate"].map((gate) => tensors.linear(`${unit}.${gate}.input`, seen));
    const [uz, ur, un] = ["update", "reset", "candidate"].map((gate) => product(gate, h));
    h = h.map((old, i) => {
      const kept = sigmoid(z[i] + uz[i]);
      return kept * old + (1 - kept) * Math.tanh(n[i] + sigmoid(r[i] + ur[i]) * un[i]);
    });
    return tensors.linear("policy.1", tensors.linear("policy.0", h).map(Math.tanh))[0];
  });
  assert.ok(Math.abs(expected[0] - expected[1]) > 1e-5, `${expected}`);
  expected.push(expected[0]); // an episode knows nothing of the one before
  acted.forEach(([action], t) => assert.ok(Math.abs(action - expected[t]) < 1e-5, `${acted} ${expected}`));
});

test("choices are numbers of choices", async () => {
  const { acted } = await actions("ppo --env acrobot", [Array(6).fill(0.5)]);
  assert.ok([0, 1, 2].includes(acted[0][0]) && acted[0].length === 1, `${acted}`);
});
