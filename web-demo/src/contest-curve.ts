import type { SpecInfo } from "quickstudy";
import { ticks, type Drawing, type Tick } from "../../native-cli/assets/page/chart.js";
import { Chart } from "./chart.js";
import { reward } from "./format.js";
import type { Lane } from "./lane.js";
import { LOOKS } from "./look.js";
import { tenths } from "./runner.js";
import type { Theme } from "./theme.js";

/** Room for the names at the ends of lines. */
const RIGHT = 104;
/** Pulls of a trial whose numbers are written. */
const PULLS: readonly Tick[] = [1, 4, 7, 10].map((pull) => [pull, pull === 1 ? "pull 1" : String(pull), String(pull)]);

/** The shared curve: how all of them fare, by gradient step, episode, second or pull. */
export class ContestCurve {
  #chart: Chart;
  #bounds: readonly [number, number] = [0, 1];

  constructor(canvas: HTMLCanvasElement) {
    this.#chart = new Chart(canvas, RIGHT);
  }

  /** Takes the axis of values from results that are all known. */
  fit(lanes: readonly Lane[]): void {
    const values = lanes.flatMap((lane) => lane.points(Infinity, Infinity).map(([, value]) => value));
    this.#bounds = values.length === 0 ? [0, 1] : [Math.min(...values), Math.max(...values)];
  }

  /** Shows what they have got by this moment. */
  show(lanes: readonly Lane[], spec: SpecInfo, task: readonly number[], stage: number, step: number): void {
    const lines = lanes.map((lane) => {
      const { colour, deep, dash, width, mark } = LOOKS[lane.who];
      const few = spec.course === undefined;
      return {
        points: lane.points(stage, step),
        colour,
        deep,
        dash,
        width,
        label: lane.name,
        mark: few ? mark : undefined,
      };
    });
    const kind = spec.course !== undefined ? speeds(lanes, spec, task) : spec.plane ? tries(lanes, this.#bounds) : PAID;
    this.#chart.show({ ...kind, lines }, `${kind.title}. ${words(lines)}`);
  }
}

/** Everything but the lines. */
type Axes = Omit<Drawing<keyof Theme>, "lines">;

const PAID: Axes = {
  x: [1, 10],
  y: [0, 10],
  xTicks: PULLS,
  yTicks: [0, 5, 10].map((value) => [value, String(value)]),
  title: "pulls that paid",
};

function tries(lanes: readonly Lane[], [low, high]: readonly [number, number]): Axes {
  const stages = Math.max(...lanes.map((lane) => lane.stages), 2);
  const gradients = lanes.some(({ who, summary }) => who !== "own" && summary.includes("gradient"));
  const yTicks = ticks(Math.min(low, 0), Math.max(high, 0));
  const span = yTicks.length > 1 ? yTicks[1]! - yTicks[0]! : 1;
  return {
    x: [0, stages - 1],
    y: [Math.min(low, yTicks[0]! - (yTicks[0]! > low ? span : 0)), Math.max(high, yTicks.at(-1)!)],
    xTicks: Array.from({ length: stages }, (_, i): Tick => {
      if (!gradients) return [i, `episode ${i + 1}`, String(i + 1)];
      return [i, i === 0 ? "first try" : i === 1 ? "1 step" : `${i} steps`, i === 0 ? "first" : String(i)];
    }),
    yTicks: yTicks.map((value) => [value, String(value).replace("-", "−")]),
    title: "return",
  };
}

function speeds(lanes: readonly Lane[], { dt, horizon }: SpecInfo, [asked = 0]: readonly number[]): Axes {
  const [stages, seconds] = [Math.max(...lanes.map((lane) => lane.stages), 2), horizon * dt];
  return {
    x: [0, stages * seconds],
    y: [-0.5, 3.5],
    xTicks: [
      [0, "0 s"],
      ...Array.from({ length: stages }, (_, i): Tick => [(i + 1) * seconds, `${(i + 1) * seconds} s`]),
    ],
    yTicks: [0, 1, 2, 3].map((value) => [value, String(value)]),
    // Whatever is asked for is green everywhere.
    level: { value: asked, label: `asked ${tenths(asked)} m/s`, colour: "goal", ink: "ink", width: 2 },
    title: "m/s",
  };
}

function words(lines: readonly { label: string; points: readonly (readonly [number, number])[] }[]): string {
  const parts = lines.map(({ label, points }) => {
    const [first, last] = [points[0], points.at(-1)];
    return first && last ? `${label}: ${reward(first[1])} at first, ${reward(last[1])} now` : `${label}: nothing yet`;
  });
  return `${parts.join("; ")}.`;
}
