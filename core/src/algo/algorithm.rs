//! What a session drives.

use std::fmt::Debug;

pub use crate::backend::LocalFuture;
use crate::backend::ScalarValue;
use crate::backend::reference::NonFinite;
use crate::optim::AdamState;
use crate::{Array, Context, DType, Program, Result, State, Tensor};

/// One array of the state, as one seed has it: without the leading axis.
#[derive(Clone, Debug, PartialEq)]
pub struct StateEntry {
    /// Name in the state and in snapshots.
    pub name: &'static str,
    /// Shape of one seed's part.
    pub shape: Vec<usize>,
    /// Data type.
    pub dtype: DType,
}

/// An algorithm's state in the trace of an iteration.
#[derive(Clone, Debug)]
pub struct Held(Vec<(&'static str, Tensor)>);

impl Held {
    /// Declares all entries, each with a leading axis of seeds.
    pub fn declare(cx: &mut Context, entries: &[StateEntry], seeds: usize) -> Held {
        let one = |entry: &StateEntry| {
            let shape = [&[seeds], &entry.shape[..]].concat();
            (entry.name, cx.state(entry.name, &shape, entry.dtype))
        };
        Held(entries.iter().map(one).collect())
    }

    /// The entry of that name, if there is one.
    pub fn find(&self, name: &str) -> Option<Tensor> {
        self.0.iter().find(|(n, _)| *n == name).map(|(_, tensor)| *tensor)
    }

    /// The entry of that name; an error of the trace if there is none.
    pub fn get(&self, name: &str) -> Tensor {
        self.find(name).unwrap_or(Tensor::poison())
    }

    /// The state of Adam.
    pub fn adam(&self) -> AdamState {
        AdamState { m: self.get("adam_m"), v: self.get("adam_v"), scale: self.get("adam_scale") }
    }
}

/// Parameters and Adam's state after an iteration.
pub fn update_parameters(cx: &mut Context, theta: Tensor, adam: AdamState) {
    cx.update("theta", theta);
    cx.update("adam_m", adam.m);
    cx.update("adam_v", adam.v);
    cx.update("adam_scale", adam.scale);
}

/// Training of one or several stacked seeds, one iteration at a time.
pub trait Algorithm: Debug {
    /// All that training changes, each array with a leading axis of seeds.
    fn state(&self) -> &State;

    /// The program that an iteration runs.
    fn program(&self) -> &Program;

    /// The program to run, and the state that it changes.
    fn running(&mut self) -> (&mut Program, &State);

    /// The program's scalars in the iteration after `done` of `total`.
    fn scalars(&self, done: u64, total: u64) -> Vec<(&'static str, ScalarValue)>;

    /// What an iteration reports: the columns of [`step`](Algorithm::step)'s result.
    ///
    /// The first three are the number of episodes that ended and the sums of their returns and lengths; the last two the
    /// numbers of updates dropped because a gradient was not finite, and made.
    fn metric_names(&self) -> &[String];

    /// Values that follow a schedule, by name, in the iteration after `done` of `total`.
    fn schedules(&self, done: u64, total: u64) -> Vec<(&'static str, f64)>;

    /// One iteration, `done` of `total` having been made: metrics `[S, columns]`, still on the device.
    ///
    /// Ready at once where everything happens on the device; environments of the host may take their time.
    ///
    /// # Errors
    /// If the device or an environment fails.
    fn step(&mut self, done: u64, total: u64) -> LocalFuture<'_, Result<Array>> {
        Box::pin(async move {
            let scalars = self.scalars(done, total);
            let (program, state) = self.running();
            program.run(state, &[], &scalars)?.get("metrics").cloned()
        })
    }

    /// The first operation of that iteration, made from a copy of the state before it, that gave a NaN or an infinity.
    fn first_non_finite<'a>(
        &'a self,
        before: &'a State,
        done: u64,
        total: u64,
    ) -> LocalFuture<'a, Result<Option<NonFinite>>> {
        Box::pin(async move { self.program().first_non_finite(before, &[], &self.scalars(done, total)).await })
    }
}
