//! Deep Q-Networks.
//!
//! Mnih et al. 2013, arXiv:1312.5602, algorithm 1, with the target network of doi:10.1038/nature14236; options are double Q-learning
//! (arXiv:1509.06461) and dueling networks (arXiv:1511.06581).
//! Departures from the papers, each with its reason:
//!  1. Adam in place of RMSprop, and Huber's loss in place of clipped errors, which has the same gradient (as Stable-Baselines3)
//!  2. time-limited episodes bootstrap from their final observation (arXiv:1712.00378)
//!  3. ε falls by iteration and not by step, so that it is one number of a program's run
//!  4. an update with a gradient that is not finite is dropped and counted

mod config;
mod loss;

pub use config::DqnConfig;
pub use loss::{huber, taken, target};

use super::groups::{ParameterGroups, Trained};
use super::off_policy::{OffPolicy, OffPolicyLearner, Replay};
use super::{AlgorithmDef, Family, First, Held, Metrics, StateEntry};
use crate::env::EnvSpec;
use crate::learn::{Descent, Look};
use crate::nn::Layout;
use crate::optim::Decay;
use crate::play::Iteration;
use crate::policy::{Acting, EpsilonGreedy, Policy};
use crate::replay::Transitions;
use crate::settings::Settings as _;
use crate::tensor::{Named, tree};
use crate::{DType, Result, Tensor};

/// DQN in the register.
pub static DQN: AlgorithmDef = AlgorithmDef {
    uses: DqnConfig::uses,
    ..AlgorithmDef::new::<DqnConfig>(
        "dqn",
        "Deep Q-Networks, also double and dueling (arXiv:1312.5602, 1509.06461, 1511.06581)",
        Family::SingleTask,
        |settings, spec| Ok(Box::new(Dqn::of(&DqnConfig::default().with(settings)?, spec)?)),
    )
};

/// DQN on one environment.
pub type Dqn = OffPolicyLearner<DqnNets>;

/// Network and settings of DQN.
#[derive(Clone, Debug)]
pub struct DqnNets {
    config: DqnConfig,
    groups: ParameterGroups,
    policy: EpsilonGreedy,
}

/// All that updates change.
#[derive(Clone, Debug)]
pub struct DqnLearner {
    network: Trained,
    /// Parameters of the target network, `[S, P]`.
    target: Tensor,
    /// Updates since its last step, u32 `[S, 1]`.
    since: Tensor,
}

tree!(DqnLearner: network, target, since);

impl Dqn {
    /// For an environment whose actions are choices.
    ///
    /// # Errors
    /// If a setting is invalid, or does not fit the environment.
    pub fn of(config: &DqnConfig, spec: &EnvSpec) -> Result<Dqn> {
        OffPolicyLearner::new(DqnNets::new(config, spec)?, spec)
    }
}

impl DqnNets {
    /// For an environment whose actions are choices.
    ///
    /// # Errors
    /// If a setting is invalid, or does not fit the environment.
    pub fn new(config: &DqnConfig, spec: &EnvSpec) -> Result<DqnNets> {
        config.validate()?;
        let mut layout = Layout::new();
        let policy = match config.dueling {
            true => EpsilonGreedy::dueling(&mut layout, spec, &config.net)?,
            false => EpsilonGreedy::new(&mut layout, spec, &config.net)?,
        };
        Ok(DqnNets { config: config.clone(), groups: ParameterGroups::new(vec![("adam_scale", layout)]), policy })
    }
}

impl OffPolicy for DqnNets {
    type Learner = DqnLearner;

    fn replay(&self) -> &Replay {
        &self.config.replay
    }

    fn layout(&self) -> &Layout {
        self.groups.whole()
    }

    fn policy(&self) -> Box<dyn Policy + '_> {
        Box::new(self.policy.clone())
    }

    fn entries(&self) -> Vec<StateEntry> {
        let mut entries = self.groups.entries();
        entries.extend([
            StateEntry::new("target", &[self.layout().len()], DType::F32).from(First::Parameters(0)),
            StateEntry::new("updates_since_target", &[1], DType::U32),
        ]);
        entries
    }

    fn begin(&self, held: &Held) -> DqnLearner {
        let network = Trained { theta: held.get("theta"), adam: held.adam() };
        DqnLearner { network, target: held.get("target"), since: held.get("updates_since_target") }
    }

    fn acting(&self, learner: &DqnLearner, rates: &Named) -> Acting {
        let values = rates.find("epsilon").map(|epsilon| ("epsilon", epsilon)).into_iter().collect();
        Acting { parts: self.layout().split(learner.network.theta), values }
    }

    fn update(
        &self,
        learner: DqnLearner,
        rates: &Named,
        batch: &Transitions,
        _key: [Tensor; 2],
    ) -> (DqnLearner, Metrics) {
        let DqnLearner { network, target: targets, since } = learner;
        let Transitions { obs, action, next_obs, reward, terminated } = *batch;
        let values = |parts: &[Tensor], obs: Tensor| self.policy.values(parts, obs);
        let own = self.config.double.then(|| values(&self.layout().split(network.theta), next_obs));
        let ahead = values(&self.layout().split(targets), next_obs);
        let y = target(reward, terminated, ahead, own, self.config.replay.gamma);
        let descent = Descent {
            layout: self.layout(),
            optimiser: self.config.adam.optimiser(),
            learning_rate: rates.get("learning_rate"),
            max_grad_norm: self.config.max_grad_norm,
            sums: &["value_loss", "value_mean", "grad_norm"],
            stop: None,
            first_norm: false,
        };
        let end = descent.run(network.theta, network.adam, 1, &(), |parts, ()| {
            let value = taken(values(parts, obs), action);
            let loss = huber(value, y);
            let mean = value.sum_keep(1).reshape(&[value.size(0), 1]) * (1.0 / value.size(1) as f64);
            Look { loss, seen: [("value_loss", loss), ("value_mean", mean)].into() }
        });
        let (one, interval) = (Tensor::constant_u32(1), self.config.target_update_interval as u32);
        let due = (since + one).lt(Tensor::constant_u32(interval)).not();
        let moved = if self.config.tau == 1.0 { end.theta } else { targets + (end.theta - targets) * self.config.tau };
        let metrics = descent.means(&end).with(end.counts());
        let learner = DqnLearner {
            network: Trained { theta: end.theta, adam: end.adam },
            target: due.select(moved, targets),
            since: due.select(Tensor::constant_u32(0), since + one),
        };
        (learner, metrics)
    }

    fn keep(&self, it: &mut Iteration<'_>, learner: &DqnLearner) {
        self.groups.keep(it, std::slice::from_ref(&learner.network));
        it.update("target", learner.target);
        it.update("updates_since_target", learner.since);
    }

    fn sizes(&self) -> Vec<(&'static str, usize)> {
        let Replay { envs, batch_size, .. } = self.config.replay;
        let hidden = self.config.net.hidden.iter().copied().max().unwrap_or(0);
        vec![("batch_size", batch_size), ("envs", envs), ("hidden", hidden)]
    }

    fn schedules(&self, done: u64, total: u64) -> Vec<(&'static str, f64)> {
        let DqnConfig { epsilon_initial: from, epsilon_final: to, exploration_fraction, .. } = self.config;
        let over = (exploration_fraction * total as f64).round() as u64;
        let epsilon = Decay::Linear { from, to, over }.at(done);
        vec![("train/learning_rate", self.config.adam.rate(done, total)), ("train/epsilon", epsilon)]
    }
}
