//! The training loop around a session: metrics, evaluations, snapshots, progress and stopping.
//!
//! Order of writes: metrics rows and the best policy reach the disk before the snapshot that follows them, so that
//! a resumed run finds every row up to its snapshot and cuts the newer ones. When a seed is evaluated depends on
//! the number of environment steps that it has made alone and when snapshots happen changes nothing, so an
//! interrupted and resumed run makes the same files.

use crate::curve::{self, Plot, Series};
use crate::files::disk;
use crate::folder::segments::SegmentFolder;
use crate::folder::{RunFolder, cannot_keep, file};
use crate::json::train::TrainLine;
use crate::metrics::history::{History, is_due};
use crate::metrics::{EPISODE_RETURN, EVAL_RETURN, MetricsLog, Row, SECONDS, meta_test};
use crate::outcome::Stop;
use crate::settings::keep_snapshots::Keep;
use crate::statistics;
use crate::terminal::activity::{self, Work};
use crate::terminal::output::say;
use crate::terminal::progress::{Progress, Report};
use quickstudy_core::env::Classes;
use quickstudy_core::train::{Episode, Evaluation, Ring};
pub(crate) use resume_hint::resume_command;
use resume_hint::with_resume_hint;
pub(crate) use saving::save_first;
use saving::{Changed, save, save_changed};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

const EVAL_LENGTH: &str = "eval/ep_len_mean";
const SPEED: &str = "time/sps";

/// Makes the policy's snapshot of one seed from a copy of the state.
///
/// It fails with code 1.
pub(crate) type Encode<'a> = Box<dyn Fn(usize) -> Result<Vec<u8>, Stop> + 'a>;

/// A copy of the state of all seeds, of which snapshots are made.
pub(crate) trait Copied {
    /// The snapshot of one seed in parts: rows of its replay memory that are new go into segments, all else is the
    /// file.
    fn parts(&self, index: usize, segments: &mut SegmentFolder) -> Result<Vec<u8>, Stop>;
    /// The snapshot of one seed as one file.
    fn whole(&self, index: usize) -> Result<Vec<u8>, Stop>;
}

/// A training session of one or several stacked seeds, as the loop needs it.
pub(crate) trait Training {
    /// Runs one iteration; returns the number, from 0, of each seed that made it, and its row, with
    /// [`ENV_STEPS`](crate::metrics::ENV_STEPS). Seeds that are done make none.
    fn step(&mut self) -> Result<Vec<(usize, Row)>, Stop>;
    /// Environment steps that the seed of this number, from 0, has made.
    fn steps_made(&self, index: usize) -> u64;
    /// Tells whether the seed of this number, from 0, has made all of its steps.
    fn is_done(&self, index: usize) -> bool;
    /// True if policies adapt: their episodes after it are measured apart.
    fn adapts(&self) -> bool;
    /// The classes of tasks, where they have such.
    fn classes(&self) -> Option<&Classes> {
        None
    }
    /// Environment steps to make, per seed.
    fn total_steps(&self) -> u64;
    /// Everything needed to resume each of these seeds; what is small is read from the device once.
    fn snapshots(&self, seeds: &[usize]) -> Result<Box<dyn Copied + '_>, Stop>;
    /// Policy, normalisers and configuration of each of these seeds, read from the device once.
    fn policy_snapshots(&self, seeds: &[usize]) -> Result<Encode<'_>, Stop>;
    /// Episodes of the deterministic policy of each of these seeds, on random numbers of their own.
    fn evaluate(&mut self, seeds: &[usize], played: Evaluation) -> Result<Vec<Vec<Episode>>, Stop>;
}

/// How often things happen beside training.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Time between snapshots; zero means after each iteration.
    pub save_every: Duration,
    /// Environment steps between evaluations of a seed, by its own count; 0 means none.
    pub eval_every: u64,
    /// The episodes of an evaluation.
    pub evaluation: Evaluation,
    /// Environment steps between rows of a seed's metrics, by its own count, 0 for rows that get rarer; see [`is_due`].
    pub log_every: u64,
    /// The snapshots that are kept.
    pub keep: Keep,
    /// Environment steps of each seed after which training stops, as by Ctrl-C.
    pub pause_at: Option<u64>,
}

/// One seed's run: its folder and what is written there.
#[derive(Debug)]
pub struct SeedRun {
    /// Its run folder, locked.
    pub folder: RunFolder,
    segments: SegmentFolder,
    log: MetricsLog,
    title: String,
    /// Best evaluation so far. An `f32`, because that is what a mean read back from the CSV is exact to.
    best: f32,
    /// The policy of the best evaluation and its environment steps, where it is not written yet.
    best_policy: Option<(u64, Vec<u8>)>,
    seconds_before: f64,
    history: History,
    /// When the history was written.
    kept: Option<Instant>,
}

impl SeedRun {
    /// A new run; `title` heads its learning curve.
    pub fn create(folder: RunFolder, title: String, config: &str) -> Result<Self, Stop> {
        let log = MetricsLog::create(&folder, config)?;
        folder.remove(file::SESSION)?;
        Ok(Self::with(folder, title, log, History::default()))
    }

    /// A run that continues at `env_steps`, where its snapshot names `segments`; newer rows of its metrics are
    /// cut, and damage to them is mended and said.
    pub fn resume(
        folder: RunFolder,
        title: String,
        config: &str,
        env_steps: u64,
        segments: &[Ring],
    ) -> Result<Self, Stop> {
        let (log, history) = go_back(&folder, config, env_steps)?;
        let mut run = Self::with(folder, title, log, history);
        run.segments = SegmentFolder::new(run.folder.path(), segments);
        // From here on rows may be others: which ones there were is known by it.
        run.keep_history()?;
        Ok(run)
    }

    fn with(folder: RunFolder, title: String, log: MetricsLog, history: History) -> Self {
        let best = f32::NEG_INFINITY;
        let segments = SegmentFolder::new(folder.path(), &[]);
        let mut run = Self {
            folder,
            segments,
            log,
            title,
            best,
            best_policy: None,
            seconds_before: 0.0,
            history: History::default(),
            kept: None,
        };
        run.know(history);
        run
    }

    /// Does what follows the last snapshot of a finished run, where it was killed before that was done.
    pub fn finish(&mut self) -> Result<(), Stop> {
        self.segments.keep()?;
        self.draw()?;
        session_info::end(&self.folder)
    }

    /// Goes back to the snapshot at `env_steps`, which names `segments`; newer rows of the metrics are cut.
    pub fn rewind(&mut self, env_steps: u64, segments: &[Ring]) -> Result<(), Stop> {
        self.log.flush()?;
        self.segments = SegmentFolder::new(self.folder.path(), segments);
        let config = crate::files::reading::read_own_text(&self.folder.join(file::CONFIG)).unwrap_or_default();
        let (log, history) = go_back(&self.folder, &String::from_utf8_lossy(&config), env_steps)?;
        self.log = log;
        self.best_policy = None;
        self.know(history);
        Ok(())
    }

    fn know(&mut self, history: History) {
        self.best = if self.folder.join(file::BEST).exists() { history.best() } else { f32::NEG_INFINITY };
        self.seconds_before = history.seconds();
        self.history = history;
    }

    /// Mean return of the last evaluation, or `None` before the first.
    pub fn last_evaluation(&self) -> Option<f64> {
        self.history.last_evaluation()
    }

    /// Best mean evaluation return, or `None` before the first.
    pub fn best(&self) -> Option<f32> {
        self.best.is_finite().then_some(self.best)
    }

    /// The returns of its last episodes and evaluations of `episodes` each, one line; none before the first.
    ///
    /// The best of several evaluations is higher than its policy deserves, so the last one stands beside it.
    pub fn ended_at(&self, played: Evaluation) -> Option<String> {
        let episodes = played.episodes();
        let last = self.history.last_return().map(|y| format!("return {y:.1}"));
        let mut parts: Vec<String> = last.into_iter().collect();
        if let (Some(last), Some(best)) = (self.last_evaluation(), self.best()) {
            parts.push(format!("evaluations of {episodes} episodes: last {:.1}, best {best:.1}", last as f32));
        }
        (!parts.is_empty()).then(|| parts.join(" · "))
    }

    /// The line of JSON that tells how the run ended.
    pub fn ended(&self, seed: u64, steps: u64, finished: bool) -> TrainLine {
        TrainLine::Trained {
            folder: self.folder.path().display().to_string(),
            seed,
            steps,
            finished,
            episode_return: self.history.last_return(),
            evaluation: self.last_evaluation(),
            best: self.best().map(f64::from),
        }
    }

    fn keep_history(&mut self) -> Result<(), Stop> {
        self.kept = Some(Instant::now());
        self.folder.write_unsynced(file::HISTORY, self.history.to_csv().as_bytes())
    }

    /// Writes the learning curve, as a picture and as its points.
    fn draw(&mut self) -> Result<(), Stop> {
        self.keep_history()?;
        let plot = Plot {
            title: self.title.clone(),
            subtitle: "line: mean return of recent training episodes, dots: evaluations".into(),
            y_label: "mean episode return".into(),
            series: vec![Series {
                label: String::new(),
                runs: vec![self.history.returns()],
                marks: self.history.evaluations(),
                ..Series::default()
            }],
            ..Plot::default()
        };
        match curve::draw(&plot) {
            Ok(sheet) => self.folder.write_unsynced(file::CURVE, sheet.svg().as_bytes()),
            // A run shorter than an episode has nothing to draw, and values beyond all axes cannot be drawn, which is
            // no error; a picture of before would be of other values.
            Err(stop) if stop.code == 2 => {
                let old = self.folder.join(file::CURVE);
                if old.exists() {
                    let _ = disk::remove_file(&old);
                }
                Ok(())
            }
            Err(stop) => Err(stop),
        }
    }
}

/// Metrics and history of a run as they were at `env_steps`, and its best policy.
fn go_back(folder: &RunFolder, config: &str, env_steps: u64) -> Result<(MetricsLog, History), Stop> {
    folder.settle_best(env_steps)?;
    let (log, notes) = MetricsLog::resume(folder, env_steps, config)?;
    notes.iter().for_each(|note| say(&format!("note: {note}")));
    let history = History::load(folder.path(), env_steps)
        .map_err(|error| cannot_keep(&folder.join(file::HISTORY), &error, ""))?;
    Ok((log, history))
}

/// Cuts and mends the metrics of a run as they were at `env_steps`, and says what was damaged.
pub(crate) fn mend(folder: &RunFolder, env_steps: u64) -> Result<(), Stop> {
    let config = crate::files::reading::read_own_text(&folder.join(file::CONFIG)).unwrap_or_default();
    go_back(folder, &String::from_utf8_lossy(&config), env_steps).map(|_| ())
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
mod session_info;
#[cfg(test)]
mod tests;
