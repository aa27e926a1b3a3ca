import { loadPolicy, type Catalogue, type Policy, type Progress, type Run } from "quickstudy";
import { Ages } from "../ages.js";
import { Billing, type Visitor } from "../billing.js";
import type { State } from "../controls.js";
import { byId } from "../dom.js";
import type { Picked } from "../files.js";
import { count, learner, mean, reward, title } from "../format.js";
import { AGES, History } from "../history.js";
import { Lesson } from "../lesson.js";
import { stillSwitch } from "../motion.js";
import { offersOf } from "../offers.js";
import { recordedRun } from "../recorded.js";
import { Rival } from "../rival.js";
import { Stage, type Running } from "../stage.js";
import { Timeline } from "../timeline.js";
import { Trainer } from "../trainer.js";
import { untrained, type Level } from "../untrained.js";
import type { Choices } from "../url-state.js";
import type { Watcher } from "../watcher.js";
import type { RoomView } from "./room.js";

/** Milliseconds for which a moment is looked at before the address names it. */
const REST = 250;
/** Milliseconds after which a run is made though there is nothing to be seen yet. */
const PATIENCE = 3000;

/** Learn: one world, one learner, its policies of every second, and maybe a rival. */
export class LearnRoom implements RoomView, Watcher {
  readonly lookEvery = 1000;
  readonly trainer: Trainer;
  #stage: Stage;
  #timeline: Timeline;
  #ages: Ages;
  #billing: Billing;
  #copies = 0;
  #lesson: Lesson | undefined;
  #run: Run | undefined;
  #state: State = "preparing";
  /** The second that is looked at; none: the newest. */
  #at: number | undefined;
  /** The return of the policy that the run begins with, and the run that it is measured of. */
  #level: Level | undefined;
  #measured: Run | undefined;
  /** When Train was pressed, until a point of training is there. */
  #pressed: number | undefined;
  #running: Running | undefined;
  /** A policy from a file that is shown instead, in words, and its return. */
  #visitor: Visitor | undefined;
  #resting: ReturnType<typeof setTimeout> | undefined;
  /** Somebody is on the stage. */
  #entered!: () => void;
  #seen = new Promise<void>((done) => (this.#entered = done));
  #chosen: () => void;
  #pass: (file: Picked) => Promise<boolean>;

  constructor(
    catalogue: Catalogue,
    given: Partial<Choices>,
    chosen: () => void,
    pass: (file: Picked) => Promise<boolean>,
  ) {
    this.#billing = new Billing(catalogue);
    this.#chosen = chosen;
    this.#pass = pass;
    this.#at = given.at;
    this.#stage = new Stage(byId("learn-canvas") as HTMLCanvasElement, {
      shown: (copies) => (this.#copies = copies),
      rate: (figure) => this.#billing.rate(figure),
      running: (now) => {
        this.#running = now;
        this.#name();
      },
    });
    const seek = (at: number | undefined): void => this.#seek(at);
    this.#timeline = new Timeline(byId("learn-curve"), "Second of training that the stage shows", seek);
    const pressed = (age: number): void => seek(age >= (this.#lesson?.end ?? 0) ? undefined : age);
    this.#ages = new Ages(byId("learn-ages"), AGES.length, pressed, this.#seen);
    this.#switches();
    this.trainer = new Trainer("learn", catalogue, offersOf(catalogue), given, this);
    // A run can wait until something is to be seen.
    void this.#begin(this.trainer.form.choices).finally(async () => {
      await Promise.race([this.#seen, new Promise((done) => setTimeout(done, PATIENCE))]);
      if (!this.trainer.asked) this.trainer.reset();
    });
  }

  #switches(): void {
    stillSwitch(byId("learn-still"));
    // Space plays wherever it means nothing else.
    addEventListener("keydown", (event) => {
      const elsewhere = (event.target as Element).closest("button, input, select, summary, a");
      if (event.key === " " && !elsewhere && !byId("learn").hidden) {
        event.preventDefault();
        this.trainer.press();
      }
    });
  }

  enter(): void {
    this.#stage.play();
  }

  leave(): void {
    this.#stage.rest();
    this.trainer.pause("Paused while you were in another room.");
  }

  get choices(): Partial<Choices> {
    return { ...this.trainer.form.choices, ...(this.#at === undefined ? {} : { at: this.#at }) };
  }

  get seconds(): number | undefined {
    return this.#lesson?.own?.seconds;
  }

  apply(choices: Partial<Choices>): void {
    this.trainer.form.apply(choices);
    this.#at = choices.at;
    this.trainer.reset();
  }

  /** Shows what is recorded of a choice, before there is a run of it. */
  async #begin(choices: Choices): Promise<Lesson> {
    const { env, algorithm, rival } = choices;
    const before = this.#lesson;
    const lesson = new Lesson(env, algorithm, rival);
    lesson.after(before);
    before?.rival?.dispose();
    this.#lesson = lesson;
    this.#visitor = undefined;
    this.#level = undefined;
    this.#billing.announce(env);
    [lesson.recorded, lesson.recordedRival] = await Promise.all([
      recordedRun(env, algorithm),
      rival === undefined ? undefined : recordedRun(env, rival),
    ]);
    if (lesson === this.#lesson && lesson.recorded) this.#show(true);
    else this.#entered();
    return lesson;
  }

  async opened(run: Run, choices: Choices, again: boolean): Promise<void> {
    this.#run = run;
    if (again) return;
    const { env, algorithm, rival } = choices;
    const there = this.#lesson;
    const same = there?.env === env && there.algorithm === algorithm && there.against === rival;
    const lesson = there && same && !there.own && !this.#visitor ? there : await this.#begin(choices);
    const history = new History();
    history.envSteps = (await run.session).envSteps;
    lesson.waiting = history;
    await history.keep(run);
    if (lesson !== this.#lesson) return;
    this.#race();
    if (history.envSteps > 0) {
      // It was saved: what it can do is there to be seen.
      lesson.own = history;
      this.#at = undefined;
    }
    this.#show(true);
    if (lesson.isRecorded && lesson.first) await this.#stage.prepare(await lesson.first.act(), choices.seed);
    if (history.envSteps === 0) void this.#untrained(run, lesson).catch(() => undefined);
    if (this.#state === "training") this.#start();
  }

  entered(state: State): void {
    this.#state = state;
    const training = state === "training";
    if (training) this.#start();
    const [own, rival] = [this.#lesson?.own, this.#lesson?.rival];
    if (own) own.running = training;
    if (rival) rival.training = training;
    if (state === "finished") this.#draw();
  }

  /** Throws what is recorded away: from now on everything is the visitor's. */
  #start(): void {
    const lesson = this.#lesson;
    if (!lesson?.waiting || lesson.own) return;
    lesson.own = lesson.waiting;
    lesson.own.running = true;
    this.#at = undefined;
    this.#visitor = undefined;
    this.#show(true);
    this.#race();
    this.#pressed = this.trainer.takePress();
    this.#first();
  }

  /** Lets a rival train beside one's own run. */
  #race(): void {
    const [lesson, request] = [this.#lesson, this.trainer.form.rivalRequest];
    if (!lesson || !request || lesson.rival) return;
    const rival = new Rival(
      request,
      () => lesson === this.#lesson && this.#draw(),
      () => lesson === this.#lesson && lesson.own && this.#at === undefined && void this.#cast(false),
      (why) => lesson === this.#lesson && this.#billing.complain(`${learner(request.algorithm)}: ${why}`),
    );
    lesson.rival = rival;
    rival.training = this.#state === "training";
  }

  /** Measures what acting without having learnt pays, so that it is known once Train is pressed. */
  async #untrained(run: Run, lesson: Lesson): Promise<void> {
    const bytes = lesson.waiting?.age(0)?.bytes;
    if (!bytes || this.#measured === run) return;
    this.#measured = run;
    const level = await untrained(bytes);
    if (lesson !== this.#lesson || run !== this.#run) return;
    this.#level = level;
    performance.mark("untrained measured");
    this.#first();
  }

  /** Begins one's own line with what the untrained policy is paid. */
  #first(): void {
    const [own, level] = [this.#lesson?.own, this.#level];
    const begins = own !== undefined && level !== undefined && own.points.seconds[0] !== 0;
    if (begins) own.point(0, 0, level.value);
    this.#draw(begins ? this.#soon("first point") : undefined);
  }

  /** Measures how soon after Train something can be seen, for whoever looks. */
  #soon(what: string): (() => void) | undefined {
    const start = this.#pressed;
    return start === undefined ? undefined : () => performance.measure(what, { start });
  }

  /** Shows everything of the lesson as it is now; `fresh` from first states on. */
  #show(fresh: boolean): void {
    void this.#cast(fresh);
    this.#draw();
  }

  /** Puts on the stage whoever is to be seen. */
  async #cast(fresh: boolean): Promise<void> {
    const lesson = this.#lesson;
    if (!lesson || this.#visitor) return;
    const { algorithm, against } = lesson;
    const seed = this.trainer.form.choices.seed;
    this.#stage.name(learner(algorithm), against === undefined ? "" : learner(against));
    const [hero, second] = [lesson.hero(this.#at), lesson.second(this.#at)];
    this.#name();
    const [first, other] = await Promise.all([hero?.act(), second?.act()]);
    if (lesson !== this.#lesson) return;
    if (first) {
      const shown = this.#stage.show("hero", first, seed, fresh);
      void shown.catch(() => undefined).finally(this.#entered);
    }
    void this.#stage.show("rival", other, seed, fresh).catch(() => undefined);
  }

  #seek(at: number | undefined): void {
    if (at === this.#at) return;
    this.#at = at;
    this.#visitor = undefined;
    this.#show(false);
    clearTimeout(this.#resting);
    this.#resting = setTimeout(this.#chosen, REST);
  }

  /** Draws the curve, the ages and the numbers. */
  #draw(painted?: () => void): void {
    const lesson = this.#lesson;
    if (!lesson) return;
    const { lines, rings, end, stops, described } = lesson;
    const at = this.#at === undefined ? undefined : stops ? lesson.moment(this.#at).seconds : Math.min(this.#at, end);
    const spoken = lesson.spoken(this.#at);
    // Beside a recorded run there is nothing of one's own yet.
    const level = lesson.isRecorded ? undefined : this.#level;
    const words = level ? `${described} ${level.label}: ${reward(level.value)}.` : described;
    this.#timeline.show({ lines, level, rings, end, at, stops, spoken, described: words }, painted);
    this.#ages.show(lesson.ages(this.#state === "finished"), at ?? end, lesson.own !== undefined);
    this.#name();
  }

  /** Says who is on the stage, how well it does, and who leads. */
  #name(): void {
    const [lesson, at, copies, visitor, running] = [this.#lesson, this.#at, this.#copies, this.#visitor, this.#running];
    if (lesson) this.#billing.show({ lesson, at, copies, visitor, running });
  }

  progressed(progress: Progress): void {
    const own = this.#lesson?.own;
    if (!own) return;
    const [any, trained] = [own.points.seconds.length > 0, own.points.seconds.some((second) => second > 0)];
    const fresh = own.add(progress) && !trained;
    const told = fresh ? [this.#soon("first of training"), any ? undefined : this.#soon("first point")] : [];
    if (fresh) this.#pressed = undefined;
    this.#draw(fresh ? () => told.forEach((tell) => tell?.()) : undefined);
  }

  async looked(run: Run): Promise<void> {
    const lesson = this.#lesson;
    if (!lesson?.own) return;
    await lesson.own.keep(run);
    if (lesson !== this.#lesson) return;
    this.#visitor = undefined;
    if (this.#at === undefined) await this.#cast(false);
    this.#draw();
  }

  chosen(): void {
    this.#chosen();
    const [lesson, { env, algorithm, rival }] = [this.#lesson, this.trainer.form.choices];
    const same = lesson?.env === env && lesson.algorithm === algorithm;
    // Another rival leaves one's own run as it is.
    if (same && lesson.against !== rival) void this.#challenged(rival);
  }

  async #challenged(against: string | undefined): Promise<void> {
    const before = this.#lesson;
    if (!before) return;
    before.rival?.dispose();
    const recordedRival = against === undefined ? undefined : await recordedRun(before.env, against);
    if (before !== this.#lesson) return;
    const lesson = before.against === against ? before : before.with(against);
    this.#lesson = Object.assign(lesson, { recordedRival });
    this.#race();
    this.#show(false);
  }

  async offered(file: Picked): Promise<boolean> {
    let policy: Policy;
    try {
      policy = await loadPolicy(file.bytes);
    } catch {
      return false;
    }
    try {
      const { info } = policy;
      if (info.spec.task.length > 0) return await this.#pass(file);
      const { returns } = await policy.evaluate({ episodes: 100 });
      this.#visitor = {
        when: `${learner(info.algorithm)} after ${count(info.envSteps)} steps`,
        caption: `${title(info.env)} by ${file.name}, a policy to be watched, not trained further`,
        value: mean(returns),
      };
      await this.#stage.show("rival", undefined, info.seed);
      await this.#stage.show("hero", { key: `file ${file.name} ${Math.random()}`, bytes: file.bytes }, info.seed, true);
      this.#draw();
      return true;
    } finally {
      policy.dispose();
    }
  }
}
