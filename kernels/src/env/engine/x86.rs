//! Vector registers of x86-64.

mod avx2;
mod avx512;
mod sse2;

/// Lane by lane, for the few operations that an instruction set lacks.
#[inline(always)]
fn lanewise<const N: usize>(mut values: [u32; N], f: impl Fn(u32) -> u32) -> [u32; N] {
    for value in &mut values {
        *value = f(*value);
    }
    values
}

#[inline(always)]
fn u32_to_f32(word: u32) -> u32 {
    (word as f32).to_bits()
}

#[inline(always)]
fn f32_to_u32(bits: u32) -> u32 {
    f32::from_bits(bits) as u32
}
