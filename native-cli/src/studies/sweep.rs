//! Sweeps: trainings that differ in settings, from a grid, random draws, or both; with successive halving, only the
//! best of them go on.
//!
//! A trial is a study of one pair: its runs lie in a folder of their own, and what is there is not made again. Which
//! trials go on is found out from their metrics each time, so that a sweep which was killed goes on to the same bytes.

pub(crate) mod coordinates;
pub(crate) mod file;
pub(crate) mod halving;
pub(crate) mod random;
pub(crate) mod results;
pub(crate) mod score;
mod stacks;
pub(crate) mod trial;

use crate::files::lock::Lock;
use crate::files::make_folder;
use crate::folder::links;
use crate::outcome::{NON_FINITE, Stop};
use crate::ranks;
use crate::ranks::message::{Job, JobEnd};
use crate::studies::jobs;
use crate::studies::study::arguments::Machine;
use crate::studies::study::{check_folders, settle};
use crate::terminal::output::say;
use crate::terminal::signals;
use crate::text::numbers::grouped;
use crate::text::quote::shell_quote;
use file::SweepFile;
use halving::{ranked, survivors};
use score::Score;
use stacks::{StackEnd, TrialStack};
use std::path::PathBuf;
use trial::{Trial, trials};

/// The file that is locked by the process of a sweep.
const LOCK: &str = "sweep.lock";
/// The files of a sweep beside its trials.
const FILES: [&str; 4] = ["sweep.toml", "trials.csv", "sweep.svg", LOCK];

/// A sweep: its trials, and the metric by which they are compared.
#[derive(Debug)]
pub(crate) struct Sweep {
    file: SweepFile,
    /// Its trials, at least one.
    pub trials: Vec<Trial>,
    metric: String,
    /// The folder of their folders.
    pub out: PathBuf,
}

/// How a sweep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SweepEnd {
    /// All trials have come as far as they go.
    Done,
    /// It was stopped, and goes on by its command.
    Stopped,
}

impl Sweep {
    /// The sweep of a file, with the folders of its trials below `out`; `metric` goes before that of the file.
    pub(crate) fn resolve(file: SweepFile, out: PathBuf, metric: Option<String>) -> Result<Self, Stop> {
        let trials = trials(&file, &file.pair()?, &out)?;
        let metric = score::metric(metric.or(file.metric.clone()), &trials)?;
        Ok(Self { file, trials, metric, out })
    }

    /// Takes the folder, so that an equal command does not train meanwhile, and finds out how far trials have come.
    pub(crate) fn take(&mut self) -> Result<Lock, Stop> {
        trial::check_rungs(&self.file, &self.trials)?;
        FILES.iter().try_for_each(|name| links::check_unnamed(&self.out.join(name)))?;
        let parts = || self.trials.iter().map(|trial| &trial.part);
        check_folders(parts(), &self.out)?;
        make_folder(&self.out)?;
        let lock = Lock::take(&self.out.join(LOCK), &self.out)?;
        settle(parts())?;
        self.trials.iter_mut().try_for_each(|trial| trial.part.look())?;
        Ok(lock)
    }

    /// `4 trials with 12 runs, 3 of them finished in runs/sweep`
    pub(crate) fn headline(&self) -> String {
        let runs: usize = self.trials.iter().map(|trial| trial.part.runs.len()).sum();
        let done: usize = self.trials.iter().map(|trial| trial.part.finished()).sum();
        let there = if done > 0 { format!(", {done} of them finished") } else { String::new() };
        format!("{} trials with {runs} runs{there} in {}", self.trials.len(), shell_quote(&self.out))
    }

    /// Trains the trials, and returns how it ended and how well each trial did. Trials that differ in numbers of their
    /// programs alone are stacked, unless they are to be trained `apart`.
    pub(crate) fn train(&mut self, machine: Machine<'_>, apart: bool) -> Result<(SweepEnd, Vec<Score>), Stop> {
        let steps = self.trials.first().map_or(0, |trial| trial.part.plan.setup.steps);
        let halving = self.file.halving;
        let rungs = halving.map_or_else(|| vec![steps], |halving| halving.rungs(steps, self.trials.len()));
        let mut alive: Vec<usize> = (0..self.trials.len()).collect();
        let mut scores = vec![Score::default(); self.trials.len()];
        for (number, rung) in rungs.iter().enumerate() {
            if rungs.len() > 1 {
                let (trials, steps) = (alive.len(), grouped(*rung));
                say(&format!("rung {} of {}: {trials} trials up to {steps} steps", number + 1, rungs.len()));
            }
            let end = self.train_to(*rung, &alive, (machine, apart), &mut scores)?;
            score::take(&self.metric, &self.trials, &alive, (rungs.len() > 1).then_some(*rung), &mut scores)?;
            if end == SweepEnd::Stopped {
                return Ok((end, scores));
            }
            if let (Some(halving), true) = (halving, number + 1 < rungs.len()) {
                alive = survivors(&alive, &scores, halving.eta, self.file.goal);
            }
        }
        Ok((SweepEnd::Done, scores))
    }

    /// The numbers of the trials, from the best to the worst.
    pub(crate) fn ranked(&self, scores: &[Score]) -> Vec<usize> {
        ranked(&(0..self.trials.len()).collect::<Vec<_>>(), scores, self.file.goal)
    }

    /// Trains those of the `alive` trials that have not come to `rung` environment steps.
    fn train_to(
        &mut self,
        rung: u64,
        alive: &[usize],
        (machine, apart): (Machine<'_>, bool),
        scores: &mut [Score],
    ) -> Result<SweepEnd, Stop> {
        let mut wanted: Vec<usize> = Vec::new();
        for number in alive {
            self.trials[*number].part.look()?;
            if !self.trials[*number].has_come_to(rung) {
                wanted.push(*number);
            }
        }
        let at_once = machine.at_once(wanted.len());
        let divided = match apart {
            true => wanted.iter().map(|number| vec![*number]).collect(),
            false => stacks::divide(&self.trials, &wanted, at_once * ranks::count()),
        };
        let (broken, mut ends): (Vec<StackEnd>, Vec<StackEnd>) =
            stacks::run(&self.trials, &divided, rung, machine)?.into_iter().partition(StackEnd::is_broken);
        for number in &wanted {
            self.trials[*number].part.look()?;
        }
        if !broken.is_empty() && !signals::stop_asked() {
            // As by one trial that becomes infinite: each goes on alone, from its snapshot.
            let alone: Vec<TrialStack> =
                broken.iter().flat_map(|stack| &stack.trials).map(|number| vec![*number]).collect();
            say(&format!("note: {} trials failed together, and continue one by one", alone.len()));
            ends.extend(stacks::run(&self.trials, &alone, rung, machine)?);
            for number in alone.iter().flatten() {
                self.trials[*number].part.look()?;
            }
        }
        for StackEnd { end, trials, .. } in &mut ends {
            if let (JobEnd::Failed(stop), [trial]) = (&*end, &trials[..])
                && stop.code == NON_FINITE
            {
                scores[*trial].failed = Some(stop.message.clone());
                *end = JobEnd::Finished;
            }
        }
        let (jobs, ends): (Vec<Job>, Vec<JobEnd>) = ends.into_iter().map(|one| (one.job, one.end)).unzip();
        jobs::check(&jobs, &ends, "the same command tries again what is missing")?;
        // A job that paused at its rung was not stopped.
        let came = |number: &&usize| scores[**number].failed.is_some() || self.trials[**number].has_come_to(rung);
        Ok(if wanted.iter().all(|number| came(&number)) { SweepEnd::Done } else { SweepEnd::Stopped })
    }
}
