//! The registers of AVX2: of a mask only the sign bits count.
#![allow(
    unsafe_code,
    reason = "intrinsics of the register's own instruction set, which `Register` demands of its users"
)]

use std::arch::x86_64::*;

use super::{f32_to_u32, lanewise, u32_to_f32};
use crate::env::engine::register::Register;
use crate::env::real::StepPart;

impl Register for __m256 {
    type Int = __m256i;
    type Mask = __m256;
    const LANES: usize = 8;

    #[inline(always)]
    fn apart<P: StepPart>(part: P) -> P::Output {
        /// Not inlined.
        #[inline(never)]
        #[target_feature(enable = "avx2,fma")]
        fn done<P: StepPart>(part: P) -> P::Output {
            part.done()
        }
        unsafe { done(part) }
    }
    #[inline(always)]
    fn load(from: &[f32]) -> Self {
        assert!(from.len() >= 8);
        // SAFETY: as many values are there.
        unsafe { _mm256_loadu_ps(from.as_ptr()) }
    }
    #[inline(always)]
    fn store(self, to: &mut [f32]) {
        assert!(to.len() >= 8);
        // SAFETY: as many values have room.
        unsafe { _mm256_storeu_ps(to.as_mut_ptr(), self) }
    }
    #[inline(always)]
    fn splat(value: f32) -> Self {
        unsafe { _mm256_set1_ps(value) }
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        unsafe { _mm256_add_ps(self, other) }
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        unsafe { _mm256_sub_ps(self, other) }
    }
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        unsafe { _mm256_mul_ps(self, other) }
    }
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        unsafe { _mm256_div_ps(self, other) }
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        unsafe { _mm256_sqrt_ps(self) }
    }
    #[inline(always)]
    fn floor(self) -> Self {
        unsafe { _mm256_floor_ps(self) }
    }
    #[inline(always)]
    fn above(self, other: Self) -> Self {
        // The instruction gives its second operand unless the first is larger.
        unsafe { _mm256_max_ps(other, self) }
    }
    #[inline(always)]
    fn below(self, other: Self) -> Self {
        unsafe { _mm256_min_ps(other, self) }
    }
    #[inline(always)]
    fn lt(self, other: Self) -> __m256 {
        unsafe { _mm256_cmp_ps::<_CMP_LT_OQ>(self, other) }
    }
    #[inline(always)]
    fn le(self, other: Self) -> __m256 {
        unsafe { _mm256_cmp_ps::<_CMP_LE_OQ>(self, other) }
    }
    #[inline(always)]
    fn eq(self, other: Self) -> __m256 {
        unsafe { _mm256_cmp_ps::<_CMP_EQ_OQ>(self, other) }
    }
    #[inline(always)]
    fn select(mask: __m256, a: Self, b: Self) -> Self {
        unsafe { _mm256_blendv_ps(b, a, mask) }
    }
    #[inline(always)]
    fn to_int(self) -> __m256i {
        unsafe { _mm256_castps_si256(self) }
    }
    #[inline(always)]
    fn of_int(int: __m256i) -> Self {
        unsafe { _mm256_castsi256_ps(int) }
    }
    #[inline(always)]
    fn from_i32(int: __m256i) -> Self {
        unsafe { _mm256_cvtepi32_ps(int) }
    }
    #[inline(always)]
    fn from_u32(int: __m256i) -> Self {
        let words: [u32; 8] = unsafe { std::mem::transmute(int) };
        unsafe { std::mem::transmute::<[u32; 8], __m256>(lanewise(words, u32_to_f32)) }
    }
    #[inline(always)]
    fn to_u32(self) -> __m256i {
        let words: [u32; 8] = unsafe { std::mem::transmute(self) };
        unsafe { std::mem::transmute::<[u32; 8], __m256i>(lanewise(words, f32_to_u32)) }
    }
    #[inline(always)]
    fn int(value: u32) -> __m256i {
        unsafe { _mm256_set1_epi32(value as i32) }
    }
    #[inline(always)]
    fn int_add(a: __m256i, b: __m256i) -> __m256i {
        unsafe { _mm256_add_epi32(a, b) }
    }
    #[inline(always)]
    fn int_sub(a: __m256i, b: __m256i) -> __m256i {
        unsafe { _mm256_sub_epi32(a, b) }
    }
    #[inline(always)]
    fn int_and(a: __m256i, b: __m256i) -> __m256i {
        unsafe { _mm256_and_si256(a, b) }
    }
    #[inline(always)]
    fn int_or(a: __m256i, b: __m256i) -> __m256i {
        unsafe { _mm256_or_si256(a, b) }
    }
    #[inline(always)]
    fn int_xor(a: __m256i, b: __m256i) -> __m256i {
        unsafe { _mm256_xor_si256(a, b) }
    }
    #[inline(always)]
    fn int_shl(a: __m256i, n: u32) -> __m256i {
        unsafe { _mm256_sll_epi32(a, _mm_cvtsi32_si128(n as i32)) }
    }
    #[inline(always)]
    fn int_shr(a: __m256i, n: u32) -> __m256i {
        unsafe { _mm256_srl_epi32(a, _mm_cvtsi32_si128(n as i32)) }
    }
    #[inline(always)]
    fn int_sar(a: __m256i, n: u32) -> __m256i {
        unsafe { _mm256_sra_epi32(a, _mm_cvtsi32_si128(n as i32)) }
    }
    #[inline(always)]
    fn int_below(a: __m256i, b: __m256i) -> __m256 {
        let flip = Self::int(1 << 31);
        // There are signed comparisons only.
        unsafe { _mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_xor_si256(b, flip), _mm256_xor_si256(a, flip))) }
    }
    #[inline(always)]
    fn int_odd(a: __m256i) -> __m256 {
        unsafe { _mm256_castsi256_ps(_mm256_slli_epi32::<31>(a)) }
    }
    #[inline(always)]
    fn int_select(mask: __m256, a: __m256i, b: __m256i) -> __m256i {
        unsafe { _mm256_castps_si256(_mm256_blendv_ps(_mm256_castsi256_ps(b), _mm256_castsi256_ps(a), mask)) }
    }
    #[inline(always)]
    fn mask(value: bool) -> __m256 {
        Self::of_int(Self::int(if value { !0 } else { 0 }))
    }
    #[inline(always)]
    fn mask_and(a: __m256, b: __m256) -> __m256 {
        unsafe { _mm256_and_ps(a, b) }
    }
    #[inline(always)]
    fn mask_or(a: __m256, b: __m256) -> __m256 {
        unsafe { _mm256_or_ps(a, b) }
    }
    #[inline(always)]
    fn mask_not(a: __m256) -> __m256 {
        unsafe { _mm256_xor_ps(a, Self::mask(true)) }
    }
    #[inline(always)]
    fn mask_any(a: __m256) -> bool {
        unsafe { _mm256_movemask_ps(a) != 0 }
    }
    #[inline(always)]
    fn mask_bits(a: __m256) -> __m256i {
        unsafe { _mm256_srli_epi32::<31>(_mm256_castps_si256(a)) }
    }
}
