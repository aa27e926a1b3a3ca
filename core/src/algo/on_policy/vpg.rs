//! Vanilla policy gradient: REINFORCE with a baseline.
//!
//! Williams 1992, doi:10.1007/BF00992696; Sutton et al. 2000. The policy makes one step along mean A ln π(a|s), then the value function,
//! which is the baseline, is fitted to the returns by an optimiser of its own, as in garage's VPG. A linear baseline in its place is so too:
//! it judges a rollout as it was fitted to the one before, 0 at first, and is then fitted to this one. With `entropy_method = "max"` each
//! reward has a share of the policy's entropy, and the objective has none. Policies may remember; a linear baseline
//! does not: it sees the observation and the time of each step.
//! Departures from garage, each with its reason:
//!  1. rollouts are of fixed length instead of whole episodes, so that all environments always play; where one is cut off, by its end or by a
//!     time limit, the value of what comes next stands for the rest (arXiv:1712.00378)
//!  2. a fitted baseline predicts nothing below the least or above the largest return that it was fitted to: a rollout need not have the steps
//!     of an episode that the next one has, and cubes of time grow fast
//!  3. a step that is not finite is dropped and counted

#[cfg(test)]
mod tests;

use super::{
    CriticConfig, CriticSteps, FittedBaseline, Networks, OnPolicy, OnPolicyLearner, Parts, PolicyGradient, Predictions,
    Rollout, Sampling, StepRules, Stepping, likelihood_losses,
};
use crate::algo::{ActorCritic, AlgorithmDef, Family, Held, Metrics};
use crate::credit::{Baseline, REGULARISATION};
use crate::learn::{EntropyMethod, Turn};
use crate::optim::{OptimiserConfig, Progress};
use crate::play::Iteration;
use crate::policy::{MemoryConfig, NetConfig};
use crate::settings::{Range, Settings as _};
use crate::{Error, Result};

/// VPG in the register.
pub static VPG: AlgorithmDef = AlgorithmDef::new::<VpgConfig>(
    "vpg",
    "Vanilla policy gradient: REINFORCE with a baseline (doi:10.1007/BF00992696)",
    Family::SingleTask,
    |settings, spec| Ok(Box::new(Vpg::new(&VpgConfig::default().with(settings)?, spec)?)),
);

/// VPG on one environment.
pub type Vpg = OnPolicyLearner<VpgConfig>;

/// The predictions that returns are compared with, and that stand for what comes after a rollout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VpgBaseline {
    /// The value network.
    #[default]
    Network,
    /// [`Baseline::LinearFeature`], fitted to the rollout before.
    LinearFeature,
    /// [`Baseline::LinearTime`].
    LinearTime,
    /// [`Baseline::MultiFeature`].
    MultiFeature,
    /// 0: nothing is subtracted, and what comes after a rollout counts as nothing.
    Zero,
}

crate::words!(VpgBaseline {
    Network = "network",
    LinearFeature = "linear_feature",
    LinearTime = "linear_time",
    MultiFeature = "multi_feature",
    Zero = "zero",
});

impl VpgBaseline {
    /// The baseline that is fitted to each rollout, if it is one.
    #[must_use]
    pub fn fitted(self) -> Option<Baseline> {
        match self {
            VpgBaseline::Network => None,
            VpgBaseline::LinearFeature => Some(Baseline::LinearFeature),
            VpgBaseline::LinearTime => Some(Baseline::LinearTime),
            VpgBaseline::MultiFeature => Some(Baseline::MultiFeature),
            VpgBaseline::Zero => Some(Baseline::Zero),
        }
    }
}

crate::settings! {
    /// Hyper-parameters. The order of the steps is garage's; the numbers are ours.
    pub struct VpgConfig {
        /// predicts returns: the value network, or a baseline fitted to each rollout
        ///
        /// A fitted one predicts by its fit to the rollout before, which should have the same part of episodes: all environments begin
        /// together, so `horizon` is best a multiple of the time limit, or episodes end by chance. It needs `critic = "last"`; the value
        /// network and its settings are then of no use.
        baseline: VpgBaseline = VpgBaseline::Network;
        /// added to the diagonal of a fitted baseline's equations
        ///
        /// Larger: nearer to no baseline. Of use with all but `network` and `zero`.
        baseline_regularisation: f64 = REGULARISATION, Range::Positive;
        /// a term of the objective, or part of each reward
        entropy_method: EntropyMethod = EntropyMethod::Regularized;
        /// The loss and its steps.
        ..gradient: PolicyGradient = PolicyGradient {
            optimiser: OptimiserConfig { learning_rate: 1e-2, ..OptimiserConfig::default() },
            normalise_advantages: true,
            critic: CriticConfig {
                critic: CriticSteps::Last,
                critic_learning_rate: 1e-3,
                log_details: true,
                ..CriticConfig::default()
            },
            ..PolicyGradient::default()
        };
        /// Rollouts and their advantages.
        ..sampling: Sampling = Sampling { horizon: 128, minibatches: 1, gae_lambda: 1.0, ..Sampling::default() };
        /// Policy and value network.
        ..net: NetConfig;
        /// Their memories: each network has its own, before its hidden layers.
        ..memory: MemoryConfig;
    }
}

impl VpgConfig {
    /// Every value on its own and in combination.
    ///
    /// # Errors
    /// [`Error::Config`] with the first setting that cannot work and what to do about it.
    pub fn validate(&self) -> Result<()> {
        self.check()?;
        let PolicyGradient { critic, normalise_advantages, entropy_coef, .. } = self.gradient;
        self.gradient.validate(&self.sampling)?;
        if self.fitted().is_some() && !critic.last() {
            let problem = "a baseline that is fitted to each rollout is so after the policy's step; set it to \"last\", or \
                           baseline to \"network\"";
            return Err(Error::config("critic", problem));
        }
        self.entropy_method.validate(entropy_coef, normalise_advantages, "normalise_advantages to false")?;
        self.net.validate()
    }

    /// Collects a rollout: its rewards have a share of entropy and its values are a baseline's predictions, if this is asked for.
    fn collect<'a>(
        &self,
        nets: &'a ActorCritic,
        it: &mut Iteration<'_>,
        held: &Held,
    ) -> (Rollout<'a>, Option<Predictions>) {
        let mut rollout = Rollout::collect(&self.sampling, nets, it, held);
        if self.entropy_method == EntropyMethod::Max {
            rollout.reward_entropy(self.gradient.entropy_coef);
        }
        let predictions = self.fitted().map(|baseline| baseline.predict(&rollout, held));
        if let Some(predictions) = &predictions {
            rollout.values = predictions.values;
        }
        (rollout, predictions)
    }

    /// The rules of the steps: an entropy that is in the rewards is not in the loss too.
    fn steps(&self) -> StepRules<'_> {
        let steps = self.gradient.steps();
        match self.entropy_method {
            EntropyMethod::Max => StepRules { entropy_coef: 0.0, ..steps },
            EntropyMethod::NoEntropy | EntropyMethod::Regularized => steps,
        }
    }

    /// The baseline that is fitted to each rollout, if it is one.
    fn fitted(&self) -> Option<FittedBaseline> {
        let regularisation = self.baseline_regularisation;
        self.baseline.fitted().map(|baseline| FittedBaseline { baseline, regularisation })
    }
}

impl OnPolicy for VpgConfig {
    fn parts(&self) -> Parts<'_> {
        let PolicyGradient { critic, normalise_advantages, .. } = &self.gradient;
        let baseline = self.fitted();
        Parts {
            sampling: &self.sampling,
            net: &self.net,
            memory: self.memory,
            stepping: if baseline.is_some() { Stepping::Policy } else { critic.stepping() },
            running_advantages: critic.running(*normalise_advantages),
            baseline,
        }
    }

    fn sampling_mut(&mut self) -> &mut Sampling {
        &mut self.sampling
    }

    fn validate(&self) -> Result<()> {
        VpgConfig::validate(self)
    }

    fn schedules(&self, at: Progress) -> Vec<(&'static str, f64)> {
        let mut all = self.gradient.schedules(at);
        all.retain(|(name, _)| self.fitted().is_none() || *name != "train/critic_learning_rate");
        all
    }

    fn iteration(&self, nets: &ActorCritic, it: &mut Iteration<'_>, held: &Held, turn: Option<&dyn Turn>) -> Metrics {
        let critic = &self.gradient.critic;
        let (rollout, predictions) = self.collect(nets, it, held);
        let mut credit = rollout.credit(&rollout.values, critic.target_lambda());
        let explained = rollout.explained_variance(&credit);
        let mut networks = Networks::begin(&rollout, self.steps(), held, turn);
        if critic.first() {
            networks.step_critic(it, &credit);
            credit = rollout.credit(&rollout.values_by(networks.critic()), critic.target_lambda());
        }
        networks.step_policy(it, held, &credit, &|parts, batch, standardised| {
            likelihood_losses(nets, parts, batch, standardised)
        });
        match &predictions {
            Some(predictions) => networks.count_fit(predictions.fit(&rollout, it, held, &credit)),
            None if critic.last() => networks.step_critic(it, &credit),
            None => {}
        }
        networks.keep(it, explained)
    }
}
