import { prepared } from "../../native-cli/assets/page/canvas.js";
import { paintChart, type Drawing } from "../../native-cli/assets/page/chart.js";
import { onThemeChange, theme, type Theme } from "./theme.js";

/** A chart of its canvas, which is painted again when that or the theme changes. */
export class Chart {
  #canvas: HTMLCanvasElement;
  #right: number;
  #drawing: Drawing<keyof Theme> | undefined;

  /** `right` is the room for labels, in pixels. */
  constructor(canvas: HTMLCanvasElement, right: number) {
    this.#canvas = canvas;
    this.#right = right;
    new ResizeObserver(() => this.#paint()).observe(canvas);
    onThemeChange(() => this.#paint());
  }

  /** Draws this; `words` are for readers who do not see it. */
  show(drawing: Drawing<keyof Theme>, words: string): void {
    this.#drawing = drawing;
    this.#canvas.setAttribute("aria-label", words);
    this.#paint();
  }

  #paint(): void {
    const paper = this.#drawing && prepared(this.#canvas);
    const margin = { left: 48, right: this.#right, top: 24, bottom: 22 };
    if (paper) paintChart(paper, this.#drawing!, margin, (name) => theme()[name]);
  }
}
