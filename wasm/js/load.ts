import initialise, * as raw from "./quickstudy_wasm.js";

export type Raw = typeof raw;

let loaded: Promise<Raw> | undefined;

/** The bindings on this thread, made once. */
export function load(module: WebAssembly.Module): Promise<Raw> {
  loaded ??= (async () => {
    await initialise({ module_or_path: module });
    return raw;
  })();
  // What failed, such as for want of memory, may be tried again.
  loaded.catch(() => {
    loaded = undefined;
  });
  return loaded;
}
