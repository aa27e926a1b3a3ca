//! Updates of the policy on trials.

use super::collect::Trials;
use super::config::Rl2Config;
use super::learner::Rl2Net;
use super::loss::{TrialBatch, losses};
use crate::Tensor;
use crate::algo::Metrics;
use crate::credit::{Paths, explained_variance_of_valid};
use crate::learn::{Descent, Look, Passes};
use crate::meta::weighted;
use crate::optim::Trained;
use crate::policy::RecurrentPolicy;
use crate::program::Context;
use crate::tensor::scan_tree_until;

/// Trials with advantages and value targets, `[T, S, M, ·]`.
pub(super) struct TrialData {
    paths: Paths,
    logp: Tensor,
    advantage: Tensor,
    /// Targets of a learned value.
    target: Tensor,
    /// The share of the returns' variance over valid steps that the values explain, `[S, 1]`.
    pub explained: Tensor,
}

impl TrialData {
    pub fn new(config: &Rl2Config, trials: &Trials) -> TrialData {
        let credit = config.credit(trials, config.predicted(trials));
        let rows = RecurrentPolicy::by_rows;
        TrialData {
            paths: trials.paths,
            logp: trials.logp,
            advantage: credit.advantage,
            target: credit.target,
            explained: explained_variance_of_valid(rows(credit.values), rows(credit.returns), trials.paths.weights()),
        }
    }

    /// Packs all that an update needs of a trial into one row, `[S, M, T · (I + A + 4)]`, so that a minibatch is one
    /// gather.
    fn rows(&self) -> Tensor {
        let all =
            [self.paths.obs, self.paths.action, self.logp, self.advantage, self.target, self.paths.valid.to_f32()];
        let all = Tensor::concat(&all, 3);
        let (t, s, m, d) = (all.size(0), all.size(1), all.size(2), all.size(3));
        all.permute(&[1, 2, 0, 3]).reshape(&[s, m, t * d])
    }

    /// The batch of all trials.
    fn all(&self) -> TrialBatch {
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

    /// Unpacks [`rows`](TrialData::rows) of some trials, `[S, B, …]`; only those where `counted`, u32 `[S, B, 1]`, is 1
    /// have a weight, if it is given.
    fn batch(&self, rows: Tensor, counted: Option<Tensor>) -> TrialBatch {
        let (s, b, t) = (rows.size(0), rows.size(1), self.paths.obs.size(0));
        let (i, a) = (self.paths.obs.size(3), self.paths.action.size(3));
        let d = i + a + 4;
        let all = rows.reshape(&[s, b, t, d]).permute(&[2, 0, 1, 3]);
        let part = |lo: usize, len: usize| all.slice(3, lo, lo + len);
        let column = |lo: usize, len: usize| RecurrentPolicy::by_rows(part(lo, len));
        let valid = part(i + a + 3, 1);
        let valid = counted.map_or(valid, |counted| counted.unsqueeze(0).select(valid, Tensor::constant_f32(0.0)));
        let valid = RecurrentPolicy::by_rows(valid);
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

/// The outcome of an update.
pub(super) struct Updated {
    /// The parameters after the update, and their optimiser's memory.
    pub trained: Trained,
    /// Averages over the updates that were made.
    pub averages: Metrics,
    /// Counts of updates that were dropped, and of those that were made.
    pub counts: Metrics,
}

/// Makes epochs of updates on minibatches of trials.
pub(super) fn proximal(
    cx: &mut Context,
    config: &Rl2Config,
    net: &Rl2Net,
    trained: Trained,
    data: &TrialData,
    order: [Tensor; 2],
    learning_rate: Tensor,
) -> Updated {
    let rows = data.rows();
    let passes = Passes { passes: config.epochs, split: config.split(), rows: config.meta_batch, order, dealt: None };
    let descent = Descent {
        layout: &net.layout,
        optimiser: config.adam.optimiser().into(),
        learning_rate,
        max_grad_norm: config.max_grad_norm,
        sums: &["policy_loss", "value_loss", "entropy", "approx_kl", "clip_frac", "grad_norm"],
        stop: (config.target_kl > 0.0).then_some(("approx_kl", 1.5 * config.target_kl)),
    };
    let look = |parts: &[Tensor], x: [Tensor; 2]| {
        let batch = data.batch(rows.gather(passes.index(&x)), passes.counted(&x));
        let loss = losses(net, config, &net.learned(parts), &batch, Some(config.clip_eps));
        let seen = [
            ("policy_loss", loss.policy),
            ("value_loss", loss.value),
            ("entropy", loss.entropy),
            ("approx_kl", loss.approx_kl),
            ("clip_frac", loss.clip_frac),
        ];
        let total = match config.weight_decay > 0.0 {
            true => loss.total + net.weight_decay(parts, config.weight_decay),
            false => loss.total,
        };
        Look { loss: total, seen: seen.into() }
    };
    if config.tolerance > 0.0 {
        return until_settled((cx, config), net, trained, data, &passes, &descent, look);
    }
    let end = descent.run(cx, trained, passes.steps(), &passes.xs(), look);
    Updated { trained: end.trained, averages: descent.means(&end), counts: end.counts() }
}

/// The state of passes that are under way, with the loss over all trials at the end of the last pass, `[S, 1]`.
#[derive(Clone, Copy, Debug)]
struct Settling {
    trained: Trained,
    loss: Tensor,
    sums: Tensor,
    updates: Tensor,
    non_finite: Tensor,
}

crate::tree!(Settling: trained, loss, sums, updates, non_finite);

/// Makes passes, for each seed until one changes the loss over all trials by less than the tolerance.
fn until_settled(
    (cx, config): (&mut Context, &Rl2Config),
    net: &Rl2Net,
    trained: Trained,
    data: &TrialData,
    passes: &Passes,
    descent: &Descent<'_>,
    look: impl FnOnce(&[Tensor], [Tensor; 2]) -> Look,
) -> Updated {
    let all = data.all();
    let loss = |theta: Tensor| losses(net, config, &net.layout.split(theta), &all, Some(config.clip_eps)).total;
    let seeds = trained.theta.size(0);
    let zero = Tensor::zeros(&[seeds, 1]);
    let sums = Tensor::zeros(&[seeds, descent.sums.len()]);
    let init = Settling { trained, loss: loss(trained.theta), sums, updates: zero, non_finite: zero };
    let end = scan_tree_until(passes.passes, &init, |pass, at: Settling| {
        let end = descent.run(cx, at.trained, passes.minibatches(), &passes.of_pass(pass), look);
        let now = Settling {
            trained: end.trained,
            loss: loss(end.trained.theta),
            sums: at.sums + end.averages() * end.updates,
            updates: at.updates + end.updates,
            non_finite: at.non_finite + end.non_finite,
        };
        let change = (now.loss - at.loss).abs();
        (now, change.lt(Tensor::constant_f32(config.tolerance)).reshape(&[seeds]))
    });
    let averages = end.sums / end.updates.max(Tensor::constant_f32(1.0));
    let counts = Metrics::default().sum(Metrics::NON_FINITE, end.non_finite).sum(Metrics::UPDATES, end.updates);
    let averages = Metrics::default().means(descent.sums, averages, end.updates);
    Updated { trained: end.trained, averages, counts }
}

/// Makes one trust-region step on all trials.
pub(super) fn natural(config: &Rl2Config, net: &Rl2Net, trained: Trained, data: &TrialData) -> Updated {
    let batch = data.all();
    let at = |parts: &[Tensor]| losses(net, config, &net.learned(parts), &batch, None);
    let before = at(&net.layout.split(trained.theta));
    let old = before.distribution.stop_gradient();
    let kl = |parts: &[Tensor]| weighted(old.kl(&net.run(&net.learned(parts), batch.xs).0), batch.weight);
    let step = config.trust_region.step(&net.layout, trained.theta, |p| at(p).total, kl);
    let averages = Metrics::default()
        .last("train/policy_loss", step.loss_after)
        .last("train/value_loss", before.value)
        .last("train/entropy", before.entropy)
        .last("train/kl", step.constraint)
        .last("train/clip_frac", before.clip_frac)
        .last("train/grad_norm", step.grad_norm);
    let counts = Metrics::default().sum(Metrics::NON_FINITE, step.broken).sum(Metrics::UPDATES, step.accepted);
    Updated { trained: Trained { theta: step.theta, ..trained }, averages, counts }
}

#[cfg(test)]
mod tests {
    use super::super::config::{Critic, Rl2Variant};
    use super::*;
    use crate::{Device, Program, State};

    /// T, S and M of the tests.
    const SIZES: [usize; 3] = [7, 2, 3];

    fn numbers(seed: f64) -> Vec<f64> {
        let n: usize = SIZES.iter().product();
        (0..n).map(|i| (1.7 * i as f64 + seed).sin()).collect()
    }

    /// The share that is explained for trials that end after 2 to 7 steps. After the ends there is `padding` in place
    /// of [`Trials`]' numbers, and rewards are 0.
    fn explained(critic: Critic, padding: f64) -> [Vec<f64>; 4] {
        let [t, s, m] = SIZES;
        let device = Device::cpu(1);
        let mut program = Program::new(&device, |cx| {
            let literal = |x: &[f64]| Tensor::literal_f32(x).reshape(&[t, s, m, 1]);
            let length = |row: usize| 2 + row * 5 / (s * m - 1);
            let valid: Vec<f64> =
                (0..t * s * m).map(|i| f64::from(u8::from(i / (s * m) < length(i % (s * m))))).collect();
            let valid = literal(&valid).gt(Tensor::constant_f32(0.5));
            let or = |seed: f64, padding: f64| valid.select(literal(&numbers(seed)), Tensor::constant_f32(padding));
            let paths = Paths {
                obs: or(0.1, padding),
                next_obs: or(0.1, padding),
                action: or(0.2, padding),
                reward: or(0.3, 0.0),
                valid,
                env_infos: None,
                agent_infos: None,
            };
            let none = Tensor::zeros(&[t, s, m, 1]);
            let trials = Trials {
                paths,
                logp: or(0.4, padding),
                value: or(0.5, padding),
                entropy: or(0.6, padding),
                episode: Tensor::constant_u32(0).broadcast_to(&[t, s, m, 1]),
                states: none,
                limited: none,
                lost: none,
            };
            let config = Rl2Config { critic, ..Rl2Config::of(Rl2Variant::Ppo) };
            let credit = config.credit(&trials, config.predicted(&trials));
            let outputs = [credit.values, credit.returns, valid.to_f32()];
            cx.output("explained", TrialData::new(&config, &trials).explained);
            for (name, x) in ["values", "returns", "valid"].into_iter().zip(outputs) {
                cx.output(name, RecurrentPolicy::by_rows(x));
            }
        })
        .unwrap();
        let out = program.run(&State::new(), &[], &[]).unwrap();
        ["explained", "values", "returns", "valid"]
            .map(|name| pollster::block_on(device.read(out.get(name).unwrap())).unwrap())
    }

    #[test]
    fn the_variance_that_values_explain_is_that_of_valid_steps() {
        for critic in [Critic::Gru, Critic::LinearFeature, Critic::LinearTime] {
            let [explained_by, values, returns, valid] = explained(critic, 0.0);
            let rows = values.len() / SIZES[1];
            for (seed, got) in explained_by.iter().enumerate() {
                let own: Vec<usize> = (seed * rows..(seed + 1) * rows).filter(|i| valid[*i] > 0.0).collect();
                assert!(own.len() < rows);
                let variance = |of: &dyn Fn(usize) -> f64| {
                    let mean = |f: &dyn Fn(usize) -> f64| own.iter().map(|i| f(*i)).sum::<f64>() / own.len() as f64;
                    let centre = mean(of);
                    mean(&|i| (of(i) - centre).powi(2))
                };
                let want = 1.0 - variance(&|i| returns[i] - values[i]) / variance(&|i| returns[i]);
                assert!((got - want).abs() < 1e-5, "{critic:?}, seed {seed}: {got} instead of {want}");
            }
            for padding in [3.0, -1e4, f64::NAN] {
                assert_eq!(explained(critic, padding)[0], explained_by, "{critic:?}, {padding}");
            }
        }
    }

    /// Five trials in minibatches of two: the steps are those on two, two and one trial, written out without padding.
    #[test]
    fn minibatches_that_do_not_divide_the_trials_are_learned_from_as_they_are() {
        use crate::env::{ActionSpace, Dim, EnvSpec};
        use crate::optim::GradientMoments;

        let [t, s, m] = [3, 1, 5];
        let spec =
            EnvSpec::new("e", vec![Dim::unbounded("x")], ActionSpace::continuous(vec![Dim::new("a", -1.0, 1.0)]), t);
        let base = Rl2Config::of(Rl2Variant::Ppo);
        let memory = crate::policy::MemoryConfig { units: 3, ..base.net.memory };
        let net = crate::policy::RecurrentConfig { memory, ..base.net.clone() };
        let config = Rl2Config { meta_batch: m, minibatch_size: 2, epochs: 1, max_grad_norm: 0.0, net, ..base };
        config.validate(Rl2Variant::Ppo).unwrap();
        let net = Rl2Net::new(&spec, &config);
        let device = Device::cpu(1);
        let mut program = Program::new(&device, |cx| {
            let column = |seed: f64, width: usize| {
                let all: Vec<f64> = (0..t * s * m * width).map(|i| (1.7 * i as f64 + seed).sin()).collect();
                Tensor::literal_f32(&all).reshape(&[t, s, m, width])
            };
            // The second and the fourth trial end one step earlier.
            let valid: Vec<u32> = (0..t * m).map(|i| u32::from(i / m < 2 || (i % m).is_multiple_of(2))).collect();
            let paths = Paths {
                obs: column(0.1, net.inputs()),
                next_obs: column(0.1, net.inputs()),
                action: column(0.2, 1),
                reward: column(0.3, 1),
                valid: Tensor::literal_u32(&valid).reshape(&[t, s, m, 1]),
                env_infos: None,
                agent_infos: None,
            };
            let data = TrialData {
                paths,
                logp: column(0.4, 1) - 1.0,
                advantage: column(0.5, 1),
                target: column(0.6, 1),
                explained: Tensor::zeros(&[s, 1]),
            };
            let theta = Tensor::literal_f32(&net.layout.init([1, 2])).unsqueeze(0);
            let moments = GradientMoments { m: theta * 0.0, v: theta * 0.0, scale: Tensor::zeros(&[s, 2]) };
            let first = Trained { theta, moments };
            let order = [3, 4].map(|word| Tensor::literal_u32(&[word]).reshape(&[1, 1]));
            let rate = Tensor::constant_f32(0.1);
            let end = proximal(cx, &config, &net, first, &data, order, rate);
            cx.output("theta", end.trained.theta);

            let passes = Passes { passes: 1, split: config.split(), rows: m, order, dealt: None };
            let descent = Descent {
                layout: &net.layout,
                optimiser: config.adam.optimiser().into(),
                learning_rate: rate,
                max_grad_norm: 0.0,
                sums: &[],
                stop: None,
            };
            let (rows, mut trained) = (data.rows(), first);
            for (at, size) in [(0, 2), (2, 2), (4, 1)] {
                let index = passes.index(&[0, at].map(Tensor::constant_u32)).slice(1, 0, size);
                let batch = data.batch(rows.gather(index), None);
                let look = |parts: &[Tensor], ()| {
                    let loss = losses(&net, &config, &net.learned(parts), &batch, Some(config.clip_eps)).total;
                    Look { loss, seen: [("loss", loss)].into() }
                };
                trained = descent.run(cx, trained, 1, &(), look).trained;
            }
            cx.output("by hand", trained.theta);
            cx.output("before", theta);
        })
        .unwrap();
        let out = program.run(&State::new(), &[], &[]).unwrap();
        let [theta, by_hand, before] =
            ["theta", "by hand", "before"].map(|name| pollster::block_on(device.read(out.get(name).unwrap())).unwrap());
        let distance = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(distance(&by_hand, &before) > 0.1 && distance(&theta, &by_hand) < 1e-5, "{theta:?} {by_hand:?}");
    }
}
