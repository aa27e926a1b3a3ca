//! Minibatches of a rollout: the rows that a step of a network learns from.

#[cfg(test)]
mod tests;

use crate::Tensor;
use crate::algo::ActorCritic;
use crate::learn::{Look, Passes, by_seed};
use crate::nn::MemoryCell;
use crate::tensor::Named;

use super::{Rollout, Sequences, StepCredit};

/// The rows of a rollout that a step learns from, `[S, B, …]`.
///
/// The policy that drew the actions has the slices of `held.theta()`, where `held` is the state before the iteration.
#[derive(Clone, Copy, Debug)]
pub struct Minibatch {
    /// Observations as the networks get them, `[S, B, O]`.
    pub obs: Tensor,
    /// Actions as drawn, `[S, B, A]`.
    pub action: Tensor,
    /// Their joint log-probabilities when drawn, `[S, B, 1]`.
    pub logp_old: Tensor,
    /// Values when drawn, `[S, B, 1]`.
    pub value_old: Tensor,
    /// Advantages, `[S, B, 1]`.
    pub advantage: Tensor,
    /// Value targets, `[S, B, 1]`.
    pub returns: Tensor,
    /// The order of its rows, if networks remember.
    pub sequences: Option<Sequences>,
    /// 1 for rows that count, 0 for rows behind the last episode and for padding, u32 `[S, B, 1]`; none if all count.
    pub valid: Option<Tensor>,
}

impl Minibatch {
    /// `x: [S, B, ·]` in rows that count, 0 elsewhere.
    #[track_caller]
    pub fn only(&self, x: Tensor) -> Tensor {
        self.valid.map_or(x, |valid| valid.select(x, Tensor::constant_f32(0.0)))
    }

    /// The number of rows that count, `[S, 1]`; none if all do.
    #[track_caller]
    fn rows(&self) -> Option<Tensor> {
        self.valid.map(|valid| valid.to_f32().sum_keep(1).reshape(&[valid.size(0), 1]))
    }

    /// Adds the number of rows that count, if not all do, to the numbers that are seen of this minibatch.
    #[track_caller]
    pub fn counted(&self, seen: Named) -> Named {
        match self.rows() {
            Some(rows) => seen.and(Look::ROWS, rows),
            None => seen,
        }
    }

    /// The minibatch of which only some of the drawn rows count: where `counted`, u32 `[S, B, 1]`, is 1. A drawn row is
    /// a step, or all steps of an environment if networks remember.
    #[track_caller]
    fn padded(self, counted: Tensor) -> Minibatch {
        let (seeds, drawn, rows) = (counted.size(0), counted.size(1), self.obs.size(1));
        let steps = rows / drawn.max(1);
        let counted = counted.reshape(&[seeds, 1, drawn, 1]).broadcast_to(&[seeds, steps, drawn, 1]);
        let counted = counted.reshape(&[seeds, rows, 1]);
        Minibatch { valid: Some(self.valid.map_or(counted, |valid| valid.bit_and(counted))), ..self }
    }

    /// The mean over the rows that count: `[S, B, 1]` → `[S, 1]`. It does not depend on the number of others.
    #[track_caller]
    pub fn mean(&self, x: Tensor) -> Tensor {
        match self.rows() {
            Some(rows) => self.only(x).sum_keep(1).reshape(&rows.shape()) / rows.max(Tensor::constant_f32(1.0)),
            None => mean(x),
        }
    }

    /// The advantages, [standardised](standardise) over the rows that count if `standardised` is true.
    #[track_caller]
    pub fn advantages(&self, standardised: bool) -> Tensor {
        if standardised { standardise(self.advantage, self.valid) } else { self.advantage }
    }
}

impl Rollout<'_> {
    /// Puts all that an update needs of each step in one row, `[S, T · N, O + A + 4]`, so that a minibatch is one
    /// gather. If networks remember, a row has all steps of an environment, and the states of its memories before:
    /// `[S, N, T · (O + A + 5) + W + W]`. In whole episodes a step has one more number: 1 if it counts, else 0.
    #[track_caller]
    pub fn rows(&self, credit: &StepCredit) -> Tensor {
        let mut rest = vec![self.action, self.logp, self.values.seen, credit.advantages, credit.targets];
        rest.extend(self.valid.map(Tensor::to_f32));
        let rest = Tensor::concat(&rest, 3);
        match &self.sequences {
            None => Tensor::concat(&[self.seen, by_seed(rest)], 2),
            Some(Sequences { starts, states }) => {
                let rest = Tensor::concat(&[rest, starts.to_f32()], 3);
                let shape = rest.shape();
                let [t, s, n, _] = shape[..] else { return Tensor::poison() };
                let steps = Tensor::concat(&[self.seen, by_seed(rest)], 2);
                let width = steps.size(2);
                let steps = steps.reshape(&[s, t, n, width]).permute(&[0, 2, 1, 3]).reshape(&[s, n, t * width]);
                Tensor::concat(&[steps, states[0], states[1]], 2)
            }
        }
    }

    /// Draws a minibatch from all [rows](Rollout::rows), by its element of [`Passes::xs`].
    #[track_caller]
    pub fn drawn(&self, rows: Tensor, passes: &Passes, x: &[Tensor; 2]) -> Minibatch {
        let minibatch = self.minibatch(rows.gather(passes.index(x)));
        passes.counted(x).map_or(minibatch, |counted| minibatch.padded(counted))
    }

    /// Takes some of the [rows](Rollout::rows) apart.
    #[track_caller]
    pub fn minibatch(&self, rows: Tensor) -> Minibatch {
        let whole_episodes = self.valid.is_some();
        unpack(self.nets, rows, whole_episodes)
    }
}

/// The inverse of [`Rollout::rows`]; with `whole_episodes`, not all steps count.
fn unpack(net: &ActorCritic, rows: Tensor, whole_episodes: bool) -> Minibatch {
    let (o, a) = (net.observations(), net.actions());
    let numbers = o + a + 4 + usize::from(whole_episodes);
    let (rows, sequences) = match net.cells() {
        None => (rows, None),
        Some(cells) => {
            let (s, b, width) = (rows.size(0), rows.size(1), numbers + 1);
            let [policy, value] = cells.map(MemoryCell::width);
            let steps = rows.size(2).saturating_sub(policy + value);
            let part = |lo: usize, len: usize| rows.slice(2, lo, lo + len);
            let states = [part(steps, policy), part(steps + policy, value)];
            let steps = part(0, steps).reshape(&[s, b, steps / width, width]).permute(&[2, 0, 1, 3]);
            let starts = steps.slice(3, width - 1, width).gt(Tensor::constant_f32(0.5));
            (by_seed(steps), Some(Sequences { starts, states }))
        }
    };
    let part = |lo: usize, len: usize| rows.slice(2, lo, lo + len);
    Minibatch {
        obs: part(0, o),
        action: part(o, a),
        logp_old: part(o + a, 1),
        value_old: part(o + a + 1, 1),
        advantage: part(o + a + 2, 1),
        returns: part(o + a + 3, 1),
        sequences,
        valid: whole_episodes.then(|| part(o + a + 4, 1).gt(Tensor::constant_f32(0.5))),
    }
}

/// Standardises advantages `[S, B, 1]` to zero mean and unit (biased) deviation over all rows, or over the rows where
/// `valid`, u32 `[S, B, 1]`, is not 0.
#[track_caller]
pub fn standardise(advantage: Tensor, valid: Option<Tensor>) -> Tensor {
    let rows = match valid {
        Some(valid) => Averaged::Counted { valid, rows: valid.to_f32().sum_keep(1).max(Tensor::constant_f32(1.0)) },
        None => Averaged::All(1.0 / advantage.size(1) as f64),
    };
    let centred = advantage - rows.mean(advantage);
    let std = rows.mean(centred.square()).sqrt();
    centred * (std + 1e-8).recip()
}

/// The rows that are averaged.
enum Averaged {
    /// All rows: 1 over their number.
    All(f64),
    /// The rows that count, and their number.
    Counted { valid: Tensor, rows: Tensor },
}

impl Averaged {
    /// The mean over the rows: `[S, B, 1]` → `[S, 1, 1]`.
    #[track_caller]
    fn mean(&self, x: Tensor) -> Tensor {
        match *self {
            Averaged::All(share) => x.sum_keep(1) * share,
            Averaged::Counted { valid, rows } => valid.select(x, Tensor::constant_f32(0.0)).sum_keep(1) / rows,
        }
    }
}

/// The mean over the batch: `[S, B, 1]` → `[S, 1]`.
#[track_caller]
pub fn mean(x: Tensor) -> Tensor {
    let n = x.size(1) as f64;
    x.sum_keep(1).reshape(&[x.size(0), 1]) * (1.0 / n)
}
