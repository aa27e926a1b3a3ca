import { element } from "./dom.js";

/** A field for a whole number. A text that is none stays in it, and the last number that it held goes on to count. */
export class WholeField {
  readonly input: HTMLInputElement;
  #least: number;
  #last: number | undefined;

  constructor(name: string, least: number) {
    this.input = element("input", { type: "text", inputmode: "numeric", autocomplete: "off", "data-testid": name });
    this.#least = least;
  }

  /** The number, or none where the field is empty. */
  get value(): number | undefined {
    const typed = this.#typed();
    if (typed !== "wrong") this.#last = typed;
    return this.#last;
  }

  set value(value: number | undefined) {
    this.#last = value;
    this.input.value = value === undefined ? "" : String(value);
  }

  /** What is wrong with the text, if anything. */
  get problem(): string | undefined {
    return this.#typed() === "wrong"
      ? `expected a whole number from ${this.#least} on, got ${this.input.value.trim()}`
      : undefined;
  }

  #typed(): number | undefined | "wrong" {
    // As the page itself writes them: 100,000.
    const text = this.input.value.trim().replaceAll(",", "");
    const value = Number(text);
    if (text === "") {
      return undefined;
    }
    return Number.isSafeInteger(value) && value >= this.#least ? value : "wrong";
  }
}
