import type { Catalogue } from "quickstudy";
import { byId, element, say } from "./dom.js";
import { learner, reward, title } from "./format.js";
import type { Lesson } from "./lesson.js";
import type { Running } from "./stage.js";
import { headline, STORIES, WORLDS } from "./worlds.js";

/** A policy from a file that is shown instead of a run's. */
export interface Visitor {
  when: string;
  caption: string;
  /** Mean return of its episodes. */
  value: number;
}

/** A moment on the stage. */
export interface Scenery {
  lesson: Lesson;
  /** The second that is looked at; none: the newest. */
  at: number | undefined;
  /** Environments that are seen. */
  copies: number;
  visitor: Visitor | undefined;
  running: Running | undefined;
}

/** Returns that are no further apart are as good as each other. */
const LEVEL = 0.005;

function minus(text: string): string {
  return text.replace("-", "−");
}

/** Words on the stage: who acts, how well, and who leads. */
export class Billing {
  #catalogue: Catalogue;
  #latest = byId("learn-latest");
  #when = byId("learn-when");
  #caption = byId("learn-caption");
  #rate = byId("learn-fps");

  constructor(catalogue: Catalogue) {
    this.#catalogue = catalogue;
  }

  /** Says what is to be seen in a world. */
  announce(env: string): void {
    say(byId("learn-title"), headline(env));
    say(byId("learn-story"), STORIES[env] ?? `${title(env)}.`);
    if (!byId("learn").hidden) document.title = `${headline(env).replace("\n", " ")} · quickstudy`;
  }

  /** Says how often pictures are painted. */
  rate({ perSecond, longest }: { perSecond: number; longest: number }): void {
    say(this.#rate, `${perSecond.toFixed(0)} frames per second`);
    this.#rate.title = `The longest took ${longest.toFixed(0)} ms`;
  }

  /** Says what went wrong with somebody. */
  complain(text: string): void {
    say(this.#caption, text);
  }

  show(scenery: Scenery): void {
    this.#name(scenery);
    const parts = this.#number(scenery);
    const text = parts.map((part) => (typeof part === "string" ? part : part.textContent)).join("");
    if (this.#latest.textContent !== text) this.#latest.replaceChildren(...parts);
  }

  #name({ lesson, at, copies, visitor }: Scenery): void {
    const seen = copies > 0 ? `, ${copies} copies` : "";
    if (visitor) {
      say(this.#when, visitor.when);
      say(this.#caption, `${visitor.caption}${seen}`);
      return;
    }
    const { seconds, envSteps } = lesson.moment(at);
    const back = lesson.own !== undefined && at !== undefined;
    const after = back ? `At ${at} s` : `After ${Math.round(seconds)} s of training`;
    say(this.#when, envSteps === 0 && !back ? "Untrained" : after);
    const who = lesson.isRecorded ? "recorded earlier" : back ? "as it was then" : "newest policy";
    say(this.#caption, `${WORLDS[lesson.env]?.name ?? title(lesson.env)}, ${who}${seen}`);
  }

  #number({ lesson, at, visitor, running }: Scenery): (HTMLElement | string)[] {
    const number = (text: string): HTMLElement => element("b", {}, text);
    const more = (text: string): HTMLElement => element("span", { class: "more" }, text);
    const ahead = (by: number): string => learner((by >= 0 ? lesson.algorithm : lesson.against) ?? "");
    if (visitor) {
      return ["Return ", number(reward(visitor.value)), more(" over 100 episodes")];
    }
    if (running?.ahead !== undefined) {
      return [number(Math.abs(running.ahead).toFixed(1)), ` m ahead: ${ahead(running.ahead)}`];
    }
    if (running) {
      const metres = minus(`${Math.round(running.metres)} m`);
      return [number(minus(running.speed.toFixed(1))), " m/s", more(` · ${metres}`)];
    }
    const lead = lesson.lead(at);
    if (lead !== undefined) {
      if (Math.abs(lead) < LEVEL) return [number("Level")];
      return [number(reward(Math.abs(lead))), ` ahead: ${ahead(lead)}`];
    }
    const { value } = lesson.moment(at);
    return Number.isFinite(value) ? ["Return ", number(reward(value)), more(this.#solved(lesson, value))] : [];
  }

  /** Says whether a return solves the world, where somebody has said when it is. */
  #solved({ env }: Lesson, value: number): string {
    const solved = this.#catalogue.envs.find(({ spec }) => spec.name === env)?.spec.solved_at;
    if (solved === null || solved === undefined) return "";
    return value >= solved ? " · solved" : ` · solved at ${reward(solved)}`;
  }
}
