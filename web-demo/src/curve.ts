import uPlot from "uplot";
import { compact, reward } from "./format.js";
import { onThemeChange, theme } from "./theme.js";

/** A line of a curve: points by environment steps. */
export interface Line {
  name: string;
  steps: number[];
  values: number[];
}

/** Dashes tell two lines apart without colour: the second is what counts. Ghosts of earlier runs are thin and grey. */
const DASHES: number[][] = [[6, 4], []];
const MAX_GHOSTS = 4;
/** Points below which each is marked. */
const FEW = 12;
const HEIGHT = 240;
/** Milliseconds between drawings: more often nobody sees. */
const PACE = 80;

/** Learning curves over environment steps: one or two lines, and faint ones of the runs before. */
export class Curve {
  #box: HTMLElement;
  #label: string;
  #where: (at: number) => string;
  #plot: uPlot | undefined;
  #lines: Line[];
  #ghosts: Line[] = [];
  #series = 0;
  #drawnAt = 0;
  #waiting: { frame: number; painted: (() => void)[] } | undefined;

  /** `where` says in words where a point is. */
  constructor(
    box: HTMLElement,
    label: string,
    names: readonly string[],
    where = (steps: number): string => `after ${compact(steps)} steps`,
  ) {
    this.#box = box;
    this.#label = label;
    this.#where = where;
    this.#lines = names.map((name) => ({ name, steps: [], values: [] }));
    box.setAttribute("role", "img");
    new ResizeObserver(() => this.#fit()).observe(box);
    onThemeChange(() => this.#rebuild());
    this.#rebuild();
  }

  /** Points of the line so far. */
  get points(): number {
    return this.#lines[0]?.steps.length ?? 0;
  }

  /** A point at the end of each line; `painted` is called once it can be seen. */
  add(steps: number, values: readonly number[], painted?: () => void): void {
    this.#lines.forEach((line, i) => {
      const value = values[i];
      if (value !== undefined && Number.isFinite(value)) {
        line.steps.push(steps);
        line.values.push(value);
      }
    });
    this.#draw(painted);
  }

  /** Other points instead: one list for each line. */
  replace(lists: readonly (readonly number[])[]): void {
    this.#lines = this.#lines.map(({ name }, i) => {
      const values = [...(lists[i] ?? [])];
      return { name, steps: values.map((_, at) => at), values };
    });
    this.#draw();
  }

  /** Begins anew; `keep` leaves the last run's first line as a faint one. */
  restart(keep: string | undefined): void {
    const [last] = this.#lines;
    if (keep !== undefined && last && last.steps.length > 1) {
      this.#ghosts = [...this.#ghosts, { ...last, name: keep }].slice(-MAX_GHOSTS);
    }
    this.#lines = this.#lines.map(({ name }) => ({ name, steps: [], values: [] }));
    this.#draw();
  }

  /** Forgets the faint lines: what they measured is not comparable. */
  forget(): void {
    this.#ghosts = [];
    this.#draw();
  }

  #draw(painted?: () => void): void {
    if (this.#waiting) {
      if (painted) this.#waiting.painted.push(painted);
      return;
    }
    const wait = Math.max(PACE - (performance.now() - this.#drawnAt), 0);
    const waiting = { frame: 0, painted: painted ? [painted] : [] };
    this.#waiting = waiting;
    const paint = (): void => {
      this.#waiting = undefined;
      this.#drawnAt = performance.now();
      this.#show();
      waiting.painted.forEach((call) => call());
    };
    setTimeout(() => requestAnimationFrame(paint), wait);
  }

  #show(): void {
    const all = [...this.#ghosts, ...this.#lines];
    if (!this.#plot || this.#series !== all.length) {
      this.#rebuild();
      return;
    }
    this.#plot.setData(this.#data(all));
    this.#describe();
  }

  #data(all: readonly Line[]): uPlot.AlignedData {
    return uPlot.join(all.map(({ steps, values }) => [steps, values] as uPlot.AlignedData));
  }

  #describe(): void {
    const parts = this.#lines.map(({ name, steps, values }) => {
      const at = values.length - 1;
      return at < 0
        ? `${name}: nothing yet`
        : `${name}: ${reward(values[0]!)} at first, ${reward(values[at]!)} ${this.#where(steps[at]!)}`;
    });
    this.#box.setAttribute("aria-label", `${this.#label}. ${parts.join("; ")}.`);
  }

  #rebuild(): void {
    const colours = theme();
    const all = [...this.#ghosts, ...this.#lines];
    const live = this.#lines.length > 1 ? [colours.second, colours.accent] : [colours.accent];
    const series = all.map((line, i): uPlot.Series => {
      const at = i - this.#ghosts.length;
      return at < 0
        ? { label: line.name, stroke: colours.muted, width: 1, alpha: 0.45, spanGaps: true, points: { show: false } }
        : {
            label: line.name,
            stroke: live[at] ?? colours.ink,
            width: 2.5,
            dash: this.#lines.length > 1 ? (DASHES[at] ?? []) : [],
            spanGaps: true,
            points: { show: (plot) => plot.data[0].length < FEW, size: 6, fill: live[at] ?? colours.ink },
          };
    });
    const axis: uPlot.Axis = {
      stroke: colours.muted,
      grid: { stroke: colours.rule, width: 1 },
      ticks: { show: false },
      font: "12px system-ui, sans-serif",
    };
    this.#plot?.destroy();
    this.#series = all.length;
    this.#plot = new uPlot(
      {
        width: Math.max(this.#box.clientWidth, 200),
        height: HEIGHT,
        legend: { show: false },
        cursor: { show: false },
        scales: { x: { time: false } },
        axes: [
          {
            ...axis,
            values: (_, ticks) => ticks.map((tick) => (Number.isInteger(tick) ? compact(tick) : "")),
            space: 70,
            size: 32,
          },
          { ...axis, values: (_, ticks) => ticks.map((tick) => compact(tick).replace("-", "−")), size: 52 },
        ],
        series: [{}, ...series],
      },
      this.#data(all),
      this.#box,
    );
    this.#describe();
  }

  #fit(): void {
    const width = this.#box.clientWidth;
    if (width > 0) {
      this.#plot?.setSize({ width, height: HEIGHT });
    }
  }
}
