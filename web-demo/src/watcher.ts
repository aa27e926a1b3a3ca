import type { Progress, Run } from "quickstudy";
import type { State } from "./controls.js";
import type { Picked } from "./files.js";
import type { Choices } from "./url-state.js";

/** A room that does something with a run. */
export interface Watcher {
  /** Milliseconds between looks at the policy. */
  readonly lookEvery: number;
  /** Seconds of training so far, where the room counts them. */
  readonly seconds?: number | undefined;
  /**
   * A run is ready, with its policy as it is: untrained, or as it was saved. `again`: it goes on where the last one
   * ended.
   */
  opened(run: Run, choices: Choices, again: boolean): Promise<void>;
  /** Training begins, pauses, ends, or cannot go on. */
  entered?(state: State): void;
  /** After each iteration. */
  progressed(progress: Progress): void;
  /** Every so often while it trains, and once more when it pauses or ends. */
  looked(run: Run): Promise<void>;
  /** There is a run of what is chosen: the address should name it. */
  chosen(): void;
  /** A file that this trainer cannot go on with. False if it is of no use to anybody. */
  offered(file: Picked): Promise<boolean>;
}
