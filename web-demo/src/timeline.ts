import { disc, prepared } from "../../native-cli/assets/page/canvas.js";
import { paintChart, roundStep, ticks, type Drawing } from "../../native-cli/assets/page/chart.js";
import { element, say } from "./dom.js";
import { compact } from "./format.js";
import type { Points } from "./history.js";
import { moving } from "./motion.js";
import { onThemeChange, theme, type Theme } from "./theme.js";

/** Lines differ in more than colour: others are dashed or dotted, and thinner. Long words stand inside. */
const STYLES = {
  own: { colour: "accent", deep: "accent-deep", width: 3 },
  rival: { colour: "second", deep: "second-deep", width: 2.5, dash: [7, 5] },
  recorded: { colour: "rule-strong", deep: "muted", width: 1.75, dash: [2, 4], inside: true },
  against: { colour: "rule-strong", deep: "muted", width: 1.75, dash: [7, 5], inside: true },
  ghost: { colour: "neutral", deep: "muted", width: 1 },
} as const satisfies Record<string, Partial<Drawing<keyof Theme>["lines"][number]>>;

/** A line of the timeline. */
export interface Line {
  points: Points;
  style: keyof typeof STYLES;
  /** Written at its end. */
  label: string;
}

/** Pixels around the lines. */
const MARGIN = { left: 52, right: 76, top: 14, bottom: 22 };
/** Seconds at which the axis ends at first. */
const MINUTE = 60;
/** Seconds before the end of the axis at which it begins to grow. */
const ROOM = 2;
/** Part of the way that the axis glides in a frame. */
const GLIDE = 0.12;
/** Milliseconds between drawings: more often nobody sees. */
const PACE = 60;

/** A moment of training that can be looked at. */
export interface Shown {
  lines: readonly Line[];
  level: { value: number; label: string } | undefined;
  /** Seconds at which a ring is put on one's own line. */
  rings: readonly (readonly [second: number, value: number])[];
  /** Seconds of the newest moment, and of the one that is looked at: none is the newest. */
  end: number;
  at: number | undefined;
  /** Seconds that the playhead can stand at, where it cannot stand anywhere. */
  stops: readonly number[] | undefined;
  /** The moment in words. */
  spoken: string;
  /** The lines in words. */
  described: string;
}

/** A curve over seconds of training that is a slider, too: its playhead says which moment is looked at. */
export class Timeline {
  #box: HTMLElement;
  #canvas = element("canvas");
  #described: HTMLElement;
  #shown: Shown | undefined;
  #most = MINUTE;
  #drawnAt = 0;
  #waiting: (() => void)[] | undefined;
  #seek: (at: number | undefined) => void;

  /** `seek` is told which second is asked for; none is the newest moment. */
  constructor(box: HTMLElement, label: string, seek: (at: number | undefined) => void) {
    this.#box = box;
    this.#seek = seek;
    this.#described = element("p", { class: "unseen", id: `${box.id}-described` });
    box.replaceChildren(this.#canvas, this.#described);
    const attributes = { role: "slider", tabindex: "0", "aria-label": label, "aria-valuemin": "0" };
    Object.entries(attributes).forEach(([name, value]) => box.setAttribute(name, value));
    box.setAttribute("aria-describedby", this.#described.id);
    new ResizeObserver(() => this.#paint()).observe(this.#canvas);
    onThemeChange(() => this.#paint());
    box.addEventListener("keydown", (event) => this.#pressed(event));
    box.addEventListener("pointerdown", (event) => {
      box.setPointerCapture(event.pointerId);
      this.#dragged(event);
    });
    box.addEventListener("pointermove", (event) => event.buttons > 0 && this.#dragged(event));
  }

  /** Shows a moment; `painted` is called once it can be seen. */
  show(shown: Shown, painted?: () => void): void {
    this.#shown = shown;
    const { end, at, spoken, described } = shown;
    this.#box.setAttribute("aria-valuemax", String(Math.round(end)));
    this.#box.setAttribute("aria-valuenow", String(Math.round(at ?? end)));
    this.#box.setAttribute("aria-valuetext", spoken);
    this.#box.title = spoken;
    say(this.#described, described);
    this.#draw(painted);
  }

  /** Where the axis should end. */
  get #wanted(): number {
    const longest = (this.#shown?.end ?? 0) + ROOM;
    let most = MINUTE;
    while (most < longest - ROOM * (most === MINUTE ? 1 : 0)) most *= 2;
    return most;
  }

  #draw(painted?: () => void): void {
    if (this.#waiting) {
      if (painted) this.#waiting.push(painted);
      return;
    }
    const waiting = painted ? [painted] : [];
    this.#waiting = waiting;
    const wait = Math.max(PACE - (performance.now() - this.#drawnAt), 0);
    const frame = (): void => {
      this.#waiting = undefined;
      this.#drawnAt = performance.now();
      this.#glide();
      this.#paint();
      waiting.forEach((call) => call());
    };
    setTimeout(() => requestAnimationFrame(frame), wait);
  }

  #glide(): void {
    const away = this.#wanted - this.#most;
    if (Math.abs(away) < 0.5 || !moving()) {
      this.#most = this.#wanted;
    } else {
      this.#most += GLIDE * away;
      this.#draw();
    }
  }

  #paint(): void {
    const paper = this.#shown && prepared(this.#canvas);
    if (!paper) return;
    const { lines, level, rings, end, at: head = end } = this.#shown!;
    const { context, wide, high } = paper;
    const colours = theme();
    const all = [...lines.flatMap(({ points }) => points.values), ...(level ? [level.value] : [])];
    const values = all.length > 0 ? around(Math.min(...all), Math.max(...all)) : [0];
    const few = high < 110 && values.length > 3;
    const parts = wide < 420 ? [0, 1 / 2, 1] : [0, 1 / 6, 1 / 2, 1];
    const drawing: Drawing<keyof Theme> = {
      x: [0, this.#most],
      y: all.length > 0 ? [values[0]!, values.at(-1)!] : [0, 1],
      xTicks: parts.map((part) => [part * this.#wanted, `${Math.round(part * this.#wanted)} s`]),
      yTicks: values.map((value, i) => [value, few && i % 2 === 1 ? "" : compact(value).replace("-", "−")]),
      lines: lines.map(({ points: { seconds, values }, style, label }) => ({
        ...STYLES[style],
        points: seconds.map((second, i) => [second, values[i]!]),
        label,
        radius: label === "" ? 0 : 4,
      })),
      level: level && { ...level, colour: "muted", ink: "muted", width: 1.5, dash: [2, 4], thin: true },
      corner: "return",
    };
    const { at, up } = paintChart(paper, drawing, MARGIN, (name) => colours[name]);
    context.strokeStyle = colours.accent;
    context.lineWidth = 2;
    for (const [second, value] of rings) {
      disc(context, [at(second), up(value)], 5, colours.paper);
      context.stroke();
    }
    context.strokeStyle = context.fillStyle = colours.ink;
    context.lineWidth = 1.5;
    context.beginPath();
    context.moveTo(at(head), MARGIN.top - 4);
    context.lineTo(at(head), high - MARGIN.bottom);
    context.stroke();
    context.beginPath();
    context.roundRect(at(head) - 5, MARGIN.top - 12, 10, 12, 3);
    context.fill();
  }

  #dragged(event: PointerEvent): void {
    const { left, width } = this.#canvas.getBoundingClientRect();
    const part = (event.clientX - left - MARGIN.left) / (width - MARGIN.left - MARGIN.right);
    this.#go(part * this.#most, this.#most / 60);
  }

  #pressed(event: KeyboardEvent): void {
    const { end, at, stops } = this.#shown ?? { end: 0, at: undefined, stops: undefined };
    const now = at ?? end;
    const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 }[event.key];
    const edge = { Home: 0, End: Infinity }[event.key];
    if (by === undefined && edge === undefined) return;
    event.preventDefault();
    if (by === undefined) this.#go(edge!, 0.4);
    else if (!stops) this.#go(Math.round(now) + by, 0.4);
    else {
      const next = by < 0 ? stops.filter((stop) => stop < now).at(-1) : stops.find((stop) => stop > now);
      this.#go(next ?? now, 0.4);
    }
  }

  /** Asks for a second; within the slack of the end, for the newest moment. */
  #go(to: number, slack: number): void {
    const { end, stops } = this.#shown ?? { end: 0, stops: undefined };
    if (stops) {
      const near = stops.reduce((best, stop) => (Math.abs(stop - to) < Math.abs(best - to) ? stop : best), end);
      this.#seek(near === end ? undefined : near);
    } else {
      this.#seek(to >= end - slack ? undefined : Math.max(Math.round(to), 0));
    }
  }
}

/** Three round numbers or so that a range lies between. */
function around(low: number, high: number): number[] {
  const step = roundStep((high - low || Math.abs(high) || 1) / 3);
  const from = Math.floor(low / step);
  return ticks(from * step, Math.max(Math.ceil(high / step), from + 1) * step, step);
}
