//! The registers of SSE2, the baseline: a mask has all bits of a lane alike.
#![allow(
    unsafe_code,
    reason = "intrinsics of the register's own instruction set, which `Register` demands of its users"
)]

use std::arch::x86_64::*;

use super::{f32_to_u32, lanewise, u32_to_f32};
use crate::env::engine::register::{Reg, Register};
use crate::env::real::StepPart;

impl Register for __m128 {
    type Int = __m128i;
    type Mask = __m128;
    const LANES: usize = 4;

    #[inline(always)]
    fn apart<P: StepPart>(part: P) -> P::Output {
        /// Not inlined.
        #[inline(never)]
        fn done<P: StepPart>(part: P) -> P::Output {
            part.done()
        }
        done(part)
    }
    #[inline(always)]
    fn load(from: &[f32]) -> Self {
        assert!(from.len() >= 4);
        // SAFETY: as many values are there.
        unsafe { _mm_loadu_ps(from.as_ptr()) }
    }
    #[inline(always)]
    fn store(self, to: &mut [f32]) {
        assert!(to.len() >= 4);
        // SAFETY: as many values have room.
        unsafe { _mm_storeu_ps(to.as_mut_ptr(), self) }
    }
    #[inline(always)]
    fn splat(value: f32) -> Self {
        unsafe { _mm_set1_ps(value) }
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        unsafe { _mm_add_ps(self, other) }
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        unsafe { _mm_sub_ps(self, other) }
    }
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        unsafe { _mm_mul_ps(self, other) }
    }
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        unsafe { _mm_div_ps(self, other) }
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        unsafe { _mm_sqrt_ps(self) }
    }
    #[inline(always)]
    fn floor(self) -> Self {
        crate::math::functions::floor(Reg(self)).0
    }
    #[inline(always)]
    fn above(self, other: Self) -> Self {
        // The instruction gives its second operand unless the first is larger.
        unsafe { _mm_max_ps(other, self) }
    }
    #[inline(always)]
    fn below(self, other: Self) -> Self {
        unsafe { _mm_min_ps(other, self) }
    }
    #[inline(always)]
    fn lt(self, other: Self) -> __m128 {
        unsafe { _mm_cmplt_ps(self, other) }
    }
    #[inline(always)]
    fn le(self, other: Self) -> __m128 {
        unsafe { _mm_cmple_ps(self, other) }
    }
    #[inline(always)]
    fn eq(self, other: Self) -> __m128 {
        unsafe { _mm_cmpeq_ps(self, other) }
    }
    #[inline(always)]
    fn select(mask: __m128, a: Self, b: Self) -> Self {
        unsafe { _mm_or_ps(_mm_and_ps(mask, a), _mm_andnot_ps(mask, b)) }
    }
    #[inline(always)]
    fn to_int(self) -> __m128i {
        unsafe { _mm_castps_si128(self) }
    }
    #[inline(always)]
    fn of_int(int: __m128i) -> Self {
        unsafe { _mm_castsi128_ps(int) }
    }
    #[inline(always)]
    fn from_i32(int: __m128i) -> Self {
        unsafe { _mm_cvtepi32_ps(int) }
    }
    #[inline(always)]
    fn from_u32(int: __m128i) -> Self {
        let words: [u32; 4] = unsafe { std::mem::transmute(int) };
        unsafe { std::mem::transmute::<[u32; 4], __m128>(lanewise(words, u32_to_f32)) }
    }
    #[inline(always)]
    fn to_u32(self) -> __m128i {
        let words: [u32; 4] = unsafe { std::mem::transmute(self) };
        unsafe { std::mem::transmute::<[u32; 4], __m128i>(lanewise(words, f32_to_u32)) }
    }
    #[inline(always)]
    fn int(value: u32) -> __m128i {
        unsafe { _mm_set1_epi32(value as i32) }
    }
    #[inline(always)]
    fn int_add(a: __m128i, b: __m128i) -> __m128i {
        unsafe { _mm_add_epi32(a, b) }
    }
    #[inline(always)]
    fn int_sub(a: __m128i, b: __m128i) -> __m128i {
        unsafe { _mm_sub_epi32(a, b) }
    }
    #[inline(always)]
    fn int_and(a: __m128i, b: __m128i) -> __m128i {
        unsafe { _mm_and_si128(a, b) }
    }
    #[inline(always)]
    fn int_or(a: __m128i, b: __m128i) -> __m128i {
        unsafe { _mm_or_si128(a, b) }
    }
    #[inline(always)]
    fn int_xor(a: __m128i, b: __m128i) -> __m128i {
        unsafe { _mm_xor_si128(a, b) }
    }
    #[inline(always)]
    fn int_shl(a: __m128i, n: u32) -> __m128i {
        unsafe { _mm_sll_epi32(a, _mm_cvtsi32_si128(n as i32)) }
    }
    #[inline(always)]
    fn int_shr(a: __m128i, n: u32) -> __m128i {
        unsafe { _mm_srl_epi32(a, _mm_cvtsi32_si128(n as i32)) }
    }
    #[inline(always)]
    fn int_sar(a: __m128i, n: u32) -> __m128i {
        unsafe { _mm_sra_epi32(a, _mm_cvtsi32_si128(n as i32)) }
    }
    #[inline(always)]
    fn int_below(a: __m128i, b: __m128i) -> __m128 {
        let flip = Self::int(1 << 31);
        // There are signed comparisons only.
        unsafe { _mm_castsi128_ps(_mm_cmplt_epi32(_mm_xor_si128(a, flip), _mm_xor_si128(b, flip))) }
    }
    #[inline(always)]
    fn int_odd(a: __m128i) -> __m128 {
        unsafe { _mm_castsi128_ps(_mm_srai_epi32::<31>(_mm_slli_epi32::<31>(a))) }
    }
    #[inline(always)]
    fn int_select(mask: __m128, a: __m128i, b: __m128i) -> __m128i {
        Self::select(mask, Self::of_int(a), Self::of_int(b)).to_int()
    }
    #[inline(always)]
    fn mask(value: bool) -> __m128 {
        Self::of_int(Self::int(if value { !0 } else { 0 }))
    }
    #[inline(always)]
    fn mask_and(a: __m128, b: __m128) -> __m128 {
        unsafe { _mm_and_ps(a, b) }
    }
    #[inline(always)]
    fn mask_or(a: __m128, b: __m128) -> __m128 {
        unsafe { _mm_or_ps(a, b) }
    }
    #[inline(always)]
    fn mask_not(a: __m128) -> __m128 {
        unsafe { _mm_xor_ps(a, Self::mask(true)) }
    }
    #[inline(always)]
    fn mask_any(a: __m128) -> bool {
        unsafe { _mm_movemask_ps(a) != 0 }
    }
    #[inline(always)]
    fn mask_bits(a: __m128) -> __m128i {
        unsafe { _mm_srli_epi32::<31>(_mm_castps_si128(a)) }
    }
}
