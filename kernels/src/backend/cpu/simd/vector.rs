//! Vector registers: what the matrix kernels need of each instruction set.

use super::lanes::LANES;

/// A register of `f32` lanes.
///
/// # Safety
/// All functions need the instruction set of the type to be enabled where they are inlined, and valid pointers.
pub(crate) trait Vector: Copy {
    /// Lanes per register.
    const LANES: usize;
    /// Registers that the instruction set has.
    const REGISTERS: usize;
    /// Rows of a product's tile two registers wide: as many as leave room for the rest.
    const ROWS: usize;
    unsafe fn splat(x: f32) -> Self;
    unsafe fn load(from: *const f32) -> Self;
    unsafe fn store(self, to: *mut f32);
    unsafe fn add(self, other: Self) -> Self;
    /// self · factor + acc, rounded once where the instruction set fuses ([`super::isa::Isa::fuses`]).
    unsafe fn mul_add(self, factor: Self, acc: Self) -> Self;
    /// 0 where self < 0, else self: −0 and NaN stay.
    unsafe fn relu(self) -> Self;
    /// 0 where x < 0, else self.
    unsafe fn gate(self, x: Self) -> Self;
    /// The sum of 16 values by the tree of [`super::reduce`], in the first registers of four that hold 16 lanes.
    #[inline(always)]
    unsafe fn tree([a, b, c, d]: [Self; 4]) -> f32 {
        // SAFETY: by the caller's promise; a register of the baseline has four lanes.
        unsafe {
            let mut sum = [0.0; 4];
            a.add(c).add(b.add(d)).store(sum.as_mut_ptr());
            (sum[0] + sum[2]) + (sum[1] + sum[3])
        }
    }
    /// dst\[c\]\[r\] = src\[r\]\[c\] for 16 × 16 values with rows `src_row` and `dst_row` apart.
    unsafe fn transpose(dst: *mut f32, dst_row: usize, src: *const f32, src_row: usize);
}

/// Call `$body::<V>(args)` with the register type of the instruction set `$isa`, compiled for it.
macro_rules! per_vector {
    ($isa:expr, $body:ident, ($($arg:ident: $ty:ty),* $(,)?)) => {{
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")]
        unsafe fn avx512($($arg: $ty),*) {
            // SAFETY: forwarded from the caller.
            unsafe { $body::<std::arch::x86_64::__m512>($($arg),*) }
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma")]
        unsafe fn avx2($($arg: $ty),*) {
            // SAFETY: forwarded from the caller.
            unsafe { $body::<std::arch::x86_64::__m256>($($arg),*) }
        }
        // SAFETY: `or_less` returns only what the processor has; the body's own conditions are the caller's.
        match $isa.or_less() {
            #[cfg(target_arch = "x86_64")]
            $crate::backend::cpu::simd::isa::Isa::Avx512 => unsafe { avx512($($arg),*) },
            #[cfg(target_arch = "x86_64")]
            $crate::backend::cpu::simd::isa::Isa::Avx2 => unsafe { avx2($($arg),*) },
            _ => unsafe { $body::<$crate::backend::cpu::simd::vector::Base>($($arg),*) },
        }
    }};
}
pub(crate) use per_vector;

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{LANES, Vector};
    use std::arch::x86_64::*;

    // A transposition shuffles on one port only, so rows are brought into 128-bit lanes by loads: register (q, i) holds
    // columns 4q..4q+4 of rows i, i+4, i+8, … in its lanes. What is left is a 4 × 4 transposition within lanes.

    impl Vector for __m512 {
        const LANES: usize = 16;
        const REGISTERS: usize = 32;
        const ROWS: usize = 6;
        #[inline(always)]
        unsafe fn splat(x: f32) -> Self {
            unsafe { _mm512_set1_ps(x) }
        }
        #[inline(always)]
        unsafe fn load(from: *const f32) -> Self {
            unsafe { _mm512_loadu_ps(from) }
        }
        #[inline(always)]
        unsafe fn store(self, to: *mut f32) {
            unsafe { _mm512_storeu_ps(to, self) }
        }
        #[inline(always)]
        unsafe fn add(self, other: Self) -> Self {
            unsafe { _mm512_add_ps(self, other) }
        }
        #[inline(always)]
        unsafe fn mul_add(self, factor: Self, acc: Self) -> Self {
            unsafe { _mm512_fmadd_ps(self, factor, acc) }
        }
        #[inline(always)]
        unsafe fn relu(self) -> Self {
            unsafe { _mm512_max_ps(_mm512_setzero_ps(), self) }
        }
        #[inline(always)]
        unsafe fn gate(self, x: Self) -> Self {
            unsafe { _mm512_maskz_mov_ps(_mm512_cmp_ps_mask::<_CMP_NLT_UQ>(x, _mm512_setzero_ps()), self) }
        }
        #[inline(always)]
        unsafe fn tree(parts: [Self; 4]) -> f32 {
            unsafe {
                let high = _mm512_extractf32x8_ps::<1>(parts[0]);
                sum8(_mm256_add_ps(_mm512_castps512_ps256(parts[0]), high))
            }
        }
        #[inline(always)]
        unsafe fn transpose(dst: *mut f32, dst_row: usize, src: *const f32, src_row: usize) {
            for q in 0..4 {
                unsafe {
                    let (r0, r1) = (rows512(src.add(4 * q), src_row), rows512(src.add(src_row + 4 * q), src_row));
                    let src = src.add(2 * src_row);
                    let (r2, r3) = (rows512(src.add(4 * q), src_row), rows512(src.add(src_row + 4 * q), src_row));
                    let (t0, t1) = (_mm512_unpacklo_ps(r0, r1), _mm512_unpackhi_ps(r0, r1));
                    let (t2, t3) = (_mm512_unpacklo_ps(r2, r3), _mm512_unpackhi_ps(r2, r3));
                    let dst = dst.add(4 * q * dst_row);
                    _mm512_storeu_ps(dst, _mm512_shuffle_ps::<0x44>(t0, t2));
                    _mm512_storeu_ps(dst.add(dst_row), _mm512_shuffle_ps::<0xee>(t0, t2));
                    _mm512_storeu_ps(dst.add(2 * dst_row), _mm512_shuffle_ps::<0x44>(t1, t3));
                    _mm512_storeu_ps(dst.add(3 * dst_row), _mm512_shuffle_ps::<0xee>(t1, t3));
                }
            }
        }
    }

    /// The sum of eight values: halves are added until one is left.
    #[inline(always)]
    unsafe fn sum8(x: __m256) -> f32 {
        unsafe { sum4(_mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps::<1>(x))) }
    }

    /// The sum of four values: halves are added until one is left.
    #[inline(always)]
    unsafe fn sum4(x: __m128) -> f32 {
        unsafe {
            let two = _mm_add_ps(x, _mm_movehl_ps(x, x));
            _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
        }
    }

    /// Four values each of rows 0, 4, 8 and 12 from `src` on.
    #[inline(always)]
    unsafe fn rows512(src: *const f32, row: usize) -> __m512 {
        unsafe {
            let x = _mm512_castps128_ps512(_mm_loadu_ps(src));
            let x = _mm512_insertf32x4::<1>(x, _mm_loadu_ps(src.add(4 * row)));
            let x = _mm512_insertf32x4::<2>(x, _mm_loadu_ps(src.add(8 * row)));
            _mm512_insertf32x4::<3>(x, _mm_loadu_ps(src.add(12 * row)))
        }
    }

    impl Vector for __m256 {
        const LANES: usize = 8;
        const REGISTERS: usize = 16;
        const ROWS: usize = 6;
        #[inline(always)]
        unsafe fn splat(x: f32) -> Self {
            unsafe { _mm256_set1_ps(x) }
        }
        #[inline(always)]
        unsafe fn load(from: *const f32) -> Self {
            unsafe { _mm256_loadu_ps(from) }
        }
        #[inline(always)]
        unsafe fn store(self, to: *mut f32) {
            unsafe { _mm256_storeu_ps(to, self) }
        }
        #[inline(always)]
        unsafe fn add(self, other: Self) -> Self {
            unsafe { _mm256_add_ps(self, other) }
        }
        #[inline(always)]
        unsafe fn mul_add(self, factor: Self, acc: Self) -> Self {
            unsafe { _mm256_fmadd_ps(self, factor, acc) }
        }
        #[inline(always)]
        unsafe fn relu(self) -> Self {
            unsafe { _mm256_max_ps(_mm256_setzero_ps(), self) }
        }
        #[inline(always)]
        unsafe fn gate(self, x: Self) -> Self {
            unsafe { _mm256_andnot_ps(_mm256_cmp_ps::<_CMP_LT_OQ>(x, _mm256_setzero_ps()), self) }
        }
        #[inline(always)]
        unsafe fn tree(parts: [Self; 4]) -> f32 {
            unsafe { sum8(_mm256_add_ps(parts[0], parts[1])) }
        }
        #[inline(always)]
        unsafe fn transpose(dst: *mut f32, dst_row: usize, src: *const f32, src_row: usize) {
            for half in 0..2 {
                for q in 0..4 {
                    unsafe {
                        let src = src.add(8 * half * src_row + 4 * q);
                        let (r0, r1) = (rows256(src, src_row), rows256(src.add(src_row), src_row));
                        let src = src.add(2 * src_row);
                        let (r2, r3) = (rows256(src, src_row), rows256(src.add(src_row), src_row));
                        let (t0, t1) = (_mm256_unpacklo_ps(r0, r1), _mm256_unpackhi_ps(r0, r1));
                        let (t2, t3) = (_mm256_unpacklo_ps(r2, r3), _mm256_unpackhi_ps(r2, r3));
                        let dst = dst.add(4 * q * dst_row + 8 * half);
                        _mm256_storeu_ps(dst, _mm256_shuffle_ps::<0x44>(t0, t2));
                        _mm256_storeu_ps(dst.add(dst_row), _mm256_shuffle_ps::<0xee>(t0, t2));
                        _mm256_storeu_ps(dst.add(2 * dst_row), _mm256_shuffle_ps::<0x44>(t1, t3));
                        _mm256_storeu_ps(dst.add(3 * dst_row), _mm256_shuffle_ps::<0xee>(t1, t3));
                    }
                }
            }
        }
    }

    /// Four values each of rows 0 and 4 from `src` on.
    #[inline(always)]
    unsafe fn rows256(src: *const f32, row: usize) -> __m256 {
        unsafe {
            let low = _mm256_castps128_ps256(_mm_loadu_ps(src));
            _mm256_insertf128_ps::<1>(low, _mm_loadu_ps(src.add(4 * row)))
        }
    }

    /// SSE2: no fused multiply-add.
    impl Vector for __m128 {
        const LANES: usize = 4;
        const REGISTERS: usize = 16;
        const ROWS: usize = 6;
        #[inline(always)]
        unsafe fn splat(x: f32) -> Self {
            unsafe { _mm_set1_ps(x) }
        }
        #[inline(always)]
        unsafe fn load(from: *const f32) -> Self {
            unsafe { _mm_loadu_ps(from) }
        }
        #[inline(always)]
        unsafe fn store(self, to: *mut f32) {
            unsafe { _mm_storeu_ps(to, self) }
        }
        #[inline(always)]
        unsafe fn add(self, other: Self) -> Self {
            unsafe { _mm_add_ps(self, other) }
        }
        #[inline(always)]
        unsafe fn mul_add(self, factor: Self, acc: Self) -> Self {
            unsafe { _mm_add_ps(_mm_mul_ps(self, factor), acc) }
        }
        #[inline(always)]
        unsafe fn relu(self) -> Self {
            unsafe { _mm_max_ps(_mm_setzero_ps(), self) }
        }
        #[inline(always)]
        unsafe fn gate(self, x: Self) -> Self {
            unsafe { _mm_andnot_ps(_mm_cmplt_ps(x, _mm_setzero_ps()), self) }
        }
        #[inline(always)]
        unsafe fn tree([a, b, c, d]: [Self; 4]) -> f32 {
            unsafe { sum4(_mm_add_ps(_mm_add_ps(a, c), _mm_add_ps(b, d))) }
        }
        #[inline(always)]
        unsafe fn transpose(dst: *mut f32, dst_row: usize, src: *const f32, src_row: usize) {
            for p in (0..LANES).step_by(4) {
                for q in (0..LANES).step_by(4) {
                    unsafe {
                        let (src, dst) = (src.add(p * src_row + q), dst.add(q * dst_row + p));
                        let (mut r0, mut r1) = (_mm_loadu_ps(src), _mm_loadu_ps(src.add(src_row)));
                        let mut r2 = _mm_loadu_ps(src.add(2 * src_row));
                        let mut r3 = _mm_loadu_ps(src.add(3 * src_row));
                        _MM_TRANSPOSE4_PS(&mut r0, &mut r1, &mut r2, &mut r3);
                        _mm_storeu_ps(dst, r0);
                        _mm_storeu_ps(dst.add(dst_row), r1);
                        _mm_storeu_ps(dst.add(2 * dst_row), r2);
                        _mm_storeu_ps(dst.add(3 * dst_row), r3);
                    }
                }
            }
        }
    }
}

/// The register of the baseline.
#[cfg(target_arch = "x86_64")]
pub(crate) type Base = std::arch::x86_64::__m128;

/// The register of the baseline: NEON.
#[cfg(target_arch = "aarch64")]
pub(crate) type Base = std::arch::aarch64::float32x4_t;

#[cfg(target_arch = "aarch64")]
mod neon {
    use super::{Vector, transpose_scalars};
    use std::arch::aarch64::*;

    impl Vector for float32x4_t {
        const LANES: usize = 4;
        const REGISTERS: usize = 32;
        const ROWS: usize = 6;
        #[inline(always)]
        unsafe fn splat(x: f32) -> Self {
            unsafe { vdupq_n_f32(x) }
        }
        #[inline(always)]
        unsafe fn load(from: *const f32) -> Self {
            unsafe { vld1q_f32(from) }
        }
        #[inline(always)]
        unsafe fn store(self, to: *mut f32) {
            unsafe { vst1q_f32(to, self) }
        }
        #[inline(always)]
        unsafe fn add(self, other: Self) -> Self {
            unsafe { vaddq_f32(self, other) }
        }
        #[inline(always)]
        unsafe fn mul_add(self, factor: Self, acc: Self) -> Self {
            unsafe { vfmaq_f32(acc, self, factor) }
        }
        #[inline(always)]
        unsafe fn relu(self) -> Self {
            unsafe { self.gate(self) }
        }
        #[inline(always)]
        unsafe fn gate(self, x: Self) -> Self {
            unsafe { vbslq_f32(vcltzq_f32(x), vdupq_n_f32(0.0), self) }
        }
        #[inline(always)]
        unsafe fn transpose(dst: *mut f32, dst_row: usize, src: *const f32, src_row: usize) {
            unsafe { transpose_scalars(dst, dst_row, src, src_row) }
        }
    }
}

/// The register of the baseline: simd128.
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
pub(crate) type Base = std::arch::wasm32::v128;

#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod simd128 {
    use super::{LANES, Vector};
    use std::arch::wasm32::*;

    /// No fused multiply-add: the relaxed one is fused on some processors only.
    impl Vector for v128 {
        const LANES: usize = 4;
        const REGISTERS: usize = 16;
        // Engines keep one of x86's 16 registers for themselves, and compilers load all operands of a
        // step before they use them: 4 × 2 sums, 2 + 4 operands and a product are 15. With 5 rows,
        // values go to memory and back: half the speed.
        const ROWS: usize = 4;
        #[inline(always)]
        unsafe fn splat(x: f32) -> Self {
            f32x4_splat(x)
        }
        #[inline(always)]
        unsafe fn load(from: *const f32) -> Self {
            unsafe { v128_load(from.cast()) }
        }
        #[inline(always)]
        unsafe fn store(self, to: *mut f32) {
            unsafe { v128_store(to.cast(), self) }
        }
        #[inline(always)]
        unsafe fn add(self, other: Self) -> Self {
            f32x4_add(self, other)
        }
        #[inline(always)]
        unsafe fn mul_add(self, factor: Self, acc: Self) -> Self {
            f32x4_add(f32x4_mul(self, factor), acc)
        }
        #[inline(always)]
        unsafe fn relu(self) -> Self {
            f32x4_pmax(self, f32x4_splat(0.0))
        }
        #[inline(always)]
        unsafe fn gate(self, x: Self) -> Self {
            v128_andnot(self, f32x4_lt(x, f32x4_splat(0.0)))
        }
        #[inline(always)]
        unsafe fn transpose(dst: *mut f32, dst_row: usize, src: *const f32, src_row: usize) {
            for p in (0..LANES).step_by(4) {
                for q in (0..LANES).step_by(4) {
                    unsafe {
                        let (src, dst) = (src.add(p * src_row + q), dst.add(q * dst_row + p));
                        let (r0, r1) = (Self::load(src), Self::load(src.add(src_row)));
                        let (r2, r3) = (Self::load(src.add(2 * src_row)), Self::load(src.add(3 * src_row)));
                        let (t0, t1) = (i32x4_shuffle::<0, 4, 1, 5>(r0, r1), i32x4_shuffle::<2, 6, 3, 7>(r0, r1));
                        let (t2, t3) = (i32x4_shuffle::<0, 4, 1, 5>(r2, r3), i32x4_shuffle::<2, 6, 3, 7>(r2, r3));
                        i64x2_shuffle::<0, 2>(t0, t2).store(dst);
                        i64x2_shuffle::<1, 3>(t0, t2).store(dst.add(dst_row));
                        i64x2_shuffle::<0, 2>(t1, t3).store(dst.add(2 * dst_row));
                        i64x2_shuffle::<1, 3>(t1, t3).store(dst.add(3 * dst_row));
                    }
                }
            }
        }
    }
}

/// The register of the baseline: four values, for targets without registers of their own above.
#[cfg(not(any(
    target_arch = "x86_64",
    target_arch = "aarch64",
    all(target_arch = "wasm32", target_feature = "simd128")
)))]
pub(crate) type Base = [f32; 4];

#[cfg(not(any(
    target_arch = "x86_64",
    target_arch = "aarch64",
    all(target_arch = "wasm32", target_feature = "simd128")
)))]
mod array {
    use super::{Vector, transpose_scalars};

    impl Vector for [f32; 4] {
        const LANES: usize = 4;
        const REGISTERS: usize = 16;
        const ROWS: usize = 6;
        #[inline(always)]
        unsafe fn splat(x: f32) -> Self {
            [x; 4]
        }
        #[inline(always)]
        unsafe fn load(from: *const f32) -> Self {
            unsafe { from.cast::<Self>().read() }
        }
        #[inline(always)]
        unsafe fn store(self, to: *mut f32) {
            unsafe { to.cast::<Self>().write(self) }
        }
        #[inline(always)]
        unsafe fn add(self, other: Self) -> Self {
            let mut sum = self;
            for i in 0..4 {
                sum[i] += other[i];
            }
            sum
        }
        #[inline(always)]
        unsafe fn mul_add(self, factor: Self, acc: Self) -> Self {
            // `f32::mul_add` would be a call into the C library.
            let mut sum = acc;
            for i in 0..4 {
                sum[i] += self[i] * factor[i];
            }
            sum
        }
        #[inline(always)]
        unsafe fn relu(self) -> Self {
            unsafe { self.gate(self) }
        }
        #[inline(always)]
        unsafe fn gate(self, x: Self) -> Self {
            let mut y = self;
            for i in 0..4 {
                y[i] = if x[i] < 0.0 { 0.0 } else { y[i] };
            }
            y
        }
        #[inline(always)]
        unsafe fn transpose(dst: *mut f32, dst_row: usize, src: *const f32, src_row: usize) {
            unsafe { transpose_scalars(dst, dst_row, src, src_row) }
        }
    }
}

/// [`Vector::transpose`] one value at a time.
#[cfg(not(any(target_arch = "x86_64", all(target_arch = "wasm32", target_feature = "simd128"))))]
#[inline(always)]
unsafe fn transpose_scalars(dst: *mut f32, dst_row: usize, src: *const f32, src_row: usize) {
    for c in 0..LANES {
        for r in 0..LANES {
            unsafe { *dst.add(c * dst_row + r) = *src.add(r * src_row + c) }
        }
    }
}
