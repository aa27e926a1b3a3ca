import type { Theme } from "./theme.js";

/** Who adapts: each is drawn in its own way everywhere. */
export type Who = "untrained" | "one-task" | "meta" | "own";

/** The way somebody is drawn: colours, dashes and marks, so that colour is never alone. */
export interface Look {
  colour: keyof Theme;
  /** The colour of text, and of what stands on a line. */
  deep: keyof Theme;
  dash: number[];
  mark: "dot" | "square" | "ring";
  width: number;
}

export const LOOKS: Record<Who, Look> = {
  untrained: { colour: "neutral-deep", deep: "muted", dash: [2, 5], mark: "dot", width: 2 },
  "one-task": { colour: "second", deep: "second-deep", dash: [7, 5], mark: "square", width: 2 },
  meta: { colour: "accent", deep: "accent-deep", dash: [], mark: "dot", width: 3 },
  own: { colour: "accent-deep", deep: "accent-deep", dash: [10, 4, 2, 4], mark: "ring", width: 3 },
};
