//! Bounds of states and actions.

use crate::env::{Mask, Real};

/// True where a number is beyond its bound to either side, or is none.
#[inline(always)]
pub(super) fn outside<R: Real, const N: usize>(state: [R; N], bounds: [R; N]) -> R::Mask {
    let mut inside = R::Mask::splat(true);
    for i in 0..N {
        inside = inside.and(state[i].abs().le(bounds[i]));
    }
    inside.not()
}

/// Limits a number to both sides.
#[inline(always)]
pub(super) fn limited<R: Real>(number: R, bound: R) -> R {
    number.max(-bound).min(bound)
}

/// Nothing of a voltage between `low` and `high`: static friction, as Pyrado has it.
#[inline(always)]
pub(super) fn beyond_dead_zone<R: Real>(volts: R, [low, high]: [R; 2]) -> R {
    R::select(low.le(volts).and(volts.le(high)), R::lit(0.0), volts)
}
