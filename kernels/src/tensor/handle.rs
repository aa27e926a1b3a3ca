//! The handle, and the checks that every primitive makes when it is traced.

use std::panic::Location;

use super::dtype::DType;
use super::graph::{self, POISON};
use super::op::NodeId;
use super::op::{Binary, Op, Unary};
use crate::{Error, Result, math};

/// Handle to a node of the graph that is being traced on this thread. `Copy`, 8 bytes.
///
/// Operations check shapes and data types when they are called. The first error is recorded with the caller's
/// position, later operations do nothing, and the trace ends with that error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tensor {
    id: NodeId,
    trace: u32,
}

type At = &'static Location<'static>;

impl Tensor {
    /// The handle that operations return after an error.
    pub fn poison() -> Tensor {
        Tensor { id: POISON, trace: 0 }
    }

    /// Handle to a node of the current graph.
    pub(crate) fn from_id(id: NodeId) -> Tensor {
        match graph::with(|g| g.id()) {
            Some(trace) => Tensor { id, trace },
            None => Tensor::poison(),
        }
    }

    /// Number of the node; an error if the handle is not of the current trace.
    pub(crate) fn node(self, op: &'static str, at: At) -> Result<NodeId> {
        let scope = |problem: &str| Error::Scope { op, problem: problem.to_owned(), at: at.to_string() };
        match graph::with(|g| (g.id(), g.nodes.len())) {
            None => Err(scope("tensors can only be used inside a trace (`Program::new`)")),
            Some((trace, len)) if trace != self.trace || self.id as usize >= len => {
                Err(scope("this tensor belongs to another trace; pass its value as an input instead"))
            }
            Some(_) => Ok(self.id),
        }
    }

    /// Tells whether an earlier error made this handle meaningless.
    pub fn is_poison(self) -> bool {
        self.id == POISON
    }

    /// The handle of a node of a graph that nobody traces.
    pub(crate) fn untraced(id: NodeId) -> Tensor {
        Tensor { id, trace: 0 }
    }

    /// Its number, unchecked: for maps over one graph.
    pub(crate) fn raw(self) -> NodeId {
        self.id
    }

    /// Size of each axis; after an error, eight of size 1, so that a trace that goes on finds the axes that it expects.
    pub fn shape(self) -> Vec<usize> {
        self.info().0
    }

    /// Number of axes.
    pub fn rank(self) -> usize {
        self.shape().len()
    }

    /// Size of an axis; 1 after an error or for an axis that does not exist.
    pub fn size(self, axis: usize) -> usize {
        self.shape().get(axis).copied().unwrap_or(1)
    }

    /// Number of elements.
    pub fn len(self) -> usize {
        self.shape().iter().product()
    }

    /// Always false: sizes are at least 1.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Data type; `F32` after an error.
    pub fn dtype(self) -> DType {
        self.info().1
    }

    fn info(self) -> (Vec<usize>, DType) {
        let after_error = || (vec![1; 8], DType::F32);
        graph::with(|g| match g.nodes.get(self.id as usize) {
            Some(n) if g.id() == self.trace => (n.shape.clone(), n.dtype),
            _ => after_error(),
        })
        .unwrap_or_else(after_error)
    }

    /// The number it stands for, if it is a constant repeated over its shape.
    pub fn constant(self) -> Option<f64> {
        graph::with(|g| {
            let mut node = g.nodes.get(self.id as usize)?;
            loop {
                match node.op {
                    Op::Const(bits) if node.dtype == DType::F32 => return Some(f64::from_bits(bits)),
                    Op::Const(bits) => return Some(bits as f64),
                    Op::Broadcast | Op::Reshape => node = &g.nodes[node.src[0] as usize],
                    _ => return None,
                }
            }
        })
        .flatten()
    }
}

/// Add a node whose shape and data type are known to be right.
pub(crate) fn push(op: Op, src: &[Tensor], shape: Vec<usize>, dtype: DType, at: At) -> Tensor {
    if src.iter().any(|t| t.is_poison()) {
        return Tensor::poison();
    }
    let mut ids = Vec::with_capacity(src.len());
    for t in src {
        match t.node(op.name(), at) {
            Ok(id) => ids.push(id),
            Err(e) => return fail(e),
        }
    }
    match graph::with(|g| g.push(op, ids, shape, dtype, at)) {
        Some(id) if id != POISON => Tensor::from_id(id),
        _ => Tensor::poison(),
    }
}

/// Record an error in the current trace.
pub fn fail(error: Error) -> Tensor {
    graph::with(|g| g.fail(error));
    Tensor::poison()
}

/// Records the error of a check in the current trace, with the caller's place where a setting is at fault.
#[track_caller]
pub fn require(checked: Result<()>) {
    match checked {
        Ok(()) => (),
        Err(Error::Config { key, problem, .. }) => {
            fail(Error::config(key, format!("{problem} (at {})", Location::caller())));
        }
        Err(other) => {
            fail(other);
        }
    }
}

pub(crate) fn shape_error(op: &'static str, expected: impl Into<String>, got: impl Into<String>, at: At) -> Tensor {
    fail(Error::Shape { op, expected: expected.into(), got: got.into(), at: at.to_string() })
}

pub(crate) fn dtype_error(op: &'static str, expected: impl Into<String>, got: impl Into<String>, at: At) -> Tensor {
    fail(Error::DType { op, expected: expected.into(), got: got.into(), at: at.to_string() })
}

/// The folded constant, if it rounds to what `f32` arithmetic makes of the rounded operands: a program computes the
/// same bits whether its constants are folded or, as in an environment's native twin, not.
fn same_in_f32((folded, computed): (f64, f32)) -> Option<f64> {
    (folded.is_finite() && folded as f32 == computed).then_some(folded)
}

/// The shape that both broadcast to, aligned at the last axis; `None` if they do not fit.
pub(crate) fn broadcast_shape(a: &[usize], b: &[usize]) -> Option<Vec<usize>> {
    let rank = a.len().max(b.len());
    let at = |s: &[usize], i: usize| if i + s.len() < rank { 1 } else { s[i + s.len() - rank] };
    (0..rank)
        .map(|i| match (at(a, i), at(b, i)) {
            (x, y) if x == y => Some(x),
            (1, y) => Some(y),
            (x, 1) => Some(x),
            _ => None,
        })
        .collect()
}

// ---- leaves ----

impl Tensor {
    /// An f32 constant of shape `[]`. Kept as f64 and rounded when a program is lowered.
    #[track_caller]
    pub fn constant_f32(value: f64) -> Tensor {
        // One zero: −0 as a constant would only split equal expressions.
        let value = if value == 0.0 { 0.0 } else { value };
        push(Op::Const(value.to_bits()), &[], Vec::new(), DType::F32, Location::caller())
    }

    /// A u32 constant of shape `[]`.
    #[track_caller]
    pub fn constant_u32(value: u32) -> Tensor {
        push(Op::Const(u64::from(value)), &[], Vec::new(), DType::U32, Location::caller())
    }

    /// A constant f32 vector `[n]`.
    #[track_caller]
    pub fn literal_f32(values: &[f64]) -> Tensor {
        let bits: Vec<u64> = values.iter().map(|v| v.to_bits()).collect();
        Tensor::literal(bits, DType::F32, Location::caller())
    }

    /// A constant u32 vector `[n]`.
    #[track_caller]
    pub fn literal_u32(values: &[u32]) -> Tensor {
        let bits: Vec<u64> = values.iter().map(|v| u64::from(*v)).collect();
        Tensor::literal(bits, DType::U32, Location::caller())
    }

    fn literal(bits: Vec<u64>, dtype: DType, at: At) -> Tensor {
        if bits.is_empty() {
            return shape_error("literal", "at least one element", "none", at);
        }
        let shape = vec![bits.len()];
        push(Op::Literal(bits.into()), &[], shape, dtype, at)
    }

    /// The index along `axis` (u32) in a tensor of `shape`.
    #[track_caller]
    pub fn iota(shape: &[usize], axis: usize) -> Tensor {
        let at = Location::caller();
        if axis >= shape.len() {
            return shape_error("iota", format!("an axis below the rank of {shape:?}"), axis.to_string(), at);
        }
        push(Op::Iota { axis }, &[], shape.to_vec(), DType::U32, at)
    }

    /// A constant in every element of `shape`.
    #[track_caller]
    pub fn full(shape: &[usize], value: f64) -> Tensor {
        Tensor::constant_f32(value).broadcast_to(shape)
    }

    /// f32 zeros.
    #[track_caller]
    pub fn zeros(shape: &[usize]) -> Tensor {
        Tensor::full(shape, 0.0)
    }

    /// f32 ones.
    #[track_caller]
    pub fn ones(shape: &[usize]) -> Tensor {
        Tensor::full(shape, 1.0)
    }
}

// ---- elementwise ----

impl Tensor {
    pub(crate) fn unary(self, op: Unary, at: At) -> Tensor {
        if self.is_poison() {
            return self;
        }
        let dtype = self.dtype();
        let result = match op {
            Unary::Cast(to) | Unary::Bitcast(to) => {
                if to == dtype {
                    return self;
                }
                to
            }
            Unary::Stop => dtype,
            _ if dtype == DType::F32 => DType::F32,
            _ => return dtype_error(op.name(), "f32", dtype.to_string(), at),
        };
        if let (Some(v), DType::F32) = (self.constant(), dtype) {
            let w = v as f32;
            let folded = match op {
                Unary::Neg => Some((-v, -w)),
                Unary::Recip => Some((1.0 / v, 1.0 / w)),
                Unary::Exp => Some((v.exp(), math::exp(w))),
                Unary::Log => Some((v.ln(), math::log(w))),
                Unary::Sqrt => Some((v.sqrt(), w.sqrt())),
                Unary::Stop => Some((v, w)),
                _ => None,
            };
            if let Some(f) = folded.and_then(same_in_f32) {
                return Tensor::constant_f32(f).broadcast_at(&self.shape(), at);
            }
        }
        push(Op::Unary(op), &[self], self.shape(), result, at)
    }

    pub(crate) fn binary(self, other: Tensor, op: Binary, at: At) -> Tensor {
        if self.is_poison() || other.is_poison() {
            return Tensor::poison();
        }
        let (da, db) = (self.dtype(), other.dtype());
        if da != db {
            return dtype_error(
                op.name(),
                format!("two tensors of one dtype, as the first is {da}"),
                db.to_string(),
                at,
            );
        }
        if op.is_bitwise() && da != DType::U32 {
            return dtype_error(op.name(), "u32", da.to_string(), at);
        }
        let (sa, sb) = (self.shape(), other.shape());
        let Some(shape) = broadcast_shape(&sa, &sb) else {
            return shape_error(op.name(), format!("a shape that broadcasts with {sa:?}"), format!("{sb:?}"), at);
        };
        let result = op.result(da);
        let (ca, cb) = (self.constant(), other.constant());
        if da == DType::F32 {
            if let (Some(x), Some(y)) = (ca, cb) {
                let (v, w) = (x as f32, y as f32);
                let folded = match op {
                    Binary::Add => Some((x + y, v + w)),
                    Binary::Mul => Some((x * y, v * w)),
                    Binary::Max => Some(if x < y { (y, w) } else { (x, v) }),
                    Binary::Min => Some(if y < x { (y, w) } else { (x, v) }),
                    _ => None,
                };
                if let Some(v) = folded.and_then(same_in_f32) {
                    return Tensor::constant_f32(v).broadcast_at(&shape, at);
                }
            }
            match (op, ca, cb) {
                (Binary::Add, Some(0.0), _) | (Binary::Mul, Some(1.0), _) => return other.broadcast_at(&shape, at),
                (Binary::Add, _, Some(0.0)) | (Binary::Mul, _, Some(1.0)) => return self.broadcast_at(&shape, at),
                (Binary::Mul, Some(0.0), _) | (Binary::Mul, _, Some(0.0)) => {
                    return Tensor::constant_f32(0.0).broadcast_at(&shape, at);
                }
                _ => {}
            }
        }
        let (a, b) = (self.broadcast_at(&shape, at), other.broadcast_at(&shape, at));
        push(Op::Binary(op), &[a, b], shape, result, at)
    }

    /// `condition != 0 ? a : b`, elementwise with broadcasting. `self` is the u32 condition.
    #[track_caller]
    pub fn select(self, a: Tensor, b: Tensor) -> Tensor {
        let at = Location::caller();
        if self.is_poison() || a.is_poison() || b.is_poison() {
            return Tensor::poison();
        }
        if self.dtype() != DType::U32 {
            return dtype_error("select", "a u32 condition", self.dtype().to_string(), at);
        }
        if a.dtype() != b.dtype() {
            return dtype_error("select", a.dtype().to_string(), b.dtype().to_string(), at);
        }
        let (sc, sa, sb) = (self.shape(), a.shape(), b.shape());
        let Some(shape) = broadcast_shape(&sa, &sb).and_then(|s| broadcast_shape(&s, &sc)) else {
            return shape_error("select", "three shapes that broadcast", format!("{sc:?}, {sa:?}, {sb:?}"), at);
        };
        let (c, a2, b2) = (self.broadcast_at(&shape, at), a.broadcast_at(&shape, at), b.broadcast_at(&shape, at));
        if a2 == b2 {
            return a2;
        }
        push(Op::Select, &[c, a2, b2], shape, a.dtype(), at)
    }

    /// One word (0 or 1) of the threefry2x32-20 block of key `(k0, k1)` and counter `(c0, c1)`; u32 with broadcasting.
    #[track_caller]
    pub fn threefry(key: [Tensor; 2], counter: [Tensor; 2], word: u8) -> Tensor {
        let at = Location::caller();
        let all = [key[0], key[1], counter[0], counter[1]];
        if all.iter().any(|t| t.is_poison()) {
            return Tensor::poison();
        }
        if let Some(t) = all.iter().find(|t| t.dtype() != DType::U32) {
            return dtype_error("threefry", "u32", t.dtype().to_string(), at);
        }
        let shape = all.iter().try_fold(Vec::new(), |s, t| broadcast_shape(&s, &t.shape()));
        let Some(shape) = shape else {
            let got: Vec<_> = all.iter().map(|t| t.shape()).collect();
            return shape_error("threefry", "four shapes that broadcast", format!("{got:?}"), at);
        };
        let src = all.map(|t| t.broadcast_at(&shape, at));
        push(Op::Threefry { word: word & 1 }, &src, shape, DType::U32, at)
    }

    /// Image of the index `self` (u32, below `n`) under the keyed permutation of `0..n`.
    #[track_caller]
    pub fn permutation(self, key: [Tensor; 2], n: usize) -> Tensor {
        let at = Location::caller();
        let all = [self, key[0], key[1]];
        if all.iter().any(|t| t.is_poison()) {
            return Tensor::poison();
        }
        if n == 0 || n > u32::MAX as usize {
            return shape_error("permutation", "a range of 1 to 2^32 - 1 elements", n.to_string(), at);
        }
        if let Some(t) = all.iter().find(|t| t.dtype() != DType::U32) {
            return dtype_error("permutation", "u32", t.dtype().to_string(), at);
        }
        let shape = all.iter().try_fold(Vec::new(), |s, t| broadcast_shape(&s, &t.shape()));
        let Some(shape) = shape else {
            let got: Vec<_> = all.iter().map(|t| t.shape()).collect();
            return shape_error("permutation", "three shapes that broadcast", format!("{got:?}"), at);
        };
        let src = all.map(|t| t.broadcast_at(&shape, at));
        push(Op::Permutation { n: n as u32 }, &src, shape, DType::U32, at)
    }
}
