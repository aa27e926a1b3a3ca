//! Nodes that take no work of their own: views of others, and leaves.

use crate::tensor::{Graph, NodeId, Op, Unary};

/// Tells whether a node only changes how another one is indexed.
pub fn is_view(op: &Op) -> bool {
    let same = matches!(op, Op::Unary(Unary::Stop));
    same || matches!(op, Op::Reshape | Op::Permute(_) | Op::Broadcast | Op::Slice { .. })
}

/// Tells whether a node needs no work: an argument, a parameter or a constant.
pub fn is_leaf(op: &Op) -> bool {
    matches!(op, Op::Input(_) | Op::Param(_)) || is_constant(op)
}

/// Tells whether a leaf needs no buffer: a number, an index or a run-time scalar.
pub fn is_constant(op: &Op) -> bool {
    // Parameter 0 is the step index of a loop; planners do not look into calls.
    matches!(op, Op::Const(_) | Op::Literal(_) | Op::Iota { .. } | Op::Scalar(_) | Op::Param(0))
}

/// The 32 bits of a node that is one constant, seen through views.
pub(crate) fn constant(graph: &Graph, mut id: NodeId) -> Option<u32> {
    loop {
        let node = &graph.nodes[id as usize];
        match &node.op {
            Op::Const(bits) => return Some(node.dtype.word(*bits)),
            op if is_view(op) => id = node.src[0],
            _ => return None,
        }
    }
}

/// The node that a chain of views leads to, and whether it is all of it in the same order.
pub fn fold(graph: &Graph, mut id: NodeId) -> (NodeId, bool) {
    let mut whole = true;
    loop {
        let node = &graph.nodes[id as usize];
        if !is_view(&node.op) {
            return (id, whole);
        }
        whole &= matches!(node.op, Op::Reshape | Op::Unary(Unary::Stop));
        id = node.src[0];
    }
}
