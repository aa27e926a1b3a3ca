//! The scope of which chains are formed.

use super::budget::ChainBudget;
use super::unit::{Unit, Units};
use crate::tensor::Graph;

/// The scope of which chains are formed: a program, or the body of a loop.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    /// The traced expressions.
    pub graph: &'a Graph,
    /// The units of all scopes.
    pub units: &'a Units,
    /// The kernels of this one: its units, some of which the device may have put together.
    pub kernels: &'a [Unit],
    /// The room of the device for a chain.
    pub budget: ChainBudget,
}
