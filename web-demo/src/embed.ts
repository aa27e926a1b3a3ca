import { byId } from "./dom.js";

/** Words of an address that say how the page is shown, not what is chosen; behind `?` or behind `#`. */
function asked(name: string): string | null {
  return new URLSearchParams(location.search).get(name) ?? new URLSearchParams(location.hash.slice(1)).get(name);
}

/** True where the page is a part of somebody else's. */
export const embedded = asked("embed") === "1";

/** Light or dark, as the address asks for it. */
export const askedTheme = asked("theme");

/** These words as they stand behind `#`, to be written there again. */
export function shownAs(): string {
  const given = new URLSearchParams(location.hash.slice(1));
  return ["embed", "theme"].flatMap((name) => (given.has(name) ? [`&${name}=${given.get(name)!}`] : [])).join("");
}

/** Lets the link of an embedded page lead to the whole one, with every choice. */
export function linkToWhole(): void {
  const link = byId("open") as HTMLAnchorElement;
  const renew = (): void => {
    const hash = new URLSearchParams(location.hash.slice(1));
    hash.delete("embed");
    hash.delete("theme");
    link.href = `${location.pathname}#${hash.toString()}`;
  };
  for (const event of ["pointerdown", "focus", "pointerenter"]) link.addEventListener(event, renew);
  renew();
}
