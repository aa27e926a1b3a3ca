//! The interface of algorithms: how everything outside of an algorithm's room knows it.

use std::ops::Range;
use std::panic::Location;

use super::numbers::MOMENTS;
use super::{Learned, Numbers, Relation};
use crate::backend::ScalarValue;
use crate::host::FleetSize;
use crate::learn::Metrics;
use crate::nn::Layout;
use crate::optim::{AdamState, Progress};
use crate::play::Iteration;
use crate::tensor::fail;
use crate::{Context, DType, Error, Result, Tensor};

/// How an entry of the state begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum First {
    /// This number everywhere.
    Value(f64),
    /// The seed's key.
    Key,
    /// First parameters, as the [layout](Algorithm::layout) has them, from this one on: copies of as many as the entry has.
    Parameters(usize),
    /// Tasks of environments, where each episode has its own.
    Task,
    /// States of environments after their first reset.
    EnvState,
    /// Their observations.
    Observation,
}

/// One array of the state, as one seed has it: without the leading axis.
#[derive(Clone, Debug, PartialEq)]
pub struct StateEntry {
    /// Name in the state and in snapshots.
    pub name: &'static str,
    /// Shape of one seed's part.
    pub shape: Vec<usize>,
    /// Data type.
    pub dtype: DType,
    /// Its first value.
    pub first: First,
    /// It is large: [`Context::bulk`].
    pub bulk: bool,
    /// It is a ring of R rows; the entry of this name, `[1]`, says which row is written next.
    pub ring: Option<&'static str>,
    /// It belongs to the episodes that are running: where all environments begin new ones, it has its first value again.
    pub of_episode: bool,
    /// It holds statistics that parameters were trained by, such as those of observations: they go where the parameters go.
    pub statistics: bool,
    /// The range of its numbers.
    pub numbers: Numbers,
    /// How its numbers depend on others.
    pub relations: Vec<Relation>,
}

impl StateEntry {
    /// An entry of zeros.
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

    /// The same with another first value.
    #[must_use]
    pub fn from(self, first: First) -> StateEntry {
        StateEntry { first, ..self }
    }

    /// The same, read and changed row by row.
    #[must_use]
    pub fn bulk(self) -> StateEntry {
        StateEntry { bulk: true, ..self }
    }

    /// Makes the entry a ring: each iteration adds a row for each environment step that it makes, in order, and changes no others. The row number p of all that were ever added, from 0, lies at p mod R. `next` names the entry, u32 `[1]`, that says which row is written
    /// next, 0 to R, where R stands for the first one: as [`ReplayMemory::push`](crate::replay::ReplayMemory::push) counts it.
    #[must_use]
    pub fn ring(self, next: &'static str) -> StateEntry {
        StateEntry { bulk: true, ring: Some(next), ..self }
    }

    /// The same, as a part of the episodes that are running.
    #[must_use]
    pub fn of_episode(self) -> StateEntry {
        StateEntry { of_episode: true, ..self }
    }

    /// The same, as statistics that go where the parameters go.
    #[must_use]
    pub fn statistics(self) -> StateEntry {
        StateEntry { statistics: true, ..self }
    }

    /// Limits the entry's numbers to this range: a snapshot with others is neither written nor read.
    #[must_use]
    pub fn holding(self, numbers: Numbers) -> StateEntry {
        StateEntry { numbers, ..self }
    }

    /// Relates the entry's numbers to others: a snapshot in which the relation does not hold is neither written nor read.
    #[must_use]
    pub fn related(mut self, relation: Relation) -> StateEntry {
        self.relations.push(relation);
        self
    }

    /// An optimiser's two corrections of the moments of the parameters at these places in θ.
    #[must_use]
    pub fn corrections(name: &'static str, of: impl IntoIterator<Item = Range<usize>>) -> StateEntry {
        StateEntry::new(name, &[2], DType::F32)
            .holding(Numbers::SHARE)
            .related(Relation::Corrects(of.into_iter().collect()))
    }

    /// First and second moments of P parameters.
    #[must_use]
    pub fn moments(p: usize) -> [StateEntry; 2] {
        let [first, second] = MOMENTS.map(|name| StateEntry::new(name, &[p], DType::F32));
        [first, second.holding(Numbers::NOT_NEGATIVE)]
    }

    /// A key, P parameters and Adam's memory of them.
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

    /// The entry of that name, if there is one.
    pub fn find(&self, name: &str) -> Option<Tensor> {
        self.0.iter().find(|(n, _)| *n == name).map(|(_, tensor)| *tensor)
    }

    /// The entry of that name; an error of the trace if there is none.
    #[track_caller]
    pub fn get(&self, name: &str) -> Tensor {
        self.find(name).unwrap_or_else(|| {
            let names: Vec<&str> = self.0.iter().map(|(name, _)| *name).collect();
            fail(Error::Program(format!("the state has no entry `{name}`, only {names:?} (at {})", Location::caller())))
        })
    }

    /// The same with what `f` makes of each entry.
    #[must_use]
    pub fn map(&self, f: impl Fn(&str, Tensor) -> Tensor) -> Held {
        Held(self.0.iter().map(|(name, tensor)| (*name, f(name, *tensor))).collect())
    }

    /// The state of Adam.
    #[track_caller]
    pub fn adam(&self) -> AdamState {
        AdamState { m: self.get("adam_m"), v: self.get("adam_v"), scale: self.get("adam_scale") }
    }
}

/// Parameters and Adam's state after an iteration.
pub fn update_parameters(it: &mut Iteration<'_>, theta: Tensor, adam: AdamState) {
    it.update("theta", theta);
    it.update("adam_m", adam.m);
    it.update("adam_v", adam.v);
    it.update("adam_scale", adam.scale);
}

/// An algorithm with its settings, fitted to an environment.
///
/// [`Training`](super::Training) runs it: on a device or with environments of the host, for one or several stacked seeds.
pub trait Algorithm: Learned {
    /// Which part of θ is what.
    fn layout(&self) -> &Layout;

    /// Everything that training changes, for one seed. `environment`: numbers of an environment's state; none where environments keep
    /// their states to themselves, on the host.
    fn entries(&self, environment: Option<usize>) -> Vec<StateEntry>;

    /// The environments that so many seeds play: what an executor of the host must have.
    fn fleet(&self, seeds: usize) -> FleetSize;

    /// Environment steps of one iteration of the last stage and seed as it is planned: where episodes end early it makes
    /// [others](Algorithm::counts_steps).
    fn batch(&self) -> u64;

    /// The most environment steps that so many iterations from the first on may make: a snapshot that counts more is neither written nor read.
    fn most(&self, iterations: u64) -> u64 {
        self.planned(iterations)
    }

    /// Environment steps of so many iterations from the first on, as they are planned.
    fn planned(&self, iterations: u64) -> u64 {
        iterations.saturating_mul(self.batch())
    }

    /// Iterations that make at least so many environment steps, as they are planned.
    fn iterations(&self, steps: u64) -> u64 {
        steps.div_ceil(self.batch())
    }

    /// The same for a run of so many environment steps, if its state depends on that: a memory is no larger than what can be collected.
    ///
    /// # Errors
    /// If a setting does not fit so many steps.
    fn for_steps(&self, _steps: u64) -> Result<Option<Box<dyn Algorithm>>> {
        Ok(None)
    }

    /// Names of the entries that a policy consists of.
    fn policy_entries(&self) -> Vec<&'static str> {
        vec!["theta"]
    }

    /// Settings of which lower values take less memory, with their values.
    fn sizes(&self) -> Vec<(&'static str, usize)> {
        Vec::new()
    }

    /// Number of its stages: kinds of iterations on the same state, such as a warm-up that plays and does not learn. Each is traced once,
    /// before training begins; the last is that of training. Where others play other numbers of steps, [`planned`](Algorithm::planned) and
    /// [`iterations`](Algorithm::iterations) say so.
    fn stages(&self) -> usize {
        1
    }

    /// The stage of the iteration after `done`, from 0.
    fn stage(&self, _done: u64) -> usize {
        0
    }

    /// One iteration, of the stage that [`Iteration::stage`] names: plays, learns, and updates the state.
    fn iteration(&self, it: &mut Iteration<'_>, held: &Held) -> Metrics;

    /// Tells whether iterations may make other numbers of steps than planned, as where episodes end early: then each counts those of each
    /// seed, by [`Metrics::STEPS`].
    fn counts_steps(&self) -> bool {
        false
    }

    /// Values that follow a schedule, by the names of their metrics, in the next iteration of a seed's run.
    fn schedules(&self, _at: Progress) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// The scalars of that iteration: those that follow a schedule.
    fn scalars(&self, at: Progress) -> Vec<(&'static str, ScalarValue)> {
        let scalar = |(name, value): (&'static str, f64)| (name.trim_start_matches("train/"), value.into());
        self.schedules(at).into_iter().map(scalar).collect()
    }
}

impl dyn Algorithm + '_ {
    /// The budget of a run that is asked to make so many environment steps: whole iterations, as they are planned.
    #[must_use]
    pub fn budget(&self, steps: u64) -> u64 {
        self.planned(self.iterations(steps))
    }

    /// The progress of a run whose iterations make what is planned, after `done` of `total` of them.
    #[must_use]
    pub fn as_planned(&self, done: u64, total: u64) -> Progress {
        Progress { iterations: done, steps: self.planned(done), budget: self.planned(total) }
    }

    /// The entries that a policy consists of.
    #[must_use]
    pub fn policy_state(&self) -> Vec<StateEntry> {
        let names = self.policy_entries();
        self.entries(None).into_iter().filter(|entry| names.contains(&entry.name)).collect()
    }

    /// The tensors that `policies` stacked policies consist of, as inputs of a program.
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
        let expected = "program: the state has no entry `thta`, only [\"key\", \"theta\", \"adam_m\", \"adam_v\", \"adam_scale\"] (at ";
        assert!(message.starts_with(expected) && message.contains(file!()), "{message}");
    }
}
