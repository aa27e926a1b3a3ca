/** What is needed of Node.js. */
interface Files {
  readFile(url: URL): Promise<Uint8Array<ArrayBuffer>>;
}

/** Where the WebAssembly is. Written out so that bundlers see the file. */
function location(): URL {
  return new URL("./quickstudy_wasm_bg.wasm", import.meta.url);
}

/** Whether this is Node.js, whose `fetch` reads no files. */
export function inNode(): boolean {
  return (globalThis as { process?: { versions?: { node?: string } } }).process?.versions?.node !== undefined;
}

/** The compiled module, which workers can be sent. */
export async function compile(): Promise<WebAssembly.Module> {
  if (inNode()) {
    // Put together, so that bundlers do not look for it: a page has no files.
    const name = ["node:fs", "promises"].join("/");
    const files = (await import(/* @vite-ignore */ /* webpackIgnore: true */ name)) as Files;
    return WebAssembly.compile(await files.readFile(location()));
  }
  const response = await fetch(location());
  if (!response.ok) {
    throw new Error(`${location().href} answered ${response.status}`);
  }
  // Servers that do not know the type of .wasm files are common; they cost a copy only.
  return response.headers.get("content-type")?.startsWith("application/wasm")
    ? WebAssembly.compileStreaming(response)
    : WebAssembly.compile(await response.arrayBuffer());
}
