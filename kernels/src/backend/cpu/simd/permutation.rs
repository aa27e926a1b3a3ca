//! Keyed permutations of indices, 16 lanes at a time.

use super::elementwise::Operand;
use super::lanes::{LANES, keep_blocks};
use super::per_isa;
use crate::backend::cpu::simd::isa::Isa;
use crate::rng::Permutation;

/// dst\[i\] = image of index\[i\] under `map`, all u32.
///
/// # Panics
/// If the lengths differ.
pub fn permutation(isa: Isa, dst: &mut [f32], index: Operand<'_>, map: &Permutation) {
    match index {
        Operand::Slice(index) => {
            assert_eq!(index.len(), dst.len(), "operand and result differ in length");
            dst.copy_from_slice(index);
        }
        Operand::Splat(index) => return dst.fill(f32::from_bits(map.apply(index.to_bits()))),
        Operand::Dst => {}
    }
    let words: &mut [u32] = bytemuck::cast_slice_mut(dst);
    per_isa!(isa, body, (words: &mut [u32], map: &Permutation));
}

#[inline(always)]
fn body(words: &mut [u32], map: &Permutation) {
    let (blocks, rest) = words.as_chunks_mut::<LANES>();
    for block in blocks {
        keep_blocks();
        *block = map.apply_lanes(*block);
    }
    for word in rest {
        *word = map.apply(*word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_equal_the_definition() {
        for (n, len) in [(1, 5), (7, 64), (512, 512), (1000, 1003)] {
            if cfg!(miri) && len > 64 {
                continue;
            }
            let map = Permutation::new([3, n], n);
            let index: Vec<f32> = (0..len).map(f32::from_bits).collect();
            for isa in Isa::available() {
                let mut out = vec![0.0; index.len()];
                permutation(isa, &mut out, Operand::Slice(&index), &map);
                for (i, y) in out.iter().enumerate() {
                    assert_eq!(y.to_bits(), map.apply(i as u32), "{isa} {n} {i}");
                }
            }
        }
    }
}
