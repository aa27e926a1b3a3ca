//! Sweeps: trainings that differ in settings, from a grid, random draws, or both; with successive halving, only the
//! best of them go on.
//!
//! A trial is a study of one pair: its runs lie in a folder of their own, and what is there is not made again. Which
//! trials go on is found out from their metrics each time, so that a sweep which was killed goes on to the same bytes.

pub(crate) mod coordinates;
pub(crate) mod file;
pub(crate) mod halving;
pub(crate) mod random;
pub(crate) mod score;
mod stacks;
pub(crate) mod trial;

use crate::outcome::{NON_FINITE, Stop};
use crate::ranks;
use crate::ranks::job::{Job, JobEnd};
use crate::studies::jobs;
use crate::studies::planned_run::RunStage;
use crate::studies::study::arguments::Machine;
use crate::terminal::output::say;
use crate::terminal::signals;
use crate::text::numbers::grouped;
use file::SweepFile;
use halving::survivors;
use score::{Score, Scorer};
use stacks::{StackEnd, TrialStack};
use trial::Trial;

/// How a sweep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SweepEnd {
    /// All trials have come as far as they go.
    Done,
    /// It was stopped, and goes on by its command.
    Stopped,
}

/// Trains the trials, and returns how it ended and how well each trial did. Trials that differ in numbers of their
/// programs alone are stacked, unless they are to be trained `apart`.
pub(crate) fn run(
    file: &SweepFile,
    trials: &mut [Trial],
    scorer: &Scorer,
    machine: Machine<'_>,
    apart: bool,
) -> Result<(SweepEnd, Vec<Score>), Stop> {
    let steps = trials.first().map_or(0, |trial| trial.part.plan.setup.steps);
    let rungs = file.halving.map_or_else(|| vec![steps], |halving| halving.rungs(steps, trials.len()));
    let mut alive: Vec<usize> = (0..trials.len()).collect();
    let mut scores = vec![Score::default(); trials.len()];
    for (number, rung) in rungs.iter().enumerate() {
        if rungs.len() > 1 {
            let (trials, steps) = (alive.len(), grouped(*rung));
            say(&format!("rung {} of {}: {trials} trials up to {steps} steps", number + 1, rungs.len()));
        }
        let end = train(trials, &alive, *rung, (machine, apart), &mut scores)?;
        score::take(scorer, trials, &alive, (rungs.len() > 1).then_some(*rung), &mut scores)?;
        if end == SweepEnd::Stopped {
            return Ok((end, scores));
        }
        if let (Some(halving), true) = (file.halving, number + 1 < rungs.len()) {
            alive = survivors(&alive, &scores, halving.eta, file.goal);
        }
    }
    Ok((SweepEnd::Done, scores))
}

/// Trains those of the `alive` trials that have not come to `rung` environment steps.
fn train(
    trials: &mut [Trial],
    alive: &[usize],
    rung: u64,
    (machine, apart): (Machine<'_>, bool),
    scores: &mut [Score],
) -> Result<SweepEnd, Stop> {
    let mut wanted: Vec<usize> = Vec::new();
    for number in alive {
        let trial = &mut trials[*number];
        trial.part.look()?;
        let there = |stage: &RunStage| match stage {
            RunStage::Finished => true,
            RunStage::Begun(made) => *made >= rung,
            RunStage::Missing => false,
        };
        if !trial.part.stages.iter().all(there) {
            wanted.push(*number);
        }
    }
    let at_once = machine.at_once(wanted.len());
    let divided = match apart {
        true => wanted.iter().map(|number| vec![*number]).collect(),
        false => stacks::divide(trials, &wanted, at_once * ranks::count()),
    };
    let (broken, mut ends): (Vec<StackEnd>, Vec<StackEnd>) =
        stacks::run(trials, &divided, rung, machine)?.into_iter().partition(StackEnd::is_broken);
    for number in &wanted {
        trials[*number].part.look()?;
    }
    if !broken.is_empty() && !signals::stop_asked() {
        // As by one trial that becomes infinite: each goes on alone, from its snapshot.
        let alone: Vec<TrialStack> =
            broken.iter().flat_map(|stack| &stack.trials).map(|number| vec![*number]).collect();
        say(&format!("note: {} trials failed together, and go on one by one", alone.len()));
        ends.extend(stacks::run(trials, &alone, rung, machine)?);
        for number in alone.iter().flatten() {
            trials[*number].part.look()?;
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
    let came = |number: &&usize| scores[**number].failed.is_some() || trials[**number].has_come_to(rung);
    Ok(if wanted.iter().all(|number| came(&number)) { SweepEnd::Done } else { SweepEnd::Stopped })
}
