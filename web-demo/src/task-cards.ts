/** Kinds of tasks to choose from: cards that are a radio group, with one tab stop and arrows. */
export class TaskCards {
  #cards: HTMLButtonElement[];
  #root: HTMLElement;
  #onChange: () => void;

  /** `root` has the cards, which name their environments. */
  constructor(root: HTMLElement, onChange: () => void) {
    this.#root = root;
    this.#onChange = onChange;
    this.#cards = [...root.querySelectorAll<HTMLButtonElement>("[role=radio]")];
    this.#cards.forEach((card) => card.addEventListener("click", () => this.#choose(card)));
    root.addEventListener("keydown", (event) => this.#moved(event));
  }

  /** The environment that is chosen. */
  get value(): string {
    return this.#root.dataset["value"] ?? "";
  }

  set value(env: string) {
    this.#root.dataset["value"] = env;
    for (const card of this.#cards) {
      const chosen = card.dataset["env"] === env;
      card.setAttribute("aria-checked", String(chosen));
      card.tabIndex = chosen ? 0 : -1;
    }
  }

  #choose(card: HTMLButtonElement): void {
    const env = card.dataset["env"] ?? "";
    if (env !== this.value) {
      this.value = env;
      this.#onChange();
    }
  }

  #moved(event: KeyboardEvent): void {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const from = this.#cards.findIndex((card) => card === event.target);
    if (by !== undefined && from >= 0) {
      event.preventDefault();
      const card = this.#cards[(from + by + this.#cards.length) % this.#cards.length]!;
      card.focus();
      this.#choose(card);
    }
  }
}
