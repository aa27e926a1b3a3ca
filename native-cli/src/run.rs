//! The training loop around a session: metrics, evaluations, snapshots, progress and stopping.
//!
//! Order of writes: metrics rows and the best policy reach the disk before the snapshot that follows them, so that a
//! resumed run finds every row up to its snapshot and cuts the newer ones. When evaluations happen depends on the number of environment
//! steps alone and when snapshots happen changes nothing, so an interrupted and resumed run makes the same files.

use crate::curve::{Plot, Series};
use crate::metrics::{ENV_STEPS, MetricsLog, Row, Table};
use crate::outcome::{NON_FINITE, Stop};
use crate::progress::{Progress, Report};
use crate::run_folder::{RunFolder, file, shell_quote};
use crate::{curve, stats};
use quickstudy_core::train::Episode;
use std::time::{Duration, Instant};

/// Training return, as every algorithm reports it.
pub const EPISODE_RETURN: &str = "rollout/ep_return_mean";
/// Mean return of the evaluation in this iteration.
pub const EVAL_RETURN: &str = "eval/return_mean";
const EVAL_LENGTH: &str = "eval/ep_len_mean";
const SECONDS: &str = "time/seconds";
const SPEED: &str = "time/sps";

/// Makes the snapshot of one seed from a copy of the state.
///
/// It fails with code 1.
pub type Encode<'a> = Box<dyn Fn(usize) -> Result<Vec<u8>, Stop> + 'a>;

/// What the loop needs from a training session of one or several stacked seeds.
pub trait Training {
    /// Runs one iteration; returns one row per seed, with [`ENV_STEPS`].
    ///
    /// # Errors
    /// [`Stop`] with code 1 or 3.
    fn step(&mut self) -> Result<Vec<Row>, Stop>;
    /// Environment steps so far, per seed.
    fn env_steps(&self) -> u64;
    /// Environment steps to make, per seed.
    fn total_steps(&self) -> u64;
    /// Whether all steps are made.
    fn done(&self) -> bool;
    /// Everything needed to resume each seed, read from the device once.
    ///
    /// # Errors
    /// [`Stop`] with code 1.
    fn snapshots(&self) -> Result<Encode<'_>, Stop>;
    /// Policy, normalisers and configuration of each seed, read from the device once.
    ///
    /// # Errors
    /// [`Stop`] with code 1.
    fn policy_snapshots(&self) -> Result<Encode<'_>, Stop>;
    /// Episodes of the deterministic policy of each seed, on random numbers of their own.
    ///
    /// # Errors
    /// [`Stop`] with code 1 or 3.
    fn evaluate(&mut self, episodes: usize) -> Result<Vec<Vec<Episode>>, Stop>;
}

/// How often things happen beside training.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Time between snapshots; zero means after each iteration.
    pub save_every: Duration,
    /// Environment steps (per seed) between evaluations; 0 means none.
    pub eval_every: u64,
    /// Episodes per evaluation.
    pub eval_episodes: usize,
}

/// One seed's files.
#[derive(Debug)]
pub struct Member {
    /// Its run folder, locked.
    pub folder: RunFolder,
    log: MetricsLog,
    title: String,
    /// Best evaluation so far. An `f32`, because that is what a mean read back from the CSV is exact to.
    best: f32,
    /// The policy of the best evaluation, where it is not written yet.
    best_policy: Option<Vec<u8>>,
    seconds_before: f64,
    returns: Vec<(f64, f64)>,
    evaluations: Vec<(f64, f64)>,
}

impl Member {
    /// A new run; `title` heads its learning curve.
    ///
    /// # Errors
    /// [`Stop`] with code 1 if the metrics files cannot be written.
    pub fn create(folder: RunFolder, title: String, config: &str) -> Result<Self, Stop> {
        let log = MetricsLog::create(&folder, config)?;
        Ok(Self::with(folder, title, log, &Table::default()))
    }

    /// A run that continues at `env_steps`; newer rows of its metrics are cut.
    ///
    /// # Errors
    /// [`Stop`] with code 1 if the metrics files cannot be read or written.
    pub fn resume(folder: RunFolder, title: String, config: &str, env_steps: u64) -> Result<Self, Stop> {
        let (log, kept) = MetricsLog::resume(&folder, env_steps, config)?;
        Ok(Self::with(folder, title, log, &kept))
    }

    fn with(folder: RunFolder, title: String, log: MetricsLog, kept: &Table) -> Self {
        let mut member = Self {
            folder,
            log,
            title,
            best: f32::NEG_INFINITY,
            best_policy: None,
            seconds_before: 0.0,
            returns: Vec::new(),
            evaluations: Vec::new(),
        };
        member.know(kept);
        member
    }

    /// Goes back to the snapshot at `env_steps`; newer rows of the metrics are cut.
    ///
    /// # Errors
    /// [`Stop`] with code 1 if the metrics files cannot be read or written.
    pub fn rewind(&mut self, env_steps: u64) -> Result<(), Stop> {
        self.log.flush()?;
        let config = crate::run_folder::read(&self.folder.join(file::CONFIG)).unwrap_or_default();
        let (log, kept) = MetricsLog::resume(&self.folder, env_steps, &String::from_utf8_lossy(&config))?;
        self.log = log;
        self.best_policy = None;
        self.know(&kept);
        Ok(())
    }

    /// What the rows of the metrics tell.
    fn know(&mut self, kept: &Table) {
        self.returns = points(kept, EPISODE_RETURN);
        self.evaluations = points(kept, EVAL_RETURN);
        self.best = if self.folder.join(file::BEST).exists() {
            self.evaluations.iter().fold(f32::NEG_INFINITY, |best, (_, y)| best.max(*y as f32))
        } else {
            f32::NEG_INFINITY
        };
        let seconds = kept.column(SECONDS).and_then(|seconds| seconds.last().copied());
        self.seconds_before = seconds.filter(|seconds| seconds.is_finite()).unwrap_or(0.0);
    }

    /// Best mean evaluation return, or `None` before the first.
    #[must_use]
    pub fn best(&self) -> Option<f32> {
        self.best.is_finite().then_some(self.best)
    }

    /// Metrics first, the best policy second, the snapshot last: what a snapshot builds on is always there.
    fn save(&mut self, snapshot: &[u8]) -> Result<(), Stop> {
        self.log.sync()?;
        if let Some(policy) = self.best_policy.take() {
            self.folder.write(file::BEST, &policy)?;
        }
        self.folder.write(file::LAST, snapshot)
    }

    fn draw(&self) -> Result<(), Stop> {
        let plot = Plot {
            title: self.title.clone(),
            subtitle: "line: mean return of recent training episodes, dots: evaluations".into(),
            y_label: "mean episode return".into(),
            series: vec![Series {
                label: String::new(),
                runs: vec![self.returns.clone()],
                marks: self.evaluations.clone(),
            }],
        };
        // A run shorter than an episode has nothing to draw, which is no error.
        match curve::svg(&plot) {
            Ok(svg) => self.folder.write_unsynced(file::CURVE, svg.as_bytes()),
            Err(stop) if stop.code == 2 => Ok(()),
            Err(stop) => Err(stop),
        }
    }
}

/// The finite points of a column over environment steps.
#[must_use]
pub fn points(table: &Table, column: &str) -> Vec<(f64, f64)> {
    let (Some(steps), Some(values)) = (table.column(ENV_STEPS), table.column(column)) else {
        return Vec::new();
    };
    steps.into_iter().zip(values).filter(|(_, y)| y.is_finite()).collect()
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
///
/// # Errors
/// [`Stop`] with code 1 (failure) or 3 (non-finite value), with a hint how to continue from the last snapshot.
pub fn run(
    session: &mut dyn Training,
    members: &mut [Member],
    pace: Pace,
    stop_asked: &dyn Fn() -> bool,
) -> Result<End, Stop> {
    let mut progress = Progress::new(session.env_steps(), session.total_steps(), members.len() as u64);
    let result = iterate(session, members, pace, stop_asked, &mut progress);
    progress.finish();
    // Whatever happened, readers of the metrics should see all rows; the first error is the one that matters.
    let flushed = members.iter_mut().try_for_each(|member| member.log.flush());
    let end = result.map_err(|stop| with_resume_hint(stop, members))?;
    flushed?;
    for member in members.iter() {
        member.draw()?;
    }
    Ok(end)
}

fn iterate(
    session: &mut dyn Training,
    members: &mut [Member],
    pace: Pace,
    stop_asked: &dyn Fn() -> bool,
    progress: &mut Progress,
) -> Result<End, Stop> {
    let start = Instant::now();
    let (start_steps, seeds) = (session.env_steps(), members.len() as f64);
    let mut eval_return = last_mean(members, |member| &member.evaluations);
    save(session, members)?;
    let (mut saved, mut flushed, mut dirty) = (Instant::now(), Instant::now(), false);
    while !session.done() {
        if stop_asked() {
            if dirty {
                save(session, members)?;
            }
            return Ok(End::Interrupted);
        }
        let before = session.env_steps();
        let mut rows = session.step()?;
        dirty = true;
        check_finite(&rows)?;
        let now = session.env_steps();
        let evaluate = pace.eval_every > 0 && (before / pace.eval_every != now / pace.eval_every || session.done());
        if evaluate {
            evaluate_into(session, members, pace.eval_episodes, &mut rows)?;
            eval_return = mean_of(&rows, EVAL_RETURN);
        } else {
            for row in &mut rows {
                row.extend([(EVAL_RETURN.to_owned(), f64::NAN), (EVAL_LENGTH.to_owned(), f64::NAN)]);
            }
        }
        let elapsed = start.elapsed().as_secs_f64();
        let speed = (now - start_steps) as f64 * seeds / elapsed.max(1e-9);
        for (row, member) in rows.iter_mut().zip(members.iter_mut()) {
            row.push((SECONDS.to_owned(), round(member.seconds_before + elapsed, 1e3)));
            row.push((SPEED.to_owned(), round(speed, 1.0)));
            member.log.append(row)?;
            for (points, column) in [(&mut member.returns, EPISODE_RETURN), (&mut member.evaluations, EVAL_RETURN)] {
                points.extend(value(row, column).filter(|y| y.is_finite()).map(|y| (now as f64, y)));
            }
        }
        progress.update(Report { steps: now, episode_return: mean_of(&rows, EPISODE_RETURN), eval_return });
        if saved.elapsed() >= pace.save_every {
            save(session, members)?;
            (saved, flushed, dirty) = (Instant::now(), Instant::now(), false);
        } else if flushed.elapsed() > Duration::from_millis(500) {
            members.iter_mut().try_for_each(|member| member.log.flush())?;
            flushed = Instant::now();
        }
    }
    if dirty {
        save(session, members)?;
    }
    Ok(End::Finished)
}

/// Writes all seeds' files. Most of the time goes into waiting for the disk, which many threads do as fast as one.
fn save(session: &dyn Training, members: &mut [Member]) -> Result<(), Stop> {
    const TOGETHER: usize = 32;
    let encode = session.snapshots()?;
    for (chunk, members) in members.chunks_mut(TOGETHER).enumerate() {
        let first = chunk * TOGETHER;
        let snapshots: Vec<Vec<u8>> = (first..first + members.len()).map(&encode).collect::<Result<_, _>>()?;
        std::thread::scope(|scope| {
            let threads: Vec<_> = members
                .iter_mut()
                .zip(&snapshots)
                .map(|(member, snapshot)| scope.spawn(|| member.save(snapshot)))
                .collect();
            let ended = |thread: std::thread::ScopedJoinHandle<'_, Result<(), Stop>>| {
                thread.join().unwrap_or_else(|_| Err(Stop::failure("a thread that saves has panicked")))
            };
            // Every thread is waited for; the first error counts.
            threads.into_iter().map(ended).fold(Ok(()), Result::and)
        })?;
    }
    Ok(())
}

fn evaluate_into(
    session: &mut dyn Training,
    members: &mut [Member],
    episodes: usize,
    rows: &mut [Row],
) -> Result<(), Stop> {
    let results = session.evaluate(episodes)?;
    let mut encode = None;
    for (i, ((row, member), episodes)) in rows.iter_mut().zip(members).zip(results).enumerate() {
        let returns: Vec<f64> = episodes.iter().map(|episode| episode.ret).collect();
        let lengths: Vec<f64> = episodes.iter().map(|episode| f64::from(episode.length)).collect();
        let mean = stats::mean(&returns);
        row.push((EVAL_RETURN.to_owned(), mean));
        row.push((EVAL_LENGTH.to_owned(), stats::mean(&lengths)));
        if (mean as f32) > member.best {
            member.best = mean as f32;
            let encode = match &encode {
                Some(encode) => encode,
                None => encode.insert(session.policy_snapshots()?),
            };
            member.best_policy = Some(encode(i)?);
        }
    }
    Ok(())
}

fn value(row: &[(String, f64)], column: &str) -> Option<f64> {
    row.iter().find(|(name, _)| name == column).map(|(_, value)| *value)
}

/// Mean over seeds of a column; NaN if no seed has a value.
fn mean_of(rows: &[Row], column: &str) -> f64 {
    let values: Vec<f64> = rows.iter().filter_map(|row| value(row, column)).filter(|v| v.is_finite()).collect();
    stats::mean(&values)
}

fn last_mean(members: &[Member], points: impl Fn(&Member) -> &Vec<(f64, f64)>) -> f64 {
    let values: Vec<f64> = members.iter().filter_map(|member| points(member).last()).map(|(_, y)| *y).collect();
    stats::mean(&values)
}

fn check_finite(rows: &[Row]) -> Result<(), Stop> {
    match rows.iter().flatten().find(|(_, value)| value.is_infinite()) {
        Some((name, value)) => Err(Stop::non_finite(format!("{name} became {value}"))),
        None => Ok(()),
    }
}

fn round(value: f64, per_unit: f64) -> f64 {
    (value * per_unit).round() / per_unit
}

/// `quickstudy train --resume DIR…` for these runs.
#[must_use]
pub fn resume_command(members: &[Member]) -> String {
    let mut command = String::from("quickstudy train --resume");
    for member in members {
        command.push(' ');
        command.push_str(&shell_quote(&member.folder.path().to_string_lossy()));
    }
    command
}

fn with_resume_hint(mut stop: Stop, members: &[Member]) -> Stop {
    if members.iter().all(|member| member.folder.join(file::LAST).exists()) {
        let first = if stop.hint.is_empty() { "the last snapshot is intact" } else { &stop.hint };
        let command = resume_command(members);
        stop.hint = if stop.code == NON_FINITE {
            format!("{first}; `{command} --debug` names the operation where it begins")
        } else {
            format!("{first}; continue with `{command}`")
        };
    }
    stop
}

#[cfg(test)]
mod tests;
