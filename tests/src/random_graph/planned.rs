//! Runs a plan as it is written: kernel by kernel, every operand from the place where the plan says that it is.
//!
//! A fault of the plan, such as two values in one slot at a time, gives a wrong result. In f64, as the graph's
//! interpreter: a right plan gives the same numbers to the last bit.

use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use quickstudy_core::backend::ScalarValue;
use quickstudy_core::backend::reference::{Data, Value, evaluate_node};
use quickstudy_core::program::is_view;
use quickstudy_core::tensor::{Graph, NodeId, Op};
use quickstudy_core::{DType, Error, Result};
use quickstudy_gpu::{Kernel, KernelSchedule, Place, Plan};

/// Run a plan; returns its arguments as they are afterwards. Those that are only written may be passed as any value.
///
/// # Errors
/// A fault of the plan that shows as such: an operand that is not there.
pub fn run_plan(plan: &Plan, args: &[Value], scalars: &[ScalarValue]) -> Result<Vec<Value>> {
    let mut run = Planned { graph: &plan.trace.graph, scalars, steps: Vec::new() };
    let mut held: HeldValues = args.iter().enumerate().map(|(i, v)| (Place::Arg(i), Rc::new(v.clone()))).collect();
    run.schedule(&plan.schedule, &mut held, &HashMap::new())?;
    Ok((0..args.len()).map(|i| (*held[&Place::Arg(i)]).clone()).collect())
}

/// The present value of each place.
type HeldValues = HashMap<Place, Rc<Value>>;

/// The values that a kernel knows.
type Known = HashMap<NodeId, Rc<Value>>;

struct Planned<'a> {
    graph: &'a Graph,
    scalars: &'a [ScalarValue],
    /// Scopes and step indices of the loops around.
    steps: Vec<(u32, u32)>,
}

impl Planned<'_> {
    fn schedule(&mut self, schedule: &KernelSchedule, held: &mut HeldValues, outer: &Known) -> Result<()> {
        for kernel in &schedule.kernels {
            let mut known = Known::new();
            for (node, place) in &kernel.reads {
                let value = match place {
                    Place::Outer => outer.get(node),
                    _ => held.get(place),
                };
                let missing = || Error::Program(format!("the plan reads %{node} from {place:?}, where nothing is"));
                // A slot may be larger than its value; what else it holds is not the value's.
                known.insert(*node, value.ok_or_else(missing)?.clone());
            }
            if let Some(body) = &kernel.body {
                self.scan(kernel, body, &mut known, held)?;
                continue;
            }
            for id in &kernel.nodes {
                let partial = kernel.operands.clone().filter(|_| kernel.writes.iter().any(|w| w.0 == *id));
                match (partial, kernel.writes.first()) {
                    (Some(part), Some((_, place))) => {
                        let value = self.concat(*id, part, held.get(place), &mut known)?;
                        known.insert(*id, value);
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
    fn compute(&mut self, id: NodeId, known: &mut Known, held: &HeldValues, kernel: &Kernel) -> Result<()> {
        let graph = self.graph;
        let node = &graph.nodes[id as usize];
        if let Op::Out(_) = node.op {
            return if known.contains_key(&id) { Ok(()) } else { self.fault(id) };
        }
        let mut operands = node.src.clone();
        if let Op::Call(call) = &node.op {
            // What is constant is not an operand.
            let inside = |id: NodeId| graph.encloses(call.body.scope, graph.nodes[id as usize].scope);
            for id in graph.reachable(&call.body.outs, call.body.scope) {
                operands.extend(graph.nodes[id as usize].src.iter().chain(&call.body.outs).filter(|s| !inside(**s)));
            }
        }
        for (i, s) in operands.iter().enumerate() {
            // A store changes what is in its place.
            if i == 0 && matches!(node.op, Op::Store) {
                let place = kernel.writes.iter().find(|w| w.0 == id).map(|w| w.1);
                let Some(value) = place.and_then(|p| held.get(&p)) else {
                    return self.fault(id);
                };
                known.insert(*s, value.clone());
                continue;
            }
            self.ensure(*s, known)?;
        }
        let results = self.results(id, &operands, known)?;
        if let Op::Call(_) = node.op {
            for out in kernel.nodes.iter().filter(|out| graph.nodes[**out as usize].src == [id]) {
                if let Op::Out(i) = graph.nodes[*out as usize].op {
                    known.insert(*out, results[i as usize].clone());
                }
            }
        }
        known.insert(id, results[0].clone());
        Ok(())
    }

    /// Make a node known that is a view of known ones or a constant.
    fn ensure(&mut self, id: NodeId, known: &mut Known) -> Result<()> {
        if known.contains_key(&id) {
            return Ok(());
        }
        let node = &self.graph.nodes[id as usize];
        let value = match &node.op {
            // The step index of a loop around.
            Op::Param(0) => match self.steps.iter().find(|(scope, _)| *scope == node.scope) {
                Some((_, t)) => Rc::new(Value::u32(&[], vec![*t])),
                None => return self.fault(id),
            },
            op if is_view(op) || matches!(op, Op::Scalar(_)) || self.graph.is_constant(id) => {
                node.src.iter().try_for_each(|s| self.ensure(*s, known))?;
                self.results(id, &node.src, known)?.remove(0)
            }
            _ => return self.fault(id),
        };
        known.insert(id, value);
        Ok(())
    }

    /// The results of a node, all of whose operands are known.
    fn results(&self, id: NodeId, operands: &[NodeId], known: &Known) -> Result<Vec<Rc<Value>>> {
        let operands: Vec<(NodeId, &Value)> = operands.iter().map(|s| (*s, &*known[s])).collect();
        Ok(evaluate_node(self.graph, id, &operands, self.scalars)?.into_iter().map(Rc::new).collect())
    }

    fn fault<T>(&self, id: NodeId) -> Result<T> {
        let op = self.graph.nodes[id as usize].op.name();
        Err(Error::Program(format!("the plan computes with %{id} ({op}), which is not there")))
    }

    /// Some operands of a Concat put into what its place holds.
    fn concat(
        &mut self,
        id: NodeId,
        part: Range<usize>,
        old: Option<&Rc<Value>>,
        known: &mut Known,
    ) -> Result<Rc<Value>> {
        let node = &self.graph.nodes[id as usize];
        let Op::Concat { axis } = node.op else {
            return self.fault(id);
        };
        let [outer, inner] = [&node.shape[..axis], &node.shape[axis + 1..]].map(|axes| axes.iter().product::<usize>());
        let total = node.shape[axis];
        let mut data = match (old.filter(|_| part.start > 0), node.dtype) {
            (Some(old), _) => old.data.clone(),
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
        Ok(Rc::new(Value { shape: node.shape.clone(), data }))
    }

    fn scan(&mut self, kernel: &Kernel, body: &KernelSchedule, known: &mut Known, held: &mut HeldValues) -> Result<()> {
        let graph = self.graph;
        let of = kernel.nodes.iter().find_map(|id| match &graph.nodes[*id as usize].op {
            Op::Scan(scan) => Some((&graph.nodes[*id as usize].src, scan)),
            _ => None,
        });
        let Some((src, scan)) = of else {
            return Err(Error::Program("the plan has a loop without a scan".to_owned()));
        };
        for s in src {
            self.ensure(*s, known)?;
        }
        // First values are copied to where the carries are kept; a place that holds them is used as it is.
        let mut inner = HeldValues::new();
        for i in 0..scan.carries {
            inner.insert(Place::Param(1 + i), known[&src[i]].clone());
        }
        let mut rows: Vec<Vec<Rc<Value>>> = vec![Vec::new(); scan.body.outs.len() - scan.carries];
        for step in 0..scan.len {
            let t = if scan.reverse { scan.len - 1 - step } else { step };
            for i in scan.carries..scan.carries + scan.xs {
                inner.insert(Place::Param(1 + i), Rc::new(row(&known[&src[i]], t, scan.len)));
            }
            self.steps.push((scan.body.scope, t as u32));
            self.schedule(body, &mut inner, known)?;
            self.steps.pop();
            for (j, row) in rows.iter_mut().enumerate() {
                let value = inner.remove(&Place::Row(j));
                row.push(value.ok_or_else(|| Error::Program(format!("the plan misses output {j} of a loop")))?);
            }
        }
        for (out, place) in &kernel.writes {
            let Op::Out(i) = graph.nodes[*out as usize].op else {
                return self.fault(*out);
            };
            let i = i as usize;
            let value = if i < scan.carries {
                inner[&Place::Param(1 + i)].clone()
            } else {
                let list = &mut rows[i - scan.carries];
                if scan.reverse {
                    list.reverse();
                }
                Rc::new(Value { shape: graph.nodes[*out as usize].shape.clone(), data: stacked(list) })
            };
            held.insert(*place, value);
        }
        Ok(())
    }
}

/// The elements of rows, one row after the other.
fn stacked(rows: &[Rc<Value>]) -> Data {
    let floats = |row: &Rc<Value>| match &row.data {
        Data::F64(x) => x.clone(),
        Data::U32(_) => Vec::new(),
    };
    let integers = |row: &Rc<Value>| match &row.data {
        Data::U32(x) => x.clone(),
        Data::F64(_) => Vec::new(),
    };
    match rows.first().map(|row| &row.data) {
        Some(Data::U32(_)) => Data::U32(rows.iter().flat_map(integers).collect()),
        _ => Data::F64(rows.iter().flat_map(floats).collect()),
    }
}

/// Row `t` of a value that has `rows`.
fn row(value: &Value, t: usize, rows: usize) -> Value {
    let len = value.data.len() / rows;
    let data = match &value.data {
        Data::F64(x) => Data::F64(x[t * len..(t + 1) * len].to_vec()),
        Data::U32(x) => Data::U32(x[t * len..(t + 1) * len].to_vec()),
    };
    Value { shape: vec![len], data }
}
