//! Sweeps: trainings that differ in settings, from a grid, random draws, or both; with successive halving, only the
//! best of them go on.
//!
//! A trial is a study of one pair: its runs lie in a folder of their own, and what is there is not made again. Which
//! trials go on is found out from their metrics each time, so that a sweep which was killed goes on to the same bytes.

pub mod coordinates;
pub mod file;
pub mod halving;
pub mod random;
pub mod score;
pub mod trial;

use crate::jobs::{self, Board, Job, JobEnd};
use crate::outcome::{NON_FINITE, Stop};
use crate::planned::RunStage;
use crate::progress::{grouped, say};
use crate::study::arguments::Machine;
use file::SweepFile;
use halving::survivors;
use score::{Score, Scorer};
use trial::Trial;

/// How a sweep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SweepEnd {
    /// All trials have come as far as they go.
    Done,
    /// It was stopped, and goes on by its command.
    Stopped,
}

/// Trains the trials, and returns how it ended and how well each trial did.
///
/// # Errors
/// [`Stop`] with the code of a training that failed for another reason than a value that is not finite: such a trial
/// counts as the worst, and the sweep goes on.
pub fn run(
    file: &SweepFile,
    trials: &mut [Trial],
    scorer: &Scorer,
    machine: Machine<'_>,
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
        let end = train(trials, &alive, *rung, machine, &mut scores)?;
        for trial in &alive {
            scores[*trial].take(scorer, &trials[*trial], (rungs.len() > 1).then_some(*rung))?;
        }
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
    machine: Machine<'_>,
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
    let mut jobs: Vec<Job> = Vec::new();
    let mut owners = Vec::new();
    for number in &wanted {
        let of_trial = trials[*number].jobs(rung, machine, at_once);
        owners.extend(of_trial.iter().map(|_| *number));
        jobs.extend(of_trial);
    }
    let mut ends = jobs::run(&jobs, at_once, &mut Board::new(&jobs).without_lines())?;
    for number in &wanted {
        trials[*number].part.look()?;
    }
    for (end, owner) in ends.iter_mut().zip(&owners) {
        if let JobEnd::Failed(stop) = end
            && stop.code == NON_FINITE
        {
            scores[*owner].failed = Some(stop.message.clone());
            *end = JobEnd::Finished;
        }
    }
    jobs::check(&jobs, &ends, "the same command tries again what is missing")?;
    // A job that paused at its rung was not stopped.
    let came = |number: &&usize| scores[**number].failed.is_some() || trials[**number].has_come_to(rung);
    Ok(if wanted.iter().all(|number| came(&number)) { SweepEnd::Done } else { SweepEnd::Stopped })
}
