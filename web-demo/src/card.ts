import { paint, type Scene } from "quickstudy";
import { element } from "./dom.js";
import type { Contestant } from "./policies.js";
import { theme } from "./theme.js";
import { tinted } from "./tint.js";

/** A policy adapting, beside others. */
export interface Card {
  readonly root: HTMLElement;
  readonly name: string;
  /** Adapts to a task; what happened can be shown afterwards. */
  adapt(task: readonly number[], seed: number): Promise<void>;
  /** Stages and steps of what happened. */
  readonly stages: number;
  readonly steps: number;
  /** Shows a moment of it. */
  show(stage: number, step: number): void;
  /** The result in a few words, for readers who do not see the picture. */
  readonly summary: string;
}

/** The frame of a card: its name, what it is, the picture and what goes below. */
export function frame(
  { name, about, command }: Contestant,
  canvas: HTMLCanvasElement,
  ...below: HTMLElement[]
): HTMLElement {
  const how =
    command === undefined
      ? []
      : [element("details", {}, element("summary", {}, "How it was made"), element("pre", {}, command))];
  return element(
    "article",
    { class: "card", "aria-label": name, "data-testid": `card-${name.toLowerCase().replaceAll(/[^a-z]+/g, "-")}` },
    element("h2", {}, name),
    canvas,
    ...below,
    element("p", { class: "caption" }, about),
    ...how,
  );
}

/** Makes a canvas as fine as the screen; true if that changed it. */
export function sharpen(canvas: HTMLCanvasElement): boolean {
  const ratio = Math.min(devicePixelRatio, 2);
  const [width, height] = [Math.round(canvas.clientWidth * ratio), Math.round(canvas.clientHeight * ratio)];
  if (width === 0 || (canvas.width === width && canvas.height === height)) {
    return false;
  }
  [canvas.width, canvas.height] = [width, height];
  return true;
}

/** Paints a scene over the whole of a canvas; gives what more is painted with, or nothing where there is no scene. */
export function paintScene(canvas: HTMLCanvasElement, scene: Scene | undefined): CanvasRenderingContext2D | undefined {
  sharpen(canvas);
  const context = canvas.getContext("2d");
  if (!context || !scene) {
    return undefined;
  }
  const { width, height } = canvas;
  context.fillStyle = theme().ground;
  context.fillRect(0, 0, width, height);
  paint(context, tinted([scene], "hero")[0]!, 0, 0, width, height);
  return context;
}
