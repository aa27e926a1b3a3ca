import type { Run } from "quickstudy";
import { download } from "./files.js";
import { count, title } from "./format.js";

/** Saves a run as a file of the reader's, and says so. */
export async function saved(run: Run): Promise<string> {
  const bytes = await run.save();
  const { setup, envSteps } = await run.session;
  const name = `${setup.env}-${setup.algorithm}-seed${setup.seeds[0] ?? 0}-${envSteps}`;
  download(bytes, `${name.replaceAll(/[^a-z0-9-]/g, "_")}.safetensors`);
  return `Saved ${title(setup.env)} after ${count(envSteps)} steps. The command line reads this file, too.`;
}

/** Copies the address, and says so. */
export async function linkCopied(): Promise<string> {
  try {
    await navigator.clipboard.writeText(location.href);
    return "The link is copied: it holds every choice.";
  } catch {
    return "The browser keeps its clipboard to itself; the address bar has the same link.";
  }
}

/** An error in words. */
export function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
