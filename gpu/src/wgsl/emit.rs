//! Values as code: an expression of the graph at an index becomes statements, each computed once.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write;

use quickstudy_core::program::is_view;
use quickstudy_core::tensor::{Binary, Graph, NodeId, Op, Unary};
use quickstudy_core::{DType, Error, Result};

use super::index::{Ix, groups};

/// Where a value that is not computed comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Leaf {
    /// The buffer bound at that number, in row-major order.
    Buffer(usize),
    /// The row of another value that belongs to the current step of the loop at that level.
    Row(NodeId, usize),
    /// The current step of the loop at that level.
    Step(usize),
    /// This row's elements in an array of that name.
    Private(String),
}

/// What is known inside of a block.
#[derive(Default)]
struct Block {
    values: HashMap<(NodeId, Vec<Ix>), String>,
    lets: HashMap<String, String>,
    /// Elements whose row-major number is known: shape, element, number.
    flats: Vec<(Vec<usize>, Vec<Ix>, Ix)>,
}

/// Writes the body of a kernel.
pub(crate) struct Emitter<'a> {
    pub graph: &'a Graph,
    leaves: HashMap<NodeId, Leaf>,
    computed: HashSet<NodeId>,
    /// Operands of the calls that are being expanded, by scope.
    calls: HashMap<u32, Vec<NodeId>>,
    blocks: Vec<Block>,
    text: String,
    next: usize,
    /// Loops that a value needs the step of: one past the highest level.
    pub levels: usize,
    /// Constant vectors.
    pub literals: Vec<NodeId>,
    /// Sizes of permuted ranges.
    pub permutations: Vec<u32>,
    /// The row whose private values there are.
    pub row: Vec<Ix>,
    /// Variables with the steps of loops that are in the code.
    pub loops: HashMap<usize, String>,
    /// Iterations of all loops that one invocation makes.
    pub trips: usize,
    /// How often the code at this place runs.
    times: usize,
    /// Buffers that are read, by number.
    pub read: BTreeSet<usize>,
    /// Buffers that are written.
    pub stored: BTreeSet<usize>,
    error: Option<Error>,
}

impl<'a> Emitter<'a> {
    pub fn new(graph: &'a Graph, leaves: HashMap<NodeId, Leaf>, computed: &[NodeId]) -> Emitter<'a> {
        Emitter {
            graph,
            leaves,
            computed: computed.iter().copied().collect(),
            calls: HashMap::new(),
            blocks: vec![Block::default()],
            text: String::new(),
            next: 0,
            levels: 0,
            literals: Vec::new(),
            permutations: Vec::new(),
            row: Vec::new(),
            loops: HashMap::new(),
            trips: 0,
            times: 1,
            read: BTreeSet::new(),
            stored: BTreeSet::new(),
            error: None,
        }
    }

    /// From now on this row's elements of a value are in an array.
    pub fn private(&mut self, node: NodeId, name: &str) {
        self.leaves.insert(node, Leaf::Private(name.to_owned()));
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

    /// The statements.
    pub fn finish(self) -> Result<(String, Uses)> {
        match self.error {
            Some(e) => Err(e),
            None => {
                let Emitter { levels, literals, permutations, read, stored, .. } = self;
                Ok((self.text, Uses { levels, literals, permutations, read, stored }))
            }
        }
    }

    /// A statement.
    pub fn line(&mut self, text: &str) {
        let indent = 2 * self.blocks.len();
        _ = writeln!(self.text, "{:indent$}{}", "", text.trim_start());
    }

    /// A block: what is computed inside is known inside only.
    pub fn block<R>(&mut self, head: &str, inside: impl FnOnce(&mut Self) -> R) -> R {
        self.line(&format!("{head} {{"));
        self.blocks.push(Block::default());
        let result = inside(self);
        self.blocks.pop();
        self.line("}");
        result
    }

    /// A loop from 0 to `n`, with the name of its variable.
    pub fn repeat<R>(&mut self, name: &str, n: usize, inside: impl FnOnce(&mut Self) -> R) -> R {
        let outside = self.times;
        self.times = self.times.saturating_mul(n);
        self.trips = self.trips.saturating_add(self.times);
        let result = self.block(&format!("for (var {name} = 0u; {name} < {n}u; {name}++)"), inside);
        self.times = outside;
        result
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

    fn index(&mut self, expression: String) -> Ix {
        Ix::var(&self.bind(expression))
    }

    pub fn add(&mut self, a: &Ix, b: &Ix) -> Ix {
        match (a, b) {
            (Ix::Known(a), Ix::Known(b)) => Ix::Known(a + b),
            (Ix::Known(0), x) | (x, Ix::Known(0)) => x.clone(),
            _ => self.index(format!("{a} + {b}")),
        }
    }

    pub fn times(&mut self, a: &Ix, n: usize) -> Ix {
        match (a, n) {
            (Ix::Known(a), n) => Ix::Known(a * n),
            (a, 1) => a.clone(),
            (_, 0) => Ix::Known(0),
            _ => self.index(format!("{a} * {n}u")),
        }
    }

    pub fn over(&mut self, a: &Ix, n: usize) -> Ix {
        match (a, n) {
            (Ix::Known(a), n) => Ix::Known(a / n),
            (a, 1) => a.clone(),
            _ => self.index(format!("{a} / {n}u")),
        }
    }

    pub fn modulo(&mut self, a: &Ix, n: usize) -> Ix {
        match (a, n) {
            (Ix::Known(a), n) => Ix::Known(a % n),
            (_, 1) => Ix::Known(0),
            _ => self.index(format!("{a} % {n}u")),
        }
    }

    /// The row-major number of an element.
    pub fn flat(&mut self, shape: &[usize], at: &[Ix]) -> Ix {
        let mut flat = Ix::Known(0);
        for (n, i) in shape.iter().zip(at) {
            if *n != 1 {
                flat = self.times(&flat, *n);
                flat = self.add(&flat, i);
            }
        }
        flat
    }

    /// Let all shapes agree on which elements have this row-major number: a value that is known at one of them is
    /// then known through reshapes, too.
    pub fn same(&mut self, shape: &[usize], at: &[Ix], flat: &Ix) {
        if let Some(block) = self.blocks.last_mut() {
            block.flats.push((shape.to_vec(), at.to_vec(), flat.clone()));
        }
    }

    fn flats(&self) -> impl Iterator<Item = &(Vec<usize>, Vec<Ix>, Ix)> {
        self.blocks.iter().rev().flat_map(|b| &b.flats)
    }

    /// The element of a row-major number.
    pub fn unflat(&mut self, shape: &[usize], flat: &Ix) -> Vec<Ix> {
        let known = self.flats().find(|(s, _, f)| s == shape && f == flat).map(|(_, at, _)| at.clone());
        if let Some(at) = known {
            return at;
        }
        let mut at = vec![Ix::Known(0); shape.len()];
        let axes: Vec<usize> = (0..shape.len()).filter(|a| shape[*a] != 1).collect();
        let mut rest = flat.clone();
        for (k, axis) in axes.iter().enumerate().rev() {
            let n = shape[*axis];
            at[*axis] = if k == 0 { rest.clone() } else { self.modulo(&rest, n) };
            rest = self.over(&rest, n);
        }
        at
    }

    fn reshaped(&mut self, to: &[usize], from: &[usize], at: &[Ix]) -> Vec<Ix> {
        let known = self.flats().find(|(s, i, _)| s == to && i == at).map(|(.., flat)| flat.clone());
        if let Some(flat) = known {
            let result = self.unflat(from, &flat);
            self.same(from, &result, &flat);
            return result;
        }
        let mut result = vec![Ix::Known(0); from.len()];
        for (t, f) in groups(to, from) {
            let part = |axes: &[usize], shape: &[usize]| axes.iter().map(|a| shape[*a]).collect::<Vec<_>>();
            let (t_shape, f_shape) = (part(&t, to), part(&f, from));
            let t_at: Vec<Ix> = t.iter().map(|a| at[*a].clone()).collect();
            let flat = self.flat(&t_shape, &t_at);
            for (axis, i) in f.iter().zip(self.unflat(&f_shape, &flat)) {
                result[*axis] = i;
            }
        }
        result
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

    fn compute(&mut self, id: NodeId, at: &[Ix]) -> String {
        let graph = self.graph;
        let node = &graph.nodes[id as usize];
        match self.leaves.get(&id).cloned() {
            Some(Leaf::Buffer(k)) => {
                self.read.insert(k);
                let flat = self.flat(&node.shape, at);
                let word = format!("b{k}[{flat}]");
                return self.bind(if node.dtype == DType::F32 { format!("bitcast<f32>({word})") } else { word });
            }
            Some(Leaf::Row(of, level)) => {
                let step = self.step(level);
                let at: Vec<Ix> = std::iter::once(step).chain(at.iter().cloned()).collect();
                return self.value(of, &at);
            }
            Some(Leaf::Step(level)) => return self.step(level).to_string(),
            Some(Leaf::Private(name)) => {
                let n = self.row.len();
                let own = at.iter().zip(&self.row).zip(&node.shape).all(|((i, row), n)| *n == 1 || i == row);
                if !own || at.len() < n {
                    return self.fault(id, "is needed at another row");
                }
                let flat = self.flat(&node.shape[n..], &at[n..]);
                let word = format!("{name}[{flat}]");
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
                let word = format!("literal{k}[{}]", at[0]);
                return self.bind(if node.dtype == DType::F32 { format!("bitcast<f32>({word})") } else { word });
            }
            // An operand of the call that is being expanded.
            Op::Param(i) => match self.calls.get(&node.scope).map(|src| src[*i as usize]) {
                Some(src) => return self.value(src, at),
                None => return self.fault(id, "is a parameter of nothing"),
            },
            Op::Out(i) => {
                if let Op::Call(call) = &graph.nodes[node.src[0] as usize].op {
                    self.calls.insert(call.body.scope, graph.nodes[node.src[0] as usize].src.clone());
                    return self.value(call.body.outs[*i as usize], at);
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

    fn in_call(&self, scope: u32) -> bool {
        self.calls.keys().any(|s| self.graph.encloses(*s, scope))
    }

    fn fault(&mut self, id: NodeId, what: &str) -> String {
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

    fn zero(&self, id: NodeId) -> &'static str {
        if self.graph.nodes[id as usize].dtype == DType::F32 { "0.0f" } else { "0u" }
    }

    fn pad(&mut self, id: NodeId, axis: usize, lo: usize, at: &[Ix]) -> String {
        let src = self.graph.nodes[id as usize].src[0];
        let n = self.graph.nodes[src as usize].shape[axis];
        if let Ix::Known(i) = at[axis] {
            if i < lo || i >= lo + n {
                return self.zero(id).to_owned();
            }
            let mut inner = at.to_vec();
            inner[axis] = Ix::Known(i - lo);
            return self.value(src, &inner);
        }
        let name = self.name("p");
        let zero = self.zero(id);
        self.line(&format!("var {name} = {zero};"));
        let inside = format!("if ({i} >= {lo}u && {i} < {}u)", lo + n, i = at[axis]);
        self.block(&inside, |this| {
            let mut inner = at.to_vec();
            inner[axis] = if n == 1 { Ix::Known(0) } else { this.index(format!("{} - {lo}u", at[axis])) };
            let x = this.value(src, &inner);
            this.line(&format!("{name} = {x};"));
        });
        name
    }

    /// Some operands of a Concat; the index along the axis is that of the whole.
    pub fn concat(&mut self, id: NodeId, axis: usize, operands: std::ops::Range<usize>, at: &[Ix]) -> String {
        let graph = self.graph;
        let node = &graph.nodes[id as usize];
        let size = |s: NodeId| graph.nodes[s as usize].shape[axis];
        let mut lo: usize = node.src[..operands.start].iter().map(|s| size(*s)).sum();
        if let Ix::Known(i) = at[axis] {
            for s in &node.src[operands] {
                if i < lo + size(*s) {
                    let mut inner = at.to_vec();
                    inner[axis] = Ix::Known(i - lo);
                    return self.value(*s, &inner);
                }
                lo += size(*s);
            }
            return self.zero(id).to_owned();
        }
        let name = self.name("p");
        let zero = self.zero(id);
        self.line(&format!("var {name} = {zero};"));
        for s in &node.src[operands] {
            let n = size(*s);
            let inside = match lo {
                0 => format!("if ({} < {n}u)", at[axis]),
                _ => format!("if ({i} >= {lo}u && {i} < {}u)", lo + n, i = at[axis]),
            };
            self.block(&inside, |this| {
                let mut inner = at.to_vec();
                inner[axis] = match (n, lo) {
                    (1, _) => Ix::Known(0),
                    (_, 0) => at[axis].clone(),
                    _ => this.index(format!("{} - {lo}u", at[axis])),
                };
                let x = this.value(*s, &inner);
                this.line(&format!("{name} = {x};"));
            });
            lo += n;
        }
        name
    }

    fn gather(&mut self, id: NodeId, at: &[Ix]) -> String {
        let graph = self.graph;
        let node = &graph.nodes[id as usize];
        let (src, index) = (node.src[0], node.src[1]);
        let axis = graph.nodes[index as usize].shape.len() - 1;
        let n = graph.nodes[src as usize].shape[axis];
        let row = if n == 1 {
            Ix::Known(0)
        } else {
            let row = self.value(index, &at[..=axis]);
            self.index(format!("min({row}, {}u)", n - 1))
        };
        let mut inner = at.to_vec();
        inner[axis] = row;
        self.value(src, &inner)
    }

    /// The operand of a reduction at an index of its result and indices along the reduced axes, outermost reduction
    /// first: reductions of one kind that follow each other are one.
    pub fn reduced(&mut self, id: NodeId, at: &[Ix], along: &[Ix]) -> String {
        let graph = self.graph;
        let node = &graph.nodes[id as usize];
        let (Op::Sum { axis } | Op::ReduceMax { axis }) = node.op else {
            return self.fault(id, "is no reduction");
        };
        let mut inner = at.to_vec();
        inner[axis] = along[0].clone();
        let mut src = node.src[0];
        if along.len() == 1 {
            return self.value(src, &inner);
        }
        while is_view(&graph.nodes[src as usize].op) {
            inner = self.through(src, &inner);
            src = graph.nodes[src as usize].src[0];
        }
        self.reduced(src, &inner, &along[1..])
    }

    /// Lengths of the axes that a reduction and those that it directly reads reduce, outermost first.
    pub fn stages(&self, id: NodeId) -> Vec<usize> {
        let graph = self.graph;
        let node = &graph.nodes[id as usize];
        let (Op::Sum { axis } | Op::ReduceMax { axis }) = node.op else {
            return Vec::new();
        };
        let mut src = node.src[0];
        let mut stages = vec![graph.nodes[src as usize].shape[axis]];
        while is_view(&graph.nodes[src as usize].op) && !self.leaves.contains_key(&src) {
            src = graph.nodes[src as usize].src[0];
        }
        let same = std::mem::discriminant(&graph.nodes[src as usize].op) == std::mem::discriminant(&node.op);
        if same && !self.leaves.contains_key(&src) {
            stages.extend(self.stages(src));
        }
        stages
    }

    /// A reduction by one invocation.
    fn reduce(&mut self, id: NodeId, at: &[Ix]) -> String {
        let stages = self.stages(id);
        let sum = self.name("s");
        let (first, _) = self.start_of(id);
        self.line(&format!("var {sum} = {first};"));
        self.nest(id, at, &stages, &mut Vec::new(), &sum);
        sum
    }

    fn nest(&mut self, id: NodeId, at: &[Ix], stages: &[usize], along: &mut Vec<Ix>, sum: &str) {
        match stages {
            [] => {
                let x = self.reduced(id, at, along);
                let next = self.combined(id, sum, &x);
                self.line(&format!("{sum} = {next};"));
            }
            [1, rest @ ..] => {
                along.push(Ix::Known(0));
                self.nest(id, at, rest, along, sum);
                along.pop();
            }
            [n, rest @ ..] => {
                let i = self.name("i");
                self.repeat(&i, *n, |this| {
                    along.push(Ix::var(&i));
                    this.nest(id, at, rest, along, sum);
                    along.pop();
                });
            }
        }
    }

    /// What a reduction starts with, and its WGSL type.
    pub fn start_of(&self, id: NodeId) -> (&'static str, &'static str) {
        let node = &self.graph.nodes[id as usize];
        match (&node.op, node.dtype) {
            (Op::ReduceMax { .. }, DType::F32) => ("bitcast<f32>(0xff800000u | words[0].x)", "f32"),
            (_, DType::F32) => ("0.0f", "f32"),
            (_, DType::U32) => ("0u", "u32"),
        }
    }

    /// A reduction's function of two values.
    pub fn combined(&self, id: NodeId, a: &str, b: &str) -> String {
        match self.graph.nodes[id as usize].op {
            Op::ReduceMax { .. } => format!("select({a}, {b}, {a} < {b})"),
            _ => format!("{a} + {b}"),
        }
    }

    /// Operand `side` of a matrix product at a batch, a row or column of the result, and `k`.
    pub fn factor(&mut self, id: NodeId, side: usize, batch: &[Ix], free: &Ix, k: &Ix) -> String {
        let node = &self.graph.nodes[id as usize];
        let Op::MatMul { ta, tb } = node.op else {
            return self.fault(id, "is no product");
        };
        let k_first = if side == 0 { ta } else { !tb };
        let last = if k_first { [k.clone(), free.clone()] } else { [free.clone(), k.clone()] };
        let shape = &self.graph.nodes[node.src[side] as usize].shape;
        let mut at: Vec<Ix> = batch.iter().cloned().chain(last).collect();
        at.iter_mut().zip(shape).filter(|(_, n)| **n == 1).for_each(|(i, _)| *i = Ix::Known(0));
        self.value(node.src[side], &at)
    }

    /// Length of the summed axis of a matrix product.
    pub fn contracted(&self, id: NodeId) -> usize {
        let node = &self.graph.nodes[id as usize];
        let a = &self.graph.nodes[node.src[0] as usize].shape;
        match node.op {
            Op::MatMul { ta: true, .. } => a[a.len() - 2],
            _ => a[a.len() - 1],
        }
    }

    /// An element of a matrix product by one invocation.
    fn product(&mut self, id: NodeId, at: &[Ix]) -> String {
        let (batch, last) = at.split_at(at.len() - 2);
        let n = self.contracted(id);
        let sum = self.name("s");
        self.line(&format!("var {sum} = 0.0f;"));
        let i = self.name("i");
        self.repeat(&i, n, |this| {
            let k = if n == 1 { Ix::Known(0) } else { Ix::var(&i) };
            let (x, y) = (this.factor(id, 0, batch, &last[0], &k), this.factor(id, 1, batch, &last[1], &k));
            this.line(&format!("{sum} = fma({x}, {y}, {sum});"));
        });
        sum
    }
}

/// What a kernel's text uses besides its buffers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Uses {
    /// Loops whose step is read.
    pub levels: usize,
    /// Constant vectors.
    pub literals: Vec<NodeId>,
    /// Sizes of permuted ranges.
    pub permutations: Vec<u32>,
    /// Buffers that are read, by number.
    pub read: BTreeSet<usize>,
    /// Buffers that are written.
    pub stored: BTreeSet<usize>,
}

/// A number of the graph. What a shader compiler may not write as a constant comes by way of a run-time zero.
pub(crate) fn number(bits: u64, dtype: DType) -> String {
    if dtype == DType::U32 {
        return format!("{}u", bits as u32);
    }
    let value = f64::from_bits(bits) as f32;
    if value == 0.0 || value.is_normal() {
        format!("{value:?}f")
    } else {
        format!("bitcast<f32>({:#x}u | words[0].x)", value.to_bits())
    }
}

fn unary(op: Unary, x: &str, from: DType) -> String {
    match op {
        Unary::Neg => format!("-{x}"),
        Unary::Recip => format!("1.0 / {x}"),
        Unary::Exp => format!("qs_exp({x})"),
        Unary::Log => format!("qs_log({x})"),
        Unary::Sqrt => format!("sqrt({x})"),
        Unary::Sin => format!("qs_sin_cos({x}).x"),
        Unary::Cos => format!("qs_sin_cos({x}).y"),
        Unary::Tanh => format!("qs_tanh({x})"),
        Unary::Floor => format!("floor({x})"),
        Unary::Cast(DType::F32) if from == DType::U32 => format!("f32({x})"),
        Unary::Cast(DType::U32) if from == DType::F32 => format!("qs_to_u32({x})"),
        Unary::Bitcast(DType::F32) => format!("bitcast<f32>({x})"),
        Unary::Bitcast(DType::U32) => format!("bitcast<u32>({x})"),
        Unary::Cast(_) | Unary::Stop => x.to_owned(),
    }
}

fn binary(op: Binary, x: &str, y: &str) -> String {
    match op {
        Binary::Add => format!("{x} + {y}"),
        Binary::Mul => format!("{x} * {y}"),
        Binary::Max => format!("select({x}, {y}, {x} < {y})"),
        Binary::Min => format!("select({x}, {y}, {y} < {x})"),
        Binary::Lt => format!("u32({x} < {y})"),
        Binary::Eq => format!("u32({x} == {y})"),
        Binary::And => format!("{x} & {y}"),
        Binary::Or => format!("{x} | {y}"),
        Binary::Xor => format!("{x} ^ {y}"),
        Binary::Shl => format!("{x} << ({y} & 31u)"),
        Binary::Shr => format!("{x} >> ({y} & 31u)"),
    }
}
