//! The walk over the graph: which nodes, in which order, in which scope.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::value::{Bounded, Cell, Data, Value};
use super::{NonFinite, bounds, moves, scalar};
use crate::backend::ScalarValue;
use crate::rng;
use crate::tensor::graph::ROOT;
use crate::tensor::op::{Body, Call, Scan};
use crate::tensor::{DType, Graph, NodeId, Op};
use crate::{Error, Result};

/// The purpose of a walk, which decides what it computes besides the values.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Nothing.
    Exact,
    /// Error bounds.
    Bounds,
    /// Values are rounded to f32, and the walk ends at the first that is not finite.
    Find,
}

pub(super) struct Interpreter<'a> {
    graph: &'a Graph,
    inputs: &'a [Value],
    scalars: &'a [ScalarValue],
    mode: Mode,
    /// The present value of each node.
    cells: Vec<Option<Rc<Cell>>>,
    /// The results of each scan and call.
    results: FxHashMap<NodeId, Vec<Rc<Cell>>>,
    /// The nodes of each scan's or call's body.
    schedules: FxHashMap<NodeId, Rc<[NodeId]>>,
    /// The scans being run and their present indices.
    trail: Vec<(NodeId, usize)>,
    /// True inside of a call in `Mode::Find`, where numbers are looked at when it has its results.
    in_call: bool,
    /// The first value that was not finite, in `Mode::Find`.
    pub found: Option<NonFinite>,
}

impl<'a> Interpreter<'a> {
    pub(super) fn new(graph: &'a Graph, inputs: &'a [Value], scalars: &'a [ScalarValue], mode: Mode) -> Self {
        Interpreter {
            graph,
            inputs,
            scalars,
            mode,
            cells: vec![None; graph.nodes.len()],
            results: FxHashMap::default(),
            schedules: FxHashMap::default(),
            trail: Vec::new(),
            in_call: false,
            found: None,
        }
    }

    pub(super) fn run(&mut self, outs: &[NodeId]) -> Result<Vec<Bounded>> {
        if let Some(id) = outs.iter().find(|id| self.node_scope(**id) != Some(ROOT)) {
            return Err(Error::Program(format!("reference: %{id} is not a node of the outermost scope")));
        }
        let schedule = self.schedule(outs, ROOT);
        self.walk(&schedule)?;
        outs.iter()
            .map(|id| {
                let cell = self.cell(*id)?;
                let shape = self.graph.nodes[*id as usize].shape.clone();
                Ok(Bounded { value: Value { shape, data: cell.data.clone() }, bound: cell.bound.clone() })
            })
            .collect()
    }

    fn node_scope(&self, id: NodeId) -> Option<u32> {
        self.graph.nodes.get(id as usize).map(|n| n.scope)
    }

    /// The nodes of one scope that `outs` need, operands first.
    fn schedule(&self, outs: &[NodeId], scope: u32) -> Rc<[NodeId]> {
        let all = self.graph.reachable(outs, scope);
        all.into_iter().filter(|id| self.node_scope(*id) == Some(scope)).collect()
    }

    fn cell(&self, id: NodeId) -> Result<Rc<Cell>> {
        let cell = self.cells.get(id as usize).and_then(Option::as_ref);
        cell.cloned().ok_or_else(|| Error::Program(format!("reference: %{id} has no value where it is used")))
    }

    fn walk(&mut self, schedule: &[NodeId]) -> Result<()> {
        for &id in schedule {
            let cell = self.node(id)?;
            if self.mode == Mode::Find && !self.in_call {
                self.check(id, &cell)?;
            }
            self.cells[id as usize] = Some(cell);
        }
        Ok(())
    }

    /// The results of one node from the values that it reads: one, or all of a call.
    pub(super) fn results_of(mut self, id: NodeId, operands: &[(NodeId, &Value)]) -> Result<Vec<Value>> {
        for (operand, value) in operands {
            let cell = Cell { data: value.data.clone(), bound: Vec::new() };
            self.cells[*operand as usize] = Some(Rc::new(cell));
        }
        let cell = self.node(id)?;
        let graph = self.graph;
        let value = |id: NodeId, cell: Rc<Cell>| {
            let data = Rc::try_unwrap(cell).map_or_else(|shared| shared.data.clone(), |own| own.data);
            Value { shape: graph.nodes[id as usize].shape.clone(), data }
        };
        Ok(match &graph.nodes[id as usize].op {
            Op::Call(call) => {
                let results = self.results.remove(&id).unwrap_or_default();
                call.body.outs.iter().zip(results).map(|(out, cell)| value(*out, cell)).collect()
            }
            _ => vec![value(id, cell)],
        })
    }

    /// The value of a node from those of its operands.
    fn node(&mut self, id: NodeId) -> Result<Rc<Cell>> {
        let graph = self.graph;
        let node = &graph.nodes[id as usize];
        let wrong = |what: &str| Error::Program(format!("reference: {} (%{id}) {what}", node.op.name()));
        match &node.op {
            Op::Param(_) => return self.cell(id),
            Op::Reshape => return self.cell(node.src[0]),
            Op::Out(i) => {
                let results = self.results.get(&node.src[0]);
                return results.and_then(|r| r.get(*i as usize)).cloned().ok_or_else(|| wrong("has no such result"));
            }
            Op::Scan(scan) => {
                let results = self.scan(id, scan)?;
                self.results.insert(id, results);
                return Ok(Rc::new(Cell { data: Data::U32(Vec::new()), bound: Vec::new() }));
            }
            Op::Call(call) => {
                let src = node.src.iter().map(|s| self.cell(*s)).collect::<Result<Vec<_>>>()?;
                let results = match self.mode {
                    Mode::Find if !self.in_call => self.called(id, call, &src)?,
                    _ => self.body(id, &call.body, &src)?,
                };
                self.results.insert(id, results);
                return Ok(Rc::new(Cell { data: Data::U32(Vec::new()), bound: Vec::new() }));
            }
            _ => {}
        }
        if let Some(data) = self.leaf(id)? {
            let bound = if self.mode == Mode::Bounds { bounds::leaf(&data) } else { Vec::new() };
            return Ok(self.finish(data, bound));
        }
        let held = node.src.iter().map(|s| self.cell(*s)).collect::<Result<Vec<_>>>()?;
        let src: Vec<&Cell> = held.iter().map(Rc::as_ref).collect();
        let shapes: Vec<&[usize]> = node.src.iter().map(|s| &graph.nodes[*s as usize].shape[..]).collect();
        if let Some(cell) = self.moved(id, &src, &shapes)? {
            return Ok(Rc::new(cell));
        }
        let data = compute(graph, id, &src, &shapes).ok_or_else(|| wrong("has operands of the wrong data type"))?;
        let bound = if self.mode == Mode::Bounds { bounds::of(node, &src, &shapes, &data) } else { Vec::new() };
        Ok(self.finish(data, bound))
    }

    fn finish(&self, mut data: Data, bound: Vec<f64>) -> Rc<Cell> {
        if let (Mode::Find, Data::F64(x)) = (self.mode, &mut data) {
            x.iter_mut().for_each(|v| *v = f64::from(*v as f32));
        }
        Rc::new(Cell { data, bound })
    }

    fn leaf(&self, id: NodeId) -> Result<Option<Data>> {
        let node = &self.graph.nodes[id as usize];
        let number = |bits: &[u64]| match node.dtype {
            DType::F32 => Data::F64(bits.iter().map(|b| f64::from_bits(*b)).collect()),
            DType::U32 => Data::U32(bits.iter().map(|b| *b as u32).collect()),
        };
        Ok(Some(match &node.op {
            Op::Const(bits) => number(&[*bits]),
            Op::Literal(bits) => number(bits),
            Op::Iota { axis } => {
                let (outer, n, inner) = moves::around(&node.shape, *axis);
                let one = (0..n as u32).flat_map(|i| std::iter::repeat_n(i, inner));
                Data::U32(std::iter::repeat_n(one, outer).flatten().collect())
            }
            Op::Scalar(i) => match (self.scalars.get(*i as usize), node.dtype) {
                (Some(ScalarValue::U32(v)), DType::U32) => Data::U32(vec![*v]),
                (Some(ScalarValue::F32(v)), DType::F32) => Data::F64(vec![*v]),
                (Some(v), dtype) => {
                    return Err(Error::Program(format!("reference: run-time scalar {i} is a {dtype}, got {v:?}")));
                }
                (None, _) => return Err(Error::Program(format!("reference: run-time scalar {i} is missing"))),
            },
            Op::Input(i) => {
                let value = self.inputs.get(*i as usize);
                let value = value.ok_or_else(|| Error::Program(format!("reference: input {i} is missing")))?;
                let fits = matches!((&value.data, node.dtype), (Data::F64(_), DType::F32) | (Data::U32(_), DType::U32));
                if value.shape != node.shape || value.data.len() != node.len() || !fits {
                    return Err(Error::Program(format!(
                        "reference: input {i} must be {:?} {}, got {:?} with {} elements",
                        node.shape,
                        node.dtype,
                        value.shape,
                        value.data.len()
                    )));
                }
                value.data.clone()
            }
            _ => return Ok(None),
        }))
    }

    /// Results of the operations that move elements, bounds included.
    fn moved(&self, id: NodeId, src: &[&Cell], shapes: &[&[usize]]) -> Result<Option<Cell>> {
        let node = &self.graph.nodes[id as usize];
        let index = |cell: &'_ Cell| match &cell.data {
            Data::U32(x) => Ok(x.clone()),
            Data::F64(_) => Err(Error::Program(format!("reference: {} (%{id}) has a float index", node.op.name()))),
        };
        let mut cell = match &node.op {
            Op::Concat { axis } => {
                let (outer, _, inner) = moves::around(&node.shape, *axis);
                let sizes = shapes.iter().map(|s| s[*axis]);
                let data = match node.dtype {
                    DType::F32 => Data::F64(moves::concat(&parts(src, sizes.clone(), floats), outer, inner)),
                    DType::U32 => Data::U32(moves::concat(&parts(src, sizes.clone(), integers), outer, inner)),
                };
                let bound = match self.mode {
                    Mode::Bounds => moves::concat(&parts(src, sizes, |c| &c.bound), outer, inner),
                    _ => Vec::new(),
                };
                Cell { data, bound }
            }
            Op::Gather => taken(src[0], &moves::gather_sources(shapes[0], shapes[1], &index(src[1])?)),
            Op::Store => {
                let from = moves::store_sources(shapes[0], shapes[1], &index(src[1])?)?;
                let data = match (&src[0].data, &src[2].data) {
                    (Data::F64(old), Data::F64(new)) => Data::F64(moves::store(old, new, &from)),
                    (Data::U32(old), Data::U32(new)) => Data::U32(moves::store(old, new, &from)),
                    _ => return Err(Error::Program("reference: store of another data type".to_owned())),
                };
                Cell { data, bound: moves::store(&src[0].bound, &src[2].bound, &from) }
            }
            _ => match shapes.first().and_then(|from| moves::sources(node, from)) {
                Some(from) => taken(src[0], &from),
                None => return Ok(None),
            },
        };
        // A row whose index is uncertain may be any row.
        if matches!(node.op, Op::Gather | Op::Store) && src[1].bound.iter().any(|b| *b != 0.0) {
            cell.bound.fill(f64::INFINITY);
        }
        Ok(Some(cell))
    }

    /// One run of a body: its parameters set, its nodes walked.
    fn body(&mut self, id: NodeId, body: &Body, params: &[Rc<Cell>]) -> Result<Vec<Rc<Cell>>> {
        let schedule = match self.schedules.get(&id) {
            Some(s) => s.clone(),
            None => {
                let s = self.schedule(&body.outs, body.scope);
                self.schedules.insert(id, s.clone());
                s
            }
        };
        for (param, value) in body.params.iter().zip(params) {
            self.cells[*param as usize] = Some(value.clone());
        }
        self.walk(&schedule)?;
        body.outs.iter().map(|o| self.cell(*o)).collect()
    }

    fn scan(&mut self, id: NodeId, scan: &Scan) -> Result<Vec<Rc<Cell>>> {
        let src = &self.graph.nodes[id as usize].src;
        let held = src.iter().take(scan.carries + scan.xs).map(|s| self.cell(*s)).collect::<Result<Vec<_>>>()?;
        let (init, xs) = held.split_at(scan.carries);
        let mut carry = init.to_vec();
        let mut ys: Vec<Vec<Rc<Cell>>> = Vec::with_capacity(scan.len);
        let bounds = |n: usize| if self.mode == Mode::Bounds { vec![0.0; n] } else { Vec::new() };
        let no_bound = bounds(1);
        for step in 0..scan.len {
            let t = if scan.reverse { scan.len - 1 - step } else { step };
            let mut params = vec![Rc::new(Cell { data: Data::U32(vec![t as u32]), bound: no_bound.clone() })];
            params.extend(carry);
            params.extend(xs.iter().map(|x| Rc::new(row(x, t, scan.len))));
            self.trail.push((id, t));
            let mut outs = self.body(id, &scan.body, &params)?;
            self.trail.pop();
            ys.push(outs.split_off(scan.carries));
            carry = outs;
        }
        if scan.reverse {
            ys.reverse();
        }
        let stacked = scan.body.outs[scan.carries..].iter().enumerate().map(|(i, out)| {
            let rows: Vec<&Cell> = ys.iter().map(|y| y[i].as_ref()).collect();
            let data = match self.graph.nodes[*out as usize].dtype {
                DType::F32 => Data::F64(rows.iter().flat_map(|c| floats(c)).copied().collect()),
                DType::U32 => Data::U32(rows.iter().flat_map(|c| integers(c)).copied().collect()),
            };
            Rc::new(Cell { data, bound: rows.iter().flat_map(|c| &c.bound).copied().collect() })
        });
        Ok(carry.iter().cloned().chain(stacked).collect())
    }

    /// End the walk at a result that is not finite although the operands are.
    fn check(&mut self, id: NodeId, cell: &Cell) -> Result<()> {
        let node = &self.graph.nodes[id as usize];
        if matches!(node.op, Op::Const(_) | Op::Literal(_) | Op::Param(_)) {
            return Ok(());
        }
        let Some((at, value)) = first_bad(cell) else { return Ok(()) };
        for s in &node.src {
            if first_bad(self.cell(*s)?.as_ref()).is_some() {
                return Ok(());
            }
        }
        Err(self.blame(id, at, value, None))
    }

    /// The results of a call. What its body computes beside these may be NaN without harm, such as the side that a
    /// `select` leaves out: the walk ends only where a result is not finite although the operands are.
    fn called(&mut self, id: NodeId, call: &Call, src: &[Rc<Cell>]) -> Result<Vec<Rc<Cell>>> {
        self.in_call = true;
        let results = self.body(id, &call.body, src);
        self.in_call = false;
        let results = results?;
        if src.iter().all(|cell| first_bad(cell).is_none())
            && let Some((result, (at, _))) =
                results.iter().enumerate().find_map(|(i, cell)| Some((i, first_bad(cell)?)))
        {
            let (node, at, value) = self.source(call.body.outs[result], at)?;
            return Err(self.blame(node, at, value, Some(call.name)));
        }
        Ok(results)
    }

    /// The operation that made the number at a place of a node, which is not finite: it, or one that it comes from.
    fn source(&self, mut id: NodeId, mut at: usize) -> Result<(NodeId, usize, f64)> {
        let graph = self.graph;
        loop {
            let (node, cell) = (&graph.nodes[id as usize], self.cell(id)?);
            let value = floats(&cell).get(at).copied().unwrap_or(f64::NAN);
            let operands = match (&node.op, &node.src[..]) {
                // The side that was left out may be anything.
                (Op::Select, [mask, one, other]) => {
                    let mask = self.cell(*mask)?;
                    vec![if integers(&mask).get(at).is_some_and(|mask| *mask != 0) { *one } else { *other }]
                }
                (_, src) => src.to_vec(),
            };
            let bad = |operand: &NodeId| {
                let cell = self.cell(*operand).ok()?;
                let shape = &graph.nodes[*operand as usize].shape;
                let here = floats(&cell).get(at).filter(|x| !x.is_finite() && *shape == node.shape).map(|_| at);
                Some((*operand, here.or_else(|| first_bad(&cell).map(|(at, _)| at))?))
            };
            match operands.iter().find_map(bad) {
                Some(operand) => (id, at) = operand,
                None => return Ok((id, at, value)),
            }
        }
    }

    /// Notes the number at a place of a node as the first one that is not finite.
    fn blame(&mut self, id: NodeId, at: usize, value: f64, call: Option<&'static str>) -> Error {
        let node = &self.graph.nodes[id as usize];
        let mut index = Vec::new();
        let mut rest = at;
        for n in node.shape.iter().rev() {
            index.insert(0, rest % n);
            rest /= n;
        }
        let mut place = format!("element {index:?} of {:?}", node.shape);
        for (scan, t) in self.trail.iter().rev() {
            place.push_str(&format!(", index {t} of scan %{scan}"));
        }
        let found = NonFinite { node: id, op: node.op.name(), origin: node.origin, place, value, call };
        let error = found.error();
        self.found = Some(found);
        error
    }
}

fn first_bad(cell: &Cell) -> Option<(usize, f64)> {
    floats(cell).iter().copied().enumerate().find(|(_, v)| !v.is_finite())
}

pub(super) fn floats(cell: &Cell) -> &[f64] {
    match &cell.data {
        Data::F64(x) => x,
        Data::U32(_) => &[],
    }
}

pub(super) fn integers(cell: &Cell) -> &[u32] {
    match &cell.data {
        Data::U32(x) => x,
        Data::F64(_) => &[],
    }
}

fn parts<'a, T>(
    src: &[&'a Cell],
    sizes: impl Iterator<Item = usize>,
    of: impl Fn(&'a Cell) -> &'a [T],
) -> Vec<(&'a [T], usize)> {
    src.iter().map(|c| of(c)).zip(sizes).collect()
}

fn taken(cell: &Cell, from: &[usize]) -> Cell {
    let data = match &cell.data {
        Data::F64(x) => Data::F64(moves::take(x, from)),
        Data::U32(x) => Data::U32(moves::take(x, from)),
    };
    let bound = if cell.bound.is_empty() { Vec::new() } else { moves::take(&cell.bound, from) };
    Cell { data, bound }
}

/// Row `t` of a tensor with a leading axis of `len`.
pub(super) fn row(cell: &Cell, t: usize, len: usize) -> Cell {
    let part = |n: usize| t * (n / len)..(t + 1) * (n / len);
    let data = match &cell.data {
        Data::F64(x) => Data::F64(x[part(x.len())].to_vec()),
        Data::U32(x) => Data::U32(x[part(x.len())].to_vec()),
    };
    Cell { data, bound: cell.bound[part(cell.bound.len())].to_vec() }
}

/// Results of the operations that compute; `None` if an operand has the wrong data type.
fn compute(graph: &Graph, id: NodeId, src: &[&Cell], shapes: &[&[usize]]) -> Option<Data> {
    let node = &graph.nodes[id as usize];
    Some(match (&node.op, src) {
        (Op::Unary(op), [x]) => scalar::unary(*op, &x.data),
        (Op::Binary(op), [x, y]) => return scalar::binary(*op, &x.data, &y.data),
        (Op::Select, [c, a, b]) => return scalar::select(integers(c), &a.data, &b.data),
        (Op::Sum { axis }, [x]) => Data::F64(moves::fold(floats(x), shapes[0], *axis, |g| g.iter().sum())),
        (Op::ReduceMax { axis }, [x]) => match &x.data {
            Data::F64(x) => Data::F64(moves::fold(x, shapes[0], *axis, |g| {
                g.iter().copied().fold(f64::NEG_INFINITY, |m, v| if m < v { v } else { m })
            })),
            Data::U32(x) => Data::U32(moves::fold(x, shapes[0], *axis, |g| g.iter().copied().fold(0, u32::max))),
        },
        (Op::MatMul { ta, tb }, [a, b]) => {
            let product = moves::BatchedProduct::new(shapes[0], &node.shape, *ta, *tb);
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum();
            Data::F64(product.each(floats(a), floats(b), dot))
        }
        (Op::Threefry { word }, [k0, k1, c0, c1]) => {
            let (k0, k1, c0, c1) = (integers(k0), integers(k1), integers(c0), integers(c1));
            let block = |i: usize| rng::threefry2x32([k0[i], k1[i]], [c0[i], c1[i]])[usize::from(*word & 1)];
            Data::U32((0..node.len()).map(block).collect())
        }
        (Op::Permutation { n }, [x, k0, k1]) => {
            let (x, k0, k1) = (integers(x), integers(k0), integers(k1));
            Data::U32((0..node.len()).map(|i| rng::permute(x[i], [k0[i], k1[i]], *n)).collect())
        }
        _ => return None,
    })
}
