//! Checks that large entries of a state are touched row by row only.
//!
//! An entry that is [`bulk`](crate::program::Arg::bulk), such as a memory of a million transitions, may be read by
//! `gather` and through slices, and changed by `store`, in loops too. Its old value may not be read once it is
//! changed: all devices then change it where it is. Whatever else would read or write all of it is an error that
//! names the entry, the operation and its place.

use rustc_hash::FxHashMap;

use super::arg::{Arg, Role};
use super::versions::versions;
use super::views::is_view;
use crate::tensor::graph::Node;
use crate::tensor::op::Scan;
use crate::tensor::{Graph, NodeId, Op, Unary};
use crate::{Error, Result};

/// Checks all bulk entries of a program with these arguments and results.
pub(super) fn check(graph: &Graph, args: &[Arg], results: &[(NodeId, usize)]) -> Result<()> {
    let wanted: Vec<NodeId> = results.iter().map(|result| result.0).collect();
    for (number, arg) in args.iter().enumerate().filter(|(_, arg)| arg.bulk) {
        let is_it = |op: &Op| matches!(op, Op::Input(i) if *i as usize == number);
        let Some(first) = graph.nodes.iter().position(|node| is_it(&node.op)) else { continue };
        let used = graph.reachable(&wanted, crate::tensor::graph::ROOT);
        let bulk = Bulk { graph, arg, used, versions: versions(graph, first as NodeId) };
        bulk.operations()?;
        bulk.results(results, number)?;
    }
    Ok(())
}

/// An entry, and the nodes that stand for all of it: for each, which operation made it, and the scope of that.
struct Bulk<'a> {
    graph: &'a Graph,
    arg: &'a Arg,
    /// Nodes that the program's results need, in order.
    used: Vec<NodeId>,
    versions: FxHashMap<NodeId, NodeId>,
}

impl Bulk<'_> {
    fn used(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        self.used.iter().map(|id| (*id, &self.graph.nodes[*id as usize]))
    }

    fn operations(&self) -> Result<()> {
        // For each version, the first operation that changes it.
        let mut changed: FxHashMap<NodeId, NodeId> = FxHashMap::default();
        for (id, node) in self.used() {
            let changes = |k: usize| match &node.op {
                Op::Store => k == 0,
                Op::Scan(scan) => k < scan.carries,
                _ => false,
            };
            for (_, src) in node.src.iter().enumerate().filter(|(k, _)| changes(*k)) {
                if let Some(version) = self.versions.get(src)
                    && changed.insert(*version, id).is_some()
                {
                    return Err(self.read_afterwards(id));
                }
            }
        }
        for (id, node) in self.used() {
            for (k, src) in node.src.iter().enumerate() {
                let Some(version) = self.versions.get(src) else { continue };
                let fits = match &node.op {
                    Op::Reshape | Op::Unary(Unary::Stop) | Op::Out(_) => true,
                    Op::Gather | Op::Store => k == 0,
                    Op::Slice { .. } => node.len() < self.graph.nodes[*src as usize].len(),
                    Op::Scan(scan) => match k {
                        k if k < scan.carries => {
                            self.carried(scan, k, id)?;
                            true
                        }
                        // A stacked input is read row by row by a loop that has as many steps as it has rows.
                        k => k >= scan.carries + scan.xs,
                    },
                    _ => false,
                };
                if !fits {
                    return Err(self.touched(id));
                }
                let reads = !is_view(&node.op) || matches!(node.op, Op::Slice { .. });
                if reads && changed.get(version).is_some_and(|by| *by < id) {
                    return Err(self.read_afterwards(id));
                }
            }
        }
        Ok(())
    }

    /// A carry that begins as the entry ends as what its body made of it.
    fn carried(&self, scan: &Scan, carry: usize, id: NodeId) -> Result<()> {
        let mut node = scan.body.outs[carry];
        loop {
            if node == scan.body.params[1 + carry] {
                return Ok(());
            }
            let next = &self.graph.nodes[node as usize];
            node = match &next.op {
                Op::Store | Op::Reshape | Op::Unary(Unary::Stop) => next.src[0],
                Op::Out(i) => {
                    self.graph.nodes[next.src[0] as usize].src.get(*i as usize).copied().unwrap_or(next.src[0])
                }
                _ => return Err(self.error(id, "ends with another array as this carry; change its rows by `store`")),
            };
        }
    }

    fn results(&self, results: &[(NodeId, usize)], number: usize) -> Result<()> {
        for (node, arg) in results {
            let all = self.versions.contains_key(node);
            if all && *arg != number {
                return Err(self.error(*node, "is to be copied into another result; read rows of it by `gather`"));
            }
            if !all && *arg == number {
                return Err(self.error(*node, "is replaced by another array; change its rows by `store`"));
            }
        }
        Ok(())
    }

    fn touched(&self, id: NodeId) -> Error {
        let numbers: usize = self.arg.shape.iter().product();
        let name = self.graph.nodes[id as usize].op.name();
        self.error(id, &format!("has {numbers} numbers, all of which `{name}` would touch; take rows by `gather`"))
    }

    fn read_afterwards(&self, id: NodeId) -> Error {
        self.error(id, "is read here after it was changed; read it before, or read the new value")
    }

    fn error(&self, id: NodeId, problem: &str) -> Error {
        let (name, at) = (&self.arg.name, self.graph.nodes[id as usize].origin.at);
        let role = if self.arg.role == Role::State { "state" } else { "argument" };
        Error::Program(format!("bulk {role} `{name}` {problem} (at {at})"))
    }
}

#[cfg(test)]
mod tests {
    use crate::tensor::{Loop, scan};
    use crate::{Context, DType, Program, Tensor};

    /// The error of a program on a bulk memory of ten rows; none if it is traced.
    fn problem(f: impl FnOnce(&mut Context, Tensor, [Tensor; 2])) -> Option<String> {
        let trace = Program::trace_of(|cx| {
            let memory = cx.bulk("memory", &[10, 3], DType::F32);
            let at = cx.input("at", &[2], DType::U32);
            let rows = cx.input("rows", &[2, 3], DType::F32);
            f(cx, memory, [at, rows]);
        });
        trace.err().map(|error| error.to_string())
    }

    #[test]
    fn rows_are_read_and_changed() {
        let stored = problem(|cx, memory, [at, rows]| {
            cx.output("old", memory.gather(at));
            cx.output("part", memory.slice(0, 2, 5) * 2.0);
            let memory = memory.store(at, rows).store(at + Tensor::constant_u32(1), rows);
            cx.output("new", memory.gather(at));
            cx.update("memory", memory);
        });
        assert_eq!(stored, None);
        let looped = problem(|cx, memory, [at, rows]| {
            let (carry, ys) = scan(4, false, &[memory, rows], &[], |t, c, _| {
                let read = c[0].gather(at);
                let memory = c[0].store(at + t, c[1] + read);
                Loop { carry: vec![memory, c[1] * 0.5], ys: vec![memory.gather(at)] }
            });
            cx.output("read", ys[0]);
            cx.update("memory", carry[0]);
        });
        assert_eq!(looped, None);
    }

    #[test]
    fn what_touches_all_of_it_is_refused_by_name() {
        let refused = |f: fn(&mut Context, Tensor, [Tensor; 2]), part: &str| {
            let said = problem(f).unwrap_or_default();
            assert!(said.contains("bulk state `memory`") && said.contains(part) && said.contains("bulk.rs:"), "{said}");
        };
        refused(|cx, memory, _| cx.update("memory", memory * 0.5), "all of which `mul` would touch");
        refused(|cx, memory, _| cx.output("sum", memory.sum_keep(0)), "all of which `sum` would touch");
        refused(|cx, memory, _| cx.output("copy", memory), "copied into another result");
        refused(|cx, memory, _| cx.output("turned", memory.transpose()), "`permute`");
        refused(
            |cx, memory, [at, rows]| {
                let new = memory.store(at, rows);
                cx.output("old", memory.gather(at));
                cx.update("memory", new);
            },
            "read here after it was changed",
        );
        refused(
            |cx, memory, [at, rows]| {
                cx.output("one", memory.store(at, rows).gather(at));
                cx.output("other", memory.store(at, rows * 2.0).gather(at));
            },
            "read here after it was changed",
        );
        refused(
            |cx, memory, [at, rows]| {
                let (carry, _) = scan(2, false, &[memory, memory], &[], |_, c, _| Loop {
                    carry: vec![c[0].store(at, rows), c[1].store(at, rows * 2.0)],
                    ys: Vec::new(),
                });
                cx.output("rows", carry[0].gather(at) + carry[1].gather(at));
            },
            "read here after it was changed",
        );
        refused(
            |cx, memory, _| {
                let other = Tensor::zeros(&[10, 3]);
                let (carry, _) = scan(2, false, &[memory], &[], |_, _, _| Loop { carry: vec![other], ys: Vec::new() });
                cx.output("rows", carry[0].slice(0, 0, 1));
            },
            "ends with another array",
        );
        refused(
            |cx, _, [_, rows]| cx.update("memory", rows.broadcast_to(&[2, 3]).pad(0, 4, 4)),
            "replaced by another array",
        );
    }
}
