//! Mean and deviation of advantages over the rollouts of all ranks that train together.

use super::{Minibatch, Rollout};
use crate::Tensor;
use crate::learn::Passes;
use crate::play::Iteration;
use crate::tensor::scan_tree;

/// The mean, the biased variance and the number of the rows `[S, B, 1]` that count: `[S, 3]`.
#[track_caller]
pub(super) fn moments_of(x: Tensor, valid: Option<Tensor>) -> Tensor {
    let seeds = x.size(0);
    let (rows, only): (Tensor, &dyn Fn(Tensor) -> Tensor) = match &valid {
        Some(valid) => (valid.to_f32().sum_keep(1), &|x| valid.select(x, Tensor::constant_f32(0.0))),
        None => (Tensor::full(&[seeds, 1, 1], x.size(1) as f64), &|x| x),
    };
    let share = rows.max(Tensor::constant_f32(1.0)).recip();
    let mean = only(x).sum_keep(1) * share;
    let variance = only((x - mean).square()).sum_keep(1) * share;
    Tensor::concat(&[mean, variance, rows], 2).reshape(&[seeds, 3])
}

/// Merges [moments](moments_of) of all ranks: `[K, S, 3]` → mean and deviation, `[K, S, 2]`.
#[track_caller]
pub(super) fn merged_over_ranks(it: &mut Iteration<'_>, own: Tensor) -> Tensor {
    let all = it.of_ranks(&[own])[0];
    let [mean, variance, rows] = [0, 1, 2].map(|at| all.slice(3, at, at + 1));
    let whole = rows.sum_keep(0).max(Tensor::constant_f32(1.0));
    let joint = (mean * rows).sum_keep(0) / whole;
    let variance = ((variance + (mean - joint).square()) * rows).sum_keep(0) / whole;
    let merged = Tensor::concat(&[joint, variance.sqrt()], 3);
    merged.reshape(&merged.shape()[1..])
}

/// Standardises advantages `[S, B, 1]` by a mean and a deviation, `[S, 2]`.
#[track_caller]
pub(super) fn standardise_by(x: Tensor, moments: Tensor) -> Tensor {
    let [mean, deviation] = [0, 1].map(|at| moments.slice(1, at, at + 1).unsqueeze(2));
    (x - mean) * (deviation + 1e-8).recip()
}

impl Minibatch {
    /// The minibatch with its advantages standardised by a mean and a deviation, `[S, 2]`.
    #[track_caller]
    pub(super) fn standardised_by(self, moments: Tensor) -> Minibatch {
        Minibatch { advantage: standardise_by(self.advantage, moments), ..self }
    }
}

impl Rollout<'_> {
    /// The mean and the deviation of the advantages of each step's minibatches, those of all ranks: `[steps, S, 2]`.
    #[track_caller]
    pub(super) fn moments_of_ranks(&self, it: &mut Iteration<'_>, rows: Tensor, passes: &Passes) -> Tensor {
        let ((), own) = scan_tree(passes.steps(), &(), &passes.xs(), |_, (), x| {
            let Minibatch { advantage, valid, .. } = self.drawn(rows, passes, &x);
            ((), moments_of(advantage, valid))
        });
        merged_over_ranks(it, own.unwrap_or(Tensor::poison()))
    }
}
