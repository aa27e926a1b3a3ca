/** Frames per second over the last second or so, as `requestAnimationFrame` calls. */
export class FrameRate {
  #since = 0;
  #frames = 0;
  #worst = 0;
  #last = 0;

  /** To be called at each frame; a new figure about once a second. */
  tick(now: number): { perSecond: number; longest: number } | undefined {
    if (this.#last === 0 || now - this.#last > 1000) {
      // The first, or the first after a hidden tab: not a slow frame.
      [this.#since, this.#frames, this.#worst, this.#last] = [now, 0, 0, now];
      return undefined;
    }
    this.#frames += 1;
    this.#worst = Math.max(this.#worst, now - this.#last);
    this.#last = now;
    if (now - this.#since < 1000) {
      return undefined;
    }
    const figure = { perSecond: (1000 * this.#frames) / (now - this.#since), longest: this.#worst };
    [this.#since, this.#frames, this.#worst] = [now, 0, 0];
    return figure;
  }
}
