//! The live table of jobs: a row for each on a terminal, aligned lines elsewhere, or lines of JSON.

use crate::json::train::TrainLine;
use crate::ranks::job::{Job, JobEnd};
use crate::terminal::output::{is_json, say, say_line};
use crate::terminal::progress::{BAR, Report, fitting, line};
use crate::text::numbers::duration;
use console::Term;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

/// Without a terminal, a job says how far it is after each tenth of its steps, or after so long a silence.
const SILENCE: Duration = Duration::from_secs(60);
/// Between lines about a stop that is waited for.
const STOPPING: Duration = Duration::from_secs(10);
/// Columns of a name at most.
const NAME: usize = 40;

struct JobRow {
    name: String,
    runs: usize,
    pauses: bool,
    total: u64,
    algorithm: String,
    environment: String,
    bar: Option<ProgressBar>,
    begun: Option<Instant>,
    last: Option<Report>,
    next_line: u64,
    spoke: Instant,
}

/// Shows jobs as they train.
pub(crate) struct Board {
    rows: Vec<JobRow>,
    /// Columns of the longest name.
    width: usize,
    all: Option<(MultiProgress, ProgressBar)>,
    start: Instant,
    ended: usize,
    /// The wait after Ctrl-C that was told of last.
    waited: Duration,
    /// Lines of the jobs are printed, where lines are asked for.
    prints: bool,
}

impl Board {
    /// A table of these jobs.
    pub(crate) fn new(jobs: &[Job]) -> Self {
        let row = |job: &Job| JobRow {
            name: job.name.chars().take(NAME).collect(),
            runs: job.runs,
            pauses: job.pauses,
            total: job.steps,
            algorithm: job.algorithm.clone(),
            environment: job.environment.clone(),
            bar: None,
            begun: None,
            last: None,
            next_line: 0,
            spoke: Instant::now(),
        };
        let rows: Vec<JobRow> = jobs.iter().map(row).collect();
        let width = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
        let all = (std::io::stderr().is_terminal() && !is_json()).then(|| {
            let all = MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(12));
            let sum = all.add(ProgressBar::no_length());
            if let Ok(style) = ProgressStyle::with_template("{msg}") {
                sum.set_style(style);
            }
            (all, sum)
        });
        Self { rows, width, all, start: Instant::now(), ended: 0, waited: Duration::ZERO, prints: true }
    }

    /// Keeps the jobs' lines of JSON from being printed: the command has others.
    pub(crate) fn without_lines(self) -> Self {
        Self { prints: false, ..self }
    }

    /// A job begins.
    pub(super) fn begin(&mut self, number: usize) {
        let width = self.width;
        let row = &mut self.rows[number];
        (row.begun, row.spoke) = (Some(Instant::now()), Instant::now());
        if let Some((all, sum)) = &self.all {
            let bar = all.insert_before(sum, ProgressBar::new(row.total));
            if let Ok(style) = ProgressStyle::with_template("{prefix}  {wide_bar:.cyan/238} {msg}") {
                bar.set_style(style.progress_chars("━╸─"));
            }
            bar.set_prefix(format!("{:<width$}", row.name));
            bar.set_message("setting up");
            row.bar = Some(bar);
        }
    }

    /// A job printed a line.
    pub(super) fn line(&mut self, number: usize, mut said: TrainLine) {
        let row = &mut self.rows[number];
        if let TrainLine::Progress {
            algorithm,
            environment,
            steps,
            total,
            episode_return,
            evaluation,
            steps_per_second,
        } = &mut said
        {
            (*algorithm, *environment) = (Some(row.algorithm.clone()), Some(row.environment.clone()));
            let number = |value: &Option<f64>| value.unwrap_or(f64::NAN);
            let report =
                Report { steps: *steps, episode_return: number(episode_return), eval_return: number(evaluation) };
            (row.last, row.total) = (Some(report), *total);
            // The speed is that of all runs, and a report shows it so.
            let speed = steps_per_second.unwrap_or(0.0) / row.runs.max(1) as f64;
            if let Some(bar) = &row.bar {
                bar.set_length(*total);
                bar.set_position((*steps).min(*total));
                let room = usize::from(Term::stderr().size().1).saturating_sub(self.width + 2 + BAR + 2);
                bar.set_message(fitting(report, *total, row.runs as u64, speed, room));
            } else if *steps >= row.next_line || row.spoke.elapsed() > SILENCE {
                let width = self.width;
                say(&format!("{:<width$}  {}", row.name, line(report, *total, row.runs as u64, speed)));
                row.spoke = Instant::now();
                let tenth = (*total / 10).max(1);
                row.next_line = (*steps / tenth + 1) * tenth;
            }
        }
        // The command has printed its own first line.
        if self.prints && !matches!(said, TrainLine::Train { .. }) {
            say_line(&said);
        }
    }

    /// A job said something to people: what they should know is shown.
    pub(super) fn said(&mut self, number: usize, text: &str) {
        if ["note: ", "warning: "].iter().any(|mark| text.starts_with(mark)) {
            let text = format!("{}: {text}", self.rows[number].name);
            self.above(&text);
        }
    }

    /// A job has ended.
    pub(super) fn end(&mut self, number: usize, end: &JobEnd) {
        self.ended += 1;
        let width = self.width;
        let row = &mut self.rows[number];
        if let Some(bar) = row.bar.take() {
            bar.finish_and_clear();
            if let Some((all, _)) = &self.all {
                all.remove(&bar);
            }
        }
        let taken = row.begun.map_or(0.0, |begun| begun.elapsed().as_secs_f64());
        let last = row.last.map(|report| line(report, row.total, row.runs as u64, 0.0)).unwrap_or_default();
        let text = match end {
            JobEnd::Finished => format!("{:<width$}  {last}  done in {}", row.name, duration(taken)),
            JobEnd::Stopped if row.pauses => format!("{:<width$}  {last}  waits", row.name),
            JobEnd::Stopped => format!("{:<width$}  {last}  stopped", row.name),
            JobEnd::Failed(stop) => format!("{:<width$}  failed: {}", row.name, stop.message),
        };
        self.above(&text);
    }

    /// Shows how many jobs run and wait.
    pub(super) fn tick(&self, running: usize, waiting: usize) {
        if let Some((_, sum)) = &self.all {
            let (ended, all) = (self.ended, self.rows.len());
            let taken = duration(self.start.elapsed().as_secs_f64());
            sum.set_message(format!("{ended} of {all} done, {running} training, {waiting} waiting  {taken}"));
        }
    }

    /// Says from time to time how long a stop has been waited for.
    pub(super) fn stopping(&mut self, waited: Duration, running: usize) {
        if waited >= self.waited + STOPPING && running > 0 {
            self.waited = waited;
            let trainings =
                if running == 1 { "1 training ends its iteration" } else { "trainings end their iterations" };
            let count = if running == 1 { String::new() } else { format!("{running} ") };
            self.above(&format!("stopping: {:.0} s since Ctrl-C; {count}{trainings}", waited.as_secs_f64()));
        }
    }

    /// Takes the live rows away.
    pub(super) fn finish(&self) {
        if let Some((all, sum)) = &self.all {
            sum.finish_and_clear();
            let _ = all.clear();
        }
    }

    /// Prints a line above the live rows.
    fn above(&self, text: &str) {
        match &self.all {
            Some((all, _)) => all.suspend(|| say(text)),
            None => say(text),
        }
    }
}
