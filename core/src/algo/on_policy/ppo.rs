//! Proximal Policy Optimization, clipped objective.
//!
//! Schulman et al. 2017, arXiv:1707.06347, algorithm 1 and eq. 7, 9, 11.
//! Departures from the paper, each with its reason:
//!  1. advantages are standardised in each minibatch, and optionally the value's change is clipped, as in
//!     openai/baselines, from which most published numbers come
//!  2. time-limited episodes bootstrap from the final observation (arXiv:1712.00378)
//!  3. gradients are clipped by their norm, and an update with a non-finite gradient is dropped and counted
//!  4. policy and value have separate networks; exploration is optionally state-dependent (arXiv:2005.05719)
//!
//! An iteration is one program, run for all stacked seeds: rollout, advantages, epochs of minibatches. Nothing is read
//! in between; early stopping and dropped updates are masks per seed.

mod config;
#[cfg(test)]
mod tests;

pub use super::{Losses, Minibatch, approx_kl, standardise, value_loss};
pub use config::{ClipConfig, PpoConfig};

use super::{Networks, OnPolicy, OnPolicyLearner, Parts, PolicyLook, Rollout, Sampling, StepRules};
use crate::algo::{ActorCritic, AlgorithmDef, Family, Held, Metrics};
use crate::learn::Turn;
use crate::optim::Progress;
use crate::play::Iteration;
use crate::settings::Settings as _;
use crate::{Result, Tensor};

/// PPO in the register.
pub static PPO: AlgorithmDef = AlgorithmDef {
    presets: crate::algo::presets!("ppo/presets.toml"),
    ..AlgorithmDef::new::<PpoConfig>(
        "ppo",
        "Proximal Policy Optimization, clipped objective (arXiv:1707.06347)",
        Family::SingleTask,
        |settings, spec| Ok(Box::new(Ppo::new(&PpoConfig::default().with(settings)?, spec)?)),
    )
};

/// Pyrado's PPO2 in the register: PPO with other defaults.
pub static PPO2: AlgorithmDef = AlgorithmDef {
    name: "ppo2",
    line: "PPO with one optimiser and empirical returns, as Pyrado's PPO2 (arXiv:1707.06347)",
    defaults: || PpoConfig::ppo2().table(),
    configure: |settings, spec| Ok(Box::new(Ppo::new(&PpoConfig::ppo2().with(settings)?, spec)?)),
    ..PPO
};

/// PPO on an environment.
pub type Ppo = OnPolicyLearner<PpoConfig>;

impl OnPolicy for PpoConfig {
    fn parts(&self) -> Parts<'_> {
        Parts {
            sampling: &self.sampling,
            net: &self.net,
            memory: self.memory,
            stepping: self.critic.stepping(),
            entries: self.critic.entries(self.normalise_advantages),
            baseline: None,
        }
    }

    fn sampling_mut(&mut self) -> &mut Sampling {
        &mut self.sampling
    }

    fn validate(&self) -> Result<()> {
        PpoConfig::validate(self)
    }

    fn schedules(&self, at: Progress) -> Vec<(&'static str, f64)> {
        let (learning_rate, clip_eps) = (self.optimiser.rate(at), self.limits.clip_eps(at));
        let mut all = vec![("train/learning_rate", learning_rate), ("train/clip_eps", clip_eps)];
        all.extend(self.critic.schedule(&self.optimiser, at));
        all
    }

    /// Makes an iteration of algorithm 1.
    fn iteration(&self, nets: &ActorCritic, it: &mut Iteration<'_>, held: &Held, turn: Option<&dyn Turn>) -> Metrics {
        let clip_eps = it.scalar("clip_eps");
        let rollout = Rollout::collect(&self.sampling, nets, it, held);
        let mut credit = rollout.credit(&rollout.values, self.critic.target_lambda()); // eq. 11
        let explained = rollout.explained_variance(&credit);
        let mut networks = Networks::begin(&rollout, self.steps(), held, turn);
        if self.critic.first() {
            networks.step_critic(it, &credit);
            credit = rollout.credit(&rollout.values_by(networks.critic()), self.critic.target_lambda());
        }
        networks.step_policy(it, held, &credit, &|parts, batch, standardised| {
            losses(nets, parts, batch, clip_eps, self.limits.value_clip, standardised) // eq. 9
        });
        if self.critic.last() {
            networks.step_critic(it, &credit);
        }
        networks.keep(it, explained)
    }
}

impl PpoConfig {
    /// The rules of the steps.
    fn steps(&self) -> StepRules<'_> {
        StepRules {
            optimiser: &self.optimiser,
            critic: &self.critic,
            epochs: self.epochs,
            value_coef: self.value_coef,
            entropy_coef: self.entropy_coef,
            max_grad_norm: self.max_grad_norm,
            normalise_advantages: self.normalise_advantages,
            target_kl: self.limits.target_kl,
            sums: SUMS,
        }
    }
}

/// The averages over minibatches that are logged.
pub(super) const SUMS: &[&str] = &["policy_loss", "value_loss", "entropy", "approx_kl", "clip_frac", "grad_norm"];

/// The terms of −L of eq. 9: −L^CLIP, L^VF and S. `clip_eps` is ε, `[]` or `[S, 1]`. With `value_clip`, ε limits the
/// change of the value too; with `standardised`, advantages are standardised in the batch.
#[track_caller]
pub fn losses(
    net: &ActorCritic,
    parts: &[Tensor],
    batch: &Minibatch,
    clip_eps: Tensor,
    value_clip: bool,
    standardised: bool,
) -> Losses {
    let clip_eps = if clip_eps.rank() == 0 { clip_eps } else { clip_eps.unsqueeze(2) };
    let look = PolicyLook::new(net, parts, batch);
    let ratio = look.log_ratio.exp();
    let advantage = batch.only(batch.advantages(standardised));
    let policy = batch.mean(clip_loss(ratio, advantage, clip_eps)); // eq. 7
    let value = net.value_of(parts, batch.obs, batch.sequences.as_ref());
    let value = batch.value_loss(value, value_clip.then_some(clip_eps));
    let losses = look.losses(policy, batch, value);
    let outside = (ratio - 1.0).abs().gt(clip_eps).to_f32();
    Losses { clip_frac: Some(batch.mean(outside)), ..losses }
}

/// The clipped surrogate −L^CLIP of eq. 7 of each row, `[S, B, 1]`, the mean of which is to be minimised.
#[track_caller]
pub fn clip_loss(ratio: Tensor, advantage: Tensor, eps: Tensor) -> Tensor {
    let clipped = ratio.max(1.0 - eps).min(1.0 + eps);
    -(ratio * advantage).min(clipped * advantage)
}
