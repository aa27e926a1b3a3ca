//! The registers of AVX-512: masks have registers of their own.
#![allow(
    unsafe_code,
    reason = "intrinsics of the register's own instruction set, which `Register` demands of its users"
)]

use std::arch::x86_64::*;

use crate::env::engine::register::Register;
use crate::env::real::StepPart;

impl Register for __m512 {
    type Int = __m512i;
    type Mask = __mmask16;
    const LANES: usize = 16;

    #[inline(always)]
    fn apart<P: StepPart>(part: P) -> P::Output {
        /// Not inlined.
        #[inline(never)]
        #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")]
        fn done<P: StepPart>(part: P) -> P::Output {
            part.done()
        }
        unsafe { done(part) }
    }
    #[inline(always)]
    fn load(from: &[f32]) -> Self {
        assert!(from.len() >= 16);
        // SAFETY: as many values are there.
        unsafe { _mm512_loadu_ps(from.as_ptr()) }
    }
    #[inline(always)]
    fn store(self, to: &mut [f32]) {
        assert!(to.len() >= 16);
        // SAFETY: as many values have room.
        unsafe { _mm512_storeu_ps(to.as_mut_ptr(), self) }
    }
    #[inline(always)]
    fn splat(value: f32) -> Self {
        unsafe { _mm512_set1_ps(value) }
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        unsafe { _mm512_add_ps(self, other) }
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        unsafe { _mm512_sub_ps(self, other) }
    }
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        unsafe { _mm512_mul_ps(self, other) }
    }
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        unsafe { _mm512_div_ps(self, other) }
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        unsafe { _mm512_sqrt_ps(self) }
    }
    #[inline(always)]
    fn floor(self) -> Self {
        unsafe { _mm512_roundscale_ps::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>(self) }
    }
    #[inline(always)]
    fn above(self, other: Self) -> Self {
        // The instruction gives its second operand unless the first is larger.
        unsafe { _mm512_max_ps(other, self) }
    }
    #[inline(always)]
    fn below(self, other: Self) -> Self {
        unsafe { _mm512_min_ps(other, self) }
    }
    #[inline(always)]
    fn lt(self, other: Self) -> __mmask16 {
        unsafe { _mm512_cmp_ps_mask::<_CMP_LT_OQ>(self, other) }
    }
    #[inline(always)]
    fn le(self, other: Self) -> __mmask16 {
        unsafe { _mm512_cmp_ps_mask::<_CMP_LE_OQ>(self, other) }
    }
    #[inline(always)]
    fn eq(self, other: Self) -> __mmask16 {
        unsafe { _mm512_cmp_ps_mask::<_CMP_EQ_OQ>(self, other) }
    }
    #[inline(always)]
    fn select(mask: __mmask16, a: Self, b: Self) -> Self {
        unsafe { _mm512_mask_blend_ps(mask, b, a) }
    }
    #[inline(always)]
    fn to_int(self) -> __m512i {
        unsafe { _mm512_castps_si512(self) }
    }
    #[inline(always)]
    fn of_int(int: __m512i) -> Self {
        unsafe { _mm512_castsi512_ps(int) }
    }
    #[inline(always)]
    fn from_i32(int: __m512i) -> Self {
        unsafe { _mm512_cvtepi32_ps(int) }
    }
    #[inline(always)]
    fn from_u32(int: __m512i) -> Self {
        unsafe { _mm512_cvtepu32_ps(int) }
    }
    #[inline(always)]
    fn to_u32(self) -> __m512i {
        // What is not above 0 becomes 0, NaN included; what is too large becomes all ones.
        unsafe { _mm512_cvttps_epu32(_mm512_max_ps(self, _mm512_setzero_ps())) }
    }
    #[inline(always)]
    fn int(value: u32) -> __m512i {
        unsafe { _mm512_set1_epi32(value as i32) }
    }
    #[inline(always)]
    fn int_add(a: __m512i, b: __m512i) -> __m512i {
        unsafe { _mm512_add_epi32(a, b) }
    }
    #[inline(always)]
    fn int_sub(a: __m512i, b: __m512i) -> __m512i {
        unsafe { _mm512_sub_epi32(a, b) }
    }
    #[inline(always)]
    fn int_and(a: __m512i, b: __m512i) -> __m512i {
        unsafe { _mm512_and_si512(a, b) }
    }
    #[inline(always)]
    fn int_or(a: __m512i, b: __m512i) -> __m512i {
        unsafe { _mm512_or_si512(a, b) }
    }
    #[inline(always)]
    fn int_xor(a: __m512i, b: __m512i) -> __m512i {
        unsafe { _mm512_xor_si512(a, b) }
    }
    #[inline(always)]
    fn int_shl(a: __m512i, n: u32) -> __m512i {
        unsafe { _mm512_sll_epi32(a, _mm_cvtsi32_si128(n as i32)) }
    }
    #[inline(always)]
    fn int_shr(a: __m512i, n: u32) -> __m512i {
        unsafe { _mm512_srl_epi32(a, _mm_cvtsi32_si128(n as i32)) }
    }
    #[inline(always)]
    fn int_sar(a: __m512i, n: u32) -> __m512i {
        unsafe { _mm512_sra_epi32(a, _mm_cvtsi32_si128(n as i32)) }
    }
    #[inline(always)]
    fn int_below(a: __m512i, b: __m512i) -> __mmask16 {
        unsafe { _mm512_cmplt_epu32_mask(a, b) }
    }
    #[inline(always)]
    fn int_odd(a: __m512i) -> __mmask16 {
        unsafe { _mm512_test_epi32_mask(a, _mm512_set1_epi32(1)) }
    }
    #[inline(always)]
    fn int_select(mask: __mmask16, a: __m512i, b: __m512i) -> __m512i {
        unsafe { _mm512_mask_blend_epi32(mask, b, a) }
    }
    #[inline(always)]
    fn mask(value: bool) -> __mmask16 {
        if value { !0 } else { 0 }
    }
    #[inline(always)]
    fn mask_and(a: __mmask16, b: __mmask16) -> __mmask16 {
        a & b
    }
    #[inline(always)]
    fn mask_or(a: __mmask16, b: __mmask16) -> __mmask16 {
        a | b
    }
    #[inline(always)]
    fn mask_not(a: __mmask16) -> __mmask16 {
        !a
    }
    #[inline(always)]
    fn mask_any(a: __mmask16) -> bool {
        a != 0
    }
    #[inline(always)]
    fn mask_bits(a: __mmask16) -> __m512i {
        unsafe { _mm512_maskz_set1_epi32(a, 1) }
    }
}
