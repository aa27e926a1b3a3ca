import type { Place } from "quickstudy";
import { disc } from "../../native-cli/assets/page/canvas.js";
import { theme } from "./theme.js";

/** Radius of a dot, in pixels of the page. */
const RADIUS = 4;

/** Where draws from a belief lead: x and y of one after the other. */
export type Cloud = Float32Array;

/** Fills a dot for each place; where there are many, it gets darker. */
export function fillCloud(context: CanvasRenderingContext2D, cloud: Cloud, { scale, x, y }: Place): void {
  context.globalAlpha = 0.35;
  for (let at = 0; at < cloud.length; at += 2) {
    disc(context, [x + scale * cloud[at]!, y - scale * cloud[at + 1]!], RADIUS, theme().belief);
  }
  context.globalAlpha = 1;
}

/** Mean distance of the places from their middle. */
export function spread(cloud: Cloud): number {
  const count = cloud.length / 2;
  const middle = [0, 0];
  cloud.forEach((value, at) => (middle[at % 2]! += value / count));
  let sum = 0;
  for (let at = 0; at < cloud.length; at += 2) {
    sum += Math.hypot(cloud[at]! - middle[0]!, cloud[at + 1]! - middle[1]!);
  }
  return sum / count;
}
