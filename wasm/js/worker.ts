import { Engine } from "./engine.js";
import { describeError } from "./errors.js";
import type { Call, Reply } from "./thread.js";

const engine = new Engine();

/** The memory behind an answer, which moves instead of being copied. */
function transfers(value: unknown): Transferable[] {
  if (ArrayBuffer.isView(value)) {
    return [value.buffer as ArrayBuffer];
  }
  return Array.isArray(value) && value.every((item) => ArrayBuffer.isView(item))
    ? value.map((item: ArrayBufferView) => item.buffer as ArrayBuffer)
    : [];
}

const scope = globalThis as unknown as {
  onmessage: ((event: MessageEvent<Call>) => void) | null;
  postMessage(message: Reply, transfer?: Transferable[]): void;
};

scope.onmessage = ({ data: { id, method, args } }) => {
  const answer = (engine[method] as (...args: unknown[]) => Promise<unknown>).apply(engine, args);
  answer.then(
    (value) => scope.postMessage({ id, value }, transfers(value)),
    (error: unknown) => scope.postMessage({ id, error: describeError(error) }),
  );
};
