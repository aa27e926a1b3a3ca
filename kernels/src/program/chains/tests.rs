//! Tests that chains are formed without a device: its memory is a list of values.

use std::collections::BTreeSet;
use std::panic::Location;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Budget, Chain, Formed, Product, Scope, Units, ValueId, Values, form};
use crate::Result;
use crate::program::layout::Access;
use crate::program::{is_leaf, is_view};
use crate::tensor::graph::ROOT;
use crate::tensor::{DType, Graph, Loop, NodeId, Op, Tensor, push, scan};

const GPU: Budget = Budget { widest: 256, merged: false };

/// Values with nothing in them, and who reads the nodes.
struct List<'a> {
    graph: &'a Graph,
    lens: Vec<usize>,
    kept: FxHashMap<NodeId, ValueId>,
    readers: FxHashMap<NodeId, Vec<usize>>,
}

impl List<'_> {
    fn new<'a>(scope: &Scope<'a>, outs: &[NodeId]) -> List<'a> {
        let mut readers: FxHashMap<NodeId, Vec<usize>> = FxHashMap::default();
        let mut read = |mut id: NodeId, reader: usize| loop {
            readers.entry(id).or_default().push(reader);
            let node = &scope.graph.nodes[id as usize];
            if !is_view(&node.op) {
                break;
            }
            id = node.src[0];
        };
        outs.iter().for_each(|id| read(*id, usize::MAX));
        for (k, kernel) in scope.kernels.iter().enumerate() {
            let src = kernel.nodes.iter().flat_map(|id| &scope.graph.nodes[*id as usize].src);
            src.for_each(|id| read(*id, k));
        }
        List { graph: scope.graph, lens: Vec::new(), kept: FxHashMap::default(), readers }
    }
}

impl Values for List<'_> {
    fn is_kept(&self, id: NodeId) -> bool {
        self.kept.contains_key(&id)
    }

    fn known(&self, id: NodeId) -> Option<Access> {
        self.is_kept(id).then(|| Access::whole(id, &self.graph.nodes[id as usize].shape))
    }

    fn external(&mut self, root: NodeId) -> Option<ValueId> {
        let node = &self.graph.nodes[root as usize];
        if is_leaf(&node.op) && !self.is_kept(root) {
            let value = self.reserve(node.len());
            self.register(root, value);
        }
        self.kept.get(&root).copied()
    }

    fn copy(&mut self, id: NodeId) -> Result<()> {
        let value = self.reserve(self.graph.nodes[id as usize].len());
        self.register(id, value);
        Ok(())
    }

    fn reserve(&mut self, len: usize) -> ValueId {
        self.lens.push(len);
        self.lens.len() - 1
    }

    fn release(&mut self, value: ValueId) {
        self.lens[value] = 0;
    }

    fn register(&mut self, id: NodeId, value: ValueId) {
        self.kept.insert(id, value);
    }

    fn used_outside(&self, id: NodeId, members: &FxHashSet<usize>) -> bool {
        self.readers.get(&id).is_some_and(|readers| readers.iter().any(|reader| !members.contains(reader)))
    }
}

/// A chain with its nodes, or a node alone.
type Ran = (Option<Chain<Product>>, BTreeSet<NodeId>);

fn chains(budget: Budget, graph: &Graph, outs: &[NodeId]) -> Vec<Ran> {
    let units = Units::new(graph, outs);
    let kernels = units.of(ROOT);
    let scope = Scope { graph, units: &units, kernels, budget };
    let mut list = List::new(&scope, outs);
    let nodes = |taken: &[usize]| taken.iter().flat_map(|k| kernels[*k].nodes.iter().copied()).collect();
    let mut done = vec![false; kernels.len()];
    let mut ran = Vec::new();
    while let Some(first) = done.iter().position(|done| !done) {
        match form(&mut list, &scope, &done, first, true) {
            Formed::Group(chain, taken) => {
                ran.push((Some(chain), nodes(&taken)));
                taken.into_iter().for_each(|k| done[k] = true);
            }
            Formed::Alone(k) => {
                kernels[k].nodes.iter().for_each(|id| list.copy(*id).unwrap());
                ran.push((None, nodes(&[k])));
                done[k] = true;
            }
        }
    }
    ran
}

fn input(i: u32, shape: &[usize]) -> Tensor {
    push(Op::Input(i), &[], shape.to_vec(), DType::F32, Location::caller())
}

#[test]
fn rows_of_groups_are_taken_together_where_the_budget_says_so() {
    let (outs, graph) = Graph::trace(|| {
        let (x, push) = (input(0, &[3, 4, 2]), input(1, &[3, 1, 2]));
        let step = |_: Tensor, c: &[Tensor], _: &[Tensor]| {
            let x = (c[0] * 0.9 + push).tanh();
            Loop { carry: vec![x], ys: vec![x.sum_keep(2)] }
        };
        let (last, rewards) = scan(20, false, &[x], &[], step);
        vec![last[0].raw(), rewards[0].raw()]
    })
    .unwrap();
    for (merged, domain) in [(false, (3, 4)), (true, (1, 12))] {
        let ran = chains(Budget { merged, ..GPU }, &graph, &outs);
        let [(Some(chain), _)] = &ran[..] else { panic!("{ran:?}") };
        assert_eq!((chain.groups, chain.rows, chain.depth), (domain.0, domain.1, 1));
    }
}
