//! The operations of [`super::elementwise`], on one lane.

use super::lanes::{LANES, Lane1, Lane2};
use crate::math;

/// Define a type per operation.
macro_rules! lane1 {
    ($($name:ident($x:ident) = $value:expr;)*) => {$(
        pub(crate) struct $name;
        impl Lane1 for $name {
            #[inline(always)]
            fn apply($x: f32) -> f32 {
                $value
            }
        }
    )*};
}

/// Define a type per operation on `f32`.
macro_rules! lane2 {
    ($($name:ident($a:ident, $b:ident) = $value:expr;)*) => {$(
        pub(crate) struct $name;
        impl Lane2 for $name {
            #[inline(always)]
            fn apply($a: f32, $b: f32) -> f32 {
                $value
            }
        }
    )*};
}

/// Define a type per operation on `u32`.
macro_rules! lane2_u32 {
    ($($name:ident($a:ident, $b:ident) = $value:expr;)*) => {$(
        pub(crate) struct $name;
        impl Lane2 for $name {
            #[inline(always)]
            fn apply(a: f32, b: f32) -> f32 {
                let ($a, $b) = (a.to_bits(), b.to_bits());
                f32::from_bits($value)
            }
        }
    )*};
}

lane1! {
    Neg(x) = -x;
    Recip(x) = 1.0 / x;
    Exp(x) = math::exp(x);
    Log(x) = math::log(x);
    Sqrt(x) = x.sqrt();
    Sin(x) = math::sin(x);
    Cos(x) = math::cos(x);
    Tanh(x) = math::tanh(x);
    Floor(x) = math::floor(x);
    ToU32(x) = f32::from_bits(x as u32);
    ToF32(x) = x.to_bits() as f32;
}

lane2! {
    TanhGrad(g, y) = g * (1.0 + -(y * y));
    Add(a, b) = a + b;
    Mul(a, b) = a * b;
    Max(a, b) = if a < b { b } else { a };
    Min(a, b) = if b < a { b } else { a };
    Lt(a, b) = f32::from_bits(u32::from(a < b));
    Eq(a, b) = f32::from_bits(u32::from(a == b));
}

lane2_u32! {
    AddU(a, b) = a.wrapping_add(b);
    MulU(a, b) = a.wrapping_mul(b);
    MaxU(a, b) = a.max(b);
    MinU(a, b) = a.min(b);
    LtU(a, b) = u32::from(a < b);
    EqU(a, b) = u32::from(a == b);
    And(a, b) = a & b;
    Or(a, b) = a | b;
    Xor(a, b) = a ^ b;
    Shl(a, b) = a << (b & 31);
    Shr(a, b) = a >> (b & 31);
}

/// threefry2x32 with 20 rounds on 16 lanes: the two words for key (k0, k1) and counter (c0, c1).
#[inline(always)]
pub(crate) fn threefry(
    k0: [u32; LANES],
    k1: [u32; LANES],
    c0: [u32; LANES],
    c1: [u32; LANES],
) -> ([u32; LANES], [u32; LANES]) {
    let (mut y0, mut y1) = ([0; LANES], [0; LANES]);
    for j in 0..LANES {
        let keys = [k0[j], k1[j], k0[j] ^ k1[j] ^ 0x1bd1_1bda];
        let (mut x0, mut x1) = (c0[j].wrapping_add(keys[0]), c1[j].wrapping_add(keys[1]));
        macro_rules! four_rounds {
            ($group:literal, $r0:literal, $r1:literal, $r2:literal, $r3:literal) => {
                x0 = x0.wrapping_add(x1);
                x1 = x1.rotate_left($r0) ^ x0;
                x0 = x0.wrapping_add(x1);
                x1 = x1.rotate_left($r1) ^ x0;
                x0 = x0.wrapping_add(x1);
                x1 = x1.rotate_left($r2) ^ x0;
                x0 = x0.wrapping_add(x1);
                x1 = x1.rotate_left($r3) ^ x0;
                x0 = x0.wrapping_add(keys[$group % 3]);
                x1 = x1.wrapping_add(keys[($group + 1) % 3]).wrapping_add($group);
            };
        }
        four_rounds!(1, 13, 15, 26, 6);
        four_rounds!(2, 17, 29, 16, 24);
        four_rounds!(3, 13, 15, 26, 6);
        four_rounds!(4, 17, 29, 16, 24);
        four_rounds!(5, 13, 15, 26, 6);
        (y0[j], y1[j]) = (x0, x1);
    }
    (y0, y1)
}
