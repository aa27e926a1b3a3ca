//! Sessions for those who wait. Browsers cannot.

use super::{Row, Session};
use crate::Result;

impl Session {
    /// [`step`](Session::step), and waits for it.
    ///
    /// # Errors
    /// As [`step`](Session::step).
    pub fn step_blocking(&mut self) -> Result<Vec<Row>> {
        pollster::block_on(self.step())
    }

    /// Steps until all iterations are made; `each` gets the rows of each of them.
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
