/** Counts the seconds that this process works, so that other work on the machine does not count. */
export class Stopwatch {
  #counted = 0;
  #since;

  /** Counts from now on. */
  start() {
    this.#since = worked();
  }

  /** Counts no longer. */
  stop() {
    this.#counted = this.seconds;
    this.#since = undefined;
  }

  get seconds() {
    return this.#counted + (this.#since === undefined ? 0 : worked() - this.#since);
  }
}

/** Seconds of the processor so far. */
function worked() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}
