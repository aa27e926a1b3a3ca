//! Settings of MAML's family.

use serde::{Deserialize, Serialize};

use super::Surrogate;
use crate::nn::Activation;
use crate::optim::{Hessian, Schedule, TrustRegion};
use crate::policy::NetConfig;
use crate::sample::{Baseline, Processor};
use crate::task::TaskSource;
use crate::{Error, Result};

/// The algorithms of the family: how the shared parameters are optimised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// `promp`: Rothfuss et al. 2019, arXiv:1810.06784.
    ProMp,
    /// `maml-ppo`: PPO's clipped outer objective without the KL penalty of ProMP.
    MamlPpo,
    /// `maml-vpg`: policy gradient outside and inside, Finn et al. 2017, arXiv:1703.03400.
    MamlVpg,
    /// `maml-trpo`: trust-region outer steps, as in the MAML paper's experiments.
    MamlTrpo,
    /// `e-maml`: trust-region steps with the exploration term of Stadie et al. 2018, arXiv:1803.01118.
    EMaml,
    /// `dice-maml`: DICE objectives, Foerster et al. 2018, arXiv:1802.05098.
    DiceMaml,
}

impl Variant {
    /// All of them.
    pub const ALL: [Variant; 6] =
        [Variant::ProMp, Variant::MamlPpo, Variant::MamlVpg, Variant::MamlTrpo, Variant::EMaml, Variant::DiceMaml];

    /// Name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Variant::ProMp => "promp",
            Variant::MamlPpo => "maml-ppo",
            Variant::MamlVpg => "maml-vpg",
            Variant::MamlTrpo => "maml-trpo",
            Variant::EMaml => "e-maml",
            Variant::DiceMaml => "dice-maml",
        }
    }

    /// The inverse of [`name`](Variant::name).
    pub fn parse(name: &str) -> Option<Variant> {
        Variant::ALL.into_iter().find(|v| v.name() == name)
    }

    /// Whether the outer steps are those of a trust region.
    pub fn trust_region(self) -> bool {
        matches!(self, Variant::MamlTrpo | Variant::EMaml)
    }
}

/// Hyper-parameters. Defaults are those of ProMP's run scripts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MamlConfig {
    /// Tasks per iteration (M), default 40.
    pub meta_batch: usize,
    /// Rollouts per task and phase (N), default 20.
    pub rollouts: usize,
    /// Steps of a rollout (T); 0: the environment's time limit. Default 0.
    pub horizon: usize,
    /// Training tasks: 0 for fresh ones in each iteration, otherwise that many, drawn once and all played equally often.
    /// Default 0.
    pub train_tasks: usize,
    /// Inner gradient steps, default 1.
    pub inner_steps: usize,
    /// Step size α of inner steps, above 0, default 0.1.
    pub inner_lr: f64,
    /// Learn one inner step size per parameter (arXiv:1707.09835), starting from `inner_lr`. Default false.
    pub learn_inner_lr: bool,
    /// Take inner gradients as constants, default false.
    pub first_order: bool,
    /// `likelihood_ratio` or `log_likelihood`, default `likelihood_ratio` (`log_likelihood` for `maml-vpg`, `maml-trpo` and `e-maml`).
    /// `dice-maml` has `dice`, and no other algorithm takes it.
    pub inner_loss: Surrogate,
    /// Discount γ in [0, 1], default 0.99.
    pub gamma: f64,
    /// λ of the advantages in [0, 1], default 1.
    pub gae_lambda: f64,
    /// `linear_feature`, `linear_time`, `multi_feature` or `zero`, default `linear_feature`.
    pub baseline: Baseline,
    /// Standardise the advantages of each task, default true.
    pub normalise_advantages: bool,
    /// Shift the advantages of each task to be positive, default false.
    pub positive_advantages: bool,
    /// Adam step size of outer steps, above 0, default 1e-3.
    pub learning_rate: f64,
    /// `constant` or `linear` (towards 0 at the end of the run), default `constant`.
    pub learning_rate_schedule: Schedule,
    /// Outer steps on each batch, default 5.
    pub outer_steps: usize,
    /// Clip range ε of the outer objective, in (0, 1), default 0.3.
    pub clip_eps: f64,
    /// Weight η of the KL between the policies that collected and the current ones before each inner step, at least 0,
    /// default 5e-4.
    pub inner_kl_coef: f64,
    /// If above 0: after each iteration, a step's η is halved where its KL is below this over 1.5, and doubled where it is
    /// above 1.5 times this, starting from `inner_kl_coef`. Default 0 (η stays).
    pub target_inner_kl: f64,
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
    /// Longest outer gradient; 0 for any. Default 0.
    pub max_grad_norm: f64,
    /// Widths of the hidden layers, default `[64, 64]`.
    pub hidden: Vec<usize>,
    /// `tanh` or `relu`, default `tanh`.
    pub activation: Activation,
    /// Orthogonal initial weights; false: uniform as in PyTorch. Default true.
    pub orthogonal_init: bool,
    /// Initial ln σ of continuous actions, default 0.
    pub log_std_init: f64,
    /// Adam's ε, above 0, default 1e-8.
    pub adam_eps: f64,
}

impl Default for MamlConfig {
    fn default() -> Self {
        MamlConfig {
            meta_batch: 40,
            rollouts: 20,
            horizon: 0,
            train_tasks: 0,
            inner_steps: 1,
            inner_lr: 0.1,
            learn_inner_lr: false,
            first_order: false,
            inner_loss: Surrogate::LikelihoodRatio,
            gamma: 0.99,
            gae_lambda: 1.0,
            baseline: Baseline::LinearFeature,
            normalise_advantages: true,
            positive_advantages: false,
            learning_rate: 1e-3,
            learning_rate_schedule: Schedule::Constant,
            outer_steps: 5,
            clip_eps: 0.3,
            inner_kl_coef: 5e-4,
            target_inner_kl: 0.0,
            max_kl: 0.01,
            cg_iterations: 10,
            damping: 1e-5,
            backtracks: 15,
            backtrack_ratio: 0.8,
            hessian: Hessian::Exact,
            max_grad_norm: 0.0,
            hidden: vec![64, 64],
            activation: Activation::Tanh,
            orthogonal_init: true,
            log_std_init: 0.0,
            adam_eps: 1e-8,
        }
    }
}

/// Most environment steps of one phase and seed.
const MAX_BATCH: usize = 1 << 24;

impl MamlConfig {
    /// Defaults of a variant.
    pub fn of(variant: Variant) -> MamlConfig {
        let base = MamlConfig::default();
        match variant {
            Variant::ProMp => base,
            Variant::MamlPpo => MamlConfig { inner_kl_coef: 0.0, ..base },
            Variant::MamlVpg => {
                MamlConfig { inner_kl_coef: 0.0, outer_steps: 1, inner_loss: Surrogate::LogLikelihood, ..base }
            }
            Variant::MamlTrpo | Variant::EMaml => {
                MamlConfig { inner_kl_coef: 0.0, outer_steps: 1, inner_loss: Surrogate::LogLikelihood, ..base }
            }
            Variant::DiceMaml => MamlConfig {
                inner_kl_coef: 0.0,
                outer_steps: 1,
                inner_loss: Surrogate::Dice,
                baseline: Baseline::LinearTime,
                ..base
            },
        }
    }

    /// What the policy is made of.
    pub fn net(&self) -> NetConfig {
        NetConfig {
            hidden: self.hidden.clone(),
            activation: self.activation,
            orthogonal_init: self.orthogonal_init,
            log_std_init: self.log_std_init,
            sde: false,
            normalise_observations: false,
        }
    }

    /// What makes training data of episodes.
    pub fn processor(&self) -> Processor {
        Processor {
            gamma: self.gamma,
            gae_lambda: self.gae_lambda,
            baseline: self.baseline,
            normalise: self.normalise_advantages,
            positive: self.positive_advantages,
        }
    }

    /// The trust region of outer steps.
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

    /// The tasks of training.
    pub fn task_source(&self) -> TaskSource {
        match u32::try_from(self.train_tasks).unwrap_or(u32::MAX) {
            0 => TaskSource::Fresh,
            count => TaskSource::Pool { first: 0, count },
        }
    }

    /// T on an environment with this time limit.
    pub fn steps(&self, time_limit: usize) -> usize {
        if self.horizon == 0 { time_limit } else { self.horizon.min(time_limit) }
    }

    /// Environment steps of one iteration and seed, all phases, on an environment with this time limit.
    pub fn batch(&self, time_limit: usize) -> usize {
        let phase = self.meta_batch.saturating_mul(self.rollouts).saturating_mul(self.steps(time_limit));
        phase.saturating_mul(self.inner_steps.saturating_add(1))
    }

    /// Every value on its own and in combination.
    ///
    /// # Errors
    /// [`Error::Config`] with the first setting that cannot work and what to do about it.
    pub fn validate(&self, variant: Variant) -> Result<()> {
        let number = Error::in_range;
        for (key, value) in
            [("inner_lr", self.inner_lr), ("learning_rate", self.learning_rate), ("adam_eps", self.adam_eps)]
        {
            number(key, value, value > 0.0, "above 0")?;
        }
        for (key, value) in [("gamma", self.gamma), ("gae_lambda", self.gae_lambda)] {
            number(key, value, (0.0..=1.0).contains(&value), "in 0 to 1")?;
        }
        number("clip_eps", self.clip_eps, self.clip_eps > 0.0 && self.clip_eps < 1.0, "between 0 and 1")?;
        for (key, value) in [
            ("inner_kl_coef", self.inner_kl_coef),
            ("target_inner_kl", self.target_inner_kl),
            ("max_grad_norm", self.max_grad_norm),
        ] {
            number(key, value, value >= 0.0, "0 or more")?;
        }
        if self.target_inner_kl > 0.0 && self.inner_kl_coef == 0.0 {
            let problem = "no factor moves an inner_kl_coef of 0; give it a first value, or set this to 0";
            return Err(Error::config("target_inner_kl", problem));
        }
        self.trust_region().validate()?;
        for (key, value, most) in [
            ("meta_batch", self.meta_batch, 1 << 16),
            ("rollouts", self.rollouts, 1 << 16),
            ("inner_steps", self.inner_steps, 16),
            ("outer_steps", self.outer_steps, 1000),
        ] {
            if value == 0 || value > most {
                return Err(Error::config(key, format!("{value} is not in 1 to {most}")));
            }
        }
        if self.train_tasks > MAX_BATCH {
            return Err(Error::config("train_tasks", format!("{} is not in 0 to {MAX_BATCH}", self.train_tasks)));
        }
        if self.meta_batch.saturating_mul(self.rollouts) > MAX_BATCH {
            return Err(Error::config("rollouts", format!("meta_batch × rollouts is more than {MAX_BATCH}")));
        }
        self.net().validate()?;
        self.losses_fit(variant)
    }

    /// Samples are processed for the inner loss: DICE weighs discounted rewards, all other losses, outer ones too, weigh advantages.
    fn losses_fit(&self, variant: Variant) -> Result<()> {
        let name = variant.name();
        let problem = match (variant, self.inner_loss) {
            (Variant::DiceMaml, Surrogate::Dice) => return Ok(()),
            (Variant::DiceMaml, _) => {
                format!("the losses of {name} are DICE inside and outside; set dice, or train maml-vpg")
            }
            (_, Surrogate::Dice) => format!(
                "{name} weighs advantages in its outer loss, and DICE discounted rewards; set likelihood_ratio or log_likelihood, \
                 or train dice-maml, which is DICE inside and outside"
            ),
            _ => return Ok(()),
        };
        Err(Error::config("inner_loss", problem))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dice_is_the_inner_loss_of_dice_maml_alone() {
        for variant in Variant::ALL {
            for inner_loss in [Surrogate::LikelihoodRatio, Surrogate::LogLikelihood, Surrogate::Dice] {
                let config = MamlConfig { inner_loss, ..MamlConfig::of(variant) };
                let dice = [variant == Variant::DiceMaml, inner_loss == Surrogate::Dice];
                match config.validate(variant) {
                    Ok(()) => assert_eq!(dice[0], dice[1], "{variant:?} takes {inner_loss:?}"),
                    Err(error) => {
                        assert_ne!(dice[0], dice[1], "{variant:?} refuses {inner_loss:?}: {error}");
                        let message = error.to_string();
                        assert!(message.starts_with("inner_loss: "), "{message}");
                        let instead = if dice[0] { "maml-vpg" } else { "dice-maml" };
                        for part in [variant.name(), "DICE", "set ", instead] {
                            assert!(message.contains(part), "{part} is missing: {message}");
                        }
                    }
                }
            }
        }
    }
}
