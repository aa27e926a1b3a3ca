import type { SpecInfo } from "quickstudy";
import { disc, sharpen, stroke } from "../../native-cli/assets/page/canvas.js";
import { chip } from "./bandit.js";
import { reach, type HeldOut } from "./held-out.js";
import { onThemeChange, theme } from "./theme.js";

/** Columns that forty cells may stand in. */
const COLUMNS = [10, 8, 5, 4];
/** Pixels kept free for what is written above, at the other sides, and between cells. */
const [ABOVE, ASIDE, GAP] = [60, 16, 8];
/** Seconds from one walk to the next, and of the walk itself. */
const [ROUND, WALK] = [3.6, 2];
/** Margin around where goals may be. */
const MARGIN = 1.25;

interface Cell {
  x: number;
  y: number;
  size: number;
}

/** Held-out tasks as small pictures: the way before adapting, dashed, the one after it, and a ring if that found it. */
export class Forty {
  #canvas: HTMLCanvasElement;
  /** All that stands still. */
  #still = document.createElement("canvas");
  #tasks: readonly HeldOut[] = [];
  #spec: SpecInfo | undefined;
  #own = false;
  #frame: number | undefined;
  /** True while somebody walks along the ways. */
  animated = true;

  constructor(canvas: HTMLCanvasElement) {
    this.#canvas = canvas;
    new ResizeObserver(() => this.#redraw()).observe(canvas);
    onThemeChange(() => this.#redraw());
  }

  /** Shows what was done on tasks; what is not the reader's own is grey. */
  show(tasks: readonly HeldOut[], spec: SpecInfo, own: boolean): void {
    [this.#tasks, this.#spec, this.#own] = [tasks, spec, own];
    this.#redraw();
  }

  /** Leaves the tasks alone: all rings are out, and nobody has walked. */
  clear(): void {
    this.#tasks = this.#tasks.map((task) => ({ ...task, found: false, before: [], after: [], pulls: [] }));
    this.#redraw();
  }

  /** Moves, as long as the page is seen. */
  play(): void {
    this.#frame ??= requestAnimationFrame(() => this.#tick());
  }

  /** Stands still and costs nothing. */
  rest(): void {
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame);
    this.#frame = undefined;
  }

  #tick(): void {
    this.#frame = requestAnimationFrame(() => this.#tick());
    if (this.animated) this.#paint();
  }

  get #ratio(): number {
    return this.#canvas.width / Math.max(this.#canvas.clientWidth, 1);
  }

  /** Cells in the number of columns that leaves them largest. */
  get #cells(): Cell[] {
    const [wide, high] = [this.#canvas.clientWidth, this.#canvas.clientHeight];
    const count = Math.max(this.#tasks.length, 1);
    const fits = COLUMNS.map((columns) => {
      const rows = Math.ceil(count / columns);
      const size = Math.min((wide - 2 * ASIDE + GAP) / columns, (high - ABOVE - ASIDE + GAP) / rows);
      return { columns, rows, size };
    });
    const { columns, rows, size } = fits.reduce((best, fit) => (fit.size > best.size ? fit : best));
    const across = Math.min((wide - 2 * ASIDE + GAP) / columns, 1.5 * size);
    const left = (wide - across * columns) / 2;
    const top = ABOVE + (high - ABOVE - ASIDE + GAP - size * rows) / 2;
    return this.#tasks.map((_, i) => ({
      x: left + ((i % columns) + 0.5) * across,
      y: top + (Math.floor(i / columns) + 0.5) * size - GAP / 2,
      size: size - GAP,
    }));
  }

  #redraw(): void {
    sharpen(this.#canvas);
    const { width, height, clientWidth } = this.#canvas;
    const context = this.#still.getContext("2d");
    if (!context || clientWidth === 0) {
      return;
    }
    [this.#still.width, this.#still.height] = [width, height];
    const [ratio, colours] = [this.#ratio, theme()];
    const sky = context.createLinearGradient(0, 0, 0, height);
    sky.addColorStop(0, colours["sky-1"]);
    sky.addColorStop(1, colours["sky-2"]);
    context.fillStyle = sky;
    context.fillRect(0, 0, width, height);
    context.scale(ratio, ratio);
    // How many pictures there are, and how many rings are lit.
    this.#canvas.dataset["cells"] = String(this.#tasks.length);
    this.#canvas.dataset["lit"] = String(this.#tasks.filter(({ found }) => found).length);
    this.#cells.forEach((cell, i) => {
      const task = this.#tasks[i]!;
      this.#ground(context, cell, task.found);
      if (this.#spec?.plane) this.#ways(context, cell, task);
      else arms(context, cell, task);
    });
    this.#paint();
  }

  /** A cell, and its ring if what is to be found there is found. */
  #ground(context: CanvasRenderingContext2D, { x, y, size }: Cell, lit: boolean): void {
    const colours = theme();
    context.fillStyle = !lit ? colours.ground : this.#own ? colours["accent-soft"] : colours.rule;
    context.strokeStyle = !lit ? colours["ground-line"] : this.#own ? colours.accent : colours["neutral-deep"];
    context.lineWidth = lit ? 2 : 1;
    context.beginPath();
    context.roundRect(x - size / 2, y - size / 2, size, size, 0.24 * size);
    context.fill();
    context.stroke();
  }

  /** Where a point of the plane lies in a cell. */
  #at({ x, y, size }: Cell): (point: readonly [number, number]) => [number, number] {
    const known = this.#spec ? reach(this.#spec) : 0;
    const half = MARGIN * (known || Math.max(...this.#tasks.flatMap(({ task }) => task.map(Math.abs))));
    const scale = size / (2 * half);
    return ([across, up]) => [x + scale * across, y - scale * up];
  }

  #ways(context: CanvasRenderingContext2D, cell: Cell, { task, before, after }: HeldOut): void {
    const [colours, at] = [theme(), this.#at(cell)];
    context.save();
    context.beginPath();
    context.roundRect(cell.x - cell.size / 2, cell.y - cell.size / 2, cell.size, cell.size, 0.24 * cell.size);
    context.clip();
    context.lineCap = context.lineJoin = "round";
    context.strokeStyle = colours["neutral-deep"];
    context.lineWidth = 1.25;
    stroke(context, before.map(at), [2, 4]);
    disc(context, at(task as [number, number]), Math.max(3, 0.065 * cell.size), colours.goal);
    context.strokeStyle = this.#own ? colours.accent : colours.muted;
    context.lineWidth = Math.max(1.75, 0.026 * cell.size);
    stroke(context, after.map(at));
    context.restore();
  }

  /** Paints all that moves: whoever walks along the way after adapting, or the pulls of a trial. */
  #paint(): void {
    const context = this.#canvas.getContext("2d");
    if (!context || this.#canvas.clientWidth === 0 || this.#still.width === 0) {
      return;
    }
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.drawImage(this.#still, 0, 0);
    context.scale(this.#ratio, this.#ratio);
    const [colours, now] = [theme(), performance.now() / 1000];
    const colour = this.#own ? colours["accent-deep"] : colours.muted;
    this.#cells.forEach((cell, i) => {
      const { after, pulls } = this.#tasks[i]!;
      // Not all of them begin at once.
      const part = this.animated ? Math.min(((now + 0.37 * i) % ROUND) / WALK, 1) : 1;
      if (after.length > 0) {
        const place = after[Math.min(Math.floor(part * after.length), after.length - 1)]!;
        const [x, y] = this.#at(cell)(place);
        // Whoever has left the cell is not to be seen in another one.
        if (2 * Math.max(Math.abs(x - cell.x), Math.abs(y - cell.y)) > cell.size) return;
        disc(context, [x, y], Math.max(2.5, 0.045 * cell.size), colour);
      } else {
        pulled(context, cell, pulls, Math.ceil(part * pulls.length), colour);
      }
    });
  }
}

/** Where an arm stands in a cell. */
function arm({ x, y, size }: Cell, count: number, i: number): Record<"left" | "base" | "wide" | "high", number> {
  const apart = (0.8 * size) / count;
  return { left: x - 0.4 * size + (i + 0.18) * apart, base: y + 0.18 * size, wide: 0.64 * apart, high: 0.56 * size };
}

/** Arms as high as they pay often; the best is what is to be found. The first pull's is dashed. */
function arms(context: CanvasRenderingContext2D, cell: Cell, { task, pulls }: HeldOut): void {
  const [colours, best] = [theme(), Math.max(...task)];
  task.forEach((chance, i) => {
    const { left, base, wide, high } = arm(cell, task.length, i);
    context.fillStyle = chance === best ? colours.goal : colours.neutral;
    context.fillRect(left, base - chance * high, wide, chance * high);
    if (pulls[0]?.arm === i) {
      context.strokeStyle = colours["neutral-deep"];
      context.lineWidth = 1.25;
      context.setLineDash([2, 3]);
      context.strokeRect(left - 2, base - high - 2, wide + 4, high + 4);
      context.setLineDash([]);
    }
  });
}

/** The pulls so far: a frame around the arm of the last one, and below it what each paid. */
function pulled(
  context: CanvasRenderingContext2D,
  cell: Cell,
  pulls: HeldOut["pulls"],
  count: number,
  colour: string,
): void {
  const last = pulls[count - 1];
  if (!last) {
    return;
  }
  const { left, base, wide, high } = arm(cell, 5, last.arm);
  context.strokeStyle = colour;
  context.lineWidth = 1.75;
  context.strokeRect(left - 2, base - high - 2, wide + 4, high + 4);
  const apart = (0.84 * cell.size) / pulls.length;
  pulls.slice(0, count).forEach(({ paid }, i) => {
    const x = cell.x + (i - (pulls.length - 1) / 2) * apart;
    chip(context, x, cell.y + 0.34 * cell.size, 0.3 * apart, colour, paid > 0);
  });
}
