//! A schedule while it is lowered: which nodes are in memory, and where.

use rustc_hash::{FxHashMap, FxHashSet};

use super::layout::{Access, access};
use super::steps::{Lowered, LoweredStep};
use super::updates::Updates;
use super::values::{NO_NODE, Storage, ValueId, View};
use crate::program::chains::Units;
use crate::program::is_view;
use crate::tensor::graph::ROOT;
use crate::tensor::op::Body;
use crate::tensor::{DType, Graph, NodeId, Op};
use crate::{Error, Result};

/// A schedule that is being lowered: its values so far, and the steps that make them.
pub struct Lowering<'a> {
    /// The traced expressions.
    pub graph: &'a Graph,
    /// The nodes of each scope.
    pub(super) units: &'a Units,
    pub(super) scope: u32,
    pub(super) tiles: bool,
    /// True where a call loops, such as the step of a body: a row of it takes as long as thousands of products, so that
    /// lanes must not be left unused.
    pub(super) calls_loop: bool,
    /// Threads that will share the rows of groups.
    pub threads: usize,
    pub(super) values: FxHashMap<NodeId, ValueId>,
    /// Kernels that read a node; `usize::MAX` for what comes after the schedule.
    pub(super) users: FxHashMap<NodeId, Vec<usize>>,
    /// Nodes of the scopes around, as they lie in the values of the schedule around.
    pub(super) captured: FxHashMap<NodeId, View>,
    /// Parameters of a body that are carries: the loop keeps their memory, and a new carry may be written there.
    pub(super) carried: Vec<ValueId>,
    /// Stores whose results replace a state that they change: they may happen in the state's own memory.
    pub(super) replacing: FxHashSet<NodeId>,
    /// Steps of optimisers by their kernels.
    pub(super) updates: Updates,
    pub(super) out: Lowered,
}

/// Tells whether the body of a call loops.
fn calls_loop(graph: &Graph) -> bool {
    let loops = |body: &Body| {
        let within = graph.reachable(&body.outs, body.scope);
        within.iter().any(|id| matches!(graph.nodes[*id as usize].op, Op::Scan(_)))
    };
    graph.nodes.iter().any(|node| matches!(&node.op, Op::Call(call) if loops(&call.body)))
}

impl<'a> Lowering<'a> {
    pub(super) fn new(
        graph: &'a Graph,
        units: &'a Units,
        scope: u32,
        captured: FxHashMap<NodeId, View>,
        tiles: bool,
        threads: usize,
    ) -> Self {
        Lowering {
            graph,
            units,
            scope,
            tiles,
            calls_loop: calls_loop(graph),
            threads,
            values: FxHashMap::default(),
            users: FxHashMap::default(),
            captured,
            carried: Vec::new(),
            replacing: FxHashSet::default(),
            updates: Updates::default(),
            out: Lowered::default(),
        }
    }

    pub(super) fn add(&mut self, storage: Storage) -> ValueId {
        self.out.storage.push(storage);
        self.out.nodes.push(NO_NODE);
        self.out.storage.len() - 1
    }

    /// Dense memory for a node's elements.
    pub(super) fn keep(&mut self, node: NodeId) -> ValueId {
        let value = self.add(Storage::Temp(self.graph.nodes[node as usize].len()));
        self.register(node, value);
        value
    }

    /// Tells whether a node's value is read by any kernel but these.
    pub fn used_outside(&self, id: NodeId, members: &FxHashSet<usize>) -> bool {
        self.users.get(&id).is_some_and(|users| users.iter().any(|u| !members.contains(u)))
    }

    /// The 32 bits of a node that is one constant.
    pub fn constant(&self, mut id: NodeId) -> Option<u32> {
        loop {
            let node = &self.graph.nodes[id as usize];
            match &node.op {
                Op::Const(bits) => return Some(constant(*bits, node.dtype)),
                op if is_view(op) => id = node.src[0],
                _ => return None,
            }
        }
    }

    /// Tells whether a node is in memory.
    pub fn is_kept(&self, id: NodeId) -> bool {
        self.values.contains_key(&id)
    }

    /// How a node lies in memory, if it is there.
    pub fn known(&self, id: NodeId) -> Option<Access> {
        if self.values.contains_key(&id) {
            return Some(Access::whole(id, &self.graph.nodes[id as usize].shape));
        }
        let view = self.captured.get(&id)?;
        Some(Access { root: id, offset: view.offset, strides: view.strides.clone() })
    }

    /// The value that an access starts from, if it is in memory now.
    pub fn external(&mut self, id: NodeId) -> Option<ValueId> {
        self.root(id).ok()
    }

    /// Keep a node's elements one after the other.
    pub fn copy(&mut self, id: NodeId) -> Result<()> {
        let src = self.view(id)?;
        let dst = self.keep(id);
        self.out.steps.push(LoweredStep::Copy { src, dst });
        Ok(())
    }

    /// Memory that belongs to no node yet.
    pub fn reserve(&mut self, len: usize) -> ValueId {
        self.add(Storage::Temp(len))
    }

    /// Give up reserved memory.
    pub fn release(&mut self, value: ValueId) {
        self.out.storage[value] = Storage::Temp(0);
    }

    /// Reserved memory holds a node from now on.
    pub fn register(&mut self, id: NodeId, value: ValueId) {
        self.values.insert(id, value);
        self.out.nodes[value] = id;
    }

    /// Add a step.
    pub fn step(&mut self, step: LoweredStep) {
        self.out.steps.push(step);
    }

    /// The results of a scan or call, in order.
    pub fn outs_of(&self, id: NodeId, n: usize) -> Vec<NodeId> {
        let mut found = vec![None; n];
        for (i, node) in self.graph.nodes.iter().enumerate().skip(id as usize + 1) {
            if let Op::Out(k) = node.op
                && node.src[0] == id
            {
                found[k as usize] = Some(i as NodeId);
            }
        }
        found.into_iter().flatten().collect()
    }

    /// The view of a node's elements in this schedule's values. Copies what no strides can express.
    #[inline(never)]
    pub(super) fn view(&mut self, node: NodeId) -> Result<View> {
        loop {
            match access(self.graph, node, &|id| self.known(id)) {
                Ok(a) => {
                    let shape = self.graph.nodes[node as usize].shape.clone();
                    let value = self.root(a.root)?;
                    return Ok(View { value, offset: a.offset, shape, strides: a.strides });
                }
                Err(src) => self.copy(src)?,
            }
        }
    }

    /// The value that an access starts from.
    #[inline(never)]
    fn root(&mut self, id: NodeId) -> Result<ValueId> {
        if let Some(v) = self.values.get(&id) {
            return Ok(*v);
        }
        let node = &self.graph.nodes[id as usize];
        if let Some(view) = self.captured.get(&id) {
            let outer = Storage::Outer(view.value);
            // Not in `values`: it is no dense value of this schedule.
            return Ok(match self.out.storage.iter().position(|s| *s == outer) {
                Some(v) => v,
                None => self.add(outer),
            });
        }
        let storage = match &node.op {
            Op::Const(bits) => Storage::Static(vec![constant(*bits, node.dtype)]),
            Op::Literal(bits) => Storage::Static(bits.iter().map(|b| constant(*b, node.dtype)).collect()),
            Op::Iota { axis } => Storage::Iota(node.shape.clone(), *axis),
            Op::Scalar(i) => Storage::Scalar(*i as usize),
            Op::Input(i) if self.scope == ROOT => Storage::Arg(*i as usize),
            op => return Err(Error::Program(format!("node {id} ({}) is used before it is computed", op.name()))),
        };
        let value = self.add(storage);
        self.register(id, value);
        Ok(value)
    }
}

/// The 32 bits of a constant.
pub fn constant(bits: u64, dtype: DType) -> u32 {
    match dtype {
        DType::F32 => (f64::from_bits(bits) as f32).to_bits(),
        DType::U32 => bits as u32,
    }
}
