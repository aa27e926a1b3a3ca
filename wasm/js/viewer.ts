import { asError } from "./errors.js";
import { whole } from "./options.js";
import type { Policy } from "./policy.js";
import { sharedThread } from "./shared.js";
import type { Thread } from "./thread.js";

/** One shape of a picture; lengths are in the units of its view. */
export interface Shape {
  kind: "line" | "circle" | "polygon" | "polyline";
  /** `0xrrggbb`. */
  color: number;
  /** Width of strokes, radius of circles. */
  size: number;
  /** x and y of each point in turn: ends, centre, corners. */
  points: Float32Array;
}

/** A picture of one state: shapes painted in order. */
export interface Scene {
  /** `[xmin, xmax, ymin, ymax]`, y upwards; keep its aspect ratio. */
  view: [number, number, number, number];
  shapes: Shape[];
}

const KINDS = ["line", "circle", "polygon", "polyline"] as const;

/** Scenes from the flat list that {@link Viewer} and {@link draw} give. */
export function* scenes(list: Float32Array): Generator<Scene> {
  let at = 0;
  while (at < list.length) {
    const count = list[at]!;
    const view: Scene["view"] = [list[at + 1]!, list[at + 2]!, list[at + 3]!, list[at + 4]!];
    at += 5;
    const shapes: Shape[] = [];
    for (let i = 0; i < count; i++) {
      const [kind, color, size, points] = [list[at]!, list[at + 1]!, list[at + 2]!, list[at + 3]!];
      shapes.push({ kind: KINDS[kind]!, color, size, points: list.subarray(at + 4, at + 4 + 2 * points) });
      at += 4 + 2 * points;
    }
    yield { view, shapes };
  }
}

/** The part of a canvas that {@link paint} needs; that of a page and that of a worker have it. */
type Canvas2D = Pick<
  CanvasRenderingContext2D,
  "beginPath" | "moveTo" | "lineTo" | "closePath" | "arc" | "fill" | "stroke" | "lineCap" | "lineJoin" | "lineWidth" | "fillStyle" | "strokeStyle"
>;

/** Paints a scene into a rectangle of a canvas, as large as fits, in its middle. */
export function paint(canvas: Canvas2D, scene: Scene, left: number, top: number, width: number, height: number): void {
  const [xmin, xmax, ymin, ymax] = scene.view;
  const scale = Math.min(width / (xmax - xmin), height / (ymax - ymin));
  const dx = left + (width - scale * (xmax - xmin)) / 2 - scale * xmin;
  const dy = top + (height - scale * (ymax - ymin)) / 2 + scale * ymax;
  canvas.lineCap = "round";
  canvas.lineJoin = "round";
  for (const { kind, color, size, points } of scene.shapes) {
    const style = `#${color.toString(16).padStart(6, "0")}`;
    canvas.beginPath();
    if (kind === "circle") {
      canvas.arc(dx + scale * points[0]!, dy - scale * points[1]!, Math.max(scale * size, 0.5), 0, 2 * Math.PI);
    } else {
      for (let i = 0; i < points.length; i += 2) {
        const [x, y] = [dx + scale * points[i]!, dy - scale * points[i + 1]!];
        if (i === 0) canvas.moveTo(x, y);
        else canvas.lineTo(x, y);
      }
    }
    if (kind === "line" || kind === "polyline") {
      canvas.strokeStyle = style;
      canvas.lineWidth = Math.max(scale * size, 1);
      canvas.stroke();
    } else {
      canvas.fillStyle = style;
      canvas.fill();
    }
  }
}

/** Environments that a policy plays for somebody to look at; an episode that ends is followed by a new one. */
export class Viewer {
  #thread: Thread;
  #id: number;

  private constructor(thread: Thread, id: number) {
    this.#thread = thread;
    this.#id = id;
  }

  /** `count` environments at first states that `seed` names. The policy must not be one that adapts to tasks. */
  static async open(
    policy: Policy,
    count: number,
    options: { seed?: number; deterministic?: boolean } = {},
  ): Promise<Viewer> {
    const { seed = 0, deterministic = false } = options;
    const { thread, viewer } = await policy.view(whole("count", count, 1), whole("seed", seed, 0), deterministic);
    return new Viewer(thread, viewer);
  }

  /** Go on with a newer policy of the same run. */
  async setPolicy(policy: Policy): Promise<void> {
    await policy.takeOver(this.#id);
  }

  /** One step everywhere: the flat list of all {@link scenes}. */
  async advance(): Promise<Float32Array> {
    try {
      return await this.#thread.engine.advance(this.#id);
    } catch (error) {
      throw asError(error);
    }
  }

  /** The flat list of all {@link scenes} as they are. */
  async scenes(): Promise<Float32Array> {
    try {
      return await this.#thread.engine.scenes(this.#id);
    } catch (error) {
      throw asError(error);
    }
  }

  /** Frees it. */
  dispose(): void {
    void this.#thread.engine.dispose(this.#id);
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

/** The flat list of {@link scenes} of some states of a built-in environment, one after the other, on one task. */
export async function draw(env: string, states: Float32Array, task: ArrayLike<number> = []): Promise<Float32Array> {
  const { engine } = await sharedThread();
  try {
    return await engine.draw(env, states, Float32Array.from(task));
  } catch (error) {
    throw asError(error);
  }
}
