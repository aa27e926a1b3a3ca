//! Vanilla policy gradient: REINFORCE with a baseline.
//!
//! Williams 1992, doi:10.1007/BF00992696; Sutton et al. 2000. The policy makes one step along mean A ln π(a|s), then
//! the value function, which is the baseline, is fitted to the returns by an optimiser of its own, as in garage's VPG.
//! A linear baseline is fitted after the policy's step as well: it predicts by its fit to the previous rollout, and 0
//! at first. With `entropy_method = "max"` each reward includes a share of the policy's entropy, and the objective does
//! not. Policies may remember; a linear baseline does not: it sees the observation and the time of each step.
//! Departures from garage, each with its reason:
//!  1. rollouts are of fixed length instead of whole episodes, so that all environments always play; where the
//!     rollout's end or a time limit cuts an episode off, the value of the next observation stands for the rest
//!     (arXiv:1712.00378)
//!  2. a fitted baseline predicts nothing below the least or above the largest return that it was fitted to: a rollout
//!     need not contain the steps of an episode that the next one has, and cubes of time grow fast
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
pub static VPG: AlgorithmDef = AlgorithmDef {
    presets: crate::algo::presets!("vpg/presets.toml"),
    ..AlgorithmDef::new::<VpgConfig>(
        "vpg",
        "Vanilla policy gradient: REINFORCE with a baseline (doi:10.1007/BF00992696)",
        Family::SingleTask,
        |settings, spec| Ok(Box::new(Vpg::new(&VpgConfig::default().with(settings)?, spec)?)),
    )
};

/// VPG on an environment.
pub type Vpg = OnPolicyLearner<VpgConfig>;

/// The baselines: predictions that are subtracted from returns, and that stand for the returns after a rollout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VpgBaseline {
    /// The value network.
    #[default]
    Network,
    /// [`Baseline::LinearFeature`], fitted to the previous rollout.
    LinearFeature,
    /// [`Baseline::LinearTime`], fitted to the previous rollout.
    LinearTime,
    /// [`Baseline::MultiFeature`], fitted to the previous rollout.
    MultiFeature,
    /// 0: nothing is subtracted, and returns after a rollout count as 0.
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
    /// The kind of baseline that is fitted to each rollout; none for the value network.
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
        /// A fitted baseline predicts by its fit to the previous rollout, which should cover the same part of episodes:
        /// all environments begin together, so `horizon` is best a multiple of the time limit, unless episodes end by
        /// chance. It needs `critic = "last"`; the value network and its settings are then unused.
        baseline: VpgBaseline = VpgBaseline::Network;
        /// added to the diagonal of a fitted baseline's equations
        ///
        /// A larger number is nearer to no baseline. It is used with all but `network` and `zero`.
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
    /// Checks every setting, alone and in combination.
    ///
    /// # Errors
    /// [`Error::Config`] with the first setting that cannot work and what to do about it.
    pub fn validate(&self) -> Result<()> {
        self.check()?;
        let PolicyGradient { critic, normalise_advantages, entropy_coef, .. } = self.gradient;
        self.gradient.validate(&self.sampling, &self.memory)?;
        if self.fitted().is_some() && !critic.last() {
            let problem = "a baseline that is fitted to each rollout is so after the policy's step; set it to \
                           \"last\", or \
                           baseline to \"network\"";
            return Err(Error::config("critic", problem));
        }
        self.entropy_method.validate(entropy_coef, normalise_advantages, "normalise_advantages to false")?;
        self.net.validate()
    }

    /// Collects a rollout. If the settings ask for it, its rewards include a share of entropy, and its values are a
    /// baseline's predictions.
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

    /// The rules of the steps. An entropy that is part of the rewards is not part of the loss as well.
    fn steps(&self) -> StepRules<'_> {
        let steps = self.gradient.steps();
        match self.entropy_method {
            EntropyMethod::Max => StepRules { entropy_coef: 0.0, ..steps },
            EntropyMethod::NoEntropy | EntropyMethod::Regularized => steps,
        }
    }

    /// The baseline that is fitted to each rollout, if there is one.
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
            entries: critic.entries(*normalise_advantages),
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
