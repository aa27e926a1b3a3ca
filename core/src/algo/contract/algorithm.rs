//! The interface of algorithms, by which everything outside of an algorithm's room knows it.

use std::ops::Range;
use std::panic::Location;

use super::numbers::MOMENTS;
use super::{Learned, Numbers, Relation, Together};
use crate::backend::ScalarValue;
use crate::host::FleetSize;
use crate::learn::Metrics;
use crate::nn::Layout;
use crate::optim::{GradientMoments, Progress, Trained};
use crate::play::Iteration;
use crate::tensor::fail;
use crate::{Context, DType, Error, Result, Tensor};

/// The first value of an entry of the state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum First {
    /// This number, everywhere.
    Value(f64),
    /// The seed's key.
    Key,
    /// Copies of the initial parameters of the [layout](Algorithm::layout), starting at this offset.
    Parameters(usize),
    /// Tasks of environments, where each episode has its own.
    Task,
    /// States of environments after their first reset.
    EnvState,
    /// The observations of these states.
    Observation,
}

/// An array of the state, as one seed has it: without the leading axis of seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct StateEntry {
    /// The name, in the state and in snapshots.
    pub name: &'static str,
    /// The shape of one seed's part.
    pub shape: Vec<usize>,
    /// The data type.
    pub dtype: DType,
    /// The first value.
    pub first: First,
    /// True for a large entry, which programs read and change row by row: [`Context::bulk`].
    pub bulk: bool,
    /// For a ring of R rows, the name of the entry, `[1]`, that says which row is written next.
    pub ring: Option<&'static str>,
    /// True for a part of the running episodes. It has its first value again when all environments begin new episodes.
    pub of_episode: bool,
    /// True for statistics that parameters were trained by, such as those of observations. They are copied wherever the
    /// parameters are.
    pub statistics: bool,
    /// The range of its numbers.
    pub numbers: Numbers,
    /// The relations of its numbers to other entries.
    pub relations: Vec<Relation>,
}

impl StateEntry {
    /// Makes an entry of zeros.
    #[must_use]
    pub fn new(name: &'static str, shape: &[usize], dtype: DType) -> StateEntry {
        StateEntry {
            name,
            shape: shape.to_vec(),
            dtype,
            first: First::Value(0.0),
            bulk: false,
            ring: None,
            of_episode: false,
            statistics: false,
            numbers: Numbers::ANY,
            relations: Vec::new(),
        }
    }

    /// Begins the entry with this value instead of zeros.
    #[must_use]
    pub fn from(self, first: First) -> StateEntry {
        StateEntry { first, ..self }
    }

    /// Makes the entry a bulk one, which programs read and change row by row.
    #[must_use]
    pub fn bulk(self) -> StateEntry {
        StateEntry { bulk: true, ..self }
    }

    /// Makes the entry a ring of R rows. Each iteration adds one row per environment step, in order, and changes no
    /// others; row number p of all that were ever added, from 0, lies at p mod R. `next` names the entry, u32 `[1]`,
    /// that says which row is written next, as [`ReplayMemory::push`](crate::replay::ReplayMemory::push) counts it:
    /// from 0 to R, where R stands for the first row.
    #[must_use]
    pub fn ring(self, next: &'static str) -> StateEntry {
        StateEntry { bulk: true, ring: Some(next), ..self }
    }

    /// Makes the entry a part of the running episodes: it has its first value again when new ones begin.
    #[must_use]
    pub fn of_episode(self) -> StateEntry {
        StateEntry { of_episode: true, ..self }
    }

    /// Marks the entry as statistics, which are copied wherever the parameters are.
    #[must_use]
    pub fn statistics(self) -> StateEntry {
        StateEntry { statistics: true, ..self }
    }

    /// Limits the entry's numbers to this range: a snapshot with numbers outside of it is neither written nor read.
    #[must_use]
    pub fn holding(self, numbers: Numbers) -> StateEntry {
        StateEntry { numbers, ..self }
    }

    /// Relates the entry's numbers to other entries: a snapshot in which the relation does not hold is neither written
    /// nor read.
    #[must_use]
    pub fn related(mut self, relation: Relation) -> StateEntry {
        self.relations.push(relation);
        self
    }

    /// An entry `[2]` of an optimiser's two corrections of the moments of the parameters at the places `of` in θ.
    #[must_use]
    pub fn corrections(name: &'static str, of: impl IntoIterator<Item = Range<usize>>) -> StateEntry {
        StateEntry::new(name, &[2], DType::F32)
            .holding(Numbers::SHARE)
            .related(Relation::Corrects(of.into_iter().collect()))
    }

    /// Entries of the first and second moments of P parameters.
    #[must_use]
    pub fn moments(p: usize) -> [StateEntry; 2] {
        let [first, second] = MOMENTS.map(|name| StateEntry::new(name, &[p], DType::F32));
        [first, second.holding(Numbers::NOT_NEGATIVE)]
    }

    /// Entries of a key, P parameters and Adam's memory of them.
    #[must_use]
    pub fn learner(p: usize) -> Vec<StateEntry> {
        let mut entries = vec![
            StateEntry::new("key", &[2], DType::U32).from(First::Key),
            StateEntry::new("theta", &[p], DType::F32).from(First::Parameters(0)),
        ];
        entries.extend(StateEntry::moments(p));
        entries.push(StateEntry::corrections("adam_scale", Some(0..p)));
        entries
    }
}

/// An algorithm's state in the trace of an iteration.
#[derive(Clone, Debug, Default)]
pub struct Held(Vec<(&'static str, Tensor)>);

impl Held {
    /// Declares all entries, each with a leading axis of seeds.
    pub fn declare(cx: &mut Context, entries: &[StateEntry], seeds: usize) -> Held {
        let one = |entry: &StateEntry| {
            let shape = [&[seeds], &entry.shape[..]].concat();
            let tensor = match entry.bulk {
                true => cx.bulk(entry.name, &shape, entry.dtype),
                false => cx.state(entry.name, &shape, entry.dtype),
            };
            (entry.name, tensor)
        };
        Held(entries.iter().map(one).collect())
    }

    /// The entry of this name, if there is one.
    pub fn find(&self, name: &str) -> Option<Tensor> {
        self.0.iter().find(|(n, _)| *n == name).map(|(_, tensor)| *tensor)
    }

    /// The entry of this name. Without one, the trace fails.
    #[track_caller]
    pub fn get(&self, name: &str) -> Tensor {
        self.find(name).unwrap_or_else(|| {
            let names: Vec<&str> = self.0.iter().map(|(name, _)| *name).collect();
            fail(Error::Program(format!("the state has no entry `{name}`, only {names:?} (at {})", Location::caller())))
        })
    }

    /// Replaces each entry by the tensor that `f` gives for its name and value.
    #[must_use]
    pub fn map(&self, f: impl Fn(&str, Tensor) -> Tensor) -> Held {
        Held(self.0.iter().map(|(name, tensor)| (*name, f(name, *tensor))).collect())
    }

    /// The parameters θ, `[S, P]`.
    #[track_caller]
    pub fn theta(&self) -> Tensor {
        self.get("theta")
    }

    /// The parameters and their optimiser's memory, if all parameters make their steps together.
    #[track_caller]
    pub fn trained(&self) -> Trained {
        let moments = GradientMoments { m: self.get("adam_m"), v: self.get("adam_v"), scale: self.get("adam_scale") };
        Trained { theta: self.theta(), moments }
    }
}

/// Writes parameters and their optimiser's memory, which began as [`Held::trained`], to the state.
pub fn update_parameters(it: &mut Iteration<'_>, Trained { theta, moments }: Trained) {
    it.update("theta", theta);
    it.update("adam_m", moments.m);
    it.update("adam_v", moments.v);
    it.update("adam_scale", moments.scale);
}

/// An algorithm with its settings, fitted to an environment.
///
/// [`Training`](super::Training) runs it: on a device or with environments of the host, for one or several stacked
/// seeds.
pub trait Algorithm: Learned {
    /// The names and places of the slices of θ.
    fn layout(&self) -> &Layout;

    /// The entries of all that training changes, for one seed. `environment` is the count of numbers in an
    /// environment's state; none on the host, where environments keep their states to themselves.
    fn entries(&self, environment: Option<usize>) -> Vec<StateEntry>;

    /// The environments that this number of seeds plays, which an executor of the host must have.
    fn fleet(&self, seeds: usize) -> FleetSize;

    /// Environment steps that a seed's iteration of the last stage is planned to make. Where episodes end early, it
    /// makes [other numbers](Algorithm::counts_steps).
    fn batch(&self) -> u64;

    /// The most environment steps that the first `iterations` iterations may make: a snapshot that counts more is
    /// neither written nor read.
    fn most(&self, iterations: u64) -> u64 {
        self.planned(iterations)
    }

    /// Environment steps that the first `iterations` iterations are planned to make.
    fn planned(&self, iterations: u64) -> u64 {
        iterations.saturating_mul(self.batch())
    }

    /// The number of iterations that are planned to make at least this number of environment steps.
    fn iterations(&self, steps: u64) -> u64 {
        steps.div_ceil(self.batch())
    }

    /// The algorithm for a run of this number of environment steps, if its state depends on them: a replay buffer is no
    /// larger than the run. None if the algorithm stays as it is.
    ///
    /// # Errors
    /// If a setting does not fit the number of steps.
    fn for_steps(&self, _steps: u64) -> Result<Option<Box<dyn Algorithm>>> {
        Ok(None)
    }

    /// Names of the entries that make up a policy.
    fn policy_entries(&self) -> Vec<&'static str> {
        vec!["theta"]
    }

    /// Settings that take less memory at lower values, with their values.
    fn sizes(&self) -> Vec<(&'static str, usize)> {
        Vec::new()
    }

    /// The number of stages: kinds of iterations on the same state, such as a warm-up that plays and does not learn.
    /// Each is traced once, before training begins; the last is that of training. Where stages differ in their numbers
    /// of steps, [`planned`](Algorithm::planned) and [`iterations`](Algorithm::iterations) say so.
    fn stages(&self) -> usize {
        1
    }

    /// The stage of the iteration that follows `done` iterations, counted from 0.
    fn stage(&self, _done: u64) -> usize {
        0
    }

    /// Traces one iteration of the stage that [`Iteration::stage`] names: it plays, learns, and updates the state.
    fn iteration(&self, it: &mut Iteration<'_>, held: &Held) -> Metrics;

    /// Tells whether iterations may make other numbers of steps than planned, as where episodes end early. Each
    /// iteration then counts its steps per seed in [`Metrics::STEPS`].
    fn counts_steps(&self) -> bool {
        false
    }

    /// Tells whether updates read the observation in which an episode ended by itself, and not only whether it ended,
    /// from a memory in which earlier versions kept the first one of the next episode.
    fn reads_last_observations(&self) -> bool {
        false
    }

    /// The way in which several ranks train it together.
    fn together(&self) -> Together {
        Together::No("")
    }

    /// Values that follow a schedule in the next iteration of a seed's run, by the names of their metrics.
    fn schedules(&self, _at: Progress) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// Scalars of the next iteration of a seed's run: the values that follow a schedule.
    fn scalars(&self, at: Progress) -> Vec<(&'static str, ScalarValue)> {
        scheduled(self.schedules(at))
    }
}

/// Values that follow a schedule as scalars of programs: their metrics' names without `train/`.
fn scheduled(values: Vec<(&'static str, f64)>) -> Vec<(&'static str, ScalarValue)> {
    let scalar = |(name, value): (&'static str, f64)| (name.trim_start_matches("train/"), value.into());
    values.into_iter().map(scalar).collect()
}

impl dyn Algorithm + '_ {
    /// The budget of a run that is asked to make this number of environment steps: whole iterations, as they are
    /// planned.
    #[must_use]
    pub fn budget(&self, steps: u64) -> u64 {
        self.planned(self.iterations(steps))
    }

    /// The progress of a run after `done` of `total` iterations that make the planned steps.
    #[must_use]
    pub fn as_planned(&self, done: u64, total: u64) -> Progress {
        Progress { iterations: done, steps: self.planned(done), budget: self.planned(total) }
    }

    /// The entries that make up a policy.
    #[must_use]
    pub fn policy_state(&self) -> Vec<StateEntry> {
        let names = self.policy_entries();
        self.entries(None).into_iter().filter(|entry| names.contains(&entry.name)).collect()
    }

    /// Declares the tensors of `policies` stacked policies as inputs of a program.
    #[track_caller]
    #[must_use]
    pub fn declare_policy(&self, cx: &mut Context, policies: usize) -> Held {
        let one = |entry: StateEntry| {
            let shape = [&[policies], &entry.shape[..]].concat();
            (entry.name, cx.input(entry.name, &shape, entry.dtype))
        };
        Held(self.policy_state().into_iter().map(one).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Device, Program};

    #[test]
    fn an_entry_that_is_not_there_is_an_error_that_lists_those_that_are() {
        let traced = Program::new(&Device::cpu(1), |cx| {
            let held = Held::declare(cx, &StateEntry::learner(3), 1);
            cx.output("theta", held.get("thta"));
        });
        let message = traced.unwrap_err().to_string();
        let expected = "program: the state has no entry `thta`, only [\"key\", \"theta\", \"adam_m\", \"adam_v\", \
                        \"adam_scale\"] (at ";
        assert!(message.starts_with(expected) && message.contains(file!()), "{message}");
    }
}
