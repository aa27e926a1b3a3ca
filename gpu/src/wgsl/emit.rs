//! Values as code: an expression of the graph at an index becomes statements, each computed once.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write;

use quickstudy_kernels::program::is_view;
use quickstudy_kernels::tensor::{Binary, Graph, NodeId, Op, Unary};
use quickstudy_kernels::{DType, Error, Result};

use super::body::{Body, Shared, Uses, buffer, literal};
use super::index::Ix;
use super::memory::{Leaf, SharedRows, Words};
use super::scalar::{binary, number, unary};
use crate::work::{Cost, Work};

/// Bytes of a product's text at most, unless said otherwise: drivers read all of it.
pub(super) const TEXT: usize = 4_000;

/// Expressions whose values are known inside of a block.
#[derive(Default)]
pub(super) struct Block {
    values: HashMap<(NodeId, Vec<Ix>), String>,
    lets: HashMap<String, String>,
    /// How often the code around runs.
    outside: usize,
    /// Elements whose row-major number is known: shape, element, number.
    pub(super) flats: Vec<(Vec<usize>, Vec<Ix>, Ix)>,
}

/// Writes the body of a kernel.
pub(crate) struct Emitter<'a> {
    pub graph: &'a Graph,
    pub(super) leaves: HashMap<NodeId, Leaf>,
    pub(super) computed: HashSet<NodeId>,
    /// Operands of the calls that are being expanded, by scope.
    calls: HashMap<u32, Vec<NodeId>>,
    /// Loops in calls that are being written, by scope: the parameters that are rows of stacked values, these values,
    /// and the step.
    pub(super) turning: HashMap<u32, (Vec<NodeId>, Vec<NodeId>, Ix)>,
    pub(super) blocks: Vec<Block>,
    pub(super) text: String,
    /// The condition on which an invocation has something to do, and the length of the text before it.
    guard: Option<(usize, String)>,
    /// Arrays in workgroup memory.
    pub(super) shared: Vec<Shared>,
    next: usize,
    /// Loops that a value needs the step of: one past the highest level.
    pub levels: usize,
    /// Constant vectors.
    pub literals: Vec<NodeId>,
    /// Sizes of permuted ranges.
    pub permutations: Vec<u32>,
    /// The row whose private values there are.
    pub row: Vec<Ix>,
    /// The number of this row among those of the workgroup.
    pub lane: Ix,
    /// Bytes of a product's text up to which it is written out.
    pub product_text: usize,
    /// Variables with the steps of loops that are in the code.
    pub loops: HashMap<usize, String>,
    /// Iterations of all loops that one invocation makes, without the terms of sums that are written out.
    trips: usize,
    /// These terms.
    terms: usize,
    /// How often the code at this place runs.
    times: usize,
    /// Buffers that are read, by number.
    pub read: BTreeSet<usize>,
    /// Buffers that are written.
    pub written: BTreeSet<usize>,
    error: Option<Error>,
}

impl<'a> Emitter<'a> {
    pub fn new(graph: &'a Graph, leaves: HashMap<NodeId, Leaf>, computed: &[NodeId]) -> Emitter<'a> {
        Emitter {
            graph,
            leaves,
            computed: computed.iter().copied().collect(),
            calls: HashMap::new(),
            turning: HashMap::new(),
            blocks: vec![Block::default()],
            text: String::new(),
            guard: None,
            shared: Vec::new(),
            next: 0,
            levels: 0,
            literals: Vec::new(),
            permutations: Vec::new(),
            row: Vec::new(),
            lane: Ix::Known(0),
            product_text: TEXT,
            loops: HashMap::new(),
            trips: 0,
            terms: 0,
            times: 1,
            read: BTreeSet::new(),
            written: BTreeSet::new(),
            error: None,
        }
    }

    /// From now on this row's elements of a value are there.
    pub fn own(&mut self, node: NodeId, place: &Leaf) {
        self.leaves.insert(node, place.clone());
    }

    /// More nodes may be computed.
    pub fn compute_also(&mut self, nodes: &[NodeId]) {
        nodes.iter().for_each(|id| {
            self.leaves.remove(id);
            self.computed.insert(*id);
        });
    }

    /// A node may be computed no longer.
    pub fn forget(&mut self, node: NodeId) {
        self.computed.remove(&node);
    }

    /// Counts the work of one invocation, whose loops have that cost; of a loop over rows, the work of a step.
    fn work(&self, cost: Cost) -> Work {
        match cost {
            Cost::Rollout => Work::default().with(cost, self.trips).with(Cost::Straight, self.terms),
            Cost::Scan => Work::default().with(cost, 1),
            // Lanes add up what each has.
            Cost::Product if !self.shared.is_empty() => Work::default().with(cost, self.trips()).with(Cost::Sum, 1),
            _ => Work::default().with(cost, self.trips()),
        }
    }

    /// The code, for that many workgroups of so many invocations. Its loops take that cost.
    pub fn body(self, cost: Cost, size: usize, groups: usize) -> Result<Body> {
        if let Some(e) = self.error {
            return Err(e);
        }
        let (trips, work) = (self.trips(), self.work(cost));
        let Emitter { levels, literals, permutations, read, written, shared, mut text, .. } = self;
        let (at, guard) = self.guard.map_or((0, None), |(at, guard)| (at, Some(guard)));
        let statements = text.split_off(at);
        let uses = Uses { levels, literals, permutations, read, written };
        Ok(Body { size, groups, shared, setup: text, guard, text: statements, uses, trips, work })
    }

    /// Statements from here on are those of invocations for which a condition holds, of whole workgroups where there
    /// are barriers.
    pub fn guard(&mut self, condition: String) {
        self.guard = Some((self.text.len(), condition));
    }

    /// A statement.
    pub fn line(&mut self, text: &str) {
        let indent = self.blocks.len().min(2); // steps of bodies are long and deep, and drivers read all of it
        _ = writeln!(self.text, "{:indent$}{}", "", text.trim_start());
    }

    /// A block: what is computed inside is known inside only.
    pub fn block<R>(&mut self, head: &str, inside: impl FnOnce(&mut Self) -> R) -> R {
        self.open(head, 1);
        let result = inside(self);
        self.close();
        result
    }

    /// Opens a block whose statements run so many times: what is computed inside is known inside only.
    pub fn open(&mut self, head: &str, n: usize) {
        self.line(&format!("{head} {{"));
        self.blocks.push(Block { outside: self.times, ..Block::default() });
        self.times = self.times.saturating_mul(n);
        self.trips = self.trips.saturating_add(if n > 1 { self.times } else { 0 });
    }

    /// Closes the block that was opened last.
    pub fn close(&mut self) {
        self.times = self.blocks.pop().map_or(1, |block| block.outside);
        self.line("}");
    }

    /// A loop from 0 to `n`, with the name of its variable.
    pub fn repeat<R>(&mut self, name: &str, n: usize, inside: impl FnOnce(&mut Self) -> R) -> R {
        self.turns(&format!("for (var {name} = 0u; {name} < {n}u; {name}++)"), n, inside)
    }

    /// A loop of at most `n` iterations.
    pub fn turns<R>(&mut self, head: &str, n: usize, inside: impl FnOnce(&mut Self) -> R) -> R {
        self.open(head, n);
        let result = inside(self);
        self.close();
        result
    }

    /// Counts a term of a sum that is written out.
    pub fn term(&mut self) {
        self.terms = self.terms.saturating_add(self.times);
    }

    /// Iterations of all loops that one invocation makes; four terms that are written out count as one.
    pub fn trips(&self) -> usize {
        self.trips.saturating_add(self.terms / 4)
    }

    /// Bytes of the text that some code would have.
    pub(super) fn bytes_of(&mut self, code: impl FnOnce(&mut Self)) -> usize {
        let (before, counted) = (self.text.len(), (self.trips, self.terms));
        self.blocks.push(Block::default());
        code(self);
        self.blocks.pop();
        let bytes = self.text.len() - before;
        self.text.truncate(before);
        (self.trips, self.terms) = counted;
        bytes
    }

    /// A name that is not in use.
    pub fn name(&mut self, prefix: &str) -> String {
        self.next += 1;
        format!("{prefix}{}", self.next)
    }

    /// A variable that holds an expression without side effects.
    pub fn bind(&mut self, expression: String) -> String {
        if let Some(found) = self.blocks.iter().rev().find_map(|b| b.lets.get(&expression)) {
            return found.clone();
        }
        let name = self.name("v");
        self.line(&format!("let {name} = {expression};"));
        if let Some(block) = self.blocks.last_mut() {
            block.lets.insert(expression, name.clone());
        }
        name
    }

    /// Element `flat` of what is read there.
    pub fn loaded(&mut self, from: Words, flat: &Ix) -> String {
        self.read.insert(from.binding);
        self.element(from, flat)
    }

    /// Element `flat` of what is written there.
    pub fn stored(&mut self, to: Words, flat: &Ix) -> String {
        self.written.insert(to.binding);
        self.element(to, flat)
    }

    fn element(&self, of: Words, flat: &Ix) -> String {
        let buffer = buffer(of.binding);
        match (of.first, flat) {
            (0, flat) => format!("{buffer}[{flat}]"),
            (first, Ix::Known(flat)) => format!("{buffer}[{}u]", first + flat),
            (first, flat) => format!("{buffer}[{flat} + {first}u]"),
        }
    }

    /// Element `flat` of this row's own value.
    pub fn of_row(&mut self, own: &Leaf, flat: &Ix) -> String {
        match own {
            Leaf::Private(name) => format!("{name}[{flat}]"),
            Leaf::Shared(SharedRows { array, first, width }) => {
                let row = self.times(&self.lane.clone(), *width);
                let at = self.add(&row, flat);
                let at = self.add(&at, &Ix::Known(*first));
                format!("{array}[{at}]")
            }
            _ => String::new(),
        }
    }

    /// A value that is known already, for example from a loop that has summed it.
    pub fn know(&mut self, node: NodeId, at: &[Ix], name: &str) {
        if let Some(block) = self.blocks.last_mut() {
            block.values.insert((node, at.to_vec()), name.to_owned());
        }
    }

    /// An element of a node's value: the name of a variable, or a literal.
    pub fn value(&mut self, node: NodeId, at: &[Ix]) -> String {
        let key = (node, at.to_vec());
        if let Some(found) = self.blocks.iter().rev().find_map(|b| b.values.get(&key)) {
            return found.clone();
        }
        let name = self.compute(node, at);
        if let Some(block) = self.blocks.last_mut() {
            block.values.insert(key, name.clone());
        }
        name
    }

    /// Where an element of a view is in the node that it is a view of.
    pub fn through(&mut self, view: NodeId, at: &[Ix]) -> Vec<Ix> {
        let graph = self.graph;
        let node = &graph.nodes[view as usize];
        let from = &graph.nodes[node.src[0] as usize].shape;
        match &node.op {
            Op::Reshape => self.reshaped(&node.shape, from, at),
            Op::Permute(p) => {
                let mut result = vec![Ix::Known(0); at.len()];
                p.iter().zip(at).for_each(|(axis, i)| result[*axis] = i.clone());
                result
            }
            Op::Broadcast => from.iter().zip(at).map(|(n, i)| if *n == 1 { Ix::Known(0) } else { i.clone() }).collect(),
            Op::Slice { axis, lo, .. } => {
                let mut result = at.to_vec();
                let first = if from[*axis] == 1 { Ix::Known(0) } else { Ix::Known(*lo) };
                result[*axis] = self.add(&result[*axis], &first);
                result
            }
            _ => at.to_vec(),
        }
    }

    /// The row of a stacked value that belongs to the step of a loop that is being written.
    fn row_of_step(&mut self, id: NodeId, at: &[Ix]) -> String {
        let scope = self.graph.nodes[id as usize].scope;
        let found = self.turning.get(&scope).and_then(|(params, rows, step)| {
            let row = params.iter().position(|param| *param == id)?;
            Some((rows[row], std::iter::once(step.clone()).chain(at.iter().cloned()).collect::<Vec<_>>()))
        });
        match found {
            Some((rows, at)) => self.value(rows, &at),
            None => self.fault(id, "is a parameter of nothing"),
        }
    }

    fn compute(&mut self, id: NodeId, at: &[Ix]) -> String {
        let graph = self.graph;
        let node = &graph.nodes[id as usize];
        match self.leaves.get(&id).cloned() {
            Some(Leaf::Buffer(words)) => {
                let flat = self.flat(&node.shape, at);
                let word = self.loaded(words, &flat);
                return self.bind(if node.dtype == DType::F32 { format!("bitcast<f32>({word})") } else { word });
            }
            Some(Leaf::Row(of, level)) => {
                let step = level.map_or(Ix::Known(0), |level| self.step(level));
                let at: Vec<Ix> = std::iter::once(step).chain(at.iter().cloned()).collect();
                return self.value(of, &at);
            }
            Some(Leaf::Step(level)) => {
                return level.map_or_else(|| "0u".to_owned(), |level| self.step(level).to_string());
            }
            Some(own @ (Leaf::Private(_) | Leaf::Shared(_))) => {
                let n = self.row.len();
                let is_own = at.iter().zip(&self.row).zip(&node.shape).all(|((i, row), n)| *n == 1 || i == row);
                if !is_own || at.len() < n {
                    return self.fault(id, "is needed at another row");
                }
                let flat = self.flat(&node.shape[n..], &at[n..]);
                let word = self.of_row(&own, &flat);
                return self.bind(if node.dtype == DType::F32 { format!("bitcast<f32>({word})") } else { word });
            }
            None => {}
        }
        if is_view(&node.op) {
            let from = self.through(id, at);
            return self.value(node.src[0], &from);
        }
        let value = |this: &mut Self, k: usize| this.value(node.src[k], at);
        match &node.op {
            // Bound, so that no compiler folds numbers into something that it then refuses.
            Op::Const(bits) => return self.bind(number(*bits, node.dtype)),
            Op::Iota { axis } => return at[*axis].to_string(),
            Op::Scalar(i) => {
                let word = format!("words[{}][{}]", 1 + i / 4, i % 4);
                return self.bind(if node.dtype == DType::F32 { format!("bitcast<f32>({word})") } else { word });
            }
            Op::Literal(_) => {
                let k = self.literals.iter().position(|l| *l == id).unwrap_or_else(|| {
                    self.literals.push(id);
                    self.literals.len() - 1
                });
                let word = format!("{}[{}]", literal(k), at[0]);
                return self.bind(if node.dtype == DType::F32 { format!("bitcast<f32>({word})") } else { word });
            }
            // An operand of the call that is being expanded.
            Op::Param(i) => match self.calls.get(&node.scope).map(|src| src[*i as usize]) {
                Some(src) => return self.value(src, at),
                None => return self.row_of_step(id, at),
            },
            Op::Out(i) => {
                if let Op::Call(call) = &graph.nodes[node.src[0] as usize].op {
                    self.calls.insert(call.body.scope, graph.nodes[node.src[0] as usize].src.clone());
                    return self.value(call.body.outs[*i as usize], at);
                }
                if let Op::Scan(scan) = &graph.nodes[node.src[0] as usize].op
                    && self.in_call(node.scope)
                {
                    self.inner_loop(node.src[0], scan, at);
                    let key = (id, at.to_vec());
                    let known = self.blocks.last().and_then(|block| block.values.get(&key));
                    return known.cloned().unwrap_or_else(|| self.fault(id, "is a result of a loop that has none"));
                }
                return self.fault(id, "is a result of a loop that is not in memory");
            }
            _ if !self.computed.contains(&id) && !graph.is_constant(id) && !self.in_call(node.scope) => {
                return self.fault(id, "is neither computed nor read");
            }
            _ => {}
        }
        match &node.op {
            Op::Unary(op) => {
                let x = value(self, 0);
                let from = graph.nodes[node.src[0] as usize].dtype;
                self.bind(unary(*op, &x, from))
            }
            Op::Binary(op) => {
                if *op == Binary::Add
                    && let Some((x, y)) = self.difference(node.src[0], node.src[1])
                {
                    let (x, y) = (self.value(x, at), self.value(y, at));
                    return self.bind(format!("{x} - {y}"));
                }
                let (x, y) = (value(self, 0), value(self, 1));
                self.bind(binary(*op, &x, &y))
            }
            Op::Select => {
                let (c, x, y) = (value(self, 0), value(self, 1), value(self, 2));
                self.bind(format!("select({y}, {x}, {c} != 0u)"))
            }
            Op::Threefry { word } => {
                let k: Vec<String> = (0..4).map(|k| value(self, k)).collect();
                let block = self.bind(format!("threefry({}, {}, {}, {})", k[0], k[1], k[2], k[3]));
                self.bind(format!("{block}[{word}]"))
            }
            Op::Permutation { n } => {
                if !self.permutations.contains(n) {
                    self.permutations.push(*n);
                }
                let k: Vec<String> = (0..3).map(|k| value(self, k)).collect();
                self.bind(format!("permute{n}({}, {}, {})", k[0], k[1], k[2]))
            }
            Op::Pad { axis, lo, .. } => self.pad(id, *axis, *lo, at),
            Op::Concat { axis } => self.concat(id, *axis, 0..node.src.len(), at),
            Op::Gather => self.gather(id, at),
            Op::Sum { .. } | Op::ReduceMax { .. } => self.reduce(id, at),
            Op::MatMul { .. } => self.product(id, at),
            op => self.fault(id, &format!("({}) is no expression", op.name())),
        }
    }

    /// The two values whose difference a sum is, if one of its terms is only known negated.
    fn difference(&self, a: NodeId, b: NodeId) -> Option<(NodeId, NodeId)> {
        let negated = |id: NodeId| {
            let node = &self.graph.nodes[id as usize];
            let known = self.leaves.contains_key(&id) || !(self.computed.contains(&id) || self.in_call(node.scope));
            (node.op == Op::Unary(Unary::Neg) && !known).then(|| node.src[0])
        };
        negated(b).map(|y| (a, y)).or_else(|| negated(a).map(|y| (b, y)))
    }

    /// Tells whether a value is read from memory, perhaps through views.
    pub(super) fn is_plain(&self, mut id: NodeId) -> bool {
        while !self.leaves.contains_key(&id) && is_view(&self.graph.nodes[id as usize].op) {
            id = self.graph.nodes[id as usize].src[0];
        }
        self.leaves.contains_key(&id)
    }

    pub(super) fn in_call(&self, scope: u32) -> bool {
        self.calls.keys().any(|s| self.graph.encloses(*s, scope))
    }

    pub(super) fn fault(&mut self, id: NodeId, what: &str) -> String {
        self.error.get_or_insert_with(|| Error::Device(format!("fault in a shader: %{id} {what}")));
        "0".to_owned()
    }

    fn step(&mut self, level: usize) -> Ix {
        if let Some(name) = self.loops.get(&level) {
            return Ix::var(name);
        }
        self.levels = self.levels.max(level + 1);
        self.index(format!("step{level}.x"))
    }

    pub(super) fn zero(&self, id: NodeId) -> &'static str {
        if self.graph.nodes[id as usize].dtype == DType::F32 { "0.0f" } else { "0u" }
    }
}
