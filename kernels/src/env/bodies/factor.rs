//! The factors LᵀDL of the joints' matrix, without fill-in: rows have entries at their ancestors alone.

use super::model::Model;
use crate::env::Real;

/// Replaces the matrix by its factors, the diagonal by its inverse.
#[inline(always)]
pub(super) fn factor<R: Real>(model: &Model, h: &mut [R]) {
    let n = model.dofs.len();
    for k in (0..n).rev() {
        let (above, row) = h[..(k + 1) * n].split_at_mut(k * n);
        let inverse = row[k].recip();
        row[k] = inverse;
        for &i in &model.dofs[k].ancestors {
            let a = row[i] * inverse;
            let to = &mut above[i * n..(i + 1) * n];
            to[i] = to[i] - a * row[i];
            for &j in &model.dofs[i].ancestors {
                to[j] = to[j] - a * row[j];
            }
        }
        for &i in &model.dofs[k].ancestors {
            row[i] = row[i] * inverse;
        }
    }
}

/// Solves for a right side by the factors.
#[inline(always)]
pub(super) fn solve<R: Real>(model: &Model, h: &[R], b: &mut [R]) {
    let n = model.dofs.len();
    for k in (0..n).rev() {
        for &i in &model.dofs[k].ancestors {
            b[i] = b[i] - h[k * n + i] * b[k];
        }
    }
    for k in 0..n {
        let mut x = b[k] * h[k * n + k];
        for &i in &model.dofs[k].ancestors {
            x = x - h[k * n + i] * b[i];
        }
        b[k] = x;
    }
}
