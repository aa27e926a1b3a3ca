import { Clip } from "./clip.js";
import { button, element, say } from "./dom.js";
import { reel } from "./reel.js";

/** A policy at an age: the visitor's, or a recorded one. */
export interface Age {
  key: string;
  /** Seconds of training. */
  seconds: number;
  /** A short result, such as the return. */
  result: string;
  yours: boolean;
  /** The way that it came about, for whoever asks. */
  how: string;
  bytes(): Promise<Uint8Array>;
}

interface Card {
  root: HTMLButtonElement;
  canvas: HTMLCanvasElement;
  name: HTMLElement;
  result: HTMLElement;
  age: Age | undefined;
  clip: Clip | undefined;
}

/** Three pictures of one learner: at its beginning, a little later, and at the end. */
export class Ages {
  #box: HTMLElement;
  #cards: Card[];
  #work: Promise<void>;
  #seek: (seconds: number) => void;

  /** `seek` is told the second of a card that is pressed. Pictures may wait for something that is more urgent. */
  constructor(box: HTMLElement, count: number, seek: (seconds: number) => void, urgent: Promise<void>) {
    this.#work = urgent;
    this.#box = box;
    this.#seek = seek;
    this.#cards = Array.from({ length: count }, (_, i) => this.#card(i));
    box.replaceChildren(...this.#cards.map(({ root }) => root));
  }

  #card(i: number): Card {
    const [canvas, name, result] = [element("canvas", { "aria-hidden": "true" }), element("b"), element("i")];
    const press = (): void => {
      if (card.age) this.#seek(card.age.seconds);
    };
    const root = button("", press, { class: "age", "data-testid": `age-${i}` });
    root.append(canvas, element("span", {}, name, result));
    const card: Card = { root, canvas, name, result, age: undefined, clip: undefined };
    reel.add(canvas, (now) => card.clip?.paint(canvas, now, card.age?.yours ? "hero" : "crowd", "paper"));
    return card;
  }

  /**
   * Shows these; nothing at all where there are fewer than cards. `at` is the second that is looked at, of the
   * visitor's run or of the recorded one.
   */
  show(ages: readonly Age[], at: number, yours: boolean): void {
    this.#box.hidden = ages.length < this.#cards.length;
    if (this.#box.hidden) return;
    this.#cards.forEach((card, i) => {
      const age = ages[i]!;
      say(card.name, age.seconds === 0 ? "Untrained" : `After ${Math.round(age.seconds)} s`);
      say(card.result, `${age.result} · ${age.yours ? "yours" : "recorded"}`);
      card.root.title = age.how;
      card.root.dataset["whose"] = age.yours ? "yours" : "recorded";
      card.root.setAttribute("aria-pressed", String(age.yours === yours && Math.abs(age.seconds - at) < 0.5));
      const fresh = card.age?.key !== age.key;
      card.age = age;
      if (fresh) this.#work = this.#work.then(() => this.#open(card, age)).catch(() => undefined);
    });
  }

  async #open(card: Card, age: Age): Promise<void> {
    if (card.age !== age && card.age?.key !== age.key) return;
    const clip = await new Clip().open(await age.bytes());
    card.clip?.dispose();
    card.clip = clip;
    reel.once();
  }
}
