//! Kernels compiled per instruction set.
//!
//! Each kernel is one `#[inline(always)]` body with an entry point per instruction set (the macro `per_isa`), so that
//! one binary runs at the speed of the processor it meets. All kernels of one instruction set give the same bits as a
//! plain loop over scalars; the order of additions is part of each kernel's definition.

#![allow(unsafe_code, reason = "target_feature entry points and raw pointers; safe functions check lengths first")]

pub mod aligned;
pub mod chain;
pub mod dense;
pub mod dots;
pub mod elementwise;
pub mod few;
pub mod gemm;
pub mod isa;
mod jobs;
mod lanes;
mod ops;
pub(crate) mod pack;
pub mod peak;
pub mod permutation;
mod product;
pub mod reduce;
pub mod row_product;
pub mod rows;
pub mod squares;
pub mod strided;
mod sum;
pub mod update;
mod vector;

/// Length of the slices that an axis of length `len` is cut into by sums and matrix products. Partial results of slices
/// are combined in order, so that slices may be computed apart. Where a slice begins depends on nothing: an axis with
/// zeros behind it has the same sum.
pub const fn slice_len(len: usize) -> usize {
    match len {
        0 => 1,
        1..=1024 => len,
        _ => 1024,
    }
}

/// Call `$body(args)` compiled for the instruction set `$isa`.
///
/// `$body` must be `#[inline(always)]` all the way down; what is not inlined runs as baseline code. Usable inside
/// functions only; arguments are passed by name and typed, so that the entry points can be declared.
macro_rules! per_isa {
    ($isa:expr, $body:path, ($($arg:ident: $ty:ty),* $(,)?) $(-> $result:ty)?) => {{
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")]
        unsafe fn avx512($($arg: $ty),*) $(-> $result)? {
            // SAFETY: forwarded from the caller.
            #[allow(unused_unsafe, reason = "some bodies are safe")]
            unsafe { $body($($arg),*) }
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma")]
        unsafe fn avx2($($arg: $ty),*) $(-> $result)? {
            // SAFETY: forwarded from the caller.
            #[allow(unused_unsafe, reason = "some bodies are safe")]
            unsafe { $body($($arg),*) }
        }
        // SAFETY: `or_less` returns only what the processor has; the body's own conditions are the caller's.
        #[allow(unused_unsafe, reason = "some bodies are safe")]
        match $isa.or_less() {
            #[cfg(target_arch = "x86_64")]
            $crate::backend::cpu::simd::isa::Isa::Avx512 => unsafe { avx512($($arg),*) },
            #[cfg(target_arch = "x86_64")]
            $crate::backend::cpu::simd::isa::Isa::Avx2 => unsafe { avx2($($arg),*) },
            _ => unsafe { $body($($arg),*) },
        }
    }};
}
pub(crate) use per_isa;
