//! Elementwise kernels on contiguous values.
//!
//! u32 values are stored as the `f32` of the same bits (`bytemuck::cast_slice` turns a slice of one into the other).
//! Comparisons give u32 0 or 1. An operand
//! that is [`Operand::Dst`] makes an operation run in place.

use super::lanes::{Block, Choose, LANES, LaneSource, Map1, Map2, Spaced, store};
use super::ops;
use super::per_isa;
use crate::backend::cpu::simd::isa::Isa;
use std::marker::PhantomData;

/// An operation of one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// −x.
    Neg,
    /// 1 / x.
    Recip,
    /// [`crate::math::exp`].
    Exp,
    /// [`crate::math::log`].
    Log,
    /// √x.
    Sqrt,
    /// [`crate::math::sin`].
    Sin,
    /// [`crate::math::cos`].
    Cos,
    /// [`crate::math::tanh`].
    Tanh,
    /// [`crate::math::floor`].
    Floor,
    /// f32 → u32: truncated, saturating, NaN gives 0.
    ToU32,
    /// u32 → f32: nearest, ties to even.
    ToF32,
}

/// An operation of two operands; names ending in `U`, and those after them, act on u32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// a + b.
    Add,
    /// a · b.
    Mul,
    /// a · (1 + −(b · b)), rounded after each operation: the derivative of tanh from its value b.
    TanhGrad,
    /// `if a < b { b } else { a }`: NaN in `b` is dropped, NaN in `a` stays.
    Max,
    /// `if b < a { b } else { a }`: NaN in `b` is dropped, NaN in `a` stays.
    Min,
    /// a < b as u32.
    Lt,
    /// a = b as u32.
    Eq,
    /// a + b modulo 2³².
    AddU,
    /// a · b modulo 2³².
    MulU,
    /// The larger.
    MaxU,
    /// The smaller.
    MinU,
    /// a < b as u32.
    LtU,
    /// a = b as u32.
    EqU,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// a shifted left by b mod 32.
    Shl,
    /// a shifted right by b mod 32, filled with zeros.
    Shr,
}

/// An operand: as many values as the result has, or one for all.
#[derive(Clone, Copy, Debug)]
pub enum Operand<'a> {
    /// Value i belongs to result i.
    Slice(&'a [f32]),
    /// One value.
    Splat(f32),
    /// The values that the result's buffer holds before the call: the operation runs in place.
    Dst,
}

impl Operand<'_> {
    /// The operand as a kernel reads it, for a result of `len` values at `dst`; `block` is where one value is repeated.
    #[inline(always)]
    fn strided(self, block: &mut Block, dst: *const f32, len: usize) -> Spaced {
        match self {
            Operand::Slice(slice) => {
                check(slice.len(), len);
                Spaced { values: slice.as_ptr(), step: 1 }
            }
            Operand::Splat(value) => {
                *block = [value; LANES];
                Spaced { values: block.as_ptr(), step: 0 }
            }
            Operand::Dst => Spaced { values: dst, step: 1 },
        }
    }
}

/// Kernels read without further checks, so that lengths must agree.
#[inline(always)]
fn check(operand: usize, result: usize) {
    assert_eq!(operand, result, "operand and result differ in length");
}

/// An operation as a number: that of [`UnaryOp`], of [`BinaryOp`] from [`Code::BINARY`] on, or a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Code(pub u8);

impl Code {
    const BINARY: u8 = 16;
    pub const SELECT: Code = Code(40);
    pub const COPY: Code = Code(41);
    /// The first that is free.
    pub const OTHERS: u8 = 42;

    pub const fn unary(op: UnaryOp) -> Code {
        Code(op as u8)
    }

    pub const fn binary(op: BinaryOp) -> Code {
        Code(Code::BINARY + op as u8)
    }
}

/// dst\[i\] = op(x\[i\]).
///
/// # Panics
/// If the lengths differ.
pub fn unary(isa: Isa, op: UnaryOp, dst: &mut [f32], x: Operand<'_>) {
    run(isa, Code::unary(op), dst, [x; 3]);
}

/// dst\[i\] = op(a\[i\], b\[i\]).
///
/// # Panics
/// If the lengths differ.
pub fn binary(isa: Isa, op: BinaryOp, dst: &mut [f32], a: Operand<'_>, b: Operand<'_>) {
    run(isa, Code::binary(op), dst, [a, b, a]);
}

/// dst\[i\] = a\[i\] where mask\[i\] (u32) is not 0, else b\[i\].
///
/// # Panics
/// If the lengths differ.
pub fn select(isa: Isa, dst: &mut [f32], mask: Operand<'_>, a: Operand<'_>, b: Operand<'_>) {
    run(isa, Code::SELECT, dst, [mask, a, b]);
}

fn run(isa: Isa, code: Code, dst: &mut [f32], operands: [Operand<'_>; 3]) {
    let (dst, len) = (dst.as_mut_ptr(), dst.len());
    let mut blocks = [[0.0; LANES]; 3];
    let [x, y, z] = &mut blocks;
    let [a, b, c] = operands;
    let src = [a.strided(x, dst, len), b.strided(y, dst, len), c.strided(z, dst, len)];
    per_isa!(isa, code_body, (code: Code, dst: *mut f32, src: [Spaced; 3], len: usize));
}

/// (dst0\[i\], dst1\[i\]) = threefry2x32-20 of the counter (c0\[i\], c1\[i\]) under the key (k0\[i\], k1\[i\]), all
/// u32; `operands` are k0, k1, c0, c1 and must not be [`Operand::Dst`].
///
/// Salmon et al. 2011, doi:10.1145/2063384.2063405; the same integers as [`crate::rng`].
///
/// # Panics
/// If the lengths differ, or an operand is `Dst`, which of two results it would name.
pub fn threefry(isa: Isa, dst0: &mut [f32], dst1: &mut [f32], operands: [Operand<'_>; 4]) {
    let len = dst0.len();
    check(dst1.len(), len);
    assert!(!operands.iter().any(|operand| matches!(operand, Operand::Dst)), "threefry has no in-place form");
    let mut blocks = [[0.0; LANES]; 4];
    let [x, y, z, w] = &mut blocks;
    let [a, b, c, d] = operands;
    let none = std::ptr::null();
    let src = [a.strided(x, none, len), b.strided(y, none, len), c.strided(z, none, len), d.strided(w, none, len)];
    let (dst0, dst1) = (dst0.as_mut_ptr(), dst1.as_mut_ptr());
    per_isa!(isa, threefry_body, (dst0: *mut f32, dst1: *mut f32, src: [Spaced; 4], len: usize));
}

// SAFETY of the bodies: the safe functions above have checked that every pointer holds `len` values and that an
// operand is either apart from the result or the result itself.

/// One loop for each operation, whatever its operands are.
#[inline(always)]
pub(super) unsafe fn code_body(code: Code, dst: *mut f32, [a, b, c]: [Spaced; 3], len: usize) {
    macro_rules! run {
        (unary $($unary:ident)*; binary $($binary:ident)*) => {
            // SAFETY: see above.
            unsafe {
                match code {
                    $(code if code == const { Code::unary(UnaryOp::$unary) } => {
                        store(dst, Map1::<ops::$unary, _>(a, PhantomData), len)
                    })*
                    $(code if code == const { Code::binary(BinaryOp::$binary) } => {
                        store(dst, Map2::<ops::$binary, _, _>(a, b, PhantomData), len)
                    })*
                    Code::SELECT => store(dst, Choose(a, b, c), len),
                    _ => store(dst, a, len),
                }
            }
        };
    }
    run! {
        unary Neg Recip Exp Log Sqrt Sin Cos Tanh Floor ToU32 ToF32;
        binary Add Mul TanhGrad Max Min Lt Eq AddU MulU MaxU MinU LtU EqU And Or Xor Shl Shr
    }
}

#[cfg_attr(target_arch = "wasm32", inline(never))]
#[cfg_attr(not(target_arch = "wasm32"), inline(always))]
pub(super) unsafe fn threefry_body(dst0: *mut f32, dst1: *mut f32, src: [Spaced; 4], len: usize) {
    let mut i = 0;
    while i < len {
        let n = LANES.min(len - i);
        // SAFETY: i + n <= len.
        unsafe {
            let [k0, k1, c0, c1] = [bits(src[0], i, n), bits(src[1], i, n), bits(src[2], i, n), bits(src[3], i, n)];
            let (x0, x1) = ops::threefry(k0, k1, c0, c1);
            if n == LANES {
                dst0.add(i).cast::<[u32; LANES]>().write(x0);
                dst1.add(i).cast::<[u32; LANES]>().write(x1);
            } else {
                dst0.add(i).cast::<u32>().copy_from_nonoverlapping(x0.as_ptr(), n);
                dst1.add(i).cast::<u32>().copy_from_nonoverlapping(x1.as_ptr(), n);
            }
        }
        i += LANES;
    }
}

/// The `n` ≤ 16 values from `i` on as bits.
#[inline(always)]
unsafe fn bits(x: Spaced, i: usize, n: usize) -> [u32; LANES] {
    // SAFETY: i + n values are readable by the caller's promise.
    let block = unsafe { if n == LANES { x.block(i) } else { x.part(i, n) } };
    let mut y = [0; LANES];
    for j in 0..LANES {
        y[j] = block[j].to_bits();
    }
    y
}

#[cfg(test)]
#[path = "elementwise_tests.rs"]
pub(super) mod tests;
