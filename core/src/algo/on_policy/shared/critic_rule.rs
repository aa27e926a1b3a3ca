//! The rule and the schedule of a value function that makes steps of its own.

use crate::optim::{Fall, Optimiser, OptimiserConfig, OptimiserKind, Progress, Schedule};
use crate::settings::Range;

/// The rule of a value function's own steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CriticOptimiser {
    /// The policy's own.
    #[default]
    Policy,
    /// [`OptimiserKind::Adam`].
    Adam,
    /// [`OptimiserKind::RmsProp`].
    RmsProp,
    /// [`OptimiserKind::Sgd`].
    Sgd,
}

crate::words!(CriticOptimiser { Policy = "policy", Adam = "adam", RmsProp = "rms_prop", Sgd = "sgd" });

/// The schedule of the size of a value function's own steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CriticSchedule {
    /// The policy's own.
    #[default]
    Policy,
    /// [`Schedule::Constant`].
    Constant,
    /// [`Schedule::Linear`].
    Linear,
    /// [`Schedule::Exponential`].
    Exponential,
    /// [`Schedule::Step`].
    Step,
    /// [`Schedule::Cosine`].
    Cosine,
}

crate::words!(CriticSchedule {
    Policy = "policy",
    Constant = "constant",
    Linear = "linear",
    Exponential = "exponential",
    Step = "step",
    Cosine = "cosine",
});

crate::settings! {
    /// The rule by which a value function makes steps of its own, and the schedule of their size.
    #[derive(Copy)]
    pub struct CriticRule {
        /// first, last: rule of its steps; policy: that of optimiser
        ///
        /// The rule's numbers are those of the policy: `adam_eps`, `rms_decay`, `rms_eps` and `momentum`.
        critic_optimiser: CriticOptimiser = CriticOptimiser::Policy;
        /// linear, cosine: towards 0 at the end of the run; exponential, step: to critic_learning_rate_fall
        ///
        /// With `policy` it is that of `learning_rate_schedule`. For `critic = "first"` and `"last"`.
        critic_learning_rate_schedule: CriticSchedule = CriticSchedule::Policy;
        /// share of its rate that exponential and step end with
        critic_learning_rate_fall: f64 = 0.1, Range::Share;
        /// number of the falls of step
        critic_learning_rate_falls: usize = 3, Range::Count(1, 1 << 20);
    }
}

impl CriticRule {
    /// The rule, beside the settings of the policy's steps.
    pub fn optimiser(&self, policy: &OptimiserConfig) -> Optimiser {
        let optimiser = match self.critic_optimiser {
            CriticOptimiser::Policy => policy.optimiser,
            CriticOptimiser::Adam => OptimiserKind::Adam,
            CriticOptimiser::RmsProp => OptimiserKind::RmsProp,
            CriticOptimiser::Sgd => OptimiserKind::Sgd,
        };
        OptimiserConfig { optimiser, ..*policy }.rule()
    }

    /// The share of its rate that is left in the next iteration.
    pub fn factor(&self, policy: &OptimiserConfig, at: Progress) -> f64 {
        let schedule = match self.critic_learning_rate_schedule {
            CriticSchedule::Policy => return policy.factor(at),
            CriticSchedule::Constant => Schedule::Constant,
            CriticSchedule::Linear => Schedule::Linear,
            CriticSchedule::Exponential => Schedule::Exponential,
            CriticSchedule::Step => Schedule::Step,
            CriticSchedule::Cosine => Schedule::Cosine,
        };
        let fall = Fall { to: self.critic_learning_rate_fall, steps: self.critic_learning_rate_falls as u64 };
        schedule.factor_by(fall, at.share())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optim::{Adam, RateSchedule};

    #[test]
    fn each_word_is_a_rule_and_by_default_all_is_that_of_the_policy() {
        let linear = RateSchedule { learning_rate_schedule: Schedule::Linear, ..RateSchedule::default() };
        let policy = OptimiserConfig { optimiser: OptimiserKind::Sgd, schedule: linear, ..OptimiserConfig::default() };
        let of = |critic_optimiser| CriticRule { critic_optimiser, ..CriticRule::default() }.optimiser(&policy);
        assert_eq!(of(CriticOptimiser::Policy), Optimiser::Momentum(0.9));
        assert_eq!(of(CriticOptimiser::Sgd), Optimiser::Momentum(0.9));
        assert_eq!(of(CriticOptimiser::Adam), Adam { eps: 1e-5, ..Adam::default() }.into());
        let rms = Adam { beta1: 0.0, beta2: 0.99, eps: 1e-5, corrected: false };
        assert_eq!(of(CriticOptimiser::RmsProp), rms.into());

        let half = Progress { iterations: 5, steps: 5, budget: 10 };
        let left = |critic_learning_rate_schedule| {
            let own = CriticRule { critic_learning_rate_schedule, ..CriticRule::default() };
            CriticRule { critic_learning_rate_fall: 0.25, critic_learning_rate_falls: 1, ..own }.factor(&policy, half)
        };
        assert_eq!(
            [CriticSchedule::Policy, CriticSchedule::Constant, CriticSchedule::Linear].map(left),
            [0.5, 1.0, 0.5]
        );
        assert_eq!([CriticSchedule::Exponential, CriticSchedule::Step].map(left), [0.5, 0.25]);
        assert!((left(CriticSchedule::Cosine) - 0.5).abs() < 1e-12);
    }
}
