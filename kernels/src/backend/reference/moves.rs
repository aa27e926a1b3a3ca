//! Primitives that move or contract elements. What moves is generic, so that error bounds move with their values.

use crate::tensor::{Node, Op};
use crate::{Error, Result};

/// Row-major strides of a shape.
fn strides(shape: &[usize]) -> Vec<usize> {
    let mut s = vec![1; shape.len()];
    for i in (1..shape.len()).rev() {
        s[i - 1] = s[i] * shape[i];
    }
    s
}

/// Positions `offset + Σ index·stride` of all indices of `shape`, in row-major order.
fn positions(shape: &[usize], strides: &[usize], offset: usize) -> Vec<usize> {
    let mut found = vec![offset];
    for (&n, &stride) in shape.iter().zip(strides) {
        found = found.iter().flat_map(|p| (0..n).map(move |i| p + i * stride)).collect();
    }
    found
}

/// The source of each element of a view's result; `usize::MAX` stands for a zero. `None` for other operations.
pub(super) fn sources(node: &Node, from: &[usize]) -> Option<Vec<usize>> {
    let s = strides(from);
    Some(match &node.op {
        Op::Permute(p) => positions(&node.shape, &p.iter().map(|i| s[*i]).collect::<Vec<_>>(), 0),
        Op::Broadcast => {
            let own: Vec<usize> = s.iter().zip(from).map(|(s, n)| if *n == 1 { 0 } else { *s }).collect();
            positions(&node.shape, &own, 0)
        }
        Op::Slice { axis, lo, .. } => positions(&node.shape, &s, lo * s[*axis]),
        Op::Pad { axis, lo, .. } => {
            let mut found = vec![usize::MAX; node.len()];
            let to = strides(&node.shape);
            for (i, p) in positions(from, &to, lo * to[*axis]).into_iter().enumerate() {
                found[p] = i;
            }
            found
        }
        _ => return None,
    })
}

/// The elements at `sources`.
pub(super) fn take<T: Copy + Default>(x: &[T], sources: &[usize]) -> Vec<T> {
    sources.iter().map(|i| x.get(*i).copied().unwrap_or_default()).collect()
}

/// Parts of sizes `sizes` along an axis, one after the other; `inner` is the number of elements per index of the axis.
pub(super) fn concat<T: Copy>(parts: &[(&[T], usize)], outer: usize, inner: usize) -> Vec<T> {
    let mut found = Vec::with_capacity(parts.iter().map(|(x, _)| x.len()).sum());
    for o in 0..outer {
        for (x, n) in parts {
            found.extend_from_slice(&x[o * n * inner..(o + 1) * n * inner]);
        }
    }
    found
}

/// Sizes around an axis: before it, its own, after it.
pub(super) fn around(shape: &[usize], axis: usize) -> (usize, usize, usize) {
    (shape[..axis].iter().product(), shape[axis], shape[axis + 1..].iter().product())
}

/// Each group of elements along an axis, folded to one.
pub(super) fn fold<T: Copy, U>(x: &[T], shape: &[usize], axis: usize, mut f: impl FnMut(&[T]) -> U) -> Vec<U> {
    let (outer, n, inner) = around(shape, axis);
    let mut group = Vec::with_capacity(n);
    let mut found = Vec::with_capacity(outer * inner);
    for o in 0..outer {
        for i in 0..inner {
            group.clear();
            group.extend((0..n).map(|k| x[(o * n + k) * inner + i]));
            found.push(f(&group));
        }
    }
    found
}

/// Sizes of a gather or store: leading batches, rows of the source, rows of the index, elements per row.
pub(super) fn row_sizes(source: &[usize], index: &[usize]) -> (usize, usize, usize, usize) {
    let axis = index.len() - 1;
    let (outer, n, inner) = around(source, axis);
    (outer, n, index[axis], inner)
}

/// The position in the source of each element of a gather's result.
pub(super) fn gather_sources(source: &[usize], index: &[usize], at: &[u32]) -> Vec<usize> {
    let (outer, n, m, inner) = row_sizes(source, index);
    let mut found = Vec::with_capacity(outer * m * inner);
    for o in 0..outer {
        for row in &at[o * m..(o + 1) * m] {
            let row = (*row as usize).min(n - 1);
            found.extend((0..inner).map(|i| (o * n + row) * inner + i));
        }
    }
    found
}

/// The position in the rows that replaces each element of a store's destination, or `usize::MAX`.
pub(super) fn store_sources(destination: &[usize], index: &[usize], at: &[u32]) -> Result<Vec<usize>> {
    let (outer, n, m, inner) = row_sizes(destination, index);
    let mut found = vec![usize::MAX; outer * n * inner];
    for o in 0..outer {
        for k in 0..m {
            let row = at[o * m + k] as usize;
            if row >= n {
                continue;
            }
            let to = (o * n + row) * inner;
            if found[to] != usize::MAX {
                return Err(Error::Program(format!("store: row {row} is stored twice; indices must be distinct")));
            }
            for i in 0..inner {
                found[to + i] = (o * m + k) * inner + i;
            }
        }
    }
    Ok(found)
}

/// `destination` with the elements that `sources` names replaced.
pub(super) fn store<T: Copy>(destination: &[T], rows: &[T], sources: &[usize]) -> Vec<T> {
    destination.iter().zip(sources).map(|(old, s)| rows.get(*s).copied().unwrap_or(*old)).collect()
}

/// Sizes and storage of a batched matrix product.
#[derive(Clone, Copy)]
pub(super) struct BatchedProduct {
    pub batch: usize,
    pub m: usize,
    pub k: usize,
    pub n: usize,
    pub ta: bool,
    pub tb: bool,
}

impl BatchedProduct {
    /// From the first operand's shape, the result's shape and the flags.
    pub(super) fn new(a: &[usize], result: &[usize], ta: bool, tb: bool) -> BatchedProduct {
        let r = result.len();
        let k = if ta { a[r - 2] } else { a[r - 1] };
        BatchedProduct { batch: result[..r - 2].iter().product(), m: result[r - 2], k, n: result[r - 1], ta, tb }
    }

    /// `f` of the k-vectors behind each element of the result.
    pub(super) fn each<U>(self, a: &[f64], b: &[f64], mut f: impl FnMut(&[f64], &[f64]) -> U) -> Vec<U> {
        let BatchedProduct { batch, m, k, n, .. } = self;
        let a = if self.ta { transposed(a, k, m) } else { a.to_vec() };
        let b = if self.tb { b.to_vec() } else { transposed(b, k, n) };
        let mut found = Vec::with_capacity(batch * m * n);
        for s in 0..batch {
            for i in 0..m {
                let row = &a[(s * m + i) * k..][..k];
                found.extend((0..n).map(|j| f(row, &b[(s * n + j) * k..][..k])));
            }
        }
        found
    }
}

/// Each `[rows, columns]` matrix of `x` transposed.
fn transposed(x: &[f64], rows: usize, columns: usize) -> Vec<f64> {
    let mut found = Vec::with_capacity(x.len());
    for matrix in x.chunks_exact(rows * columns) {
        for c in 0..columns {
            found.extend((0..rows).map(|r| matrix[r * columns + c]));
        }
    }
    found
}
