//! Primitives that sum: reductions and the matrix product.

use std::panic::Location;

use super::Tensor;
use super::dtype::DType;
use super::graph;
use super::handle::{broadcast_shape, dtype_error, push, shape_error};
use super::op::Op;

type At = &'static Location<'static>;

impl Tensor {
    /// Sum over `axis`, which stays with size 1.
    #[track_caller]
    pub fn sum_keep(self, axis: usize) -> Tensor {
        self.sum_at(axis, Location::caller())
    }

    fn sum_at(self, axis: usize, at: At) -> Tensor {
        if self.is_poison() {
            return self;
        }
        let mut shape = self.shape();
        if axis >= shape.len() {
            return shape_error("sum", format!("an axis of {shape:?}"), axis.to_string(), at);
        }
        if self.dtype() != DType::F32 {
            return dtype_error("sum", "f32", self.dtype().to_string(), at);
        }
        let n = std::mem::replace(&mut shape[axis], 1);
        if n == 1 {
            return self;
        }
        // A sum of equal elements is a product; elements repeated along other axes are summed once.
        let repeated = graph::with(|g| {
            let node = &g.nodes[self.raw() as usize];
            let src = *node.src.first()?;
            matches!(node.op, Op::Broadcast).then(|| (src, g.nodes[src as usize].shape[axis] == 1))
        })
        .flatten();
        if let Some((src, equal)) = repeated {
            let src = Tensor::from_id(src);
            let sum = if equal { src * n as f64 } else { src.sum_at(axis, at) };
            return sum.broadcast_at(&shape, at);
        }
        push(Op::Sum { axis }, &[self], shape, DType::F32, at)
    }

    /// Sum over `axes`, which disappear.
    #[track_caller]
    pub fn sum(self, axes: &[usize]) -> Tensor {
        let at = Location::caller();
        self.reduce(axes, at, |t, axis| t.sum_at(axis, at))
    }

    /// Sum of all elements, shape `[]`.
    #[track_caller]
    pub fn sum_all(self) -> Tensor {
        let at = Location::caller();
        let axes: Vec<usize> = (0..self.rank()).collect();
        self.reduce(&axes, at, |t, axis| t.sum_at(axis, at))
    }

    /// Mean over `axes`, which disappear.
    #[track_caller]
    pub fn mean(self, axes: &[usize]) -> Tensor {
        let at = Location::caller();
        let shape = self.shape();
        let n: usize = axes.iter().filter_map(|a| shape.get(*a)).product();
        self.reduce(axes, at, |t, axis| t.sum_at(axis, at)) * (1.0 / n as f64)
    }

    /// Largest element along `axis`, which stays with size 1. f32 or u32.
    #[track_caller]
    pub fn max_keep(self, axis: usize) -> Tensor {
        self.max_at(axis, Location::caller())
    }

    fn max_at(self, axis: usize, at: At) -> Tensor {
        if self.is_poison() {
            return self;
        }
        let mut shape = self.shape();
        if axis >= shape.len() {
            return shape_error("reduce_max", format!("an axis of {shape:?}"), axis.to_string(), at);
        }
        if std::mem::replace(&mut shape[axis], 1) == 1 {
            return self;
        }
        push(Op::ReduceMax { axis }, &[self], shape, self.dtype(), at)
    }

    /// Largest element over `axes`, which disappear.
    #[track_caller]
    pub fn max_over(self, axes: &[usize]) -> Tensor {
        let at = Location::caller();
        self.reduce(axes, at, |t, axis| t.max_at(axis, at))
    }

    /// Reduce each axis, the innermost first: the order of summation is part of what a sum means here.
    fn reduce(self, axes: &[usize], at: At, one: impl Fn(Tensor, usize) -> Tensor) -> Tensor {
        if self.is_poison() {
            return self;
        }
        let mut sorted = axes.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        let mut result = self;
        for axis in sorted.iter().rev() {
            result = one(result, *axis);
        }
        let shape: Vec<usize> =
            result.shape().iter().enumerate().filter(|(i, _)| !sorted.contains(i)).map(|(_, s)| *s).collect();
        result.reshape_at(&shape, at)
    }

    /// Matrix product over the last two axes, `[.., m, k] × [.., k, n]` → `[.., m, n]`; leading axes broadcast.
    #[track_caller]
    pub fn matmul(self, other: Tensor) -> Tensor {
        self.matmul_at(other, false, false, Location::caller())
    }

    /// Matrix product with either operand stored transposed: `ta`: `self` is `[.., k, m]`; `tb`: `other` is
    /// `[.., n, k]`.
    #[track_caller]
    pub fn matmul_with(self, other: Tensor, ta: bool, tb: bool) -> Tensor {
        self.matmul_at(other, ta, tb, Location::caller())
    }

    fn matmul_at(self, other: Tensor, ta: bool, tb: bool, at: At) -> Tensor {
        if self.is_poison() || other.is_poison() {
            return Tensor::poison();
        }
        if self.dtype() != DType::F32 || other.dtype() != DType::F32 {
            return dtype_error("matmul", "f32", format!("{} and {}", self.dtype(), other.dtype()), at);
        }
        let (sa, sb) = (self.shape(), other.shape());
        if sa.len() < 2 || sb.len() < 2 {
            return shape_error("matmul", "two axes or more in both operands", format!("{sa:?} and {sb:?}"), at);
        }
        let (la, lb) = (sa.len() - 2, sb.len() - 2);
        let (m, ka) = if ta { (sa[la + 1], sa[la]) } else { (sa[la], sa[la + 1]) };
        let (kb, n) = if tb { (sb[lb + 1], sb[lb]) } else { (sb[lb], sb[lb + 1]) };
        if ka != kb {
            return shape_error(
                "matmul",
                format!("{ka} rows in the second operand, as {sa:?} has"),
                format!("{sb:?}"),
                at,
            );
        }
        let Some(batch) = broadcast_shape(&sa[..la], &sb[..lb]) else {
            return shape_error("matmul", format!("leading axes that broadcast with {sa:?}"), format!("{sb:?}"), at);
        };
        let with = |tail: &[usize]| [&batch[..], tail].concat();
        let a = self.broadcast_at(&with(&sa[la..]), at);
        let b = other.broadcast_at(&with(&sb[lb..]), at);
        push(Op::MatMul { ta, tb }, &[a, b], with(&[m, n]), DType::F32, at)
    }
}
