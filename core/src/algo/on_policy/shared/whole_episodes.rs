//! Rollouts of whole episodes.

use crate::Tensor;
use crate::algo::{ActorCritic, Held};
use crate::dist::fold_in;
use crate::play::{Amount, Cast, Iteration, Room};
use crate::policy::Normalised;
use crate::rng::streams;

use super::rollout::span;
use super::{Rollout, Sampling};

impl<'a> Rollout<'a> {
    /// Plays whole episodes, beginning with new ones.
    pub(super) fn collect_episodes(
        sampling: &Sampling,
        nets: &'a ActorCritic,
        it: &mut Iteration<'_>,
        held: &Held,
        amount: Amount,
    ) -> Rollout<'a> {
        let (most, limit) = (sampling.horizon, it.spec().horizon);
        let room = it.room(most);
        let sampling = &if room.is_limited() { sampling.with_steps(room.steps, limit) } else { *sampling };
        let Sampling { horizon, envs, .. } = *sampling;
        let (key, acting) = (it.key(), nets.acting(held));
        let rows = [key[0].size(0), envs];
        let stream = fold_in(fold_in(key, Tensor::constant_u32(streams::EPISODES)), it.number());
        let policy = Normalised(&nets.policy);
        let cast = Cast { policy: &policy, acting: &acting, rows };
        let mut played = it.own_episodes(cast, stream, amount, Room { steps: horizon, most }, false);
        let steps = &mut played.steps;
        let (valid, none) = (steps.valid, Tensor::constant_f32(0.0));
        // An environment that runs on behind its last episode may reach any state, so those observations are not even
        // looked at.
        for x in [&mut steps.obs, &mut steps.next_obs, &mut steps.action] {
            *x = valid.select(*x, none);
        }
        let said =
            |(name, x): (&'static str, Tensor)| (name, if name == "log_prob" { valid.select(x, none) } else { x });
        steps.extras = steps.extras.iter().map(said).collect();
        if let ([t, s, n, o], true) = (&steps.next_obs.shape()[..], it.in_program()) {
            // On a device, only the time limit cuts off here, at most once in a span. On the host an episode may be cut
            // off in every step.
            let spans = horizon / span(sampling, limit);
            let cut = steps.truncated.select(steps.next_obs, none).reshape(&[spans, t / spans, *s, *n, *o]);
            played.cut_obs = Some(cut.sum_keep(1).reshape(&[spans, *s, *n, *o]));
        } else {
            played.cut_obs = Some(steps.next_obs);
        }
        let memories = nets.cells().map(|cells| cells.map(|cell| cell.initial(&acting.parts, rows)));
        let mut rollout = Rollout::of(sampling, nets, it, held, acting.clone(), &played, memories);
        rollout.valid = Some(valid);
        rollout.most_steps = most;
        rollout.rewarded(it, held)
    }
}
