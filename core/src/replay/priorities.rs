//! Priorities of transitions: those with the largest errors are drawn most often.
//!
//! Schaul et al. 2015, arXiv:1511.05952, section 3.3, proportional: P(i) = pᵢ / Σ p with p = (|δ| + ε)^α.

use crate::Tensor;

/// The number of children of each node.
const CHILDREN: usize = SumTree::CHILDREN;
/// ε, by which exactly predicted transitions are drawn as well.
const LEAST: f64 = 1e-6;

/// Sums of priorities in levels: each node is the sum of 32 nodes of the level before. There are so many levels that
/// the largest memory has 32 nodes in the last one, so a memory that grows only gets further nodes behind its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SumTree {
    /// R, the number of priorities.
    pub leaves: usize,
}

impl SumTree {
    /// The number of levels.
    pub const LEVELS: usize = 5;
    /// The number of nodes of a level that one node of the next level sums.
    pub const CHILDREN: usize = 32;

    /// The number of nodes of a level, a multiple of [`CHILDREN`](SumTree::CHILDREN).
    #[must_use]
    pub fn nodes(&self, level: usize) -> usize {
        let mut nodes = self.leaves.next_multiple_of(CHILDREN);
        (0..level).for_each(|_| nodes = (nodes / CHILDREN).next_multiple_of(CHILDREN));
        nodes
    }
}

/// The priorities of a memory, in a trace.
#[derive(Clone, Debug)]
pub struct Priorities {
    /// The nodes of each level of the [tree](SumTree), `[S, nodes, 1]`; bulk entries of the state.
    pub levels: Vec<Tensor>,
    /// The largest priority so far, `[S, 1]`, which new transitions get.
    pub largest: Tensor,
}

crate::tree!(Priorities: levels, largest);

/// The number of the node that sums the node `index`.
fn parent(index: Tensor) -> Tensor {
    index.shr(Tensor::constant_u32(CHILDREN.ilog2()))
}

impl Priorities {
    /// Sets the priorities of rows `index`, u32 `[S, B]`, to `priority: [S, B, 1]`.
    #[track_caller]
    fn with(&self, tree: SumTree, index: Tensor, priority: Tensor) -> Priorities {
        let (mut at, mut value, seeds) = (index, priority, index.size(0));
        let mut levels = Vec::with_capacity(SumTree::LEVELS);
        for (number, level) in self.levels.iter().enumerate() {
            let level = level.store(at, value);
            levels.push(level);
            if number + 1 < SumTree::LEVELS {
                at = parent(at);
                let groups = level.reshape(&[seeds, tree.nodes(number) / CHILDREN, CHILDREN]);
                value = groups.gather(at).sum_keep(2);
            }
        }
        Priorities { levels, largest: self.largest }
    }

    /// Gives the rows `index`, to which transitions were added, the largest priority.
    #[track_caller]
    pub(super) fn added(&self, tree: SumTree, index: Tensor) -> Priorities {
        let priority = self.largest.unsqueeze(2).broadcast_to(&[index.size(0), index.size(1), 1]);
        self.with(tree, index, priority)
    }

    /// Gives the rows `index` priorities by the errors that an update had.
    #[track_caller]
    pub(super) fn changed(&self, tree: SumTree, index: Tensor, errors: Tensor, alpha: f64) -> Priorities {
        let priority = ((errors.abs() + LEAST).log() * alpha).exp().stop_gradient();
        // An error that is not finite makes no priority: the row gets the largest one.
        let priority = priority.non_finite().select(self.largest.unsqueeze(2), priority);
        let largest = self.largest.max(priority.max_keep(1).reshape(&[index.size(0), 1]));
        Priorities { largest, ..self.with(tree, index, priority) }
    }

    /// Draws rows, u32 `[S, B]`, and their weights, `[S, B, 1]`. The k-th of B rows is drawn from the k-th of B equal
    /// parts of the sum of priorities, at the even draw `u: [S, B, 1]` in it. Weights are (`filled` P)^−β over the
    /// largest of them: equation in section 3.4.
    #[track_caller]
    pub(super) fn draw(&self, tree: SumTree, filled: Tensor, u: Tensor, beta: Tensor) -> (Tensor, Tensor) {
        let (seeds, b) = (u.size(0), u.size(1));
        let child = Tensor::iota(&[1, 1, CHILDREN], 2).to_f32();
        let (rows, none) = (Tensor::iota(&[1, b, 1], 1).to_f32(), Tensor::constant_f32(0.0));
        let mut at = Tensor::zeros(&[seeds, b, 1]);
        let (mut rest, mut total, mut priority) = (u, None, u);
        for (number, level) in self.levels.iter().enumerate().rev() {
            let groups = level.reshape(&[seeds, tree.nodes(number) / CHILDREN, CHILDREN]);
            let nodes = groups.gather(at.to_u32().reshape(&[seeds, b]));
            // Running sums: the one of node j is over all nodes up to and with it.
            let (i, j) = (Tensor::iota(&[CHILDREN, CHILDREN], 0), Tensor::iota(&[CHILDREN, CHILDREN], 1));
            let up_to = j.lt(i).not().to_f32().unsqueeze(0).broadcast_to(&[seeds, CHILDREN, CHILDREN]);
            let sums = nodes.matmul(up_to);
            if total.is_none() {
                let sum = sums.slice(2, CHILDREN - 1, CHILDREN);
                rest = (u + rows) * (1.0 / b as f64) * sum;
                total = Some(sum);
            }
            // Rounding may lead beyond the last node that has a priority.
            let last = nodes.gt(none).select(child, none).max_keep(2);
            let chosen = sums.gt(rest).not().to_f32().sum_keep(2).min(last);
            rest = rest - child.lt(chosen).select(nodes, none).sum_keep(2);
            priority = child.eq(chosen).select(nodes, none).sum_keep(2);
            at = at * CHILDREN as f64 + chosen;
        }
        let share = priority / total.unwrap_or(Tensor::poison());
        let beta = if beta.shape().is_empty() { beta } else { beta.unsqueeze(2) };
        let weight = (-((share * filled).log() * beta)).exp();
        (at.to_u32().reshape(&[seeds, b]), (weight / weight.max_keep(1)).stop_gradient())
    }
}
