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

pub use super::on_policy::{Minibatch, standardise, value_loss};
pub use config::PpoConfig;
pub use loss::{Losses, approx_kl, clip_loss, losses};

use super::on_policy::{OnPolicy, OnPolicyLearner, Sampled, Sampling, unpack};
use super::{ActorCritic, AlgorithmDef, Family, Held, Metrics, update_parameters};
use crate::Result;
use crate::learn::{Descent, Look};
use crate::play::Iteration;
use crate::policy::NetConfig;
use crate::settings::Settings as _;

/// PPO in the register.
pub static PPO: AlgorithmDef = AlgorithmDef::new::<PpoConfig>(
    "ppo",
    "Proximal Policy Optimization, clipped objective (arXiv:1707.06347)",
    Family::SingleTask,
    |settings, spec| Ok(Box::new(Ppo::new(&PpoConfig::default().with(settings)?, spec)?)),
);

/// PPO on one environment.
pub type Ppo = OnPolicyLearner<PpoConfig>;

impl OnPolicy for PpoConfig {
    fn validate(&self) -> Result<()> {
        PpoConfig::validate(self)
    }

    fn net(&self) -> &NetConfig {
        &self.net
    }

    fn sampling(&self) -> &Sampling {
        &self.sampling
    }

    fn schedules(&self, done: u64, total: u64) -> Vec<(&'static str, f64)> {
        let learning_rate = self.adam.rate(done, total);
        let clip_eps = self.clip_eps * self.clip_eps_schedule.factor(done, total);
        vec![("train/learning_rate", learning_rate), ("train/clip_eps", clip_eps)]
    }

    /// Algorithm 1, after the rollout.
    fn learn(&self, it: &mut Iteration<'_>, net: &ActorCritic, held: &Held, sampled: &Sampled<'_>) -> Metrics {
        let (learning_rate, clip_eps) = (it.scalar("learning_rate"), it.scalar("clip_eps"));
        let data = sampled.data();
        let passes = sampled.passes(self.epochs);
        let descent = Descent {
            layout: &net.layout,
            optimiser: self.adam.optimiser(),
            learning_rate,
            max_grad_norm: self.max_grad_norm,
            sums: &["policy_loss", "value_loss", "entropy", "approx_kl", "clip_frac", "grad_norm"],
            stop: (self.target_kl > 0.0).then_some(("approx_kl", 1.5 * self.target_kl)),
            first_norm: false,
        };
        let updated = descent.run(held.get("theta"), held.adam(), passes.steps(), &passes.xs(), |parts, x| {
            let minibatch = unpack(net, data.gather(passes.index(&x)));
            let Losses { total, policy, value, entropy, approx_kl, clip_frac } =
                losses(net, parts, &minibatch, clip_eps, self);
            let seen = [
                ("policy_loss", policy),
                ("value_loss", value),
                ("entropy", entropy),
                ("approx_kl", approx_kl),
                ("clip_frac", clip_frac),
            ];
            Look { loss: total, seen: seen.into() }
        });
        update_parameters(it, updated.theta, updated.adam);
        sampled.keep(it);
        sampled
            .metrics()
            .with(descent.means(&updated))
            .last("train/explained_variance", sampled.explained_variance())
            .with(updated.counts())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::{Arena, Training};
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
            let mut ppo = Training::new(&device, ppo, Arena::Device(&env), &[1, 2]).unwrap();
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
