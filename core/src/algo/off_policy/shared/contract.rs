//! The contract between algorithms that learn from a replay buffer and the iteration that they share.

use std::fmt::Debug;

use super::Replay;
use crate::Tensor;
use crate::algo::{Held, Metrics, StateEntry};
use crate::nn::Layout;
use crate::optim::Progress;
use crate::play::Iteration;
use crate::policy::{Acting, LayersConfig, Policy};
use crate::program::Context;
use crate::replay::Batch;
use crate::tensor::{Named, Tree};

/// The occasion of an update: its batch, its rates, its key and its number.
#[derive(Clone, Copy, Debug)]
pub struct Occasion<'a> {
    /// Values of [schedules](OffPolicy::schedules), by the names of their scalars.
    pub rates: &'a Named,
    /// The transitions that were drawn.
    pub batch: &'a Batch,
    /// This update's own key, words `[S, 1]`.
    pub key: [Tensor; 2],
    /// The update's number in its [period](OffPolicy::period), from 0; u32 `[]`.
    pub number: Tensor,
}

/// The result of an update.
#[derive(Clone, Debug)]
pub struct UpdateOutcome<L> {
    /// The learner after the update.
    pub learner: L,
    /// Metrics, which have the same names in each update.
    pub metrics: Metrics,
    /// |y − Q(s, a)| of each transition before the update, `[S, B, 1]`: its priority, if batches are drawn by
    /// priorities.
    pub errors: Tensor,
}

/// Networks and settings of an algorithm that learns from a replay buffer, fitted to an environment, and its update.
pub trait OffPolicy: Clone + Debug + 'static {
    /// Parameters, targets and optimisers: all that updates change. [`tree!`](crate::tree!) makes one of a struct.
    type Learner: Tree;

    /// The settings of playing, remembering and drawing.
    fn replay(&self) -> &Replay;

    /// The settings of the networks.
    fn net(&self) -> &LayersConfig;

    /// The names and places of the slices of θ.
    fn layout(&self) -> &Layout;

    /// The policy.
    fn policy(&self) -> Box<dyn Policy + '_>;

    /// Entries of a key and of all that updates change.
    fn entries(&self) -> Vec<StateEntry>;

    /// Reads the learner from a state.
    fn begin(&self, held: &Held) -> Self::Learner;

    /// The values by which the policy acts. `rates` has the values of [schedules](OffPolicy::schedules) by the names of
    /// their scalars. It has none in a warm-up by even draws, where another policy acts.
    fn acting(&self, learner: &Self::Learner, rates: &Named) -> Acting;

    /// The final values of exploration, such as ε and σ, by which a trained policy explores.
    fn last_rates(&self) -> Named {
        Named::new()
    }

    /// Names and widths of the policy's memory, which lasts to the end of an episode and begins with zeros.
    fn remembered(&self) -> Vec<(&'static str, usize)> {
        Vec::new()
    }

    /// Tells whether the policy explores by [lasting](Policy::lasting) noise, which is drawn anew after each pass's
    /// steps.
    fn noise_lasts(&self) -> bool {
        false
    }

    /// The number of updates after which their kinds repeat: d if only each d-th update changes the policy.
    fn period(&self) -> usize {
        1
    }

    /// Makes an update.
    fn update(&self, cx: &mut Context, learner: Self::Learner, occasion: Occasion<'_>) -> UpdateOutcome<Self::Learner>;

    /// Writes the learner to the state.
    fn keep(&self, it: &mut Iteration<'_>, learner: &Self::Learner);

    /// Values that follow a schedule in the next iteration, as
    /// [`Algorithm::schedules`](crate::algo::Algorithm::schedules) gives them.
    fn schedules(&self, at: Progress) -> Vec<(&'static str, f64)>;
}
