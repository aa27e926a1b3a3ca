//! Settings that algorithms share which learn from rollouts by gradients.

use super::{CriticRule, MAX_BATCH, Sampling, Stepping};
use crate::Result;
use crate::algo::{StateEntry, Statistics};
use crate::learn::Split;
use crate::optim::{OptimiserConfig, Progress};
use crate::policy::{MemoryConfig, MemoryKind};
use crate::settings::Range;

/// The order in which policy and value function make their steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CriticSteps {
    /// One loss of both, by one optimiser.
    #[default]
    Joint,
    /// The value function by itself first; advantages are those by its new values (Pyrado's PPO).
    First,
    /// The policy first, then the value function by itself (garage's VPG).
    Last,
}

crate::words!(CriticSteps { Joint = "joint", First = "first", Last = "last" });

/// The returns that the value function is fitted to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ValueTargets {
    /// Advantage + old value, by the λ of the advantages.
    #[default]
    Gae,
    /// TD(λ) returns by a λ of their own, `value_lambda`.
    TdLambda,
    /// Discounted sums of the rewards; where a rollout or a time limit cuts them off, the value of what comes next
    /// stands for the rest.
    Empirical,
}

crate::words!(ValueTargets { Gae = "gae", TdLambda = "td_lambda", Empirical = "empirical" });

/// Over what advantages are standardised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AdvantageScope {
    /// Each minibatch.
    #[default]
    Minibatch,
    /// The whole rollout.
    Rollout,
    /// All rollouts so far, by a running mean and deviation (Welford's).
    Running,
}

crate::words!(AdvantageScope { Minibatch = "minibatch", Rollout = "rollout", Running = "running" });

crate::settings! {
    /// How the value function learns, and how advantages are scaled.
    #[derive(Copy)]
    pub struct CriticConfig {
        /// one loss with the policy, or steps of its own before or after
        critic: CriticSteps = CriticSteps::Joint;
        /// first, last: its step size; 0: the policy's
        critic_learning_rate: f64 = 0.0, Range::NotNegative;
        /// first, last: passes over each rollout
        critic_epochs: usize = 10, Range::Count(1, MAX_BATCH as u64);
        /// first, last: steps of its minibatches, as minibatch_size; 0: the policy's minibatches
        critic_minibatch_size: usize = 0, Range::Count(0, MAX_BATCH as u64);
        /// The rule of its steps, and their schedule.
        ..rule: CriticRule;
        /// first, last: longer gradients are scaled down; 0: never
        critic_max_grad_norm: f64 = 0.0, Range::NotNegative;
        /// what values are fitted to
        value_targets: ValueTargets = ValueTargets::Gae;
        /// λ of the targets td_lambda
        value_lambda: f64 = 0.95, Range::Unit;
        /// over what normalise_advantages standardises
        advantage_scope: AdvantageScope = AdvantageScope::Minibatch;
        /// also log the loss before and after, σ, and the gradients' norms of both networks
        log_details: bool = false;
    }
}

crate::settings! {
    /// Settings of algorithms that follow the gradient of the return.
    #[derive(Copy)]
    pub struct PolicyGradient {
        /// The steps of both networks.
        ..optimiser: OptimiserConfig;
        /// weight of the entropy bonus
        entropy_coef: f64 = 0.0, Range::NotNegative;
        /// weight of the value loss ½ (v − R)²
        ///
        /// Stable-Baselines3's `vf_coef` weighs (v − R)², so it is half of this.
        value_coef: f64 = 1.0, Range::NotNegative;
        /// longer gradients are scaled down; 0: never
        max_grad_norm: f64 = 0.5, Range::NotNegative;
        /// subtract their mean, divide by their deviation
        normalise_advantages: bool = false;
        /// The value function.
        ..critic: CriticConfig = CriticConfig { log_details: true, ..CriticConfig::default() };
    }
}

impl PolicyGradient {
    /// Checks values in combination with the rollouts, of which a single pass is made.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) with the first setting that cannot work and what to do about it.
    pub fn validate(&self, sampling: &Sampling, memory: &MemoryConfig) -> Result<()> {
        self.critic.validate((sampling, memory), 1, self.normalise_advantages)
    }

    /// Values that follow a schedule, by the names of their metrics.
    pub fn schedules(&self, at: Progress) -> Vec<(&'static str, f64)> {
        let rate = ("train/learning_rate", self.optimiser.rate(at));
        std::iter::once(rate).chain(self.critic.schedule(&self.optimiser, at)).collect()
    }
}

impl CriticConfig {
    /// The parameters that make their steps together.
    pub fn stepping(&self) -> Stepping {
        if self.apart() { Stepping::Apart } else { Stepping::Together }
    }

    /// The entries of the state: statistics of the advantages of all rollouts so far, if these standardise them.
    pub fn entries(&self, normalise_advantages: bool) -> Vec<StateEntry> {
        match normalise_advantages && self.advantage_scope == AdvantageScope::Running {
            true => Statistics::ADVANTAGES.entries(1).into(),
            false => Vec::new(),
        }
    }

    /// Tells whether the value function steps by itself before the policy.
    pub fn first(&self) -> bool {
        self.critic == CriticSteps::First
    }

    /// Tells whether the value function steps by itself after the policy.
    pub fn last(&self) -> bool {
        self.critic == CriticSteps::Last
    }

    /// The λ of the value function's targets, if it is not that of the advantages.
    pub fn target_lambda(&self) -> Option<f64> {
        match self.value_targets {
            ValueTargets::Gae => None,
            ValueTargets::TdLambda => Some(self.value_lambda),
            ValueTargets::Empirical => Some(1.0),
        }
    }

    /// Tells whether the value function makes steps of its own.
    pub fn apart(&self) -> bool {
        self.critic != CriticSteps::Joint
    }

    /// Its step size, where it makes steps of its own, beside the policy's in the next iteration.
    pub fn rate(&self, policy: &OptimiserConfig, at: Progress) -> f64 {
        let rate = if self.critic_learning_rate > 0.0 { self.critic_learning_rate } else { policy.learning_rate };
        rate * self.rule.factor(policy, at)
    }

    /// How its own passes over a rollout are split.
    pub fn split(&self, sampling: &Sampling) -> Split {
        if self.critic_minibatch_size > 0 { Split::Size(self.critic_minibatch_size) } else { sampling.split() }
    }

    /// The step size of the value function as a value that follows a schedule, if it steps apart.
    pub fn schedule(&self, policy: &OptimiserConfig, at: Progress) -> Option<(&'static str, f64)> {
        self.apart().then(|| ("train/critic_learning_rate", self.rate(policy, at)))
    }

    /// Checks values in combination with the rollouts, passes over them and whether advantages are standardised.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) with the first setting that cannot work and what to do about it.
    pub fn validate(
        &self,
        (sampling, memory): (&Sampling, &MemoryConfig),
        epochs: usize,
        normalise_advantages: bool,
    ) -> Result<()> {
        sampling.validate("epochs", epochs)?;
        if self.apart() {
            sampling.validate_passes("critic_epochs", self.critic_epochs, self.split(sampling))?;
        }
        if normalise_advantages && self.advantage_scope == AdvantageScope::Minibatch {
            sampling.validate_minibatches(memory.cell != MemoryKind::None)?;
        }
        sampling.validate_standardised(normalise_advantages)
    }
}
