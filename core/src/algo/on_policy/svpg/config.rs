//! SVPG's settings: those of its particles, and how they move together.

use crate::algo::on_policy::trpo::TrustRegionUpdate;
use crate::algo::on_policy::{
    AdvantageScope, CriticSteps, MAX_BATCH, Networks, OnPolicy, Parts, PolicyGradient, Rollout, Sampling, StepRules,
    Stepping, ValueTargets, likelihood_losses, ppo,
};
use crate::algo::{ActorCritic, Held, Metrics};
use crate::learn::Turn;
use crate::optim::{ClipFall, OptimiserConfig, OptimiserKind, Progress, Schedule, TrustRegion};
use crate::play::Iteration;
use crate::policy::{MemoryConfig, NetConfig};
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
        /// the algorithm whose updates they make
        ///
        /// Of `trpo` the optimiser is the value function's, with `learning_rate`, `critic_epochs` and
        /// `critic_max_grad_norm`; the other settings of the loss and of the critic are of no use, and those that ask
        /// for something else are refused.
        particle: ParticleUpdate = ParticleUpdate::A2c;
        /// passes over each rollout
        epochs: usize = 1, Range::Count(1, MAX_BATCH as u64);
        /// ppo: clip range of the probability ratio
        clip_eps: f64 = 0.2, Range::Fraction;
        /// ppo: linear, cosine: towards 0 at the end of the run; exponential, step: to clip_eps_fall
        clip_eps_schedule: Schedule = Schedule::Constant;
        /// How far the clip range falls.
        ..clip_fall: ClipFall;
        /// ppo: clip the change of the value as well
        value_clip: bool = true;
        /// ppo: above 0: stop an iteration's updates at 1.5 times this KL
        target_kl: f64 = 0.0, Range::NotNegative;
        /// trpo: share of each rollout that the KL's Hessian is of
        ///
        /// Of its steps, at even distances; where policies remember, of the environments. The limit itself is that of
        /// all steps.
        curvature_share: f64 = 1.0, Range::Share;
        /// The steps of policies of `trpo`.
        ..trust_region: TrustRegion = TrustRegion { cg_iterations: 15, damping: 0.1, backtracks: 10, ..TrustRegion::default() };
        /// The loss and its steps.
        ..gradient: PolicyGradient = PolicyGradient {
            optimiser: OptimiserConfig {
                optimiser: OptimiserKind::RmsProp,
                learning_rate: 7e-4,
                ..OptimiserConfig::default()
            },
            ..PolicyGradient::default()
        };
        /// Rollouts of each particle and their advantages.
        ..sampling: Sampling = Sampling { horizon: 5, minibatches: 1, gae_lambda: 1.0, ..Sampling::default() };
        /// Policy and value network of each particle.
        ..net: NetConfig;
        /// Their memories: each network has its own, before its hidden layers.
        ..memory: MemoryConfig;
    }
}

impl SvpgConfig {
    /// Every value on its own and in combination.
    ///
    /// # Errors
    /// [`Error::Config`] with the first setting that cannot work and what to do about it.
    pub fn validate(&self) -> Result<()> {
        self.check()?;
        let PolicyGradient { critic, normalise_advantages, .. } = &self.gradient;
        match self.particle {
            ParticleUpdate::A2c | ParticleUpdate::Ppo => {
                critic.validate(&self.sampling, self.epochs, *normalise_advantages)?;
            }
            ParticleUpdate::Trpo => self.validate_trust_region()?,
        }
        let (n, batch) = (self.num_particles, self.sampling.batch());
        if n.saturating_mul(batch) > MAX_BATCH {
            let problem = format!("{n} particles with horizon × envs ({batch}) steps each are more than {MAX_BATCH}");
            return Err(Error::config("num_particles", problem));
        }
        self.net.validate()
    }

    /// Checks that nothing is asked of particles of TRPO that their updates have no place for.
    fn validate_trust_region(&self) -> Result<()> {
        let PolicyGradient { critic, normalise_advantages, entropy_coef, .. } = &self.gradient;
        let refused = [
            ("entropy_coef", *entropy_coef > 0.0, "have no entropy in their loss; set it to 0"),
            ("critic", critic.critic == CriticSteps::First, "fit the value function last; set it to \"last\""),
            ("critic_learning_rate", critic.critic_learning_rate > 0.0, "fit it by learning_rate; set it to 0"),
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
        self.sampling.validate("critic_epochs", critic.critic_epochs)?;
        self.sampling.validate_standardised(*normalise_advantages)
    }
}

/// One particle.
impl OnPolicy for SvpgConfig {
    fn parts(&self) -> Parts<'_> {
        let PolicyGradient { critic, normalise_advantages, .. } = &self.gradient;
        let trpo = self.particle == ParticleUpdate::Trpo;
        Parts {
            sampling: &self.sampling,
            net: &self.net,
            memory: self.memory,
            stepping: if trpo { Stepping::Value } else { critic.stepping() },
            running_advantages: !trpo && critic.running(*normalise_advantages),
            baseline: None,
        }
    }

    fn sampling_mut(&mut self) -> &mut Sampling {
        &mut self.sampling
    }

    fn validate(&self) -> Result<()> {
        SvpgConfig::validate(self)
    }

    fn schedules(&self, at: Progress) -> Vec<(&'static str, f64)> {
        let mut all = self.gradient.schedules(at);
        match self.particle {
            ParticleUpdate::A2c => {}
            ParticleUpdate::Ppo => {
                let clip_eps = self.clip_eps * self.clip_eps_schedule.factor_by(self.clip_fall, at.share());
                all.push(("train/clip_eps", clip_eps));
            }
            ParticleUpdate::Trpo => all.retain(|(name, _)| *name == "train/learning_rate"),
        }
        all
    }

    fn iteration(&self, nets: &ActorCritic, it: &mut Iteration<'_>, held: &Held, turn: Option<&dyn Turn>) -> Metrics {
        let rollout = Rollout::collect(&self.sampling, nets, it, held);
        let PolicyGradient { optimiser, critic, normalise_advantages, .. } = &self.gradient;
        let plain = StepRules { epochs: self.epochs, ..self.gradient.steps() };
        let steps = match self.particle {
            ParticleUpdate::A2c => plain,
            ParticleUpdate::Ppo => StepRules { target_kl: self.target_kl, sums: ppo::SUMS, ..plain },
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
            Some(clip_eps) => ppo::losses(nets, parts, batch, clip_eps, self.value_clip, standardised),
        });
        if critic.last() {
            networks.step_critic(it, &credit);
        }
        networks.keep(it, explained)
    }
}
