/** Colours for canvases, as the style sheet has them for light and dark. */
export interface Theme {
  text: string;
  muted: string;
  rule: string;
  accent: string;
  second: string;
  paper: string;
}

/** Trails on pictures, whose ground is light by night, too. */
export const TRAIL = "#2457c5";
/** Trails before adapting. */
export const BEFORE = "#8a6d3b";

/** The colours now. */
export function theme(): Theme {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  return {
    text: colour("text"),
    muted: colour("muted"),
    rule: colour("rule"),
    accent: colour("accent"),
    second: colour("second"),
    paper: colour("paper"),
  };
}

/** Calls when light turns to dark or back. */
export function onThemeChange(call: () => void): void {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", call);
}
