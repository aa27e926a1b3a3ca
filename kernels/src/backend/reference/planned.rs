//! Runs a plan as it is written: kernel by kernel, every operand from the place where the plan says that it is.
//!
//! Other backends may regroup kernels or give each value memory of its own; here a fault of the plan, such as two
//! values in one slot at a time, gives a wrong result. In f64, as the graph's interpreter: a right plan gives the same
//! numbers to the last bit.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::interpret::{Interpreter, Mode};
use super::moves;
use super::value::{Cell, Data, Value};
use crate::backend::ScalarValue;
use crate::program::{Kernel, KernelSchedule, Place, Plan, is_view};
use crate::tensor::op::Scan;
use crate::tensor::{DType, Graph, NodeId, Op};
use crate::{Error, Result};

/// Run a plan; returns its arguments as they are afterwards. Those that are only written may be passed as any value.
///
/// # Errors
/// A fault of the plan that shows as such: an operand that is not there.
pub fn run_plan(plan: &Plan, args: &[Value], scalars: &[ScalarValue]) -> Result<Vec<Value>> {
    let mut run = Planned { graph: &plan.graph, args: args.to_vec(), scalars, steps: Vec::new() };
    let cells = args.iter().map(|v| Rc::new(Cell { data: v.data.clone(), bound: Vec::new() }));
    let mut held: HeldValues = cells.enumerate().map(|(i, c)| (Place::Arg(i), c)).collect();
    run.schedule(&plan.schedule, &mut held, &FxHashMap::default())?;
    let after = |(i, v): (usize, &Value)| Value { shape: v.shape.clone(), data: held[&Place::Arg(i)].data.clone() };
    Ok(args.iter().enumerate().map(after).collect())
}

/// The present value of each place.
type HeldValues = FxHashMap<Place, Rc<Cell>>;

struct Planned<'a> {
    graph: &'a Graph,
    args: Vec<Value>,
    scalars: &'a [ScalarValue],
    /// Scopes and step indices of the loops around.
    steps: Vec<(u32, u32)>,
}

impl Planned<'_> {
    fn schedule(
        &mut self,
        schedule: &KernelSchedule,
        held: &mut HeldValues,
        outer: &FxHashMap<NodeId, Rc<Cell>>,
    ) -> Result<()> {
        for kernel in &schedule.kernels {
            let mut known: FxHashMap<NodeId, Rc<Cell>> = FxHashMap::default();
            for (node, place) in &kernel.reads {
                let cell = match place {
                    Place::Outer => outer.get(node),
                    _ => held.get(place),
                };
                let missing = || Error::Program(format!("the plan reads %{node} from {place:?}, where nothing is"));
                let cell = cell.ok_or_else(missing)?;
                // A slot may be larger than its value; what else it holds is not the value's.
                known.insert(*node, cell.clone());
            }
            if let Some(body) = &kernel.body {
                self.scan(kernel, body, &mut known, held)?;
                continue;
            }
            let part = kernel.operands.clone();
            for id in &kernel.nodes {
                let partial = part.clone().filter(|_| kernel.writes.iter().any(|w| w.0 == *id));
                match (partial, kernel.writes.first()) {
                    (Some(part), Some((_, place))) => {
                        let cell = self.concat(*id, part, held.get(place), &mut known)?;
                        known.insert(*id, cell);
                    }
                    _ => self.compute(*id, &mut known, held, kernel)?,
                }
            }
            for (node, place) in &kernel.writes {
                self.ensure(*node, &mut known)?;
                held.insert(*place, known[node].clone());
            }
        }
        Ok(())
    }

    /// A node of a kernel from its operands.
    fn compute(
        &mut self,
        id: NodeId,
        known: &mut FxHashMap<NodeId, Rc<Cell>>,
        held: &HeldValues,
        kernel: &Kernel,
    ) -> Result<()> {
        let graph = self.graph;
        let node = &graph.nodes[id as usize];
        if let Op::Out(_) = node.op {
            return if known.contains_key(&id) { Ok(()) } else { self.fault(id) };
        }
        for (i, s) in node.src.iter().enumerate() {
            // A store changes what is in its place.
            if i == 0 && matches!(node.op, Op::Store) {
                let place = kernel.writes.iter().find(|w| w.0 == id).map(|w| w.1);
                let Some(cell) = place.and_then(|p| held.get(&p)) else {
                    return self.fault(id);
                };
                known.insert(*s, cell.clone());
                continue;
            }
            self.ensure(*s, known)?;
        }
        if let Op::Call(call) = &node.op {
            // What is constant is not an operand.
            let inside = |id: NodeId| graph.encloses(call.body.scope, graph.nodes[id as usize].scope);
            for id in graph.reachable(&call.body.outs, call.body.scope) {
                let outside = graph.nodes[id as usize].src.iter().chain(&call.body.outs).filter(|s| !inside(**s));
                outside.copied().try_for_each(|s| self.ensure(s, known))?;
            }
        }
        let mut interpreter = self.interpreter(known);
        let cell = interpreter.node(id)?;
        if let Op::Call(_) = node.op {
            for out in kernel.nodes.iter().filter(|o| graph.nodes[**o as usize].src == [id]) {
                if let Op::Out(_) = graph.nodes[*out as usize].op {
                    known.insert(*out, interpreter.node(*out)?);
                }
            }
        }
        known.insert(id, cell);
        Ok(())
    }

    /// Make a node known that is a view of known ones or a constant.
    fn ensure(&mut self, id: NodeId, known: &mut FxHashMap<NodeId, Rc<Cell>>) -> Result<()> {
        if known.contains_key(&id) {
            return Ok(());
        }
        let node = &self.graph.nodes[id as usize];
        let cell = match &node.op {
            op if is_view(op) => {
                self.ensure(node.src[0], known)?;
                self.interpreter(known).node(id)?
            }
            Op::Scalar(_) => self.interpreter(known).node(id)?,
            _ if self.graph.is_constant(id) => {
                node.src.iter().try_for_each(|s| self.ensure(*s, known))?;
                self.interpreter(known).node(id)?
            }
            // The step index of a loop around.
            Op::Param(0) => match self.steps.iter().find(|(scope, _)| *scope == node.scope) {
                Some((_, t)) => Rc::new(Cell { data: Data::U32(vec![*t]), bound: Vec::new() }),
                None => return self.fault(id),
            },
            _ => return self.fault(id),
        };
        known.insert(id, cell);
        Ok(())
    }

    fn interpreter(&self, known: &FxHashMap<NodeId, Rc<Cell>>) -> Interpreter<'_> {
        let mut interpreter = Interpreter::new(self.graph, &self.args, self.scalars, Mode::Exact);
        known.iter().for_each(|(id, cell)| interpreter.set(*id, cell.clone()));
        interpreter
    }

    fn fault<T>(&self, id: NodeId) -> Result<T> {
        let op = self.graph.nodes[id as usize].op.name();
        Err(Error::Program(format!("the plan computes with %{id} ({op}), which is not there")))
    }

    /// Some operands of a Concat put into what its place holds.
    fn concat(
        &mut self,
        id: NodeId,
        part: std::ops::Range<usize>,
        old: Option<&Rc<Cell>>,
        known: &mut FxHashMap<NodeId, Rc<Cell>>,
    ) -> Result<Rc<Cell>> {
        let node = &self.graph.nodes[id as usize];
        let Op::Concat { axis } = node.op else {
            return self.fault(id);
        };
        let (outer, total, inner) = moves::around(&node.shape, axis);
        let mut data = match (old.filter(|_| part.start > 0), node.dtype) {
            (Some(cell), _) => cell.data.clone(),
            (None, DType::F32) => Data::F64(vec![f64::NAN; node.len()]),
            (None, DType::U32) => Data::U32(vec![0; node.len()]),
        };
        let size = |s: &NodeId| self.graph.nodes[*s as usize].shape[axis];
        let mut at: usize = node.src[..part.start].iter().map(size).sum();
        for s in &node.src[part] {
            self.ensure(*s, known)?;
            let n = size(s);
            for o in 0..outer {
                let (to, from) = (o * total * inner + at * inner, o * n * inner);
                match (&mut data, &known[s].data) {
                    (Data::F64(d), Data::F64(x)) => d[to..to + n * inner].copy_from_slice(&x[from..from + n * inner]),
                    (Data::U32(d), Data::U32(x)) => d[to..to + n * inner].copy_from_slice(&x[from..from + n * inner]),
                    _ => return self.fault(id),
                }
            }
            at += n;
        }
        Ok(Rc::new(Cell { data, bound: Vec::new() }))
    }

    fn scan(
        &mut self,
        kernel: &Kernel,
        body: &KernelSchedule,
        known: &mut FxHashMap<NodeId, Rc<Cell>>,
        held: &mut HeldValues,
    ) -> Result<()> {
        let graph = self.graph;
        let Some(id) = kernel.nodes.iter().find(|id| matches!(graph.nodes[**id as usize].op, Op::Scan(_))) else {
            return Err(Error::Program("the plan has a loop without a scan".to_owned()));
        };
        let node = &graph.nodes[*id as usize];
        let Op::Scan(scan) = &node.op else {
            return self.fault(*id);
        };
        let scan: &Scan = scan;
        for s in &node.src {
            self.ensure(*s, known)?;
        }
        // First values are copied to where the carries are kept; a place that holds them is used as it is.
        let mut inner: HeldValues = FxHashMap::default();
        for i in 0..scan.carries {
            inner.insert(Place::Param(1 + i), known[&node.src[i]].clone());
        }
        let mut rows: Vec<Vec<Rc<Cell>>> = vec![Vec::new(); scan.body.outs.len() - scan.carries];
        for step in 0..scan.len {
            let t = if scan.reverse { scan.len - 1 - step } else { step };
            for i in 0..scan.xs {
                let x = super::interpret::row(&known[&node.src[scan.carries + i]], t, scan.len);
                inner.insert(Place::Param(1 + scan.carries + i), Rc::new(x));
            }
            self.steps.push((scan.body.scope, t as u32));
            self.schedule(body, &mut inner, known)?;
            self.steps.pop();
            for (j, row) in rows.iter_mut().enumerate() {
                let cell = inner.remove(&Place::Row(j));
                row.push(cell.ok_or_else(|| Error::Program(format!("the plan misses output {j} of a loop")))?);
            }
        }
        for (out, place) in &kernel.writes {
            let Op::Out(i) = graph.nodes[*out as usize].op else {
                return self.fault(*out);
            };
            let i = i as usize;
            let cell = if i < scan.carries {
                inner[&Place::Param(1 + i)].clone()
            } else {
                let list = &mut rows[i - scan.carries];
                if scan.reverse {
                    list.reverse();
                }
                let data = match graph.nodes[*out as usize].dtype {
                    DType::F32 => Data::F64(list.iter().flat_map(|c| super::interpret::floats(c).to_vec()).collect()),
                    DType::U32 => Data::U32(list.iter().flat_map(|c| super::interpret::integers(c).to_vec()).collect()),
                };
                Rc::new(Cell { data, bound: Vec::new() })
            };
            held.insert(*place, cell);
        }
        Ok(())
    }
}
