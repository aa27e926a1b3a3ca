//! Tests that chains are formed without a device: its memory is a list of values.

use std::collections::BTreeSet;
use std::panic::Location;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    ChainBudget, ChainInstr, ChainProduct, Formed, RowChain, Scope, Units, ValueId, Values, form, readers, reads,
};
use crate::Result;
use crate::grad::grad;
use crate::program::is_leaf;
use crate::program::layout::Access;
use crate::tensor::graph::ROOT;
use crate::tensor::{DType, Graph, Loop, NodeId, Op, Tensor, push, scan};

const GPU: ChainBudget = ChainBudget { widest: 256, largest_sum: 256 * 256, merged: false };

/// Values with nothing in them, and who reads the nodes.
struct List<'a> {
    graph: &'a Graph,
    lens: Vec<usize>,
    kept: FxHashMap<NodeId, ValueId>,
    readers: FxHashMap<NodeId, Vec<usize>>,
}

impl List<'_> {
    fn new<'a>(scope: &Scope<'a>, outs: &[NodeId]) -> List<'a> {
        let readers = readers(scope.graph, reads(scope.graph, scope.kernels, outs));
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
type Ran = (Option<RowChain<ChainProduct>>, BTreeSet<NodeId>);

fn chains(budget: ChainBudget, graph: &Graph, outs: &[NodeId]) -> Vec<Ran> {
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

/// How often an operation is in a chain, loops left out.
fn count(chain: &RowChain<ChainProduct>, is: impl Fn(&ChainInstr<ChainProduct>) -> bool) -> usize {
    chain.code.iter().filter(|instr| is(instr)).count()
}

/// A step of a policy of one hidden layer on a minibatch, with a clipped gradient.
fn minibatch(width: usize) -> (Vec<NodeId>, Graph) {
    Graph::trace(|| {
        let theta = input(0, &[1, 5 * width + width + width * 2]);
        let (x, gain) = (input(1, &[1, 128, 5]), input(2, &[1, 128, 1]));
        let part = |lo: usize, shape: &[usize]| theta.slice(1, lo, lo + shape.iter().product::<usize>()).reshape(shape);
        let parts = [part(0, &[1, 5, width]), part(5 * width, &[1, 1, width]), part(6 * width, &[1, width, 2])];
        let [w1, b1, w2] = parts;
        let log_p = ((x.matmul(w1) + b1).tanh().matmul(w2)).log_softmax(2).slice(2, 0, 1);
        let loss = -(log_p * gain).mean(&[1, 2]).sum_all();
        let flat = |g: Tensor| g.reshape(&[1, g.len()]);
        let gradient = Tensor::concat(&grad(loss, &parts).into_iter().map(flat).collect::<Vec<_>>(), 1);
        let scale = gradient.square().sum_keep(1).sqrt().max(Tensor::constant_f32(1.0)).recip();
        vec![(theta - gradient * scale * 0.1).raw(), loss.raw()]
    })
    .unwrap()
}

#[test]
fn a_minibatch_is_one_chain_of_rows_up_to_its_sums() {
    let (outs, graph) = minibatch(64);
    let ran = chains(GPU, &graph, &outs);
    let (Some(first), nodes) = &ran[0] else { panic!("the rows are no chain") };
    assert_eq!((first.groups, first.rows), (1, 128));
    // Two layers forwards and one back, two gradients of weights, a bias and the loss.
    let is_product = |instr: &ChainInstr<ChainProduct>| matches!(instr, ChainInstr::Own(_));
    let is_outer = |instr: &ChainInstr<ChainProduct>| matches!(instr, ChainInstr::RowOuter { .. });
    let is_sum = |instr: &ChainInstr<ChainProduct>| matches!(instr, ChainInstr::RowSum { .. });
    assert_eq!([count(first, is_product), count(first, is_outer), count(first, is_sum)], [3, 2, 2]);
    let mut sizes: Vec<usize> = first.terminals.iter().map(|sum| sum.1).collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [1, 64, 128, 320]);
    // Nothing of the rows is left to others, and sums end it: no node of the update is in it.
    assert_eq!(count(first, |instr| matches!(instr, ChainInstr::Store { .. })), 0);
    let update = graph.nodes[outs[0] as usize].shape.clone();
    for id in nodes {
        assert_ne!(graph.nodes[*id as usize].shape, update, "node {id}");
    }
    // Each of the others runs over the parameters, or is less than a row.
    for (chain, _) in &ran[1..] {
        assert!(chain.as_ref().is_none_or(|chain| [1, update[1]].contains(&chain.rows)), "{chain:?}");
    }
}

#[test]
fn what_is_wider_than_the_budget_ends_a_chain() {
    let products = |budget: ChainBudget, width: usize| {
        let (outs, graph) = minibatch(width);
        let ran = chains(budget, &graph, &outs);
        let most =
            ran.iter().flat_map(|(chain, _)| chain).map(|chain| count(chain, |i| matches!(i, ChainInstr::Own(_))));
        (most.max().unwrap(), ran.iter().filter(|(chain, _)| chain.is_none()).count())
    };
    let wide = ChainBudget { widest: 4096, ..GPU };
    let (joined, alone) = products(wide, 300);
    assert_eq!((joined, alone), products(wide, 64));
    assert_eq!((joined, alone), products(GPU, 256));
    // The hidden layer goes through memory, and its products run alone.
    let (joined_of_wide, alone_of_wide) = products(GPU, 300);
    assert!(joined_of_wide < joined && alone_of_wide > alone, "{joined_of_wide} {alone_of_wide}");
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
        let ran = chains(ChainBudget { merged, ..GPU }, &graph, &outs);
        let [(Some(chain), _)] = &ran[..] else { panic!("{ran:?}") };
        assert_eq!((chain.groups, chain.rows, chain.depth), (domain.0, domain.1, 1));
    }
}
