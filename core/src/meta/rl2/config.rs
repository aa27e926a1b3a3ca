//! Settings of RL².

use crate::credit::{Baseline, REGULARISATION};
use crate::learn::{EntropyMethod, Split, nearest_divisor};
use crate::optim::{AdamConfig, TrustRegion};
use crate::policy::RecurrentConfig;
use crate::settings::{Range, Settings};
use crate::{Error, Result};

/// The optimisers of a policy on trials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rl2Variant {
    /// `rl2-ppo`: PPO's clipped objective on minibatches of trials.
    Ppo,
    /// `rl2-trpo`: one trust-region step on all trials, as in the paper.
    Trpo,
}

impl Rl2Variant {
    /// All variants.
    pub const ALL: [Rl2Variant; 2] = [Rl2Variant::Ppo, Rl2Variant::Trpo];

    /// Tells whether the setting `key` has an effect on this variant.
    #[must_use]
    pub fn uses(self, key: &str) -> bool {
        match key {
            "epochs" | "tolerance" | "minibatches" | "minibatch_size" | "clip_eps" | "value_coef" | "max_grad_norm"
            | "target_kl" | "weight_decay" => self == Rl2Variant::Ppo,
            _ if self == Rl2Variant::Trpo => !AdamConfig::declares(key),
            _ => !TrustRegion::declares(key),
        }
    }
}

/// The prediction that is subtracted from returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Critic {
    /// A value read from the policy's memory, learned together with the policy.
    #[default]
    Gru,
    /// A value read from recurrent units of its own, of the same kind as the policy's.
    Separate,
    /// [`Baseline::LinearFeature`], fitted to each batch as in garage.
    LinearFeature,
    /// [`Baseline::LinearTime`], fitted to each batch.
    LinearTime,
    /// [`Baseline::MultiFeature`], fitted to the policy's inputs: observation, last action, its reward
    /// and end, but no time. It cannot tell how much of the trial is left, which is much of a return:
    /// with `gae_lambda` near 0 little is learned.
    MultiFeature,
    /// No prediction: 0.
    Zero,
}

crate::words!(Critic {
    Gru = "gru",
    Separate = "separate",
    LinearFeature = "linear_feature",
    LinearTime = "linear_time",
    MultiFeature = "multi_feature",
    Zero = "zero",
});

impl Critic {
    /// The baseline that is fitted to each batch; none for a learned value.
    pub fn baseline(self) -> Option<Baseline> {
        match self {
            Critic::Gru | Critic::Separate => None,
            Critic::LinearFeature => Some(Baseline::LinearFeature),
            Critic::LinearTime => Some(Baseline::LinearTime),
            Critic::MultiFeature => Some(Baseline::MultiFeature),
            Critic::Zero => Some(Baseline::Zero),
        }
    }

    /// Tells whether it is a value that is learned together with the policy.
    pub fn learned(self) -> bool {
        self.baseline().is_none()
    }
}

/// The steps over which advantages are standardised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AdvantageCentre {
    /// All valid steps of all trials.
    #[default]
    All,
    /// Each step by itself over all trials, in which ended trials count as 0, as in garage.
    Step,
    /// No steps: advantages are not standardised.
    None,
}

crate::words!(AdvantageCentre { All = "all", Step = "step", None = "none" });

crate::settings! {
    /// Hyper-parameters of RL².
    pub struct Rl2Config {
        /// trials per iteration, each on a task of its own (M)
        meta_batch: usize = 64, Range::Count(1, 1 << 20);
        /// episodes of a trial, through which the memory lasts
        episodes: usize = 2, Range::Count(1, 1 << 16);
        /// show an episode's last action, reward and end to the next one
        ///
        /// As in the paper; garage does not.
        carry_over: bool = true;
        /// show the policy that a time limit ended an episode, as a final state is shown
        ///
        /// As in the paper, whose d is 1 at every end.
        show_time_limit: bool = false;
        /// 0: fresh tasks each iteration; otherwise a pool of so many
        train_tasks: usize = 0, Range::Count(0, u64::MAX);
        /// discount of later rewards, also those of later episodes
        ///
        /// It runs on over the ends of episodes.
        gamma: f64 = 0.99, Range::Unit;
        /// λ of the advantages; lower: less variance, more bias
        gae_lambda: f64 = 0.95, Range::Unit;
        /// learned value, from the policy's memory or its own; or a baseline fitted to each batch
        critic: Critic = Critic::Gru;
        /// added to the diagonal of a fitted baseline's equations
        ///
        /// Larger: nearer to no baseline. Of use with all but `gru`, `separate` and `zero`.
        baseline_regularisation: f64 = REGULARISATION, Range::Positive;
        /// standardise over all steps, or at each step over trials
        advantage_centre: AdvantageCentre = AdvantageCentre::All;
        /// shift them so that the smallest is 0
        positive_advantages: bool = false;
        /// a term of the objective, or part of each reward
        entropy_method: EntropyMethod = EntropyMethod::Regularized;
        /// weight of the entropy
        entropy_coef: f64 = 0.01, Range::NotNegative;
        /// ln(1 + e^H) in place of the entropy H
        ///
        /// It is never negative.
        entropy_softplus: bool = false;
        /// −ln π of the action taken in place of the entropy
        entropy_neg_log_prob: bool = false;
        /// passes over the trials
        epochs: usize = 4, Range::Count(1, 1000);
        /// above 0: passes end once one changes the loss over all trials by less
        ///
        /// The loss before is that at the end of the pass before; as garage's `FirstOrderOptimizer`.
        tolerance: f64 = 0.0, Range::NotNegative;
        /// parts of each pass, in trials
        minibatches: usize = 4, Range::Shown(&Range::Count(1, 1 << 20), "divides meta_batch");
        /// trials of a minibatch, the last of which has what is left; above 0: in place of minibatches
        ///
        /// 40 trials in minibatches of 32 are 32 and 8: garage's `batch_size` of `FirstOrderOptimizer`.
        minibatch_size: usize = 0, Range::Count(0, 1 << 20);
        /// clip range of the probability ratio
        clip_eps: f64 = 0.2, Range::Fraction;
        /// weight of the value loss ½ (v − R)²
        value_coef: f64 = 0.5, Range::NotNegative;
        /// longer gradients are scaled down; 0: never
        max_grad_norm: f64 = 0.5, Range::NotNegative;
        /// above 0: stop an iteration's updates at 1.5 times this KL
        target_kl: f64 = 0.0, Range::NotNegative;
        /// λ of ½ λ ‖θ‖² in the loss
        ///
        /// As `weight_decay` of `torch.optim.Adam`: λθ is part of the gradient, and so scaled by Adam.
        weight_decay: f64 = 0.0, Range::NotNegative;
        /// learn ln σ of continuous actions; false: it stays log_std_init
        learn_std: bool = true;
        /// The steps of `rl2-ppo`.
        ..adam: AdamConfig;
        /// The steps of `rl2-trpo`.
        ..trust_region: TrustRegion;
        /// The policy's network.
        ..net: RecurrentConfig;
    }
}

/// The most steps of all trials of one iteration and seed.
pub(super) const MAX_BATCH: usize = 1 << 24;

impl Rl2Config {
    /// The defaults of a variant.
    pub fn of(variant: Rl2Variant) -> Rl2Config {
        let base = Rl2Config::default();
        match variant {
            Rl2Variant::Ppo => base,
            Rl2Variant::Trpo => Rl2Config {
                critic: Critic::LinearFeature,
                entropy_method: EntropyMethod::NoEntropy,
                entropy_coef: 0.0,
                gae_lambda: 0.98,
                ..base
            },
        }
    }

    /// How passes over the trials are split.
    #[must_use]
    pub fn split(&self) -> Split {
        if self.minibatch_size > 0 { Split::Size(self.minibatch_size) } else { Split::Count(self.minibatches) }
    }

    /// T, the steps of a trial in an environment with this time limit.
    pub fn trial_steps(&self, time_limit: usize) -> usize {
        self.episodes.saturating_mul(time_limit)
    }

    /// Environment steps of one iteration and seed, if no episode ends early.
    pub fn batch(&self, time_limit: usize) -> usize {
        self.meta_batch.saturating_mul(self.trial_steps(time_limit))
    }

    /// Checks every value on its own and in combination.
    ///
    /// # Errors
    /// [`Error::Config`] that names the first setting that cannot work, and the remedy.
    pub fn validate(&self, variant: Rl2Variant) -> Result<()> {
        self.check()?;
        self.net.validate()?;
        self.fit_together(variant)
    }

    fn fit_together(&self, variant: Rl2Variant) -> Result<()> {
        let (all, parts) = (self.meta_batch, self.split().count(self.meta_batch));
        if variant == Rl2Variant::Ppo && self.minibatch_size == 0 && !all.is_multiple_of(parts) {
            let near = nearest_divisor(all, parts);
            let problem =
                format!("{parts} must divide meta_batch ({all}); try {near}, or set minibatch_size, which need not");
            return Err(Error::config_instead("minibatches", problem, near));
        }
        if self.epochs * parts > MAX_BATCH {
            let most = MAX_BATCH / parts;
            let problem = format!("epochs × {parts} minibatches is more than {MAX_BATCH}; at most {most} fit");
            return Err(Error::config("epochs", problem));
        }
        if self.tolerance > 0.0 && self.target_kl > 0.0 {
            let problem = "updates end by it or by target_kl, which is above 0 too; set one of them to 0";
            return Err(Error::config("tolerance", problem));
        }
        if variant == Rl2Variant::Trpo && self.critic.learned() {
            let problem =
                "a trust-region step trains no value; take linear_feature, linear_time, multi_feature or zero";
            return Err(Error::config("critic", problem));
        }
        let standardised = self.advantage_centre != AdvantageCentre::None;
        self.entropy_method.validate(self.entropy_coef, standardised, "advantage_centre to \"none\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::MemoryConfig;

    #[test]
    fn defaults_work_and_settings_that_exclude_each_other_are_named() {
        for variant in Rl2Variant::ALL {
            Rl2Config::of(variant).validate(variant).unwrap();
        }
        let base = Rl2Config::of(Rl2Variant::Ppo);
        let no_entropy = Rl2Config { entropy_method: EntropyMethod::NoEntropy, ..base.clone() };
        let max = Rl2Config { entropy_method: EntropyMethod::Max, ..base.clone() };
        for (variant, config, key) in [
            (Rl2Variant::Trpo, base.clone(), "critic"),
            (Rl2Variant::Ppo, no_entropy, "entropy_method"),
            (Rl2Variant::Ppo, max, "advantage_centre"),
            (Rl2Variant::Ppo, Rl2Config { minibatches: 7, ..base.clone() }, "minibatches"),
            (
                Rl2Variant::Ppo,
                Rl2Config {
                    net: RecurrentConfig { memory: MemoryConfig { units: 0, ..base.net.memory }, ..base.net.clone() },
                    ..base.clone()
                },
                "units",
            ),
            (Rl2Variant::Ppo, Rl2Config { gamma: f64::NAN, ..base }, "gamma"),
        ] {
            let message = config.validate(variant).unwrap_err().to_string();
            assert!(message.contains(key), "{key}: {message}");
        }
    }
}
