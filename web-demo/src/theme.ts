import { askedTheme } from "./embed.js";
import { kept, keep } from "./storage.js";

/** Names of the colours that canvases use: those of the style sheet. */
const NAMES = [
  "page",
  "paper",
  "ink",
  "muted",
  "rule",
  "rule-strong",
  "accent",
  "accent-deep",
  "accent-soft",
  "second",
  "second-deep",
  "goal",
  "belief",
  "neutral",
  "neutral-deep",
  "sky-1",
  "sky-2",
  "ground",
  "ground-line",
] as const;

/** Colours for canvases as `#rrggbb`, as the style sheet has them for light and dark. */
export type Theme = Record<(typeof NAMES)[number], string>;

/** What a reader may ask for. */
export const SCHEMES = ["system", "light", "dark"] as const;
export type Scheme = (typeof SCHEMES)[number];

const KEY = "quickstudy-theme";
const dark = matchMedia("(prefers-color-scheme: dark)");
const calls = new Set<() => void>();
let now: Theme | undefined;

/** The colours now. Read once for each change: asking the browser costs more than a frame has. */
export function theme(): Theme {
  now ??= read();
  return now;
}

function read(): Theme {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(NAMES.map((name) => [name, style.getPropertyValue(`--${name}`).trim()])) as Theme;
}

/** Calls when light turns to dark or back. */
export function onThemeChange(call: () => void): void {
  calls.add(call);
}

/** What the reader has asked for; until the page is left, where nothing may be stored. */
let asked: Scheme = SCHEMES.find((scheme) => scheme === (askedTheme ?? kept(KEY))) ?? "system";

/** What the reader has asked for. */
export function scheme(): Scheme {
  return asked;
}

/** Takes what the reader asks for, and remembers it. */
export function ask(scheme: Scheme): void {
  asked = scheme;
  keep(KEY, scheme === "system" ? undefined : scheme);
  apply();
}

function apply(): void {
  const wanted = asked === "system" ? (dark.matches ? "dark" : "light") : asked;
  const { dataset } = document.documentElement;
  if (dataset["theme"] !== wanted) {
    dataset["theme"] = wanted;
    now = undefined;
    calls.forEach((call) => call());
  }
}

dark.addEventListener("change", apply);
apply();
