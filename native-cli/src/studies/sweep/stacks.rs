//! Trials that are stacked as rows of one program: those that differ in nothing but numbers of it.

use super::trial::Trial;
use crate::folder::{RunFolder, file};
use crate::outcome::Stop;
use crate::ranks::job::{Job, JobEnd};
use crate::studies::jobs::{self, Board};
use crate::studies::planned_run::{PlannedRun, RunStage};
use crate::studies::study::arguments::{Common, Machine};
use quickstudy_core::train::check_stackable;
use std::path::PathBuf;

/// Trials that one process trains together, or one that is alone, by their numbers.
pub(super) type TrialStack = Vec<usize>;

/// A job of a sweep, and how it ended.
pub(super) struct StackEnd {
    pub job: Job,
    pub end: JobEnd,
    /// The numbers of its trials.
    pub trials: TrialStack,
}

impl StackEnd {
    /// True if several trials failed together, by a fault of one of them or because they are too many.
    pub(super) fn is_broken(&self) -> bool {
        self.trials.len() > 1 && matches!(self.end, JobEnd::Failed(_))
    }
}

/// Divides trials into stacks for `at_once` processes, or for a few more where some cannot be stacked with others. The
/// order of the trials is kept.
pub(super) fn divide(trials: &[Trial], wanted: &[usize], at_once: usize) -> Vec<TrialStack> {
    let mut groups: Vec<TrialStack> = Vec::new();
    for number in wanted {
        match groups.iter_mut().find(|group| fit(&trials[group[0]], &trials[*number])) {
            Some(group) => group.push(*number),
            None => groups.push(vec![*number]),
        }
    }
    let stacks = |group: &[usize]| (group.len() * at_once).div_ceil(wanted.len()).clamp(1, group.len());
    groups.iter().flat_map(|group| group.chunks(group.len().div_ceil(stacks(group)))).map(<[usize]>::to_vec).collect()
}

/// Tells whether two trials can be rows of one program.
fn fit(one: &Trial, other: &Trial) -> bool {
    let (a, b) = (&one.part.plan, &other.part.plan);
    // Runs of a stack have one pace, and begin by themselves.
    a.run == b.run && a.run.from.is_none() && check_stackable(&[&a.setup, &b.setup], a.run.evaluation(&a.setup)).is_ok()
}

/// Trains stacks up to `rung` environment steps.
pub(super) fn run(
    trials: &[Trial],
    stacks: &[TrialStack],
    rung: u64,
    machine: Machine<'_>,
) -> Result<Vec<StackEnd>, Stop> {
    let at_once = machine.at_once(stacks.len());
    let (mut jobs, mut owners) = (Vec::new(), Vec::new());
    for stack in stacks {
        let of_stack = match stack[..] {
            [number] => trials[number].jobs(rung, machine, at_once),
            _ => vec![job(trials, stack, rung, machine, at_once)?],
        };
        owners.extend(of_stack.iter().map(|_| stack.clone()));
        jobs.extend(of_stack);
    }
    let ends = jobs::run(&jobs, at_once, machine.threads(), &mut Board::new(&jobs).without_lines())?;
    let each = jobs.into_iter().zip(ends).zip(owners);
    Ok(each.map(|((job, end), trials)| StackEnd { job, end, trials }).collect())
}

/// The job of all runs of a stack that are not finished. Those without a folder get one with their configuration: from
/// then on they can be resumed, which is how runs of several configurations are trained together.
fn job(trials: &[Trial], stack: &[usize], rung: u64, machine: Machine<'_>, at_once: usize) -> Result<Job, Stop> {
    let first = &trials[stack[0]].part.plan.setup;
    let mut common = Common::with(Vec::new(), machine, at_once);
    common.stack_trials();
    let pauses = rung < first.steps;
    if pauses {
        common.pause_at(rung);
    }
    let mut folders: Vec<&PathBuf> = Vec::new();
    for trial in stack.iter().map(|number| &trials[*number]) {
        let unfinished =
            trial.part.runs.iter().zip(&trial.part.stages).filter(|(_, stage)| **stage != RunStage::Finished);
        for (run, _) in unfinished {
            begin(trial, run)?;
            folders.push(&run.folder);
        }
    }
    let (last, number) = (&trials[stack[stack.len() - 1]].name, stack.len());
    Ok(Job {
        name: format!("{number} trials, {} to {last}", trials[stack[0]].name),
        algorithm: first.algorithm.name.to_owned(),
        environment: first.env.spec().name.clone(),
        runs: folders.len(),
        steps: first.steps,
        pauses,
        arguments: common.resume(&folders),
    })
}

/// Makes the folder of a run that has none, with its configuration.
fn begin(trial: &Trial, run: &PlannedRun) -> Result<(), Stop> {
    if run.folder.join(file::CONFIG).exists() {
        return Ok(());
    }
    let folder = RunFolder::create(&run.folder)?;
    folder.write_unsynced(file::CONFIG, trial.part.plan.config_toml(run.seed).as_bytes())
}
