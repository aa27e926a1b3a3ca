//! A schedule while it is lowered: which nodes are in memory, and where.

use rustc_hash::{FxHashMap, FxHashSet};

use super::steps::{Lowered, LoweredStep};
use super::updates::Updates;
use super::values::{NO_NODE, Storage, View};
use crate::program::chains::{Units, ValueId, Values};
use crate::program::layout::{Access, access};
use crate::tensor::graph::ROOT;
use crate::tensor::{Graph, NodeId, Op};
use crate::{Error, Result};

/// A schedule that is being lowered: its values so far, and the steps that make them.
pub struct Lowering<'a> {
    /// The traced expressions.
    pub graph: &'a Graph,
    /// The nodes of each scope.
    pub(super) units: &'a Units,
    pub(super) scope: u32,
    pub(super) tiles: bool,
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

    /// Add a step.
    pub fn step(&mut self, step: LoweredStep) {
        self.out.steps.push(step);
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
            Op::Const(bits) => Storage::Static(vec![node.dtype.word(*bits)]),
            Op::Literal(bits) => Storage::Static(bits.iter().map(|b| node.dtype.word(*b)).collect()),
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

impl Values for Lowering<'_> {
    fn is_kept(&self, id: NodeId) -> bool {
        self.values.contains_key(&id)
    }

    fn known(&self, id: NodeId) -> Option<Access> {
        if self.values.contains_key(&id) {
            return Some(Access::whole(id, &self.graph.nodes[id as usize].shape));
        }
        let view = self.captured.get(&id)?;
        Some(Access { root: id, offset: view.offset, strides: view.strides.clone() })
    }

    fn external(&mut self, root: NodeId) -> Option<ValueId> {
        self.root(root).ok()
    }

    fn copy(&mut self, id: NodeId) -> Result<()> {
        let src = self.view(id)?;
        let dst = self.keep(id);
        self.out.steps.push(LoweredStep::Copy { src, dst });
        Ok(())
    }

    fn reserve(&mut self, len: usize) -> ValueId {
        self.add(Storage::Temp(len))
    }

    fn release(&mut self, value: ValueId) {
        self.out.storage[value] = Storage::Temp(0);
    }

    fn register(&mut self, id: NodeId, value: ValueId) {
        self.values.insert(id, value);
        self.out.nodes[value] = id;
    }

    fn used_outside(&self, id: NodeId, members: &FxHashSet<usize>) -> bool {
        self.users.get(&id).is_some_and(|users| users.iter().any(|u| !members.contains(u)))
    }
}
