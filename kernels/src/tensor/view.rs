//! Primitives that move elements: views, gather and store.

use std::panic::Location;

use super::Tensor;
use super::dtype::DType;
use super::graph;
use super::handle::{broadcast_shape, dtype_error, push, shape_error};
use super::op::Op;

type At = &'static Location<'static>;

impl Tensor {
    /// The operation and first operand of this node, for simplifications.
    fn peek(self) -> Option<(Op, Tensor)> {
        graph::with(|g| {
            let node = g.nodes.get(self.raw() as usize)?;
            Some((node.op.clone(), *node.src.first()?))
        })
        .flatten()
        .map(|(op, src)| (op, Tensor::from_id(src)))
    }

    /// Gives the elements, in row-major order, another shape of the same size.
    #[track_caller]
    pub fn reshape(self, shape: &[usize]) -> Tensor {
        self.reshape_at(shape, Location::caller())
    }

    pub(crate) fn reshape_at(self, shape: &[usize], at: At) -> Tensor {
        if self.is_poison() {
            return self;
        }
        let own = self.shape();
        if own == shape {
            return self;
        }
        if own.iter().product::<usize>() != shape.iter().product::<usize>() {
            return shape_error("reshape", format!("as many elements as {own:?}"), format!("{shape:?}"), at);
        }
        match self.peek() {
            Some((Op::Reshape, inner)) => inner.reshape_at(shape, at),
            _ => push(Op::Reshape, &[self], shape.to_vec(), self.dtype(), at),
        }
    }

    /// All axes in one: `[len]`.
    #[track_caller]
    pub fn flatten(self) -> Tensor {
        self.reshape_at(&[self.len()], Location::caller())
    }

    /// Axes in another order: output axis `i` is axis `permutation[i]`.
    #[track_caller]
    pub fn permute(self, permutation: &[usize]) -> Tensor {
        let at = Location::caller();
        if self.is_poison() {
            return self;
        }
        let own = self.shape();
        let mut sorted = permutation.to_vec();
        sorted.sort_unstable();
        if sorted != (0..own.len()).collect::<Vec<_>>() {
            return shape_error("permute", format!("each axis of {own:?} once"), format!("{permutation:?}"), at);
        }
        if permutation.iter().enumerate().all(|(i, p)| i == *p) {
            return self;
        }
        let shape: Vec<usize> = permutation.iter().map(|p| own[*p]).collect();
        // Moving axes of size 1 moves no element.
        let kept: Vec<usize> = permutation.iter().copied().filter(|p| own[*p] != 1).collect();
        if kept.windows(2).all(|w| w[0] < w[1]) {
            return self.reshape_at(&shape, at);
        }
        push(Op::Permute(permutation.to_vec()), &[self], shape, self.dtype(), at)
    }

    /// The last two axes swapped.
    #[track_caller]
    pub fn transpose(self) -> Tensor {
        let rank = self.rank();
        if rank < 2 {
            if self.is_poison() {
                return self;
            }
            return shape_error("transpose", "two axes or more", format!("{:?}", self.shape()), Location::caller());
        }
        let mut p: Vec<usize> = (0..rank).collect();
        p.swap(rank - 1, rank - 2);
        self.permute(&p)
    }

    /// Repeated to `shape`: axes are aligned at the last one; those of size 1 and missing ones are repeated.
    #[track_caller]
    pub fn broadcast_to(self, shape: &[usize]) -> Tensor {
        self.broadcast_at(shape, Location::caller())
    }

    pub(crate) fn broadcast_at(self, shape: &[usize], at: At) -> Tensor {
        if self.is_poison() {
            return self;
        }
        let own = self.shape();
        if own == shape {
            return self;
        }
        if broadcast_shape(&own, shape).as_deref() != Some(shape) {
            return shape_error(
                "broadcast",
                format!("a shape that {own:?} can be repeated to"),
                format!("{shape:?}"),
                at,
            );
        }
        if let Some((Op::Broadcast, inner)) = self.peek()
            && inner.rank() == shape.len()
        {
            return inner.broadcast_at(shape, at);
        }
        let mut padded = vec![1; shape.len() - own.len()];
        padded.extend(&own);
        let aligned = self.reshape_at(&padded, at);
        if padded == shape {
            return aligned;
        }
        push(Op::Broadcast, &[aligned], shape.to_vec(), self.dtype(), at)
    }

    /// Elements `lo..hi` along `axis`.
    #[track_caller]
    pub fn slice(self, axis: usize, lo: usize, hi: usize) -> Tensor {
        let at = Location::caller();
        if self.is_poison() {
            return self;
        }
        let mut shape = self.shape();
        if axis >= shape.len() || lo >= hi || hi > shape[axis] {
            return shape_error(
                "slice",
                format!("a range within an axis of {shape:?}"),
                format!("{lo}..{hi} of axis {axis}"),
                at,
            );
        }
        if lo == 0 && hi == shape[axis] {
            return self;
        }
        shape[axis] = hi - lo;
        if let Some((Op::Slice { axis: a, lo: l, .. }, inner)) = self.peek()
            && a == axis
        {
            return push(Op::Slice { axis, lo: l + lo, hi: l + hi }, &[inner], shape, self.dtype(), at);
        }
        push(Op::Slice { axis, lo, hi }, &[self], shape, self.dtype(), at)
    }

    /// Element `i` along `axis`, which disappears.
    #[track_caller]
    pub fn index(self, axis: usize, i: usize) -> Tensor {
        let at = Location::caller();
        let one = self.slice(axis, i, i + 1);
        let mut shape = one.shape();
        if axis < shape.len() {
            shape.remove(axis);
        }
        one.reshape_at(&shape, at)
    }

    /// `lo` zeros before and `hi` zeros after, along `axis`.
    #[track_caller]
    pub fn pad(self, axis: usize, lo: usize, hi: usize) -> Tensor {
        let at = Location::caller();
        if self.is_poison() || (lo == 0 && hi == 0) {
            return self;
        }
        let mut shape = self.shape();
        if axis >= shape.len() {
            return shape_error("pad", format!("an axis of {shape:?}"), axis.to_string(), at);
        }
        shape[axis] += lo + hi;
        push(Op::Pad { axis, lo, hi }, &[self], shape, self.dtype(), at)
    }

    /// Tensors one after the other along `axis`; all other axes are equal.
    #[track_caller]
    pub fn concat(parts: &[Tensor], axis: usize) -> Tensor {
        let at = Location::caller();
        if parts.iter().any(|t| t.is_poison()) {
            return Tensor::poison();
        }
        let Some(first) = parts.first() else {
            return shape_error("concat", "at least one tensor", "none", at);
        };
        if parts.len() == 1 {
            return *first;
        }
        let mut shape = first.shape();
        if axis >= shape.len() {
            return shape_error("concat", format!("an axis of {shape:?}"), axis.to_string(), at);
        }
        shape[axis] = 0;
        for t in parts {
            let s = t.shape();
            if t.dtype() != first.dtype() {
                return dtype_error("concat", first.dtype().to_string(), t.dtype().to_string(), at);
            }
            let fits = s.len() == shape.len() && (0..s.len()).all(|i| i == axis || s[i] == shape[i]);
            if !fits {
                return shape_error("concat", format!("{:?} but for axis {axis}", first.shape()), format!("{s:?}"), at);
            }
            shape[axis] += s[axis];
        }
        push(Op::Concat { axis }, parts, shape, first.dtype(), at)
    }

    /// Tensors of one shape as the elements of a new axis.
    #[track_caller]
    pub fn stack(parts: &[Tensor], axis: usize) -> Tensor {
        let at = Location::caller();
        let expanded: Vec<Tensor> = parts
            .iter()
            .map(|t| {
                let mut shape = t.shape();
                if axis > shape.len() {
                    return shape_error("stack", format!("an axis of at most {}", shape.len()), axis.to_string(), at);
                }
                shape.insert(axis, 1);
                t.reshape_at(&shape, at)
            })
            .collect();
        Tensor::concat(&expanded, axis)
    }

    /// Rows by index. `self: [L.., n, R..]`, `index: [L.., m]` u32 → `[L.., m, R..]`: the leading axes are shared, the
    /// axis after them is indexed. Indices of `n` or more read row `n − 1`.
    ///
    /// Has no derivative with respect to `self`; where one is needed, multiply by a one-hot matrix.
    #[track_caller]
    pub fn gather(self, index: Tensor) -> Tensor {
        let at = Location::caller();
        if self.is_poison() || index.is_poison() {
            return Tensor::poison();
        }
        let (s, i) = (self.shape(), index.shape());
        if index.dtype() != DType::U32 {
            return dtype_error("gather", "a u32 index", index.dtype().to_string(), at);
        }
        if i.is_empty() || i.len() > s.len() || s[..i.len() - 1] != i[..i.len() - 1] {
            return shape_error(
                "gather",
                format!("an index [L.., m] with the leading axes of {s:?}"),
                format!("{i:?}"),
                at,
            );
        }
        let mut shape = i.clone();
        shape.extend(&s[i.len()..]);
        push(Op::Gather, &[self, index], shape, self.dtype(), at)
    }

    /// Rows replaced. `self: [L.., n, R..]`, `index: [L.., m]` u32, `rows: [L.., m, R..]` → `self` with those rows.
    /// Indices must be distinct; rows with an index of `n` or more are dropped.
    #[track_caller]
    pub fn store(self, index: Tensor, rows: Tensor) -> Tensor {
        let at = Location::caller();
        if self.is_poison() || index.is_poison() || rows.is_poison() {
            return Tensor::poison();
        }
        let (s, i, r) = (self.shape(), index.shape(), rows.shape());
        if index.dtype() != DType::U32 {
            return dtype_error("store", "a u32 index", index.dtype().to_string(), at);
        }
        if rows.dtype() != self.dtype() {
            return dtype_error("store", self.dtype().to_string(), rows.dtype().to_string(), at);
        }
        let fits = !i.is_empty()
            && i.len() <= s.len()
            && s[..i.len() - 1] == i[..i.len() - 1]
            && r.len() == s.len()
            && r[..i.len()] == i[..]
            && r[i.len()..] == s[i.len()..];
        if !fits {
            return shape_error(
                "store",
                format!("index [L.., m] and rows [L.., m, R..] for {s:?}"),
                format!("{i:?} and {r:?}"),
                at,
            );
        }
        push(Op::Store, &[self, index, rows], s, self.dtype(), at)
    }
}
