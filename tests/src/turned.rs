//! Updates that are broken on purpose.

use quickstudy_core::Tensor;
use quickstudy_core::algo::off_policy::{OffPolicy, Replay};
use quickstudy_core::algo::{Held, Metrics, StateEntry};
use quickstudy_core::nn::Layout;
use quickstudy_core::play::Iteration;
use quickstudy_core::policy::{Acting, Policy};
use quickstudy_core::replay::Transitions;
use quickstudy_core::tensor::Named;

/// An algorithm that makes its steps in the wrong direction.
#[derive(Clone, Debug)]
pub struct Turned<C>(pub C);

impl<C: OffPolicy> OffPolicy for Turned<C> {
    type Learner = C::Learner;

    fn replay(&self) -> &Replay {
        self.0.replay()
    }

    fn layout(&self) -> &Layout {
        self.0.layout()
    }

    fn policy(&self) -> Box<dyn Policy + '_> {
        self.0.policy()
    }

    fn entries(&self) -> Vec<StateEntry> {
        self.0.entries()
    }

    fn begin(&self, held: &Held) -> C::Learner {
        self.0.begin(held)
    }

    fn acting(&self, learner: &C::Learner, rates: &Named) -> Acting {
        self.0.acting(learner, rates)
    }

    fn update(
        &self,
        learner: C::Learner,
        rates: &Named,
        batch: &Transitions,
        key: [Tensor; 2],
    ) -> (C::Learner, Metrics) {
        let turned = rates.clone().and("learning_rate", -rates.get("learning_rate"));
        self.0.update(learner, &turned, batch, key)
    }

    fn keep(&self, it: &mut Iteration<'_>, learner: &C::Learner) {
        self.0.keep(it, learner);
    }

    fn sizes(&self) -> Vec<(&'static str, usize)> {
        self.0.sizes()
    }

    fn schedules(&self, done: u64, total: u64) -> Vec<(&'static str, f64)> {
        self.0.schedules(done, total)
    }
}
