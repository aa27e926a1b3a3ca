import { reducedMotion } from "./dom.js";

/** What is played: stages of so many steps, shown one by one. */
export interface Film {
  stages: number;
  steps: number;
  /** Milliseconds of a step. */
  pace: number;
  show(stage: number, step: number): void;
  /** Called once at the end, also if nothing moved. */
  ended(): void;
}

/** Milliseconds between two stages. */
const HOLD = 600;

/** Plays films; a new one replaces the one before. */
export class Playback {
  #frame: number | undefined;

  /** Plays from the beginning; readers who want less motion see the end at once. */
  play(film: Film): void {
    this.stop();
    const { stages, steps, pace } = film;
    if (reducedMotion()) {
      film.show(stages - 1, steps);
      film.ended();
      return;
    }
    const [start, length] = [performance.now(), steps * pace + HOLD];
    const tick = (): void => {
      const elapsed = performance.now() - start;
      const stage = Math.min(Math.floor(elapsed / length), stages - 1);
      const step = Math.min(Math.floor((elapsed - stage * length) / pace), steps);
      film.show(stage, step);
      if (elapsed >= stages * length - HOLD) {
        this.#frame = undefined;
        film.ended();
      } else {
        this.#frame = requestAnimationFrame(tick);
      }
    };
    tick();
  }

  /** Stops where it is. */
  stop(): void {
    if (this.#frame !== undefined) {
      cancelAnimationFrame(this.#frame);
      this.#frame = undefined;
    }
  }
}
