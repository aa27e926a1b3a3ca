// The page of a run. It asks for what is new once a second while it is looked at, and for episodes when the agent's
// last one has been shown.

import { prepared } from "./canvas.js";
import { paintChart, roundStep, ticks } from "./chart.js";
import { paint, place } from "./scene.js";

const $ = (id) => document.getElementById(id);
const still = matchMedia("(prefers-reduced-motion: reduce)");
const MAIN = ["rollout/ep_return_mean", "eval/return_mean"];
/** Columns that are no course of the run. */
const HIDDEN = ["time/iterations", "time/seconds", "train/updates", "train/non_finite", "rollout/episodes"];

/** Asks for something below the address of the page. */
async function ask(path) {
  const answer = await fetch(path, { cache: "no-store", signal: AbortSignal.timeout(70000) });
  if (!answer.ok) throw new Error(`${answer.status}: ${(await answer.text()).trim()}`);
  return answer.json();
}

const wait = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

/** Waits until the page is looked at. */
async function seen() {
  while (document.hidden) {
    await new Promise((done) => document.addEventListener("visibilitychange", done, { once: true }));
  }
}

/** Colours of the page that were asked for; emptied when the theme changes. */
const palette = new Map();

/** A colour of the page, by the name of its variable. */
function colour(name) {
  if (!palette.has(name)) palette.set(name, getComputedStyle(document.documentElement).getPropertyValue(`--${name}`));
  return palette.get(name).trim();
}

const grouped = (x) => Math.round(x).toLocaleString("en").replaceAll(",", "\u202f");

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

/** Seconds as 3:07 or 2:03:07. */
function clock(seconds) {
  const [h, m, s] = [seconds / 3600, (seconds / 60) % 60, seconds % 60].map(Math.floor);
  return (h ? `${h}:${String(m).padStart(2, "0")}` : `${m}`) + `:${String(s).padStart(2, "0")}`;
}

// ------------------------------------------------------------------------------------------------- numbers

const run = { epoch: 0, steps: 0, columns: new Map(), facts: {}, last: {}, policy: null };
const cards = new Map();

/** Puts what is new behind what is there; all of it is new where the run began anew. */
function take(news) {
  if (news.epoch !== run.epoch) run.columns.clear();
  for (const { name, title, points } of news.columns) {
    const column = run.columns.get(name) ?? { title, points: [] };
    // The server keeps ever fewer old points of a long run; so does the page.
    const after = points.length ? points[0][0] : Infinity;
    column.points = column.points.filter(([x]) => x < after).concat(points);
    if (column.points.length > 4000) {
      const last = column.points.length - 1;
      column.points = column.points.filter((_, i) => i % 2 === 0 || i === last);
    }
    run.columns.set(name, column);
  }
  Object.assign(run, { epoch: news.epoch, steps: news.steps, facts: news.facts, last: news.last });
}

function list(element, rows) {
  const text = JSON.stringify(rows);
  if (element.dataset.rows === text) return;
  element.dataset.rows = text;
  element.replaceChildren(
    ...rows.flatMap(([name, value]) => {
      const [dt, dd] = [document.createElement("dt"), document.createElement("dd")];
      [dt.textContent, dd.textContent] = [name, value];
      return [dt, dd];
    }),
  );
}

function state() {
  const { writer, done, quiet } = run.facts;
  if (!writer) return done ? "Finished" : run.steps ? "Stopped" : "Not begun";
  if (quiet !== null && quiet > 120) return `Silent for ${clock(quiet)}`;
  return run.steps ? "Training" : "Setting up";
}

function showNumbers() {
  const { facts, last, steps } = run;
  const points = (name) => run.columns.get(name)?.points ?? [];
  const name = [facts.algorithm, facts.env].filter(Boolean).join(" on ") || "A run";
  const now = state();
  $("title").textContent = name;
  document.title = `${name} · ${now}`;
  const seed = facts.seed === null ? [] : [`Seed ${facts.seed}`];
  $("lead").textContent = [...seed, facts.folder].join(" · ");
  $("state").textContent = now;
  $("speed").classList.toggle("busy", now === "Training");
  $("rate").textContent = last["time/sps"] ? `${short(last["time/sps"])} steps/s` : "";
  $("bar").value = facts.total ? Math.min(1, steps / facts.total) : 0;
  $("bar").hidden = !facts.total;
  const evals = points("eval/return_mean");
  const best = evals.reduce((most, [, y]) => Math.max(most, y), -Infinity);
  const seconds = last["time/seconds"];
  const left = facts.total && seconds && steps < facts.total ? (seconds * (facts.total - steps)) / steps : null;
  list($("facts"), [
    ["steps", grouped(steps) + (facts.total ? ` of ${grouped(facts.total)}` : "")],
    ...(seconds ? [["trained for", clock(seconds)]] : []),
    ...(left && now === "Training" ? [["left, about", clock(left)]] : []),
    ...(points(MAIN[0]).length ? [["training return", short(points(MAIN[0]).at(-1)[1])]] : []),
    ...(evals.length ? [["last evaluation", short(evals.at(-1)[1])], ["best evaluation", short(best)]] : []),
    ...(facts.device ? [["device", facts.device]] : []),
    ...(facts.version ? [["quickstudy", facts.version]] : []),
  ]);
  list($("settings"), facts.settings);
  showCurves();
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

/** Marks on an axis, about so many. */
const marks = (low, high, count) =>
  ticks(low, high, roundStep((high - low) / count, [1, 2, 5, 10])).map((value) => [value, short(value)]);

/** Draws lines over steps up to the last one; `small` leaves out most of the axes. */
function chart(canvas, lines, most, small) {
  const paper = prepared(canvas);
  if (!paper) return;
  const y = range(lines.flatMap(({ points }) => points.map(([, value]) => value)));
  const drawing = {
    x: [0, most],
    y,
    xTicks: small ? [] : marks(0, most, Math.max(2, paper.wide / 120)).map(([x, text]) => [x, x ? text : "0 steps"]),
    yTicks: marks(...y, small ? 2 : Math.max(2, paper.high / 48)),
    lines: lines.map((line) => ({
      ...line,
      deep: line.colour,
      label: small || !line.points.length ? "" : short(line.points.at(-1)[1]),
      mark: line.dots && line.points.length <= 80 ? "dot" : undefined,
      width: small ? 1.5 : 2,
      radius: small ? 2 : 3.5,
    })),
  };
  const margin = small ? { left: 38, right: 2, top: 6, bottom: 4 } : { left: 54, right: 63, top: 10, bottom: 24 };
  paintChart(paper, drawing, margin, colour, small ? 11 : 12);
}

function showCurves() {
  const points = (name) => run.columns.get(name)?.points ?? [];
  const most = Math.max(run.steps, run.facts.total ?? 0, 1);
  const [train, evals] = MAIN.map(points);
  $("key-train").hidden = !train.length;
  $("key-eval").hidden = !evals.length;
  chart($("curve"), [
    { points: train, colour: "accent", alpha: evals.length > 0 ? 0.55 : 1 },
    { points: evals, colour: "second", dots: true },
  ], most, false);
  for (const name of [...cards.keys()].filter((name) => !run.columns.has(name))) {
    cards.get(name).figure.remove();
    cards.delete(name);
  }
  for (const [name, { title, points }] of run.columns) {
    if (MAIN.includes(name) || HIDDEN.includes(name)) continue;
    if (!cards.has(name)) {
      const tags = ["figure", "figcaption", "b", "canvas"];
      const [figure, caption, value, canvas] = tags.map((tag) => document.createElement(tag));
      caption.textContent = title;
      figure.title = name;
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", `${title} over environment steps`);
      figure.append(caption, value, canvas);
      $("charts").append(figure);
      cards.set(name, { figure, value, canvas });
    }
    const { value, canvas } = cards.get(name);
    value.textContent = short(points.at(-1)?.[1] ?? NaN);
    chart(canvas, [{ points, colour: "accent" }], most, true);
  }
  $("more").hidden = cards.size === 0;
}

/** Asks for numbers for ever; less often where nobody answers or nothing comes. */
async function follow() {
  for (let failed = 0; ; ) {
    await seen();
    try {
      take(await ask(`run?since=${run.steps}&epoch=${run.epoch}`));
      showNumbers();
      failed = 0;
    } catch {
      failed = Math.min(failed + 1, 10);
      $("state").textContent = "The watcher has ended";
      $("rate").textContent = "start it again";
      $("speed").classList.remove("busy");
    }
    await wait(failed ? 1000 * failed : run.facts.writer ? 1000 : 3000);
  }
}

// ------------------------------------------------------------------------------------------------- the agent

const scene = { frame: null, shapes: [] };
let held = still.matches;

const KINDS = { l: "line", c: "circle", p: "polygon", t: "text" };

/** Paints a frame: its view fitted into the stage, below the words. */
function paintFrame() {
  const paper = scene.frame && prepared($("scene"));
  if (!paper) return;
  const { context, wide, high } = paper;
  const [x0, x1, y0, y1] = scene.frame.view;
  const top = Math.min(56, high * 0.2);
  // Grounds that reach from side to side of the view do so on the stage; many such lines are a grid, which ends.
  const xs = (at) => at.filter((_, i) => i % 2 === 0);
  const spans = ([kind, , , at]) => "lp".includes(kind) && Math.min(...xs(at)) <= x0 && Math.max(...xs(at)) >= x1;
  const grounds = scene.shapes.filter(spans);
  const { scale } = place(scene.frame.view, 0, top, wide, high - top);
  const across = (x) => (x <= x0 ? x - wide / scale : x >= x1 ? x + wide / scale : x);
  const far = (x, i) => (i % 2 === 0 ? across(x) : x <= y0 ? x - high / scale : x);
  const shapes = scene.shapes.flatMap((shape) => {
    const [kind, hex, size, flat, text] = shape;
    const points = grounds.length <= 3 && grounds.includes(shape) ? flat.map(far) : flat;
    const color = Number.parseInt(colour(`c${hex}`).slice(1) || hex, 16);
    return kind === "n" ? [] : [{ kind: KINDS[kind], color, size, points, text }];
  });
  paint(context, { view: scene.frame.view, shapes }, 0, top, wide, high - top, colour("font"));
}

/** Makes a frame the one that is shown; shapes that are those of the frame before are 0. */
function turn(film, at) {
  const frame = film.frames[at];
  scene.shapes = frame.shapes.map((shape, i) => shape || scene.shapes[i]);
  scene.frame = frame;
  $("return").textContent = short(film.returns[at]);
  paintFrame();
}

const drawn = () => new Promise((done) => requestAnimationFrame(done));

/** Waits while the picture is held. */
async function going() {
  while (held) await wait(100);
}

/** Shows an episode at its own speed. A browser draws nothing while it is not looked at. */
async function show(film) {
  let at = 0;
  turn(film, at);
  for (let due = (await drawn()) + 1000 * film.seconds; at < film.frames.length - 1; ) {
    if (held) {
      await going();
      due = await drawn();
    }
    let now = await drawn();
    // Behind a hidden tab, go on from where it was.
    if (now - due > 2000) due = now;
    while (now >= due && at < film.frames.length - 1) {
      at++;
      due += 1000 * film.seconds;
      const { shapes } = film.frames[at];
      if (now >= due && at < film.frames.length - 1) scene.shapes = shapes.map((shape, i) => shape || scene.shapes[i]);
      else turn(film, at);
    }
  }
  await wait(700);
}

function says(bold, text) {
  $("policy").textContent = bold;
  $("says").textContent = text;
}

/** Lets the agent play for ever. */
async function play() {
  for (;;) {
    await seen();
    let news;
    try {
      news = await ask("episodes");
    } catch {
      await wait(3000);
      continue;
    }
    const shown = Boolean(news.films?.length);
    $("stage").classList.toggle("bare", !shown && !scene.frame);
    $("number").hidden = $("still").hidden = !shown && !scene.frame;
    if (!shown) {
      says(news.never ? "Curves only" : "Waiting for a policy", news.why ?? "");
      if (news.never) return;
      await wait(3000);
      continue;
    }
    says(`After ${grouped(news.steps)} steps`, "the newest policy");
    $("scene").setAttribute("aria-label", `An agent plays ${news.env}, after ${grouped(news.steps)} steps of training`);
    for (const film of news.films) {
      await show(film);
      await going();
    }
  }
}

function hold(on) {
  held = on;
  $("still").setAttribute("aria-pressed", String(on));
  $("still").setAttribute("aria-label", on ? "Let the agent play" : "Hold the picture");
}

hold(held);
$("still").addEventListener("click", () => hold(!held));
still.addEventListener("change", () => hold(still.matches));
const again = () => {
  palette.clear();
  showCurves();
  paintFrame();
};
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
new ResizeObserver(() => requestAnimationFrame(again)).observe(document.querySelector("main"));
// A status for those who do not see the page, not too often.
setInterval(() => {
  const text = `${$("state").textContent}. ${grouped(run.steps)} steps.`;
  if (!document.hidden && $("told").textContent !== text) $("told").textContent = text;
}, 15000);
follow();
play();
