//! Steps of optimisers and of averages that were found in a schedule.

use rustc_hash::FxHashMap;

use super::simd::update::Rule;
use crate::tensor::NodeId;

/// The steps of a schedule by the kernel at whose turn each is made.
pub type Updates = FxHashMap<usize, FoundStep>;

/// A step of an optimiser or of an average.
#[derive(Clone, Debug)]
pub struct FoundStep {
    /// The formula.
    pub rule: Rule,
    /// The nodes whose rows it reads.
    pub src: Vec<NodeId>,
    /// The results.
    pub dst: Vec<NodeId>,
    /// Numbers that all rows share.
    pub shared: Vec<SharedNumber>,
    /// Old values stay where this is 0.
    pub go: Option<NodeId>,
}

/// A number that all rows share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SharedNumber {
    /// The number 1.
    One,
    /// The number of that node.
    Of(NodeId),
}

impl FoundStep {
    /// The nodes that it reads.
    pub fn reads(&self) -> impl Iterator<Item = NodeId> + '_ {
        let shared = self.shared.iter().filter_map(|x| if let SharedNumber::Of(id) = x { Some(*id) } else { None });
        self.src.iter().copied().chain(shared).chain(self.go)
    }
}
