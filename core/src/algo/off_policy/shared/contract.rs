//! The contract between algorithms that learn from a replay memory and the iteration that they share.

use std::fmt::Debug;

use super::Replay;
use crate::Tensor;
use crate::algo::{Held, Metrics, StateEntry};
use crate::nn::Layout;
use crate::optim::Progress;
use crate::play::Iteration;
use crate::policy::{Acting, LayersConfig, Policy};
use crate::replay::Batch;
use crate::tensor::{Named, Tree};

/// The occasion of one update.
#[derive(Clone, Copy, Debug)]
pub struct Occasion<'a> {
    /// [Schedules](OffPolicy::schedules) by the names of their scalars.
    pub rates: &'a Named,
    /// Transitions that were drawn.
    pub batch: &'a Batch,
    /// Words `[S, 1]`, this update's own.
    pub key: [Tensor; 2],
    /// The update's number in its [period](OffPolicy::period), from 0; u32 `[]`.
    pub number: Tensor,
}

/// The result of one update.
#[derive(Clone, Debug)]
pub struct UpdateOutcome<L> {
    /// The learner from now on.
    pub learner: L,
    /// Metrics, the same ones of each update.
    pub metrics: Metrics,
    /// |y − Q(s, a)| of each transition before the update, `[S, B, 1]`: its priority, where batches are drawn by these.
    pub errors: Tensor,
}

/// Networks and settings of an algorithm that learns from a replay memory, fitted to an environment, and its update.
pub trait OffPolicy: Clone + Debug + 'static {
    /// Parameters, targets and optimisers: all that updates change. [`tree!`](crate::tree!) makes one of a struct.
    type Learner: Tree;

    /// The settings of playing, remembering and drawing.
    fn replay(&self) -> &Replay;

    /// The settings of the networks.
    fn net(&self) -> &LayersConfig;

    /// Which part of θ is what.
    fn layout(&self) -> &Layout;

    /// Who acts.
    fn policy(&self) -> Box<dyn Policy + '_>;

    /// A key, and all that updates change.
    fn entries(&self) -> Vec<StateEntry>;

    /// The learner as a state holds it.
    fn begin(&self, held: &Held) -> Self::Learner;

    /// The values by which the policy acts. `rates` are [schedules](OffPolicy::schedules) by the names of their scalars; there are none in
    /// a warm-up by even draws, where another policy acts.
    fn acting(&self, learner: &Self::Learner, rates: &Named) -> Acting;

    /// Those of the values by which the policy acts that are no parameters, as they are at the end of training: a trained policy that
    /// explores plays by these.
    fn last_rates(&self) -> Named {
        Named::new()
    }

    /// Names and widths of the policy's memory, which lasts to the end of an episode and begins with zeros.
    fn remembered(&self) -> Vec<(&'static str, usize)> {
        Vec::new()
    }

    /// Tells whether the policy explores by [lasting](Policy::lasting) noise, which is drawn anew after the steps between updates.
    fn noise_lasts(&self) -> bool {
        false
    }

    /// Updates after which their kinds repeat: d where only each d-th changes the policy.
    fn period(&self) -> usize {
        1
    }

    /// One update.
    fn update(&self, learner: Self::Learner, occasion: Occasion<'_>) -> UpdateOutcome<Self::Learner>;

    /// Updates the state.
    fn keep(&self, it: &mut Iteration<'_>, learner: &Self::Learner);

    /// As [`Algorithm::schedules`](crate::algo::Algorithm::schedules).
    fn schedules(&self, at: Progress) -> Vec<(&'static str, f64)>;
}
