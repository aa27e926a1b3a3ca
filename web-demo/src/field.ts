import { paint, type Scene } from "quickstudy";
import { place } from "./body.js";
import { theme, type Theme } from "./theme.js";
import { tinted, type Role } from "./tint.js";

/** Somebody who runs: the body as it is, and as it was a few steps ago. */
export interface Lane {
  now: Scene;
  before: Scene[];
  role: Role;
  /** Words above the back. */
  tag: string;
}

/** Parts of the height at which the ground ends, and at which the first one runs. */
const [HORIZON, LANE] = [0.36, 0.84];
/** Sizes of rows behind the first, from the furthest on, and how many run in each. */
const ROWS = [
  [0.2, 10],
  [0.27, 8],
  [0.37, 6],
] as const;
/** Size of the lane behind the first. */
const BEHIND = 0.7;
/** Metres between marks on the ground, and between those with a number. */
const [MARK, NUMBERED] = [1, 5];

/** A ground that runners run over: one in front, maybe one behind, and the others in rows at the back. */
export class Field {
  #context: CanvasRenderingContext2D;
  #width: number;
  #height: number;
  #ratio: number;
  #camera: number;
  /** Pixels of a metre in front. */
  #scale: number;
  #colours: Theme = theme();

  /** `ratio` is pixels of the canvas for each of the page; the camera runs beside the one in front. */
  constructor(context: CanvasRenderingContext2D, ratio: number, camera: number) {
    const { width, height } = context.canvas;
    this.#context = context;
    [this.#width, this.#height, this.#ratio, this.#camera] = [width, height, ratio, camera];
    this.#scale = Math.min(0.48 * height, 0.36 * width);
  }

  /** Paints all; the one in front last. */
  paint(hero: Lane, rival: Lane | undefined, crowd: readonly Scene[]): void {
    this.#ground();
    let from = 0;
    for (const [size, count] of ROWS) {
      this.#row(crowd.slice(from, from + count), size);
      from += count;
    }
    if (rival) this.#lane(rival, BEHIND);
    this.#lane(hero, 1);
    if (rival) this.#tags(hero, rival);
  }

  /** Where a place of the ground is on the canvas, in the lane of a size. */
  #at(x: number, size: number): [number, number] {
    const middle = 0.46 * this.#width;
    const horizon = HORIZON * this.#height;
    return [middle + (x - this.#camera) * this.#scale * size, horizon + (LANE - HORIZON) * this.#height * size];
  }

  #ground(): void {
    const [context, colours] = [this.#context, this.#colours];
    const [width, height] = [this.#width, this.#height];
    const horizon = HORIZON * height;
    context.fillStyle = colours.paper;
    context.beginPath();
    context.arc(0.71 * width, horizon, 0.22 * height, Math.PI, 0);
    context.fill();
    context.fillStyle = colours.ground;
    context.fillRect(0, horizon, width, height - horizon);
    // Marks of every metre, from the horizon to the eye.
    const reach = Math.ceil(width / this.#scale / ROWS[0][0] / 2) + 1;
    const nearest = (height - horizon) / ((LANE - HORIZON) * height);
    context.strokeStyle = colours["ground-line"];
    context.lineWidth = this.#ratio;
    context.beginPath();
    context.moveTo(0, horizon);
    context.lineTo(width, horizon);
    const middle = Math.floor(this.#camera);
    for (let x = middle - reach; x <= middle + reach; x += MARK) {
      if (x % 2 === 0) {
        context.moveTo(...this.#at(x, 0.1));
        context.lineTo(...this.#at(x, nearest));
      }
    }
    context.stroke();
    this.#numbers(middle);
  }

  #numbers(middle: number): void {
    const [context, ratio] = [this.#context, this.#ratio];
    context.fillStyle = this.#colours.muted;
    context.font = this.#font(400);
    context.textAlign = "center";
    context.textBaseline = "top";
    const around = Math.ceil(this.#width / this.#scale);
    const first = Math.ceil((middle - around) / NUMBERED) * NUMBERED;
    for (let x = first; x <= middle + around; x += NUMBERED) {
      const [left, top] = this.#at(x, 1.1);
      const text = `${String(x).replace("-", "−")} m`;
      const half = context.measureText(text).width / 2;
      if (left < half || left + half > context.canvas.width) continue; // An edge would cut it.
      context.fillRect(left - ratio / 2, top - 8 * ratio, ratio, 6 * ratio);
      context.fillText(text, left, top);
    }
  }

  #font(weight: number): string {
    return `${weight} ${12 * this.#ratio}px ${getComputedStyle(this.#context.canvas).fontFamily}`;
  }

  /** Runners of a row: each begins somewhere else, and whoever leaves on one side comes back on the other. */
  #row(crowd: readonly Scene[], size: number): void {
    const span = this.#width / (this.#scale * size) + 2;
    crowd.forEach((scene, i) => {
      const from = (i + 0.5 * size * 10) * (span / crowd.length);
      const away = from + place(scene) - this.#camera;
      const x = this.#camera + (((away % span) + span) % span) - span * 0.46;
      this.#body(scene, x, size, "crowd");
    });
  }

  #body(scene: Scene, x: number, size: number, role: Role): void {
    const [xmin, xmax, ymin, ymax] = scene.view;
    const scale = this.#scale * size;
    const [middle, ground] = this.#at(x, size);
    const [left, top] = [middle - (scale * (xmax - xmin)) / 2, ground - scale * ymax];
    paint(this.#context, tinted([scene], role)[0]!, left, top, scale * (xmax - xmin), scale * (ymax - ymin));
  }

  #lane({ now, before, role }: Lane, size: number): void {
    const context = this.#context;
    const [middle, ground] = this.#at(place(now), size);
    const scale = this.#scale * size;
    context.globalAlpha = 0.16;
    context.fillStyle = this.#colours.muted;
    context.beginPath();
    context.ellipse(middle, ground + 0.03 * scale, 0.6 * scale, 0.045 * scale, 0, 0, 2 * Math.PI);
    context.fill();
    // After-images stand where it was.
    before.forEach((scene, i) => {
      context.globalAlpha = 0.1 + 0.07 * i;
      if (place(now) - place(scene) > 0.12) this.#body(scene, place(scene), size, role);
    });
    context.globalAlpha = 1;
    this.#body(now, place(now), size, role);
  }

  /** Writes above both backs, one above the other where there is no room for both. */
  #tags(hero: Lane, rival: Lane): void {
    const [mine, theirs] = [this.#label(hero, 1), this.#label(rival, BEHIND)];
    const apart = Math.abs(mine.left + mine.width / 2 - theirs.left - theirs.width / 2);
    const high = 24 * this.#ratio;
    if (apart < (mine.width + theirs.width) / 2 && Math.abs(mine.top - theirs.top) < high) {
      theirs.top = mine.top - high;
    }
    this.#tag(rival, theirs);
    this.#tag(hero, mine);
  }

  /** Where the words of a lane stand: above the back, or at the edge if that is out of sight. */
  #label({ now, tag }: Lane, size: number): { left: number; top: number; width: number } {
    const ratio = this.#ratio;
    this.#context.font = this.#font(600);
    const width = this.#context.measureText(tag).width + 20 * ratio;
    const [middle, ground] = this.#at(place(now) - 0.3, size);
    const left = Math.min(Math.max(middle - width / 2, 8 * ratio), this.#width - width - 8 * ratio);
    return { left, top: ground - 0.98 * this.#scale * size - 12 * ratio, width };
  }

  #tag({ role, tag }: Lane, { left, top, width }: { left: number; top: number; width: number }): void {
    const [context, colours, ratio] = [this.#context, this.#colours, this.#ratio];
    context.font = this.#font(600);
    context.fillStyle = colours.paper;
    context.beginPath();
    context.roundRect(left, top, width, 22 * ratio, 11 * ratio);
    context.fill();
    context.fillStyle = colours[role === "rival" ? "second-deep" : "accent-deep"];
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillText(tag, left + width / 2, top + 11.5 * ratio);
  }
}
