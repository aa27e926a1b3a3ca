//! Copies of a seed's parameters, one for each of its tasks.

use crate::Tensor;

/// Repeats slices `[S, …]` of shared parameters for each of M tasks, `[S · M, …]`.
#[track_caller]
pub fn per_task(parts: &[Tensor], tasks: usize) -> Vec<Tensor> {
    let repeated = |part: &Tensor| {
        let shape = part.shape();
        let wide = [&[shape[0], tasks], &shape[1..]].concat();
        part.unsqueeze(1).broadcast_to(&wide).reshape(&[&[shape[0] * tasks], &shape[1..]].concat())
    };
    parts.iter().map(repeated).collect()
}
