//! Elementwise kernels on contiguous values.
//!
//! u32 values are stored as the `f32` of the same bits (`bytemuck::cast_slice` turns a slice of one into the other).
//! Comparisons give u32 0 or 1. An operand
//! that is [`Operand::Dst`] makes an operation run in place.

use super::lanes::{Choose, Contiguous, LANES, Lane2, Map1, Map2, Same, store};
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
    /// The operand without its lifetime, for a result of `len` values at `dst`.
    #[inline(always)]
    fn raw(self, dst: *const f32, len: usize) -> Raw {
        match self {
            Operand::Slice(slice) => {
                check(slice.len(), len);
                Raw::Slice(slice.as_ptr())
            }
            Operand::Splat(value) => Raw::Splat(value),
            Operand::Dst => Raw::Slice(dst),
        }
    }
}

/// Kernels read without further checks, so that lengths must agree.
#[inline(always)]
fn check(operand: usize, result: usize) {
    assert_eq!(operand, result, "operand and result differ in length");
}

/// An operand whose length has been checked.
#[derive(Clone, Copy)]
pub(super) enum Raw {
    Slice(*const f32),
    Splat(f32),
}

/// dst\[i\] = op(x\[i\]).
///
/// # Panics
/// If the lengths differ.
pub fn unary(isa: Isa, op: UnaryOp, dst: &mut [f32], x: Operand<'_>) {
    let (dst, len) = (dst.as_mut_ptr(), dst.len());
    match x.raw(dst, len) {
        Raw::Slice(x) => per_isa!(isa, unary_body, (op: UnaryOp, dst: *mut f32, x: *const f32, len: usize)),
        Raw::Splat(value) => {
            let mut y = [value];
            unary(Isa::Baseline, op, &mut y, Operand::Dst);
            // SAFETY: the `len` values of the slice taken apart above.
            unsafe { std::slice::from_raw_parts_mut(dst, len) }.fill(y[0]);
        }
    }
}

/// dst\[i\] = op(a\[i\], b\[i\]).
///
/// # Panics
/// If the lengths differ.
pub fn binary(isa: Isa, op: BinaryOp, dst: &mut [f32], a: Operand<'_>, b: Operand<'_>) {
    let (dst, len) = (dst.as_mut_ptr(), dst.len());
    let (a, b) = (a.raw(dst, len), b.raw(dst, len));
    per_isa!(isa, binary_body, (op: BinaryOp, dst: *mut f32, a: Raw, b: Raw, len: usize));
}

/// dst\[i\] = a\[i\] where mask\[i\] (u32) is not 0, else b\[i\].
///
/// # Panics
/// If the lengths differ.
pub fn select(isa: Isa, dst: &mut [f32], mask: Operand<'_>, a: Operand<'_>, b: Operand<'_>) {
    let (dst, len) = (dst.as_mut_ptr(), dst.len());
    let (mask, a, b) = (mask.raw(dst, len), a.raw(dst, len), b.raw(dst, len));
    per_isa!(isa, select_body, (dst: *mut f32, mask: Raw, a: Raw, b: Raw, len: usize));
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
    let operands = operands.map(|operand| operand.raw(std::ptr::null(), len));
    let (dst0, dst1) = (dst0.as_mut_ptr(), dst1.as_mut_ptr());
    per_isa!(isa, threefry_body, (dst0: *mut f32, dst1: *mut f32, operands: [Raw; 4], len: usize));
}

// SAFETY of the bodies: the safe functions above have checked that every pointer holds `len` values and that an
// operand is either apart from the result or the result itself.

#[inline(always)]
pub(super) unsafe fn unary_body(op: UnaryOp, dst: *mut f32, x: *const f32, len: usize) {
    let x = Contiguous(x);
    macro_rules! run {
        ($op:ty) => {
            unsafe { store(dst, Map1::<$op, _>(x, PhantomData), len) }
        };
    }
    match op {
        UnaryOp::Neg => run!(ops::Neg),
        UnaryOp::Recip => run!(ops::Recip),
        UnaryOp::Exp => run!(ops::Exp),
        UnaryOp::Log => run!(ops::Log),
        UnaryOp::Sqrt => run!(ops::Sqrt),
        UnaryOp::Sin => run!(ops::Sin),
        UnaryOp::Cos => run!(ops::Cos),
        UnaryOp::Tanh => run!(ops::Tanh),
        UnaryOp::Floor => run!(ops::Floor),
        UnaryOp::ToU32 => run!(ops::ToU32),
        UnaryOp::ToF32 => run!(ops::ToF32),
    }
}

#[inline(always)]
pub(super) unsafe fn binary_body(op: BinaryOp, dst: *mut f32, a: Raw, b: Raw, len: usize) {
    macro_rules! run {
        ($op:ty) => {
            unsafe {
                match (a, b) {
                    (Raw::Slice(a), Raw::Slice(b)) => {
                        store(dst, Map2::<$op, _, _>(Contiguous(a), Contiguous(b), PhantomData), len)
                    }
                    (Raw::Slice(a), Raw::Splat(b)) => {
                        store(dst, Map2::<$op, _, _>(Contiguous(a), Same(b), PhantomData), len)
                    }
                    (Raw::Splat(a), Raw::Slice(b)) => {
                        store(dst, Map2::<$op, _, _>(Same(a), Contiguous(b), PhantomData), len)
                    }
                    (Raw::Splat(a), Raw::Splat(b)) => store(dst, Same(<$op as Lane2>::apply(a, b)), len),
                }
            }
        };
    }
    match op {
        BinaryOp::Add => run!(ops::Add),
        BinaryOp::Mul => run!(ops::Mul),
        BinaryOp::TanhGrad => run!(ops::TanhGrad),
        BinaryOp::Max => run!(ops::Max),
        BinaryOp::Min => run!(ops::Min),
        BinaryOp::Lt => run!(ops::Lt),
        BinaryOp::Eq => run!(ops::Eq),
        BinaryOp::AddU => run!(ops::AddU),
        BinaryOp::MulU => run!(ops::MulU),
        BinaryOp::MaxU => run!(ops::MaxU),
        BinaryOp::MinU => run!(ops::MinU),
        BinaryOp::LtU => run!(ops::LtU),
        BinaryOp::EqU => run!(ops::EqU),
        BinaryOp::And => run!(ops::And),
        BinaryOp::Or => run!(ops::Or),
        BinaryOp::Xor => run!(ops::Xor),
        BinaryOp::Shl => run!(ops::Shl),
        BinaryOp::Shr => run!(ops::Shr),
    }
}

#[inline(always)]
pub(super) unsafe fn select_body(dst: *mut f32, mask: Raw, a: Raw, b: Raw, len: usize) {
    // One mask for all is the chosen operand.
    let mask = match mask {
        Raw::Slice(mask) => Contiguous(mask),
        Raw::Splat(mask) => {
            let chosen = if mask.to_bits() != 0 { a } else { b };
            return unsafe {
                match chosen {
                    Raw::Slice(x) if std::ptr::eq(x, dst) => {}
                    Raw::Slice(x) => store(dst, Contiguous(x), len),
                    Raw::Splat(x) => store(dst, Same(x), len),
                }
            };
        }
    };
    unsafe {
        match (a, b) {
            (Raw::Slice(a), Raw::Slice(b)) => store(dst, Choose(mask, Contiguous(a), Contiguous(b)), len),
            (Raw::Slice(a), Raw::Splat(b)) => store(dst, Choose(mask, Contiguous(a), Same(b)), len),
            (Raw::Splat(a), Raw::Slice(b)) => store(dst, Choose(mask, Same(a), Contiguous(b)), len),
            (Raw::Splat(a), Raw::Splat(b)) => store(dst, Choose(mask, Same(a), Same(b)), len),
        }
    }
}

#[cfg_attr(target_arch = "wasm32", inline(never))]
#[cfg_attr(not(target_arch = "wasm32"), inline(always))]
pub(super) unsafe fn threefry_body(dst0: *mut f32, dst1: *mut f32, operands: [Raw; 4], len: usize) {
    let [k0, k1, c0, c1] = operands;
    let mut i = 0;
    while i + LANES <= len {
        // SAFETY: i + 16 <= len.
        unsafe {
            let (x0, x1) = ops::threefry(bits(k0, i), bits(k1, i), bits(c0, i), bits(c1, i));
            dst0.add(i).cast::<[u32; LANES]>().write(x0);
            dst1.add(i).cast::<[u32; LANES]>().write(x1);
        }
        i += LANES;
    }
    let n = len - i;
    if n > 0 {
        // SAFETY: i + n = len, n < 16.
        unsafe {
            let (k0, k1) = (first_bits(k0, i, n), first_bits(k1, i, n));
            let (x0, x1) = ops::threefry(k0, k1, first_bits(c0, i, n), first_bits(c1, i, n));
            dst0.add(i).cast::<u32>().copy_from_nonoverlapping(x0.as_ptr(), n);
            dst1.add(i).cast::<u32>().copy_from_nonoverlapping(x1.as_ptr(), n);
        }
    }
}

/// The 16 values from `i` on as bits.
#[inline(always)]
unsafe fn bits(raw: Raw, i: usize) -> [u32; LANES] {
    match raw {
        // SAFETY: i + 16 values are readable by the caller's promise.
        Raw::Slice(x) => unsafe { x.add(i).cast::<[u32; LANES]>().read() },
        Raw::Splat(x) => [x.to_bits(); LANES],
    }
}

/// The `n` < 16 values from `i` on as bits, the rest 0.
#[inline(always)]
unsafe fn first_bits(raw: Raw, i: usize, n: usize) -> [u32; LANES] {
    let mut block = [0; LANES];
    match raw {
        // SAFETY: i + n values are readable by the caller's promise.
        Raw::Slice(x) => unsafe { x.add(i).cast::<u32>().copy_to_nonoverlapping(block.as_mut_ptr(), n) },
        Raw::Splat(x) => block = [x.to_bits(); LANES],
    }
    block
}

#[cfg(test)]
#[path = "elementwise_tests.rs"]
mod tests;
