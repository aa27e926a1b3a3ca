//! Settings that a derivative shares with the derivatives that it is made of.

use std::panic::Location;

/// How cotangents of loop invariants leave a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Invariants {
    /// Operands of the products with weights are stacked and multiplied once, outside of the loop.
    Products,
    /// Always stacked, then summed.
    #[cfg_attr(not(test), allow(dead_code, reason = "the plain form, which tests compare the other one with"))]
    Sums,
}

/// Settings that a derivative shares with the derivatives that it is made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct SweepOptions {
    pub(super) invariants: Invariants,
    /// Where the derivative was asked for.
    pub(super) at: &'static Location<'static>,
}
