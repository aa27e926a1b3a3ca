//! Updates that are broken on purpose.

use quickstudy_core::algo::off_policy::{Occasion, OffPolicy, Replay, UpdateOutcome};
use quickstudy_core::algo::{Algorithm, Course, Held, Learned, Metrics, OnPolicy, OnPolicyLearner, StateEntry};
use quickstudy_core::host::FleetSize;
use quickstudy_core::learn::Turn;
use quickstudy_core::nn::Layout;
use quickstudy_core::optim::Progress;
use quickstudy_core::play::Iteration;
use quickstudy_core::policy::{Acting, LayersConfig, Policy};
use quickstudy_core::tensor::Named;
use quickstudy_core::{Context, Tensor};

/// An algorithm that makes its steps in the wrong direction.
#[derive(Clone, Debug)]
pub struct Turned<C>(pub C);

impl<C: OffPolicy> OffPolicy for Turned<C> {
    type Learner = C::Learner;

    fn replay(&self) -> &Replay {
        self.0.replay()
    }

    fn net(&self) -> &LayersConfig {
        self.0.net()
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

    fn remembered(&self) -> Vec<(&'static str, usize)> {
        self.0.remembered()
    }

    fn noise_lasts(&self) -> bool {
        self.0.noise_lasts()
    }

    fn period(&self) -> usize {
        self.0.period()
    }

    fn update(&self, cx: &mut Context, learner: C::Learner, occasion: Occasion<'_>) -> UpdateOutcome<C::Learner> {
        let mut rates = occasion.rates.clone();
        for name in ["learning_rate", "policy_learning_rate"] {
            if let Some(rate) = occasion.rates.find(name) {
                rates = rates.and(name, -rate);
            }
        }
        self.0.update(cx, learner, Occasion { rates: &rates, ..occasion })
    }

    fn keep(&self, it: &mut Iteration<'_>, learner: &C::Learner) {
        self.0.keep(it, learner);
    }

    fn schedules(&self, at: Progress) -> Vec<(&'static str, f64)> {
        self.0.schedules(at)
    }
}

/// An algorithm that learns from its own rollouts, whose policy makes its steps along the gradient of its loss and not
/// against it.
#[derive(Clone, Debug)]
pub struct TurnedPolicy<C>(pub OnPolicyLearner<C>);

/// The opposite direction.
#[derive(Debug)]
struct Opposite;

impl Turn for Opposite {
    fn turn(&self, _: Tensor, gradient: Tensor) -> Tensor {
        -gradient
    }
}

impl<C: OnPolicy> Learned for TurnedPolicy<C> {
    fn policy(&self) -> Box<dyn Policy + '_> {
        self.0.policy()
    }

    fn course(&self) -> Course {
        self.0.course()
    }

    fn start(&self, held: &Held, tasks: usize) -> Acting {
        self.0.start(held, tasks)
    }
}

impl<C: OnPolicy> Algorithm for TurnedPolicy<C> {
    fn layout(&self) -> &Layout {
        self.0.layout()
    }

    fn entries(&self, environment: Option<usize>) -> Vec<StateEntry> {
        self.0.entries(environment)
    }

    fn fleet(&self, seeds: usize) -> FleetSize {
        self.0.fleet(seeds)
    }

    fn batch(&self) -> u64 {
        self.0.batch()
    }

    fn counts_steps(&self) -> bool {
        self.0.counts_steps()
    }

    fn policy_entries(&self) -> Vec<&'static str> {
        self.0.policy_entries()
    }

    fn iteration(&self, it: &mut Iteration<'_>, held: &Held) -> Metrics {
        self.0.iterate(it, held, Some(&Opposite))
    }

    fn schedules(&self, at: Progress) -> Vec<(&'static str, f64)> {
        self.0.schedules(at)
    }
}
