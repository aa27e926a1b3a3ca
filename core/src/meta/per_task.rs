//! Parameters of a seed as its tasks have them.

use crate::Tensor;

/// Slices `[S, …]` of shared parameters as each of M tasks has them, `[S · M, …]`.
#[track_caller]
pub fn per_task(parts: &[Tensor], tasks: usize) -> Vec<Tensor> {
    let repeated = |part: &Tensor| {
        let shape = part.shape();
        let wide = [&[shape[0], tasks], &shape[1..]].concat();
        part.unsqueeze(1).broadcast_to(&wide).reshape(&[&[shape[0] * tasks], &shape[1..]].concat())
    };
    parts.iter().map(repeated).collect()
}
