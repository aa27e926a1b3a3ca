//! The memory of a scope while its chains are formed.

use quickstudy_kernels::program::chains::{Unit, ValueId, Values, readers, reads};
use quickstudy_kernels::program::{Access, is_leaf};
use quickstudy_kernels::tensor::{Graph, NodeId};
use quickstudy_kernels::{Error, Result};
use rustc_hash::{FxHashMap, FxHashSet};

use super::scope::Scope;

/// The values in memory while the chains of a scope are formed. Where they will be is decided later.
pub(super) struct ScopeValues<'a> {
    pub graph: &'a Graph,
    pub scope: u32,
    /// The node of each value.
    pub nodes: Vec<NodeId>,
    pub kept: FxHashMap<NodeId, ValueId>,
    /// Units that read a node, also through views; `usize::MAX` for the scope's results.
    pub users: FxHashMap<NodeId, Vec<usize>>,
}

impl<'a> ScopeValues<'a> {
    pub fn new(scope: &Scope<'a>, kernels: &[Unit], outs: &[NodeId]) -> ScopeValues<'a> {
        let graph = scope.graph;
        let users = readers(graph, reads(graph, kernels, outs));
        ScopeValues { graph, scope: scope.scope, nodes: Vec::new(), kept: FxHashMap::default(), users }
    }

    /// Notes that a node's value is in memory from now on.
    pub fn keep(&mut self, id: NodeId) {
        let value = self.reserve(0);
        self.register(id, value);
    }
}

impl Values for ScopeValues<'_> {
    fn is_kept(&self, id: NodeId) -> bool {
        self.kept.contains_key(&id)
    }

    fn known(&self, id: NodeId) -> Option<Access> {
        self.is_kept(id).then(|| Access::whole(id, &self.graph.nodes[id as usize].shape))
    }

    fn external(&mut self, root: NodeId) -> Option<ValueId> {
        let node = &self.graph.nodes[root as usize];
        if !self.is_kept(root) && (is_leaf(&node.op) || node.scope != self.scope) {
            self.keep(root);
        }
        self.kept.get(&root).copied()
    }

    fn copy(&mut self, _id: NodeId) -> Result<()> {
        Err(Error::Program("chains of a GPU copy nothing".to_owned()))
    }

    fn reserve(&mut self, _len: usize) -> ValueId {
        self.nodes.push(NodeId::MAX);
        self.nodes.len() - 1
    }

    fn release(&mut self, _value: ValueId) {}

    fn register(&mut self, id: NodeId, value: ValueId) {
        self.nodes[value] = id;
        self.kept.insert(id, value);
    }

    fn used_outside(&self, id: NodeId, members: &FxHashSet<usize>) -> bool {
        self.users.get(&id).is_some_and(|users| users.iter().any(|user| !members.contains(user)))
    }
}
