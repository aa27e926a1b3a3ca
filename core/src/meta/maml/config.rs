//! Settings of MAML's family.

use super::surrogate::Surrogate;
use crate::credit::Processor;
use crate::optim::{AdamConfig, TrustRegion};
use crate::policy::NetConfig;
use crate::settings::{Range, SettingValue as _, Settings};
use crate::task::TaskSource;
use crate::{Error, Result};

/// The algorithms of the family, which differ in the optimisation of the shared parameters.
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
    /// All variants.
    pub const ALL: [Variant; 6] =
        [Variant::ProMp, Variant::MamlPpo, Variant::MamlVpg, Variant::MamlTrpo, Variant::EMaml, Variant::DiceMaml];

    /// The name on the command line and in files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Variant::ProMp => "promp",
            Variant::MamlPpo => "maml-ppo",
            Variant::MamlVpg => "maml-vpg",
            Variant::MamlTrpo => "maml-trpo",
            Variant::EMaml => "e-maml",
            Variant::DiceMaml => "dice-maml",
        }
    }

    /// Tells whether the setting `key` has an effect on this variant.
    #[must_use]
    pub fn uses(self, key: &str) -> bool {
        match key {
            "max_grad_norm" | "weight_decay" => !self.trust_region(),
            "clip_eps" | "clip_eps_factor" | "outer_steps" => matches!(self, Variant::ProMp | Variant::MamlPpo),
            "inner_kl_coef" | "target_inner_kl" => self == Variant::ProMp,
            // DICE is the inner loss of DICE-MAML.
            "inner_loss" => self != Variant::DiceMaml,
            "outer_loss" => self == Variant::DiceMaml,
            "exploration" => self == Variant::MamlVpg,
            _ if self.trust_region() => !AdamConfig::declares(key),
            _ => !TrustRegion::declares(key),
        }
    }

    /// Tells whether outer steps are made in a trust region.
    pub fn trust_region(self) -> bool {
        matches!(self, Variant::MamlTrpo | Variant::EMaml)
    }
}

crate::settings! {
    /// Hyper-parameters of MAML's family. Defaults are those of ProMP's run scripts.
    pub struct MamlConfig {
        /// tasks per iteration (M)
        meta_batch: usize = 40, Range::Count(1, 1 << 16);
        /// rollouts per task before and after each inner step (N)
        rollouts: usize = 20, Range::Count(1, 1 << 16);
        /// steps of a rollout (T); 0: the environment's time limit
        horizon: usize = 0, Range::Count(0, u64::MAX);
        /// 0: fresh tasks each iteration; otherwise a pool of so many
        ///
        /// The tasks of a pool are drawn once and all played equally often.
        train_tasks: usize = 0, Range::Count(0, MAX_BATCH as u64);
        /// gradient steps of adaptation
        inner_steps: usize = 1, Range::Count(1, 16);
        /// step size α of adaptation
        inner_lr: f64 = 0.1, Range::Positive;
        /// learn one α per parameter, starting from inner_lr
        ///
        /// arXiv:1707.09835.
        learn_inner_lr: bool = false;
        /// take inner gradients as constants
        first_order: bool = false;
        /// surrogate of adaptation
        ///
        /// `dice-maml` has `dice`, and no other algorithm takes it.
        inner_loss: Surrogate = Surrogate::LikelihoodRatio,
            Range::Shown(&Surrogate::RANGE, "likelihood_ratio, log_likelihood");
        /// loss of adapted policies: DICE, or ln π times advantages
        ///
        /// The second is VPG-DICE-MAML of ProMP's authors: inner steps keep DICE, whose derivative is exact,
        /// and the outer gradient has less variance.
        outer_loss: Surrogate = Surrogate::Dice, Range::Shown(&Surrogate::RANGE, "dice, log_likelihood");
        /// reward the data before adaptation for what came after it
        ///
        /// By E-MAML's term, arXiv:1803.01118, in the form of ProMP's authors: less mean(adjusted rewards
        /// after adaptation) · mean(ln π before it).
        exploration: bool = false;
        /// Training data of episodes.
        ..processor: Processor = Processor { normalise_advantages: true, ..Processor::default() };
        /// outer steps on each batch
        outer_steps: usize = 5, Range::Count(1, 1000);
        /// clip range of the outer objective
        clip_eps: f64 = 0.3, Range::Fraction;
        /// clip_eps is multiplied by this after each iteration
        ///
        /// 1: it stays.
        clip_eps_factor: f64 = 1.0, Range::Share;
        /// weight of the KL that keeps adaptation near what collected
        inner_kl_coef: f64 = 5e-4, Range::NotNegative;
        /// above 0: adapt inner_kl_coef until the KL is near this
        ///
        /// After each iteration, a step's η is halved where its KL is below this over 1.5, and doubled where it is
        /// above 1.5 times this, starting from `inner_kl_coef`; at 0, η stays.
        target_inner_kl: f64 = 0.0, Range::NotNegative;
        /// longer outer gradients are scaled down; 0: never
        max_grad_norm: f64 = 0.0, Range::NotNegative;
        /// λ of ½ λ ‖θ‖² in the outer loss, θ the policy's parameters
        ///
        /// As `weight_decay` of `torch.optim.Adam`: λθ is part of the gradient, and so scaled by Adam.
        weight_decay: f64 = 0.0, Range::NotNegative;
        /// learn ln σ of continuous actions; false: it stays log_std_init
        ///
        /// Neither inner nor outer steps change it.
        learn_std: bool = true;
        /// Outer steps by gradients.
        ..adam: AdamConfig = AdamConfig { adam_eps: 1e-8, ..AdamConfig::default() };
        /// Outer steps in a trust region.
        ..trust_region: TrustRegion;
        /// The policy's network.
        ..net: NetConfig;
    }
}

/// The most environment steps of one phase and seed.
pub(super) const MAX_BATCH: usize = 1 << 24;

impl MamlConfig {
    /// The defaults of a variant.
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
                processor: Processor::dice(),
                ..base
            },
        }
    }

    /// The source of training tasks.
    pub fn task_source(&self) -> TaskSource {
        match u32::try_from(self.train_tasks).unwrap_or(u32::MAX) {
            0 => TaskSource::Fresh,
            count => TaskSource::Pool { first: 0, count },
        }
    }

    /// ε in the iteration after `done` iterations.
    pub fn clip_eps_after(&self, done: u64) -> f64 {
        self.clip_eps * self.clip_eps_factor.powf(done as f64)
    }

    /// T, the steps of a rollout in an environment with this time limit.
    pub fn steps(&self, time_limit: usize) -> usize {
        if self.horizon == 0 { time_limit } else { self.horizon.min(time_limit) }
    }

    /// Environment steps of one iteration and seed over all phases, in an environment with this time limit.
    pub fn batch(&self, time_limit: usize) -> usize {
        let phase = self.meta_batch.saturating_mul(self.rollouts).saturating_mul(self.steps(time_limit));
        phase.saturating_mul(self.inner_steps.saturating_add(1))
    }

    /// Checks every value on its own and in combination.
    ///
    /// # Errors
    /// [`Error::Config`] that names the first setting that cannot work, and the remedy.
    pub fn validate(&self, variant: Variant) -> Result<()> {
        self.check()?;
        if self.target_inner_kl > 0.0 && self.inner_kl_coef == 0.0 {
            let problem = "no factor moves an inner_kl_coef of 0; give it a first value, or set this to 0";
            return Err(Error::config("target_inner_kl", problem));
        }
        if self.meta_batch.saturating_mul(self.rollouts) > MAX_BATCH {
            return Err(Error::config("rollouts", format!("meta_batch × rollouts is more than {MAX_BATCH}")));
        }
        self.net.validate()?;
        self.losses_fit(variant)
    }

    /// Checks that the losses agree on the data that they weigh: DICE weighs discounted rewards, and all other
    /// losses, outer ones too, weigh advantages.
    fn losses_fit(&self, variant: Variant) -> Result<()> {
        let name = variant.name();
        if variant == Variant::DiceMaml && self.outer_loss == Surrogate::LikelihoodRatio {
            let problem =
                "a single step on each batch has ratios of 1; take log_likelihood, whose gradient is the same";
            return Err(Error::config("outer_loss", problem));
        }
        let problem = match (variant, self.inner_loss) {
            (Variant::DiceMaml, Surrogate::Dice) => return Ok(()),
            (Variant::DiceMaml, _) => {
                format!("the inner loss of {name} is DICE; set dice, or train maml-vpg")
            }
            (_, Surrogate::Dice) => format!(
                "{name} weighs advantages in its outer loss, and DICE discounted rewards; set likelihood_ratio \
                 or log_likelihood, or train dice-maml, which is DICE inside and outside"
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
