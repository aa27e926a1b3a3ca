//! Tells whether the rows of a loop see each other.

use super::rerun::level;
use crate::tensor::graph::Graph;
use crate::tensor::op::Body;
use crate::tensor::{DType, Op};

/// Tells whether the rows of a loop's body are independent: none depends on other rows of the body's f32 carries.
/// Rows are counted along the axes of the carry number `done`, with which all f32 carries begin; without axes there
/// is one row. False where that is not certain.
#[inline(never)]
pub(super) fn apart(g: &Graph, body: &Body, carries: usize, done: usize) -> bool {
    let rows = &g.nodes[body.params[1 + done] as usize].shape[..];
    let n = rows.len();
    let mut dependent = vec![false; g.nodes.len()];
    for param in &body.params[1..=carries] {
        dependent[*param as usize] = g.nodes[*param as usize].dtype == DType::F32;
    }
    for id in level(g, &body.outs, body.scope) {
        let node = &g.nodes[id as usize];
        if !node.src.iter().any(|s| dependent[*s as usize]) {
            continue;
        }
        dependent[id as usize] = true;
        let reads = |i: usize| dependent[node.src[i] as usize];
        let rank = |i: usize| g.nodes[node.src[i] as usize].shape.len();
        // An operation along one of these axes changes its size, but for these.
        let kept = match &node.op {
            Op::Permute(axes) => axes.iter().take(n).enumerate().all(|(i, axis)| i == *axis),
            Op::MatMul { ta, .. } => rank(0) >= n + 2 || !ta && !reads(1),
            Op::Gather => rank(1) > n || !reads(0),
            Op::Store => rank(1) > n,
            Op::Call(_) => rank(0) > n,
            Op::Scan(_) => false,
            _ => true,
        };
        if n > 0 && !(kept && (matches!(node.op, Op::Call(_)) || node.shape.starts_with(rows))) {
            return false;
        }
    }
    true
}
