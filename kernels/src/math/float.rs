//! The operations on numbers that the elementary functions are made of.

use std::ops::{Add, Mul, Sub};

/// An `f32`, or a register of several: the operations that the elementary functions are made of, each exactly that of
/// `f32` and `i32` lane by lane.
pub(crate) trait Float: Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> {
    /// Truth values of as many lanes.
    type Mask: Copy;
    /// 32-bit integers of as many lanes.
    type Int: Copy;

    fn lit(value: f32) -> Self;
    /// self / other, rounded once.
    fn quotient(self, other: Self) -> Self;
    /// `if self < other { other } else { self }`
    fn above(self, other: Self) -> Self;
    /// `if other < self { other } else { self }`
    fn below(self, other: Self) -> Self;
    fn less(self, other: Self) -> Self::Mask;
    fn equal(self, other: Self) -> Self::Mask;
    fn choose(mask: Self::Mask, a: Self, b: Self) -> Self;
    /// Tells whether the lowest bit is set.
    fn odd(int: Self::Int) -> Self::Mask;

    /// The bits, as an integer.
    fn to_int(self) -> Self::Int;
    /// The number of these bits.
    fn of_int(int: Self::Int) -> Self;
    fn int(value: i32) -> Self::Int;
    fn int_add(a: Self::Int, b: Self::Int) -> Self::Int;
    fn int_sub(a: Self::Int, b: Self::Int) -> Self::Int;
    fn int_and(a: Self::Int, b: Self::Int) -> Self::Int;
    fn int_or(a: Self::Int, b: Self::Int) -> Self::Int;
    fn int_xor(a: Self::Int, b: Self::Int) -> Self::Int;
    fn int_shl(a: Self::Int, n: u32) -> Self::Int;
    /// The sign bit comes in.
    fn int_shr(a: Self::Int, n: u32) -> Self::Int;
    /// The value as a number.
    fn from_int(int: Self::Int) -> Self;
}

impl Float for f32 {
    type Mask = bool;
    type Int = i32;

    #[inline(always)]
    fn lit(value: f32) -> f32 {
        value
    }
    #[inline(always)]
    fn quotient(self, other: f32) -> f32 {
        self / other
    }
    #[inline(always)]
    fn above(self, other: f32) -> f32 {
        if self < other { other } else { self }
    }
    #[inline(always)]
    fn below(self, other: f32) -> f32 {
        if other < self { other } else { self }
    }
    #[inline(always)]
    fn less(self, other: f32) -> bool {
        self < other
    }
    #[inline(always)]
    fn equal(self, other: f32) -> bool {
        self == other
    }
    #[inline(always)]
    fn choose(mask: bool, a: f32, b: f32) -> f32 {
        if mask { a } else { b }
    }
    #[inline(always)]
    fn odd(int: i32) -> bool {
        int & 1 != 0
    }
    #[inline(always)]
    fn to_int(self) -> i32 {
        self.to_bits() as i32
    }
    #[inline(always)]
    fn of_int(int: i32) -> f32 {
        f32::from_bits(int as u32)
    }
    #[inline(always)]
    fn int(value: i32) -> i32 {
        value
    }
    #[inline(always)]
    fn int_add(a: i32, b: i32) -> i32 {
        a.wrapping_add(b)
    }
    #[inline(always)]
    fn int_sub(a: i32, b: i32) -> i32 {
        a.wrapping_sub(b)
    }
    #[inline(always)]
    fn int_and(a: i32, b: i32) -> i32 {
        a & b
    }
    #[inline(always)]
    fn int_or(a: i32, b: i32) -> i32 {
        a | b
    }
    #[inline(always)]
    fn int_xor(a: i32, b: i32) -> i32 {
        a ^ b
    }
    #[inline(always)]
    fn int_shl(a: i32, n: u32) -> i32 {
        a << n
    }
    #[inline(always)]
    fn int_shr(a: i32, n: u32) -> i32 {
        a >> n
    }
    #[inline(always)]
    fn from_int(int: i32) -> f32 {
        int as f32
    }
}
