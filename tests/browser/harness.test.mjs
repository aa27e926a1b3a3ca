// What the other tests rely on: that a page where something goes wrong fails.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fixture, withPage } from "./harness/page.mjs";

/** A page on which `code` runs fails with `message`. */
const fails = (message, code, options) =>
  assert.rejects(
    withPage((page) => page.evaluate(code), options),
    message,
  );

const faults = { folders: { "/faults/": fixture("faults") } };

test("a page without faults passes", () => withPage((page) => page.evaluate(() => document.title)));

test("an error on the console fails", () => fails(/console: broken/, () => console.error("broken")));

test("an error on a worker's console fails", () =>
  fails(
    /console: broken/,
    () =>
      new Promise((resolve) => (new Worker("/faults/console.js", { type: "module" }).onmessage = resolve)).then(
        () => {},
      ),
    faults,
  ));

test("an exception in a worker fails", () =>
  fails(
    /broken/,
    () =>
      new Promise((resolve) => (new Worker("/faults/exception.js", { type: "module" }).onmessage = resolve)).then(
        () => {},
      ),
    faults,
  ));

test("an exception that nobody caught fails", () =>
  fails(
    /exception: .*broken/,
    () =>
      void setTimeout(() => {
        throw new Error("broken");
      }),
  ));

test("a promise that nobody caught fails", () =>
  fails(/exception: .*broken/, () => void Promise.reject(new Error("broken"))));

test("a missing file fails", () => fails(/404: .*nowhere/, () => fetch("/nowhere").then(() => {})));

test("a script within the page violates the policy and fails", () =>
  fails(/Content Security Policy/, () => {
    const script = document.createElement("script");
    script.textContent = "globalThis.allowed = true";
    document.head.append(script);
    if (globalThis.allowed) throw new Error("the policy allows it");
  }));

test("text run as code violates the policy and fails", () => fails(/unsafe-eval|EvalError/, () => setTimeout("1 + 1")));

test("another site violates the policy and fails", () =>
  fails(/Content Security Policy/, () => fetch("https://example.org/").catch(() => {})));

test("a failed assertion fails", () =>
  assert.rejects(
    withPage(() => assert.equal(1, 2)),
    /1 !== 2/,
  ));
