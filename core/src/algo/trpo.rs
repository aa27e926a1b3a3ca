//! Trust Region Policy Optimization.
//!
//! Schulman et al. 2015, arXiv:1502.05477, eq. 14 and appendix C.
//! Departures from the paper, each with its reason:
//!  1. the states are those of rollouts of fixed length, or of whole episodes (`min_rollouts`), whose advantages a value
//!     function estimates (arXiv:1506.02438), instead of whole trajectories' returns, as all that compare with TRPO do
//!  2. the value function is fitted by Adam on minibatches, as in Stable-Baselines3's contributed TRPO, whose settings and
//!     scores are published
//!  3. advantages are standardised over the rollout, time-limited episodes bootstrap from the final observation
//!     (arXiv:1712.00378), and a step that is not finite is dropped and counted
//!
//! An iteration is one program, run for all stacked seeds: rollout, advantages, conjugate gradients, line search, passes of
//! the value function. Nothing is read in between.

mod config;
mod loss;

pub use config::TrpoConfig;
pub use loss::{kl, surrogate};

use super::on_policy::{OnPolicy, OnPolicyLearner, Sampled, Sampling};
use super::{ActorCritic, AlgorithmDef, Family, Held, Metrics, update_parameters};
use crate::learn::{Descent, Look};
use crate::play::Iteration;
use crate::policy::NetConfig;
use crate::settings::Settings as _;
use crate::{Result, Tensor};

/// TRPO in the register.
pub static TRPO: AlgorithmDef = AlgorithmDef::new::<TrpoConfig>(
    "trpo",
    "Trust Region Policy Optimization (arXiv:1502.05477)",
    Family::SingleTask,
    |settings, spec| Ok(Box::new(Trpo::new(&TrpoConfig::default().with(settings)?, spec)?)),
);

/// TRPO on one environment.
pub type Trpo = OnPolicyLearner<TrpoConfig>;

impl OnPolicy for TrpoConfig {
    fn validate(&self) -> Result<()> {
        TrpoConfig::validate(self)
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

    fn schedules(&self, done: u64, total: u64) -> Vec<(&'static str, f64)> {
        vec![("train/learning_rate", self.adam.rate(done, total))]
    }

    fn learn(&self, it: &mut Iteration<'_>, net: &ActorCritic, held: &Held, sampled: &Sampled<'_>) -> Metrics {
        let theta = held.get("theta");
        let data = sampled.data();

        // The policy. The value function's parameters have neither gradient nor curvature here, and so no step.
        let batch = sampled.unpack(data);
        let old = net.distribution(&net.layout.split(theta), batch.obs).stop_gradient();
        let loss = |parts: &[Tensor]| surrogate(net, parts, &batch, self.normalise_advantages); // eq. 14
        let limit = |parts: &[Tensor]| kl(net, parts, &batch, &old);
        let step = match self.curvature_share < 1.0 {
            true => {
                let rows = self.curvature_rows();
                let some = Tensor::literal_u32(&rows).unsqueeze(0).broadcast_to(&[theta.size(0), rows.len()]);
                let some = sampled.unpack(data.gather(some));
                let old = net.distribution(&net.layout.split(theta), some.obs).stop_gradient();
                self.trust_region.step_with(&net.layout, theta, loss, limit, |parts| kl(net, parts, &some, &old))
            }
            false => self.trust_region.step(&net.layout, theta, loss, limit),
        };
        let entropy = batch.mean(net.distribution(&net.layout.split(step.theta), batch.obs).entropy());

        // The value function; the policy's parameters have no gradient here, and stay.
        let passes = sampled.passes(self.critic_epochs);
        let descent = Descent {
            layout: &net.layout,
            optimiser: self.adam.optimiser().into(),
            learning_rate: it.scalar("learning_rate"),
            max_grad_norm: 0.0,
            sums: &["value_loss"],
            stop: None,
            first_norm: false,
        };
        let critic = descent.run(step.theta, held.adam(), passes.steps(), &passes.xs(), |parts, x| {
            let minibatch = sampled.unpack(data.gather(passes.index(&x)));
            let loss = minibatch.value_loss(net.value(parts, minibatch.obs), None);
            Look { loss, seen: minibatch.counted([("value_loss", loss)].into()) }
        });
        update_parameters(it, critic.theta, critic.adam);
        sampled.keep(it);
        // Updates are those of the value function, and one more if the policy made a step.
        sampled
            .metrics()
            .last("train/policy_loss", step.loss_after)
            .with(descent.means(&critic))
            .last("train/entropy", entropy)
            .last("train/kl", step.constraint)
            .last("train/step_scale", step.scale)
            .last("train/grad_norm", step.grad_norm)
            .last("train/explained_variance", sampled.explained_variance())
            .sum(Metrics::NON_FINITE, step.broken + critic.non_finite)
            .sum(Metrics::UPDATES, step.accepted + critic.updates)
    }
}
