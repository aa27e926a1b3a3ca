//! SVPG's settings: those of its particles, and how they move together.

use crate::algo::on_policy::trpo::TrustRegionUpdate;
use crate::algo::on_policy::{
    AdvantageScope, ClipConfig, CriticOptimiser, CriticSchedule, CriticSteps, MAX_BATCH, Networks, OnPolicy, Parts,
    PolicyGradient, Rollout, Sampling, StepRules, Stepping, ValueTargets, likelihood_losses, ppo,
};
use crate::algo::{A2cConfig, ActorCritic, Held, Metrics, TrpoConfig};
use crate::learn::Turn;
use crate::optim::{Progress, TrustRegion};
use crate::play::Iteration;
use crate::settings::{Range, Settings as _};
use crate::{Error, Result};

/// The algorithm whose updates particles make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ParticleUpdate {
    /// A2C's; with `critic = "last"` those of VPG.
    #[default]
    A2c,
    /// PPO's.
    Ppo,
    /// TRPO's.
    Trpo,
}

crate::words!(ParticleUpdate { A2c = "a2c", Ppo = "ppo", Trpo = "trpo" });

crate::settings! {
    /// Hyper-parameters. Defaults are those of `a2c`, with the paper's temperature.
    pub struct SvpgConfig {
        /// particles of each seed (n), which play and learn side by side
        num_particles: usize = 4, Range::Count(1, 64);
        /// weight of staying apart against the return
        ///
        /// τ of eq. 10, α in the paper.
        temperature: f64 = 10.0, Range::Positive;
        /// the algorithm whose updates they make; limits such as clip_eps are for ppo, such as max_kl for trpo
        ///
        /// Of `trpo` the optimiser is the value function's, with `learning_rate`, `critic_epochs` and
        /// `critic_max_grad_norm`; the other settings of the loss and of the critic are of no use, and those that ask
        /// for something else are refused.
        particle: ParticleUpdate = ParticleUpdate::A2c;
        /// passes over each rollout
        epochs: usize = 1, Range::Count(1, MAX_BATCH as u64);
        /// The limits of updates of `ppo`.
        ..limits: ClipConfig;
        /// trpo: share of each rollout that the KL's Hessian is of
        ///
        /// Of its steps, at even distances; where policies remember, of the environments. The limit itself is that of
        /// all steps.
        curvature_share: f64 = 1.0, Range::Share;
        /// The steps of policies of `trpo`.
        ..trust_region: TrustRegion = TrpoConfig::default().trust_region;
        /// The loss, the rollouts and the networks of each particle.
        ..a2c: A2cConfig;
    }
}

impl SvpgConfig {
    /// Every value on its own and in combination.
    ///
    /// # Errors
    /// [`Error::Config`] with the first setting that cannot work and what to do about it.
    pub fn validate(&self) -> Result<()> {
        self.check()?;
        let PolicyGradient { critic, normalise_advantages, .. } = &self.a2c.gradient;
        match self.particle {
            ParticleUpdate::A2c | ParticleUpdate::Ppo => {
                critic.validate((&self.a2c.sampling, &self.a2c.memory), self.epochs, *normalise_advantages)?;
            }
            ParticleUpdate::Trpo => self.validate_trust_region()?,
        }
        let (n, batch) = (self.num_particles, self.a2c.sampling.batch());
        if n.saturating_mul(batch) > MAX_BATCH {
            let problem = format!("{n} particles with horizon × envs ({batch}) steps each are more than {MAX_BATCH}");
            return Err(Error::config("num_particles", problem));
        }
        self.a2c.net.validate()
    }

    /// Checks that nothing is asked of particles of TRPO that their updates have no place for.
    fn validate_trust_region(&self) -> Result<()> {
        let PolicyGradient { critic, normalise_advantages, entropy_coef, .. } = &self.a2c.gradient;
        let refused = [
            ("entropy_coef", *entropy_coef > 0.0, "have no entropy in their loss; set it to 0"),
            ("critic", critic.critic == CriticSteps::First, "fit the value function last; set it to \"last\""),
            ("critic_learning_rate", critic.critic_learning_rate > 0.0, "fit it by learning_rate; set it to 0"),
            ("critic_minibatch_size", critic.critic_minibatch_size > 0, "fit it by minibatch_size; set it to 0"),
            (
                "critic_optimiser",
                critic.rule.critic_optimiser != CriticOptimiser::Policy,
                "fit it by optimiser; set it to \"policy\"",
            ),
            (
                "critic_learning_rate_schedule",
                critic.rule.critic_learning_rate_schedule != CriticSchedule::Policy,
                "follow learning_rate_schedule; set it to \"policy\"",
            ),
            ("value_targets", critic.value_targets != ValueTargets::Gae, "fit values to \"gae\"; set it to that"),
            (
                "advantage_scope",
                critic.advantage_scope == AdvantageScope::Running,
                "standardise advantages over each rollout; set it to \"rollout\"",
            ),
        ];
        if let Some((key, _, problem)) = refused.into_iter().find(|(_, asked, _)| *asked) {
            return Err(Error::config(key, format!("particles of trpo {problem}")));
        }
        self.a2c.sampling.validate("critic_epochs", critic.critic_epochs)?;
        self.a2c.sampling.validate_standardised(*normalise_advantages)
    }
}

/// One particle.
impl OnPolicy for SvpgConfig {
    fn parts(&self) -> Parts<'_> {
        let PolicyGradient { critic, normalise_advantages, .. } = &self.a2c.gradient;
        let trpo = self.particle == ParticleUpdate::Trpo;
        Parts {
            sampling: &self.a2c.sampling,
            net: &self.a2c.net,
            memory: self.a2c.memory,
            stepping: if trpo { Stepping::Value } else { critic.stepping() },
            entries: if trpo { Vec::new() } else { critic.entries(*normalise_advantages) },
            baseline: None,
        }
    }

    fn sampling_mut(&mut self) -> &mut Sampling {
        &mut self.a2c.sampling
    }

    fn validate(&self) -> Result<()> {
        SvpgConfig::validate(self)
    }

    fn schedules(&self, at: Progress) -> Vec<(&'static str, f64)> {
        let mut all = self.a2c.gradient.schedules(at);
        match self.particle {
            ParticleUpdate::A2c => {}
            ParticleUpdate::Ppo => all.push(("train/clip_eps", self.limits.clip_eps(at))),
            ParticleUpdate::Trpo => all.retain(|(name, _)| *name == "train/learning_rate"),
        }
        all
    }

    fn iteration(&self, nets: &ActorCritic, it: &mut Iteration<'_>, held: &Held, turn: Option<&dyn Turn>) -> Metrics {
        let rollout = Rollout::collect(&self.a2c.sampling, nets, it, held);
        let PolicyGradient { optimiser, critic, normalise_advantages, .. } = &self.a2c.gradient;
        let plain = StepRules { epochs: self.epochs, ..self.a2c.gradient.steps() };
        let steps = match self.particle {
            ParticleUpdate::A2c => plain,
            ParticleUpdate::Ppo => StepRules { target_kl: self.limits.target_kl, sums: ppo::SUMS, ..plain },
            ParticleUpdate::Trpo => {
                let update = TrustRegionUpdate {
                    trust_region: &self.trust_region,
                    curvature_share: self.curvature_share,
                    normalise_advantages: *normalise_advantages,
                    optimiser: optimiser.rule(),
                    critic_epochs: critic.critic_epochs,
                    critic_max_grad_norm: critic.critic_max_grad_norm,
                };
                return update.learn(&rollout, it, held, turn);
            }
        };
        let clip_eps = (self.particle == ParticleUpdate::Ppo).then(|| it.scalar("clip_eps"));
        let mut credit = rollout.credit(&rollout.values, critic.target_lambda());
        let explained = rollout.explained_variance(&credit);
        let mut networks = Networks::begin(&rollout, steps, held, turn);
        if critic.first() {
            networks.step_critic(it, &credit);
            credit = rollout.credit(&rollout.values_by(networks.critic()), critic.target_lambda());
        }
        networks.step_policy(it, held, &credit, &|parts, batch, standardised| match clip_eps {
            None => likelihood_losses(nets, parts, batch, standardised),
            Some(clip_eps) => ppo::losses(nets, parts, batch, clip_eps, self.limits.value_clip, standardised),
        });
        if critic.last() {
            networks.step_critic(it, &credit);
        }
        networks.keep(it, explained)
    }
}
