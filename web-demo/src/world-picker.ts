import { draw, paint, scenes, type Scene } from "quickstudy";
import { sharpen } from "../../native-cli/assets/page/canvas.js";
import { Clip } from "./clip.js";
import { element, freshId, options } from "./dom.js";
import { title } from "./format.js";
import { OFFERS } from "./policies.js";
import { oldest, recordedLearners, recordedPolicy, recordedRun } from "./recorded.js";
import { reel } from "./reel.js";
import { TaskClip } from "./task-clip.js";
import { onThemeChange, theme } from "./theme.js";
import { tinted } from "./tint.js";
import { WORLDS } from "./worlds.js";

/** Worlds that all have a card, where there are so few. */
const FEW = 6;

/** A card, and its picture once it is drawn. */
interface Card {
  env: string;
  root: HTMLButtonElement;
  canvas: HTMLCanvasElement | undefined;
  scene?: Scene;
  /** A recorded policy that acts in it. */
  clip?: Clip;
  /** True once one acts, which the reel paints. */
  moves?: boolean;
}

/** True of environments that have tasks. */
function isMeta(env: string): boolean {
  return OFFERS.some(({ envs }) => envs.includes(env));
}

/**
 * Worlds to choose from: cards that are a radio group, with one tab stop and arrows, and a list of those that have no
 * card.
 */
export class WorldPicker {
  readonly root: HTMLElement;
  #cards: Card[];
  #more: HTMLSelectElement;
  #value = "";
  #onChange: () => void;

  constructor(envs: readonly string[], onChange: () => void) {
    this.#onChange = onChange;
    const few = envs.length <= FEW;
    const known = Object.keys(WORLDS).filter((env) => envs.includes(env));
    const first = few ? envs : known;
    const rest = envs.filter((env) => !first.includes(env));
    this.#cards = first.map((env) => this.#card(env));
    this.#more = element("select", { "data-testid": "more-worlds", "aria-label": "More worlds" });
    options(this.#more, [["", "More worlds …"], ...rest.map((env) => [env, title(env)] as const)]);
    this.#more.hidden = rest.length === 0;
    this.#more.addEventListener("change", () => this.#more.value !== "" && this.#choose(this.#more.value));
    const heading = element("h2", { id: freshId("worlds") }, few ? "Task" : "World");
    const group = element("div", { class: "cards", role: "radiogroup", "aria-labelledby": heading.id });
    group.append(...this.#cards.map(({ root }) => root));
    group.addEventListener("keydown", (event) => this.#moved(event));
    this.root = element("div", { class: "worlds", "data-testid": "env" }, heading, group, this.#more);
    new ResizeObserver(() => this.#paint()).observe(group);
    onThemeChange(() => this.#paint());
  }

  /** The world that is chosen. */
  get value(): string {
    return this.#value;
  }

  set value(env: string) {
    this.#value = env;
    this.root.dataset["value"] = env;
    const at = this.#cards.findIndex((card) => card.env === env);
    this.#cards.forEach(({ root }, i) => {
      root.setAttribute("aria-checked", String(i === at));
      root.tabIndex = i === Math.max(at, 0) ? 0 : -1;
    });
    this.#more.value = at < 0 ? env : "";
    this.#more.classList.toggle("taken", at < 0);
    this.#paint();
  }

  /** Draws the cards' pictures, by the package as everything else: a recorded policy acts in them, if there is one. */
  async picture(): Promise<void> {
    for (const card of this.#cards) {
      const { env, canvas } = card;
      if (canvas && isMeta(env)) {
        const clip = await new TaskClip().open(env);
        card.moves = true;
        reel.add(canvas, (now) => clip.paint(canvas, now, env === this.#value));
        continue;
      }
      const world = WORLDS[env];
      const [name] = recordedLearners(env);
      const run = name === undefined ? undefined : await recordedRun(env, name);
      if (run && canvas) {
        card.clip = await new Clip().open(await recordedPolicy(oldest(run)));
        card.moves = true;
        reel.add(canvas, (now) => {
          const chosen = env === this.#value;
          card.clip?.paint(canvas, now, chosen ? "hero" : "crowd", chosen ? "accent-soft" : "page");
        });
      } else if (world && canvas) {
        const [{ view, shapes }] = [...scenes(await draw(card.env, Float32Array.from(world.state)))] as [Scene];
        // Letters are too small to be read there, of the chosen one, too.
        card.scene = { view, shapes: shapes.filter(({ kind }) => kind !== "text") };
        this.#paint();
      }
    }
  }

  #card(env: string): Card {
    const world = WORLDS[env];
    const root = element("button", { type: "button", class: "world", role: "radio", "data-testid": `world-${env}` });
    const canvas = (world || isMeta(env)) && element("canvas", { "aria-hidden": "true" });
    root.append(...(canvas ? [canvas] : []), element("span", {}, world?.name ?? title(env)));
    root.addEventListener("click", () => this.#choose(env));
    return { env, root, canvas: canvas || undefined };
  }

  #choose(env: string): void {
    if (env !== this.#value) {
      this.value = env;
      this.#onChange();
    }
  }

  #moved(event: KeyboardEvent): void {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const from = this.#cards.findIndex(({ root }) => root === event.target);
    if (by !== undefined && from >= 0) {
      event.preventDefault();
      const card = this.#cards[(from + by + this.#cards.length) % this.#cards.length]!;
      card.root.focus();
      this.#choose(card.env);
    }
  }

  #paint(): void {
    reel.once();
    for (const { env, canvas, scene, moves } of this.#cards) {
      if (moves) continue;
      const context = canvas?.getContext("2d");
      if (canvas && context) {
        sharpen(canvas);
        const chosen = env === this.#value;
        const { width, height } = canvas;
        context.fillStyle = theme()[chosen ? "accent-soft" : "page"];
        context.fillRect(0, 0, width, height);
        if (scene) paint(context, tinted([scene], chosen ? "hero" : "crowd", env)[0]!, 0, 0, width, height);
      }
    }
  }
}
