//! The trials of a session: seeds whose runs differ in settings, stacked because only numbers of their programs differ.

#[cfg(not(target_arch = "wasm32"))]
use crate::algo::check_variants;
use crate::algo::{First, RowAlgorithms};
#[cfg(not(target_arch = "wasm32"))]
use crate::train::attempt::episode_program::EpisodeProgram;
#[cfg(not(target_arch = "wasm32"))]
use crate::train::attempt::evaluation::Evaluation;
use crate::train::saved::wrong::wrong;
use crate::train::setup::Setup;
use crate::train::setup::length::Length;
use crate::{Error, Result};

/// The setups of a session's seeds.
#[derive(Clone, Debug)]
pub(in crate::train) struct Trials {
    /// The setups, each of all its seeds.
    setups: Vec<Setup>,
    /// The number of each seed's setup.
    of_seeds: Vec<usize>,
}

impl Trials {
    /// One setup for all seeds.
    pub(in crate::train) fn one(setup: Setup) -> Trials {
        Trials { of_seeds: vec![0; setup.seeds.len()], setups: vec![setup] }
    }

    /// Setups whose runs can be stacked if only numbers of their programs differ, and the number of each seed's setup.
    ///
    /// # Errors
    /// [`Error::Snapshot`] if their states have other shapes.
    pub(in crate::train) fn of(setups: Vec<Setup>, of_seeds: Vec<usize>) -> Result<Trials> {
        let shapes = |setup: &Setup| {
            let fitted = setup.fitted();
            // First values may differ: snapshots have those that there are.
            let entries = fitted.entries(setup.env.state_len()).into_iter().map(|entry| entry.from(First::Value(0.0)));
            (entries.collect::<Vec<_>>(), fitted.stages(), fitted.batch(), fitted.counts_steps())
        };
        let first = setups.first().map(&shapes);
        match setups.iter().all(|setup| Some(shapes(setup)) == first) {
            true => Ok(Trials { setups, of_seeds }),
            false => Err(wrong("the runs have states of other shapes; resume them one by one")),
        }
    }

    /// The setup of the seed of this number; that of the first one if there is no such seed.
    pub(in crate::train) fn of_seed(&self, index: usize) -> &Setup {
        &self.setups[self.of_seeds.get(index).copied().unwrap_or(0)]
    }

    /// The algorithms of the seeds of these numbers.
    pub(in crate::train) fn algorithms(&self, seeds: &[usize]) -> RowAlgorithms {
        RowAlgorithms::of(seeds.iter().map(|seed| self.of_seed(*seed).fitted().clone()))
    }

    /// Makes trials of another length, `made` steps of which are made.
    ///
    /// # Errors
    /// [`Error::Config`] if a setting does not fit it.
    pub(in crate::train) fn for_length(&self, length: Length, made: u64) -> Result<Trials> {
        let setups = self.setups.iter().map(|setup| setup.for_length(length, made)).collect::<Result<Vec<_>>>();
        Trials::of(setups?, self.of_seeds.clone()).map_err(|error| Error::config("steps", error.to_string()))
    }
}

/// Checks that runs of these setups can be rows of one program: that only numbers of their programs differ, such as γ
/// or a learning rate, in training and in evaluations. Nothing is compiled.
///
/// # Errors
/// [`Error::Program`] or [`Error::Snapshot`] that says in what else they differ.
#[cfg(not(target_arch = "wasm32"))]
pub fn check_stackable(setups: &[&Setup], played: Evaluation) -> Result<()> {
    let Some(first) = setups.first() else { return Ok(()) };
    let name = |setup: &Setup| (setup.algorithm.name, setup.env.spec().name.clone(), setup.length());
    if setups.iter().any(|setup| name(setup) != name(first)) {
        return Err(Error::Program("they have other algorithms, environments or lengths".to_owned()));
    }
    let trials = Trials::of(setups.iter().map(|setup| (*setup).clone()).collect(), (0..setups.len()).collect())?;
    let rows = trials.algorithms(&(0..setups.len()).collect::<Vec<_>>());
    check_variants(&rows, &first.env)?;
    EpisodeProgram::check_rows(first.env.device()?, &rows, played.of(setups.len(), true))
}
