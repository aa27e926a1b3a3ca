import { prepared } from "./card.js";
import { onThemeChange, theme, type Theme } from "./theme.js";

/** A value on an axis, and what is written there; `narrow` is for a small picture. */
export type Tick = readonly [value: number, text: string, narrow?: string];

/** A line of a chart. */
export interface ChartLine {
  points: readonly (readonly [x: number, y: number])[];
  colour: keyof Theme;
  /** The colour of its label. */
  deep: keyof Theme;
  label: string;
  dash?: readonly number[];
  width?: number;
  /** The mark of each point; without, only the last has one. */
  mark?: "dot" | "square" | "ring" | undefined;
}

/** Everything that is drawn. */
export interface Drawing {
  x: readonly [low: number, high: number];
  y: readonly [low: number, high: number];
  xTicks: readonly Tick[];
  yTicks: readonly Tick[];
  lines: readonly ChartLine[];
  /** Two lines with the space between them tinted. */
  between?: readonly [number, number];
  tint?: keyof Theme;
  /** A height to compare with. */
  level?: { value: number; label: string };
  /** The name of the axis of values. */
  title?: string;
}

/** Margins, and pixels from one label to the next. */
const [LEFT, TOP, BOTTOM, LEADING] = [48, 24, 22, 16];
/** Width below which ticks have their short names. */
const NARROW = 420;

/** A chart whose lines are labelled at their ends: there is no legend to look up. */
export class Chart {
  #canvas: HTMLCanvasElement;
  #right: number;
  #drawing: Drawing | undefined;

  /** `right` is the room for labels, in pixels. */
  constructor(canvas: HTMLCanvasElement, right: number) {
    this.#canvas = canvas;
    this.#right = right;
    new ResizeObserver(() => this.#paint()).observe(canvas);
    onThemeChange(() => this.#paint());
  }

  /** Draws this; `words` are for readers who do not see it. */
  show(drawing: Drawing, words: string): void {
    this.#drawing = drawing;
    this.#canvas.setAttribute("aria-label", words);
    this.#paint();
  }

  #paint(): void {
    const [canvas, drawing] = [this.#canvas, this.#drawing];
    const paper = prepared(canvas);
    if (!paper || !drawing) return;
    const { context, wide, high } = paper;
    context.clearRect(0, 0, wide, high);
    const [left, right, top, bottom] = [LEFT, wide - this.#right, TOP, high - BOTTOM];
    const { x, y } = drawing;
    const at = (value: number): number => left + ((right - left) * (value - x[0])) / (x[1] - x[0]);
    const up = (value: number): number => bottom - ((bottom - top) * (value - y[0])) / (y[1] - y[0]);
    const colours = theme();
    const font = getComputedStyle(canvas).fontFamily;
    context.font = `12px ${font}`;
    context.lineWidth = 1;
    context.textBaseline = "middle";
    context.textAlign = "right";
    for (const [value, text] of drawing.yTicks) {
      const height = Math.round(up(value)) + 0.5;
      context.strokeStyle = colours.rule;
      line(context, [[left, height], [right, height]]); // prettier-ignore
      context.fillStyle = colours.muted;
      context.fillText(text, left - 8, height);
    }
    context.textBaseline = "alphabetic";
    drawing.xTicks.forEach(([value, text, narrow], i) => {
      context.textAlign = i === 0 ? "left" : "center";
      context.fillText(wide < NARROW ? (narrow ?? text) : text, at(value), high - 4);
    });
    if (drawing.title !== undefined) {
      context.textAlign = "left";
      context.fillText(drawing.title, 4, 11);
    }
    const placed = drawing.lines.map((each) => ({
      ...each,
      points: each.points.map(([a, b]): [number, number] => [at(a), up(b)]),
    }));
    if (drawing.between) {
      context.fillStyle = colours[drawing.tint ?? "accent"];
      tint(context, placed[drawing.between[0]]!.points, placed[drawing.between[1]]!.points);
    }
    context.font = `600 12px ${font}`;
    if (drawing.level) level(context, drawing.level.label, up(drawing.level.value), left, right);
    context.lineJoin = context.lineCap = "round";
    for (const { points, colour, dash, width, mark } of placed) {
      context.strokeStyle = context.fillStyle = colours[colour];
      context.lineWidth = width ?? 2;
      context.setLineDash([...(dash ?? [])]);
      line(context, points);
      context.setLineDash([]);
      (mark ? points : points.slice(-1)).forEach((point) => stamp(context, point, mark ?? "dot"));
    }
    ends(context, placed, right, bottom - 4);
  }
}

function line(context: CanvasRenderingContext2D, points: readonly (readonly [number, number])[]): void {
  context.beginPath();
  points.forEach(([x, y]) => context.lineTo(x, y));
  context.stroke();
}

type Points = readonly (readonly [number, number])[];

function tint(context: CanvasRenderingContext2D, one: Points, other: Points): void {
  context.globalAlpha = 0.14;
  context.beginPath();
  [...one, ...[...other].reverse()].forEach(([x, y]) => context.lineTo(x, y));
  context.fill();
  context.globalAlpha = 1;
}

/** The level that is asked for: what is asked for is green everywhere. */
function level(context: CanvasRenderingContext2D, label: string, y: number, left: number, right: number): void {
  context.strokeStyle = theme().goal;
  context.fillStyle = theme().ink;
  context.lineWidth = 2;
  line(context, [[left, y], [right, y]]); // prettier-ignore
  context.textAlign = "left";
  context.fillText(label, left + 8, y - 6);
}

function stamp(context: CanvasRenderingContext2D, [x, y]: readonly [number, number], mark: string): void {
  if (mark === "square") {
    context.fillRect(x - 3.5, y - 3.5, 7, 7);
    return;
  }
  context.beginPath();
  context.arc(x, y, 3.75, 0, 2 * Math.PI);
  context.fill();
  if (mark === "ring") {
    context.save();
    context.fillStyle = theme().paper;
    context.beginPath();
    context.arc(x, y, 2, 0, 2 * Math.PI);
    context.fill();
    context.restore();
  }
}

/** Writes labels at the ends of lines; they never lie on each other. */
function ends(context: CanvasRenderingContext2D, lines: readonly ChartLine[], right: number, bottom: number): void {
  const colours = theme();
  const found = lines.flatMap(({ label, deep, points }) => {
    const last = points.at(-1);
    return last ? [{ label, colour: colours[deep], x: Math.min(last[0], right), y: last[1] }] : [];
  });
  found.sort((a, b) => a.y - b.y);
  found.forEach((end, i) => {
    const above = found[i - 1];
    if (above) end.y = Math.max(end.y, above.y + LEADING);
  });
  // None lies on the axis: those above make room.
  let most = bottom;
  for (const end of [...found].reverse()) {
    end.y = Math.min(end.y, most);
    most = end.y - LEADING;
  }
  context.textAlign = "left";
  context.textBaseline = "middle";
  // A halo, where a line runs beneath.
  context.strokeStyle = colours.paper;
  context.lineWidth = 4;
  for (const { label, colour, x, y } of found) {
    context.strokeText(label, x + 12, y);
    context.fillStyle = colour;
    context.fillText(label, x + 12, y);
  }
  context.textBaseline = "alphabetic";
}

/** Round values over a range, some three of them. */
export function round(low: number, high: number): number[] {
  const rough = (high - low) / 3 || 1;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = unit * ([1, 2, 2.5, 5, 10].find((factor) => factor * unit >= rough) ?? 10);
  const values: number[] = [];
  for (let value = Math.ceil(low / step) * step; value <= high + step / 1000; value += step) {
    values.push(Number(value.toPrecision(6)) + 0);
  }
  return values;
}
