//! Blocking steps of sessions, which browsers cannot make.

use super::{Row, Session};
use crate::Result;

impl Session {
    /// Makes an iteration like [`step`](Session::step), and waits for it.
    ///
    /// # Errors
    /// As [`step`](Session::step).
    pub fn step_blocking(&mut self) -> Result<Vec<Row>> {
        pollster::block_on(self.step())
    }

    /// Makes iterations until all are made; `each` gets the rows of each.
    ///
    /// # Errors
    /// As [`step`](Session::step).
    pub fn run_to_end(&mut self, mut each: impl FnMut(&[Row])) -> Result<()> {
        while !self.done() {
            each(&self.step_blocking()?);
        }
        Ok(())
    }
}
