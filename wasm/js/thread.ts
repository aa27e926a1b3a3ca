import { compile, inNode } from "./compile.js";
import type { Engine } from "./engine.js";
import { DeviceError, asError, describeError, type ErrorMessage } from "./errors.js";

/** The calls of an engine, wherever it is. */
export type Remote = {
  [K in keyof Engine]: Engine[K] extends (...args: infer A) => infer R ? (...args: A) => R : never;
};

/** A call to a worker's engine. */
export interface Call {
  id: number;
  method: keyof Engine;
  args: unknown[];
}

/** What it came to. */
export type Reply = { id: number; value: unknown } | { id: number; error: ErrorMessage };

/** A thread with an engine. */
export interface Thread {
  engine: Remote;
  /** Whether it is the caller's, which must be given time to breathe. */
  local: boolean;
  /** Ends it; calls that are not answered fail. */
  end(): void;
}

let module: Promise<WebAssembly.Module> | undefined;

/** The module, compiled once for all threads. */
function compiled(): Promise<WebAssembly.Module> {
  module ??= compile();
  module.catch(() => {
    module = undefined;
  });
  return module;
}

/** Whether there can be workers. */
export function workersExist(): boolean {
  return typeof Worker !== "undefined" && !inNode();
}

/** An engine on the calling thread. */
export async function localThread(): Promise<Thread> {
  const module = compiled();
  // Pages that train in workers load the bindings there only.
  const { Engine } = await import("./engine.js");
  const engine = new Engine();
  await engine.start(await module);
  return { engine, local: true, end() {} };
}

/** An engine on a worker of its own. */
export async function workerThread(): Promise<Thread> {
  // Written out so that bundlers see the file.
  const worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module", name: "quickstudy" });
  const waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: unknown) => void }>();
  let next = 1;
  let ended: Error | undefined;
  const fail = (error: Error): void => {
    ended = error;
    waiting.forEach(({ reject }) => reject(error));
    waiting.clear();
  };
  worker.onmessage = ({ data }: MessageEvent<Reply>) => {
    const call = waiting.get(data.id);
    waiting.delete(data.id);
    if ("error" in data) {
      call?.reject(asError(data.error));
    } else {
      call?.resolve(data.value);
    }
  };
  worker.onerror = (event) => {
    const why = event.message ? `: ${event.message}` : "; does the page's Content-Security-Policy allow it?";
    fail(new DeviceError("device", `the worker cannot run${why}`));
  };
  const call = (method: keyof Engine, args: unknown[]): Promise<unknown> =>
    new Promise((resolve, reject) => {
      if (ended) {
        reject(ended);
        return;
      }
      const id = next++;
      waiting.set(id, { resolve, reject });
      try {
        worker.postMessage({ id, method, args } satisfies Call);
      } catch (error) {
        waiting.delete(id);
        reject(asError(describeError(error)));
      }
    });
  const engine = new Proxy({} as Remote, {
    get: (_, method) => (method === "then" ? undefined : (...args: unknown[]) => call(method as keyof Engine, args)),
  });
  const end = (): void => {
    worker.terminate();
    fail(new DeviceError("device", "the worker was ended"));
  };
  try {
    await engine.start(await compiled());
  } catch (error) {
    end();
    throw error;
  }
  return { engine, local: false, end };
}
