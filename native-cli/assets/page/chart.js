import { disc, path, stroke } from "./canvas.js";

/** @import { Paper, Point } from "./canvas.js" */

/**
 * A value on an axis, and what is written there; `narrow` is for a small picture.
 * @typedef {readonly [value: number, text: string, narrow?: string]} Tick
 */

/**
 * A line of a chart. Colours are named as the page's style sheet names them.
 * @template {string} Name
 * @typedef {object} ChartLine
 * @property {readonly Point[]} points
 * @property {Name} colour
 * @property {Name} deep The colour of its label.
 * @property {string} label
 * @property {boolean} [inside] For a long label: it stands before the end of the line, in thin letters.
 * @property {readonly number[]} [dash]
 * @property {number} [width]
 * @property {number} [alpha]
 * @property {"dot" | "square" | "ring" | undefined} [mark] The mark of each point; without, only the last has one.
 * @property {number} [radius] That of marks.
 */

/**
 * A height to compare with.
 * @template {string} Name
 * @typedef {object} Level
 * @property {number} value
 * @property {string} label
 * @property {Name} colour
 * @property {Name} ink The colour of its label.
 * @property {number} width
 * @property {readonly number[]} [dash]
 * @property {boolean} [thin] Its label has thin letters and stands at the right.
 */

/**
 * Everything that is drawn.
 * @template {string} Name
 * @typedef {object} Drawing
 * @property {readonly [low: number, high: number]} x
 * @property {readonly [low: number, high: number]} y
 * @property {readonly Tick[]} xTicks
 * @property {readonly Tick[]} yTicks
 * @property {readonly ChartLine<Name>[]} lines
 * @property {readonly [number, number]} [between] Two lines with the space between them tinted.
 * @property {Name} [tint]
 * @property {Level<Name> | undefined} [level]
 * @property {string} [title] The name of the axis of values, above it.
 * @property {string} [corner] That name, in a corner at the right that the level leaves free.
 */

/** @typedef {{ left: number, right: number, top: number, bottom: number }} Margin */

/** Pixels from one label to the next. */
const LEADING = 16;
/** Width below which ticks have their short names. */
const NARROW = 420;

/**
 * Paints a chart whose lines are labelled at their ends: there is no legend to look up.
 * @template {string} Name
 * @param {Paper} paper
 * @param {Drawing<Name>} drawing
 * @param {Margin} margin Pixels around the lines.
 * @param {(name: Name | "rule" | "muted" | "paper") => string} colour
 * @param {number} [size] Height of letters.
 * @returns Where values of both axes are.
 */
export function paintChart({ context, wide, high }, drawing, margin, colour, size = 12) {
  const { x, y, lines, between, tint, level, title = "", corner = "" } = drawing;
  const [left, right, top, bottom] = [margin.left, wide - margin.right, margin.top, high - margin.bottom];
  const at = (/** @type {number} */ value) => left + ((right - left) * (value - x[0])) / (x[1] - x[0]);
  const up = (/** @type {number} */ value) => bottom - ((bottom - top) * (value - y[0])) / (y[1] - y[0]);
  const thin = `${size}px ${getComputedStyle(context.canvas).fontFamily}`;
  context.lineJoin = context.lineCap = "round";
  context.lineWidth = 1;
  context.strokeStyle = colour("rule");
  context.fillStyle = colour("muted");
  context.font = thin;
  context.textBaseline = "middle";
  context.textAlign = "right";
  for (const [value, text] of drawing.yTicks) {
    const height = Math.round(up(value)) + 0.5;
    stroke(context, [[left, height], [right, height]]); // prettier-ignore
    context.fillText(text, left - 8, height);
  }
  context.textBaseline = "alphabetic";
  const free = !level || up(level.value) < bottom - 26;
  context.fillText(corner, right - 8, free ? bottom - 10 : top + 14);
  drawing.xTicks.forEach(([value, text, narrow], i) => {
    context.textAlign = i === 0 ? "left" : "center";
    context.fillText(wide < NARROW ? (narrow ?? text) : text, at(value), high - 4);
  });
  context.textAlign = "left";
  context.fillText(title, 4, 11);
  const placed = lines.map(({ points }) => points.map(([a, b]) => /** @type {Point} */ ([at(a), up(b)])));
  if (between && tint) {
    const [one = [], other = []] = between.map((i) => placed[i]);
    context.fillStyle = colour(tint);
    context.globalAlpha = 0.14;
    context.fill(path([...one, ...[...other].reverse()]));
    context.globalAlpha = 1;
  }
  if (level) {
    const height = up(level.value);
    context.strokeStyle = colour(level.colour);
    context.lineWidth = level.width;
    stroke(context, [[left, height], [right, height]], level.dash); // prettier-ignore
    context.fillStyle = colour(level.ink);
    context.font = level.thin ? thin : `600 ${thin}`;
    context.textAlign = level.thin ? "right" : "left";
    context.fillText(level.label, level.thin ? right - 8 : left + 8, height - 6);
  }
  lines.forEach((line, i) => {
    const points = placed[i] ?? [];
    context.strokeStyle = colour(line.colour);
    context.lineWidth = line.width ?? 2;
    context.globalAlpha = line.alpha ?? 1;
    stroke(context, points, line.dash);
    context.globalAlpha = 1;
    for (const point of line.mark ? points : points.slice(-1)) {
      const [square, ring] = [line.mark === "square", line.mark === "ring"];
      disc(context, point, square ? 0 : (line.radius ?? 3.75), colour(line.colour));
      if (square) context.fillRect(point[0] - 3.5, point[1] - 3.5, 7, 7);
      if (ring) disc(context, point, 2, colour("paper"));
    }
  });
  const ends = lines.flatMap((line, i) => {
    const end = placed[i]?.at(-1);
    return end && line.label ? [{ line, end, y: end[1] }] : [];
  });
  // None lies on the axis, or on the name in the corner.
  spread(ends, corner ? bottom : bottom - 4);
  context.textBaseline = "middle";
  // A halo, where a line runs beneath.
  context.strokeStyle = colour("paper");
  context.lineWidth = 4;
  for (const { line, end, y } of ends) {
    const x = Math.min(end[0], right);
    const before = line.inside && x > left + 130;
    context.font = line.inside ? thin : `600 ${thin}`;
    context.fillStyle = colour(line.deep);
    context.textAlign = before ? "right" : "left";
    const [start, base] = before ? [x - 14, end[1] + (end[1] > 50 ? -16 : 18)] : [x + 12, y];
    context.strokeText(line.label, start, base);
    context.fillText(line.label, start, base);
  }
  return { at, up };
}

/**
 * Moves labels until none lies on another one, nor below the bottom: those above make room.
 * @type {(labels: { y: number }[], bottom: number) => void}
 */
function spread(labels, bottom) {
  labels.sort((a, b) => a.y - b.y);
  labels.reduce((least, label) => (label.y = Math.max(label.y, least)) + LEADING, -Infinity);
  labels.reduceRight((most, label) => (label.y = Math.min(label.y, most)) - LEADING, bottom);
}

/**
 * The round distance between values that are at least so far apart.
 * @param {number} least
 * @param {readonly number[]} [factors]
 */
export function roundStep(least, factors = [1, 2, 2.5, 5, 10]) {
  const power = 10 ** Math.floor(Math.log10(least));
  return power * (factors.find((factor) => factor * power >= least) ?? 10);
}

/**
 * Multiples of a step over a range; some three of them without one.
 * @param {number} low
 * @param {number} high
 * @param {number} [step]
 */
export function ticks(low, high, step = roundStep((high - low) / 3 || 1)) {
  // Ends count, whatever their last digits are.
  const [from, to] = [Math.ceil(low / step - 1e-9), Math.floor(high / step + 0.001)];
  return Array.from({ length: Math.max(to - from + 1, 0) }, (_, i) => Number(((from + i) * step).toPrecision(6)) + 0);
}
