// Long runs: how kept policies are thinned, and how the axis of the curve grows. Modules of the page, by themselves.
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { test } from "node:test";
import { createServer } from "vite";

/** Modules of the page's source, as Vite would serve them. */
async function source(...names) {
  const root = fileURLToPath(new URL("../../web-demo/", import.meta.url));
  const server = await createServer({
    root,
    configFile: false,
    logLevel: "error",
    server: { middlewareMode: true, ws: false },
    optimizeDeps: { noDiscovery: true },
    appType: "custom",
  });
  try {
    return await Promise.all(names.map((name) => server.ssrLoadModule(`/src/${name}.ts`)));
  } finally {
    await server.close();
  }
}

const [{ History, AGES }] = await source("history");

/** A run whose policies have so many bytes, which name the second that they are of. */
async function trained(seconds, size) {
  const history = new History();
  const run = {
    session: Promise.resolve({
      policyBytes: () => {
        const bytes = new Uint8Array(size);
        new DataView(bytes.buffer).setUint32(0, history.seconds);
        return Promise.resolve([bytes]);
      },
    }),
  };
  let most = 0;
  for (let second = 0; second <= seconds; second++) {
    Object.assign(history, { seconds: second, envSteps: 1000 * second, value: second });
    await history.keep(run);
    most = Math.max(most, history.kept);
  }
  return { history, most };
}
const named = ({ bytes }) => new DataView(bytes.buffer).getUint32(0);

test("of an hour few policies are kept: those of ages, the first, the last, and some of every stretch", async () => {
  const { history, most } = await trained(3600, 100);
  assert.ok(most <= 240 && history.kept > 100, `${most} at most, ${history.kept} in the end`);
  for (const age of AGES) assert.equal(history.age(age).seconds, age);
  assert.equal(history.nearest(0).seconds, 0);
  assert.equal(history.newest.seconds, 3600);
  let widest = 0;
  for (let second = 0; second <= 3600; second += 5) {
    const kept = history.nearest(second);
    assert.equal(named(kept), kept.seconds, "a policy is of the second that it is kept for");
    widest = Math.max(widest, Math.abs(kept.seconds - second));
  }
  // An hour by 240 is one each 15 s; where it was thinned last, every second one is gone.
  assert.ok(widest <= 32, `${widest} s to the nearest one`);
});

test("policies that are large are kept until they fill 48 MiB", async () => {
  const size = 1 << 20;
  const { history, most } = await trained(120, size);
  assert.ok(most <= 48 && history.kept >= 20, `${most} at most, ${history.kept} in the end`);
  for (const age of AGES) assert.equal(named(history.age(age)), age);
});

test("runs that are short keep a policy of each second", async () => {
  const { history } = await trained(200, 100);
  for (let second = 0; second <= 200; second++) assert.equal(history.nearest(second).seconds, second);
});
