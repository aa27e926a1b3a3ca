type Attributes = Record<string, string | number | boolean | undefined>;

/** An element. Strings become text, never HTML, so that names from files and addresses can do no harm. */
export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) {
      made.setAttribute(name, value === true ? "" : String(value));
    }
  }
  made.append(...children);
  return made;
}

/** A button that does something. */
export function button(text: string, press: () => void, attributes: Attributes = {}): HTMLButtonElement {
  const made = element("button", { type: "button", ...attributes }, text);
  made.addEventListener("click", press);
  return made;
}

/** Options of a choice: values, and what they are called. */
export function options(select: HTMLSelectElement, entries: readonly (readonly [value: string, text: string])[]): void {
  select.replaceChildren(...entries.map(([value, text]) => element("option", { value }, text)));
}

/** The element of the page with this id. */
export function byId(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (!found) {
    throw new Error(`the page has no #${id}`);
  }
  return found;
}

/** Opens all folds that an element is in. */
export function reveal(inside: HTMLElement): void {
  for (let fold = inside.closest("details"); fold; fold = fold.parentElement?.closest("details") ?? null) {
    fold.open = true;
  }
}

let ids = 0;

/** A fresh id, for labels and descriptions. */
export function freshId(name: string): string {
  ids += 1;
  return `${name}-${ids}`;
}

/** Sets text if it differs: assistive technology announces every change of a live region. */
export function say(region: HTMLElement, text: string): void {
  if (region.textContent !== text) {
    region.textContent = text;
  }
}

/** Whether the reader asked their system for less motion. */
export function reducedMotion(): boolean {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}
