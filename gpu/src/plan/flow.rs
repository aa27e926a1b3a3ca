//! The nodes of a scope and who reads whom.

use std::ops::Range;
use std::sync::Arc;

use quickstudy_kernels::program::{fold, is_constant, is_leaf, is_view};
use quickstudy_kernels::tensor::op::Scan;
use quickstudy_kernels::tensor::{Graph, NodeId, Op, Unary};
use rustc_hash::{FxHashMap, FxHashSet};

use super::chain::PlannedChain;
use super::kernel::Place;
use super::scope::{Scope, Want};

/// The kind of computation of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Each element is computed independently.
    Map,
    /// A wanted view or leaf, copied to its place.
    Copy,
    /// A reduction.
    Reduce,
    /// A matrix product.
    MatMul,
    /// Rows written into a buffer: its index space is that of the rows.
    Store,
    /// A loop.
    Scan,
    /// A sub-graph with a native twin.
    Call,
    /// Some operands of a Concat that has too many for one kernel.
    Piece,
    /// Rows, tile by tile, and sums over them.
    Chain,
}

/// How an item reads an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Use {
    /// At the same flat index as its own result.
    Direct,
    /// At other indices.
    Elsewhere,
    /// The buffer that a store changes.
    Dest,
}

/// An operand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    /// The node that the operand's views lead to.
    pub to: NodeId,
    /// At which index.
    pub how: Use,
    /// How often its elements are evaluated, if the reader computes them itself; `None` if they must be in memory.
    pub evaluations: Option<usize>,
}

/// A unit of computation: a node that is neither view nor leaf, or the copy of one that is.
#[derive(Clone, Debug)]
pub(super) struct Item {
    /// The node.
    pub node: NodeId,
    /// The kind of its computation.
    pub class: Class,
    /// Number of elements of its index space.
    pub space: usize,
    /// Its operands, constants left out.
    pub edges: Vec<Edge>,
    /// The operands of the node that make a piece.
    pub operands: Option<Range<usize>>,
    /// The number of its chain.
    pub chain: Option<usize>,
}

/// A scope's items.
pub(super) struct Flow<'a> {
    /// The scope.
    pub scope: &'a Scope<'a>,
    /// Its chains.
    pub chains: &'a [Arc<PlannedChain>],
    /// The wanted values that are not in their places from the start.
    pub wants: Vec<Want>,
    /// The items, operands before readers.
    pub items: Vec<Item>,
    /// The item that computes a node; results of scans and calls are computed by those.
    of: Vec<u32>,
    /// The item that computes each want.
    pub wanted: Vec<usize>,
    /// For each item: items with an edge to it, and the edge's number.
    pub readers: Vec<Vec<(usize, usize)>>,
    /// Values that are changed where they are, and the items that change them: stores, and loops whose bodies store.
    pub changes: Vec<(NodeId, usize)>,
}

const NONE: u32 = u32::MAX;
/// Rows and columns of a matrix product that one workgroup computes.
const TILE: usize = 64;

impl<'a> Flow<'a> {
    #[inline(never)]
    pub(super) fn new(scope: &'a Scope<'a>, wants: &[Want], chains: &'a [Arc<PlannedChain>]) -> Flow<'a> {
        let graph = scope.graph;
        // A value that is in its place from the start needs nothing.
        let wants: Vec<Want> = wants.iter().filter(|w| w.old != Some(w.node)).cloned().collect();
        let outs: Vec<NodeId> = wants.iter().map(|w| w.node).collect();
        let mut flow = Flow {
            scope,
            chains,
            wants,
            items: Vec::new(),
            of: vec![NONE; graph.nodes.len()],
            wanted: Vec::new(),
            readers: Vec::new(),
            changes: Vec::new(),
        };
        for step in in_order(graph, graph.reachable(&outs, scope.scope), chains) {
            let id = match step {
                FlowStep::Node(id) => id,
                FlowStep::Chain(chain) => {
                    chains[chain].nodes.iter().for_each(|id| flow.of[*id as usize] = flow.items.len() as u32);
                    flow.items.push(chain_item(chain, &chains[chain]));
                    continue;
                }
            };
            let node = &graph.nodes[id as usize];
            if node.scope != scope.scope || is_view(&node.op) || is_leaf(&node.op) {
                continue;
            }
            if let Op::Out(_) = node.op {
                flow.of[id as usize] = flow.of[node.src[0] as usize];
                continue;
            }
            let item = flow.item(id);
            match flow.pieces(id) {
                Some(pieces) => flow.items.extend(pieces),
                None => flow.items.push(item),
            }
            flow.of[id as usize] = flow.items.len() as u32 - 1;
        }
        let mut taken: Vec<NodeId> = Vec::new();
        for i in 0..flow.wants.len() {
            let want = &flow.wants[i];
            let (root, whole) = fold(graph, want.node);
            let plain = match flow.find(root) {
                Some(item) => {
                    let row = matches!(want.place, Place::Row(_));
                    whole && !taken.contains(&root) && !(row && flow.items[item].class == Class::Scan)
                }
                None => false,
            };
            if let (Some(item), true) = (flow.find(root), plain) {
                taken.push(root);
                flow.wanted.push(item);
                continue;
            }
            let len = graph.nodes[want.node as usize].len();
            // Some leaves are overwritten: their copies are kept apart from kernels that write in place.
            let stays = flow.find(root).is_some() || flow.wants.iter().all(|w| w.old != Some(root));
            let how = if whole && stays { Use::Direct } else { Use::Elsewhere };
            let edge = Edge { to: root, how, evaluations: Some(len) };
            let constant = is_constant(&graph.nodes[root as usize].op);
            let edges = if constant { Vec::new() } else { vec![edge] };
            flow.wanted.push(flow.items.len());
            flow.items.push(Item {
                node: want.node,
                class: Class::Copy,
                space: len,
                edges,
                operands: None,
                chain: None,
            });
        }
        flow.readers = vec![Vec::new(); flow.items.len()];
        for (i, item) in flow.items.iter().enumerate() {
            for (k, edge) in item.edges.iter().enumerate() {
                if let Some(to) = flow.find(edge.to) {
                    flow.readers[to].push((i, k));
                }
                if edge.how == Use::Dest {
                    flow.changes.push((edge.to, i));
                }
            }
            if let Op::Scan(scan) = &graph.nodes[item.node as usize].op
                && item.class == Class::Scan
            {
                let src = &graph.nodes[item.node as usize].src;
                let stored = (0..scan.carries).filter(|carry| stores_into(graph, scan, *carry));
                let whole = stored.map(|carry| fold(graph, src[carry])).filter(|(_, whole)| *whole);
                flow.changes.extend(whole.map(|(root, _)| (root, i)));
            }
        }
        flow
    }

    /// The items that change a value where it is.
    pub(super) fn changers(&self, value: NodeId) -> impl Iterator<Item = usize> + '_ {
        self.changes.iter().filter(move |(changed, _)| *changed == value).map(|(_, item)| *item)
    }

    /// The item that computes a node.
    pub(super) fn find(&self, node: NodeId) -> Option<usize> {
        let item = self.of[node as usize];
        (item != NONE).then_some(item as usize)
    }

    /// Number of elements of a node.
    pub(super) fn len(&self, node: NodeId) -> usize {
        self.scope.graph.nodes[node as usize].len()
    }

    /// The values that an item has to offer: itself, or its results.
    pub(super) fn values(&self, item: usize) -> Vec<NodeId> {
        let it = &self.items[item];
        match it.class {
            Class::Scan | Class::Call => self.scope.outs.get(&it.node).cloned().unwrap_or_default(),
            Class::Chain => it.chain.map_or_else(Vec::new, |chain| self.chains[chain].outs.clone()),
            _ => vec![it.node],
        }
    }

    /// The value that an item computes for a want.
    pub(super) fn wanted_value(&self, want: usize) -> NodeId {
        match self.items[self.wanted[want]].class {
            Class::Copy => self.wants[want].node,
            _ => fold(self.scope.graph, self.wants[want].node).0,
        }
    }

    /// The leaf whose place an item's value is to take.
    pub(super) fn replaces(&self, item: usize) -> Option<NodeId> {
        self.wanted.iter().position(|i| *i == item).and_then(|w| self.wants[w].old)
    }

    /// Tells whether an item is wanted in a row of a stacked output.
    pub(super) fn row(&self, item: usize) -> bool {
        let row = |w: &Want| matches!(w.place, Place::Row(_));
        self.wanted.iter().zip(&self.wants).any(|(i, w)| *i == item && row(w))
    }

    /// The items that write a value, in order: more than one if it is written piece by piece.
    pub(super) fn writers(&self, item: usize) -> Range<usize> {
        let mut first = item;
        while self.is_later_piece(first) {
            first -= 1;
        }
        first..item + 1
    }

    /// Tells whether the item before this one writes another piece of the same value.
    pub(super) fn is_later_piece(&self, item: usize) -> bool {
        let piece = self.items[item].class == Class::Piece;
        piece && self.items[item].operands.as_ref().is_some_and(|o| o.start > 0)
    }

    /// A Concat of more buffers than a kernel may bind, cut into pieces.
    #[inline(never)]
    fn pieces(&self, id: NodeId) -> Option<Vec<Item>> {
        let graph = self.scope.graph;
        let node = &graph.nodes[id as usize];
        let Op::Concat { .. } = node.op else {
            return None;
        };
        // A row of a stacked output is not read: the value may have to be written twice.
        let row = |w: &Want| matches!(w.place, Place::Row(_)) && fold(graph, w.node).0 == id;
        let writes = if self.wants.iter().any(row) { 2 } else { 1 };
        let most = self.scope.options.max_bindings.saturating_sub(writes).max(1);
        let mut pieces: Vec<Item> = Vec::new();
        let mut item =
            Item { node: id, class: Class::Piece, space: 0, edges: Vec::new(), operands: Some(0..0), chain: None };
        let mut roots: Vec<NodeId> = Vec::new();
        for (i, s) in node.src.iter().enumerate() {
            let (to, _) = fold(graph, *s);
            let constant = is_constant(&graph.nodes[to as usize].op);
            if !constant && !roots.contains(&to) {
                if roots.len() == most {
                    let next = Item { space: 0, edges: Vec::new(), operands: Some(i..i), ..item.clone() };
                    pieces.push(std::mem::replace(&mut item, next));
                    roots.clear();
                }
                roots.push(to);
            }
            let len = graph.nodes[*s as usize].len();
            if !constant {
                item.edges.push(Edge { to, how: Use::Elsewhere, evaluations: Some(len) });
            }
            item.space += len;
            item.operands = item.operands.map(|o| o.start..i + 1);
        }
        if pieces.is_empty() {
            return None;
        }
        pieces.push(item);
        Some(pieces)
    }

    #[inline(never)]
    fn item(&self, id: NodeId) -> Item {
        let graph = self.scope.graph;
        let node = &graph.nodes[id as usize];
        let len = node.len();
        let size = |s: NodeId| graph.nodes[s as usize].len();
        let mut edges: Vec<Edge> = Vec::with_capacity(node.src.len());
        let mut read = |src: NodeId, may_be_direct: bool, evaluations: Option<usize>| {
            let (to, whole) = fold(graph, src);
            if !is_constant(&graph.nodes[to as usize].op) {
                let how = if whole && may_be_direct { Use::Direct } else { Use::Elsewhere };
                edges.push(Edge { to, how, evaluations });
            }
        };
        let (mut class, mut space) = (Class::Map, len);
        match &node.op {
            Op::Sum { .. } | Op::ReduceMax { .. } => {
                class = Class::Reduce;
                read(node.src[0], false, Some(size(node.src[0])));
            }
            Op::MatMul { .. } => {
                class = Class::MatMul;
                let [m, n] = [node.shape[node.shape.len() - 2], node.shape[node.shape.len() - 1]];
                // Each tile of results loads its rows and columns anew.
                read(node.src[0], false, Some(size(node.src[0]) * n.div_ceil(TILE)));
                read(node.src[1], false, Some(size(node.src[1]) * m.div_ceil(TILE)));
            }
            Op::Pad { .. } | Op::Concat { .. } => node.src.iter().for_each(|s| read(*s, false, Some(size(*s)))),
            Op::Gather => {
                let rows = size(node.src[1]);
                read(node.src[0], false, Some(len));
                read(node.src[1], rows == len, Some(len));
            }
            Op::Store => {
                class = Class::Store;
                space = size(node.src[2]);
                read(node.src[1], size(node.src[1]) == space, None);
                read(node.src[2], true, None);
                let (to, _) = fold(graph, node.src[0]);
                if !is_constant(&graph.nodes[to as usize].op) {
                    edges.push(Edge { to, how: Use::Dest, evaluations: None });
                }
            }
            Op::Scan(_) => {
                class = Class::Scan;
                // A first carry that nothing else reads may be where the carry is kept: direct, as it were.
                node.src.iter().for_each(|s| read(*s, false, None));
            }
            Op::Call(_) => {
                class = Class::Call;
                // Row by row, so a result may replace an operand.
                node.src.iter().for_each(|s| read(*s, true, Some(size(*s))));
            }
            _ => node.src.iter().for_each(|s| read(*s, true, Some(len))),
        }
        Item { node: id, class, space, edges, operands: None, chain: None }
    }
}

/// A node of a scope, or one of its chains.
#[derive(Clone, Copy)]
enum FlowStep {
    Node(NodeId),
    Chain(usize),
}

/// The nodes of a scope with each chain in the place of its own, operands before readers.
fn in_order(graph: &Graph, nodes: Vec<NodeId>, chains: &[Arc<PlannedChain>]) -> Vec<FlowStep> {
    if chains.is_empty() {
        return nodes.into_iter().map(FlowStep::Node).collect();
    }
    let members = chains.iter().enumerate().flat_map(|(k, chain)| chain.nodes.iter().map(move |id| (*id, k)));
    let chain_of: FxHashMap<NodeId, usize> = members.collect();
    let reachable: FxHashSet<NodeId> = nodes.iter().copied().collect();
    let (mut order, mut seen, mut seen_chains) = (Vec::new(), FxHashSet::default(), vec![false; chains.len()]);
    for id in nodes {
        let mut stack = vec![(id, false)];
        while let Some((id, ready)) = stack.pop() {
            let chain = chain_of.get(&id).copied();
            if ready {
                order.push(chain.map_or(FlowStep::Node(id), FlowStep::Chain));
                continue;
            }
            let is_new = match chain {
                Some(chain) => !std::mem::replace(&mut seen_chains[chain], true),
                None => reachable.contains(&id) && seen.insert(id),
            };
            if is_new {
                stack.push((id, true));
                let src = chain.map_or(&graph.nodes[id as usize].src[..], |chain| &chains[chain].reads[..]);
                stack.extend(src.iter().rev().map(|id| (*id, false)));
            }
        }
    }
    order
}

fn chain_item(number: usize, chain: &PlannedChain) -> Item {
    let edges = chain.reads.iter().map(|to| Edge { to: *to, how: Use::Elsewhere, evaluations: None }).collect();
    let node = chain.nodes.last().copied().unwrap_or_default();
    Item { node, class: Class::Chain, space: 0, edges, operands: None, chain: Some(number) }
}

/// Tells whether the body of a loop only stores rows into a carry, or has a loop that does.
fn stores_into(graph: &Graph, scan: &Scan, carry: usize) -> bool {
    let (mut node, mut stored) = (scan.body.outs[carry], false);
    while node != scan.body.params[1 + carry] {
        let next = &graph.nodes[node as usize];
        node = match &next.op {
            Op::Store => {
                stored = true;
                next.src[0]
            }
            Op::Reshape | Op::Unary(Unary::Stop) => next.src[0],
            Op::Out(i) => {
                let inner = &graph.nodes[next.src[0] as usize];
                match &inner.op {
                    Op::Scan(scan) if (*i as usize) < scan.carries => {
                        stored |= stores_into(graph, scan, *i as usize);
                        inner.src[*i as usize]
                    }
                    _ => return false,
                }
            }
            _ => return false,
        };
    }
    stored
}
