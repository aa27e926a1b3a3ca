import load, { version as versionOfModule } from "./quickstudy_wasm.js";

/** The version of the package. */
export async function version(): Promise<string> {
  await load();
  return versionOfModule();
}
