"use strict";

/** Colours of the page that were asked for; emptied when the theme changes. */
const palette = new Map();

/** A colour of the page, by the name of its variable. */
function colour(name) {
  if (!palette.has(name)) palette.set(name, getComputedStyle(document.documentElement).getPropertyValue(name).trim());
  return palette.get(name);
}

/** Sizes a canvas to its box and gives a context in CSS pixels; nothing while it has no box. */
function fit(canvas) {
  const [w, h, k] = [canvas.clientWidth, canvas.clientHeight, Math.min(2, devicePixelRatio || 1)];
  if (!w || !h) return null;
  if (canvas.width !== Math.round(w * k) || canvas.height !== Math.round(h * k)) {
    canvas.width = Math.round(w * k);
    canvas.height = Math.round(h * k);
  }
  const ctx = canvas.getContext("2d");
  ctx.setTransform(k, 0, 0, k, 0, 0);
  ctx.clearRect(0, 0, w, h);
  return { ctx, w, h };
}

/** A number in few letters: 1.5k, 0.031, −192. */
function short(x) {
  const size = Math.abs(x);
  if (!Number.isFinite(x)) return "–";
  for (const [unit, name] of [[1e9, "B"], [1e6, "M"], [1e4, "k"]]) {
    const by = name === "k" ? 1e3 : unit;
    if (size >= unit) return `${+(x / by).toFixed(size / by >= 100 ? 0 : 1)}${name}`.replace("-", "−");
  }
  if (size !== 0 && size < 1e-3) return x.toExponential(1).replace("e-", "e−").replace(/^-/, "−");
  return `${+x.toPrecision(size >= 1000 ? 4 : 3)}`.replace("-", "−");
}

/** Round numbers between two others, about so many. */
function ticks(low, high, count) {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough) ?? rough;
  if (!(step > 0) || !Number.isFinite(step)) return [low];
  const all = [];
  for (let i = Math.ceil(low / step); i * step <= high && all.length < 20; i++) all.push(i * step);
  return all;
}

/** The range of values with some room; outliers stay in it. */
function range(values) {
  let [low, high] = [Infinity, -Infinity];
  for (const y of values) {
    low = Math.min(low, y);
    high = Math.max(high, y);
  }
  if (!(low <= high)) return [0, 1];
  const room = (high - low) * 0.06 || Math.max(Math.abs(high) * 0.1, 1e-6);
  return low >= 0 && low < 0.3 * high ? [0, high + room] : [low - room, high + room];
}

/**
 * Draws lines over steps. `lines` are `{ points, colour, dots, faint, label }`, `most` is the right end of the axis;
 * `small` leaves out most of the axes.
 */
function chart(canvas, lines, most, small) {
  const box = fit(canvas);
  if (!box) return;
  const { ctx, w, h } = box;
  const [left, right, top, bottom] = small ? [36, 2, 6, 4] : [52, 60, 10, 24];
  const [low, high] = range(lines.flatMap((line) => line.points.map(([, y]) => y)));
  const X = (x) => left + ((w - left - right) * x) / (most || 1);
  const Y = (y) => h - bottom - ((h - top - bottom) * (y - low)) / (high - low);
  ctx.font = `${small ? 11 : 12}px ${colour("--font")}`;
  ctx.textBaseline = "middle";
  for (const y of ticks(low, high, small ? 2 : Math.max(2, h / 48))) {
    ctx.strokeStyle = colour("--rule");
    ctx.lineWidth = 1;
    ctx.beginPath();
    ctx.moveTo(left, Math.round(Y(y)) + 0.5);
    ctx.lineTo(w - right, Math.round(Y(y)) + 0.5);
    ctx.stroke();
    ctx.fillStyle = colour("--muted");
    ctx.textAlign = "right";
    ctx.fillText(short(y), left - 6, Y(y));
  }
  if (!small) {
    ctx.textBaseline = "alphabetic";
    for (const x of ticks(0, most, Math.max(2, w / 120))) {
      ctx.textAlign = x ? "center" : "left";
      ctx.fillText(x ? short(x) : "0 steps", X(x), h - 4);
    }
  }
  ctx.lineJoin = ctx.lineCap = "round";
  const ends = [];
  for (const line of lines) {
    if (!line.points.length) continue;
    ctx.strokeStyle = ctx.fillStyle = line.colour;
    ctx.lineWidth = small ? 1.5 : 2;
    ctx.globalAlpha = line.faint ? 0.55 : 1;
    ctx.beginPath();
    for (const [i, [x, y]] of line.points.entries()) ctx[i ? "lineTo" : "moveTo"](X(x), Y(y));
    ctx.stroke();
    ctx.globalAlpha = 1;
    const dots = line.dots && line.points.length <= 80 ? line.points : line.points.slice(-1);
    for (const [x, y] of dots) {
      ctx.beginPath();
      ctx.arc(X(x), Y(y), small ? 2 : 3.5, 0, 2 * Math.PI);
      ctx.fill();
    }
    const [x, y] = line.points.at(-1);
    if (!small) ends.push({ x: X(x), y: Y(y), line, text: short(y) });
  }
  // Numbers at the ends never lie on each other, nor on another line.
  ends.sort((a, b) => a.y - b.y);
  for (let i = 1; i < ends.length; i++) ends[i].y = Math.max(ends[i].y, ends[i - 1].y + 15);
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  ctx.font = `600 12px ${colour("--font")}`;
  for (const { x, y, line, text } of ends) {
    ctx.strokeStyle = colour("--paper");
    ctx.lineWidth = 4;
    ctx.strokeText(text, x + 9, Math.min(y, h - bottom - 4));
    ctx.fillStyle = line.colour;
    ctx.fillText(text, x + 9, Math.min(y, h - bottom - 4));
  }
}
