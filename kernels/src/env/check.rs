//! Checks that an environment keeps its contract.

use std::cell::Cell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::engine::lockstep::Lockstep;
use super::row_fault::{FINITE, RowFault, fits};
use super::{ActionSpace, EnvDef, held_actions};
use crate::backend::cpu::simd::isa::Isa;
use crate::rng::{Threefry, fold_in, key_from_seed};
use crate::{Error, Result};

/// How a check went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The environment behaves correctly.
    Passed,
    /// Legitimate in some environments, a mistake in most.
    Warning,
    /// Training on it would go wrong.
    Failed,
}

/// One thing that was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// The name of the check.
    pub name: &'static str,
    /// Its outcome.
    pub outcome: Outcome,
    /// The measured values, or the fault and its remedy: a part of a sentence, without a full stop.
    pub detail: String,
}

/// The outcomes of [`check_env`]. Prints as one line per check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Name of the environment.
    pub env: String,
    /// All checks, in order.
    pub checks: Vec<Check>,
}

impl Report {
    /// True if nothing failed.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.checks.iter().all(|c| c.outcome != Outcome::Failed)
    }

    /// The report, or its failures as an error.
    ///
    /// # Errors
    /// [`Error::Environment`] with all failed checks.
    pub fn into_result(self) -> Result<Self> {
        let failed: Vec<&Check> = self.checks.iter().filter(|c| c.outcome == Outcome::Failed).collect();
        if failed.is_empty() {
            return Ok(self);
        }
        let sentence = |check: &&Check| format!("the check `{}` failed: {}", check.name, check.detail);
        let problem = failed.iter().map(sentence).collect::<Vec<_>>().join("; and ");
        Err(Error::Environment { name: self.env, problem })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "environment {}", self.env)?;
        for check in &self.checks {
            let mark = match check.outcome {
                Outcome::Passed => "ok",
                Outcome::Warning => "WARNING",
                Outcome::Failed => "FAILED",
            };
            writeln!(f, "  {:<28} {mark:<8} {}", check.name, check.detail)?;
        }
        Ok(())
    }
}

/// Environments that the checks step side by side.
const COUNT: usize = 64;

/// Steps of the checks: two episodes at least where they are short.
const STEPS: usize = 1200;

/// The detail of a check that passed, or the outcome and the detail of one that did not.
type Verdict = std::result::Result<String, (Outcome, String)>;

fn fail<T>(detail: impl Into<String>) -> std::result::Result<T, (Outcome, String)> {
    Err((Outcome::Failed, detail.into()))
}

/// Checks an environment: finite and in its ranges, deterministic, the same in one lane and in many and in a traced
/// program, `f32` near `f64`, ends and time limits apart, drawable, and unharmed by any action, also by those that stay
/// at the ends of their ranges, or beyond, for whole episodes.
///
/// `now` returns seconds (the core has no clock); with it, wide instruction sets are also timed against the baseline,
/// which shows functions that were not inlined. A panic inside the environment is a failed check.
#[must_use]
pub fn check_env(env: &EnvDef, now: Option<&dyn Fn() -> f64>) -> Report {
    let mut checks = Vec::new();
    let mut add = |name, check: &mut dyn FnMut() -> Verdict| {
        let verdict = catch_unwind(AssertUnwindSafe(check)).unwrap_or_else(|panic| {
            let said = panic.downcast_ref::<String>().map(String::as_str);
            let said = said.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
            fail(format!(
                "it panicked: {said}; no function of an environment may, whatever the action: limit numbers by \
                 `clamp`, and look up tables by `R::select`"
            ))
        });
        let (outcome, detail) = match verdict {
            Ok(detail) => (Outcome::Passed, detail),
            Err(problem) => problem,
        };
        checks.push(Check { name, outcome, detail });
    };
    add("spec", &mut || spec_is_stable(env));
    add("tasks", &mut || tasks(env));
    add("resets", &mut || resets(env));
    let sound = Cell::new(false);
    add("steps", &mut || steps(env).inspect(|_| sound.set(true)));
    add("ends and time limit", &mut || ends(env));
    add("lanes", &mut || lanes(env));
    add("traced program", &mut || traced(env));
    add("f32 and f64", &mut || precision(env));
    // What fails with random actions is said once.
    if sound.get() {
        add("held actions", &mut || held_actions::play(env).map_err(|problem| (Outcome::Failed, problem)));
    }
    add("any action", &mut || any_action(env));
    add("draw", &mut || draw(env));
    if let Some(now) = now {
        add("speed of lanes", &mut || speed(env, now));
    }
    Report { env: env.spec().name.clone(), checks }
}

fn spec_is_stable(env: &EnvDef) -> Verdict {
    let spec = env.spec();
    let again = env.with_time_limit(spec.horizon);
    if !again.is_ok_and(|again| again.spec() == spec) {
        return fail("`spec` returns something else at its second call; it must depend on the value's fields only");
    }
    let action = match &spec.action {
        ActionSpace::Discrete { names } => format!("{} choices", names.len()),
        ActionSpace::Box { dims } => format!("{} numbers", dims.len()),
        ActionSpace::MultiDiscrete { .. } => {
            let each: Vec<String> = spec.action.counts().unwrap_or_default().iter().map(usize::to_string).collect();
            format!("{} choices at once of {} options", each.len(), each.join(", "))
        }
    };
    let (o, d) = (spec.observation.len(), spec.task.len());
    Ok(format!("observation {o}, action {action}, state {}, task {d}, time limit {}", env.state_len(), spec.horizon))
}

fn start(env: &EnvDef, isa: Isa) -> Lockstep {
    let mut rows = Lockstep::new(env, isa, COUNT);
    rows.sample_tasks(key_from_seed(77));
    rows.reset(key_from_seed(1));
    rows
}

fn tasks(env: &EnvDef) -> Verdict {
    if env.spec().task.is_empty() {
        return Ok("a single task".to_owned());
    }
    let all: Vec<Vec<f32>> = (0..COUNT as u32).map(|i| env.sample_task(key_from_seed(77), i)).collect();
    for task in &all {
        for (number, dim) in task.iter().zip(&env.spec().task) {
            if !fits(dim, f64::from(*number)) {
                let (name, low, high) = (&dim.name, dim.low, dim.high);
                return fail(format!(
                    "task parameter `{name}` is drawn as {number}, and its range is {low} to {high}; clamp it in \
                     `sample_task`, or widen its `Dim` in `EnvSpec::task`"
                ));
            }
        }
    }
    let distinct: std::collections::HashSet<Vec<u32>> = all.iter().map(|t| Lockstep::words(t)).collect();
    if distinct.len() == 1 {
        return Err((Outcome::Warning, "all tasks are the same; is `rng` used in `sample_task`?".to_owned()));
    }
    super::engine::agree::check_tasks(env, COUNT).map_err(|e| (Outcome::Failed, e.to_string()))?;
    Ok(format!("{} different tasks of {COUNT}", distinct.len()))
}

fn resets(env: &EnvDef) -> Verdict {
    let (first, again) = (start(env, Isa::detect()), start(env, Isa::detect()));
    if Lockstep::words(&first.state) != Lockstep::words(&again.state) {
        return fail("two resets with the same key differ; draw from `rng` only");
    }
    if let Some(bad) = first.state.iter().find(|x| !x.is_finite()) {
        return fail(format!("a first state has the number {bad}; in `reset`, {FINITE}"));
    }
    if let Some(RowFault { number, remedy, .. }) = RowFault::of_observation(env, &first.observation, COUNT) {
        return fail(format!("{number} after a reset{remedy}"));
    }
    let lane = |i: usize| first.state.iter().skip(i).step_by(COUNT).map(|x| x.to_bits()).collect::<Vec<_>>();
    let distinct: std::collections::HashSet<_> = (0..COUNT).map(lane).collect();
    // What differs between episodes may be the task alone.
    if distinct.len() == 1 && env.spec().task.is_empty() {
        return Err((Outcome::Warning, "all episodes start in the same state; is `rng` used?".to_owned()));
    }
    Ok(format!("{} different first states of {COUNT}", distinct.len()))
}

/// Random steps; `look` sees the rows after each.
fn walk(
    env: &EnvDef,
    mut look: impl FnMut(usize, &Lockstep) -> std::result::Result<(), (Outcome, String)>,
) -> std::result::Result<(), (Outcome, String)> {
    let mut rows = start(env, Isa::detect());
    let mut rng = Threefry::new(key_from_seed(5));
    for t in 0..STEPS {
        rows.random_actions(|| rng.word());
        rows.step(fold_in(key_from_seed(2), t as u32));
        look(t, &rows)?;
    }
    Ok(())
}

fn steps(env: &EnvDef) -> Verdict {
    let (mut low, mut high) = (f32::INFINITY, f32::NEG_INFINITY);
    walk(env, |t, rows| {
        if let Some(RowFault { number, remedy, .. }) = RowFault::of_step(env, rows) {
            return fail(format!("{number} after {} steps{remedy}", t + 1));
        }
        for &r in &rows.reward {
            (low, high) = (low.min(r), high.max(r));
        }
        Ok(())
    })?;
    Ok(format!("rewards from {low} to {high} over {} random steps", STEPS * COUNT))
}

fn ends(env: &EnvDef) -> Verdict {
    let horizon = env.spec().horizon as u32;
    let (mut taken, mut terminated, mut truncated) = (vec![0_u32; COUNT], 0_usize, 0_usize);
    walk(env, |_, rows| {
        for (i, taken) in taken.iter_mut().enumerate() {
            *taken += 1;
            let [end, cut, steps] = [&rows.terminated, &rows.truncated, &rows.steps].map(|v| v[i].to_bits());
            let expected = u32::from(end == 0 && *taken >= horizon);
            if end > 1 || cut != expected {
                return fail(format!("terminated {end} and truncated {cut} after {taken} steps of {horizon}"));
            }
            if end + cut > 0 {
                *taken = 0;
            }
            if steps != *taken {
                return fail(format!("the step count is {steps} where {taken} were taken"));
            }
            terminated += end as usize;
            truncated += cut as usize;
        }
        Ok(())
    })?;
    Ok(format!("{terminated} episodes terminated, {truncated} reached the time limit"))
}

/// The remedy for results that depend on who asks.
const PURE: &str =
    "what a function of an environment returns may depend on its arguments and constants only: no counters, no cells";

fn lanes(env: &EnvDef) -> Verdict {
    let all = Isa::available();
    let mut rows: Vec<Lockstep> = all.iter().map(|isa| start(env, *isa)).collect();
    let mut rng = Threefry::new(key_from_seed(6));
    let column = |values: &[f32], i: usize| values.iter().skip(i).step_by(COUNT).copied().collect::<Vec<f32>>();
    for t in 0..200 {
        let key = fold_in(key_from_seed(2), t);
        let before = rows[0].clone();
        let words: Vec<u32> = (0..rows[0].action.len()).map(|_| rng.word()).collect();
        for row in &mut rows {
            let mut words = words.iter().copied();
            row.random_actions(|| words.next().unwrap_or(0));
            row.step(key);
        }
        for (row, isa) in rows.iter().zip(&all).skip(1) {
            for (what, a, b) in [
                ("states", &row.state, &rows[0].state),
                ("rewards", &row.reward, &rows[0].reward),
                ("observations", &row.observation, &rows[0].observation),
                ("ends", &row.terminated, &rows[0].terminated),
            ] {
                if Lockstep::words(a) != Lockstep::words(b) {
                    let steps = t + 1;
                    return fail(format!("{what} differ between {isa} and baseline after {steps} steps; {PURE}"));
                }
            }
        }
        for i in (t as usize % 7..COUNT).step_by(7) {
            let (state, task) = (column(&before.state, i), column(&before.task, i));
            let one = env.step(&state, &column(&rows[0].action, i), &task, key, i as u32);
            let one = one.map_err(|e| (Outcome::Failed, e.to_string()))?;
            let seen = column(&rows[0].last_observation, i);
            let same = Lockstep::words(&one.observation) == Lockstep::words(&seen)
                && one.reward.to_bits() == rows[0].reward[i].to_bits();
            if !same {
                let alone = one.observation;
                return fail(format!("one environment alone gives {alone:?}, and in a block {seen:?}; {PURE}"));
            }
        }
    }
    Ok(format!("one lane and {} agree bit for bit", all.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")))
}

fn traced(env: &EnvDef) -> Verdict {
    match super::engine::agree::check(env) {
        Ok(()) => Ok("native blocks and the traced graph agree bit for bit".to_owned()),
        Err(Error::Environment { problem, .. }) => fail(format!("{problem}; {PURE}")),
        Err(e) => fail(e.to_string()),
    }
}

fn precision(env: &EnvDef) -> Verdict {
    let (mut far, mut total, mut worst) = (0_u32, 0_u32, 0.0_f64);
    let mut rows = start(env, Isa::detect());
    let mut rng = Threefry::new(key_from_seed(8));
    let column = |values: &[f32], i: usize| values.iter().skip(i).step_by(COUNT).copied().collect::<Vec<f32>>();
    let wide = |values: &[f32]| values.iter().map(|x| f64::from(*x)).collect::<Vec<f64>>();
    for t in 0..200 {
        let key = fold_in(key_from_seed(2), t);
        rows.random_actions(|| rng.word());
        for i in (t as usize % 5..COUNT).step_by(5) {
            let (s, a, d) = (column(&rows.state, i), column(&rows.action, i), column(&rows.task, i));
            let short = env.step(&s, &a, &d, key, i as u32);
            let long = env.step(&wide(&s), &wide(&a), &wide(&d), key, i as u32);
            let (short, long) = short.and_then(|s| Ok((s, long?))).map_err(|e| (Outcome::Failed, e.to_string()))?;
            let pairs = wide(&short.state).into_iter().chain([f64::from(short.reward)]);
            let error =
                pairs.zip(long.state.iter().chain([&long.reward])).map(|(x, y)| (x - y).abs() / (1.0 + y.abs()));
            let error = error.fold(0.0, f64::max);
            total += 1;
            if error > 1e-3 { far += 1 } else { worst = worst.max(error) }
        }
        rows.step(key);
    }
    if f64::from(far) > 0.02 * f64::from(total) {
        let detail = format!(
            "{far} of {total} steps differ by more than 1e-3 between f32 and f64; is something ill-conditioned?"
        );
        return Err((Outcome::Warning, detail));
    }
    Ok(format!(
        "largest relative difference of a step {worst:.1e}, {far} of {total} steps on another side of a threshold"
    ))
}

fn any_action(env: &EnvDef) -> Verdict {
    let odd = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -1.0, 0.5, 1e30, f32::MIN_POSITIVE, 4294967296.0];
    let mut rows = start(env, Isa::detect());
    for t in 0..20 {
        for (i, action) in rows.action.iter_mut().enumerate() {
            *action = odd[(i + t) % odd.len()];
        }
        rows.step(fold_in(key_from_seed(3), t as u32));
    }
    Ok("NaN, infinities and indices out of range do not panic".to_owned())
}

fn draw(env: &EnvDef) -> Verdict {
    let mut shapes = 0;
    let rows = start(env, Isa::detect());
    let column = |values: &[f32], i: usize| values.iter().skip(i).step_by(COUNT).copied().collect::<Vec<f32>>();
    for i in 0..COUNT {
        let scene = env.draw(&column(&rows.state, i), &column(&rows.task, i));
        let scene = scene.map_err(|e| (Outcome::Failed, e.to_string()))?;
        let [xmin, xmax, ymin, ymax] = scene.view;
        if !(xmin < xmax && ymin < ymax) {
            return fail(format!(
                "the scene shows {:?}; give `Scene::new` [xmin, xmax, ymin, ymax], each minimum below its maximum",
                scene.view
            ));
        }
        if let Some(shape) = scene.shapes.iter().find(|s| !s.is_finite()) {
            return fail(format!("a shape is not finite: {shape:?}; in `draw`, {FINITE}"));
        }
        shapes = shapes.max(scene.shapes.len());
    }
    if shapes == 0 {
        return Err((Outcome::Warning, "nothing is drawn".to_owned()));
    }
    Ok(format!("{shapes} shapes"))
}

/// Below this gain over the baseline's four lanes, a set of eight or more lanes runs code that was compiled without it.
const MIN_GAIN: f64 = 1.3;

/// Environments that are timed: enough that the work around a block does not count.
const TIMED: usize = 1024;

/// Seconds of an instruction set, or some more where five rounds take longer.
const TIMED_SECONDS: f64 = 0.2;

fn speed(env: &EnvDef, now: &dyn Fn() -> f64) -> Verdict {
    let per_step = |isa: Isa| {
        let mut rows = Lockstep::new(env, isa, TIMED);
        rows.reset([1, 1]);
        let mut rng = Threefry::new(key_from_seed(4));
        rows.random_actions(|| rng.word());
        let mut best = f64::INFINITY;
        let start = now();
        for round in 0..100 {
            let begin = now();
            // Bodies take a thousand times as long as poles, and need fewer rounds.
            if round >= 5 && begin - start > TIMED_SECONDS {
                break;
            }
            (0..10).for_each(|t| rows.step([10 * round + t, 9]));
            best = best.min(now() - begin);
        }
        best / 10.0 / TIMED as f64
    };
    let base = per_step(Isa::Baseline);
    let wider = Isa::available().into_iter().filter(|isa| *isa != Isa::Baseline);
    let gains: Vec<(Isa, f64)> = wider.map(|isa| (isa, base / per_step(isa))).collect();
    judge_speed(base, &gains)
}

/// Judges an environment's speed by the seconds of a step on the baseline, and by how many times faster each wider
/// instruction set is.
pub(super) fn judge_speed(base: f64, gains: &[(Isa, f64)]) -> Verdict {
    if base.is_nan() || base <= 0.0 || gains.iter().any(|(_, gain)| !gain.is_finite()) {
        return Err((Outcome::Warning, "the clock does not advance".to_owned()));
    }
    let faster = |(isa, gain): &(Isa, f64)| format!(", {isa} {gain:.1}× as fast");
    let all = format!("{:.2} ns a step{}", base * 1e9, gains.iter().map(faster).collect::<String>());
    if gains.iter().any(|(_, gain)| *gain < MIN_GAIN) {
        let hint = "below 1.3× something is not inlined; mark `reset`, `step`, `observe` and all they call \
             `#[inline(always)]`";
        return Err((Outcome::Warning, format!("{all}: {hint}")));
    }
    Ok(all)
}
