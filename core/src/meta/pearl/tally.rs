//! Counts of collected episodes, for metrics.

use crate::Tensor;
use crate::algo::Metrics;
use crate::play::Steps;
use crate::tensor::{CompensatedSum, scan_tree};

/// Counts of whole episodes.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    /// The number of episodes, the sum of their returns, and the sum of their lengths, `[S, 1]` each.
    sums: [Tensor; 3],
    /// Returns of the episodes that ended, in order of steps, as [`Metrics::returns`] takes them: `[S, ·]`.
    returns: CompensatedSum,
}

impl Tally {
    /// Counts the episodes of steps `[T, S · M, 1, …]`.
    pub(super) fn of(steps: &Steps, [seeds, m]: [usize; 2]) -> Tally {
        let t = steps.reward.size(0);
        let ended = steps.valid.bit_and(steps.terminated.bit_or(steps.truncated));
        let over = |x: Tensor| x.reshape(&[t, seeds, m]).sum_keep(0).sum_keep(2).reshape(&[seeds, 1]);
        let nothing = Tensor::constant_f32(0.0);
        let first = CompensatedSum::zeros(&[seeds * m, 1, 1]);
        let (_, returns) =
            scan_tree(t, &first, &[steps.reward, ended], |_, so_far: CompensatedSum, [reward, ended]| {
                let so_far = so_far.plus(reward);
                (so_far.map(|x| ended.select(nothing, x)), Metrics::return_where(ended, so_far))
            });
        let returns = returns.unwrap_or(Tensor::poison().into());
        let by_seed = |x: Tensor| x.reshape(&[t, seeds, m]).permute(&[1, 0, 2]).reshape(&[seeds, t * m]);
        let sums = [over(ended.to_f32()), over(steps.reward), over(steps.valid.to_f32())];
        Tally { sums, returns: returns.map(by_seed) }
    }

    /// Adds two tallies.
    pub(super) fn and(self, other: Tally) -> Tally {
        let sums = std::array::from_fn(|i| self.sums[i] + other.sums[i]);
        let (one, more) = (self.returns, other.returns);
        let returns = CompensatedSum {
            sum: Tensor::concat(&[one.sum, more.sum], 1),
            rest: Tensor::concat(&[one.rest, more.rest], 1),
        };
        Tally { sums, returns }
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
    let all = Metrics::of_episodes(count, returns, made).returns(each, each.sum.size(1)).sum(Metrics::STEPS, made);
    names.into_iter().zip(rounds).fold(all, |all, (name, round)| match round {
        Some(Tally { sums: [count, returns, _], .. }) => all.last(name, returns / count),
        None => all,
    })
}
