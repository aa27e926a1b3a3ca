import { ConfigError, train, type Catalogue, type Progress, type Run } from "quickstudy";
import { ChoicesForm, type Offer } from "./choices-form.js";
import { Controls, type State } from "./controls.js";
import { copyLink } from "./copy-link.js";
import { byId } from "./dom.js";
import { download, type Picked } from "./files.js";
import { count, title } from "./format.js";
import type { Choices } from "./url-state.js";

/** What a room does with a run. */
export interface Watcher {
  /** Milliseconds between looks at the policy. */
  readonly lookEvery: number;
  /**
   * A run is ready, with its policy as it is: untrained, or as it was saved. `again`: it goes on where the last one
   * ended.
   */
  opened(run: Run, choices: Choices, again: boolean): Promise<void>;
  /** Train was pressed: it begins, or goes on. */
  started?(): void;
  /** After each iteration. */
  progressed(progress: Progress): void;
  /** Every so often while it trains, and once more when it pauses or ends. */
  looked(run: Run): Promise<void>;
  /** There is a run of what is chosen: the address should name it. */
  chosen(): void;
  /** A file that this trainer cannot go on with. False if it is of no use to anybody. */
  offered(file: Picked): Promise<boolean>;
}

/** Milliseconds after the last change before a run is made. */
const SETTLE = 150;

const TEXTS: Record<State, string> = {
  preparing: "Getting ready …",
  ready: "Ready.",
  training: "Training.",
  paused: "Paused.",
  finished: "Finished: all steps are made.",
  failed: "This cannot be trained yet: see the field that is marked.",
};
const KEPT = "Not taken: see the field that is marked. The run is kept as it was.";

/** A run with its buttons: train, pause, reset, save, load, copy link. */
export class Trainer {
  readonly form: ChoicesForm;
  #watcher: Watcher;
  #run: Run | undefined;
  #state: State = "preparing";
  /** What the run that is there comes back to if there is no new one. */
  #held: State = "failed";
  /** The request that made the run. */
  #made: string | undefined;
  #generation = 0;
  #settling: ReturnType<typeof setTimeout> | undefined;
  #looking: Promise<void> = Promise.resolve();
  #lookedAt = 0;
  #lookPending = false;
  #wanted = false;
  #pressedAt: number | undefined;
  #controls: Controls;

  /** Takes the places of the page that are named after the room. */
  constructor(
    room: string,
    catalogue: Catalogue,
    offers: Offer[],
    given: Partial<Choices>,
    watcher: Watcher,
  ) {
    this.#watcher = watcher;
    this.#controls = new Controls(byId(`${room}-controls`), byId(`${room}-files`), {
      primary: () => this.#press(),
      reset: () => this.reset(),
      save: () => this.#attempt(this.#download()),
      load: (file) => void this.load(file),
      copy: () => void copyLink((text) => this.#controls.tell(text)),
    });
    const [choices, code] = [byId(`${room}-choices`), byId(`${room}-code`)];
    this.form = new ChoicesForm(choices, code, catalogue, offers, given, () => this.#changed());
    this.#enter("preparing");
  }

  /** When Train was pressed last, until somebody has taken it. */
  takePress(): number | undefined {
    const at = this.#pressedAt;
    this.#pressedAt = undefined;
    return at;
  }

  /** Makes a run of what is chosen. It waits to be started. */
  reset(): void {
    if (this.form.check()) {
      this.#prepare();
      void this.#open({ ...this.form.request, paused: true }, false);
    } else {
      this.#controls.tell(this.#marked);
    }
  }

  /** Holds, for example since another room is looked at. */
  pause(why = TEXTS.paused): void {
    this.#holdStill();
    if (this.#state === "training") {
      this.#run?.pause();
      this.#enter("paused", why);
      this.#look();
    }
  }

  /** Takes a file: a snapshot goes on training, anything else is offered to the room. */
  async load(file: Picked): Promise<void> {
    this.#prepare();
    // A policy that the room may show instead stays to be seen.
    this.#holdStill();
    const opened = await this.#open({ snapshot: file.bytes, paused: true }, false, file);
    if (opened) {
      this.#controls.tell(`Loaded ${file.name}: it goes on where it was saved.`);
    }
  }

  #changed(): void {
    if (!this.form.check()) {
      this.#controls.tell(this.#marked);
      return;
    }
    if (this.#usable && JSON.stringify(this.form.request) === this.#made) {
      this.form.clear();
      this.#watcher.chosen();
      this.#back();
      return;
    }
    this.#prepare();
    this.#settling = setTimeout(() => void this.#open({ ...this.form.request, paused: true }, false), SETTLE);
  }

  /** What the run that is there is doing, or comes back to. */
  get #kept(): State {
    return this.#state === "preparing" ? this.#held : this.#state;
  }

  /** Whether the run that is there can go on or be saved. */
  get #usable(): boolean {
    return this.#run !== undefined && this.#kept !== "failed";
  }

  /** What to say when a field is marked. */
  get #marked(): string {
    return this.#usable ? KEPT : TEXTS.failed;
  }

  /** Back to the run that is there; whatever was to come does not. */
  #back(text?: string): void {
    clearTimeout(this.#settling);
    this.#generation += 1;
    this.#wanted = false;
    const state = this.#kept;
    if (state === "training") {
      this.#run?.resume();
    }
    this.#enter(state, text);
  }

  /** A run that would come back training comes back paused. */
  #holdStill(): void {
    if (this.#held === "training") this.#held = "paused";
  }

  /** From now on, Train is meant for the run that is to come. */
  #prepare(): void {
    clearTimeout(this.#settling);
    this.#generation += 1;
    this.#wanted = false;
    this.#run?.pause();
    this.#held = this.#kept;
    this.#enter("preparing");
  }

  async #open(options: Parameters<typeof train>[0], again: boolean, file?: Picked): Promise<boolean> {
    const generation = ++this.#generation;
    const run = train({
      ...options,
      onProgress: (progress) => {
        if (run === this.#run) this.#progressed(progress);
      },
      onNotice: ({ kind, message }) => {
        if (run === this.#run && kind === "recovered") this.#controls.tell(message);
      },
    });
    try {
      const session = await run.session;
      if (generation !== this.#generation) {
        await run.dispose();
        return false;
      }
      if (file && !this.form.knows(session.setup)) {
        throw new Error(`${title(session.setup.env)} by ${session.setup.algorithm} is not trained in this room`);
      }
      void this.#run?.dispose();
      this.#run = run;
      const { setup, device } = session;
      if (file) {
        this.form.adopt(setup);
      }
      if (!again) {
        this.form.clear();
        this.#made = JSON.stringify(this.form.request);
        this.#watcher.chosen();
      }
      this.#controls.device(device);
      this.#controls.progress(session.envSteps, session.totalSteps);
      this.#enter("ready");
      void run.finished.then(
        () => run === this.#run && this.#ended(),
        (error: unknown) => run === this.#run && this.#failed(error),
      );
      await this.#watcher.opened(run, this.form.choices, again);
      if (generation !== this.#generation) {
        return false;
      }
      if (this.#wanted) {
        this.#start();
      }
      return true;
    } catch (error) {
      void run.dispose();
      if (generation !== this.#generation) {
        return false;
      }
      if (run === this.#run) {
        this.#run = undefined;
      }
      if (!file) {
        this.#refused(error);
        return false;
      }
      // A file that is no use leaves what was there.
      const taken = await this.#watcher.offered(file);
      if (generation === this.#generation) {
        this.#remain(taken ? `${file.name} holds a policy.` : `${file.name}: ${message(error)}`);
      }
      return false;
    }
  }

  #press(): void {
    switch (this.#state) {
      case "preparing":
        // Not ready yet: it begins as soon as it is.
        this.#pressedAt = performance.now();
        this.#wanted = true;
        return;
      case "training":
        this.pause();
        return;
      case "ready":
      case "paused":
        this.#pressedAt = performance.now();
        this.#start();
        return;
      case "finished":
        this.#attempt(this.#longer());
        return;
      case "failed":
        this.reset();
    }
  }

  /** Says what went wrong with something that was asked for. */
  #attempt(work: Promise<void>): void {
    work.catch((error: unknown) => this.#controls.tell(message(error)));
  }

  #start(): void {
    this.#wanted = false;
    this.#run?.resume();
    this.#enter("training");
    this.#watcher.started?.();
  }

  /** Once more as many steps, from where it ended. */
  async #longer(): Promise<void> {
    const run = this.#run;
    if (run) {
      const { totalSteps } = await run.session;
      this.#prepare();
      this.#wanted = true;
      await this.#open({ snapshot: await run.save(), steps: 2 * totalSteps, paused: true }, true);
    }
  }

  #progressed(progress: Progress): void {
    this.#watcher.progressed(progress);
    this.#controls.progress(progress.envSteps, progress.totalSteps, progress.stepsPerSecond);
    if (performance.now() - this.#lookedAt > this.#watcher.lookEvery) {
      this.#look();
    }
  }

  /** Lets the room look at the policy, one look at a time. */
  #look(): void {
    const run = this.#run;
    if (!run || this.#lookPending) {
      return;
    }
    this.#lookPending = true;
    this.#looking = this.#looking
      .then(() => this.#watcher.looked(run))
      // The run was disposed of meanwhile: there is nothing to look at.
      .catch(() => undefined)
      .finally(() => {
        this.#lookedAt = performance.now();
        this.#lookPending = false;
      });
  }

  #ended(): void {
    if (this.#state === "preparing") {
      this.#held = "finished";
      return;
    }
    this.#enter("finished");
    this.#look();
  }

  /** The run that is there cannot go on. */
  #failed(error: unknown): void {
    if (this.#state === "preparing") {
      this.#held = "failed";
      return;
    }
    this.#enter("failed", message(error));
  }

  /** There is no run of what is chosen. */
  #refused(error: unknown): void {
    this.form.clear();
    const beside = this.form.fail(error instanceof ConfigError ? error.key : undefined, message(error));
    this.#remain(beside ? this.#marked : message(error));
  }

  /** With the run that is there, or without any. */
  #remain(text: string): void {
    if (this.#usable) this.#back(text);
    else this.#enter("failed", text);
  }

  #enter(state: State, text = TEXTS[state]): void {
    this.#state = state;
    this.#controls.enter(state, text, this.#usable);
  }

  async #download(): Promise<void> {
    const run = this.#run;
    if (!run) {
      return;
    }
    const bytes = await run.save();
    const { setup, envSteps } = await run.session;
    const name = `${setup.env}-${setup.algorithm}-seed${setup.seeds[0] ?? 0}-${envSteps}`.replaceAll(
      /[^a-z0-9-]/g,
      "_",
    );
    download(bytes, `${name}.safetensors`);
    this.#controls.tell(
      `Saved ${title(setup.env)} after ${count(envSteps)} steps. The command line reads this file, too.`,
    );
  }
}

function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
