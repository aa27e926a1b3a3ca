import { reducedMotion } from "./dom.js";

/** A film: stages of so many steps, shown one by one. */
export interface Film {
  /** The number of stages that there are, or will be. */
  stages(): number;
  steps: number;
  /** Milliseconds of a step. */
  pace: number;
  /** Stages that can be shown by now: it waits for the others. */
  known(): number;
  show(stage: number, step: number): void;
  /** Called once at the end, also if nothing moved. */
  ended(): void;
}

/** Milliseconds between two stages. */
const HOLD = 500;

/** Plays films; a new one replaces the one before. */
export class Playback {
  #frame: number | undefined;
  #film: Film | undefined;
  #elapsed = 0;
  #seen = 0;

  /** Plays from the beginning; readers who want less motion see the end at once. */
  play(film: Film): void {
    this.stop();
    this.#film = film;
    this.#elapsed = 0;
    if (reducedMotion()) {
      film.show(film.stages() - 1, film.steps);
      film.ended();
      return;
    }
    this.resume();
  }

  /** True while it moves. */
  get playing(): boolean {
    return this.#frame !== undefined;
  }

  /** Goes on where it stopped. */
  resume(): void {
    if (this.#film && !this.playing) {
      this.#seen = performance.now();
      this.#tick();
    }
  }

  /** Stops where it is. */
  stop(): void {
    if (this.#frame !== undefined) {
      cancelAnimationFrame(this.#frame);
      this.#frame = undefined;
    }
  }

  #tick(): void {
    const { steps, pace, show, ended, ...film } = this.#film!;
    const stages = film.stages();
    const [now, length] = [performance.now(), steps * pace + HOLD];
    this.#elapsed = Math.min(this.#elapsed + now - this.#seen, film.known() * length - 1);
    this.#seen = now;
    const stage = Math.min(Math.floor(this.#elapsed / length), stages - 1);
    show(stage, Math.min(Math.floor((this.#elapsed - stage * length) / pace), steps));
    if (this.#elapsed >= stages * length - HOLD) {
      this.#frame = undefined;
      ended();
    } else {
      this.#frame = requestAnimationFrame(() => this.#tick());
    }
  }
}
