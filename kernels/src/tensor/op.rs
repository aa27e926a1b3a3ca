//! The primitives. Everything else is composed of them.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::dtype::DType;
use crate::program::NativeCall;

/// Number of a node in its graph. Operands have smaller numbers than their users.
pub type NodeId = u32;

/// Elementwise functions of one tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Unary {
    /// −x
    Neg,
    /// 1/x
    Recip,
    /// eˣ
    Exp,
    /// ln x
    Log,
    /// √x
    Sqrt,
    /// sin x
    Sin,
    /// cos x
    Cos,
    /// tanh x
    Tanh,
    /// ⌊x⌋
    Floor,
    /// Conversion of the value: f32 → u32 truncates and saturates, u32 → f32 rounds to nearest.
    Cast(DType),
    /// Reads the 32 bits as the other data type.
    Bitcast(DType),
    /// The identity, with derivative zero.
    Stop,
}

impl Unary {
    /// All functions, for tests that must not miss one.
    pub const ALL: [Unary; 14] = [
        Unary::Neg,
        Unary::Recip,
        Unary::Exp,
        Unary::Log,
        Unary::Sqrt,
        Unary::Sin,
        Unary::Cos,
        Unary::Tanh,
        Unary::Floor,
        Unary::Cast(DType::F32),
        Unary::Cast(DType::U32),
        Unary::Bitcast(DType::F32),
        Unary::Bitcast(DType::U32),
        Unary::Stop,
    ];

    /// Tells whether results have the bits of the operands, which are of this type.
    pub fn keeps_bits(self, dtype: DType) -> bool {
        match self {
            Unary::Cast(to) => to == dtype,
            Unary::Bitcast(_) | Unary::Stop => true,
            _ => false,
        }
    }

    /// The type of results, of operands of this type.
    pub fn result(self, dtype: DType) -> DType {
        match self {
            Unary::Cast(to) | Unary::Bitcast(to) => to,
            _ => dtype,
        }
    }

    /// Name in messages and printed plans.
    pub fn name(self) -> &'static str {
        match self {
            Unary::Neg => "neg",
            Unary::Recip => "recip",
            Unary::Exp => "exp",
            Unary::Log => "log",
            Unary::Sqrt => "sqrt",
            Unary::Sin => "sin",
            Unary::Cos => "cos",
            Unary::Tanh => "tanh",
            Unary::Floor => "floor",
            Unary::Cast(DType::F32) => "to_f32",
            Unary::Cast(DType::U32) => "to_u32",
            Unary::Bitcast(DType::F32) => "bitcast_f32",
            Unary::Bitcast(DType::U32) => "bitcast_u32",
            Unary::Stop => "stop_gradient",
        }
    }
}

/// Elementwise functions of two tensors of one shape and data type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Binary {
    /// x + y, wrapping on u32.
    Add,
    /// x · y, wrapping on u32.
    Mul,
    /// `if x < y { y } else { x }`
    Max,
    /// `if y < x { y } else { x }`
    Min,
    /// x < y, as u32 0 or 1.
    Lt,
    /// x = y, as u32 0 or 1.
    Eq,
    /// Bitwise and (u32).
    And,
    /// Bitwise or (u32).
    Or,
    /// Bitwise exclusive or (u32).
    Xor,
    /// x << (y mod 32) (u32).
    Shl,
    /// x >> (y mod 32) (u32).
    Shr,
}

impl Binary {
    /// All functions, for tests that must not miss one.
    pub const ALL: [Binary; 11] = [
        Binary::Add,
        Binary::Mul,
        Binary::Max,
        Binary::Min,
        Binary::Lt,
        Binary::Eq,
        Binary::And,
        Binary::Or,
        Binary::Xor,
        Binary::Shl,
        Binary::Shr,
    ];

    /// The type of results, of operands of this type.
    pub fn result(self, dtype: DType) -> DType {
        if self.is_comparison() { DType::U32 } else { dtype }
    }

    /// Name in messages and printed plans.
    pub fn name(self) -> &'static str {
        match self {
            Binary::Add => "add",
            Binary::Mul => "mul",
            Binary::Max => "max",
            Binary::Min => "min",
            Binary::Lt => "lt",
            Binary::Eq => "eq",
            Binary::And => "and",
            Binary::Or => "or",
            Binary::Xor => "xor",
            Binary::Shl => "shl",
            Binary::Shr => "shr",
        }
    }

    /// Defined on u32 only.
    pub fn is_bitwise(self) -> bool {
        matches!(self, Binary::And | Binary::Or | Binary::Xor | Binary::Shl | Binary::Shr)
    }

    /// Gives a truth value.
    pub fn is_comparison(self) -> bool {
        matches!(self, Binary::Lt | Binary::Eq)
    }
}

/// A traced sub-graph with parameters and results: the inside of a `scan` or of a `call`.
///
/// Its nodes live in the same arena under a scope of their own.
#[derive(Clone, Debug)]
pub struct Body {
    /// The scope of its nodes.
    pub scope: u32,
    /// `Op::Param` nodes. Of a scan: the index (u32, shape `[]`), then carries, then one row of each stacked input.
    pub params: Vec<NodeId>,
    /// Results. Of a scan: the new carries, then one row of each stacked output.
    pub outs: Vec<NodeId>,
}

/// A loop: `body` run `len` times over carries and stacked inputs.
///
/// The scan node's operands are the initial carries, the stacked inputs (leading axis `len`), then `captures` outer
/// values that the body reads. Its results (`Op::Out`) are the final carries, then the stacked outputs.
#[derive(Clone, Debug)]
pub struct Scan {
    /// The loop's inside.
    pub body: Body,
    /// Number of steps, at least 1.
    pub len: usize,
    /// Run from the last index to the first.
    pub reverse: bool,
    /// Number of carries.
    pub carries: usize,
    /// Number of stacked inputs.
    pub xs: usize,
    /// Which carry, a u32, says that all later steps leave every carry unchanged: of shape `[]` as a whole, otherwise
    /// in each row where it is not 0. Its axes are the first ones of every carry. It may say so before the first step.
    pub until: Option<usize>,
}

/// A sub-graph that has a native twin for blocks of rows (an environment's step).
///
/// Operands and results have the same leading axes (the rows) and one trailing axis each.
#[derive(Clone, Debug)]
pub struct Call {
    /// Name in messages and printed plans.
    pub name: &'static str,
    /// The sub-graph: what the call means.
    pub body: Body,
    /// The native twin, which must agree with the sub-graph bit for bit on the CPU.
    pub native: Arc<dyn NativeCall>,
}

/// One primitive. Operands are in the node; shapes are those of the node and its operands.
#[derive(Clone, Debug)]
pub enum Op {
    /// The program's argument of that number.
    Input(u32),
    /// Parameter of the body that the node's scope belongs to.
    Param(u32),
    /// A number of shape `[]`: the bits of an f64 for f32 (rounded when lowered), the value for u32.
    Const(u64),
    /// A constant vector of shape `[n]`, elements as in `Const`.
    Literal(Arc<[u64]>),
    /// The index along one axis, u32.
    Iota {
        /// The axis.
        axis: usize,
    },
    /// The run-time scalar of that number, shape `[]`.
    Scalar(u32),
    /// Elementwise function of one tensor.
    Unary(Unary),
    /// Elementwise function of two tensors.
    Binary(Binary),
    /// `condition != 0 ? a : b`, elementwise.
    Select,
    /// Gives the elements, in row-major order, another shape.
    Reshape,
    /// Output axis `i` is the operand's axis `permutation[i]`.
    Permute(Vec<usize>),
    /// Axes of size 1 repeated; same rank.
    Broadcast,
    /// Elements `lo..hi` of one axis.
    Slice {
        /// The axis.
        axis: usize,
        /// First element.
        lo: usize,
        /// One past the last element.
        hi: usize,
    },
    /// Zeros before and after, along one axis.
    Pad {
        /// The axis.
        axis: usize,
        /// Zeros before.
        lo: usize,
        /// Zeros after.
        hi: usize,
    },
    /// Operands one after the other along one axis.
    Concat {
        /// The axis.
        axis: usize,
    },
    /// Sum over one axis, which stays with size 1.
    Sum {
        /// The axis.
        axis: usize,
    },
    /// Largest element along one axis, which stays with size 1. f32 or u32.
    ReduceMax {
        /// The axis.
        axis: usize,
    },
    /// Batched matrix product `[.., m, k] × [.., k, n]`; equal leading axes.
    MatMul {
        /// The first operand is stored `[.., k, m]`.
        ta: bool,
        /// The second operand is stored `[.., n, k]`.
        tb: bool,
    },
    /// Rows by index: `[L.., n, R..]` and u32 `[L.., m]` give `[L.., m, R..]`. Indices are clamped to n − 1.
    Gather,
    /// Rows replaced: `[L.., n, R..]`, u32 `[L.., m]`, `[L.., m, R..]` give the first operand with those rows replaced.
    /// Indices are distinct; rows with an index of n or more are dropped.
    Store,
    /// One word of a threefry2x32-20 block: operands k0, k1, c0, c1 (u32).
    Threefry {
        /// 0 or 1.
        word: u8,
    },
    /// Image of an index under the keyed permutation of `0..n` ([`crate::rng::permute`]): operands index, k0, k1 (u32).
    Permutation {
        /// Size of the permuted range.
        n: u32,
    },
    /// A loop.
    Scan(Arc<Scan>),
    /// A sub-graph with a native twin.
    Call(Arc<Call>),
    /// Result number `i` of a scan or call.
    Out(u32),
}

impl Op {
    /// Name in messages and printed plans.
    pub fn name(&self) -> &'static str {
        match self {
            Op::Input(_) => "input",
            Op::Param(_) => "param",
            Op::Const(_) => "const",
            Op::Literal(_) => "literal",
            Op::Iota { .. } => "iota",
            Op::Scalar(_) => "scalar",
            Op::Unary(u) => u.name(),
            Op::Binary(b) => b.name(),
            Op::Select => "select",
            Op::Reshape => "reshape",
            Op::Permute(_) => "permute",
            Op::Broadcast => "broadcast",
            Op::Slice { .. } => "slice",
            Op::Pad { .. } => "pad",
            Op::Concat { .. } => "concat",
            Op::Sum { .. } => "sum",
            Op::ReduceMax { .. } => "reduce_max",
            Op::MatMul { .. } => "matmul",
            Op::Gather => "gather",
            Op::Store => "store",
            Op::Threefry { .. } => "threefry",
            Op::Permutation { .. } => "permutation",
            Op::Scan(_) => "scan",
            Op::Call(c) => c.name,
            Op::Out(_) => "out",
        }
    }
}

// Bodies are equal if they are the same body: scopes are unique within an arena.
fn key(op: &Op) -> (u8, u64, u64, u64) {
    match op {
        Op::Input(i) => (0, u64::from(*i), 0, 0),
        Op::Param(i) => (1, u64::from(*i), 0, 0),
        Op::Const(bits) => (2, *bits, 0, 0),
        Op::Literal(values) => (3, values.len() as u64, 0, 0),
        Op::Iota { axis } => (4, *axis as u64, 0, 0),
        Op::Scalar(i) => (5, u64::from(*i), 0, 0),
        Op::Unary(u) => match u {
            Unary::Cast(d) => (6, 100, *d as u64, 0),
            Unary::Bitcast(d) => (6, 101, *d as u64, 0),
            Unary::Neg => (6, 0, 0, 0),
            Unary::Recip => (6, 1, 0, 0),
            Unary::Exp => (6, 2, 0, 0),
            Unary::Log => (6, 3, 0, 0),
            Unary::Sqrt => (6, 4, 0, 0),
            Unary::Sin => (6, 5, 0, 0),
            Unary::Cos => (6, 6, 0, 0),
            Unary::Tanh => (6, 7, 0, 0),
            Unary::Floor => (6, 8, 0, 0),
            Unary::Stop => (6, 9, 0, 0),
        },
        Op::Binary(b) => (7, *b as u64, 0, 0),
        Op::Select => (8, 0, 0, 0),
        Op::Reshape => (9, 0, 0, 0),
        Op::Permute(p) => (10, p.len() as u64, 0, 0),
        Op::Broadcast => (11, 0, 0, 0),
        Op::Slice { axis, lo, hi } => (12, *axis as u64, *lo as u64, *hi as u64),
        Op::Pad { axis, lo, hi } => (13, *axis as u64, *lo as u64, *hi as u64),
        Op::Concat { axis } => (14, *axis as u64, 0, 0),
        Op::Sum { axis } => (15, *axis as u64, 0, 0),
        Op::ReduceMax { axis } => (16, *axis as u64, 0, 0),
        Op::MatMul { ta, tb } => (17, u64::from(*ta), u64::from(*tb), 0),
        Op::Gather => (18, 0, 0, 0),
        Op::Store => (19, 0, 0, 0),
        Op::Threefry { word } => (20, u64::from(*word), 0, 0),
        Op::Permutation { n } => (21, u64::from(*n), 0, 0),
        Op::Scan(s) => (22, u64::from(s.body.scope), 0, 0),
        Op::Call(c) => (23, u64::from(c.body.scope), 0, 0),
        Op::Out(i) => (24, u64::from(*i), 0, 0),
    }
}

impl PartialEq for Op {
    fn eq(&self, other: &Self) -> bool {
        key(self) == key(other)
            && match (self, other) {
                (Op::Literal(a), Op::Literal(b)) => a == b,
                (Op::Permute(a), Op::Permute(b)) => a == b,
                _ => true,
            }
    }
}

impl Eq for Op {}

impl Hash for Op {
    fn hash<H: Hasher>(&self, state: &mut H) {
        key(self).hash(state);
        match self {
            Op::Literal(values) => values.hash(state),
            Op::Permute(p) => p.hash(state),
            _ => {}
        }
    }
}
