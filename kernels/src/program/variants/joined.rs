//! The joined graph: the operations of the first variant, with numbers of rows where variants differ.

use std::panic::Location;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::pairs::{NodePair, Pairs, Tuple, body_of};
use super::seed_axis::{RowAxis, SeedAxis, follow, wanted};
use super::trace::{VariantTrace, apart};
use crate::program::context::Context;
use crate::program::row_numbers::RowNumbers;
use crate::tensor::op::{Body, Call, Scan};
use crate::tensor::{Graph, Node, NodeId, Op, fail, graph, push};
use crate::{DType, Result, Tensor};

type At = &'static Location<'static>;

/// A tuple in the joined graph.
#[derive(Clone, Copy, Debug)]
enum JoinedValue {
    /// A tensor of the shape that it has in the variants.
    Tensor(Tensor),
    /// A number of each row, `[S]`: it stands for a tensor that has this number everywhere.
    Number(Tensor),
}

/// Traces the joined graph.
pub(super) fn build(pairs: &Pairs<'_>, rows: usize) -> Result<(VariantTrace, RowNumbers)> {
    let (first, graph) = &pairs.traces[0];
    let known = follow(graph, &first.args, rows);
    let axes = wanted(graph, rows, known.clone());
    let mut tensors: Vec<(NodeId, NodeId)> = Vec::new();
    let (cx, joined) = Graph::trace(|| {
        let mut cx = Context { args: first.args.clone(), scalars: first.scalars.clone(), ..Context::default() };
        let mut tables = [None, None];
        for arg in pairs.numbers.args(rows) {
            let table = RowNumbers::table(arg.dtype);
            tables[table] = Some(cx.state(&arg.name, &arg.shape, arg.dtype));
        }
        let made = FxHashMap::default();
        let mut builder = JoinedTrace { pairs, graph, axes, rows, tables, made, open: Vec::new() };
        for tuple in &pairs.order {
            builder.make(tuple);
        }
        builder.keep_twins();
        for (i, (_, arg)) in first.results.iter().enumerate() {
            let tuple: Tuple = pairs.traces.iter().map(|(cx, _)| cx.results[i].0.raw()).collect();
            let value = match builder.made.get(&tuple) {
                Some(JoinedValue::Tensor(tensor)) => *tensor,
                Some(JoinedValue::Number(number)) => repeated(*number, &first.args[*arg].shape, SeedAxis::FIRST, rows),
                None => Tensor::poison(),
            };
            cx.results.push((value, *arg));
        }
        let made = builder.made.iter();
        tensors.extend(made.filter_map(|(tuple, joint)| match joint {
            JoinedValue::Tensor(tensor) => Some((tuple[0], tensor.raw())),
            JoinedValue::Number(_) => None,
        }));
        cx
    })?;
    // Where a tensor that was the same for all rows is used along two axes, its numbers would be those of other rows.
    let now = follow(&joined, &cx.args, rows);
    for (first, made) in tensors {
        let (before, after) = (known[first as usize], now[made as usize]);
        let sound = match before {
            RowAxis::Mixed => true,
            RowAxis::Alike => after != RowAxis::Mixed,
            RowAxis::Along(_) => after == before,
        };
        if !sound {
            let origin = joined.nodes[made as usize].origin;
            return Err(apart(format_args!("a number in which they differ meets other rows (at {origin})")));
        }
    }
    Ok(((cx, joined), pairs.numbers.clone()))
}

struct JoinedTrace<'a> {
    pairs: &'a Pairs<'a>,
    /// The graph of the first variant, and the axes of its nodes.
    graph: &'a Graph,
    axes: Vec<RowAxis>,
    /// S.
    rows: usize,
    /// The tables of numbers `[S, K]`.
    tables: [Option<Tensor>; 2],
    made: FxHashMap<Tuple, JoinedValue>,
    /// The bodies that are being made: their scopes in the first variant, and in the joined graph.
    open: Vec<(u32, u32)>,
}

impl JoinedTrace<'_> {
    fn make(&mut self, tuple: &Tuple) {
        let node = &self.graph.nodes[tuple[0] as usize];
        let at = node.origin.at;
        graph::with(|g| g.blame = Some(node.origin));
        let joint = match &self.pairs.pairs[tuple] {
            NodePair::Constant(bits) => {
                let constant = push(Op::Const(*bits), &[], Vec::new(), node.dtype, at);
                JoinedValue::Tensor(constant.broadcast_at(&node.shape, at))
            }
            NodePair::Number(column) => JoinedValue::Number(self.number(node.dtype, *column)),
            NodePair::Scaled(of, column) => {
                let number = JoinedValue::Number(self.number(DType::F32, *column));
                let operands = [self.joint(of), number];
                self.elementwise(&Op::Binary(crate::tensor::Binary::Mul), &operands, self.axes[of[0] as usize], node)
            }
            NodePair::Same => self.same(tuple, node),
        };
        graph::with(|g| g.blame = None);
        self.made.insert(tuple.clone(), joint);
    }

    fn joint(&self, tuple: &[NodeId]) -> JoinedValue {
        self.made.get(tuple).copied().unwrap_or(JoinedValue::Tensor(Tensor::poison()))
    }

    /// The column of a table, `[S]`.
    fn number(&self, dtype: DType, column: usize) -> Tensor {
        match self.tables[RowNumbers::table(dtype)] {
            Some(table) => table.slice(1, column, column + 1).reshape(&[self.rows]),
            None => Tensor::poison(),
        }
    }

    /// The operands of a tuple's nodes.
    fn operands(&self, tuple: &[NodeId], count: usize) -> Vec<JoinedValue> {
        let nodes: Vec<&Node> =
            self.pairs.traces.iter().zip(tuple).map(|((_, graph), id)| &graph.nodes[*id as usize]).collect();
        (0..count).map(|i| self.joint(&nodes.iter().map(|node| node.src[i]).collect::<Vec<_>>())).collect()
    }

    fn same(&mut self, tuple: &Tuple, node: &Node) -> JoinedValue {
        let at = node.origin.at;
        match &node.op {
            Op::Param(i) => {
                self.enter(node.scope);
                JoinedValue::Tensor(push(Op::Param(*i), &[], node.shape.clone(), node.dtype, at))
            }
            Op::Scan(_) | Op::Call(_) => JoinedValue::Tensor(self.body(tuple, node)),
            op => {
                let operands = self.operands(tuple, node.src.len());
                self.elementwise(op, &operands, self.axes[tuple[0] as usize], node)
            }
        }
    }

    /// Applies an operation, whose result belongs to rows as `rows` says, to operands of which some may be numbers.
    fn elementwise(&self, op: &Op, operands: &[JoinedValue], rows: RowAxis, node: &Node) -> JoinedValue {
        let at = node.origin.at;
        let apply = |src: &[Tensor], shape: Vec<usize>| push(op.clone(), src, shape, node.dtype, at);
        let tensors: Vec<Tensor> = operands
            .iter()
            .filter_map(|joint| if let JoinedValue::Tensor(x) = joint { Some(*x) } else { None })
            .collect();
        if tensors.len() == operands.len() {
            return JoinedValue::Tensor(apply(&tensors, node.shape.clone()));
        }
        let by_element =
            matches!(op, Op::Unary(_) | Op::Binary(_) | Op::Select | Op::Threefry { .. } | Op::Permutation { .. });
        match (op, operands) {
            (Op::Reshape | Op::Broadcast | Op::Permute(_) | Op::Slice { .. }, [number]) => return *number,
            _ if by_element => {
                // Of numbers alone, a number.
                let flat: Option<Vec<Tensor>> = operands.iter().map(|joint| self.flat(*joint)).collect();
                if let Some(src) = flat {
                    return JoinedValue::Number(apply(&src, vec![self.rows]));
                }
            }
            (Op::Concat { axis }, _) if !matches!(rows, RowAxis::Along(own) if own.axis == *axis) => {}
            _ => return JoinedValue::Tensor(self.cannot(op, at)),
        }
        let RowAxis::Along(along) = rows else { return JoinedValue::Tensor(self.cannot(op, at)) };
        let mut src = Vec::with_capacity(operands.len());
        for (i, joint) in operands.iter().enumerate() {
            src.push(match joint {
                JoinedValue::Tensor(tensor) => *tensor,
                JoinedValue::Number(number) => {
                    // An operand has the result's shape, but for the length of its part of a concatenation.
                    let mut shape = node.shape.clone();
                    if let Op::Concat { axis } = op {
                        shape[*axis] = self.graph.nodes[node.src[i] as usize].shape[*axis];
                    }
                    repeated(*number, &shape, along, self.rows)
                }
            });
        }
        JoinedValue::Tensor(apply(&src, node.shape.clone()))
    }

    fn cannot(&self, op: &Op, at: At) -> Tensor {
        fail(apart(format_args!("a number in which they differ is needed by `{}` (at {at})", op.name())))
    }

    /// A number of each row, `[S]`, if that is all that a tensor holds.
    fn flat(&self, joint: JoinedValue) -> Option<Tensor> {
        let mut tensor = match joint {
            JoinedValue::Number(number) => return Some(number),
            JoinedValue::Tensor(tensor) => tensor,
        };
        while tensor.len() > 1 {
            let node = graph::with(|g| g.nodes.get(tensor.raw() as usize).map(|n| (n.op.clone(), n.src.clone())))??;
            match node {
                (Op::Reshape | Op::Broadcast, src) => tensor = Tensor::from_id(src[0]),
                _ => return None,
            }
        }
        Some(tensor.reshape(&[1]).broadcast_to(&[self.rows]))
    }

    /// Opens the scope of a body at its first parameter.
    fn enter(&mut self, scope: u32) {
        if self.open.last().is_none_or(|(old, _)| *old != scope) {
            let new = graph::with(|g| g.open_scope()).unwrap_or_default();
            self.open.push((scope, new));
        }
    }

    /// Closes the body of a loop or call, and makes its node.
    fn body(&mut self, tuple: &Tuple, node: &Node) -> Tensor {
        let at = node.origin.at;
        let bodies: Vec<&Body> = self
            .pairs
            .traces
            .iter()
            .zip(tuple)
            .filter_map(|((_, graph), id)| body_of(&graph.nodes[*id as usize]))
            .collect();
        let Some(body) = bodies.first() else { return Tensor::poison() };
        if self.open.last().map(|(old, _)| *old) != Some(body.scope) {
            return fail(apart(format_args!("the loops of one lie in each other otherwise (at {at})")));
        }
        let tuples = |of: &dyn Fn(&Body) -> &Vec<NodeId>| -> Vec<Tuple> {
            (0..of(body).len()).map(|i| bodies.iter().map(|body| of(body)[i]).collect()).collect()
        };
        let (params, outs) = (tuples(&|body| &body.params), tuples(&|body| &body.outs));
        let carries = if let Op::Scan(scan) = &node.op { scan.carries } else { 0 };
        // What a loop carries belongs to rows as its parameter does, even where its new value is a number.
        let axis_of = |i: usize| if i < carries { body.params[1 + i] } else { body.outs[i] };
        let axis_of = |i: usize| self.axes[axis_of(i) as usize];
        let outs: Vec<Tensor> = outs.iter().enumerate().map(|(i, out)| self.tensor(out, axis_of(i), at)).collect();
        let params: Vec<Tensor> = params.iter().map(|param| self.tensor(param, RowAxis::Alike, at)).collect();
        let scope = self.open.pop().map_or(0, |(_, new)| new);
        graph::with(|g| g.close_scope());
        let ids = |tensors: &[Tensor]| tensors.iter().map(|tensor| tensor.raw()).collect::<Vec<_>>();
        if outs.iter().chain(&params).any(|tensor| tensor.is_poison()) {
            return Tensor::poison();
        }
        let made = Body { scope, params: ids(&params), outs: ids(&outs) };
        let captures = graph::with(|g| g.captures(&made.outs, scope)).unwrap_or_default();
        let (operands, op) = match &node.op {
            Op::Scan(scan) => (scan.carries + scan.xs, Op::Scan(Arc::new(Scan { body: made, ..(**scan).clone() }))),
            // Its body may use constants besides its parameters.
            Op::Call(call) if graph::with(|g| captures.iter().all(|id| g.is_constant(*id))) == Some(true) => {
                (node.src.len(), Op::Call(Arc::new(Call { name: call.name, body: made, native: call.native.clone() })))
            }
            other => return self.cannot(other, at),
        };
        // A carry belongs to rows as its parameter does, and a row of a stacked input, which has an axis less, too.
        let first = usize::from(matches!(node.op, Op::Scan(_)));
        let mut src: Vec<Tensor> = Vec::with_capacity(node.src.len());
        for (i, joint) in self.operands(tuple, operands).into_iter().enumerate() {
            src.push(match joint {
                JoinedValue::Tensor(tensor) => tensor,
                JoinedValue::Number(number) => {
                    let shape = &self.graph.nodes[node.src[i] as usize].shape;
                    let rows = self.axes[body.params[first + i] as usize];
                    match rows {
                        RowAxis::Along(SeedAxis { axis, right }) => {
                            let axis = if i < carries { axis } else { axis + first };
                            repeated(number, shape, SeedAxis { axis, right }, self.rows)
                        }
                        _ => self.cannot(&node.op, at),
                    }
                }
            });
        }
        if let Op::Scan(_) = op {
            src.extend(captures.into_iter().map(Tensor::from_id));
        }
        let made = push(op, &src, Vec::new(), DType::F32, at);
        // All results of a loop or a call have to exist, read or not.
        let stacked = |i: usize| match &node.op {
            Op::Scan(scan) if i >= scan.carries => Some(scan.len),
            _ => None,
        };
        for (i, out) in outs.iter().enumerate() {
            let shape = stacked(i).into_iter().chain(out.shape()).collect();
            push(Op::Out(i as u32), &[made], shape, out.dtype(), at);
        }
        made
    }

    /// A tuple as a tensor of the shape that it has in the variants.
    fn tensor(&self, tuple: &Tuple, rows: RowAxis, at: At) -> Tensor {
        let node = &self.graph.nodes[tuple[0] as usize];
        match (self.joint(tuple), rows) {
            (JoinedValue::Tensor(tensor), _) => tensor,
            (JoinedValue::Number(number), RowAxis::Along(along)) => repeated(number, &node.shape, along, self.rows),
            (JoinedValue::Number(_), _) => self.cannot(&node.op, at),
        }
    }

    /// Remembers which loops are copies of others, as the first variant does.
    fn keep_twins(&self) {
        let mut of_first: FxHashMap<NodeId, NodeId> = FxHashMap::default();
        for (tuple, joint) in &self.made {
            if let (Op::Scan(_), JoinedValue::Tensor(tensor)) = (&self.graph.nodes[tuple[0] as usize].op, joint) {
                of_first.insert(tuple[0], tensor.raw());
            }
        }
        let twins = self.graph.stacked.iter().filter_map(|(a, b)| Some((*of_first.get(a)?, *of_first.get(b)?)));
        let twins: Vec<(NodeId, NodeId)> = twins.collect();
        graph::with(|g| g.stacked.extend(twins));
    }
}

/// A number of each of S rows, repeated to a shape whose axis `along` is that of the rows.
fn repeated(number: Tensor, shape: &[usize], along: SeedAxis, seeds: usize) -> Tensor {
    let SeedAxis { axis, right } = along;
    let Some(outer) = shape.get(axis).map(|size| size / (seeds * right)).filter(|outer| *outer > 0) else {
        return fail(apart(format_args!("a tensor {shape:?} has no axis of the rows")));
    };
    let parts = |outer: usize, right: usize, before: &[usize], behind: &[usize]| {
        [before, &[outer, seeds, right], behind].concat()
    };
    let (before, behind) = (&shape[..axis], &shape[axis + 1..]);
    if outer * right == 1 {
        let mut own = vec![1; shape.len()];
        own[axis] = seeds;
        return number.reshape(&own).broadcast_to(shape);
    }
    let own = parts(1, 1, &vec![1; before.len()], &vec![1; behind.len()]);
    number.reshape(&own).broadcast_to(&parts(outer, right, before, behind)).reshape(shape)
}
