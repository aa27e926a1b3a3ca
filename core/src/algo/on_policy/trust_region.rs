//! The update that TRPO makes from a rollout.

use super::{Minibatch, Sampled, kl, surrogate};
use crate::Tensor;
use crate::algo::{ActorCritic, Held, Metrics, update_parameters};
use crate::learn::{Descent, Look};
use crate::optim::{Optimiser, TrustProblem, TrustRegion};
use crate::play::Iteration;

/// A step of the policy inside of a trust region, then steps of the value function.
///
/// Where a [`Turn`](crate::learn::Turn) changes the policy's gradient, the trust region's direction is that of the
/// changed one.
#[derive(Clone, Copy, Debug)]
pub struct TrustRegionUpdate<'a> {
    /// The policy's step.
    pub trust_region: &'a TrustRegion,
    /// Share of a rollout's rows that the KL's Hessian is of, at even distances: of its steps, or of its environments
    /// where networks remember.
    pub curvature_share: f64,
    /// The rule of the value function's steps, whose size is the iteration's scalar `learning_rate`.
    pub optimiser: Optimiser,
    /// Passes over the rollout in which the value function makes them.
    pub critic_epochs: usize,
    /// Longer gradients of the value function are scaled down to this norm; 0 for no limit.
    pub critic_max_grad_norm: f64,
    /// Standardise advantages over the rollout.
    pub normalise_advantages: bool,
}

impl TrustRegionUpdate<'_> {
    /// Learns from a rollout, and keeps the new state.
    #[track_caller]
    pub fn learn(&self, it: &mut Iteration<'_>, net: &ActorCritic, held: &Held, sampled: &Sampled<'_>) -> Metrics {
        let theta = held.get("theta");
        let data = sampled.data();
        let passes = sampled.passes(self.critic_epochs);
        let policy = |theta: Tensor, batch: &Minibatch| {
            net.distribution_of(&net.layout.split(theta), batch.obs, batch.sequences.as_ref())
        };

        // The policy. The value function's parameters have neither gradient nor curvature here, and so no step.
        let batch = sampled.unpack(data);
        let old = policy(theta, &batch).stop_gradient();
        let loss = |parts: &[Tensor]| surrogate(net, parts, &batch, self.normalise_advantages); // eq. 14
        let limit = |parts: &[Tensor]| kl(net, parts, &batch, &old);
        let turn = sampled.turn.map(|turn| move |g: Tensor| turn.turn(theta, g) * (1.0 / turn.own_weight()));
        let turn = turn.as_ref().map(|turn| turn as &dyn Fn(Tensor) -> Tensor);
        let problem = TrustProblem { loss: &loss, constraint: &limit, curvature: None, turn };
        let step = match self.curvature_share < 1.0 {
            true => {
                let rows = curvature_rows(passes.rows, self.curvature_share);
                let some = Tensor::literal_u32(&rows).unsqueeze(0).broadcast_to(&[theta.size(0), rows.len()]);
                let some = sampled.unpack(data.gather(some));
                let old = policy(theta, &some).stop_gradient();
                let curvature = |parts: &[Tensor]| kl(net, parts, &some, &old);
                self.trust_region.solve(&net.layout, theta, &TrustProblem { curvature: Some(&curvature), ..problem })
            }
            false => self.trust_region.solve(&net.layout, theta, &problem),
        };
        let entropy = batch.mean(policy(step.theta, &batch).entropy());

        // The value function; the policy's parameters have no gradient here, and stay.
        let descent = Descent {
            layout: &net.layout,
            optimiser: self.optimiser,
            learning_rate: it.scalar("learning_rate"),
            max_grad_norm: self.critic_max_grad_norm,
            sums: &["value_loss"],
            stop: None,
            first_norm: false,
        };
        let critic = descent.run(step.theta, held.adam(), passes.steps(), &passes.xs(), |parts, x| {
            let minibatch = sampled.unpack(data.gather(passes.index(&x)));
            let value = net.value_of(parts, minibatch.obs, minibatch.sequences.as_ref());
            let loss = minibatch.value_loss(value, None);
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

/// The rows that the Hessian is of, of so many, in order.
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
