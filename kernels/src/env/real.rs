//! The numbers that environments are written against: one source, many kinds of arithmetic.
//!
//! | `Real` | what for | `Mask` | `Bits` |
//! |---|---|---|---|
//! | `f64` | the reference that tests compare with | `bool` | `u32` |
//! | [`Lanes<1>`](super::Lanes) | tasks, and the success of a step, in `f32` | 1 lane | 1 lane |
//! | [`Lanes<4>`](super::Lanes), and registers on x86-64 | blocks of environments in `f32`, or one | lanes | lanes |
//!
//! Code over `Real` has no branches: it computes both sides and [`select`](Real::select)s. What it computes is fixed to
//! the bit, so that one lane, sixteen lanes and a traced graph agree exactly: no operation is fused or reordered, and
//! `a / b` is `a * b.recip()` (which is why plain `f32`, whose `/` rounds once, is no `Real`; use `Lanes<1>`).

use std::ops::{Add, Div, Mul, Neg, Sub};

use super::fields::Fields;
use crate::rng::{PARITY, ROTATIONS};

/// Truth values, one per lane.
pub trait Mask: Copy + 'static {
    /// A mask with this value in every lane.
    fn splat(value: bool) -> Self;
    /// True where both are.
    fn and(self, other: Self) -> Self;
    /// Either.
    fn or(self, other: Self) -> Self;
    /// The opposite.
    fn not(self) -> Self;
    /// False only if no lane is true: exact for numbers, always `true` where values are not known yet (a trace).
    ///
    /// Only for skipping work that does not change the result.
    fn any(self) -> bool;
}

/// 32 random or counted bits, one word per lane.
pub trait Bits: Copy + 'static {
    /// Bits with this word in every lane.
    fn splat(value: u32) -> Self;
    /// Sum modulo 2³².
    fn add(self, other: Self) -> Self;
    /// Bitwise exclusive or.
    fn xor(self, other: Self) -> Self;
    /// Bitwise and.
    fn and(self, other: Self) -> Self;
    /// Bitwise or.
    fn or(self, other: Self) -> Self;
    /// Shifted left by `n` < 32.
    fn shl(self, n: u32) -> Self;
    /// Shifted right by `n` < 32, zeros coming in.
    fn shr(self, n: u32) -> Self;
    /// Rotated left by 0 < `n` < 32.
    #[inline(always)]
    fn rotl(self, n: u32) -> Self {
        self.shl(n).or(self.shr(32 - n))
    }
    /// One block of [`crate::rng::threefry2x32`] per lane.
    #[inline(always)]
    fn threefry(key: [Self; 2], counter: [Self; 2]) -> [Self; 2] {
        let keys = [key[0], key[1], key[0].xor(key[1]).xor(Self::splat(PARITY))];
        let (mut x0, mut x1) = (counter[0].add(keys[0]), counter[1].add(keys[1]));
        for group in 0..5 {
            for rotation in ROTATIONS[group % 2] {
                x0 = x0.add(x1);
                x1 = x1.rotl(rotation).xor(x0);
            }
            x0 = x0.add(keys[(group + 1) % 3]);
            x1 = x1.add(keys[(group + 2) % 3]).add(Self::splat(group as u32 + 1));
        }
        [x0, x1]
    }
}

/// A number, or a lane-wise pack of numbers, or a traced value: what environments compute with.
pub trait Real:
    Copy
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + Add<f64, Output = Self>
    + Sub<f64, Output = Self>
    + Mul<f64, Output = Self>
{
    /// Truth values of as many lanes.
    type Mask: Mask;
    /// Words of as many lanes.
    type Bits: Bits;

    /// True where values are not known while code runs: in a trace.
    const TRACED: bool = false;

    /// A constant. In sums, differences and products behind a number a plain `f64` does as well: `x * 0.5 + 1.0`.
    /// Combine constants before (`R::lit(g * m)`, not `R::lit(g) * R::lit(m)`): it costs nothing then.
    fn lit(value: f64) -> Self;
    /// A constant from a table. Engines keep their constants as data; code that is as long as they are many does not
    /// have to hold them.
    #[inline(always)]
    #[cfg_attr(feature = "debug", track_caller)]
    fn constant(value: Constant) -> Self {
        Self::lit(value.wide)
    }
    /// 1/x
    fn recip(self) -> Self;
    /// √x; NaN below 0.
    fn sqrt(self) -> Self;
    /// eˣ
    fn exp(self) -> Self;
    /// ln x; −∞ at 0, NaN below.
    fn log(self) -> Self;
    /// sin x, x in radians.
    fn sin(self) -> Self;
    /// cos x, x in radians.
    fn cos(self) -> Self;
    /// `(sin x, cos x)` for little more than one of them.
    #[inline(always)]
    #[cfg_attr(feature = "debug", track_caller)]
    fn sin_cos(self) -> (Self, Self) {
        (self.sin(), self.cos())
    }
    /// tanh x
    fn tanh(self) -> Self;
    /// ⌊x⌋
    fn floor(self) -> Self;
    /// |x|
    #[inline(always)]
    #[cfg_attr(feature = "debug", track_caller)]
    fn abs(self) -> Self {
        self.max(-self)
    }
    /// x²
    #[inline(always)]
    #[cfg_attr(feature = "debug", track_caller)]
    fn square(self) -> Self {
        self * self
    }
    /// The larger: `if self < other { other } else { self }`, so a NaN in `self` stays.
    fn max(self, other: Self) -> Self;
    /// The smaller: `if other < self { other } else { self }`, so a NaN in `self` stays.
    fn min(self, other: Self) -> Self;
    /// `self` limited to `low..=high`; NaN stays.
    #[inline(always)]
    #[cfg_attr(feature = "debug", track_caller)]
    fn clamp(self, low: f64, high: f64) -> Self {
        self.max(Self::lit(low)).min(Self::lit(high))
    }
    /// self < other; false for NaN, as all comparisons.
    fn lt(self, other: Self) -> Self::Mask;
    /// self ≤ other
    fn le(self, other: Self) -> Self::Mask;
    /// self > other
    #[inline(always)]
    fn gt(self, other: Self) -> Self::Mask {
        other.lt(self)
    }
    /// self ≥ other
    #[inline(always)]
    fn ge(self, other: Self) -> Self::Mask {
        other.le(self)
    }
    /// self = other
    fn eq(self, other: Self) -> Self::Mask;
    /// `a` where the mask holds, else `b`.
    fn select(mask: Self::Mask, a: Self, b: Self) -> Self;
    /// 1 where the mask holds, else 0.
    #[inline(always)]
    #[cfg_attr(feature = "debug", track_caller)]
    fn from_mask(mask: Self::Mask) -> Self {
        Self::select(mask, Self::lit(1.0), Self::lit(0.0))
    }
    /// Tells whether the number is not 0 (true for NaN).
    #[inline(always)]
    fn truth(self) -> Self::Mask {
        self.eq(Self::lit(0.0)).not()
    }

    /// Uniform in [0, 1) from random words: their top 24 bits times 2⁻²⁴, exact.
    fn uniform(bits: Self::Bits) -> Self;
    /// The number that the words count, rounded to nearest.
    fn from_count(bits: Self::Bits) -> Self;
    /// Truncated to a word; negative numbers and NaN give 0, large ones 2³² − 1.
    fn to_count(self) -> Self::Bits;
    /// a < b of words.
    fn count_lt(a: Self::Bits, b: Self::Bits) -> Self::Mask;
    /// `a` where the mask holds, else `b`, of words.
    fn select_bits(mask: Self::Mask, a: Self::Bits, b: Self::Bits) -> Self::Bits;

    /// `table[index]`, the index truncated and limited to the table. A gather when traced. An empty table gives 0.
    fn lookup(table: &[f64], index: Self) -> Self;
    /// `f` applied `n` times to `state`. A loop when traced, so that code does not grow with `n`.
    ///
    /// `f` is called from one place: closures cannot be told to inline, and one that is not is compiled without SIMD.
    #[inline(always)]
    fn repeat<S: Fields<Self>>(n: usize, mut state: S, f: impl Fn(S) -> S) -> S {
        for _ in 0..n {
            state = f(state);
        }
        state
    }
    /// Changes `state` by `f` with each row of a table in turn, until `f` returns false. A loop over all rows when
    /// traced.
    ///
    /// So `f` may return false only where all further rows would leave the state as it is, and where
    /// [`Mask::any`] says so. It is called from one place; large ones call their parts by [`Real::apart`].
    #[inline(always)]
    fn fold<const C: usize>(rows: &[[f64; C]], state: &mut [Self], mut f: impl FnMut(&mut [Self], [Self; C]) -> bool) {
        for row in rows {
            if !f(state, row.map(Self::lit)) {
                break;
            }
        }
    }
    /// Does a large part of a step as a function of its own, which is compiled once for this type of number and not
    /// wherever it is called, and for the same instruction set.
    #[inline(always)]
    fn apart<P: StepPart>(part: P) -> P::Output {
        /// Not inlined.
        #[inline(never)]
        fn done<P: StepPart>(part: P) -> P::Output {
            part.done()
        }
        done(part)
    }
}

/// A part of a step that [`Real::apart`] compiles as a function of its own. Numbers go in and come out by reference.
pub trait StepPart {
    /// Its result.
    type Output;
    /// Does it. To be marked `#[inline(always)]`, as all that it calls.
    fn done(self) -> Self::Output;
}

/// A constant of an engine, in the precisions in which it is needed: kept in tables, as data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Constant {
    wide: f64,
    pub(super) narrow: f32,
}

impl Constant {
    /// A constant of this value.
    #[must_use]
    pub const fn new(value: f64) -> Self {
        Self { wide: value, narrow: value as f32 }
    }

    /// The value.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.wide
    }
}

impl From<f64> for Constant {
    fn from(value: f64) -> Self {
        Self::new(value)
    }
}

impl Mask for bool {
    #[inline(always)]
    fn splat(value: bool) -> Self {
        value
    }
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        self & other
    }
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        self | other
    }
    #[inline(always)]
    fn not(self) -> Self {
        !self
    }
    #[inline(always)]
    fn any(self) -> bool {
        self
    }
}

impl Bits for u32 {
    #[inline(always)]
    fn splat(value: u32) -> Self {
        value
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        self ^ other
    }
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        self & other
    }
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        self | other
    }
    #[inline(always)]
    fn shl(self, n: u32) -> Self {
        self << n
    }
    #[inline(always)]
    fn shr(self, n: u32) -> Self {
        self >> n
    }
}

impl Real for f64 {
    type Mask = bool;
    type Bits = u32;

    fn lit(value: f64) -> Self {
        value
    }
    fn recip(self) -> Self {
        1.0 / self
    }
    fn sqrt(self) -> Self {
        self.sqrt()
    }
    fn exp(self) -> Self {
        self.exp()
    }
    fn log(self) -> Self {
        self.ln()
    }
    fn sin(self) -> Self {
        self.sin()
    }
    fn cos(self) -> Self {
        self.cos()
    }
    fn tanh(self) -> Self {
        self.tanh()
    }
    fn floor(self) -> Self {
        self.floor()
    }
    fn max(self, other: Self) -> Self {
        if self < other { other } else { self }
    }
    fn min(self, other: Self) -> Self {
        if other < self { other } else { self }
    }
    fn lt(self, other: Self) -> bool {
        self < other
    }
    fn le(self, other: Self) -> bool {
        self <= other
    }
    fn eq(self, other: Self) -> bool {
        self == other
    }
    fn select(mask: bool, a: Self, b: Self) -> Self {
        if mask { a } else { b }
    }
    fn uniform(bits: u32) -> Self {
        f64::from(bits >> 8) * (1.0 / 16_777_216.0)
    }
    fn from_count(bits: u32) -> Self {
        f64::from(bits)
    }
    fn to_count(self) -> u32 {
        self as u32
    }
    fn count_lt(a: u32, b: u32) -> bool {
        a < b
    }
    fn select_bits(mask: bool, a: u32, b: u32) -> u32 {
        if mask { a } else { b }
    }
    fn lookup(table: &[f64], index: Self) -> Self {
        let last = table.len().saturating_sub(1);
        table.get((index as usize).min(last)).copied().unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extrema_comparisons_and_lookup_are_defined_for_nan() {
        let nan = f64::NAN;
        assert!(Real::max(nan, 1.0).is_nan() && Real::min(nan, 1.0).is_nan());
        assert_eq!((Real::max(1.0, nan), Real::min(1.0, nan)), (1.0, 1.0));
        assert!(!Real::lt(nan, 1.0) && !Real::le(nan, nan) && !Real::ge(nan, 1.0) && !Real::eq(nan, nan));
        assert!(Real::truth(nan) && Real::truth(-2.0) && !Real::truth(-0.0));
        assert_eq!(
            [-3.0, 0.0, 1.9, 2.0, 99.0, nan].map(|i| f64::lookup(&[5.0, 6.0, 7.0], i)),
            [5.0, 5.0, 6.0, 7.0, 7.0, 5.0]
        );
        assert_eq!(f64::lookup(&[], 1.0), 0.0);
    }

    #[test]
    fn lanewise_threefry_is_that_of_the_generator() {
        assert_eq!(u32::threefry([1, 2], [3, 4]), crate::rng::threefry2x32([1, 2], [3, 4]));
    }

    #[test]
    fn repeat_applies_n_times() {
        assert_eq!(f64::repeat(3, [1.0, 0.0], |[a, b]| [a * 2.0, b + a]), [8.0, 7.0]);
    }
}
