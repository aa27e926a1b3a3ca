import { draw, envSpec, paint, place, scenes, type Adaptation } from "quickstudy";
import { sharpen } from "./card.js";
import { onThemeChange, theme } from "./theme.js";
import { tinted } from "./tint.js";
import { strokeTrail } from "./trail.js";

/** How many held-out goals are drawn. */
const SHOWN = 12;
const COLUMNS = 4;
const GAP = 4;

/** Held-out goals in the plane: the way before adapting, dashed, and the way after it. */
export class Goals {
  #canvas: HTMLCanvasElement;
  #repaint: (() => void) | undefined;

  constructor(canvas: HTMLCanvasElement) {
    this.#canvas = canvas;
    new ResizeObserver(() => this.#repaint?.()).observe(canvas);
    onThemeChange(() => this.#repaint?.());
  }

  /** Shows an adaptation; false for environments that lie in no plane. */
  async show(env: string, { tasks, stages }: Adaptation): Promise<boolean> {
    const { plane } = await envSpec(env);
    const [before, after] = [stages[0], stages.at(-1)];
    if (!plane || !before || !after) {
      return false;
    }
    const width = (path: { states: Float32Array; rewards: Float64Array }): number =>
      path.states.length / path.rewards.length;
    const pictures = await Promise.all(
      tasks.slice(0, SHOWN).map(async (task, i) => {
        const path = after.paths[i]!;
        const [scene] = [...scenes(await draw(env, path.states.slice(-width(path)), task))];
        return { scene: scene!, paths: [before.paths[i]!, path] as const };
      }),
    );
    this.#repaint = () => {
      sharpen(this.#canvas);
      const context = this.#canvas.getContext("2d");
      if (!context) {
        return;
      }
      const cell = this.#canvas.width / COLUMNS;
      const inner = cell - 2 * GAP;
      const colours = theme();
      context.fillStyle = colours.ground;
      context.fillRect(0, 0, this.#canvas.width, this.#canvas.height);
      pictures.forEach(({ scene, paths: [first, last] }, i) => {
        const [left, top] = [(i % COLUMNS) * cell + GAP, Math.floor(i / COLUMNS) * cell + GAP];
        context.save();
        context.beginPath();
        context.rect(left, top, inner, inner);
        context.clip();
        paint(context, tinted([scene], "hero")[0]!, left, top, inner, inner);
        const at = place(scene.view, left, top, inner, inner);
        const scale = this.#canvas.width / Math.max(this.#canvas.clientWidth, 1);
        context.strokeStyle = colours["neutral-deep"];
        context.lineWidth = scale;
        context.setLineDash([3 * scale, 3 * scale]);
        strokeTrail(context, first.states, width(first), Infinity, plane, at);
        context.setLineDash([]);
        context.strokeStyle = colours.accent;
        context.lineWidth = 2 * scale;
        strokeTrail(context, last.states, width(last), Infinity, plane, at);
        context.restore();
      });
    };
    this.#repaint();
    return true;
  }
}
