//! What a session drives.

use std::fmt::Debug;

pub use crate::backend::LocalFuture;
use crate::backend::ScalarValue;
use crate::backend::reference::NonFinite;
use crate::{Array, DType, Program, Result, State};

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
    /// # Errors
    /// If the device fails.
    fn step(&mut self, done: u64, total: u64) -> Result<Array> {
        let scalars = self.scalars(done, total);
        let (program, state) = self.running();
        program.run(state, &[], &scalars)?.get("metrics").cloned()
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
