//! Learning of values of actions, from a memory of what was played: what DQN and DQL share.

mod loss;

pub use loss::{huber, target};

use super::rewards::scaled;
use super::target_steps::TargetSteps;
use super::{Occasion, OffPolicy, Replay, UpdateOutcome};
use crate::algo::{First, Held, ParameterGroups, StateEntry, Trained};
use crate::learn::{Descent, Look, PolyakConfig};
use crate::nn::Layout;
use crate::optim::{Adam, Decay, Progress, RateSchedule};
use crate::play::Iteration;
use crate::policy::{Acting, EpsilonGreedy, LayersConfig, Policy};
use crate::program::Context;
use crate::replay::{Transitions, mean};
use crate::settings::Range;
use crate::tensor::Named;
use crate::{DType, Tensor};

crate::settings! {
    /// The settings of exploration, of the target, of the network and of its gradients.
    pub struct QConfig {
        /// probability of an even draw at the start (ε)
        epsilon_initial: f64 = 1.0, Range::Unit;
        /// ε in the end
        epsilon_final: f64 = 0.05, Range::Unit;
        /// updates from one step of the target to the next
        target_update_interval: usize = 2500, Range::Count(1, u32::MAX as u64);
        /// factor of rewards, once
        reward_scale: f64 = 1.0, Range::Positive;
        /// longer gradients are scaled down; 0: never
        max_grad_norm: f64 = 0.0, Range::NotNegative;
        /// The network.
        ..net: LayersConfig;
    }
}

/// How an algorithm learns values of actions: its groups of settings, and what it makes of the others.
#[derive(Clone, Debug)]
pub struct QSettings {
    /// The settings of playing, remembering and drawing.
    pub replay: Replay,
    /// Most steps of an episode.
    pub horizon: usize,
    /// The settings that both algorithms have.
    pub shared: QConfig,
    /// The network's steps.
    pub optimiser: Adam,
    /// The first step size.
    pub learning_rate: f64,
    /// The schedule of the step size.
    pub schedule: RateSchedule,
    /// The schedule of ε.
    pub exploration: Exploration,
    /// The target's steps.
    pub polyak: PolyakConfig,
    /// The network chooses the action whose value the target gives.
    pub double: bool,
}

/// A schedule of ε, the probability of an even draw.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Exploration {
    /// It falls on a line from one value to another, over a share of the run.
    Linear([f64; 2], f64),
    /// By iterations, whatever the run's length.
    By(Decay),
}

impl Exploration {
    /// ε in the next iteration; iterations are planned to make `batch` environment steps.
    #[must_use]
    pub fn at(&self, progress: Progress, batch: u64) -> f64 {
        match *self {
            Exploration::Linear([from, to], share) => {
                // The line ends with an iteration.
                let iterations = (share * (progress.budget / batch.max(1)) as f64).round() as u64;
                Decay::Linear { from, to, over: iterations.saturating_mul(batch) }.at(progress.steps)
            }
            Exploration::By(decay) => decay.at(progress.iterations),
        }
    }

    /// ε at the end of a long run.
    #[must_use]
    pub fn last(&self) -> f64 {
        match *self {
            Exploration::Linear([_, to], _) => to,
            Exploration::By(Decay::Linear { to, .. } | Decay::Geometric { to, .. }) => to,
        }
    }
}

/// Network and settings of an algorithm that learns values of actions.
#[derive(Clone, Debug)]
pub struct QLearning {
    settings: QSettings,
    groups: ParameterGroups,
    policy: EpsilonGreedy,
}

/// All that updates change.
#[derive(Clone, Debug)]
pub struct QLearner {
    network: Trained,
    /// Parameters of the target network, `[S, P]`.
    target: Tensor,
    /// Updates since its last step, u32 `[S, 1]`.
    since: Tensor,
}

crate::tree!(QLearner: network, target, since);

impl QLearning {
    /// On a policy whose slices these are.
    #[must_use]
    pub fn new(settings: QSettings, layout: Layout, policy: EpsilonGreedy) -> QLearning {
        QLearning { settings, groups: ParameterGroups::one(layout), policy }
    }

    /// The target's steps.
    fn target_steps(&self) -> TargetSteps {
        TargetSteps { interval: self.settings.shared.target_update_interval, polyak: self.settings.polyak }
    }
}

impl OffPolicy for QLearning {
    type Learner = QLearner;

    fn replay(&self) -> &Replay {
        &self.settings.replay
    }

    fn net(&self) -> &LayersConfig {
        &self.settings.shared.net
    }

    fn layout(&self) -> &Layout {
        self.groups.layout()
    }

    fn policy(&self) -> Box<dyn Policy + '_> {
        Box::new(self.policy.clone())
    }

    fn entries(&self) -> Vec<StateEntry> {
        let mut entries = self.groups.entries();
        entries.extend([
            StateEntry::new("target", &[self.layout().len()], DType::F32).from(First::Parameters(0)),
            self.target_steps().entry(),
        ]);
        entries
    }

    fn begin(&self, held: &Held) -> QLearner {
        let network = held.trained();
        QLearner { network, target: held.get("target"), since: held.get(TargetSteps::SINCE) }
    }

    fn acting(&self, learner: &QLearner, rates: &Named) -> Acting {
        let values = rates.find("epsilon").map(|epsilon| ("epsilon", epsilon)).into_iter().collect();
        Acting { parts: self.layout().split(learner.network.theta), values }
    }

    fn last_rates(&self) -> Named {
        [("epsilon", Tensor::constant_f32(self.settings.exploration.last()))].into()
    }

    fn update(&self, cx: &mut Context, learner: QLearner, occasion: Occasion<'_>) -> UpdateOutcome<QLearner> {
        let QLearner { network, target: targets, since } = learner;
        let (Occasion { rates, batch, .. }, settings) = (occasion, &self.settings);
        let Transitions { obs, action, next_obs, reward, terminated } = batch.transitions;
        let values = |parts: &[Tensor], obs: Tensor| self.policy.values(parts, obs);
        let own = settings.double.then(|| values(&self.layout().split(network.theta), next_obs));
        let ahead = values(&self.layout().split(targets), next_obs);
        let y = target(scaled(reward, settings.shared.reward_scale), terminated, ahead, own, batch.discount);
        let descent = Descent {
            layout: self.layout(),
            optimiser: settings.optimiser.into(),
            learning_rate: rates.get("learning_rate"),
            max_grad_norm: settings.shared.max_grad_norm,
            sums: &["value_loss", "value_mean", "grad_norm"],
            stop: None,
        };
        let end = descent.run(cx, network, 1, &(), |parts, ()| {
            let value = self.policy.value(parts, obs, action);
            let loss = batch.mean(huber(value, y));
            Look { loss, seen: [("value_loss", loss), ("value_mean", mean(value))].into() }
        });
        let before = self.policy.value(&self.layout().split(network.theta), obs, action);
        let [target, since] = self.target_steps().after(targets, since, end.trained.theta);
        let metrics = descent.means(&end).with(end.counts());
        let learner = QLearner { network: end.trained, target, since };
        UpdateOutcome { learner, metrics, errors: (y - before).abs() }
    }

    fn keep(&self, it: &mut Iteration<'_>, learner: &QLearner) {
        self.groups.keep(it, std::slice::from_ref(&learner.network));
        it.update("target", learner.target);
        it.update(TargetSteps::SINCE, learner.since);
    }

    fn schedules(&self, at: Progress) -> Vec<(&'static str, f64)> {
        let settings = &self.settings;
        let rate = settings.learning_rate * settings.schedule.factor(at);
        vec![
            ("train/learning_rate", rate),
            ("train/epsilon", settings.exploration.at(at, settings.replay.batch(settings.horizon) as u64)),
        ]
    }
}
