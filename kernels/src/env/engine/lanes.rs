//! SIMD packs of `f32`: loops over arrays that the compiler turns into vector instructions.

use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::env::real::{Bits, Constant, Mask, Real};
use crate::math;

/// `N` numbers side by side, one environment each. Aligned for the widest vector register.
///
/// Every operation is the `f32` operation lane by lane, so a lane's result does not depend on `N` or on the instruction
/// set: `Lanes<1>` is the one-environment version of the same arithmetic.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(64))]
pub struct Lanes<const N: usize>(pub [f32; N]);

/// `N` words side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(64))]
pub struct LaneBits<const N: usize>(pub [u32; N]);

/// `N` truth values side by side: all ones or all zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(64))]
pub struct LaneMask<const N: usize>([u32; N]);

/// Lane by lane: `[f(a[0], b[0]), …]`. A macro, as a closure passed to a function might not be inlined.
macro_rules! map {
    ($zero:expr; $($x:ident),+ => $value:expr) => {{
        let mut out = [$zero; N];
        for i in 0..N {
            $(let $x = $x.0[i];)+
            out[i] = $value;
        }
        out
    }};
}

macro_rules! operator {
    ($trait:ident, $name:ident, |$a:ident, $b:ident| $value:expr) => {
        impl<const N: usize> $trait for Lanes<N> {
            type Output = Self;
            #[inline(always)]
            fn $name(self, other: Self) -> Self {
                let ($a, $b) = (self, other);
                Lanes(map!(0.0; $a, $b => $value))
            }
        }
    };
}

operator!(Add, add, |a, b| a + b);
operator!(Sub, sub, |a, b| a - b);
operator!(Mul, mul, |a, b| a * b);
operator!(Div, div, |a, b| a * (1.0 / b));

/// Combines each lane with a constant, as [`Real::lit`] makes it.
macro_rules! with_constant {
    ($($trait:ident, $name:ident;)*) => {
        $(impl<const N: usize> $trait<f64> for Lanes<N> {
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

impl<const N: usize> Neg for Lanes<N> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        let a = self;
        Lanes(map!(0.0; a => -a))
    }
}

impl<const N: usize> Mask for LaneMask<N> {
    #[inline(always)]
    fn splat(value: bool) -> Self {
        LaneMask([if value { !0 } else { 0 }; N])
    }
    #[inline(always)]
    fn and(self, b: Self) -> Self {
        let a = self;
        LaneMask(map!(0; a, b => a & b))
    }
    #[inline(always)]
    fn or(self, b: Self) -> Self {
        let a = self;
        LaneMask(map!(0; a, b => a | b))
    }
    #[inline(always)]
    fn not(self) -> Self {
        let a = self;
        LaneMask(map!(0; a => !a))
    }
    #[inline(always)]
    fn any(self) -> bool {
        let mut all = 0;
        for word in self.0 {
            all |= word;
        }
        all != 0
    }
}

impl<const N: usize> LaneMask<N> {
    /// 1 where the mask holds, else 0.
    #[inline(always)]
    #[must_use]
    pub fn to_bits(self) -> LaneBits<N> {
        let a = self;
        LaneBits(map!(0; a => a & 1))
    }
}

impl<const N: usize> Bits for LaneBits<N> {
    #[inline(always)]
    fn splat(value: u32) -> Self {
        LaneBits([value; N])
    }
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        let a = self;
        LaneBits(map!(0; a, b => a.wrapping_add(b)))
    }
    #[inline(always)]
    fn xor(self, b: Self) -> Self {
        let a = self;
        LaneBits(map!(0; a, b => a ^ b))
    }
    #[inline(always)]
    fn and(self, b: Self) -> Self {
        let a = self;
        LaneBits(map!(0; a, b => a & b))
    }
    #[inline(always)]
    fn or(self, b: Self) -> Self {
        let a = self;
        LaneBits(map!(0; a, b => a | b))
    }
    #[inline(always)]
    fn shl(self, n: u32) -> Self {
        let a = self;
        LaneBits(map!(0; a => a << n))
    }
    #[inline(always)]
    fn shr(self, n: u32) -> Self {
        let a = self;
        LaneBits(map!(0; a => a >> n))
    }
    #[inline(always)]
    fn rotl(self, n: u32) -> Self {
        let a = self;
        LaneBits(map!(0; a => a.rotate_left(n)))
    }
}

impl<const N: usize> LaneBits<N> {
    /// `first, first + 1, …`
    #[inline(always)]
    #[must_use]
    pub fn count_from(first: u32) -> Self {
        let mut out = [first; N];
        for (i, word) in out.iter_mut().enumerate() {
            *word = first.wrapping_add(i as u32);
        }
        LaneBits(out)
    }
}

macro_rules! functions {
    ($($name:ident: |$a:ident| $value:expr;)*) => {
        $(#[inline(always)]
        fn $name(self) -> Self {
            let $a = self;
            Lanes(map!(0.0; $a => $value))
        })*
    };
}

impl<const N: usize> Real for Lanes<N> {
    type Mask = LaneMask<N>;
    type Bits = LaneBits<N>;

    #[inline(always)]
    fn lit(value: f64) -> Self {
        Lanes([value as f32; N])
    }
    #[inline(always)]
    fn constant(value: Constant) -> Self {
        Lanes([value.narrow; N])
    }
    functions! {
        recip: |a| 1.0 / a;
        sqrt: |a| a.sqrt();
        exp: |a| math::exp(a);
        log: |a| math::log(a);
        sin: |a| math::sin(a);
        cos: |a| math::cos(a);
        tanh: |a| math::tanh(a);
        floor: |a| math::floor(a);
    }
    #[inline(always)]
    fn sin_cos(self) -> (Self, Self) {
        let (mut s, mut c) = ([0.0; N], [0.0; N]);
        for i in 0..N {
            (s[i], c[i]) = math::sin_cos(self.0[i]);
        }
        (Lanes(s), Lanes(c))
    }
    #[inline(always)]
    fn max(self, b: Self) -> Self {
        let a = self;
        Lanes(map!(0.0; a, b => if a < b { b } else { a }))
    }
    #[inline(always)]
    fn min(self, b: Self) -> Self {
        let a = self;
        Lanes(map!(0.0; a, b => if b < a { b } else { a }))
    }
    #[inline(always)]
    fn lt(self, b: Self) -> LaneMask<N> {
        let a = self;
        LaneMask(map!(0; a, b => if a < b { !0 } else { 0 }))
    }
    #[inline(always)]
    fn le(self, b: Self) -> LaneMask<N> {
        let a = self;
        LaneMask(map!(0; a, b => if a <= b { !0 } else { 0 }))
    }
    #[inline(always)]
    fn eq(self, b: Self) -> LaneMask<N> {
        let a = self;
        LaneMask(map!(0; a, b => if a == b { !0 } else { 0 }))
    }
    #[inline(always)]
    fn select(mask: LaneMask<N>, a: Self, b: Self) -> Self {
        Lanes(map!(0.0; mask, a, b => f32::from_bits((a.to_bits() & mask) | (b.to_bits() & !mask))))
    }
    #[inline(always)]
    fn from_mask(mask: LaneMask<N>) -> Self {
        Lanes(map!(0.0; mask => f32::from_bits(mask & 1.0_f32.to_bits())))
    }
    #[inline(always)]
    fn uniform(bits: LaneBits<N>) -> Self {
        // Through i32: instruction sets before AVX-512 have no conversion from u32.
        Lanes(map!(0.0; bits => (bits >> 8) as i32 as f32 * (1.0 / 16_777_216.0)))
    }
    #[inline(always)]
    fn from_count(bits: LaneBits<N>) -> Self {
        Lanes(map!(0.0; bits => bits as f32))
    }
    #[inline(always)]
    fn to_count(self) -> LaneBits<N> {
        let a = self;
        LaneBits(map!(0; a => a as u32))
    }
    #[inline(always)]
    fn count_lt(a: LaneBits<N>, b: LaneBits<N>) -> LaneMask<N> {
        LaneMask(map!(0; a, b => if a < b { !0 } else { 0 }))
    }
    #[inline(always)]
    fn select_bits(mask: LaneMask<N>, a: LaneBits<N>, b: LaneBits<N>) -> LaneBits<N> {
        LaneBits(map!(0; mask, a, b => (a & mask) | (b & !mask)))
    }
    #[inline(always)]
    fn lookup(table: &[f64], index: Self) -> Self {
        let last = table.len().saturating_sub(1);
        Lanes(map!(0.0; index => table.get((index as usize).min(last)).map_or(0.0, |v| *v as f32)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng;

    type L = Lanes<4>;

    #[test]
    fn arithmetic_is_that_of_each_lane() {
        let (a, b) = (Lanes([1.0, -2.0, 0.1, 3.0]), Lanes([0.5, 7.0, 0.3, -0.0]));
        assert_eq!((a + b).0, [1.5, 5.0, 0.1 + 0.3, 3.0]);
        assert_eq!((a - b).0, [0.5, -9.0, 0.1 - 0.3, 3.0]);
        assert_eq!((a * b).0, [0.5, -14.0, 0.1 * 0.3, -0.0]);
        assert_eq!((a * 0.1 + 0.3 - 7.0).0, (a * L::lit(0.1) + L::lit(0.3) - L::lit(7.0)).0);
        assert_eq!((a / b).0, [2.0, -2.0 * (1.0 / 7.0), 0.1 * (1.0 / 0.3), f32::NEG_INFINITY]);
        assert_eq!((-a).abs().0, [1.0, 2.0, 0.1, 3.0]);
        assert_eq!(a.clamp(-1.0, 1.0).0, [1.0, -1.0, 0.1, 1.0]);
        assert_eq!(L::select(a.lt(b), a, b).0, [0.5, -2.0, 0.1, -0.0]);
        assert_eq!(L::from_mask(a.ge(b).or(a.eq(Lanes([0.1; 4])))).0, [1.0, 0.0, 1.0, 1.0]);
    }

    #[test]
    fn nan_is_kept_and_compares_false() {
        let (nan, one) = (L::lit(f64::NAN), L::lit(1.0));
        assert!(nan.max(one).0.iter().chain(&nan.clamp(0.0, 1.0).0).all(|x| x.is_nan()));
        assert_eq!(one.max(nan), one);
        assert!(!nan.lt(one).or(nan.le(nan)).or(nan.gt(one)).any());
        assert!(nan.truth().any() && !L::lit(-0.0).truth().any());
    }

    #[test]
    fn words_match_single_words() {
        let counter = LaneBits::<16>::count_from(u32::MAX - 3);
        let key = [LaneBits::splat(5), LaneBits::splat(6)];
        let words = LaneBits::threefry(key, [counter, LaneBits::splat(9)]);
        for i in 0..16 {
            assert_eq!(words.map(|w| w.0[i]), rng::threefry2x32([5, 6], [counter.0[i], 9]));
            assert_eq!(Lanes::<16>::uniform(words[0]).0[i], rng::uniform(words[0].0[i]));
        }
    }

    #[test]
    fn counts_convert_and_compare() {
        let x = Lanes([-1.5, 2.9, 5e9, f32::NAN]);
        assert_eq!(x.to_count().0, [0, 2, u32::MAX, 0]);
        assert_eq!(L::from_count(LaneBits([0, 7, 1 << 31, u32::MAX])).0, [0.0, 7.0, 2_147_483_648.0, 4_294_967_296.0]);
        let below = L::count_lt(LaneBits([1, 2, u32::MAX, 0]), LaneBits([2, 2, 1, 1]));
        assert_eq!(below.to_bits().0, [1, 0, 0, 1]);
        assert_eq!(L::lookup(&[10.0, 11.0], x).0, [10.0, 11.0, 11.0, 10.0]);
    }
}
