//! Trust Region Policy Optimization.
//!
//! Schulman et al. 2015, arXiv:1502.05477, eq. 14 and appendix C.
//! Departures from the paper, each with its reason:
//!  1. advantages come from a value function (arXiv:1506.02438) on rollouts of fixed length, or of whole episodes
//!     (`min_rollouts`), instead of from whole trajectories' returns, as in other work that compares with TRPO
//!  2. the value function is fitted by an optimiser on minibatches, as in Stable-Baselines3's contributed
//!     TRPO, whose settings and scores are published
//!  3. advantages are standardised over the rollout, time-limited episodes bootstrap from the final observation
//!     (arXiv:1712.00378), and a step that is not finite is dropped and counted
//!
//! An iteration is one program, run for all stacked seeds: rollout, advantages, conjugate gradients, line search,
//! passes of the value function. Nothing is read in between. If policies remember, the surrogate, the KL and products
//! with its Hessian go through the steps of each environment in order, from the states before the rollout.

mod config;
mod surrogate;

pub use config::TrpoConfig;
pub use surrogate::{kl, surrogate};

use super::{Minibatch, OnPolicy, OnPolicyLearner, Parts, Rollout, Sampling, Stepping};
use crate::algo::{ActorCritic, AlgorithmDef, Family, Held, Metrics, Together};
use crate::learn::{Between, Descent, Turn};
use crate::optim::{Optimiser, Progress, Trained, TrustProblem, TrustRegion};
use crate::play::Iteration;
use crate::settings::Settings as _;
use crate::{Result, Tensor};

/// TRPO in the register.
pub static TRPO: AlgorithmDef = AlgorithmDef {
    presets: crate::algo::presets!("trpo/presets.toml"),
    ..AlgorithmDef::new::<TrpoConfig>(
        "trpo",
        "Trust Region Policy Optimization (arXiv:1502.05477)",
        Family::SingleTask,
        |settings, spec| Ok(Box::new(Trpo::new(&TrpoConfig::default().with(settings)?, spec)?)),
    )
};

/// TRPO on an environment.
pub type Trpo = OnPolicyLearner<TrpoConfig>;

impl OnPolicy for TrpoConfig {
    fn parts(&self) -> Parts<'_> {
        Parts {
            sampling: &self.sampling,
            net: &self.net,
            memory: self.memory,
            stepping: Stepping::Value,
            entries: Vec::new(),
            baseline: None,
        }
    }

    fn sampling_mut(&mut self) -> &mut Sampling {
        &mut self.sampling
    }

    fn validate(&self) -> Result<()> {
        TrpoConfig::validate(self)
    }

    fn schedules(&self, at: Progress) -> Vec<(&'static str, f64)> {
        vec![("train/learning_rate", self.optimiser.rate(at))]
    }

    fn together(&self) -> Together {
        Together::No("a trust region's step is not joined over ranks; train ppo, a2c or vpg, or one seed on each rank")
    }

    fn iteration(&self, nets: &ActorCritic, it: &mut Iteration<'_>, held: &Held, turn: Option<&dyn Turn>) -> Metrics {
        let rollout = Rollout::collect(&self.sampling, nets, it, held);
        let update = TrustRegionUpdate {
            trust_region: &self.trust_region,
            curvature_share: self.curvature_share,
            normalise_advantages: self.normalise_advantages,
            optimiser: self.optimiser.rule(),
            critic_epochs: self.critic_epochs,
            critic_max_grad_norm: 0.0,
        };
        update.learn(&rollout, it, held, turn)
    }
}

/// The rules of a policy's step within a trust region, and of the value function's steps after it.
#[derive(Clone, Copy, Debug)]
pub struct TrustRegionUpdate<'a> {
    /// The rules of the policy's step.
    pub trust_region: &'a TrustRegion,
    /// The share of a rollout's rows from which the KL's Hessian is computed, at even distances. A row is a step, or an
    /// environment if networks remember.
    pub curvature_share: f64,
    /// True if advantages are standardised over the rollout.
    pub normalise_advantages: bool,
    /// The optimiser of the value function, whose learning rate is the iteration's scalar `learning_rate`.
    pub optimiser: Optimiser,
    /// The number of the value function's passes over the rollout.
    pub critic_epochs: usize,
    /// The norm to which longer gradients of the value function are scaled down; 0 for no limit.
    pub critic_max_grad_norm: f64,
}

impl TrustRegionUpdate<'_> {
    /// Learns from a rollout, and writes the new state.
    #[track_caller]
    pub fn learn(
        &self,
        rollout: &Rollout<'_>,
        it: &mut Iteration<'_>,
        held: &Held,
        turn: Option<&dyn Turn>,
    ) -> Metrics {
        let (nets, theta) = (rollout.nets, held.theta());
        let credit = rollout.credit(&rollout.values, None);
        let rows = rollout.rows(&credit);
        let policy = |theta: Tensor, batch: &Minibatch| {
            nets.distribution_of(&nets.layout.split(theta), batch.obs, batch.sequences.as_ref())
        };

        // In the policy's step, the value function's parameters have neither gradient nor curvature, and so do not
        // move.
        let batch = rollout.minibatch(rows);
        let old = policy(theta, &batch).stop_gradient();
        let loss = |parts: &[Tensor]| surrogate(nets, parts, &batch, self.normalise_advantages); // eq. 14
        let limit = |parts: &[Tensor]| kl(nets, parts, &batch, &old);
        let turn = turn.map(|turn| move |g: Tensor| turn.turn(theta, g) * (1.0 / turn.own_weight()));
        let turn = turn.as_ref().map(|turn| turn as &dyn Fn(Tensor) -> Tensor);
        let problem = TrustProblem { loss: &loss, constraint: &limit, curvature: None, turn };
        let step = match self.curvature_share < 1.0 {
            true => {
                let some = curvature_rows(rollout.passes(1, rollout.sampling.split()).rows, self.curvature_share);
                let some = Tensor::literal_u32(&some).unsqueeze(0).broadcast_to(&[theta.size(0), some.len()]);
                let some = rollout.minibatch(rows.gather(some));
                let old = policy(theta, &some).stop_gradient();
                let curvature = |parts: &[Tensor]| kl(nets, parts, &some, &old);
                self.trust_region.solve(&nets.layout, theta, &TrustProblem { curvature: Some(&curvature), ..problem })
            }
            false => self.trust_region.solve(&nets.layout, theta, &problem),
        };
        let entropy = batch.mean(policy(step.theta, &batch).entropy());

        // In the value function's steps, the policy's parameters have no gradient, and so do not move.
        let descent = Descent {
            layout: &nets.layout,
            optimiser: self.optimiser,
            learning_rate: it.scalar("learning_rate"),
            max_grad_norm: self.critic_max_grad_norm,
            sums: &["value_loss"],
            stop: None,
        };
        let critic = Trained { theta: step.theta, ..held.trained() };
        let passes = rollout.passes(self.critic_epochs, rollout.sampling.split());
        let critic = rollout.fit_values(it, Between::default(), &descent, critic, &passes, &credit);
        nets.groups().keep(it, &[critic.trained]);
        rollout.keep(it);
        // The updates are those of the value function, and one more if the policy made a step.
        rollout
            .metrics()
            .last("train/policy_loss", step.loss_after)
            .with(descent.means(&critic))
            .last("train/entropy", entropy)
            .last("train/kl", step.constraint)
            .last("train/step_scale", step.scale)
            .last("train/grad_norm", step.grad_norm)
            .last("train/explained_variance", rollout.explained_variance(&credit))
            .sum(Metrics::NON_FINITE, step.broken + critic.non_finite)
            .sum(Metrics::UPDATES, step.accepted + critic.updates)
    }
}

/// The rows from which the Hessian is computed, among `all` rows, in order.
fn curvature_rows(all: usize, share: f64) -> Vec<u32> {
    let some = ((all as f64 * share).ceil() as usize).clamp(1, all.max(1));
    (0..some).map(|i| (i * all / some) as u32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_the_curvature_are_at_even_distances() {
        let rows = |share: f64| curvature_rows(10, share);
        assert_eq!((rows(0.3), rows(1e-9), rows(0.5)), (vec![0, 3, 6], vec![0], vec![0, 2, 4, 6, 8]));
        assert_eq!(rows(1.0), (0..10).collect::<Vec<u32>>());
    }
}
