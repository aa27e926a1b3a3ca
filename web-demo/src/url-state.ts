import type { DeviceRequest } from "quickstudy";

export const ROOMS = ["learn", "adapt", "meta"] as const;
export type Room = (typeof ROOMS)[number];

/** What to train, as it was typed: texts of settings are checked where they are used. */
export interface Choices {
  env: string;
  algorithm: string;
  seed: number;
  /** None: as many as the preset says. */
  steps: number | undefined;
  device: DeviceRequest;
  /** Settings that were changed. */
  settings: Record<string, string>;
  /** Parameters of a task to adapt to. */
  task?: number[];
  /** The learner that is raced against. */
  rival?: string;
  /** The second of training that is looked at; none: now. */
  at?: number;
}

/** The page as its address names it. What an address does not say is left to the room. */
export interface PageState {
  room: Room;
  choices: Partial<Choices>;
}

const NAME = /^[a-z0-9][a-z0-9:=,._-]{0,120}$/;
const SETTING = /^[a-z][a-z0-9_]{0,40}$/;
const DEVICES: readonly string[] = ["auto", "cpu", "gpu"];
const MAX_TEXT = 100;
const MAX_TASK = 20;

function wholeNumber(text: string | null, least: number): number | undefined {
  const value = text === null || text === "" ? NaN : Number(text);
  return Number.isSafeInteger(value) && value >= least ? value : undefined;
}

/** Reads the part of an address after `#`. Whatever is not well-formed is left out: addresses come from anyone. */
export function parse(hash: string): PageState {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const room = ROOMS.find((name) => name === given.get("room")) ?? "learn";
  const choices: Partial<Choices> = {};
  const [env, algorithm, device] = [given.get("env"), given.get("algorithm"), given.get("device")];
  const [rival, at] = [given.get("rival"), given.get("at")];
  if (rival !== null && NAME.test(rival)) choices.rival = rival;
  if (at !== null && /^\d{1,6}$/.test(at)) choices.at = Number(at);
  if (env !== null && NAME.test(env)) choices.env = env;
  if (algorithm !== null && NAME.test(algorithm)) choices.algorithm = algorithm;
  if (device !== null && DEVICES.includes(device)) choices.device = device as DeviceRequest;
  const [seed, steps] = [wholeNumber(given.get("seed"), 0), wholeNumber(given.get("steps"), 1)];
  if (seed !== undefined) choices.seed = seed;
  if (steps !== undefined) choices.steps = steps;
  const task = given.get("task")?.split(",").map(Number);
  if (task && task.length <= MAX_TASK && task.every(Number.isFinite)) choices.task = task;
  const settings: Record<string, string> = {};
  for (const [key, text] of given) {
    const name = key.startsWith("set.") ? key.slice(4) : "";
    if (SETTING.test(name) && text !== "" && text.length <= MAX_TEXT) settings[name] = text;
  }
  if (Object.keys(settings).length > 0) choices.settings = settings;
  return { room, choices };
}

/** The part of an address after `#`. */
export function format({ room, choices }: PageState): string {
  const parts = new URLSearchParams({ room });
  const { env, algorithm, seed, steps, device, settings, task, rival, at } = choices;
  if (env !== undefined) parts.set("env", env);
  if (algorithm !== undefined) parts.set("algorithm", algorithm);
  if (rival !== undefined) parts.set("rival", rival);
  if (at !== undefined) parts.set("at", String(Math.round(at)));
  if (seed !== undefined && seed !== 0) parts.set("seed", String(seed));
  if (steps !== undefined) parts.set("steps", String(steps));
  if (device !== undefined && device !== "auto") parts.set("device", device);
  if (task !== undefined) parts.set("task", task.map((value) => value.toFixed(2)).join(","));
  for (const [key, text] of Object.entries(settings ?? {})) parts.set(`set.${key}`, text);
  return `#${parts.toString()}`;
}
