//! Tidies the loops of a finished graph before it is compiled.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::tensor::graph::{Graph, ROOT};
use crate::tensor::op::{Body, Scan};
use crate::tensor::{NodeId, Op};

/// Make a loop and its twin that stacks the carries one loop, and drop stacked outputs that nobody reads.
///
/// Derivatives read the twin's results while the rest of the program reads the loop's own: without this, the same steps
/// would run twice. Values of `outs`, the program's results, stay what they are. No node may be added afterwards.
pub(crate) fn tidy_loops(g: &mut Graph, outs: &[NodeId]) {
    merge_twins(g, outs);
    while drop_outputs(g, outs) {}
}

fn live(g: &Graph, outs: &[NodeId]) -> FxHashSet<NodeId> {
    g.reachable(outs, ROOT).into_iter().collect()
}

fn merge_twins(g: &mut Graph, outs: &[NodeId]) {
    let live = live(g, outs);
    let mut twins: Vec<(NodeId, NodeId)> = g.stacked.iter().map(|(a, b)| (*a, *b)).filter(|(a, b)| a != b).collect();
    twins.sort_unstable();
    for (first, twin) in twins {
        let one = [first, twin].iter().all(|id| live.contains(id));
        if !one || g.nodes[first as usize].src != g.nodes[twin as usize].src {
            continue;
        }
        g.nodes[first as usize].op = g.nodes[twin as usize].op.clone();
        let mut known: FxHashMap<u32, NodeId> = FxHashMap::default();
        for id in first + 1..g.nodes.len() as NodeId {
            let node = &mut g.nodes[id as usize];
            let Op::Out(i) = node.op else {
                continue;
            };
            if node.src[0] == first {
                known.insert(i, id);
            } else if node.src[0] == twin {
                // The same value as a result of the first one: a view of it, where there is one.
                match known.get(&i) {
                    Some(same) => (node.op, node.src) = (Op::Reshape, vec![*same]),
                    None => node.src = vec![first],
                }
            }
        }
    }
}

/// Returns whether something was dropped: then what only that needed can be dropped, too.
fn drop_outputs(g: &mut Graph, outs: &[NodeId]) -> bool {
    let live = live(g, outs);
    let mut read: FxHashMap<NodeId, FxHashSet<usize>> = FxHashMap::default();
    for &id in &live {
        let node = &g.nodes[id as usize];
        if let Op::Out(i) = node.op {
            read.entry(node.src[0]).or_default().insert(i as usize);
        }
    }
    let mut changed = false;
    for (id, read) in read {
        let Op::Scan(scan) = g.nodes[id as usize].op.clone() else {
            continue;
        };
        let kept: Vec<usize> = (0..scan.body.outs.len()).filter(|i| *i < scan.carries || read.contains(i)).collect();
        if kept.len() == scan.body.outs.len() {
            continue;
        }
        changed = true;
        let body_outs: Vec<NodeId> = kept.iter().map(|i| scan.body.outs[*i]).collect();
        let mut src = g.nodes[id as usize].src[..scan.carries + scan.xs].to_vec();
        src.extend(g.captures(&body_outs, scan.body.scope));
        let body = Body { outs: body_outs, ..scan.body.clone() };
        let node = &mut g.nodes[id as usize];
        (node.op, node.src) = (Op::Scan(Arc::new(Scan { body, ..(*scan).clone() })), src);
        for node in &mut g.nodes[id as usize + 1..] {
            let Op::Out(i) = node.op else {
                continue;
            };
            if node.src[0] != id {
                continue;
            }
            match kept.iter().position(|k| *k == i as usize) {
                Some(new) => node.op = Op::Out(new as u32),
                // Nobody reads it; nothing may take it for a result of the loop.
                None => (node.op, node.src) = (Op::Const(0), Vec::new()),
            }
        }
    }
    changed
}
