// The page of a run. It asks for what is new once a second while it is looked at, and for episodes when the agent's
// last one has been shown.

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

const grouped = (x) => Math.round(x).toLocaleString("en").replaceAll(",", "\u202f");

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

function showCurves() {
  const points = (name) => run.columns.get(name)?.points ?? [];
  const most = Math.max(run.steps, run.facts.total ?? 0, 1);
  const [train, evals] = MAIN.map(points);
  $("key-train").hidden = !train.length;
  $("key-eval").hidden = !evals.length;
  chart($("curve"), [
    { points: train, colour: colour("--accent"), faint: evals.length > 0 },
    { points: evals, colour: colour("--second"), dots: true },
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
    chart(canvas, [{ points, colour: colour("--accent") }], most, true);
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

/** Paints a frame: its view fitted into the stage, below the words. */
function paint() {
  const box = fit($("scene"));
  if (!box || !scene.frame) return;
  const { ctx, w, h } = box;
  const [x0, x1, y0, y1] = scene.frame.view;
  const top = Math.min(56, h * 0.2);
  const scale = Math.min(w / (x1 - x0), (h - top) / (y1 - y0));
  const X = (x) => w / 2 + (x - (x0 + x1) / 2) * scale;
  const Y = (y) => top + (h - top) / 2 - (y - (y0 + y1) / 2) * scale;
  ctx.lineJoin = ctx.lineCap = "round";
  // Grounds that reach from side to side of the view do so on the stage; many such lines are a grid, which ends.
  const xs = (at) => at.filter((_, i) => i % 2 === 0);
  const spans = ([kind, , , at]) => "lp".includes(kind) && Math.min(...xs(at)) <= x0 && Math.max(...xs(at)) >= x1;
  const grounds = scene.shapes.filter(spans);
  for (const shape of scene.shapes) {
    const [kind, hex, size, flat, text] = shape;
    if (kind === "n") continue;
    const wide = grounds.length <= 3 && grounds.includes(shape);
    const across = (x) => (x <= x0 ? x - w / scale : x >= x1 ? x + w / scale : x);
    const far = (x, i) => (i % 2 === 0 ? across(x) : x <= y0 ? x - h / scale : x);
    const at = wide ? flat.map(far) : flat;
    ctx.fillStyle = ctx.strokeStyle = colour(`--c${hex}`) || `#${hex}`;
    if (kind === "t") {
      ctx.font = `${size * scale}px ${colour("--font")}`;
      ctx.textAlign = "center";
      ctx.fillText(text, X(at[0]), Y(at[1]));
      continue;
    }
    ctx.beginPath();
    if (kind === "c") ctx.arc(X(at[0]), Y(at[1]), Math.max(size * scale, 0.5), 0, 2 * Math.PI);
    else for (let i = 0; i < at.length; i += 2) ctx[i ? "lineTo" : "moveTo"](X(at[i]), Y(at[i + 1]));
    ctx.lineWidth = Math.max(size * scale, 1);
    if (kind === "l") ctx.stroke();
    else ctx.fill();
  }
}

/** Makes a frame the one that is shown; shapes that are those of the frame before are 0. */
function turn(film, at) {
  const frame = film.frames[at];
  scene.shapes = frame.shapes.map((shape, i) => shape || scene.shapes[i]);
  scene.frame = frame;
  $("return").textContent = short(film.returns[at]);
  paint();
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
  paint();
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
