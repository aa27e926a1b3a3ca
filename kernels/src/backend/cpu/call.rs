//! Calls of native twins on row-major operands.

use super::halt::{Ran, zeros};
use super::simd::isa::Isa;
use crate::program::NativeCall;

/// Rows that one native call gets here.
const BLOCK: usize = 64;

/// Run `native` on `rows` rows of dense `[rows, M]` operands; returns dense `[rows, width]` results.
pub fn run(native: &dyn NativeCall, isa: Isa, rows: usize, src: &[Vec<u32>], widths: &[usize]) -> Ran<Vec<Vec<u32>>> {
    let sizes: Vec<usize> = src.iter().map(|s| s.len() / rows).collect();
    let mut results: Vec<Vec<u32>> = widths.iter().map(|w| zeros(rows * w)).collect::<Ran<_>>()?;
    let mut lo = 0;
    while lo < rows {
        let n = BLOCK.min(rows - lo);
        let lanes = n.next_multiple_of(16);
        let inputs: Vec<Vec<f32>> = src
            .iter()
            .zip(&sizes)
            .map(|(data, size)| {
                let mut tile = vec![0.0; size * lanes];
                for m in 0..*size {
                    for r in 0..lanes {
                        // Lanes past the end repeat the last row, so that they compute nothing unusual.
                        tile[m * lanes + r] = f32::from_bits(data[(lo + r.min(n - 1)) * size + m]);
                    }
                }
                tile
            })
            .collect();
        let mut outputs: Vec<Vec<f32>> = widths.iter().map(|w| vec![0.0; w * lanes]).collect();
        let ins: Vec<&[f32]> = inputs.iter().map(Vec::as_slice).collect();
        let mut outs: Vec<&mut [f32]> = outputs.iter_mut().map(Vec::as_mut_slice).collect();
        native.run(isa, lanes, &ins, &mut outs);
        for ((result, tile), w) in results.iter_mut().zip(&outputs).zip(widths) {
            for r in 0..n {
                for m in 0..*w {
                    result[(lo + r) * w + m] = tile[m * lanes + r].to_bits();
                }
            }
        }
        lo += n;
    }
    Ok(results)
}
