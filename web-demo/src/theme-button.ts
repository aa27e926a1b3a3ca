import { ask, scheme, SCHEMES, type Scheme } from "./theme.js";

const WORDS: Record<Scheme, string> = { system: "as the system", light: "light", dark: "dark" };

/** Makes a button go through the themes: as the system, light, dark. */
export function themeButton(button: HTMLElement): void {
  const tell = (): void => {
    const text = `Theme: ${WORDS[scheme()]}`;
    button.setAttribute("aria-label", text);
    button.title = text;
    button.dataset["scheme"] = scheme();
  };
  button.addEventListener("click", () => {
    ask(SCHEMES[(SCHEMES.indexOf(scheme()) + 1) % SCHEMES.length]!);
    tell();
  });
  tell();
}
