//! Iterations of whole episodes, as Pyrado's samplers collect them.

use super::{Actors, Carried, OffPolicyLearner};
use crate::Tensor;
use crate::algo::off_policy::shared::{OffPolicy, period};
use crate::algo::{Count, merge_steps};
use crate::dist::fold_in;
use crate::learn::{Metrics, by_environment};
use crate::play::{Amount, Cast, Iteration};
use crate::replay::Transitions;
use crate::rng::streams;

impl<C: OffPolicy> OffPolicyLearner<C> {
    /// Makes an iteration in which each environment plays its share of whole episodes, beginning with a new one, and
    /// updates follow. Steps beyond an environment's share, made while others are not done, are not remembered.
    pub(super) fn pass_of_episodes(
        &self,
        it: &mut Iteration<'_>,
        cast: &Actors<'_>,
        Carried { learner, stored, statistics }: Carried<C::Learner>,
        amount: Amount,
    ) -> (Carried<C::Learner>, Metrics) {
        let Actors { policy, rates, key, acts, learns } = cast;
        let replay = self.algorithm.replay();
        let (rows, room) = ([it.seeds(), replay.envs], it.room(amount.most(self.horizon)));
        let acting = self.acting(&learner, rates, statistics.as_ref());
        let episodes = fold_in(fold_in(it.key(), Tensor::constant_u32(streams::EPISODES)), it.number());
        let lasting = *acts && self.algorithm.noise_lasts();
        let played = Cast { policy: &**policy, acting: &acting, rows };
        let steps = it.own_episodes(played, episodes, amount, room, lasting).steps;

        let valid = steps.valid;
        let ends = steps.ends().of_valid(valid);
        let first = Count::new(rows);
        let (count, (_, ended)) = first.over(steps.reward, ends, 1.0);
        let new = Transitions {
            obs: by_environment(steps.obs),
            action: by_environment(steps.action),
            next_obs: by_environment(steps.next_obs),
            reward: by_environment(steps.reward),
            terminated: by_environment(steps.terminated.to_f32()),
        };
        let statistics = statistics.map(|before| merge_steps(it, before, steps.obs, Some(valid)));
        let (valid, numbers) = (by_environment(valid), by_environment(ends.step_numbers(first.steps)));
        let stored = self.memory.push_valid(stored, &new, numbers, valid);
        let made = valid.to_f32().sum_keep(1).reshape(&[rows[0], 1]);
        let metrics = count.metrics(ended, [room.steps, rows[0], rows[1]]).sum(Metrics::STEPS, made);
        if !learns {
            return (Carried { learner, stored, statistics }, metrics);
        }
        // Kinds of updates continue from one iteration to the next.
        let before = (replay.warm_up(self.horizon) as u32).wrapping_add(1).wrapping_neg();
        let pass = period::pass(it.number() + Tensor::constant_u32(before), self.passes_of_a_period());
        let key = fold_in(*key, Tensor::constant_u32(0));
        let from = (learner, stored, statistics.as_ref());
        let ((learner, stored), learned) = self.updates(it, rates, from, pass, key);
        (Carried { learner, stored, statistics }, metrics.with(learned))
    }
}
