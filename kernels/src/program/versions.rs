//! The values that an entry of a state takes in a program.

use rustc_hash::FxHashMap;

use crate::tensor::{Graph, NodeId, Op, Unary};

/// Nodes that are all of the entry, each with the node that its views lead to: the entry, what stores and loops make of
/// it, and the carries of loops that begin with it.
pub(super) fn versions(graph: &Graph, first: NodeId) -> FxHashMap<NodeId, NodeId> {
    let mut versions = FxHashMap::from_iter([(first, first)]);
    let mut known = 0;
    // Bodies may stand before or after the loops that they belong to.
    while known < versions.len() {
        known = versions.len();
        for (id, node) in graph.nodes.iter().enumerate() {
            let id = id as NodeId;
            match &node.op {
                Op::Reshape | Op::Unary(Unary::Stop) => {
                    if let Some(root) = versions.get(&node.src[0]).copied() {
                        versions.insert(id, root);
                    }
                }
                Op::Store if versions.contains_key(&node.src[0]) => {
                    versions.insert(id, id);
                }
                Op::Scan(scan) => {
                    for i in (0..scan.carries).filter(|i| versions.contains_key(&node.src[*i])).collect::<Vec<_>>() {
                        let param = scan.body.params[1 + i];
                        versions.insert(param, param);
                    }
                }
                Op::Out(i) => {
                    if let Op::Scan(scan) = &graph.nodes[node.src[0] as usize].op
                        && (*i as usize) < scan.carries
                        && versions.contains_key(&graph.nodes[node.src[0] as usize].src[*i as usize])
                    {
                        versions.insert(id, id);
                    }
                }
                _ => {}
            }
        }
    }
    versions
}
