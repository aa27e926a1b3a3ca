//! The training loop around a session: metrics, evaluations, snapshots, progress and stopping.
//!
//! Order of writes: metrics rows and the best policy reach the disk before the snapshot that follows them, so that
//! a resumed run finds every row up to its snapshot and cuts the newer ones. When a seed is evaluated depends on
//! the number of environment steps that it has made alone and when snapshots happen changes nothing, so an
//! interrupted and resumed run makes the same files.

use crate::metrics::history::is_due;
use crate::metrics::{EPISODE_RETURN, EVAL_RETURN, Row, SECONDS, meta_test};
use crate::outcome::Stop;
use crate::settings::keep_snapshots::Keep;
use crate::statistics;
use crate::terminal::activity::{self, Work};
use crate::terminal::progress::{Progress, Report};
use quickstudy_core::env::Classes;
use quickstudy_core::train::{Episode, Evaluation};
pub(crate) use resume_hint::resume_command;
use resume_hint::with_resume_hint;
pub(crate) use saving::save_first;
use saving::{Changed, save, save_changed};
pub use seed_run::SeedRun;
pub(crate) use seed_run::mend;
pub(crate) use session::{Copied, Encode, Training};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

const EVAL_LENGTH: &str = "eval/ep_len_mean";
const SPEED: &str = "time/sps";

/// How often things happen beside training.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Time between snapshots; zero means after each iteration.
    pub save_every: Duration,
    /// Environment steps between evaluations of a seed, by its own count; 0 means none.
    pub eval_every: u64,
    /// The episodes of an evaluation.
    pub evaluation: Evaluation,
    /// Environment steps between rows of a seed's metrics, by its own count, 0 for rows that get rarer; see
    /// `metrics::history::is_due`.
    pub log_every: u64,
    /// The snapshots that are kept.
    pub keep: Keep,
    /// Environment steps of each seed after which training stops, as by Ctrl-C.
    pub pause_at: Option<u64>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// All steps are made.
    Finished,
    /// A stop was asked for; everything is saved.
    Interrupted,
}

/// Trains until done or `stop_asked`, with a snapshot at the start, in between and at the end.
pub(crate) fn run(
    session: &mut dyn Training,
    runs: &mut [SeedRun],
    pace: Pace,
    stop_asked: &dyn Fn() -> bool,
) -> Result<End, Stop> {
    runs.iter().try_for_each(|run| session_info::begin(&run.folder))?;
    let mut progress = Progress::new(mean_made(session, runs.len()), session.total_steps(), runs.len() as u64);
    let result = iterate(session, runs, pace, stop_asked, &mut progress);
    progress.finish();
    // Whatever happened, readers of the metrics should see all rows; the first error is the one that matters.
    let flushed = runs.iter_mut().try_for_each(|run| run.log.flush());
    let end = result.map_err(|stop| with_resume_hint(stop, runs))?;
    flushed?;
    runs.iter_mut().try_for_each(SeedRun::draw)?;
    if end == End::Finished {
        runs.iter().try_for_each(|run| session_info::end(&run.folder))?;
    }
    Ok(end)
}

fn iterate(
    session: &mut dyn Training,
    runs: &mut [SeedRun],
    pace: Pace,
    stop_asked: &dyn Fn() -> bool,
    progress: &mut Progress,
) -> Result<End, Stop> {
    let (start, seeds) = (Instant::now(), runs.len());
    let start_steps = (0..seeds).map(|index| session.steps_made(index)).sum::<u64>();
    let mut returns = vec![f64::NAN; seeds];
    activity::begin(Work::Saving);
    let all: Vec<Changed> = (0..seeds).map(|index| Changed { index, stays: false }).collect();
    save(session, runs, pace.keep, &all)?;
    let (mut saved, mut flushed) = (Instant::now(), Instant::now());
    // The seeds of which there is more than the last snapshot has.
    let mut changed: BTreeSet<usize> = BTreeSet::new();
    while (0..seeds).any(|index| !session.is_done(index)) {
        let paused = |index: usize, at| session.steps_made(index) >= at || session.is_done(index);
        if stop_asked() || pace.pause_at.is_some_and(|at| (0..seeds).all(|index| paused(index, at))) {
            save_changed(session, runs, pace.keep, &mut changed, &[])?;
            return Ok(End::Interrupted);
        }
        let before: Vec<u64> = (0..seeds).map(|index| session.steps_made(index)).collect();
        let unfinished = (0..seeds).filter(|index| !session.is_done(*index)).map(|index| before[index]);
        activity::begin(Work::Iteration(unfinished.min().unwrap_or(0)));
        let mut rows = session.step()?;
        changed.extend(rows.iter().map(|(index, _)| *index));
        check_finite(&rows)?;
        let now = |session: &dyn Training, index: usize| session.steps_made(index);
        let passes = |session: &dyn Training, every: u64, index: usize| {
            every > 0 && (before[index] / every != now(session, index) / every || session.is_done(index))
        };
        let indices = rows.iter().map(|(index, _)| *index);
        let evaluated: Vec<usize> = indices.filter(|index| passes(session, pace.eval_every, *index)).collect();
        if let Some(first) = evaluated.first() {
            activity::begin(Work::Evaluation(now(session, *first)));
            evaluate_into(session, runs, pace, &evaluated, &mut rows)?;
        }
        let none = adapted_columns(session.adapts(), &[], session.classes(), 0);
        for (_, row) in rows.iter_mut().filter(|(index, _)| !evaluated.contains(index)) {
            row.extend([(EVAL_RETURN.to_owned(), f64::NAN), (EVAL_LENGTH.to_owned(), f64::NAN)]);
            row.extend(none.iter().map(|(name, _)| (name.clone(), f64::NAN)));
        }
        let seconds = start.elapsed().as_secs_f64();
        let made = (0..seeds).map(|index| now(session, index)).sum::<u64>() - start_steps;
        let speed = round(made as f64 / seconds.max(1e-9), 1.0);
        for (index, mut row) in rows {
            let run = &mut runs[index];
            returns[index] = value(&row, EPISODE_RETURN).unwrap_or(f64::NAN);
            row.push((SECONDS.to_owned(), round(run.seconds_before + seconds, 1e3)));
            row.push((SPEED.to_owned(), speed));
            let (before, now) = (before[index], now(session, index));
            if evaluated.contains(&index) || session.is_done(index) || is_due(before, now, pace.log_every) {
                let written = run.log.append(&row)?;
                run.history.push(&written);
            }
        }
        let steps = mean_made(session, seeds);
        progress.set_total(session.total_steps());
        progress.update(Report { steps, episode_return: finite_mean(&returns), eval_return: last_mean(runs) });
        let stays: Vec<usize> =
            changed.iter().copied().filter(|index| pace.keep.stays(before[*index], now(session, *index))).collect();
        if !stays.is_empty() || saved.elapsed() >= pace.save_every {
            save_changed(session, runs, pace.keep, &mut changed, &stays)?;
            (saved, flushed) = (Instant::now(), Instant::now());
        } else if flushed.elapsed() > Duration::from_millis(500) {
            runs.iter_mut().try_for_each(|run| run.log.flush())?;
            flushed = Instant::now();
        }
    }
    save_changed(session, runs, pace.keep, &mut changed, &[])?;
    Ok(End::Finished)
}

/// Environment steps made, of one seed in the mean.
fn mean_made(session: &dyn Training, seeds: usize) -> u64 {
    (0..seeds).map(|index| session.steps_made(index)).sum::<u64>() / seeds.max(1) as u64
}

fn evaluate_into(
    session: &mut dyn Training,
    runs: &mut [SeedRun],
    pace: Pace,
    seeds: &[usize],
    rows: &mut [(usize, Row)],
) -> Result<(), Stop> {
    let results = session.evaluate(seeds, pace.evaluation)?;
    let mut encode = None;
    let evaluated = rows.iter_mut().filter(|(index, _)| seeds.contains(index));
    for ((index, row), episodes) in evaluated.zip(results) {
        let run = &mut runs[*index];
        let returns: Vec<f64> = episodes.iter().map(|episode| episode.ret).collect();
        let lengths: Vec<f64> = episodes.iter().map(|episode| f64::from(episode.length)).collect();
        let mean = statistics::mean(&returns);
        row.push((EVAL_RETURN.to_owned(), mean));
        row.push((EVAL_LENGTH.to_owned(), statistics::mean(&lengths)));
        let iteration = value(row, "time/iterations").unwrap_or(0.0) as u64;
        row.extend(adapted_columns(session.adapts(), &episodes, session.classes(), iteration));
        if (mean as f32) > run.best {
            run.best = mean as f32;
            if pace.keep == Keep::None {
                continue;
            }
            let encode = match &encode {
                Some(encode) => encode,
                None => encode.insert(session.policy_snapshots(seeds)?),
            };
            run.best_policy = Some((session.steps_made(*index), encode(*index)?));
        }
    }
    Ok(())
}

/// The columns of a policy's episodes after adaptation, under garage's names.
fn adapted_columns(
    adapts: bool,
    episodes: &[Episode],
    classes: Option<&Classes>,
    iteration: u64,
) -> Vec<(String, f64)> {
    if adapts { meta_test::rows(episodes, classes, iteration) } else { Vec::new() }
}

fn value(row: &[(String, f64)], column: &str) -> Option<f64> {
    row.iter().find(|(name, _)| name == column).map(|(_, value)| *value)
}

/// Mean of the values that there are; NaN if there is none.
fn finite_mean(values: &[f64]) -> f64 {
    statistics::mean(&values.iter().copied().filter(|value| value.is_finite()).collect::<Vec<_>>())
}

fn last_mean(runs: &[SeedRun]) -> f64 {
    let values: Vec<f64> = runs.iter().filter_map(SeedRun::last_evaluation).collect();
    statistics::mean(&values)
}

fn check_finite(rows: &[(usize, Row)]) -> Result<(), Stop> {
    match rows.iter().flat_map(|(_, row)| row).find(|(_, value)| value.is_infinite()) {
        Some((name, value)) => Err(Stop::non_finite(format!("{name} became {value}"))),
        None => Ok(()),
    }
}

fn round(value: f64, per_unit: f64) -> f64 {
    (value * per_unit).round() / per_unit
}

mod resume_hint;
mod saving;
mod seed_run;
mod session;
mod session_info;
#[cfg(test)]
mod tests;
