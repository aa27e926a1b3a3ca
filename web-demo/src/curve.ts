import uPlot from "uplot";
import { compact, reward } from "./format.js";
import { onThemeChange, theme } from "./theme.js";

/** A line of a curve: points by environment steps. */
export interface Line {
  name: string;
  /** What is written at its end. */
  label: string;
  steps: number[];
  values: number[];
}

/** Room for the words at the ends of lines, and pixels from one to the next. */
const [ENDS, LEADING] = [76, 16];
/** Dashes tell two lines apart without colour: the second is what counts. Ghosts of earlier runs are thin and grey. */
const DASHES: number[][] = [[6, 4], []];
const MAX_GHOSTS = 4;
/** Points below which each is marked. */
const FEW = 12;
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
  #most = 1;
  /** A level to compare with. */
  #level: { value: number; label: string } | undefined;
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
    this.#lines = names.map((name) => ({ name, label: name, steps: [], values: [] }));
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
    this.#lines = this.#lines.map(({ name, label }, i) => {
      const values = [...(lists[i] ?? [])];
      return { name, label, steps: values.map((_, at) => at), values };
    });
    this.#draw();
  }

  /** Begins anew; `keep` leaves the last run's first line as a faint one. */
  restart(keep: string | undefined): void {
    const [last] = this.#lines;
    if (keep !== undefined && last && last.steps.length > 1) {
      this.#ghosts = [...this.#ghosts, { ...last, name: keep }].slice(-MAX_GHOSTS);
    }
    this.#lines = this.#lines.map(({ name, label }) => ({ name, label, steps: [], values: [] }));
    this.#level = undefined;
    this.#draw();
  }

  /** Where the axis ends before there are two points. */
  upTo(most: number): void {
    this.#most = most;
    this.#rebuild();
  }

  /** Draws a level to compare with, such as what the untrained policy reaches. */
  level(value: number, label: string): void {
    if (Number.isFinite(value)) {
      this.#level = { value, label };
      this.#rebuild();
    }
  }

  /** Writes this at the ends of lines. */
  labelled(labels: readonly string[]): void {
    this.#lines.forEach((line, i) => (line.label = labels[i] ?? line.name));
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
    if (this.#level) parts.push(`${this.#level.label}: ${reward(this.#level.value)}`);
    this.#box.setAttribute("aria-label", `${this.#label}. ${parts.join("; ")}.`);
  }

  #rebuild(): void {
    const colours = theme();
    const all = [...this.#ghosts, ...this.#lines];
    const live = this.#lines.length > 1 ? [colours.muted, colours.accent] : [colours.accent];
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
        ...this.#size,
        padding: [12, ENDS, 0, 0],
        hooks: { draw: [(plot) => this.#ends(plot)] },
        legend: { show: false },
        cursor: { show: false },
        scales: {
          x: { time: false, range: (_, low, high) => (this.#many ? [low, high] : [0, this.#most]) },
          y: { range: (_, low, high) => this.#high([low, high]) },
        },
        axes: [
          {
            ...axis,
            values: (_, ticks) => ticks.map((tick) => (Number.isInteger(tick) ? compact(tick) : "")),
            space: 70,
            size: 26,
          },
          {
            ...axis,
            // Before there are points, nobody knows how high they will be.
            values: (_, ticks) =>
              this.points === 0 && !this.#level ? [] : ticks.map((tick) => compact(tick).replace("-", "−")),
            space: 36,
            size: 52,
          },
        ],
        series: [{}, ...series],
      },
      this.#data(all),
      this.#box,
    );
    this.#describe();
  }

  /** Where the axis of values begins and ends. */
  #high(found: readonly (number | null)[]): uPlot.Range.MinMax {
    const level = this.#level?.value;
    const all = [...found, level].filter((value): value is number => typeof value === "number");
    return all.length === 0 ? [0, 1] : uPlot.rangeNum(Math.min(...all), Math.max(...all), 0.1, true);
  }

  /** Draws the level, dotted, with its name above it. */
  #flat({ ctx: context, bbox, valToPos }: uPlot, ratio: number): void {
    const { value, label } = this.#level ?? {};
    if (value === undefined || label === undefined) {
      return;
    }
    const y = valToPos(value, "y", true);
    context.strokeStyle = context.fillStyle = theme().muted;
    context.lineWidth = 1.5 * ratio;
    context.setLineDash([2 * ratio, 4 * ratio]);
    context.beginPath();
    context.moveTo(bbox.left, y);
    context.lineTo(bbox.left + bbox.width, y);
    context.stroke();
    context.setLineDash([]);
    context.textAlign = "right";
    context.fillText(label, bbox.left + bbox.width - 8 * ratio, y - 10 * ratio);
  }

  /** Names lines at their ends, so that nobody has to look them up; names never lie on each other. */
  #ends(plot: uPlot): void {
    const { ctx: context } = plot;
    const [ratio, colours] = [devicePixelRatio, theme()];
    const found = this.#lines.flatMap(({ label, steps, values }, i) => {
      const at = values.length - 1;
      const colour = i === this.#lines.length - 1 ? colours.accent : colours.muted;
      const [x, y] = [plot.valToPos(steps[at] ?? 0, "x", true), plot.valToPos(values[at] ?? 0, "y", true)];
      return at < 0 || !Number.isFinite(x) || !Number.isFinite(y) ? [] : [{ label, colour, x, y, at: y }];
    });
    found.sort((a, b) => a.y - b.y);
    found.forEach((end, i) => {
      const above = found[i - 1];
      if (above) end.y = Math.max(end.y, above.y + LEADING * ratio);
    });
    context.save();
    context.font = `600 ${12 * ratio}px ${getComputedStyle(this.#box).fontFamily}`;
    context.textBaseline = "middle";
    this.#flat(plot, ratio);
    context.textAlign = "left";
    for (const { label, colour, x, y, at } of found) {
      context.fillStyle = colour;
      context.beginPath();
      context.arc(x, at, 4 * ratio, 0, 2 * Math.PI);
      context.fill();
      // A halo, where a line runs beneath.
      context.strokeStyle = colours.paper;
      context.lineWidth = 4 * ratio;
      context.lineJoin = "round";
      context.strokeText(label, x + 10 * ratio, y);
      context.fillText(label, x + 10 * ratio, y);
    }
    context.restore();
  }

  /** Whether there are points enough for an axis of their own. */
  get #many(): boolean {
    return [...this.#ghosts, ...this.#lines].some(({ steps }) => steps.length > 1);
  }

  get #size(): { width: number; height: number } {
    return { width: Math.max(this.#box.clientWidth, 160), height: Math.max(this.#box.clientHeight, 90) };
  }

  #fit(): void {
    if (this.#box.clientWidth > 0) {
      this.#plot?.setSize(this.#size);
    }
  }
}
