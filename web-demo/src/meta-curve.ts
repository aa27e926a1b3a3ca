import { ticks, type ChartLine } from "../../native-cli/assets/page/chart.js";
import { Chart } from "./chart.js";
import { reward } from "./format.js";
import type { Theme } from "./theme.js";

type Line = ChartLine<keyof Theme>;

/** Returns on held-out tasks, before and after adapting, after so many seconds of training. */
export interface Measured {
  seconds: number;
  before: number;
  after: number;
}

/** Room for labels, seconds that the axis has at least, and how much more than there are. */
const [RIGHT, LEAST, AHEAD] = [104, 60, 1.08];
/** Seconds from one mark of the axis to the next. */
const APART = [20, 30, 60, 120, 300, 600, 1200, 3600];

/** Both curves of meta-training: the space between them is what is learnt about learning. */
export class MetaCurve {
  #chart: Chart;
  #points: Measured[] = [];
  #names: [before: string, after: string] = ["before", "after"];

  constructor(canvas: HTMLCanvasElement) {
    this.#chart = new Chart(canvas, RIGHT);
  }

  /** Shows a run that is not the reader's: it is grey. */
  recorded(points: readonly Measured[], names: [before: string, after: string]): void {
    this.#names = names;
    this.#show(points, false);
  }

  /** Begins the reader's own. */
  restart(names: [before: string, after: string]): void {
    this.#names = names;
    this.#points = [];
    this.#show([], true);
  }

  /** A point at the end of the reader's own. */
  add(point: Measured): void {
    this.#points.push(point);
    this.#show(this.#points, true);
  }

  #show(points: readonly Measured[], own: boolean): void {
    const values = points.flatMap(({ before, after }) => [before, after]);
    const [low, high] = values.length === 0 ? [0, 1] : [Math.min(...values), Math.max(...values)];
    const pad = 0.08 * (high - low || 1);
    const most = Math.max(LEAST, AHEAD * (points.at(-1)?.seconds ?? 0));
    const apart = APART.find((step) => most / step <= 4) ?? most;
    const seconds = Array.from({ length: Math.floor(most / apart) + 1 }, (_, i) => i * apart);
    const line = (name: string, pick: (point: Measured) => number, rest: Partial<Line>): Line => ({
      points: points.map((point): [number, number] => [point.seconds, pick(point)]),
      colour: "neutral-deep",
      deep: "muted",
      label: name,
      ...rest,
    });
    const solid: Partial<Line> = own ? { colour: "accent", deep: "accent-deep", width: 3 } : { width: 2 };
    const [first, last] = this.#names;
    this.#chart.show(
      {
        x: [0, most],
        y: [low - pad, high + pad],
        xTicks: seconds.map((value) => [value, `${value} s`]),
        // Before there are points, nobody knows how high they will be.
        yTicks: values.length === 0 ? [] : ticks(low, high).map((value) => [value, tick(value)]),
        lines: [
          line(first, ({ before }) => before, { dash: [6, 4] }),
          line(last, ({ after }) => after, solid),
        ],
        between: [0, 1],
        tint: own ? "accent" : "neutral",
        title: own ? "mean return" : "mean return, recorded",
      },
      this.#words(points, own),
    );
  }

  #words(points: readonly Measured[], own: boolean): string {
    const whose = own ? "Yours" : "Recorded";
    const [first, last] = [points[0], points.at(-1)];
    const about = "Return on held-out tasks by seconds of training";
    if (!first || !last) return `${about}. ${whose}: nothing yet.`;
    const told = (name: string, from: number, to: number): string =>
      `${name}: ${reward(from)} at first, ${reward(to)} after ${Math.floor(last.seconds)} s`;
    const before = told("before adapting", first.before, last.before);
    return `${about}. ${whose}. ${before}; ${told("after adapting", first.after, last.after)}.`;
  }
}

function tick(value: number): string {
  return String(value).replace("-", "−");
}
