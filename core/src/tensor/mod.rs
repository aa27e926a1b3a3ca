//! Tensors: handles to the expression graph that is being traced.
//!
//! The primitives are in [`op`]; their checks in `handle`, `view`, `contract` and `control`; everything else is
//! composed of them in `compose`.

mod compose;
mod contract;
mod control;
mod dtype;
pub mod graph;
mod handle;
pub mod op;
mod tree;
mod view;

pub(crate) use control::rows_of;
pub use control::{Loop, call, scan, scan_until};
pub use dtype::DType;
pub use graph::{Graph, Node, NodeId};
pub use handle::Tensor;
pub(crate) use handle::{fail, push};
pub use op::{Binary, Op, Unary};
pub use tree::{Named, Tree};
pub(crate) use tree::{scan_tree, scan_tree_until, tree};
