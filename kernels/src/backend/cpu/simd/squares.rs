//! Sums of squares.

use super::isa::Isa;
use super::lanes::{Block, LANES, keep_blocks};
use super::reduce::{Reduction, finish};
use super::{per_isa, slice_len};

/// Slices that are summed side by side: alone, each addition would wait for the one before. In WebAssembly 16 lanes are
/// four registers, which is enough.
const SIDE: usize = if cfg!(target_arch = "wasm32") { 1 } else { 4 };

/// Σ x² in the order of [`reduce`](super::reduce): the bits of squares in memory and their sum.
pub fn squares(isa: Isa, x: &[f32]) -> f32 {
    per_isa!(isa, squares_body::<SIDE>, (x: &[f32]) -> f32)
}

/// The sum with `N` slices side by side, which changes no bit.
#[inline(always)]
fn squares_body<const N: usize>(x: &[f32]) -> f32 {
    let slice = slice_len(x.len());
    let mut total = None;
    let mut add = |block: Block| {
        let part = finish(Reduction::Sum, &block);
        total = Some(total.map_or(part, |total| total + part));
    };
    for several in x.chunks(N * slice) {
        // Where there is more than one slice, their length is a multiple of 16.
        if N > 1 && several.len() == N * slice {
            side_by_side::<N>(several, slice).into_iter().for_each(&mut add);
            continue;
        }
        for one in several.chunks(slice) {
            let (whole, rest) = one.split_at(one.len() / LANES * LANES);
            let [mut block] = side_by_side::<1>(whole, whole.len());
            rest.iter().zip(&mut block).for_each(|(x, sum)| *sum += x * x);
            add(block);
        }
    }
    total.unwrap_or(0.0)
}

/// The accumulators of slices of `len` values, a multiple of 16.
#[inline(always)]
fn side_by_side<const N: usize>(x: &[f32], len: usize) -> [Block; N] {
    let mut sums = [[0.0; LANES]; N];
    for at in (0..len).step_by(LANES) {
        for (n, sum) in sums.iter_mut().enumerate() {
            keep_blocks();
            let block = &x[n * len + at..][..LANES];
            for j in 0..LANES {
                sum[j] += block[j] * block[j];
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::super::reduce::reduce;
    use super::*;
    use crate::rng;

    #[test]
    fn squares_are_summed_in_the_order_of_sums() {
        let lengths: &[usize] = if cfg!(miri) {
            &[0, 1, 17, 1025]
        } else {
            &[0, 1, 15, 16, 40, 345, 1000, 1024, 1025, 2048, 4096, 4097, 5000, 9026, 16_384, 20_000, 70_001]
        };
        for &len in lengths {
            let draw = |i: u32| rng::uniform(rng::threefry2x32([1, 2], [i, 3])[0]) * 3.0 - 1.0;
            let x: Vec<f32> = (0..len as u32).map(draw).collect();
            let squared: Vec<f32> = x.iter().map(|x| x * x).collect();
            for isa in Isa::available() {
                let sum = reduce(isa, Reduction::Sum, &squared);
                assert_eq!(squares(isa, &x).to_bits(), sum.to_bits(), "{isa} {len}");
            }
            let sum = reduce(Isa::Baseline, Reduction::Sum, &squared).to_bits();
            assert_eq!(squares_body::<1>(&x).to_bits(), sum, "one slice, {len}");
            assert_eq!(squares_body::<4>(&x).to_bits(), sum, "four slices, {len}");
        }
    }
}
