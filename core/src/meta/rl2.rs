//! RL²: a recurrent policy that learns within its memory, across the episodes of a trial on one task.
//!
//! Duan et al. 2016, arXiv:1611.02779; after garage's `RL2PPO` and `RL2TRPO`. A trial is several episodes on one task; the
//! memory lasts from the first step to the last. An iteration is one program, run for all stacked seeds: tasks are drawn, a
//! trial is played on each, and the policy is optimised on the trials as if each were one long path.
//! Departures from garage, each with its reason:
//!  1. a learned value, read from the memory, in place of a fitted baseline (`critic`): it knows what the policy knows
//!  2. what an episode ended with is shown to the next (`carry_over`), as in the paper
//!  3. padding counts nowhere: not in standardised advantages, entropies or divergences

mod adaptation;
mod collect;
mod config;
mod credit;
mod host;
mod learner;
mod loss;
mod memory;
mod policy;
mod update;

pub use adaptation::{TrialSpec, try_trials};
pub use collect::Trials;
pub(crate) use config::MAX_BATCH;
pub use config::{AdvantageCentre, Critic, EntropyMethod, Rl2Config, Rl2Variant};
pub use credit::Credit;
pub use host::HostRl2;
pub use learner::Rl2Net;
pub use loss::{TrialBatch, TrialLosses, losses};
pub use memory::MemoryAdaptation;
pub use policy::{TrialPolicy, augmented};

use update::{Data, natural, proximal};

use crate::algo::{Algorithm, Held, StateEntry, update_parameters};
use crate::backend::ScalarValue;
use crate::dist::fold_in;
use crate::env::{EnvDef, EnvSpec};
use crate::policy::Acting;
use crate::program::{Context, Plan, PlanOptions};
use crate::rng::{key_from_seed, streams};
use crate::task::TaskSource;
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
        let training = Rl2::resume(device, variant, config, env, seeds.len(), State::new())?;
        let state = initial(device, config, env.spec(), seeds)?;
        Ok(Rl2 { state, ..training })
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
    pub fn entries(config: &Rl2Config, spec: &EnvSpec) -> Vec<StateEntry> {
        let p = Rl2Net::new(spec, config).layout.len();
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
}

/// The state before training.
fn initial(device: &Device, config: &Rl2Config, spec: &EnvSpec, seeds: &[u64]) -> Result<State> {
    let keys: Vec<[u32; 2]> = seeds.iter().map(|s| key_from_seed(*s)).collect();
    let net = Rl2Net::new(spec, config);
    let mut state = State::new();
    for entry in Rl2::entries(config, spec) {
        let shape = [&[seeds.len()], &entry.shape[..]].concat();
        let array = match entry.name {
            "theta" => net.layout.first(device, seeds),
            "key" => device.array_u32(&shape, keys.as_flattened()),
            _ => device.zeros(&shape, entry.dtype),
        };
        state.insert(entry.name, array?);
    }
    Ok(state)
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
        self.config.scalars(done, total)
    }

    fn metric_names(&self) -> &[String] {
        &self.metric_names
    }

    fn schedules(&self, done: u64, total: u64) -> Vec<(&'static str, f64)> {
        self.config.schedules(self.variant, done, total)
    }
}

impl Rl2Config {
    fn learning_rate_at(&self, done: u64, total: u64) -> f64 {
        self.learning_rate * self.learning_rate_schedule.factor(done, total)
    }

    fn scalars(&self, done: u64, total: u64) -> Vec<(&'static str, ScalarValue)> {
        let iteration = ScalarValue::U32((done + 1) as u32);
        vec![("iteration", iteration), ("learning_rate", self.learning_rate_at(done, total).into())]
    }

    fn schedules(&self, variant: Rl2Variant, done: u64, total: u64) -> Vec<(&'static str, f64)> {
        match variant {
            Rl2Variant::Ppo => vec![("train/learning_rate", self.learning_rate_at(done, total))],
            Rl2Variant::Trpo => Vec::new(),
        }
    }

    /// Where training tasks come from.
    fn task_source(&self) -> TaskSource {
        match self.train_tasks {
            0 => TaskSource::Fresh,
            count => TaskSource::Pool { first: 0, count: u32::try_from(count).unwrap_or(u32::MAX) },
        }
    }
}

/// One iteration.
fn iteration(cx: &mut Context, variant: Rl2Variant, config: &Rl2Config, env: &EnvDef, net: &Rl2Net, seeds: usize) {
    let held = Held::declare(cx, &Rl2::entries(config, env.spec()), seeds);
    let iteration = cx.scalar_u32("iteration");
    let key = key(&held);
    let tasks = (!env.spec().task.is_empty()).then(|| {
        let key = fold_in(key, Tensor::constant_u32(streams::TASK));
        config.task_source().trace(env, key, iteration, config.meta_batch)
    });
    let acting = Acting::of(&net.layout.split(held.get("theta")));
    let policy = TrialPolicy { net, space: &env.spec().action, carry_over: config.carry_over };
    let play = policy.play(env, &acting, [seeds, config.meta_batch], tasks, fold_in(key, iteration));
    let trials = Trials::from(&play.episodes(config.episodes, config.trial_steps(env.spec().horizon)));
    learn(cx, variant, config, net, &held, &trials, iteration);
}

/// Random words of each seed, `[S, 1]` each.
fn key(held: &Held) -> [Tensor; 2] {
    let words = held.get("key");
    [words.slice(1, 0, 1), words.slice(1, 1, 2)]
}

/// What an iteration makes of its trials.
fn learn(
    cx: &mut Context,
    variant: Rl2Variant,
    config: &Rl2Config,
    net: &Rl2Net,
    held: &Held,
    trials: &Trials,
    iteration: Tensor,
) {
    let (theta, learning_rate) = (held.get("theta"), cx.scalar_f32("learning_rate"));
    let seeds = theta.size(0);
    let data = Data::new(config, trials);
    let (updated, adam) = match variant {
        Rl2Variant::Ppo => {
            let order = fold_in(fold_in(key(held), Tensor::constant_u32(streams::MINIBATCH)), iteration);
            proximal(config, net, theta, held.adam(), &data, order, learning_rate)
        }
        Rl2Variant::Trpo => (natural(config, net, theta, &data), held.adam()),
    };
    update_parameters(cx, updated.theta, adam);

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
