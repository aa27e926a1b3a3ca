import { paint, paintGrid, type Scene } from "quickstudy";
import { sharpen } from "../../native-cli/assets/page/canvas.js";
import { opened } from "./early.js";
import { Field } from "./field.js";
import { FrameRate } from "./frame-rate.js";
import { moving, onMotionChange } from "./motion.js";
import { arrange, type Box } from "./places.js";
import { onThemeChange, theme } from "./theme.js";
import { tinted, type Role } from "./tint.js";
import { PLAYED, Troupe, type Act } from "./troupe.js";

/** Steps that a still picture shows: now, and some ago. */
const STROBE = 24;
/** Steps back of after-images, the furthest first. */
const AGO = [10, 5];
/** Pixels on both sides of the middle between two that race. */
const APART = 8;
/** Milliseconds between what is told of runners. */
const PACE = 250;

/** A moment of the one in front, as it runs. */
export interface Running {
  speed: number;
  metres: number;
  /** Metres that it is ahead of whom it races against. */
  ahead: number | undefined;
}

/** Who is told of what is to be seen. */
export interface Audience {
  /** Takes the number of environments that are seen. */
  shown(count: number): void;
  /** Takes how often they are painted. */
  rate(figure: { perSecond: number; longest: number }): void;
  /** Takes how the one in front runs; nothing in worlds where nobody runs. */
  running(now: Running | undefined): void;
}

type Part = "hero" | "rival";

/** Environments that a policy plays at the pace of the screen: one in front, maybe a rival, and a small crowd. */
export class Stage {
  #canvas: HTMLCanvasElement;
  #context: CanvasRenderingContext2D;
  #rate = new FrameRate();
  #audience: Audience;
  #cast: Partial<Record<Part, Troupe>> = {};
  /** Somebody who stands ready, so that it is there at once. */
  #understudy: Troupe | undefined;
  #wanted: Record<Part, number> = { hero: 0, rival: 0 };
  #work: Promise<void> = Promise.resolve();
  #fresh = false;
  #busy = false;
  #moved = false;
  #steppedAt = 0;
  #toldAt = 0;
  #names: Record<Part, string> = { hero: "", rival: "" };
  #frame: number | undefined;

  constructor(canvas: HTMLCanvasElement, audience: Audience) {
    const context = canvas.getContext("2d", { alpha: false });
    if (!context) {
      throw new Error("this browser has no 2-D canvas");
    }
    this.#canvas = canvas;
    this.#context = context;
    this.#audience = audience;
    new ResizeObserver(() => this.#fit()).observe(canvas);
    onThemeChange(() => this.#paint());
    onMotionChange(() => this.#paint());
    this.#fit();
  }

  /** Names that tags have in a race. */
  name(hero: string, rival: string): void {
    this.#names = { hero, rival };
  }

  /** Opens somebody who will be shown soon, without showing anything. */
  prepare(act: Act, seed: number): Promise<void> {
    return this.#then(async () => {
      const made = await Troupe.open(act, PLAYED, seed);
      this.#understudy?.dispose();
      this.#understudy = made;
    });
  }

  /** Shows a policy: `fresh` from first states on, otherwise from where things are, if it can. */
  show(part: Part, act: Act | undefined, seed: number, fresh = false): Promise<void> {
    const wanted = ++this.#wanted[part];
    // Whoever stands ready comes on at once.
    const ready = this.#understudy;
    if (part === "hero" && act && fresh && ready?.act.key === act.key) {
      this.#understudy = undefined;
      this.#enter(part, ready);
      return this.#settle();
    }
    return this.#then(async () => {
      const there = this.#cast[part];
      if (wanted !== this.#wanted[part] || (there && there.act.key === act?.key && !fresh)) {
        return;
      }
      if (act === undefined) {
        there?.dispose();
        delete this.#cast[part];
      } else if (fresh || !there || !(await there.hand(act))) {
        const ready = part === "hero" ? opened(act.key) : undefined;
        const made = await (ready ?? Troupe.open(act, part === "hero" ? PLAYED : 1, seed));
        if (wanted !== this.#wanted[part]) {
          made.dispose();
          return;
        }
        this.#enter(part, made);
        await this.#together(part, seed);
      }
      await this.#settle();
    });
  }

  #then(work: () => Promise<void>): Promise<void> {
    const done = this.#work.then(work);
    this.#work = done.catch(() => undefined);
    return done;
  }

  #enter(part: Part, troupe: Troupe): void {
    this.#cast[part]?.dispose();
    this.#cast[part] = troupe;
    this.#steppedAt = 0;
    this.#fresh = true;
  }

  /** Lets the other one begin anew, too, so that both have run for as long. */
  async #together(part: Part, seed: number): Promise<void> {
    const other = part === "hero" ? "rival" : "hero";
    const there = this.#cast[other];
    if (there && there.steps > 0) {
      this.#enter(other, await Troupe.open(there.act, there.count, seed));
    }
  }

  /** Goes on to a moment that says something, where pictures stand still. */
  async #settle(): Promise<void> {
    if (!moving()) {
      for (let i = 0; i < STROBE; i++) await this.#steps();
    }
    this.#fresh = true;
  }

  async #steps(): Promise<void> {
    await Promise.all(Object.values(this.#cast).map((troupe) => troupe.step()));
  }

  /** Moves, as long as the page is seen. */
  play(): void {
    this.#frame ??= requestAnimationFrame((now) => this.#tick(now));
  }

  /** Stands still and costs nothing. */
  rest(): void {
    if (this.#frame !== undefined) {
      cancelAnimationFrame(this.#frame);
      this.#frame = undefined;
    }
  }

  #tick(now: number): void {
    this.#frame = requestAnimationFrame((next) => this.#tick(next));
    const figure = this.#rate.tick(now);
    if (figure) {
      this.#audience.rate(figure);
    }
    const pause = 1000 / (this.#cast.hero?.pace ?? 1);
    // Half a frame of slack, so that a screen of 60 Hz makes every step.
    if (moving() && this.#cast.hero && !this.#busy && now - this.#steppedAt >= pause - 8) {
      // In step with the pace, though frames are not.
      this.#steppedAt = Math.max(this.#steppedAt + pause, now - pause);
      void this.#advance();
    }
    if (this.#fresh || moving()) {
      this.#fresh = false;
      this.#paint(Math.min((now - this.#steppedAt) / pause, 1));
    }
    if (now - this.#toldAt >= PACE) {
      this.#toldAt = now;
      this.#tell();
    }
  }

  async #advance(): Promise<void> {
    this.#busy = true;
    try {
      await this.#steps();
      // How soon something moves is marked once, for whoever looks.
      if (!this.#moved) performance.mark("first step");
      this.#moved = true;
    } catch {
      // Somebody was disposed of meanwhile; the next one is on its way.
    } finally {
      this.#busy = false;
    }
  }

  #tell(): void {
    const { hero, rival } = this.#cast;
    const ahead = hero && rival ? hero.metres - rival.metres : undefined;
    this.#audience.running(hero?.runs ? { speed: hero.speed, metres: hero.metres, ahead } : undefined);
  }

  #fit(): void {
    if (sharpen(this.#canvas)) {
      this.#paint();
    }
  }

  #paint(part = 1): void {
    const { width, height, clientWidth } = this.#canvas;
    const context = this.#context;
    const colours = theme();
    const sky = context.createLinearGradient(0, 0, 0, height);
    sky.addColorStop(0, colours["sky-1"]);
    sky.addColorStop(1, colours["sky-2"]);
    context.fillStyle = sky;
    context.fillRect(0, 0, width, height);
    const { hero, rival } = this.#cast;
    const [first, ...others] = hero?.at(part) ?? [];
    if (!hero || !first || clientWidth === 0) {
      return;
    }
    const [second] = rival?.at(part) ?? [];
    if (hero.runs) {
      this.#field(first, second, others, width / clientWidth);
    } else {
      this.#pictures(first, second, others, width / clientWidth);
    }
  }

  #field(first: Scene, second: Scene | undefined, others: readonly Scene[], ratio: number): void {
    const [xmin, xmax] = first.view;
    const lane = (part: Part, now: Scene) => {
      const troupe = this.#cast[part]!;
      const before = AGO.map((steps) => troupe.earlier(steps)).filter((scene) => scene !== undefined);
      const speed = `${Math.abs(troupe.speed).toFixed(1)} m/s`;
      return { now, before, role: part, tag: this.#cast.rival ? `${this.#names[part]} ${speed}` : "" };
    };
    const field = new Field(this.#context, ratio, (xmin + xmax) / 2);
    field.paint(lane("hero", first), second && lane("rival", second), others);
    this.#audience.shown(1 + others.length);
  }

  #pictures(first: Scene, second: Scene | undefined, others: readonly Scene[], ratio: number): void {
    const { width, height } = this.#canvas;
    const { hero, crowd } = arrange(first.view, width, height, ratio);
    const around = tinted(others, "crowd");
    let from = 0;
    for (const { left, top, width: across, height: down, columns, rows } of crowd) {
      const some: Scene[] = around.slice(from, from + columns * rows);
      from += some.length;
      this.#context.save();
      this.#context.translate(left, top);
      paintGrid(this.#context, some, columns, across, down, 0.14 * (across / columns));
      this.#context.restore();
    }
    this.#audience.shown(1 + from);
    if (!second) {
      this.#picture(first, "hero", hero);
      return;
    }
    const half = { ...hero, width: hero.width / 2 - APART * ratio };
    this.#picture(first, "hero", half, ratio);
    this.#picture(second, "rival", { ...half, left: hero.left + hero.width - half.width }, ratio);
  }

  /** A picture in its box; with a tag where pages' pixels are given. */
  #picture(scene: Scene, role: Part, { left, top, width, height }: Box, ratio = 0): void {
    const context = this.#context;
    const tag = 20 * ratio;
    const [tinged] = tinted([scene], role satisfies Role, this.#cast.hero?.env);
    // Whatever lies beyond a picture's view, such as a pole that falls, is not to be seen elsewhere.
    context.save();
    context.beginPath();
    context.rect(left, top, width, height);
    context.clip();
    paint(context, tinged!, left, top, width, height - tag);
    if (ratio > 0) {
      context.font = `600 ${13 * ratio}px ${getComputedStyle(this.#canvas).fontFamily}`;
      context.textAlign = "center";
      context.textBaseline = "bottom";
      context.fillStyle = theme()[role === "hero" ? "accent-deep" : "second-deep"];
      context.fillText(this.#names[role], left + width / 2, top + height);
    }
    context.restore();
  }
}
