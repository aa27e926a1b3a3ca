//! Counts of collected episodes, for metrics.

use crate::Tensor;
use crate::algo::Metrics;
use crate::play::Steps;
use crate::tensor::scan_tree;

/// Counts of whole episodes.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    /// The number of episodes, the sum of their returns, and the sum of their lengths, `[S, 1]` each.
    sums: [Tensor; 3],
    /// Returns of the episodes that ended, in order of steps, as [`Metrics::returns`] takes them: `[S, ·]`.
    returns: Tensor,
}

impl Tally {
    /// Counts the episodes of steps `[T, S · M, 1, …]`.
    pub(super) fn of(steps: &Steps, [seeds, m]: [usize; 2]) -> Tally {
        let t = steps.reward.size(0);
        let ended = steps.valid.bit_and(steps.terminated.bit_or(steps.truncated));
        let over = |x: Tensor| x.reshape(&[t, seeds, m]).sum_keep(0).sum_keep(2).reshape(&[seeds, 1]);
        let [none, nothing] = [Metrics::NOT_ENDED, 0.0].map(Tensor::constant_f32);
        let first = Tensor::zeros(&[seeds * m, 1, 1]);
        let (_, returns) = scan_tree(t, &first, &[steps.reward, ended], |_, so_far, [reward, ended]| {
            let so_far: Tensor = so_far + reward;
            (ended.select(nothing, so_far), ended.select(so_far, none))
        });
        let returns = returns.unwrap_or(Tensor::poison()).reshape(&[t, seeds, m]).permute(&[1, 0, 2]);
        let sums = [over(ended.to_f32()), over(steps.reward), over(steps.valid.to_f32())];
        Tally { sums, returns: returns.reshape(&[seeds, t * m]) }
    }

    /// Adds two tallies.
    pub(super) fn and(self, other: Tally) -> Tally {
        let sums = std::array::from_fn(|i| self.sums[i] + other.sums[i]);
        Tally { sums, returns: Tensor::concat(&[self.returns, other.returns], 1) }
    }
}

/// Metrics of all episodes, of those by the prior and of those by the belief.
pub(super) fn metrics(rounds: [Option<Tally>; 2]) -> Metrics {
    let Some(Tally { sums: [count, returns, made], returns: each }) =
        rounds.iter().flatten().cloned().reduce(Tally::and)
    else {
        return Metrics::default();
    };
    let names = ["meta/prior_return", "meta/belief_return"];
    let all = Metrics::of_episodes(count, returns, made).returns(each, each.size(1)).sum(Metrics::STEPS, made);
    names.into_iter().zip(rounds).fold(all, |all, (name, round)| match round {
        Some(Tally { sums: [count, returns, _], .. }) => all.last(name, returns / count),
        None => all,
    })
}
