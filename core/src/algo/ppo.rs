//! Proximal Policy Optimization, clipped objective.
//!
//! Schulman et al. 2017, arXiv:1707.06347, algorithm 1 and eq. 7, 9, 11.
//! Departures from the paper, each with its reason:
//!  1. advantages are standardised in each minibatch, and optionally the value's change is clipped (as in
//!     openai/baselines, which most published numbers come from)
//!  2. time-limited episodes bootstrap from the final observation (arXiv:1712.00378)
//!  3. gradients are clipped by their norm, and an update with a non-finite gradient is dropped and counted
//!  4. separate networks for policy and value, optionally state-dependent exploration (arXiv:2005.05719)
//!
//! An iteration is one program, run for all stacked seeds: rollout, advantages, epochs of minibatches. Nothing is read
//! in between; early stopping and dropped updates are masks per seed.

mod config;
mod loss;

pub use super::on_policy::{Losses, Minibatch, approx_kl, clip_loss, standardise, value_loss};
pub use config::PpoConfig;
pub use loss::losses;

use super::on_policy::{CriticConfig, OnPolicy, OnPolicyLearner, Sampled, Sampling, Update};
use super::{ActorCritic, AlgorithmDef, Family, Held, Metrics};
use crate::Result;
use crate::optim::Progress;
use crate::play::Iteration;
use crate::policy::{MemoryConfig, NetConfig};
use crate::settings::Settings as _;

/// PPO in the register.
pub static PPO: AlgorithmDef = AlgorithmDef::new::<PpoConfig>(
    "ppo",
    "Proximal Policy Optimization, clipped objective (arXiv:1707.06347)",
    Family::SingleTask,
    |settings, spec| Ok(Box::new(Ppo::new(&PpoConfig::default().with(settings)?, spec)?)),
);

/// Pyrado's PPO2 in the register: the same with other defaults.
pub static PPO2: AlgorithmDef = AlgorithmDef {
    name: "ppo2",
    line: "PPO with one optimiser and empirical returns, as Pyrado's PPO2 (arXiv:1707.06347)",
    defaults: || PpoConfig::ppo2().table(),
    configure: |settings, spec| Ok(Box::new(Ppo::new(&PpoConfig::ppo2().with(settings)?, spec)?)),
    ..PPO
};

/// PPO on one environment.
pub type Ppo = OnPolicyLearner<PpoConfig>;

impl OnPolicy for PpoConfig {
    fn validate(&self) -> Result<()> {
        PpoConfig::validate(self)
    }

    fn net(&self) -> &NetConfig {
        &self.net
    }

    fn memory(&self) -> MemoryConfig {
        self.memory
    }

    fn sampling(&self) -> &Sampling {
        &self.sampling
    }

    fn sampling_mut(&mut self) -> &mut Sampling {
        &mut self.sampling
    }

    fn critic(&self) -> Option<(&CriticConfig, bool)> {
        Some((&self.critic, self.normalise_advantages))
    }

    fn schedules(&self, at: Progress) -> Vec<(&'static str, f64)> {
        let learning_rate = self.optimiser.rate(at);
        let clip_eps = self.clip_eps * self.clip_eps_schedule.factor_by(self.clip_fall, at.share());
        let mut all = vec![("train/learning_rate", learning_rate), ("train/clip_eps", clip_eps)];
        all.extend(self.critic.schedule(&self.optimiser, at));
        all
    }

    /// Algorithm 1, after the rollout.
    fn learn(&self, it: &mut Iteration<'_>, net: &ActorCritic, held: &Held, sampled: &Sampled<'_>) -> Metrics {
        let clip_eps = it.scalar("clip_eps");
        let update = Update {
            optimiser: &self.optimiser,
            critic: &self.critic,
            terms: self.terms(),
            epochs: self.epochs,
            max_grad_norm: self.max_grad_norm,
            normalise_advantages: self.normalise_advantages,
            target_kl: self.target_kl,
            sums: &["policy_loss", "value_loss", "entropy", "approx_kl", "clip_frac", "grad_norm"],
        };
        update.learn(it, net, held, sampled, clip_eps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::Training;
    use crate::env::builtin;
    use crate::{Array, Device};

    #[test]
    fn a_limit_of_0_is_one_that_no_gradient_reaches() {
        let (device, env) = (Device::cpu(1), builtin("cartpole").unwrap());
        // Bits of parameters, optimiser and metrics of two seeds after three iterations.
        let train = |max_grad_norm: f64| {
            let config = PpoConfig {
                max_grad_norm,
                epochs: 2,
                sampling: Sampling { horizon: 16, envs: 4, ..Sampling::default() },
                net: NetConfig { hidden: vec![8], ..NetConfig::default() },
                ..PpoConfig::default()
            };
            let ppo = std::rc::Rc::new(Ppo::new(&config, env.spec()).unwrap());
            let mut ppo = Training::new(&device, ppo, &env, &[1, 2]).unwrap();
            let read = |x: &Array| {
                let numbers = pollster::block_on(device.read(x)).unwrap();
                numbers.into_iter().map(f64::to_bits).collect::<Vec<_>>()
            };
            let metrics: Vec<_> = (0..3).map(|done| read(&pollster::block_on(ppo.step(done, 3)).unwrap())).collect();
            (metrics, ["theta", "adam_m", "adam_v"].map(|name| read(ppo.state.get(name).unwrap())))
        };
        let free = train(0.0);
        assert!(free == train(1e9));
        assert!(free.1 != train(0.01).1, "limits change the training");
    }
}
