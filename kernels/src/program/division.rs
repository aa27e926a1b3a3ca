//! The division of a trace that is cut into the parts between its cuts.
//!
//! Floating-point numbers are carried from one part to the next and not computed again: a GPU could round them
//! otherwise. Loops and their derivatives are merged before the division, so that none is run twice.

use super::arg::{Arg, Role};
use super::cut::{Cut, CutKind, CutStep};
use super::marks::Marks;
use super::{is_leaf, is_view};
use crate::tensor::graph::ROOT;
use crate::tensor::{Graph, NodeId, Op};
use crate::{DType, Error, Result};

/// Elements of integer work that are computed again in any case, instead of carried from one part to the next.
const CHEAP: usize = 1 << 12;

/// A loop around cuts: the number of the cut at which it begins, and of that at which it ends. The parts in between are
/// inside.
#[derive(Clone, Copy, Debug)]
pub(super) struct Around {
    pub begin: usize,
    pub end: usize,
}

/// Which part computes what, by demand: part j computes what its cut asks (the last one: all results) and no earlier
/// part has computed. What an earlier part has computed is carried; views and small integers, such as keys, are
/// computed again. What a loop does not change is computed before it.
pub(super) struct Division<'a> {
    graph: &'a Graph,
    args: &'a [Arg],
    pub loops: Vec<Around>,
    /// The first part in which there is all that a node follows from.
    first: Vec<usize>,
    /// The loop inside of which a node changes.
    varies: Vec<Option<usize>>,
    /// Elements of integer work by which a node follows from arguments; none if it takes more than that.
    work: Vec<Option<usize>>,
    /// The part that computes a node; of a loop's results, the loop.
    owner: Vec<Option<usize>>,
    /// Nodes that each part looks at.
    pub seen: Vec<Marks>,
    /// Values that each part takes from outside: inputs of the program, answers, carried ones.
    pub reads: Vec<Marks>,
    /// Values that each part leaves to the host and to later parts.
    pub gives: Vec<Marks>,
    error: Option<Error>,
}

impl<'a> Division<'a> {
    /// Divides a graph at its cuts.
    pub fn new(graph: &'a Graph, args: &'a [Arg], cuts: &[Cut]) -> Division<'a> {
        let begins = (0..cuts.len()).filter(|cut| matches!(cuts[*cut].kind, CutKind::Repeat(_)));
        let ends = (0..cuts.len()).filter(|cut| cuts[*cut].kind == CutKind::End);
        let loops: Vec<Around> = begins.zip(ends).map(|(begin, end)| Around { begin, end }).collect();
        let answered = |arg: usize| {
            let inside = |around: &Around| cuts[around.begin..around.end].iter().any(|cut| cut.answers.contains(&arg));
            loops.iter().position(inside)
        };
        let (mut varies, mut work): (Vec<Option<usize>>, Vec<Option<usize>>) = (Vec::new(), Vec::new());
        let mut first: Vec<usize> = Vec::new();
        for (id, node) in graph.nodes.iter().enumerate() {
            first.push(match node.op {
                Op::Input(arg) => {
                    cuts.iter().position(|cut| cut.answers.contains(&(arg as usize))).map_or(0, |cut| cut + 1)
                }
                _ => {
                    let body = graph.body(id as NodeId).into_iter().flatten();
                    node.src.iter().copied().chain(body).map(|below| first[below as usize]).max().unwrap_or(0)
                }
            });
            let below = node.src.iter().find_map(|source| varies[*source as usize]);
            varies.push(match node.op {
                Op::Input(arg) => answered(arg as usize),
                _ => below,
            });
            // Numbers that are not whole may come out differently when they are computed again on a GPU.
            let own = match &node.op {
                op if is_view(op) || (is_leaf(op) && !matches!(op, Op::Param(_))) => Some(0),
                Op::Threefry { .. } => Some(8 * node.len()),
                Op::Unary(_) | Op::Binary(_) | Op::Select | Op::Concat { .. } | Op::Pad { .. } => {
                    (node.dtype == DType::U32).then_some(node.len())
                }
                _ => None,
            };
            // A sum over the tree, not the graph: an upper bound.
            let add = |sum: usize, source: &NodeId| Some(sum.saturating_add(work[*source as usize]?));
            let below = node.src.iter().try_fold(0, add);
            work.push(own.zip(below).map(|(own, below)| own.saturating_add(below)).filter(|_| node.scope == ROOT));
        }
        let none = vec![Marks::none(graph.nodes.len()); cuts.len() + 1];
        let (seen, reads, gives) = (none.clone(), none.clone(), none);
        let owner = vec![None; graph.nodes.len()];
        Division { graph, args, loops, first, varies, work, owner, seen, reads, gives, error: None }
    }

    /// The loop that a part is inside of.
    fn region(&self, part: usize) -> Option<usize> {
        self.loops.iter().position(|around| around.begin < part && part <= around.end)
    }

    /// The new values of a loop's carries that can be computed in a part inside of the loop, and not before it. There
    /// they are computed with what they follow from: an optimiser's step is one kernel with its moments, even if only
    /// its parameters are needed in the next part.
    pub fn ready(&self, part: usize, steps: &[CutStep]) -> Vec<NodeId> {
        let Some(Around { begin, end }) = self.region(part).map(|region| self.loops[region]) else { return Vec::new() };
        let is_bulk =
            |id: NodeId| matches!(self.graph.nodes[id as usize].op, Op::Input(arg) if self.args[arg as usize].bulk);
        let news = steps[end].asks.iter().zip(&steps[begin].asks);
        let ready = news.filter(|(new, old)| self.first[**new as usize] == part && !is_bulk(**old));
        ready.map(|(new, _)| *new).collect()
    }

    /// The part that computes a value, of those that are not computed again.
    pub fn owner(&self, id: NodeId) -> Option<usize> {
        self.owner[self.unit(id) as usize]
    }

    /// Whoever computes a node computes this one: all results of a loop are computed where the loop is.
    fn unit(&self, id: NodeId) -> NodeId {
        let node = &self.graph.nodes[id as usize];
        if matches!(node.op, Op::Out(_)) { node.src[0] } else { id }
    }

    /// The error that demands have met.
    ///
    /// # Errors
    /// If a value from inside of a loop is needed after it.
    pub fn check(&mut self) -> Result<()> {
        self.error.take().map_or(Ok(()), Err)
    }

    /// Makes a node available in a part.
    pub fn demand(&mut self, part: usize, wanted: NodeId) {
        let graph = self.graph;
        let mut stack = vec![wanted];
        while let Some(id) = stack.pop() {
            if !self.seen[part].insert(id) {
                continue;
            }
            let node = &graph.nodes[id as usize];
            let (varies, region) = (self.varies[id as usize], self.region(part));
            if node.scope == ROOT && varies.is_some() && varies != region {
                let problem = format!("a value from inside of `repeat` is used after it (of {})", node.origin);
                self.error.get_or_insert(Error::Program(problem));
            }
            if let Op::Input(arg) = node.op {
                if self.args[arg as usize].role == Role::Input {
                    self.reads[part].insert(id);
                }
                continue;
            }
            if node.scope == ROOT && !self.again(id) {
                let unit = self.unit(id) as usize;
                if let (None, None, Some(region)) = (self.owner[unit], varies, region) {
                    self.demand(self.loops[region].begin, id);
                }
                let owner = *self.owner[unit].get_or_insert(part);
                if owner < part {
                    self.demand(owner, id);
                    self.gives[owner].insert(id);
                    self.reads[part].insert(id);
                    continue;
                }
            }
            stack.extend(&node.src);
            stack.extend(graph.body(id).into_iter().flatten());
        }
    }

    /// Tells whether every part that needs this node computes it itself, even where an earlier part has computed it.
    fn again(&self, id: NodeId) -> bool {
        let node = &self.graph.nodes[id as usize];
        let whole = is_view(&node.op) && !matches!(node.op, Op::Slice { .. });
        let body = matches!(node.op, Op::Scan(_) | Op::Call(_));
        let work = self.work[id as usize];
        whole || body || is_leaf(&node.op) || work.is_some_and(|work| work <= CHEAP.max(4 * node.len()))
    }
}
