//! SVPG's settings: those of its particles, and how they move together.

use crate::algo::on_policy::{
    CriticConfig, MAX_BATCH, OnPolicy, PolicyGradient, PolicyTerm, Sampled, Sampling, Terms, Update,
};
use crate::algo::{ActorCritic, Held, Metrics};
use crate::optim::{ClipFall, OptimiserConfig, OptimiserKind, Schedule};
use crate::play::Iteration;
use crate::policy::NetConfig;
use crate::settings::{Range, Settings as _};
use crate::{Error, Result, Tensor};

/// The algorithm whose updates particles make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ParticleUpdate {
    /// A2C's; with `critic = "last"` those of VPG.
    #[default]
    A2c,
    /// PPO's.
    Ppo,
}

crate::words!(ParticleUpdate { A2c = "a2c", Ppo = "ppo" });

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
    }
}

impl SvpgConfig {
    /// Every value on its own and in combination.
    ///
    /// # Errors
    /// [`Error::Config`] with the first setting that cannot work and what to do about it.
    pub fn validate(&self) -> Result<()> {
        self.check()?;
        self.gradient.critic.validate(&self.sampling, self.epochs, self.gradient.normalise_advantages)?;
        let (n, batch) = (self.num_particles, self.sampling.batch());
        if n.saturating_mul(batch) > MAX_BATCH {
            let problem = format!("{n} particles with horizon × envs ({batch}) steps each are more than {MAX_BATCH}");
            return Err(Error::config("num_particles", problem));
        }
        self.net.validate()
    }
}

/// One particle.
impl OnPolicy for SvpgConfig {
    fn validate(&self) -> Result<()> {
        SvpgConfig::validate(self)
    }

    fn net(&self) -> &NetConfig {
        &self.net
    }

    fn sampling(&self) -> &Sampling {
        &self.sampling
    }

    fn sampling_mut(&mut self) -> &mut Sampling {
        &mut self.sampling
    }

    fn critic(&self) -> Option<(&CriticConfig, bool)> {
        Some((&self.gradient.critic, self.gradient.normalise_advantages))
    }

    fn schedules(&self, done: u64, total: u64) -> Vec<(&'static str, f64)> {
        let mut all = self.gradient.schedules(done, total);
        if self.particle == ParticleUpdate::Ppo {
            let clip_eps = self.clip_eps * self.clip_eps_schedule.factor_by(self.clip_fall, done, total);
            all.push(("train/clip_eps", clip_eps));
        }
        all
    }

    fn learn(&self, it: &mut Iteration<'_>, net: &ActorCritic, held: &Held, sampled: &Sampled<'_>) -> Metrics {
        let plain = Update { epochs: self.epochs, ..self.gradient.update() };
        match self.particle {
            ParticleUpdate::A2c => plain.learn(it, net, held, sampled, Tensor::constant_f32(1.0)),
            ParticleUpdate::Ppo => {
                let clip_eps = it.scalar("clip_eps");
                let terms = Terms { policy: PolicyTerm::Clipped, value_clip: self.value_clip, ..plain.terms };
                let sums = &["policy_loss", "value_loss", "entropy", "approx_kl", "clip_frac", "grad_norm"];
                Update { terms, target_kl: self.target_kl, sums, ..plain }.learn(it, net, held, sampled, clip_eps)
            }
        }
    }
}
