//! Settings of RL².

use serde::{Deserialize, Serialize};

use crate::dist::LOG_STD_RANGE;
use crate::nn::Reset;
use crate::optim::{Hessian, Schedule, TrustRegion};
use crate::policy::RecurrentConfig;
use crate::sample::Baseline;
use crate::{Error, Result};

/// How trials become a better policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rl2Variant {
    /// `rl2-ppo`: PPO's clipped objective on minibatches of trials.
    Ppo,
    /// `rl2-trpo`: one trust-region step on all trials, as in the paper.
    Trpo,
}

impl Rl2Variant {
    /// Both.
    pub const ALL: [Rl2Variant; 2] = [Rl2Variant::Ppo, Rl2Variant::Trpo];

    /// Name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Rl2Variant::Ppo => "rl2-ppo",
            Rl2Variant::Trpo => "rl2-trpo",
        }
    }

    /// The inverse of [`name`](Rl2Variant::name).
    pub fn parse(name: &str) -> Option<Rl2Variant> {
        Rl2Variant::ALL.into_iter().find(|v| v.name() == name)
    }
}

/// What rewards to come are compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Critic {
    /// A value read from the memory of the policy, learned along with it.
    #[default]
    Gru,
    /// [`Baseline::LinearFeature`], fitted to each batch, as garage does.
    LinearFeature,
    /// [`Baseline::LinearTime`].
    LinearTime,
    /// Nothing.
    Zero,
}

impl Critic {
    /// The baseline that is fitted to each batch, if it is one.
    pub fn baseline(self) -> Option<Baseline> {
        match self {
            Critic::Gru => None,
            Critic::LinearFeature => Some(Baseline::LinearFeature),
            Critic::LinearTime => Some(Baseline::LinearTime),
            Critic::Zero => Some(Baseline::Zero),
        }
    }
}

/// Over what advantages are standardised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AdvantageCentre {
    /// All valid steps of all trials.
    #[default]
    All,
    /// The same step of all trials, where ended ones count as 0: as garage.
    Step,
    /// Not at all.
    None,
}

/// What is done with the entropy of the policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntropyMethod {
    /// Nothing; `entropy_coef` must be 0.
    NoEntropy,
    /// Its mean is part of the objective.
    #[default]
    Regularized,
    /// It is added to each reward, as a constant: the policy looks for states where it can stay undecided.
    /// `advantage_centre` must be `none`.
    Max,
}

/// Hyper-parameters of RL².
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rl2Config {
    /// Trials per iteration, each on a task of its own (M), default 64.
    pub meta_batch: usize,
    /// Episodes of a trial (n), default 2.
    pub episodes: usize,
    /// Show the last action, reward and end of an episode to the first step of the next, as in the paper; garage does
    /// not. Default true.
    pub carry_over: bool,
    /// Training tasks: 0 for fresh ones in each iteration, otherwise a pool of that many. Default 0.
    pub train_tasks: usize,
    /// Discount γ in [0, 1], default 0.99; it runs on over the ends of episodes.
    pub gamma: f64,
    /// λ of the advantages in [0, 1], default 0.95.
    pub gae_lambda: f64,
    /// `gru`, `linear_feature`, `linear_time` or `zero`; default `gru`, for `rl2-trpo` `linear_feature`.
    pub critic: Critic,
    /// `all`, `step` or `none`, default `all`.
    pub advantage_centre: AdvantageCentre,
    /// Shift advantages so that the smallest is 1e-8, default false.
    pub positive_advantages: bool,
    /// `no_entropy`, `regularized` or `max`; default `regularized`, for `rl2-trpo` `no_entropy`.
    pub entropy_method: EntropyMethod,
    /// Weight of the entropy, at least 0, default 0.01.
    pub entropy_coef: f64,
    /// Use ln(1 + e^H) in place of the entropy H, which is never negative; default false.
    pub entropy_softplus: bool,
    /// Use −ln π of the action taken in place of the entropy, default false.
    pub entropy_neg_log_prob: bool,
    /// Adam's step size, above 0, default 1e-3.
    pub learning_rate: f64,
    /// `constant` or `linear` (towards 0 at the end of the run), default `constant`.
    pub learning_rate_schedule: Schedule,
    /// Passes over the trials, default 4.
    pub epochs: usize,
    /// Parts of each pass, in trials; must divide `meta_batch`. Default 4.
    pub minibatches: usize,
    /// Clip range ε, in (0, 1), default 0.2.
    pub clip_eps: f64,
    /// Weight of the value loss ½ (v − R)², at least 0, default 0.5.
    pub value_coef: f64,
    /// Longer gradients are scaled down to this length; 0: never. Default 0.5.
    pub max_grad_norm: f64,
    /// Largest KL of a trust-region step, above 0, default 0.01.
    pub max_kl: f64,
    /// Conjugate-gradient iterations, default 10.
    pub cg_iterations: usize,
    /// Added to the diagonal of the KL's Hessian, at least 0, default 1e-5.
    pub damping: f64,
    /// Most steps of the line search, default 15.
    pub backtracks: usize,
    /// Factor between its steps, in (0, 1), default 0.8.
    pub backtrack_ratio: f64,
    /// `exact`, `finite_differences` or `one_sided_differences`, default `exact`.
    pub hessian: Hessian,
    /// Gated recurrent units (H), default 64.
    pub units: usize,
    /// Where the reset gate acts: `after` or `before` the product, default `after`.
    pub reset: Reset,
    /// Orthogonal initial weights, the policy's last layer of gain 0.01; otherwise Glorot-uniform ones. Default true.
    pub orthogonal_init: bool,
    /// First ln σ of continuous actions, in −20 to 2, default 0.
    pub log_std_init: f64,
    /// Adam's ε, above 0, default 1e-5.
    pub adam_eps: f64,
}

impl Default for Rl2Config {
    fn default() -> Self {
        Rl2Config {
            meta_batch: 64,
            episodes: 2,
            carry_over: true,
            train_tasks: 0,
            gamma: 0.99,
            gae_lambda: 0.95,
            critic: Critic::Gru,
            advantage_centre: AdvantageCentre::All,
            positive_advantages: false,
            entropy_method: EntropyMethod::Regularized,
            entropy_coef: 0.01,
            entropy_softplus: false,
            entropy_neg_log_prob: false,
            learning_rate: 1e-3,
            learning_rate_schedule: Schedule::Constant,
            epochs: 4,
            minibatches: 4,
            clip_eps: 0.2,
            value_coef: 0.5,
            max_grad_norm: 0.5,
            max_kl: 0.01,
            cg_iterations: 10,
            damping: 1e-5,
            backtracks: 15,
            backtrack_ratio: 0.8,
            hessian: Hessian::Exact,
            units: 64,
            reset: Reset::After,
            orthogonal_init: true,
            log_std_init: 0.0,
            adam_eps: 1e-5,
        }
    }
}

/// Most steps of all trials of one iteration and seed.
pub(crate) const MAX_BATCH: usize = 1 << 24;

impl Rl2Config {
    /// Defaults of a variant.
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

    /// What the policy is made of.
    pub fn net(&self) -> RecurrentConfig {
        RecurrentConfig {
            units: self.units,
            reset: self.reset,
            orthogonal_init: self.orthogonal_init,
            log_std_init: self.log_std_init,
        }
    }

    /// The trust region of `rl2-trpo`.
    pub fn trust_region(&self) -> TrustRegion {
        TrustRegion {
            delta: self.max_kl,
            cg_iterations: self.cg_iterations,
            damping: self.damping,
            backtracks: self.backtracks,
            backtrack_ratio: self.backtrack_ratio,
            hessian: self.hessian,
        }
    }

    /// T, the steps of a trial on an environment with this time limit.
    pub fn trial_steps(&self, time_limit: usize) -> usize {
        self.episodes.saturating_mul(time_limit)
    }

    /// Environment steps of one iteration and seed, if no episode ends early.
    pub fn batch(&self, time_limit: usize) -> usize {
        self.meta_batch.saturating_mul(self.trial_steps(time_limit))
    }

    /// Every value on its own and in combination.
    ///
    /// # Errors
    /// [`Error::Config`] with the first setting that cannot work and what to do about it.
    pub fn validate(&self, variant: Rl2Variant) -> Result<()> {
        let number = Error::in_range;
        for (key, value) in
            [("learning_rate", self.learning_rate), ("max_kl", self.max_kl), ("adam_eps", self.adam_eps)]
        {
            number(key, value, value > 0.0, "above 0")?;
        }
        for (key, value) in [("gamma", self.gamma), ("gae_lambda", self.gae_lambda)] {
            number(key, value, (0.0..=1.0).contains(&value), "in 0 to 1")?;
        }
        for (key, value) in [("clip_eps", self.clip_eps), ("backtrack_ratio", self.backtrack_ratio)] {
            number(key, value, value > 0.0 && value < 1.0, "between 0 and 1")?;
        }
        for (key, value) in [
            ("entropy_coef", self.entropy_coef),
            ("value_coef", self.value_coef),
            ("max_grad_norm", self.max_grad_norm),
            ("damping", self.damping),
        ] {
            number(key, value, value >= 0.0, "0 or more")?;
        }
        let (low, high) = LOG_STD_RANGE;
        let inside = (low..=high).contains(&self.log_std_init);
        number("log_std_init", self.log_std_init, inside, &format!("in {low} to {high}"))?;
        for (key, value, most) in [
            ("meta_batch", self.meta_batch, 1 << 20),
            ("episodes", self.episodes, 1 << 16),
            ("epochs", self.epochs, 1000),
            ("minibatches", self.minibatches, 1 << 20),
            ("cg_iterations", self.cg_iterations, 1000),
            ("backtracks", self.backtracks, 1000),
        ] {
            if value == 0 || value > most {
                return Err(Error::config(key, format!("{value} is not in 1 to {most}")));
            }
        }
        self.net().validate()?;
        self.fit_together(variant)
    }

    fn fit_together(&self, variant: Rl2Variant) -> Result<()> {
        if variant == Rl2Variant::Ppo && !self.meta_batch.is_multiple_of(self.minibatches) {
            let problem = format!("{} trials cannot be split into {} equal parts", self.meta_batch, self.minibatches);
            return Err(Error::config("minibatches", problem));
        }
        if self.epochs * self.minibatches > MAX_BATCH {
            return Err(Error::config("epochs", format!("epochs × minibatches is more than {MAX_BATCH}")));
        }
        if variant == Rl2Variant::Trpo && self.critic == Critic::Gru {
            let problem = "a trust-region step trains no value; take linear_feature, linear_time or zero";
            return Err(Error::config("critic", problem));
        }
        match self.entropy_method {
            EntropyMethod::NoEntropy if self.entropy_coef > 0.0 => {
                let problem =
                    format!("no_entropy leaves entropy_coef = {} without a use; set it to 0", self.entropy_coef);
                Err(Error::config("entropy_method", problem))
            }
            EntropyMethod::Max if self.advantage_centre != AdvantageCentre::None => {
                let problem = "max rewards entropy, which standardised advantages would scale away; set \
                               advantage_centre to \"none\"";
                Err(Error::config("entropy_method", problem))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_work_and_settings_that_exclude_each_other_are_named() {
        for variant in Rl2Variant::ALL {
            assert_eq!(Rl2Variant::parse(variant.name()), Some(variant));
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
            (Rl2Variant::Ppo, Rl2Config { units: 0, ..base.clone() }, "units"),
            (Rl2Variant::Ppo, Rl2Config { gamma: f64::NAN, ..base }, "gamma"),
        ] {
            let message = config.validate(variant).unwrap_err().to_string();
            assert!(message.contains(key), "{key}: {message}");
        }
    }
}
