import { compact } from "./format.js";
import type { Points } from "./history.js";
import { theme, type Theme } from "./theme.js";

/** Lines differ in more than colour: others are dashed or dotted, and thinner. */
export const STYLES = {
  own: { colour: "accent", text: "accent-deep", width: 3, dash: [] },
  rival: { colour: "second", text: "second-deep", width: 2.5, dash: [7, 5] },
  recorded: { colour: "rule-strong", text: "muted", width: 1.75, dash: [2, 4] },
  against: { colour: "rule-strong", text: "muted", width: 1.75, dash: [7, 5] },
  ghost: { colour: "neutral", text: "muted", width: 1, dash: [] },
} as const satisfies Record<string, { colour: keyof Theme; text: keyof Theme; width: number; dash: readonly number[] }>;

/** A line of the timeline. */
export interface Line {
  points: Points;
  style: keyof typeof STYLES;
  /** Written at its end. */
  label: string;
}

/** A moment that the timeline is painted at. */
export interface Picture {
  lines: readonly Line[];
  /** Seconds at which the axis ends, which may be on its way to the next, and those that are written. */
  most: number;
  ticks: number;
  level: { value: number; label: string } | undefined;
  /** Seconds at which a ring is put on one's own line. */
  rings: readonly (readonly [second: number, value: number])[];
  /** The playhead. */
  head: number;
}

/** Pixels around the lines. */
export const MARGIN = { left: 52, right: 76, top: 14, bottom: 22 };
/** Pixels from one label to the next. */
const LEADING = 16;

/** Three round numbers or so over a range, and the range that they reach. */
export function round(low: number, high: number): { low: number; high: number; ticks: number[] } {
  const span = high - low || Math.abs(high) || 1;
  const power = 10 ** Math.floor(Math.log10(span / 2));
  const step = [1, 2, 2.5, 5, 10].map((by) => by * power).find((by) => span / by <= 3) ?? 10 * power;
  const [from, to] = [Math.floor(low / step), Math.ceil(high / step)];
  const ticks = Array.from({ length: Math.max(to - from, 1) + 1 }, (_, i) => (from + i) * step);
  return { low: ticks[0]!, high: ticks.at(-1)!, ticks };
}

/** Paints lines by seconds into a canvas, labelled at their ends. */
export class TimelineChart {
  #context: CanvasRenderingContext2D;
  #width: number;
  #height: number;
  #colours = theme();
  #font: string;

  constructor(canvas: HTMLCanvasElement, context: CanvasRenderingContext2D) {
    this.#context = context;
    const ratio = canvas.width / canvas.clientWidth;
    [this.#width, this.#height] = [canvas.clientWidth, canvas.clientHeight];
    this.#font = getComputedStyle(canvas).fontFamily;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.#width, this.#height);
  }

  paint({ lines, most, ticks, level, rings, head }: Picture): void {
    const context = this.#context;
    const all = lines.flatMap(({ points }) => points.values);
    if (level) all.push(level.value);
    const high = all.length > 0 ? round(Math.min(...all), Math.max(...all)) : undefined;
    const { low, high: top } = high ?? { low: 0, high: 1 };
    const [right, bottom] = [this.#width - MARGIN.right, this.#height - MARGIN.bottom];
    const x = (second: number): number => MARGIN.left + (second / most) * (right - MARGIN.left);
    const y = (value: number): number => bottom - ((value - low) / (top - low)) * (bottom - MARGIN.top);
    this.#grid(high?.ticks ?? [0], y, right);
    this.#seconds(ticks, x);
    context.textAlign = "right";
    // Its name stands in a corner that is free.
    const free = level === undefined || y(level.value) < bottom - 26;
    context.fillText("return", right - 8, free ? bottom - 10 : MARGIN.top + 14);
    if (level) this.#level(level, y(level.value), right);
    const ends: { line: Line; x: number; y: number }[] = [];
    for (const line of lines) {
      const { seconds, values } = line.points;
      const last = values.length - 1;
      if (last < 0) continue;
      this.#line(line, x, y);
      ends.push({ line, x: x(seconds[last]!), y: y(values[last]!) });
    }
    this.#labels(ends, right);
    for (const [second, value] of rings) this.#ring(x(second), y(value));
    this.#head(x(head), bottom);
  }

  #grid(ticks: readonly number[], y: (value: number) => number, right: number): void {
    const [context, colours] = [this.#context, this.#colours];
    context.font = `12px ${this.#font}`;
    context.lineWidth = 1;
    context.strokeStyle = colours.rule;
    context.fillStyle = colours.muted;
    context.textAlign = "right";
    context.textBaseline = "middle";
    const few = this.#height < 110 && ticks.length > 3;
    ticks.forEach((tick, i) => {
      const at = Math.round(y(tick)) + 0.5;
      context.beginPath();
      context.moveTo(MARGIN.left, at);
      context.lineTo(right, at);
      context.stroke();
      if (!few || i % 2 === 0) context.fillText(compact(tick).replace("-", "−"), MARGIN.left - 8, at);
    });
  }

  #seconds(most: number, x: (second: number) => number): void {
    const context = this.#context;
    context.textBaseline = "alphabetic";
    const all = this.#width < 420 ? [0, 1 / 2, 1] : [0, 1 / 6, 1 / 2, 1];
    all.forEach((part, i) => {
      context.textAlign = i === 0 ? "left" : "center";
      context.fillText(`${Math.round(part * most)} s`, x(part * most), this.#height - 4);
    });
  }

  #level({ label }: { label: string }, y: number, right: number): void {
    const context = this.#context;
    context.strokeStyle = context.fillStyle = this.#colours.muted;
    context.lineWidth = 1.5;
    context.setLineDash([2, 4]);
    context.beginPath();
    context.moveTo(MARGIN.left, y);
    context.lineTo(right, y);
    context.stroke();
    context.setLineDash([]);
    context.textAlign = "right";
    context.fillText(label, right - 8, y - 6);
  }

  #line({ points: { seconds, values }, style }: Line, x: (at: number) => number, y: (at: number) => number): void {
    const context = this.#context;
    const { colour, width, dash } = STYLES[style];
    context.strokeStyle = this.#colours[colour];
    context.lineWidth = width;
    context.lineJoin = context.lineCap = "round";
    context.setLineDash([...dash]);
    context.beginPath();
    seconds.forEach((second, i) => context.lineTo(x(second), y(values[i]!)));
    context.stroke();
    context.setLineDash([]);
  }

  /** Names lines at their ends, so that nobody has to look them up; names never lie on each other. */
  #labels(ends: { line: Line; x: number; y: number }[], right: number): void {
    const [context, colours] = [this.#context, this.#colours];
    const named = ends.filter(({ line }) => line.label !== "");
    const heights = new Map(named.map((end) => [end, end.y]));
    named.sort((a, b) => a.y - b.y);
    named.forEach((end, i) => {
      const above = named[i - 1];
      if (above) heights.set(end, Math.max(end.y, heights.get(above)! + LEADING));
    });
    context.textBaseline = "middle";
    context.lineJoin = "round";
    for (const end of named) {
      const { line, x, y } = end;
      const { colour, text } = STYLES[line.style];
      const inside = line.style === "recorded" || line.style === "against";
      context.font = `${inside ? 400 : 600} 12px ${this.#font}`;
      context.fillStyle = colours[colour];
      context.beginPath();
      context.arc(x, y, 4, 0, 2 * Math.PI);
      context.fill();
      context.fillStyle = colours[text];
      context.strokeStyle = colours.paper;
      context.lineWidth = 4;
      // A halo, where a line runs beneath. Long words stand inside.
      const before = inside && x > MARGIN.left + 130;
      context.textAlign = before ? "right" : "left";
      const beside = y + (y > 50 ? -16 : 18);
      const [left, top] = before ? [Math.min(x, right) - 14, beside] : [x + 12, heights.get(end)!];
      context.strokeText(line.label, left, top);
      context.fillText(line.label, left, top);
    }
  }

  #ring(x: number, y: number): void {
    const context = this.#context;
    context.fillStyle = this.#colours.paper;
    context.strokeStyle = this.#colours.accent;
    context.lineWidth = 2;
    context.beginPath();
    context.arc(x, y, 5, 0, 2 * Math.PI);
    context.fill();
    context.stroke();
  }

  #head(x: number, bottom: number): void {
    const context = this.#context;
    context.strokeStyle = context.fillStyle = this.#colours.ink;
    context.lineWidth = 1.5;
    context.beginPath();
    context.moveTo(x, MARGIN.top - 4);
    context.lineTo(x, bottom);
    context.stroke();
    context.beginPath();
    context.roundRect(x - 5, MARGIN.top - 12, 10, 12, 3);
    context.fill();
  }
}
