//! How trials become a better policy.

use super::collect::Trials;
use super::config::Rl2Config;
use super::learner::Rl2Net;
use super::loss::{TrialBatch, losses};
use crate::Tensor;
use crate::dist::fold_in;
use crate::grad::value_and_grad_with;
use crate::meta::weighted;
use crate::optim::{Adam, AdamState, clip_by_norm, norm};
use crate::policy::RecurrentPolicy;
use crate::sample::{Paths, explained_variance};
use crate::tensor::{Loop, scan};

/// Trials with advantages and value targets, `[T, S, M, ·]`.
pub(super) struct Data {
    paths: Paths,
    logp: Tensor,
    advantage: Tensor,
    /// What a learned value is to predict.
    target: Tensor,
    /// How well the values predict the returns, `[S, 1]`.
    pub explained: Tensor,
}

impl Data {
    pub fn new(config: &Rl2Config, trials: &Trials) -> Data {
        let credit = config.credit(trials);
        let rows = RecurrentPolicy::by_rows;
        Data {
            paths: trials.paths,
            logp: trials.logp,
            advantage: credit.advantage,
            target: credit.target,
            explained: explained_variance(rows(credit.values), rows(credit.returns)),
        }
    }

    /// All that an update needs of each trial in one row, `[S, M, T · (I + A + 4)]`: one gather per minibatch.
    fn rows(&self) -> Tensor {
        let all =
            [self.paths.obs, self.paths.action, self.logp, self.advantage, self.target, self.paths.valid.to_f32()];
        let all = Tensor::concat(&all, 3);
        let (t, s, m, d) = (all.size(0), all.size(1), all.size(2), all.size(3));
        all.permute(&[1, 2, 0, 3]).reshape(&[s, m, t * d])
    }

    /// All trials.
    fn whole(&self) -> TrialBatch {
        let rows = RecurrentPolicy::by_rows;
        TrialBatch {
            xs: self.paths.obs,
            action: rows(self.paths.action),
            logp_old: rows(self.logp),
            advantage: rows(self.advantage),
            returns: rows(self.target),
            weight: self.paths.weights(),
        }
    }

    /// The inverse of [`rows`](Data::rows) for some trials, `[S, B, …]`.
    fn batch(&self, rows: Tensor) -> TrialBatch {
        let (s, b, t) = (rows.size(0), rows.size(1), self.paths.obs.size(0));
        let (i, a) = (self.paths.obs.size(3), self.paths.action.size(3));
        let d = i + a + 4;
        let all = rows.reshape(&[s, b, t, d]).permute(&[2, 0, 1, 3]);
        let part = |lo: usize, len: usize| all.slice(3, lo, lo + len);
        let column = |lo: usize, len: usize| RecurrentPolicy::by_rows(part(lo, len));
        let valid = column(i + a + 3, 1);
        TrialBatch {
            xs: part(0, i),
            action: column(i, a),
            logp_old: column(i + a, 1),
            advantage: column(i + a + 1, 1),
            returns: column(i + a + 2, 1),
            weight: valid * valid.sum_keep(1).recip(),
        }
    }
}

/// What an update leads to.
pub(super) struct Updated {
    /// θ after it, `[S, P]`.
    pub theta: Tensor,
    /// Averages over the updates made, `[S, 1]` each: policy and value loss, entropy, KL, clipped share, gradient's norm.
    pub average: Vec<Tensor>,
    /// Numbers of gradients that were not finite, `[S, 1]`.
    pub non_finite: Tensor,
    /// Updates made, `[S, 1]`.
    pub updates: Tensor,
}

/// Epochs of minibatches of trials.
pub(super) fn proximal(
    config: &Rl2Config,
    net: &Rl2Net,
    theta: Tensor,
    adam: AdamState,
    data: &Data,
    order: [Tensor; 2],
    learning_rate: Tensor,
) -> (Updated, AdamState) {
    let (s, trials) = (theta.size(0), config.meta_batch);
    let size = trials / config.minibatches;
    let steps = config.epochs * config.minibatches;
    let epoch: Vec<u32> = (0..steps).map(|i| (i / config.minibatches) as u32).collect();
    let first: Vec<u32> = (0..steps).map(|i| (i % config.minibatches * size) as u32).collect();
    let xs = [Tensor::literal_u32(&epoch), Tensor::literal_u32(&first)];
    let rows = data.rows();
    let zero = Tensor::zeros(&[s, 1]);
    let init = [theta, adam.m, adam.v, adam.scale, Tensor::zeros(&[s, 6]), zero, zero];
    let optimiser = Adam { eps: config.adam_eps, ..Adam::default() };
    let (carry, _) = scan(steps, false, &init, &xs, |_, carry, x| {
        let [theta, m, v, scale, sums, non_finite, updates] = carry else {
            return Loop::default();
        };
        let index = (Tensor::iota(&[s, size], 1) + x[1]).permutation(fold_in(order, x[0]), trials);
        let batch = data.batch(rows.gather(index));
        let parts = net.layout.split(*theta);
        let (_, grads, seen) = value_and_grad_with(&parts, |parts| {
            let loss = losses(net, config, parts, &batch, Some(config.clip_eps));
            (loss.total.sum_all(), [loss.policy, loss.value, loss.entropy, loss.approx_kl, loss.clip_frac])
        });
        let joined = net.layout.join(&grads);
        let (grad, norm) = match config.max_grad_norm > 0.0 {
            true => clip_by_norm(joined, config.max_grad_norm),
            false => (joined, norm(joined)),
        };
        let adam = AdamState { m: *m, v: *v, scale: *scale };
        let (new_theta, new) = optimiser.step(*theta, grad, adam, learning_rate);
        let broken = norm.non_finite();
        let go = broken.not();
        let seen = [&seen[..], &[norm]].concat();
        let carry = vec![
            go.select(new_theta, *theta),
            go.select(new.m, *m),
            go.select(new.v, *v),
            go.select(new.scale, *scale),
            *sums + go.select(Tensor::concat(&seen, 1), Tensor::constant_f32(0.0)),
            *non_finite + broken.to_f32(),
            *updates + go.to_f32(),
        ];
        Loop { carry, ys: Vec::new() }
    });
    let average = vec![carry[4] / carry[6].max(Tensor::constant_f32(1.0))];
    let updated = Updated { theta: carry[0], average, non_finite: carry[5], updates: carry[6] };
    (updated, AdamState { m: carry[1], v: carry[2], scale: carry[3] })
}

/// One trust-region step on all trials.
pub(super) fn natural(config: &Rl2Config, net: &Rl2Net, theta: Tensor, data: &Data) -> Updated {
    let batch = data.whole();
    let at = |parts: &[Tensor]| losses(net, config, parts, &batch, None);
    let before = at(&net.layout.split(theta));
    let old = before.distribution.stop_gradient();
    let kl = |parts: &[Tensor]| weighted(old.kl(&net.run(parts, batch.xs).0), batch.weight);
    let step = config.trust_region().step(&net.layout, theta, |p| at(p).total, kl);
    let average =
        vec![step.loss_after, before.value, before.entropy, step.constraint, before.clip_frac, step.grad_norm];
    Updated { theta: step.theta, average, non_finite: step.broken, updates: step.accepted }
}
