//! Cuts of a trace: places where the host does something that no program can.

use std::ops::Range;

use crate::Tensor;
use crate::tensor::NodeId;

/// Why a trace is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CutKind {
    /// The host is asked.
    Ask,
    /// The ranks that train together join what they have.
    #[cfg(not(target_arch = "wasm32"))]
    Ranks(RankJoin),
    /// A loop with cuts inside begins, of so many passes. It asks the first carries; its answers
    /// are the index (u32 `[]`) and the carries.
    Repeat(usize),
    /// The loop ends. It asks the new carries; its answers are the last ones.
    End,
}

/// The ways in which the ranks that train together join arrays.
#[cfg(not(target_arch = "wasm32"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RankJoin {
    /// Everybody gets the sums over ranks.
    Sum,
    /// Everybody gets the arrays of all ranks, with a leading axis of ranks.
    All,
}

impl CutKind {
    /// Tells whether what is asked leaves the program; at the ends of loops it need not.
    pub fn leaves(self) -> bool {
        !matches!(self, CutKind::Repeat(_) | CutKind::End)
    }
}

/// A place where a trace is cut.
#[derive(Clone, Debug)]
pub(super) struct Cut {
    pub kind: CutKind,
    /// The tensors that are needed there.
    pub asks: Vec<Tensor>,
    /// Numbers of the arguments that hold what there is afterwards.
    pub answers: Range<usize>,
}

/// A cut as running needs it.
#[derive(Debug)]
pub(super) struct CutStep {
    pub kind: CutKind,
    /// The number of asks before it.
    pub number: usize,
    /// Nodes of what is asked.
    pub asks: Vec<NodeId>,
    /// Nodes of the answers.
    pub answers: Vec<NodeId>,
    /// Carries, where a loop begins, that are a large entry of the state throughout.
    pub entries: Vec<Option<String>>,
    /// Carries and their new values, where a loop begins, that are written before the end of the pass.
    pub early: Vec<(usize, NodeId, NodeId)>,
}
