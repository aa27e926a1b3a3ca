//! The run of a seed: its folder, and what is written there.

use super::session_info;
use crate::curve::{self, Plot, Series};
use crate::files::{cannot_keep, disk};
use crate::folder::segments::SegmentFolder;
use crate::folder::{RunFolder, file};
use crate::json::train::TrainLine;
use crate::metrics::MetricsLog;
use crate::metrics::history::History;
use crate::outcome::Stop;
use crate::terminal::output::say;
use quickstudy_core::train::{Evaluation, Ring};
use std::time::Instant;

/// One seed's run: its folder and what is written there.
#[derive(Debug)]
pub struct SeedRun {
    /// Its run folder, locked.
    pub folder: RunFolder,
    pub(super) segments: SegmentFolder,
    pub(super) log: MetricsLog,
    pub(super) title: String,
    /// Best evaluation so far. An `f32`, because that is what a mean read back from the CSV is exact to.
    pub(super) best: f32,
    /// The policy of the best evaluation and its environment steps, where it is not written yet.
    pub(super) best_policy: Option<(u64, Vec<u8>)>,
    pub(super) seconds_before: f64,
    pub(super) history: History,
    /// When the history was written.
    pub(super) kept: Option<Instant>,
}

impl SeedRun {
    /// A new run; `title` heads its learning curve.
    pub fn create(folder: RunFolder, title: String, config: &str) -> Result<Self, Stop> {
        let log = MetricsLog::create(&folder, config)?;
        folder.remove(file::SESSION)?;
        Ok(Self::with(folder, title, log, History::default()))
    }

    /// A run that continues at `env_steps`, where its snapshot names `segments`; newer rows of its metrics are
    /// cut, and damage to them is repaired and said.
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

    pub(super) fn keep_history(&mut self) -> Result<(), Stop> {
        self.kept = Some(Instant::now());
        self.folder.write_unsynced(file::HISTORY, self.history.to_csv().as_bytes())
    }

    /// Writes the learning curve, as a picture and as its points.
    pub(super) fn draw(&mut self) -> Result<(), Stop> {
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

/// Cuts and repairs the metrics of a run as they were at `env_steps`, and says what was damaged.
pub(crate) fn mend(folder: &RunFolder, env_steps: u64) -> Result<(), Stop> {
    let config = crate::files::reading::read_own_text(&folder.join(file::CONFIG)).unwrap_or_default();
    go_back(folder, &String::from_utf8_lossy(&config), env_steps).map(|_| ())
}
