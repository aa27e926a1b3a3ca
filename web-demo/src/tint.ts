import type { Scene, Shape } from "quickstudy";
import { theme, type Theme } from "./theme.js";

/** Who is painted: whoever it is about, or the others around it. */
export type Role = "hero" | "crowd" | "rival";

/** The colours in which environments draw themselves, and which of the page's stand for them. */
const INKS: Record<Role, ReadonlyMap<number, keyof Theme>> = {
  hero: new Map<number, keyof Theme>([
    [0x26262c, "accent-deep"],
    [0x96969e, "neutral"],
    [0xe2e4e8, "rule"],
    [0xd67a33, "accent"],
    [0x3a6ebe, "accent-deep"],
    [0x2e965c, "goal"],
  ]),
  crowd: new Map<number, keyof Theme>([
    [0x26262c, "neutral-deep"],
    [0x96969e, "ground-line"],
    [0xe2e4e8, "rule"],
    [0xd67a33, "neutral"],
    [0x3a6ebe, "neutral-deep"],
    [0x2e965c, "goal"],
  ]),
  rival: new Map<number, keyof Theme>([
    [0x26262c, "second-deep"],
    [0x96969e, "neutral"],
    [0xe2e4e8, "rule"],
    [0xd67a33, "second"],
    [0x3a6ebe, "second-deep"],
    [0x2e965c, "goal"],
  ]),
};

/** Environments whose dark shapes are part of the world, not of who acts in it. */
const STILL = /^grid-world/;

function number(colour: string): number {
  return Number.parseInt(colour.slice(1), 16);
}

/** Scenes in the colours of the page, which are others in the dark. Letters are as dark as text. */
export function tinted(scenes: readonly Scene[], role: Role, env = ""): Scene[] {
  const colours = theme();
  const inks = new Map([...INKS[role]].map(([from, name]) => [from, number(colours[name])]));
  const ink = number(colours.ink);
  if (STILL.test(env)) inks.set(0x26262c, number(colours["neutral-deep"]));
  const tint = (shape: Shape): Shape => ({
    ...shape,
    color: shape.kind === "text" ? ink : (inks.get(shape.color) ?? shape.color),
  });
  // Letters of the crowd are too small to be read.
  const seen = ({ kind }: Shape): boolean => role !== "crowd" || kind !== "text";
  return scenes.map(({ view, shapes }) => ({ view, shapes: shapes.filter(seen).map(tint) }));
}
