//! Counts of episodes that run on from one rollout to the next.

use super::Held;
use super::episodes::running_return;
use crate::Tensor;
use crate::learn::Metrics;
use crate::play::Ends;
use crate::tensor::{CompensatedSum, scan_tree};

/// Episodes that run on from one rollout to the next, and sums over those that ended, `[S, N, 1]` each.
#[derive(Clone, Debug)]
pub(in crate::algo) struct Count {
    /// Steps of the running episodes, u32.
    pub steps: Tensor,
    /// Returns of the running episodes so far.
    pub ep_return: CompensatedSum,
    /// Discounted returns of the running episodes so far, for the scale of rewards.
    pub discounted: Tensor,
    /// The number of episodes that ended.
    pub episodes: Tensor,
    /// The sum of their returns.
    pub returns: Tensor,
    /// The sum of their lengths.
    pub lengths: Tensor,
}

crate::tree!(Count: steps, ep_return, discounted, episodes, returns, lengths);

impl Count {
    /// A count that begins with new episodes; `rows` is `[S, N]`.
    pub fn new(rows: [usize; 2]) -> Count {
        Count::of(&Held::default(), rows)
    }

    /// A count that continues the episodes of a state, `rows: [S, N]`, or begins with new ones if the state holds none.
    pub fn of(held: &Held, [s, n]: [usize; 2]) -> Count {
        let zero = || Tensor::zeros(&[s, n, 1]);
        let ep_return = running_return(held).unwrap_or_else(|| zero().into());
        let discounted = held.find("discounted").unwrap_or_else(zero);
        let none = || Tensor::constant_u32(0).broadcast_to(&[s, n, 1]);
        Count::from(held.find("env_steps").unwrap_or_else(none), ep_return, discounted)
    }

    /// A count, before any episode has ended, of episodes with these numbers of steps (u32) and returns so far.
    pub fn from(steps: Tensor, ep_return: CompensatedSum, discounted: Tensor) -> Count {
        let zero = Tensor::zeros(&discounted.shape());
        Count { steps, ep_return, discounted, episodes: zero, returns: zero, lengths: zero }
    }

    /// Counts T more steps with these rewards and ends, `[T, S, N, 1]` each. Also gives each step's discounted return,
    /// and the return of the episode that ended with it, in the form of [`Metrics::returns`].
    #[track_caller]
    pub fn over(&self, reward: Tensor, ends: Ends, gamma: f64) -> (Count, (Tensor, CompensatedSum)) {
        let (none, one) = (Tensor::constant_f32(0.0), Tensor::constant_u32(1));
        let (count, of_steps) = scan_tree(reward.size(0), self, &(reward, ends), |_, now: Count, (reward, ends)| {
            let ended = ends.ended();
            let (ep_return, discounted) = (now.ep_return.plus(reward), now.discounted * gamma + reward);
            let length = now.steps + one;
            let next = Count {
                steps: ended.select(Tensor::constant_u32(0), length),
                ep_return: ep_return.map(|x| ended.select(none, x)),
                discounted: ended.select(none, discounted),
                episodes: now.episodes + ended.to_f32(),
                returns: now.returns + ended.select(ep_return.sum, none),
                lengths: now.lengths + ended.select(length.to_f32(), none),
            };
            (next, (discounted, Metrics::return_where(ended, ep_return)))
        });
        let poison = Tensor::poison();
        (count, of_steps.unwrap_or((poison, CompensatedSum { sum: poison, rest: poison })))
    }

    /// Metrics of the episodes that ended; `ended: [T, S, N, 1]` comes from [`over`](Count::over).
    #[track_caller]
    pub fn metrics(&self, ended: CompensatedSum, [t, s, n]: [usize; 3]) -> Metrics {
        let sum = |x: Tensor| x.sum_keep(1).reshape(&[s, 1]);
        let returns = ended.map(|x| x.permute(&[1, 0, 2, 3]).reshape(&[s, t * n]));
        Metrics::of_episodes(sum(self.episodes), sum(self.returns), sum(self.lengths)).returns(returns, t * n)
    }
}
