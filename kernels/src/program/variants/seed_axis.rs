//! The axis of a tensor that belongs to rows, followed from the arguments through a graph.

use crate::program::arg::{Arg, Role};
use crate::tensor::{Graph, Node, NodeId, Op};

/// The axis along which a tensor's elements belong to S rows: the axis `axis` has `outer · S · right` elements, and
/// element `i` of it belongs to row `(i / right) mod S`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SeedAxis {
    pub axis: usize,
    pub right: usize,
}

/// How a tensor's elements belong to rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowAxis {
    /// No row owns them: all rows share equal elements.
    Alike,
    /// RowAxis own them along an axis.
    Along(SeedAxis),
    /// Unknown.
    Mixed,
}

impl RowAxis {
    /// Combines both, as an operation does element by element.
    fn with(self, other: RowAxis) -> RowAxis {
        match (self, other) {
            (RowAxis::Alike, other) => other,
            (own, RowAxis::Alike) => own,
            (own, other) if own == other => own,
            _ => RowAxis::Mixed,
        }
    }

    /// Moves the rows to another axis.
    fn moved(self, to: impl FnOnce(usize) -> Option<usize>) -> RowAxis {
        match self {
            RowAxis::Along(SeedAxis { axis, right }) => match to(axis) {
                Some(axis) => RowAxis::Along(SeedAxis { axis, right }),
                None => RowAxis::Mixed,
            },
            other => other,
        }
    }
}

impl SeedAxis {
    /// The first axis.
    pub(super) const FIRST: SeedAxis = SeedAxis { axis: 0, right: 1 };

    /// The axis after a reshape of `from` to `to`; none if the rows are then along two axes.
    fn reshaped(self, seeds: usize, from: &[usize], to: &[usize]) -> Option<SeedAxis> {
        // Elements between those of one row and the next, in row-major order.
        let stride = self.right * from[self.axis + 1..].iter().product::<usize>();
        let mut behind = 1;
        for axis in (0..to.len()).rev() {
            let whole = behind * to[axis];
            if stride.is_multiple_of(behind) && whole.is_multiple_of(stride * seeds) {
                return Some(SeedAxis { axis, right: stride / behind });
            }
            behind = whole;
        }
        None
    }
}

/// How each node's elements belong to `seeds` rows, of which all states and inputs have a first axis.
pub(super) fn follow(graph: &Graph, args: &[Arg], seeds: usize) -> Vec<RowAxis> {
    let mut all = vec![RowAxis::Alike; graph.nodes.len()];
    // What a loop carries depends on what its body makes of it. Each pass may only add knowledge.
    loop {
        let mut changed = false;
        for id in 0..graph.nodes.len() {
            let rows = of(graph, args, seeds, &all, id as NodeId);
            if !matches!(graph.nodes[id].op, Op::Param(_)) {
                changed |= rows != all[id];
                all[id] = rows;
            }
            changed |= enter(graph, &mut all, id as NodeId);
        }
        if !changed {
            return all;
        }
    }
}

/// As [`follow`], where tensors that are the same for all rows, such as first values of carries, belong to rows as what
/// they are used with: along that axis a number of theirs would have to be repeated.
pub(super) fn wanted(graph: &Graph, seeds: usize, mut all: Vec<RowAxis>) -> Vec<RowAxis> {
    loop {
        let before = all.clone();
        for id in (0..graph.nodes.len()).rev() {
            want(graph, seeds, &mut all, id);
        }
        if all == before {
            return all;
        }
    }
}

/// Passes what is known of a node back to its operands of which nothing is.
fn want(graph: &Graph, seeds: usize, all: &mut [RowAxis], id: usize) {
    let node = &graph.nodes[id];
    let shape = |of: NodeId| &graph.nodes[of as usize].shape;
    let give = |all: &mut [RowAxis], of: NodeId, rows: RowAxis| {
        if let (RowAxis::Alike, RowAxis::Along(_)) = (all[of as usize], rows) {
            all[of as usize] = rows;
        }
    };
    let own = all[id];
    match &node.op {
        Op::Scan(scan) => {
            for i in 0..scan.carries {
                let carry = [node.src[i], scan.body.params[1 + i], scan.body.outs[i]];
                let known = carry.iter().map(|of| all[*of as usize]).find(|rows| *rows != RowAxis::Alike);
                carry.iter().for_each(|of| give(all, *of, known.unwrap_or(RowAxis::Alike)));
            }
            for i in 0..scan.xs {
                let row = all[scan.body.params[1 + scan.carries + i] as usize];
                give(all, node.src[scan.carries + i], row.moved(|axis| Some(axis + 1)));
            }
        }
        Op::Out(i) => {
            let source = &graph.nodes[node.src[0] as usize];
            if let Op::Scan(scan) = &source.op {
                let stacked = *i as usize >= scan.carries;
                let rows = own.moved(|axis| if stacked { axis.checked_sub(1) } else { Some(axis) });
                give(all, scan.body.outs[*i as usize], rows);
            }
        }
        Op::Reshape => {
            let rows = match own {
                RowAxis::Along(axis) => axis.reshaped(seeds, &node.shape, shape(node.src[0])),
                _ => None,
            };
            give(all, node.src[0], rows.map_or(RowAxis::Alike, RowAxis::Along));
        }
        Op::Permute(permutation) => give(all, node.src[0], own.moved(|axis| permutation.get(axis).copied())),
        Op::Broadcast => {
            if let RowAxis::Along(SeedAxis { axis, .. }) = own
                && shape(node.src[0])[axis] == node.shape[axis]
            {
                give(all, node.src[0], own);
            }
        }
        Op::Unary(_) | Op::Binary(_) | Op::Select => node.src.iter().for_each(|of| give(all, *of, own)),
        _ => {}
    }
}

/// Passes the rows of a loop's or a call's operands to the parameters of its body; tells whether something was new.
fn enter(graph: &Graph, all: &mut [RowAxis], id: NodeId) -> bool {
    let node = &graph.nodes[id as usize];
    let (body, given): (_, Vec<RowAxis>) = match &node.op {
        Op::Scan(scan) => {
            let carry = |i: usize| all[node.src[i] as usize].with(all[scan.body.outs[i] as usize]);
            let row = |i: usize| all[node.src[scan.carries + i] as usize].moved(|axis| axis.checked_sub(1));
            let index = std::iter::once(RowAxis::Alike);
            (&scan.body, index.chain((0..scan.carries).map(carry)).chain((0..scan.xs).map(row)).collect())
        }
        Op::Call(call) => (&call.body, node.src.iter().map(|src| all[*src as usize]).collect()),
        _ => return false,
    };
    let mut changed = false;
    for (param, rows) in body.params.iter().zip(given) {
        let known = &mut all[*param as usize];
        let rows = known.with(rows);
        changed |= rows != *known;
        *known = rows;
    }
    changed
}

fn of(graph: &Graph, args: &[Arg], seeds: usize, all: &[RowAxis], id: NodeId) -> RowAxis {
    let node = &graph.nodes[id as usize];
    let src = |i: usize| all[node.src[i] as usize];
    let shape_of = |i: usize| &graph.nodes[node.src[i] as usize].shape[..];
    let joint = || node.src.iter().fold(RowAxis::Alike, |rows, src| rows.with(all[*src as usize]));
    match &node.op {
        Op::Input(arg) => match args.get(*arg as usize) {
            Some(Arg { role: Role::State | Role::Input, shape, .. }) if shape.first() == Some(&seeds) => {
                RowAxis::Along(SeedAxis::FIRST)
            }
            _ => RowAxis::Mixed,
        },
        Op::Param(_) | Op::Const(_) | Op::Literal(_) | Op::Iota { .. } | Op::Scalar(_) => RowAxis::Alike,
        Op::Unary(_) | Op::Binary(_) | Op::Select | Op::Threefry { .. } | Op::Permutation { .. } | Op::Broadcast => {
            joint()
        }
        Op::Reshape => match src(0) {
            RowAxis::Along(axis) => {
                axis.reshaped(seeds, shape_of(0), &node.shape).map_or(RowAxis::Mixed, RowAxis::Along)
            }
            other => other,
        },
        Op::Permute(permutation) => src(0).moved(|axis| permutation.iter().position(|from| *from == axis)),
        Op::Slice { axis, lo, hi } => whole_blocks(src(0), seeds, *axis, &[*lo, *hi]),
        Op::Pad { axis, lo, hi } => whole_blocks(src(0), seeds, *axis, &[*lo, *hi]),
        Op::Concat { axis } => {
            let sizes: Vec<usize> = (0..node.src.len()).map(|i| shape_of(i)[*axis]).collect();
            whole_blocks(joint(), seeds, *axis, &sizes)
        }
        Op::Sum { axis } | Op::ReduceMax { axis } => src(0).moved(|own| (own != *axis).then_some(own)),
        Op::MatMul { ta, tb } => {
            let rank = node.shape.len();
            // The axis of an operand that is summed over.
            let summed = [rank - if *ta { 2 } else { 1 }, rank - if *tb { 1 } else { 2 }];
            let of = |i: usize| {
                let result = rank - 2 + i;
                src(i).moved(|own| if own + 2 < rank { Some(own) } else { (own != summed[i]).then_some(result) })
            };
            of(0).with(of(1))
        }
        Op::Gather => {
            let rows = shape_of(1).len() - 1;
            src(0).moved(|own| (own != rows).then_some(own)).with(src(1))
        }
        Op::Store => {
            let rows = shape_of(1).len() - 1;
            let kept = |i: usize| src(i).moved(|own| (own != rows).then_some(own));
            kept(0).with(kept(1)).with(kept(2))
        }
        Op::Scan(_) | Op::Call(_) => RowAxis::Alike,
        Op::Out(i) => out(graph, all, node, *i as usize),
    }
}

fn out(graph: &Graph, all: &[RowAxis], node: &Node, i: usize) -> RowAxis {
    let source = &graph.nodes[node.src[0] as usize];
    match &source.op {
        Op::Scan(scan) => {
            let made = all[scan.body.outs[i] as usize];
            match i < scan.carries {
                true => made.with(all[source.src[i] as usize]),
                false => made.moved(|axis| Some(axis + 1)),
            }
        }
        Op::Call(call) => all[call.body.outs[i] as usize],
        _ => RowAxis::Mixed,
    }
}

/// The rows of a part of an axis, or of parts that are put together along it; `ends` are sizes that must be whole
/// blocks of all rows if the axis is that of the rows.
fn whole_blocks(rows: RowAxis, seeds: usize, axis: usize, ends: &[usize]) -> RowAxis {
    match rows {
        RowAxis::Along(own) if own.axis == axis && ends.iter().any(|end| !end.is_multiple_of(own.right * seeds)) => {
            RowAxis::Mixed
        }
        rows => rows,
    }
}
