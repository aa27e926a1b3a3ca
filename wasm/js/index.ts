// Users may compile for older libraries: `using` works where they have it, and the types are always known.
/// <reference lib="esnext.disposable" preserve="true" />
import { callingThread, sharedThread } from "./shared.js";
import { workersExist } from "./thread.js";
import { asError } from "./errors.js";
import type { Catalogue, DeviceKind, SpecInfo } from "./types.js";

export * from "./errors.js";
export { defineEnvironment } from "./environment.js";
export type {
  Chance,
  Dim,
  Environment,
  EnvironmentDefinition,
  EnvironmentSpec,
  NamedChoice,
  StepResult,
} from "./environment.js";
export type { EnvironmentOption, RestoreOptions, SessionOptions, Snapshots } from "./options.js";
export { loadPolicy, type Policy, type PolicyInfo, type PolicyOptions } from "./policy.js";
export { train, type Run } from "./run.js";
export type { Notice, Progress, RunOptions, RunResult } from "./run-options.js";
export { createSession, type Session } from "./session.js";
export type { AlgorithmName, Configs } from "./settings.js";
export type * from "./types.js";
export { paint, paintGrid, place } from "./page/scene.js";
export { scenes, type Place, type Scene, type Shape } from "./scene.js";
export { draw, Viewer } from "./viewer.js";

/** What this browser or runtime can do. */
export interface Capabilities {
  /** Devices that work, the fastest for large networks first. */
  devices: DeviceKind[];
  /** Their names for people. */
  names: Partial<Record<DeviceKind, string>>;
  /** Why the others do not work. */
  reasons: Partial<Record<DeviceKind, string>>;
  /** Whether training happens in workers by default. */
  workers: boolean;
}

/**
 * Loads the package and looks what there is. It need not be called first, and never throws for a device that is
 * missing.
 *
 * @example
 * const { devices, reasons } = await init(); // ["cpu"], { gpu: "there is no WebGPU here (navigator.gpu is missing)" }
 */
export async function init(): Promise<Capabilities> {
  const found: Capabilities = { devices: [], names: {}, reasons: {}, workers: workersExist() };
  let engine;
  try {
    ({ engine } = await sharedThread());
  } catch (error) {
    // A browser without workers for this page may still train on the page itself.
    try {
      ({ engine } = await callingThread());
      found.workers = false;
    } catch {
      const reason = asError(error).message;
      found.reasons = { cpu: reason, gpu: reason };
      return found;
    }
  }
  for (const kind of ["gpu", "cpu"] as const) {
    const probed = await engine.probe(kind);
    if ("name" in probed) {
      found.devices.push(kind);
      found.names[kind] = probed.name;
    } else {
      found.reasons[kind] = probed.reason;
    }
  }
  return found;
}

/** Algorithms, environments, presets, settings and metrics, with what they mean. */
export async function catalogue(): Promise<Catalogue> {
  const { engine } = await sharedThread();
  return (await engine.describe()) as Catalogue;
}

/**
 * Spaces, time limit and task parameters of a built-in environment, also with parameters such as
 * `"pendulum:time_limit=100"`.
 */
export async function envSpec(name: string): Promise<SpecInfo> {
  const { engine } = await sharedThread();
  try {
    return (await engine.envSpec(name)) as SpecInfo;
  } catch (error) {
    throw asError(error);
  }
}

/** The version of the package. */
export async function version(): Promise<string> {
  return (await catalogue()).version;
}
