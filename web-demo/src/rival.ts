import { train, type Run, type SessionOptions } from "quickstudy";
import { History } from "./history.js";

/** A second run that is raced against: it trains while the first one does, in a worker of its own. */
export class Rival {
  readonly algorithm: string;
  readonly history = new History();
  #run: Run;

  /** `moved` is called after each iteration, `kept` when there is a newer policy, `failed` if it cannot go on. */
  constructor(options: SessionOptions, moved: () => void, kept: () => void, failed: (why: string) => void) {
    this.algorithm = options.algorithm;
    const run = train({
      ...options,
      paused: true,
      onProgress: (progress) => {
        this.history.add(progress);
        moved();
        if (this.history.due) void this.#keep(kept);
      },
    });
    this.#run = run;
    run.finished.then(
      () => this.#keep(kept),
      (error: unknown) => failed(error instanceof Error ? error.message : String(error)),
    );
    run.session.then(() => this.#keep(kept)).catch(() => undefined);
  }

  async #keep(kept: () => void): Promise<void> {
    try {
      await this.history.keep(this.#run);
      kept();
    } catch {
      // It was disposed of meanwhile.
    }
  }

  /** Trains, or holds. */
  set training(on: boolean) {
    this.history.running = on;
    if (on) this.#run.resume();
    else this.#run.pause();
  }

  dispose(): void {
    void this.#run.dispose();
  }
}
