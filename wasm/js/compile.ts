import { DeviceError } from "./errors.js";

/** What is needed of Node.js. */
interface Files {
  readFile(url: URL): Promise<Uint8Array<ArrayBuffer>>;
}

/** Where the module of WebAssembly is. Written out so that bundlers see the file. */
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
  const { href } = location();
  const response = await fetch(href).catch((cause: unknown) => {
    const hint = "is the network there, and does the page's Content-Security-Policy allow it (connect-src)?";
    throw new DeviceError("device", `${href} cannot be loaded: ${hint}`, { cause });
  });
  if (!response.ok) {
    throw new DeviceError("device", `${href} cannot be loaded: the server answered ${response.status}`);
  }
  // Servers that do not know the type of .wasm files are common; they cost a copy only.
  return response.headers.get("content-type")?.startsWith("application/wasm")
    ? WebAssembly.compileStreaming(response)
    : WebAssembly.compile(await response.arrayBuffer());
}
