//! [`Real`] over vector registers: what the blocks of x86-64 compute with.
//!
//! Loops over arrays leave it to the optimiser to find the vectors, which it does badly for eight lanes and slowly for
//! all. Registers say what is meant; each operation is the same `f32` operation lane by lane, so the bits are those of
//! [`Lanes`](super::Lanes), and tests require it.

use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::env::real::{Bits, Constant, Mask, Real, StepPart};
use crate::math::{self, Float};

/// A vector register of `f32` lanes.
///
/// The functions are for code that is compiled for the register's instruction set (`#[target_feature]`) and runs on a
/// processor that has it; [`super::block`] and [`super::random`] see to both, and nothing else names these types.
pub(in crate::env) trait Register: Copy + 'static {
    type Int: Copy + 'static;
    type Mask: Copy + 'static;
    const LANES: usize;

    /// Does a part in a function of its own, compiled for the instruction set.
    fn apart<P: StepPart>(part: P) -> P::Output;
    fn load(from: &[f32]) -> Self;
    fn store(self, to: &mut [f32]);
    fn splat(value: f32) -> Self;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn div(self, other: Self) -> Self;
    fn sqrt(self) -> Self;
    fn floor(self) -> Self;
    /// `if self < other { other } else { self }`
    fn above(self, other: Self) -> Self;
    /// `if other < self { other } else { self }`
    fn below(self, other: Self) -> Self;
    fn lt(self, other: Self) -> Self::Mask;
    fn le(self, other: Self) -> Self::Mask;
    fn eq(self, other: Self) -> Self::Mask;
    fn select(mask: Self::Mask, a: Self, b: Self) -> Self;
    fn to_int(self) -> Self::Int;
    fn of_int(int: Self::Int) -> Self;
    fn from_i32(int: Self::Int) -> Self;
    fn from_u32(int: Self::Int) -> Self;
    /// Truncated; negative values and NaN to 0, large ones to 2³² − 1.
    fn to_u32(self) -> Self::Int;

    fn int(value: u32) -> Self::Int;
    fn int_add(a: Self::Int, b: Self::Int) -> Self::Int;
    fn int_sub(a: Self::Int, b: Self::Int) -> Self::Int;
    fn int_and(a: Self::Int, b: Self::Int) -> Self::Int;
    fn int_or(a: Self::Int, b: Self::Int) -> Self::Int;
    fn int_xor(a: Self::Int, b: Self::Int) -> Self::Int;
    fn int_shl(a: Self::Int, n: u32) -> Self::Int;
    fn int_shr(a: Self::Int, n: u32) -> Self::Int;
    /// The sign bit comes in.
    fn int_sar(a: Self::Int, n: u32) -> Self::Int;
    fn int_below(a: Self::Int, b: Self::Int) -> Self::Mask;
    fn int_odd(a: Self::Int) -> Self::Mask;
    fn int_select(mask: Self::Mask, a: Self::Int, b: Self::Int) -> Self::Int;

    fn mask(value: bool) -> Self::Mask;
    fn mask_and(a: Self::Mask, b: Self::Mask) -> Self::Mask;
    fn mask_or(a: Self::Mask, b: Self::Mask) -> Self::Mask;
    fn mask_not(a: Self::Mask) -> Self::Mask;
    fn mask_any(a: Self::Mask) -> bool;
    /// 1 where the mask holds, else 0.
    fn mask_bits(a: Self::Mask) -> Self::Int;
}

/// Numbers in a register.
#[derive(Clone, Copy)]
pub(in crate::env) struct Reg<V>(pub V);

/// Words in a register.
#[derive(Clone, Copy)]
pub(in crate::env) struct RegBits<V: Register>(pub V::Int);

/// Truth values in a register.
#[derive(Clone, Copy)]
pub(in crate::env) struct RegMask<V: Register>(pub V::Mask);

macro_rules! operator {
    ($trait:ident, $name:ident, |$a:ident, $b:ident| $value:expr) => {
        impl<V: Register> $trait for Reg<V> {
            type Output = Self;
            #[inline(always)]
            fn $name(self, other: Self) -> Self {
                let (Reg($a), Reg($b)) = (self, other);
                Reg($value)
            }
        }
    };
}

operator!(Add, add, |a, b| a.add(b));
operator!(Sub, sub, |a, b| a.sub(b));
operator!(Mul, mul, |a, b| a.mul(b));
operator!(Div, div, |a, b| a.mul(V::splat(1.0).div(b)));

/// Combines each lane with a constant, as [`Real::lit`] makes it.
macro_rules! with_constant {
    ($($trait:ident, $name:ident;)*) => {
        $(impl<V: Register> $trait<f64> for Reg<V> {
            type Output = Self;
            #[inline(always)]
            fn $name(self, constant: f64) -> Self {
                $trait::$name(self, <Self as Real>::lit(constant))
            }
        })*
    };
}

with_constant! {
    Add, add;
    Sub, sub;
    Mul, mul;
}

impl<V: Register> Neg for Reg<V> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Reg(V::of_int(V::int_xor(self.0.to_int(), V::int(1 << 31))))
    }
}

impl<V: Register> Mask for RegMask<V> {
    #[inline(always)]
    fn splat(value: bool) -> Self {
        RegMask(V::mask(value))
    }
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        RegMask(V::mask_and(self.0, other.0))
    }
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        RegMask(V::mask_or(self.0, other.0))
    }
    #[inline(always)]
    fn not(self) -> Self {
        RegMask(V::mask_not(self.0))
    }
    #[inline(always)]
    fn any(self) -> bool {
        V::mask_any(self.0)
    }
}

impl<V: Register> Bits for RegBits<V> {
    #[inline(always)]
    fn splat(value: u32) -> Self {
        RegBits(V::int(value))
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        RegBits(V::int_add(self.0, other.0))
    }
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        RegBits(V::int_xor(self.0, other.0))
    }
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        RegBits(V::int_and(self.0, other.0))
    }
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        RegBits(V::int_or(self.0, other.0))
    }
    #[inline(always)]
    fn shl(self, n: u32) -> Self {
        RegBits(V::int_shl(self.0, n))
    }
    #[inline(always)]
    fn shr(self, n: u32) -> Self {
        RegBits(V::int_shr(self.0, n))
    }
}

impl<V: Register> Float for Reg<V> {
    type Mask = V::Mask;
    type Int = V::Int;

    #[inline(always)]
    fn lit(value: f32) -> Self {
        Reg(V::splat(value))
    }
    #[inline(always)]
    fn quotient(self, other: Self) -> Self {
        Reg(self.0.div(other.0))
    }
    #[inline(always)]
    fn above(self, other: Self) -> Self {
        Reg(self.0.above(other.0))
    }
    #[inline(always)]
    fn below(self, other: Self) -> Self {
        Reg(self.0.below(other.0))
    }
    #[inline(always)]
    fn less(self, other: Self) -> V::Mask {
        self.0.lt(other.0)
    }
    #[inline(always)]
    fn equal(self, other: Self) -> V::Mask {
        self.0.eq(other.0)
    }
    #[inline(always)]
    fn choose(mask: V::Mask, a: Self, b: Self) -> Self {
        Reg(V::select(mask, a.0, b.0))
    }
    #[inline(always)]
    fn odd(int: V::Int) -> V::Mask {
        V::int_odd(int)
    }
    #[inline(always)]
    fn to_int(self) -> V::Int {
        self.0.to_int()
    }
    #[inline(always)]
    fn of_int(int: V::Int) -> Self {
        Reg(V::of_int(int))
    }
    #[inline(always)]
    fn int(value: i32) -> V::Int {
        V::int(value as u32)
    }
    #[inline(always)]
    fn int_add(a: V::Int, b: V::Int) -> V::Int {
        V::int_add(a, b)
    }
    #[inline(always)]
    fn int_sub(a: V::Int, b: V::Int) -> V::Int {
        V::int_sub(a, b)
    }
    #[inline(always)]
    fn int_and(a: V::Int, b: V::Int) -> V::Int {
        V::int_and(a, b)
    }
    #[inline(always)]
    fn int_or(a: V::Int, b: V::Int) -> V::Int {
        V::int_or(a, b)
    }
    #[inline(always)]
    fn int_xor(a: V::Int, b: V::Int) -> V::Int {
        V::int_xor(a, b)
    }
    #[inline(always)]
    fn int_shl(a: V::Int, n: u32) -> V::Int {
        V::int_shl(a, n)
    }
    #[inline(always)]
    fn int_shr(a: V::Int, n: u32) -> V::Int {
        V::int_sar(a, n)
    }
    #[inline(always)]
    fn from_int(int: V::Int) -> Self {
        Reg(V::from_i32(int))
    }
}

impl<V: Register> Real for Reg<V> {
    type Mask = RegMask<V>;
    type Bits = RegBits<V>;

    #[inline(always)]
    fn lit(value: f64) -> Self {
        Reg(V::splat(value as f32))
    }
    #[inline(always)]
    fn constant(value: Constant) -> Self {
        Reg(V::splat(value.narrow))
    }
    #[inline(always)]
    fn apart<P: StepPart>(part: P) -> P::Output {
        V::apart(part)
    }
    #[inline(always)]
    fn recip(self) -> Self {
        Reg(V::splat(1.0).div(self.0))
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Reg(self.0.sqrt())
    }
    #[inline(always)]
    fn exp(self) -> Self {
        math::functions::exp(self)
    }
    #[inline(always)]
    fn log(self) -> Self {
        math::functions::log(self)
    }
    #[inline(always)]
    fn sin(self) -> Self {
        math::functions::sin_cos(self).0
    }
    #[inline(always)]
    fn cos(self) -> Self {
        math::functions::sin_cos(self).1
    }
    #[inline(always)]
    fn sin_cos(self) -> (Self, Self) {
        math::functions::sin_cos(self)
    }
    #[inline(always)]
    fn tanh(self) -> Self {
        math::functions::tanh(self)
    }
    #[inline(always)]
    fn floor(self) -> Self {
        Reg(self.0.floor())
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Reg(self.0.above(other.0))
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        Reg(self.0.below(other.0))
    }
    #[inline(always)]
    fn lt(self, other: Self) -> RegMask<V> {
        RegMask(self.0.lt(other.0))
    }
    #[inline(always)]
    fn le(self, other: Self) -> RegMask<V> {
        RegMask(self.0.le(other.0))
    }
    #[inline(always)]
    fn eq(self, other: Self) -> RegMask<V> {
        RegMask(self.0.eq(other.0))
    }
    #[inline(always)]
    fn select(mask: RegMask<V>, a: Self, b: Self) -> Self {
        Reg(V::select(mask.0, a.0, b.0))
    }
    #[inline(always)]
    fn uniform(bits: RegBits<V>) -> Self {
        Reg(V::from_i32(V::int_shr(bits.0, 8)).mul(V::splat(1.0 / 16_777_216.0)))
    }
    #[inline(always)]
    fn from_count(bits: RegBits<V>) -> Self {
        Reg(V::from_u32(bits.0))
    }
    #[inline(always)]
    fn to_count(self) -> RegBits<V> {
        RegBits(self.0.to_u32())
    }
    #[inline(always)]
    fn count_lt(a: RegBits<V>, b: RegBits<V>) -> RegMask<V> {
        RegMask(V::int_below(a.0, b.0))
    }
    #[inline(always)]
    fn select_bits(mask: RegMask<V>, a: RegBits<V>, b: RegBits<V>) -> RegBits<V> {
        RegBits(V::int_select(mask.0, a.0, b.0))
    }
    #[inline(always)]
    fn lookup(table: &[f64], index: Self) -> Self {
        let last = table.len().saturating_sub(1);
        let mut lanes = [0.0; 16];
        let lanes = &mut lanes[..V::LANES];
        index.0.store(lanes);
        for lane in lanes.iter_mut() {
            *lane = table.get((*lane as usize).min(last)).map_or(0.0, |v| *v as f32);
        }
        Reg(V::load(lanes))
    }
}
