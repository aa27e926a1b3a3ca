//! From a trace to steps over values in memory.

use rustc_hash::FxHashMap;

use super::lowering::Lowering;
use super::steps::{Carry, Lowered, LoweredStep, NodeStep, ScanStep};
use super::tile::{self, BUDGET, Tile};
use super::values::{Storage, ValueId, View};
use crate::Result;
use crate::program::chains::{self, Formed, Scope, Unit, Units, Values};
use crate::program::{Trace, is_view};
use crate::tensor::graph::ROOT;
use crate::tensor::op::Scan;
use crate::tensor::{Graph, NodeId, Op};

/// Lower a program.
pub fn lower(trace: &Trace, tiles: bool, threads: usize) -> Result<Lowered> {
    let outs = trace.outs();
    let units = Units::new(&trace.graph, &outs);
    let mut this = Lowering::new(&trace.graph, &units, ROOT, FxHashMap::default(), tiles, threads);
    this.replacing = trace.results.iter().flat_map(|(node, arg)| replacing(&trace.graph, *node, *arg)).collect();
    this.schedule(&outs)?;
    this.results(&trace.results)?;
    this.out.join_parts(&[]);
    this.out.join_squares(threads);
    this.out.elide_results();
    Ok(this.out)
}

impl<'a> Lowering<'a> {
    fn schedule(&mut self, outs: &[NodeId]) -> Result<()> {
        let kernels = &mut self.units.of(self.scope).to_vec();
        self.users(kernels, outs);
        let mut done = vec![false; kernels.len()];
        if self.tiles {
            self.updates = tile::find_updates(self, kernels, &mut done);
            self.users(kernels, outs);
        }
        let kernels = &kernels[..];
        let scope = Scope { graph: self.graph, units: self.units, kernels, budget: BUDGET };
        for k in 0..kernels.len() {
            while !done[k] {
                let formed = match self.tiles && !kernels[k].nodes.is_empty() {
                    true => chains::form(self, &scope, &done, k, true),
                    false => Formed::Alone(k),
                };
                match formed {
                    Formed::Group(chain, taken) => {
                        self.step(LoweredStep::Tile(Box::new(Tile::new(chain, self.threads))));
                        taken.into_iter().for_each(|t| done[t] = true);
                    }
                    Formed::Alone(k) => {
                        self.kernel(k, &kernels[k], &|user| user == k || done.get(user).is_some_and(|done| *done))?;
                        done[k] = true;
                    }
                }
            }
        }
        Ok(())
    }

    /// One kernel, node by node. `read` tells which kernels have read their operands by then.
    #[inline(never)]
    fn kernel(&mut self, k: usize, kernel: &Unit, read: &dyn Fn(usize) -> bool) -> Result<()> {
        if let Some(update) = self.updates.remove(&k) {
            return self.update(&update);
        }
        for &node in &kernel.nodes {
            if self.values.contains_key(&node) {
                continue;
            }
            match &self.graph.nodes[node as usize].op {
                Op::Out(_) => {}
                Op::Scan(scan) => self.scan(node, scan)?,
                _ => self.node(node, read)?,
            }
        }
        Ok(())
    }

    /// The memory that a store changes, if it may change it where it is: nobody reads the old rows afterwards.
    fn changed_in_place(&self, id: NodeId, old: &View, read: &dyn Fn(usize) -> bool) -> Option<ValueId> {
        let node = &self.graph.nodes[id as usize];
        let own = match self.out.storage[old.value] {
            Storage::Temp(len) => len == node.len(),
            Storage::Param => self.carried.contains(&old.value),
            Storage::Arg(_) => self.replacing.contains(&id),
            _ => false,
        };
        let mut root = node.src[0];
        while is_view(&self.graph.nodes[root as usize].op) {
            root = self.graph.nodes[root as usize].src[0];
        }
        let last = || self.users.get(&root).is_some_and(|users| users.iter().all(|user| read(*user)));
        (own && *old == View::whole(old.value, &old.shape) && last()).then_some(old.value)
    }

    /// End with the results in their arguments.
    #[inline(never)]
    fn results(&mut self, results: &[(NodeId, usize)]) -> Result<()> {
        let written: Vec<usize> = results.iter().map(|r| r.1).collect();
        for (node, arg) in results {
            // What is a view of an argument is copied aside before that argument is overwritten.
            let view = self.view(*node)?;
            let of = match self.out.storage[view.value] {
                Storage::Arg(i) => Some(i),
                _ => None,
            };
            let itself = of == Some(*arg) && view == View::whole(view.value, &view.shape);
            if of.is_some_and(|i| written.contains(&i)) && !itself {
                self.copy(*node)?;
            }
        }
        for (node, arg) in results {
            let src = self.view(*node)?;
            let dst = self.add(Storage::Arg(*arg));
            self.out.steps.push(LoweredStep::Copy { src, dst });
        }
        Ok(())
    }

    /// Note which kernels read which nodes, through views.
    #[inline(never)]
    fn users(&mut self, kernels: &[Unit], outs: &[NodeId]) {
        let mut reads: Vec<(NodeId, usize)> = Vec::new();
        for (k, kernel) in kernels.iter().enumerate() {
            match self.updates.get(&k) {
                Some(update) => reads.extend(update.reads().map(|id| (id, k))),
                None => {
                    let operands = kernel.nodes.iter().flat_map(|id| &self.graph.nodes[*id as usize].src);
                    reads.extend(operands.map(|id| (*id, k)));
                }
            }
        }
        reads.extend(outs.iter().map(|id| (*id, usize::MAX)));
        self.users = chains::readers(self.graph, reads);
    }

    #[inline(never)]
    fn node(&mut self, id: NodeId, read: &dyn Fn(usize) -> bool) -> Result<()> {
        let node = &self.graph.nodes[id as usize];
        let src: Vec<View> = node.src.iter().map(|s| self.view(*s)).collect::<Result<_>>()?;
        let dtype = node.src.first().map_or(node.dtype, |s| self.graph.nodes[*s as usize].dtype);
        let (dst, widths) = match &node.op {
            Op::Call(call) => {
                let outs = self.outs(id, call.body.outs.len());
                let widths = outs.iter().map(|(o, _)| self.graph.nodes[*o as usize].shape.last().copied().unwrap_or(1));
                (outs.iter().map(|o| o.1).collect(), widths.collect())
            }
            Op::Store => match self.changed_in_place(id, &src[0], read) {
                Some(value) => {
                    self.values.insert(id, value);
                    (vec![value], Vec::new())
                }
                None => (vec![self.keep(id)], Vec::new()),
            },
            _ => (vec![self.keep(id)], Vec::new()),
        };
        let step =
            NodeStep { id, op: node.op.clone(), dtype, src, dst, place: (0, None), shape: node.shape.clone(), widths };
        self.out.steps.push(LoweredStep::Node(step));
        Ok(())
    }

    /// Memory for each result of a scan or call, also for those that nobody reads.
    fn outs(&mut self, id: NodeId, n: usize) -> Vec<(NodeId, ValueId)> {
        self.graph.outs_of(id, n).into_iter().map(|o| (o, self.keep(o))).collect()
    }

    #[inline(never)]
    fn scan(&mut self, id: NodeId, scan: &Scan) -> Result<()> {
        let src = self.graph.nodes[id as usize].src.clone();
        let views: Vec<View> = src.iter().map(|s| self.view(*s)).collect::<Result<_>>()?;
        let n = scan.carries;
        let captured = src.iter().copied().zip(views.iter().cloned()).skip(n + scan.xs).collect();
        let mut body = Lowering::new(self.graph, self.units, scan.body.scope, captured, self.tiles, self.threads);
        let params: Vec<ValueId> = scan
            .body
            .params
            .iter()
            .map(|p| {
                let v = body.add(Storage::Param);
                body.values.insert(*p, v);
                v
            })
            .collect();
        body.carried = params[1..1 + n].to_vec();
        body.schedule(&scan.body.outs)?;
        let outs: Vec<View> = scan.body.outs.iter().map(|o| body.view(*o)).collect::<Result<_>>()?;
        let read: Vec<ValueId> = outs.iter().map(|view| view.value).collect();
        body.out.join_parts(&read);
        body.out.join_squares(self.threads);
        let kept = self.outs(id, scan.body.outs.len());
        let mut carries = Vec::new();
        for i in 0..n {
            // A new carry that is (a view of) a parameter is overwritten while others are still read: stage it.
            let is_param = matches!(body.out.storage[outs[i].value], Storage::Param);
            let unchanged = outs[i] == View::whole(params[1 + i], &outs[i].shape);
            let staged = (is_param && !unchanged).then(|| body.add(Storage::Temp(outs[i].len())));
            carries.push(Carry {
                init: views[i].clone(),
                kept: kept[i].1,
                param: params[1 + i],
                next: outs[i].clone(),
                staged,
                unchanged,
            });
        }
        let xs = (0..scan.xs)
            .map(|i| {
                let row = self.graph.nodes[scan.body.params[1 + n + i] as usize].len();
                (views[n + i].clone(), params[1 + n + i], row)
            })
            .collect();
        let ys = kept[n..].iter().zip(&outs[n..]).map(|(k, o)| (k.1, o.clone())).collect();
        let mut step = ScanStep {
            len: scan.len,
            reverse: scan.reverse,
            until: scan.until,
            carries,
            index: params[0],
            xs,
            ys,
            body: body.out,
        };
        step.elide_carries();
        self.out.steps.push(LoweredStep::Scan(Box::new(step)));
        Ok(())
    }
}

/// The stores that lead from the state of argument `arg` to its new value `node`, or to the first value of a
/// loop that makes it, if nothing else does.
fn replacing(graph: &Graph, mut node: NodeId, arg: usize) -> Vec<NodeId> {
    let mut stores = Vec::new();
    loop {
        match &graph.nodes[node as usize].op {
            Op::Store => stores.push(node),
            Op::Input(i) if *i as usize == arg => return stores,
            Op::Reshape => {}
            Op::Out(i) => match &graph.nodes[graph.nodes[node as usize].src[0] as usize] {
                crate::tensor::Node { op: Op::Scan(scan), src, .. } if (*i as usize) < scan.carries => {
                    node = src[*i as usize];
                    continue;
                }
                _ => return Vec::new(),
            },
            _ => return Vec::new(),
        }
        node = graph.nodes[node as usize].src[0];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Context, DType, Program, Tensor};

    fn steps(f: impl FnOnce(&mut Context)) -> String {
        let trace = Program::trace_of(f).unwrap();
        let lowered = lower(&trace, true, 1).unwrap();
        let name = |s: &LoweredStep| match s {
            LoweredStep::Copy { .. } => "copy".to_owned(),
            LoweredStep::Node(n) => n.op.name().to_owned(),
            LoweredStep::Scan(_) => "scan".to_owned(),
            LoweredStep::Tile(t) => format!("tile{}", t.terminals.len()),
        };
        lowered.steps.iter().map(name).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_layer_and_its_gradients_are_one_tile() {
        let found = steps(|cx| {
            let x = cx.input("x", &[1, 100, 5], DType::F32);
            let w = cx.state("w", &[1, 5, 7], DType::F32);
            let h = x.matmul(w).tanh();
            let loss = h.square().mean(&[1, 2]);
            let g = x.matmul_with(h * (1.0 - h * h), true, false);
            cx.output("loss", loss);
            cx.update("w", w - g * 0.1);
        });
        assert_eq!(found, "tile2 tile0 tile0 copy copy");
    }

    #[test]
    fn gradients_are_summed_where_they_are_joined() {
        let joined = |used_alone: bool| {
            steps(|cx| {
                let x = cx.input("x", &[2, 100, 5], DType::F32);
                let w = cx.state("w", &[2, 5, 7], DType::F32);
                let h = x.matmul(w).tanh();
                let flat = |t: Tensor| t.reshape(&[2, t.len() / 2]);
                let (dw, db) = (x.matmul_with(h, true, false), h.sum_keep(1));
                cx.output("joined", Tensor::concat(&[flat(dw), flat(db)], 1));
                if used_alone {
                    cx.output("bias", db);
                }
            })
        };
        assert_eq!(joined(false), "tile2 copy");
        assert_eq!(joined(true), "tile2 concat copy copy");
    }

    /// A sum is written to its place in the inner list, and that is copied to the outer one.
    #[test]
    fn lists_of_joined_gradients_are_copied_whole() {
        let numbers = |device: &crate::Device| {
            let mut program = crate::Program::new(device, |cx| {
                let x = cx.input("x", &[1, 20, 5], DType::F32);
                let flat = |t: Tensor| t.reshape(&[1, t.len()]);
                let h = x.matmul(Tensor::full(&[1, 5, 7], 0.1)).tanh();
                let inner = Tensor::concat(&[flat(x.matmul_with(h, true, false)), flat(h.sum_keep(1))], 1);
                cx.output("joined", Tensor::concat(&[inner, flat(x.sum_keep(1))], 1));
            })
            .unwrap();
            let values: Vec<f64> = (0..100).map(|i| f64::from(i % 13) * 0.1 - 0.5).collect();
            let x = device.array(&[1, 20, 5], &values).unwrap();
            let out = program.run(&crate::State::new(), &[("x", &x)], &[]).unwrap();
            pollster::block_on(device.read(out.get("joined").unwrap())).unwrap()
        };
        let (got, want) = (numbers(&crate::Device::cpu(1)), numbers(&crate::Device::reference()));
        assert!(got.iter().zip(&want).all(|(a, b)| (a - b).abs() < 1e-4), "{got:?} {want:?}");
    }
}
