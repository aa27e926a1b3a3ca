//! Reductions and matrix products as code: their operands, and both by one invocation.

use quickstudy_kernels::DType;
use quickstudy_kernels::program::is_view;
use quickstudy_kernels::tensor::{NodeId, Op};

use super::emit::Emitter;
use super::index::Ix;

/// Sums that the terms of a product go to in turn, so that no addition waits for the one before.
const SUMS: usize = 4;
/// Terms in one turn of a loop where not all are written out.
const STRETCH: usize = 16;

impl Emitter<'_> {
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
    pub(super) fn reduce(&mut self, id: NodeId, at: &[Ix]) -> String {
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

    /// The value that a reduction starts with, and its WGSL type.
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

    /// An element of a matrix product by one invocation. Straight code has no loop to wait for, and its loads overlap.
    /// So a few terms are written out whole, of more a stretch that a loop repeats.
    pub(super) fn product(&mut self, id: NodeId, at: &[Ix]) -> String {
        let (batch, last) = at.split_at(at.len() - 2);
        let n = self.contracted(id);
        let sums: Vec<String> = (0..n.min(SUMS)).map(|_| self.name("s")).collect();
        sums.iter().for_each(|sum| self.line(&format!("var {sum} = 0.0f;")));
        let term = |this: &mut Self, k: &Ix, sum: &str| {
            let (x, y) = (this.factor(id, 0, batch, &last[0], k), this.factor(id, 1, batch, &last[1], k));
            this.line(&format!("{sum} = fma({x}, {y}, {sum});"));
            this.term();
        };
        let bytes = self.bytes_of(|this| term(this, &Ix::Known(0), &sums[0]));
        let room = (self.product_text / bytes).clamp(1, n);
        let mut done = 0;
        if room < n {
            let stretch = room.min(STRETCH);
            let i = self.name("i");
            self.repeat(&i, n / stretch, |this| {
                let first = this.times(&Ix::var(&i), stretch);
                for j in 0..stretch {
                    let k = this.add(&first, &Ix::Known(j));
                    term(this, &k, &sums[j % sums.len()]);
                }
            });
            done = n / stretch * stretch;
        }
        for k in done..n {
            term(self, &Ix::Known(k), &sums[k % sums.len()]);
        }
        sums.into_iter().reduce(|a, b| self.bind(format!("{a} + {b}"))).unwrap_or_default()
    }
}
