import { QuickstudyError } from "./errors.js";

/** What `bodies.wasm` has: see `wasm/bodies/src/lib.rs`. */
interface Exports {
  memory: WebAssembly.Memory;
  room(words: number): number;
  call(request: number, env: number): number;
  answer(): number;
}

/** Bodies and machines, in a module of their own that shares no memory with the rest: words are copied. */
export class Bodies {
  #exports: Exports;
  /** The module's memory, made anew where it has grown. */
  #words: Uint32Array;

  private constructor(exports: Exports) {
    this.#exports = exports;
    this.#words = new Uint32Array(exports.memory.buffer);
  }

  static async start(module: WebAssembly.Module): Promise<Bodies> {
    return new Bodies((await WebAssembly.instantiate(module)).exports as unknown as Exports);
  }

  get #memory(): Uint32Array {
    if (this.#words.length === 0) {
      this.#words = new Uint32Array(this.#exports.memory.buffer);
    }
    return this.#words;
  }

  /** Has a question answered; how many words the answer has, of which `reply` gets as many as fit. */
  call(request: number, env: number, words: Uint32Array, reply: Uint32Array): number {
    const { room, call, answer } = this.#exports;
    try {
      const at = room(words.length) / 4;
      this.#memory.set(words, at);
      const length = call(request, env);
      const from = answer() / 4;
      reply.set(this.#memory.subarray(from, from + Math.min(length, reply.length)));
      return length;
    } catch (cause) {
      throw new QuickstudyError("internal", "the module of bodies failed, please report it", { cause });
    }
  }
}
