import { sharpen } from "./card.js";
import { element, say } from "./dom.js";
import { moving } from "./motion.js";
import { onThemeChange } from "./theme.js";
import { MARGIN, TimelineChart, type Line, type Picture } from "./timeline-chart.js";

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
  level: Picture["level"];
  rings: Picture["rings"];
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
  #context: CanvasRenderingContext2D;
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
    this.#context = this.#canvas.getContext("2d")!;
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
    if (!this.#shown || this.#canvas.clientWidth === 0) return;
    sharpen(this.#canvas);
    const { lines, level, rings, end, at } = this.#shown;
    const picture = { lines, level, rings, most: this.#most, ticks: this.#wanted, head: at ?? end };
    new TimelineChart(this.#canvas, this.#context).paint(picture);
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
