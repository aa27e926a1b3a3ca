//! Packs of lanes that come from and go to memory: arrays everywhere, registers on x86-64.

use super::lanes::{LaneBits, LaneMask, Lanes};
#[cfg(target_arch = "x86_64")]
use super::register::{Reg, RegBits, RegMask, Register};
use crate::env::real::Real;

/// A [`Real`] of several lanes.
pub(in crate::env) trait Pack: Real {
    const LANES: usize;
    /// The first lanes' worth of numbers.
    fn load(from: &[f32]) -> Self;
    fn store(self, to: &mut [f32]);
    /// Words, stored as the numbers of the same bits.
    fn load_bits(from: &[f32]) -> Self::Bits;
    fn store_bits(bits: Self::Bits, to: &mut [f32]);
    /// 1 where the mask holds, else 0.
    fn mask_bits(mask: Self::Mask) -> Self::Bits;
}

impl<const N: usize> Pack for Lanes<N> {
    const LANES: usize = N;
    #[inline(always)]
    fn load(from: &[f32]) -> Self {
        let mut out = [0.0; N];
        out.copy_from_slice(&from[..N]);
        Lanes(out)
    }
    #[inline(always)]
    fn store(self, to: &mut [f32]) {
        to[..N].copy_from_slice(&self.0);
    }
    #[inline(always)]
    fn load_bits(from: &[f32]) -> LaneBits<N> {
        let mut out = [0; N];
        for (word, number) in out.iter_mut().zip(&from[..N]) {
            *word = number.to_bits();
        }
        LaneBits(out)
    }
    #[inline(always)]
    fn store_bits(bits: LaneBits<N>, to: &mut [f32]) {
        for (number, word) in to[..N].iter_mut().zip(bits.0) {
            *number = f32::from_bits(word);
        }
    }
    #[inline(always)]
    fn mask_bits(mask: LaneMask<N>) -> LaneBits<N> {
        mask.to_bits()
    }
}

#[cfg(target_arch = "x86_64")]
impl<V: Register> Pack for Reg<V> {
    const LANES: usize = V::LANES;
    #[inline(always)]
    fn load(from: &[f32]) -> Self {
        Reg(V::load(from))
    }
    #[inline(always)]
    fn store(self, to: &mut [f32]) {
        self.0.store(to);
    }
    #[inline(always)]
    fn load_bits(from: &[f32]) -> RegBits<V> {
        RegBits(V::load(from).to_int())
    }
    #[inline(always)]
    fn store_bits(bits: RegBits<V>, to: &mut [f32]) {
        V::of_int(bits.0).store(to);
    }
    #[inline(always)]
    fn mask_bits(mask: RegMask<V>) -> RegBits<V> {
        RegBits(V::mask_bits(mask.0))
    }
}

/// The pack of the baseline.
#[cfg(target_arch = "x86_64")]
pub(in crate::env) type Base = Reg<std::arch::x86_64::__m128>;

/// The pack of the baseline: four lanes that the compiler maps to NEON, simd128 or scalars.
#[cfg(not(target_arch = "x86_64"))]
pub(in crate::env) type Base = Lanes<4>;

/// Declares `fn $name<E: Env>(isa, args)`, which runs `$body::<E, pack>(args)` compiled for the instruction set, or for
/// the best that the processor has if it lacks that one.
macro_rules! per_pack {
    ($(#[$doc:meta])* $vis:vis fn $name:ident<E: Env>($($arg:ident: $ty:ty),* $(,)?) = $body:ident) => {
        $(#[$doc])*
        $vis fn $name<E: Env>(isa: Isa, $($arg: $ty),*) {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")]
            fn avx512<E: Env>($($arg: $ty),*) {
                $body::<E, super::register::Reg<std::arch::x86_64::__m512>>($($arg),*)
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn avx2<E: Env>($($arg: $ty),*) {
                $body::<E, super::register::Reg<std::arch::x86_64::__m256>>($($arg),*)
            }
            match isa.or_less() {
                #[cfg(target_arch = "x86_64")]
                // SAFETY: `or_less` returns only what the processor has.
                Isa::Avx512 => unsafe { avx512::<E>($($arg),*) },
                #[cfg(target_arch = "x86_64")]
                // SAFETY: as above.
                Isa::Avx2 => unsafe { avx2::<E>($($arg),*) },
                _ => $body::<E, super::pack::Base>($($arg),*),
            }
        }
    };
}
pub(in crate::env) use per_pack;
