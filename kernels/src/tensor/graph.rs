//! The expression graph: one arena per trace, nodes hash-consed, in topological order by construction.

use std::cell::RefCell;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rustc_hash::FxHashMap;

use super::dtype::DType;
use super::op::{Body, Call, NodeId, Op, Scan};
use crate::{Error, Result, Shortage};

/// Number that no node has: the result of an operation after the first error of a trace.
pub const POISON: NodeId = u32::MAX;

/// Elements of a tensor at most, so that positions and sizes in bytes can be computed with.
const MOST_ELEMENTS: usize = if usize::BITS > 32 { usize::MAX >> 8 } else { usize::MAX >> 3 };

/// The outermost scope.
pub const ROOT: u32 = 0;

/// One traced operation.
#[derive(Clone, Debug)]
pub struct Node {
    /// The primitive.
    pub op: Op,
    /// Its operands.
    pub src: Vec<NodeId>,
    /// Shape of its result; `[]` for a scan or call, whose results are `Op::Out` nodes.
    pub shape: Vec<usize>,
    /// Data type of its result.
    pub dtype: DType,
    /// The innermost body that it depends on; `ROOT` outside of all.
    pub scope: u32,
    /// The place in the source that asked for it.
    pub origin: Origin,
}

/// Where a node was first asked for.
#[derive(Clone, Copy, Debug)]
pub struct Origin {
    /// Source position.
    pub at: &'static Location<'static>,
    /// True if the node is part of the derivative of the one that was asked for there.
    pub derivative: bool,
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", if self.derivative { "in the derivative of " } else { "" }, self.at)
    }
}

impl Node {
    /// Number of elements.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Always false: sizes are at least 1.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The scope around a scope, and how many there are.
#[derive(Clone, Copy, Debug)]
struct Nesting {
    parent: u32,
    depth: u32,
}

type NodeKey = (Op, Vec<NodeId>, Vec<usize>, DType, u32);

/// A traced expression graph.
#[derive(Debug)]
pub struct Graph {
    /// The nodes, operands before users.
    pub nodes: Vec<Node>,
    scopes: Vec<Nesting>,
    open: Vec<u32>,
    cse: FxHashMap<NodeKey, NodeId>,
    /// The copy of a scan with its carries stacked, so that all orders of derivative share it.
    pub stacked: FxHashMap<NodeId, NodeId>,
    /// The origin of new nodes that are made for a derivative or a copy of another node, if they are: that node's.
    pub blame: Option<Origin>,
    error: Option<Error>,
    id: u32,
}

thread_local! {
    static STACK: RefCell<Vec<Graph>> = const { RefCell::new(Vec::new()) };
}

static NEXT_TRACE: AtomicU32 = AtomicU32::new(1);

impl Graph {
    fn new() -> Self {
        Graph {
            nodes: Vec::new(),
            scopes: vec![Nesting { parent: ROOT, depth: 0 }],
            open: vec![ROOT],
            cse: FxHashMap::default(),
            stacked: FxHashMap::default(),
            blame: None,
            error: None,
            id: NEXT_TRACE.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// Run `f` with a new graph as this thread's current one; returns its result and the graph.
    ///
    /// # Errors
    /// The first error that an operation inside recorded.
    pub fn trace<R>(f: impl FnOnce() -> R) -> Result<(R, Graph)> {
        struct Guard;
        impl Drop for Guard {
            // Also on unwinding, so that a failed test does not leave its graph to the next one of this thread.
            fn drop(&mut self) {
                STACK.with(|s| s.borrow_mut().pop());
            }
        }
        STACK.with(|s| s.borrow_mut().push(Graph::new()));
        let guard = Guard;
        let result = f();
        let mut graph = with(|g| std::mem::replace(g, Graph::new()))
            .ok_or_else(|| Error::Program("the trace was lost".to_owned()))?;
        drop(guard);
        match graph.error.take() {
            Some(e) => Err(e),
            None => Ok((result, graph)),
        }
    }

    /// The number of this trace, carried by its handles.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Record an error unless one is recorded already.
    pub fn fail(&mut self, error: Error) {
        self.error.get_or_insert(error);
    }

    /// Tells whether an error has been recorded.
    pub fn failed(&self) -> bool {
        self.error.is_some()
    }

    /// Forgets the error that a trace met which falls away.
    pub fn forgive(&mut self) {
        self.error = None;
    }

    /// How deep a scope is nested.
    pub fn depth(&self, scope: u32) -> u32 {
        self.scopes[scope as usize].depth
    }

    /// The scope around a scope.
    pub fn parent(&self, scope: u32) -> u32 {
        self.scopes[scope as usize].parent
    }

    /// Tells whether `outer` is `inner` or around it.
    pub fn encloses(&self, outer: u32, mut inner: u32) -> bool {
        while self.depth(inner) > self.depth(outer) {
            inner = self.parent(inner);
        }
        inner == outer
    }

    /// Open the scope of a new body.
    pub fn open_scope(&mut self) -> u32 {
        let parent = self.current_scope();
        let depth = self.depth(parent) + 1;
        self.scopes.push(Nesting { parent, depth });
        let scope = (self.scopes.len() - 1) as u32;
        self.open.push(scope);
        scope
    }

    /// Close the scope opened last.
    pub fn close_scope(&mut self) {
        if self.open.len() > 1 {
            self.open.pop();
        }
    }

    /// The scope opened last.
    pub fn current_scope(&self) -> u32 {
        self.open.last().copied().unwrap_or(ROOT)
    }

    /// Add a node, or find the equal one. Shapes have been checked by the caller.
    ///
    /// Its scope is the innermost of its operands', so loop-invariant operations stay outside of loops by
    /// construction. `at` is the user's source position for messages.
    pub fn push(
        &mut self,
        op: Op,
        src: Vec<NodeId>,
        shape: Vec<usize>,
        dtype: DType,
        at: &'static Location<'static>,
    ) -> NodeId {
        if self.failed() || src.contains(&POISON) {
            return POISON;
        }
        let mut scope = match op {
            Op::Param(_) => self.current_scope(),
            _ => ROOT,
        };
        for &s in &src {
            let inner = self.nodes[s as usize].scope;
            if self.encloses(scope, inner) {
                scope = inner;
            } else if !self.encloses(inner, scope) {
                self.fail_scope(op.name(), at);
                return POISON;
            }
        }
        if !self.encloses(scope, self.current_scope()) {
            self.fail_scope(op.name(), at);
            return POISON;
        }
        if shape.iter().try_fold(1usize, |len, n| len.checked_mul(*n)).is_none_or(|len| len > MOST_ELEMENTS) {
            let bytes = shape.iter().fold(4u64, |bytes, n| bytes.saturating_mul(*n as u64));
            let largest = vec![format!("`{}` {shape:?} of {at}", op.name())];
            self.fail(Error::Memory(Box::new(Shortage { largest, ..Shortage::new(bytes, Some(usize::MAX as u64)) })));
            return POISON;
        }
        let key = (op, src, shape, dtype, scope);
        if let Some(&id) = self.cse.get(&key) {
            return id;
        }
        let id = self.nodes.len() as NodeId;
        let (op, src, shape, dtype, scope) = key.clone();
        let origin = self.blame.unwrap_or(Origin { at, derivative: false });
        self.nodes.push(Node { op, src, shape, dtype, scope, origin });
        self.cse.insert(key, id);
        id
    }

    fn fail_scope(&mut self, op: &'static str, at: &'static Location<'static>) {
        self.fail(Error::Scope {
            op,
            problem: "a tensor made inside a loop body is used outside of it; return it from the body instead"
                .to_owned(),
            at: at.to_string(),
        });
    }

    /// Nodes that `outs` depend on and that belong to `scope` or to bodies inside it, in order. Bodies of scans and
    /// calls among them are followed.
    pub fn reachable(&self, outs: &[NodeId], scope: u32) -> Vec<NodeId> {
        let mut seen = vec![false; self.nodes.len()];
        let mut stack: Vec<NodeId> = outs.to_vec();
        while let Some(id) = stack.pop() {
            let node = &self.nodes[id as usize];
            if seen[id as usize] || !self.encloses(scope, node.scope) {
                continue;
            }
            seen[id as usize] = true;
            stack.extend(&node.src);
            match &node.op {
                Op::Scan(s) => stack.extend(&s.body.outs),
                Op::Call(c) => stack.extend(&c.body.outs),
                _ => {}
            }
        }
        (0..self.nodes.len() as NodeId).filter(|i| seen[*i as usize]).collect()
    }

    /// Tells whether a node depends on constants only.
    pub fn is_constant(&self, id: NodeId) -> bool {
        let node = &self.nodes[id as usize];
        match node.op {
            Op::Const(_) | Op::Literal(_) | Op::Iota { .. } => true,
            Op::Input(_) | Op::Param(_) | Op::Scalar(_) | Op::Scan(_) | Op::Call(_) | Op::Out(_) => false,
            _ => node.src.iter().all(|s| self.is_constant(*s)),
        }
    }

    /// Outer nodes that a body reads, in order: neither constants nor the body's own nodes.
    pub fn captures(&self, body_outs: &[NodeId], scope: u32) -> Vec<NodeId> {
        let mut found = Vec::new();
        let inner = self.reachable(body_outs, scope);
        let mut visit = |id: NodeId| {
            let node = &self.nodes[id as usize];
            let constant = matches!(node.op, Op::Const(_) | Op::Literal(_) | Op::Iota { .. } | Op::Scalar(_));
            if !constant && !self.encloses(scope, node.scope) {
                found.push(id);
            }
        };
        for &id in &inner {
            self.nodes[id as usize].src.iter().copied().for_each(&mut visit);
        }
        body_outs.iter().copied().for_each(&mut visit);
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// A part of a graph as a graph of its own.
pub struct Extract {
    /// It is for planning and not for tracing: nothing can be pushed that would be found again.
    pub graph: Graph,
    /// New numbers of the nodes, of those that were copied.
    pub numbers: Vec<Option<NodeId>>,
}

impl Graph {
    /// Parameters and results of a loop's or a call's body.
    pub fn body(&self, id: NodeId) -> Option<impl Iterator<Item = NodeId> + '_> {
        let body = match &self.nodes[id as usize].op {
            Op::Scan(s) => &s.body,
            Op::Call(c) => &c.body,
            _ => return None,
        };
        Some(body.outs.iter().chain(&body.params).copied())
    }

    /// The results of a loop or a call that has `n`, in order; those that nobody reads may be missing.
    pub fn outs_of(&self, id: NodeId, n: usize) -> Vec<NodeId> {
        let mut found = vec![None; n];
        for (i, node) in self.nodes.iter().enumerate().skip(id as usize + 1) {
            if let Op::Out(k) = node.op
                && node.src[0] == id
            {
                found[k as usize] = Some(i as NodeId);
            }
        }
        found.into_iter().flatten().collect()
    }

    /// A graph of `outs` and all nodes that they need, down to those with a number in `given`: these become arguments
    /// of those numbers. Scopes keep their numbers.
    pub fn extract(&self, outs: &[NodeId], given: &[Option<u32>]) -> Extract {
        let mut seen = vec![false; self.nodes.len()];
        let mut stack = outs.to_vec();
        while let Some(id) = stack.pop() {
            if std::mem::replace(&mut seen[id as usize], true) || given[id as usize].is_some() {
                continue;
            }
            stack.extend(&self.nodes[id as usize].src);
            stack.extend(self.body(id).into_iter().flatten());
        }
        // All results of a loop have nodes, read or not.
        for (id, node) in self.nodes.iter().enumerate() {
            if matches!(node.op, Op::Out(_)) && seen[node.src[0] as usize] {
                seen[id] = true;
            }
        }
        let mut numbers: Vec<Option<NodeId>> = vec![None; self.nodes.len()];
        let mut graph = Graph { scopes: self.scopes.clone(), ..Graph::new() };
        for id in (0..self.nodes.len() as NodeId).filter(|id| seen[*id as usize]) {
            let mut node = self.nodes[id as usize].clone();
            let map = |ids: &[NodeId]| ids.iter().filter_map(|id| numbers[*id as usize]).collect::<Vec<_>>();
            let body = |b: &Body| Body { scope: b.scope, params: map(&b.params), outs: map(&b.outs) };
            if let Some(arg) = given[id as usize] {
                (node.op, node.src) = (Op::Input(arg), Vec::new());
            } else {
                node.op = match &node.op {
                    Op::Scan(s) => Op::Scan(Arc::new(Scan { body: body(&s.body), ..(**s).clone() })),
                    Op::Call(c) => {
                        Op::Call(Arc::new(Call { name: c.name, body: body(&c.body), native: c.native.clone() }))
                    }
                    other => other.clone(),
                };
                node.src = map(&node.src);
            }
            numbers[id as usize] = Some(graph.nodes.len() as NodeId);
            graph.nodes.push(node);
        }
        Extract { graph, numbers }
    }
}

/// Run `f` on this thread's current graph; `None` outside of any trace.
pub fn with<R>(f: impl FnOnce(&mut Graph) -> R) -> Option<R> {
    STACK.with(|s| s.borrow_mut().last_mut().map(f))
}
