//! One vector-Jacobian rule per primitive, written in the same primitives: so every order of derivative exists.

use crate::DType;
use crate::tensor::{Binary, Node, NodeId, Op, Tensor, Unary, fail, graph};

use super::options::SweepOptions;

/// Cotangents of a node's operands, from the cotangent `g` of its result.
///
/// `needs[i]` says whether operand `i` depends on what is differentiated; of the others none is computed.
pub(super) fn vjp(how: &SweepOptions, id: NodeId, node: &Node, g: Tensor, needs: &[bool]) -> Vec<Option<Tensor>> {
    let y = Tensor::from_id(id);
    let x: Vec<Tensor> = node.src.iter().map(|s| Tensor::from_id(*s)).collect();
    let want = |i: usize, f: &dyn Fn() -> Tensor| needs.get(i).is_some_and(|n| *n).then(f);
    let zero = || Tensor::constant_f32(0.0);
    match &node.op {
        Op::Unary(op) => vec![unary(*op, x[0], y, g)],
        Op::Binary(op) => match op {
            Binary::Add => vec![want(0, &|| g), want(1, &|| g)],
            Binary::Mul => vec![want(0, &|| g * x[1]), want(1, &|| g * x[0])],
            // Equal operands: the first one is the result, so it gets the whole cotangent.
            Binary::Max => {
                let second = x[0].lt(x[1]);
                vec![want(0, &|| second.select(zero(), g)), want(1, &|| second.select(g, zero()))]
            }
            Binary::Min => {
                let second = x[1].lt(x[0]);
                vec![want(0, &|| second.select(zero(), g)), want(1, &|| second.select(g, zero()))]
            }
            Binary::Lt | Binary::Eq | Binary::And | Binary::Or | Binary::Xor | Binary::Shl | Binary::Shr => Vec::new(),
        },
        Op::Select => vec![None, want(1, &|| x[0].select(g, zero())), want(2, &|| x[0].select(zero(), g))],
        Op::Reshape => vec![Some(g.reshape(&x[0].shape()))],
        Op::Permute(p) => {
            let mut inverse = vec![0; p.len()];
            for (i, from) in p.iter().enumerate() {
                inverse[*from] = i;
            }
            vec![Some(g.permute(&inverse))]
        }
        Op::Broadcast => vec![Some(sum_to(g, &x[0].shape()))],
        Op::Slice { axis, lo, hi } => vec![Some(g.pad(*axis, *lo, x[0].size(*axis) - hi))],
        Op::Pad { axis, lo, .. } => vec![Some(g.slice(*axis, *lo, lo + x[0].size(*axis)))],
        Op::Concat { axis } => {
            let mut lo = 0;
            let part = |(i, t): (usize, &Tensor)| {
                let hi = lo + t.size(*axis);
                let from = std::mem::replace(&mut lo, hi);
                want(i, &|| g.slice(*axis, from, hi))
            };
            x.iter().enumerate().map(part).collect()
        }
        Op::Sum { .. } => vec![Some(g.broadcast_to(&x[0].shape()))],
        Op::ReduceMax { axis } => {
            // At least one element equals the largest, unless there are NaNs: then no division by zero on top.
            let largest = x[0].eq(y);
            let count = largest.to_f32().sum_keep(*axis).max(Tensor::constant_f32(1.0));
            vec![Some(largest.select(g / count, zero()))]
        }
        Op::MatMul { ta, tb } => {
            let (a, b) = (x[0], x[1]);
            let first = || if *ta { b.matmul_with(g, *tb, true) } else { g.matmul_with(b, false, !tb) };
            let second = || if *tb { g.matmul_with(a, true, *ta) } else { a.matmul_with(g, !ta, false) };
            vec![want(0, &first), want(1, &second)]
        }
        Op::Gather => vec![want(0, &|| gather(how, x[0], x[1], g)), None],
        Op::Store => {
            let (index, rows) = (x[1], x[2]);
            vec![
                want(0, &|| g.store(index, Tensor::zeros(&rows.shape()))),
                None,
                want(2, &|| {
                    let lead = index.rank() - 1;
                    let inside = index.lt(Tensor::constant_u32(g.size(lead) as u32));
                    per_row(inside, rows.rank()).select(g.gather(index), zero())
                }),
            ]
        }
        // No operand that a derivative could reach; loops and calls have rules of their own.
        Op::Input(_)
        | Op::Param(_)
        | Op::Const(_)
        | Op::Literal(_)
        | Op::Iota { .. }
        | Op::Scalar(_)
        | Op::Threefry { .. }
        | Op::Permutation { .. }
        | Op::Scan(_)
        | Op::Call(_)
        | Op::Out(_) => Vec::new(),
    }
}

fn unary(op: Unary, x: Tensor, y: Tensor, g: Tensor) -> Option<Tensor> {
    match op {
        Unary::Neg => Some(-g),
        Unary::Recip => Some(-(g * y * y)),
        Unary::Exp => Some(g * y),
        Unary::Log => Some(g * x.recip()),
        Unary::Sqrt => Some(g * (0.5 * y.recip())),
        Unary::Sin => Some(g * x.cos()),
        Unary::Cos => Some(-(g * x.sin())),
        Unary::Tanh => Some(g * (1.0 - y * y)),
        Unary::Floor | Unary::Cast(_) | Unary::Bitcast(_) | Unary::Stop => None,
    }
}

/// Tells whether a cotangent can pass from a node to an operand of data type `from`.
pub(super) fn passes(node: &Node, from: DType) -> bool {
    node.dtype == DType::F32 && from == DType::F32 && !matches!(node.op, Op::Unary(Unary::Floor | Unary::Stop))
}

/// Sum over the axes along which `shape` was repeated, the innermost first.
fn sum_to(g: Tensor, shape: &[usize]) -> Tensor {
    (0..shape.len()).rev().filter(|axis| shape[*axis] == 1).fold(g, |g, axis| g.sum_keep(axis))
}

/// `[L.., m]` with trailing axes of size 1 up to `rank`.
fn per_row(index: Tensor, rank: usize) -> Tensor {
    let mut shape = index.shape();
    shape.resize(rank, 1);
    index.reshape(&shape)
}

/// The source's cotangent, where the indices are known to be distinct; elsewhere an error.
///
/// The derivative of `store` with respect to its rows gathers at the store's index. Its own derivative, which second
/// order needs, is a store at that index. Indices beyond the end read the last row, so their cotangents go there.
fn gather(how: &SweepOptions, source: Tensor, index: Tensor, g: Tensor) -> Tensor {
    let axis = index.rank() - 1;
    let n = source.size(axis);
    let distinct = graph::with(|graph| {
        graph.nodes.iter().any(|node| {
            matches!(node.op, Op::Store)
                && node.src[1] == index.raw()
                && graph.nodes[node.src[0] as usize].shape[axis] == n
        })
    });
    if distinct != Some(true) {
        return fail(crate::Error::Gradient(format!(
            "gather has no derivative with respect to its source; multiply the source by a one-hot matrix instead, \
             `index.one_hot(n).matmul(source)` (at {})",
            how.at
        )));
    }
    let rows = Tensor::zeros(&source.shape()).store(index, g);
    let outside = per_row(index.lt(Tensor::constant_u32(n as u32)), g.rank());
    let last = outside.select(Tensor::constant_f32(0.0), g).sum_keep(axis);
    rows + last.pad(axis, n - 1, 0)
}
