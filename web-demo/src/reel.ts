import { moving, onMotionChange } from "./motion.js";
import { onThemeChange } from "./theme.js";

/** Milliseconds between small pictures: more often costs more than it shows. */
const PACE = 33;

type Painter = (now: number) => void;

/** One loop for all small pictures, which are painted only while they are in sight. */
class Reel {
  #painters = new Map<Element, Painter>();
  #seen = new Set<Element>();
  #eye = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) this.#seen.add(target);
      else this.#seen.delete(target);
    }
    this.once();
    this.#run();
  });
  #frame: number | undefined;
  #paintedAt = 0;

  constructor() {
    // Those out of sight come into sight as they are.
    onThemeChange(() => this.#painters.forEach((paint) => paint(performance.now())));
    onMotionChange(() => this.once());
  }

  /** Lets a canvas be painted from now on. */
  add(canvas: HTMLCanvasElement, paint: Painter): void {
    this.#painters.set(canvas, paint);
    this.#eye.observe(canvas);
  }

  /** Paints all that is in sight, and goes on if things move. */
  once(): void {
    const now = performance.now();
    this.#seen.forEach((canvas) => this.#painters.get(canvas)?.(now));
    this.#run();
  }

  #run(): void {
    if (moving() && this.#seen.size > 0) this.#frame ??= requestAnimationFrame((now) => this.#tick(now));
  }

  #tick(now: number): void {
    this.#frame = undefined;
    if (now - this.#paintedAt >= PACE - 4) {
      this.#paintedAt = now;
      this.once();
    } else {
      this.#run();
    }
  }
}

export const reel = new Reel();
