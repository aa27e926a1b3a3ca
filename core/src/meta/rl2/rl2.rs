//! RL², an iteration as one program.
//!
//! Duan et al. 2016, arXiv:1611.02779; after garage's `RL2PPO` and `RL2TRPO`. Tasks are drawn, a trial is played on each,
//! and the policy is optimised on the trials as if each were one long path.
//! Departures from garage, each with its reason:
//!  1. a learned value, read from the memory, in place of a fitted baseline (`critic`): it knows what the policy knows
//!  2. what an episode ended with is shown to the next (`carry_over`), as in the paper
//!  3. padding counts nowhere: not in standardised advantages, entropies or divergences

use super::collect::{Collector, Trials};
use super::config::{Rl2Config, Rl2Variant};
use super::learner::Rl2Net;
use super::loss::{TrialBatch, losses};
use crate::algo::{Algorithm, RecurrentPolicy, StateEntry};
use crate::backend::ScalarValue;
use crate::dist::fold_in;
use crate::env::EnvDef;
use crate::grad::value_and_grad_with;
use crate::meta::weighted;
use crate::optim::{Adam, AdamState, clip_by_norm, norm};
use crate::program::{Context, Plan, PlanOptions};
use crate::rng::{key_from_seed, streams};
use crate::sample::{Paths, explained_variance};
use crate::task::TaskSource;
use crate::tensor::{Loop, scan};
use crate::{DType, Device, Program, Result, State, Tensor};

/// Meta-training on one environment under one or several seeds.
#[derive(Debug)]
pub struct Rl2 {
    variant: Rl2Variant,
    config: Rl2Config,
    net: Rl2Net,
    program: Program,
    metric_names: Vec<String>,
    /// All that training changes, each array with a leading axis of seeds.
    pub state: State,
}

impl Rl2 {
    /// Fresh training of one run per seed.
    ///
    /// # Errors
    /// If a setting is invalid or the device lacks memory.
    pub fn new(device: &Device, variant: Rl2Variant, config: &Rl2Config, env: &EnvDef, seeds: &[u64]) -> Result<Rl2> {
        config.validate(variant)?;
        let keys: Vec<[u32; 2]> = seeds.iter().map(|s| key_from_seed(*s)).collect();
        let net = Rl2Net::new(env.spec(), config);
        let mut state = State::new();
        for entry in Rl2::entries(config, env) {
            let shape = [&[seeds.len()], &entry.shape[..]].concat();
            let array = match entry.name {
                "theta" => device.array(&shape, &keys.iter().flat_map(|k| net.layout.init(*k)).collect::<Vec<_>>()),
                "key" => device.array_u32(&shape, keys.as_flattened()),
                _ => device.zeros(&shape, entry.dtype),
            };
            state.insert(entry.name, array?);
        }
        Rl2::resume(device, variant, config, env, seeds.len(), state)
    }

    /// Training that goes on from a state with all of [`Rl2::entries`].
    ///
    /// # Errors
    /// If a setting is invalid or an array is missing or of another shape.
    pub fn resume(
        device: &Device,
        variant: Rl2Variant,
        config: &Rl2Config,
        env: &EnvDef,
        seeds: usize,
        state: State,
    ) -> Result<Rl2> {
        config.validate(variant)?;
        let net = Rl2Net::new(env.spec(), config);
        let program = Program::new(device, |cx| iteration(cx, variant, config, env, &net, seeds))?;
        let metric_names = Rl2::metric_names(variant);
        Ok(Rl2 { variant, config: config.clone(), net, program, metric_names, state })
    }

    /// The plan of one iteration, without a device.
    ///
    /// # Errors
    /// If a setting is invalid.
    pub fn plan(variant: Rl2Variant, config: &Rl2Config, env: &EnvDef, seeds: usize) -> Result<Plan> {
        config.validate(variant)?;
        let net = Rl2Net::new(env.spec(), config);
        Program::plan_of(PlanOptions::default(), |cx| iteration(cx, variant, config, env, &net, seeds))
    }

    /// The networks.
    pub fn net(&self) -> &Rl2Net {
        &self.net
    }

    /// Everything that training changes, for one seed.
    pub fn entries(config: &Rl2Config, env: &EnvDef) -> Vec<StateEntry> {
        let p = Rl2Net::new(env.spec(), config).layout.len();
        let of = |name, shape: &[usize], dtype| StateEntry { name, shape: shape.to_vec(), dtype };
        vec![
            of("key", &[2], DType::U32),
            of("theta", &[p], DType::F32),
            of("adam_m", &[p], DType::F32),
            of("adam_v", &[p], DType::F32),
            of("adam_scale", &[2], DType::F32),
        ]
    }

    /// What an iteration reports, in the order of the `metrics` output.
    ///
    /// Episodes are those inside of trials; the first three are sums over them. Returns of trials, of first and of last
    /// episodes are means over trials.
    pub fn metric_names(variant: Rl2Variant) -> Vec<String> {
        let returns =
            ["trial_return", "first_episode_return", "last_episode_return"].map(|name| format!("meta/{name}"));
        let kl = match variant {
            Rl2Variant::Ppo => "approx_kl",
            Rl2Variant::Trpo => "kl",
        };
        let train = ["policy_loss", "value_loss", "entropy", kl, "clip_frac", "grad_norm", "explained_variance"];
        let train = train.iter().chain(&["non_finite", "updates"]).map(|name| format!("train/{name}"));
        let first = ["rollout/episodes", "ep_return_sum", "ep_len_sum"].map(str::to_owned);
        first.into_iter().chain(returns).chain(train).collect()
    }

    fn learning_rate(&self, done: u64, total: u64) -> f64 {
        self.config.learning_rate * self.config.learning_rate_schedule.factor(done, total)
    }
}

impl Algorithm for Rl2 {
    fn state(&self) -> &State {
        &self.state
    }

    fn program(&self) -> &Program {
        &self.program
    }

    fn running(&mut self) -> (&mut Program, &State) {
        (&mut self.program, &self.state)
    }

    fn scalars(&self, done: u64, total: u64) -> Vec<(&'static str, ScalarValue)> {
        let iteration = ScalarValue::U32((done + 1) as u32);
        vec![("iteration", iteration), ("learning_rate", self.learning_rate(done, total).into())]
    }

    fn metric_names(&self) -> &[String] {
        &self.metric_names
    }

    fn schedules(&self, done: u64, total: u64) -> Vec<(&'static str, f64)> {
        match self.variant {
            Rl2Variant::Ppo => vec![("train/learning_rate", self.learning_rate(done, total))],
            Rl2Variant::Trpo => Vec::new(),
        }
    }
}

/// One iteration.
fn iteration(cx: &mut Context, variant: Rl2Variant, config: &Rl2Config, env: &EnvDef, net: &Rl2Net, seeds: usize) {
    let mut names = Vec::new();
    for entry in Rl2::entries(config, env) {
        let shape = [&[seeds], &entry.shape[..]].concat();
        names.push((entry.name, cx.state(entry.name, &shape, entry.dtype)));
    }
    let state = |name: &str| names.iter().find(|(n, _)| *n == name).map_or(Tensor::poison(), |(_, t)| *t);
    let iteration = cx.scalar_u32("iteration");
    let learning_rate = cx.scalar_f32("learning_rate");
    let words = state("key");
    let key = [words.slice(1, 0, 1), words.slice(1, 1, 2)];
    let theta = state("theta");
    let parts = net.layout.split(theta);
    let source = match config.train_tasks {
        0 => TaskSource::Fresh,
        count => TaskSource::Pool { first: 0, count: u32::try_from(count).unwrap_or(u32::MAX) },
    };
    let tasks = (!env.spec().task.is_empty()).then(|| {
        let key = fold_in(key, Tensor::constant_u32(streams::TASK));
        source.trace(env, key, iteration, config.meta_batch)
    });
    let collector = Collector {
        env,
        net,
        tasks,
        key: fold_in(key, iteration),
        trials: config.meta_batch,
        episodes: config.episodes,
        carry_over: config.carry_over,
        deterministic: false,
    };
    let trials = collector.collect(&parts);
    let data = Data::new(config, &trials);
    let updated = match variant {
        Rl2Variant::Ppo => {
            let adam = AdamState { m: state("adam_m"), v: state("adam_v"), scale: state("adam_scale") };
            let order = fold_in(fold_in(key, Tensor::constant_u32(streams::MINIBATCH)), iteration);
            let updated = proximal(config, net, theta, adam, &data, order, learning_rate);
            cx.update("adam_m", updated.1.m);
            cx.update("adam_v", updated.1.v);
            cx.update("adam_scale", updated.1.scale);
            updated.0
        }
        Rl2Variant::Trpo => natural(config, net, theta, &data),
    };
    cx.update("theta", updated.theta);

    let n = config.episodes;
    let count = (config.meta_batch * n) as f64;
    let returns = trials.episode_returns(n);
    let over = |x: Tensor| x.sum_keep(2).sum_keep(1).reshape(&[seeds, 1]);
    let mean = |x: Tensor| over(x) * (1.0 / config.meta_batch as f64);
    let mut metrics = vec![
        Tensor::constant_f32(count).broadcast_to(&[seeds, 1]),
        over(returns),
        over(trials.episode_lengths(n)),
        mean(returns),
        mean(returns.slice(2, 0, 1)),
        mean(returns.slice(2, n - 1, n)),
    ];
    metrics.extend(updated.average);
    metrics.extend([data.explained, updated.non_finite, updated.updates]);
    cx.output("metrics", Tensor::concat(&metrics, 1));
}

/// Trials with advantages and value targets, `[T, S, M, ·]`.
struct Data {
    paths: Paths,
    logp: Tensor,
    advantage: Tensor,
    returns: Tensor,
    /// How well the values predict the returns, `[S, 1]`.
    explained: Tensor,
}

impl Data {
    fn new(config: &Rl2Config, trials: &Trials) -> Data {
        let credit = config.credit(trials);
        let rows = RecurrentPolicy::by_rows;
        Data {
            paths: trials.paths,
            logp: trials.logp,
            advantage: credit.advantage,
            returns: credit.returns,
            explained: explained_variance(rows(credit.values), rows(credit.returns)),
        }
    }

    /// All that an update needs of each trial in one row, `[S, M, T · (I + A + 4)]`: one gather per minibatch.
    fn rows(&self) -> Tensor {
        let all =
            [self.paths.obs, self.paths.action, self.logp, self.advantage, self.returns, self.paths.valid.to_f32()];
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
            returns: rows(self.returns),
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

struct Updated {
    theta: Tensor,
    /// Averages over the updates made, `[S, 1]` each: policy and value loss, entropy, KL, clipped share, gradient's norm.
    average: Vec<Tensor>,
    /// Numbers of gradients that were not finite, `[S, 1]`.
    non_finite: Tensor,
    /// Updates made, `[S, 1]`.
    updates: Tensor,
}

/// Epochs of minibatches of trials.
fn proximal(
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
fn natural(config: &Rl2Config, net: &Rl2Net, theta: Tensor, data: &Data) -> Updated {
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
