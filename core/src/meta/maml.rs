//! Model-Agnostic Meta-Learning by policy gradients, and its family.
//!
//! Finn et al. 2017, arXiv:1703.03400, algorithm 3; outer steps as [`Variant`] says.
//! An iteration is one program, run for all stacked seeds: draw tasks, collect with the shared policy, adapt, collect
//! with the adapted ones, and so on, then optimise the shared parameters through the adaptation. Nothing is read in
//! between.

use super::adapt::{InnerSteps, StepSizes, per_task};
use super::config::{MamlConfig, Variant};
use super::objective::{MetaLoss, Objective, meta_loss};
use super::surrogate::{Phase, Surrogate};
use crate::algo::{Algorithm, Held, StateEntry, update_parameters};
use crate::backend::ScalarValue;
use crate::dist::fold_in;
use crate::env::{EnvDef, EnvSpec};
use crate::learn::{Descent, Look};
use crate::nn::{Init, Layout};
use crate::optim::{Adam, AdamState};
use crate::play::{Keys, Play, row_keys};
use crate::policy::{Acting, How, PolicyNet};
use crate::program::{Context, Plan, PlanOptions};
use crate::rng::{key_from_seed, streams};
use crate::sample::{Paths, adjusted_rewards};
use crate::tensor::Named;
use crate::{DType, Device, Program, Result, State, Tensor};

/// The policy, and how its shared parameters become those of a task.
#[derive(Clone, Debug)]
pub struct Learner {
    /// Slices of the policy, then as many of inner step sizes if these are learned.
    pub layout: Layout,
    /// The policy.
    pub policy: PolicyNet,
    /// Slices of the policy alone.
    slices: usize,
    inner_lr: f64,
    learn_inner_lr: bool,
    kind: Surrogate,
    first_order: bool,
}

impl Learner {
    /// Networks and inner step sizes for an environment.
    pub fn new(spec: &EnvSpec, config: &MamlConfig) -> Learner {
        let mut layout = Layout::new();
        let policy = PolicyNet::new(&mut layout, spec, &config.net());
        let slices: Vec<(String, Vec<usize>)> =
            layout.slices().map(|(name, shape, _)| (name.to_owned(), shape.to_vec())).collect();
        if config.learn_inner_lr {
            for (name, shape) in &slices {
                layout.add(format!("inner_lr.{name}"), shape, Init::Constant(config.inner_lr));
            }
        }
        Learner {
            layout,
            policy,
            slices: slices.len(),
            inner_lr: config.inner_lr,
            learn_inner_lr: config.learn_inner_lr,
            kind: config.inner_loss,
            first_order: config.first_order,
        }
    }

    /// Shapes of the policy's slices, of one task.
    pub fn policy_shapes(&self) -> Vec<Vec<usize>> {
        self.layout.slices().take(self.slices).map(|(_, shape, _)| shape.to_vec()).collect()
    }

    /// Slices of the policy, and step sizes, from all slices `[S, …]`; the latter for M tasks of each seed.
    fn split<'a>(&self, parts: &'a [Tensor], tasks: usize) -> (&'a [Tensor], StepSizes) {
        let (policy, rates) = parts.split_at(self.slices.min(parts.len()));
        match self.learn_inner_lr {
            true => (policy, StepSizes::Learned(per_task(rates, tasks))),
            false => (policy, StepSizes::Fixed(self.inner_lr)),
        }
    }

    /// What each of M tasks starts from: slices of the policy `[S · M, …]`, and step sizes.
    #[track_caller]
    pub fn start(&self, theta: Tensor, tasks: usize) -> (Vec<Tensor>, StepSizes) {
        let parts = self.layout.split(theta);
        let (policy, step_sizes) = self.split(&parts, tasks);
        (per_task(policy, tasks), step_sizes)
    }

    fn inner<'a>(&'a self, step_sizes: &'a StepSizes, first_order: bool) -> InnerSteps<'a> {
        InnerSteps { policy: &self.policy, loss: self.kind, step_sizes, first_order }
    }

    /// One inner step from `parts: [K, …]`.
    #[track_caller]
    pub fn adapt(&self, parts: &[Tensor], phase: &Phase, step_sizes: &StepSizes) -> Vec<Tensor> {
        self.inner(step_sizes, true).adapt(parts, std::slice::from_ref(phase)).last().to_vec()
    }

    /// The meta-objective at all slices `[S, …]`.
    #[track_caller]
    pub fn meta_loss(&self, objective: Objective, parts: &[Tensor], phases: &[Phase]) -> MetaLoss {
        let seeds = parts.first().map_or(1, |p| p.size(0));
        let tasks = phases.first().map_or(1, |p| p.obs.size(0) / seeds);
        let (policy, step_sizes) = self.split(parts, tasks);
        meta_loss(objective, &self.inner(&step_sizes, self.first_order), policy, phases)
    }

    /// Training data of episodes collected by `parts: [K, …]`.
    #[track_caller]
    pub fn phase(&self, config: &MamlConfig, parts: &[Tensor], paths: &Paths, seeds: usize) -> Phase {
        let processor = config.processor();
        let processed = match self.kind {
            Surrogate::Dice => processor.process_dice(paths),
            _ => processor.process(paths),
        };
        Phase {
            obs: Paths::rows(paths.obs),
            action: Paths::rows(paths.action),
            old: self.policy.distribution(parts, Paths::rows(paths.obs)).stop_gradient(),
            advantage: Paths::rows(processed.advantages),
            adj_reward: Paths::rows(adjusted_rewards(paths, seeds)),
            weight: paths.weights(),
            steps: paths.reward.size(0),
        }
    }
}

/// Meta-training on one environment under one or several seeds.
#[derive(Debug)]
pub struct Maml {
    variant: Variant,
    config: MamlConfig,
    learner: Learner,
    program: Program,
    metric_names: Vec<String>,
    /// All that training changes, each array with a leading axis of seeds.
    pub state: State,
}

impl Maml {
    /// Fresh training of one run per seed.
    ///
    /// # Errors
    /// If a setting is invalid or the device lacks memory.
    pub fn new(device: &Device, variant: Variant, config: &MamlConfig, env: &EnvDef, seeds: &[u64]) -> Result<Maml> {
        let training = Maml::resume(device, variant, config, env, seeds.len(), State::new())?;
        let state = initial(device, &training.learner, config, seeds)?;
        Ok(Maml { state, ..training })
    }

    /// Training that goes on from a state with all of [`Maml::entries`].
    ///
    /// # Errors
    /// If a setting is invalid or an array is missing or of another shape.
    pub fn resume(
        device: &Device,
        variant: Variant,
        config: &MamlConfig,
        env: &EnvDef,
        seeds: usize,
        state: State,
    ) -> Result<Maml> {
        config.validate()?;
        let learner = Learner::new(env.spec(), config);
        let outer = OuterLoop { variant, config, learner: &learner, seeds };
        let program = Program::new(device, |cx| iteration(cx, &outer, env))?;
        Ok(Maml { variant, config: config.clone(), learner, program, metric_names: Maml::metric_names(config), state })
    }

    /// The plan of one iteration, without a device.
    ///
    /// # Errors
    /// If a setting is invalid.
    pub fn plan(variant: Variant, config: &MamlConfig, env: &EnvDef, seeds: usize) -> Result<Plan> {
        config.validate()?;
        let learner = Learner::new(env.spec(), config);
        let outer = OuterLoop { variant, config, learner: &learner, seeds };
        Program::plan_of(PlanOptions::default(), |cx| iteration(cx, &outer, env))
    }

    /// The policy and its adaptation.
    pub fn learner(&self) -> &Learner {
        &self.learner
    }

    /// Everything that training changes, for one seed.
    pub fn entries(config: &MamlConfig, spec: &EnvSpec) -> Vec<StateEntry> {
        entries(&Learner::new(spec, config), config)
    }

    /// What an iteration reports, in the order of the `metrics` output.
    ///
    /// The first three are sums over the episodes after the last inner step; returns of steps are means over all tasks
    /// and rollouts.
    pub fn metric_names(config: &MamlConfig) -> Vec<String> {
        let first = ["rollout/episodes", "ep_return_sum", "ep_len_sum"].map(str::to_owned);
        let returns = (0..=config.inner_steps).map(|k| format!("meta/step_{k}_return"));
        let adaptive = (config.target_inner_kl > 0.0).then_some("inner_kl_coef");
        let train = ["meta_loss", "inner_kl", "outer_kl", "grad_norm", "non_finite", "updates"];
        let train = adaptive.iter().chain(&train).map(|name| format!("train/{name}"));
        first.into_iter().chain(returns).chain(train).collect()
    }
}

/// Everything that training changes, for one seed.
fn entries(learner: &Learner, config: &MamlConfig) -> Vec<StateEntry> {
    let p = learner.layout.len();
    let of = |name, shape: &[usize], dtype| StateEntry { name, shape: shape.to_vec(), dtype };
    let mut entries = vec![
        of("key", &[2], DType::U32),
        of("theta", &[p], DType::F32),
        of("adam_m", &[p], DType::F32),
        of("adam_v", &[p], DType::F32),
        of("adam_scale", &[2], DType::F32),
    ];
    if config.target_inner_kl > 0.0 {
        entries.push(of("inner_kl_coef", &[config.inner_steps], DType::F32));
    }
    entries
}

/// The state of fresh training.
pub(super) fn initial(device: &Device, learner: &Learner, config: &MamlConfig, seeds: &[u64]) -> Result<State> {
    let keys: Vec<[u32; 2]> = seeds.iter().map(|s| key_from_seed(*s)).collect();
    let mut state = State::new();
    for entry in entries(learner, config) {
        let shape = [&[seeds.len()], &entry.shape[..]].concat();
        let array = match entry.name {
            "theta" => learner.layout.first(device, seeds),
            "key" => device.array_u32(&shape, keys.as_flattened()),
            "inner_kl_coef" => device.array(&shape, &vec![config.inner_kl_coef; shape.iter().product()]),
            _ => device.zeros(&shape, entry.dtype),
        };
        state.insert(entry.name, array?);
    }
    Ok(state)
}

/// Step size of the outer steps in the iteration after `done` of `total`.
fn learning_rate(config: &MamlConfig, done: u64, total: u64) -> f64 {
    config.learning_rate * config.learning_rate_schedule.factor(done, total)
}

/// Scalars of an iteration's program.
pub(super) fn scalars(config: &MamlConfig, done: u64, total: u64) -> Vec<(&'static str, ScalarValue)> {
    let iteration = ScalarValue::U32((done + 1) as u32);
    vec![("iteration", iteration), ("learning_rate", learning_rate(config, done, total).into())]
}

/// Values that follow a schedule.
pub(super) fn schedules(variant: Variant, config: &MamlConfig, done: u64, total: u64) -> Vec<(&'static str, f64)> {
    match variant.trust_region() {
        true => Vec::new(),
        false => vec![("train/learning_rate", learning_rate(config, done, total))],
    }
}

impl Algorithm for Maml {
    fn state(&self) -> &State {
        &self.state
    }

    fn program(&self) -> &Program {
        &self.program
    }

    fn metric_names(&self) -> &[String] {
        &self.metric_names
    }

    fn schedules(&self, done: u64, total: u64) -> Vec<(&'static str, f64)> {
        schedules(self.variant, &self.config, done, total)
    }

    fn running(&mut self) -> (&mut Program, &State) {
        (&mut self.program, &self.state)
    }

    fn scalars(&self, done: u64, total: u64) -> Vec<(&'static str, ScalarValue)> {
        scalars(&self.config, done, total)
    }
}

/// Parameters of the training tasks of an iteration, `[S · M, D]`; none if the environment has a single task.
fn tasks(config: &MamlConfig, env: &EnvDef, key: [Tensor; 2], iteration: Tensor) -> Option<Tensor> {
    let width = env.spec().task.len();
    if width == 0 {
        return None;
    }
    let key = fold_in(key, Tensor::constant_u32(streams::TASK));
    let tasks = config.task_source().trace(env, key, iteration, config.meta_batch);
    Some(tasks.reshape(&[tasks.size(0) * config.meta_batch, width]))
}

/// Algorithm 3, one iteration on the device.
fn iteration(cx: &mut Context, outer: &OuterLoop<'_>, env: &EnvDef) {
    let config = outer.config;
    let mut drawn = None;
    outer.trace(cx, |_, k, given, parts| {
        let tasks = *drawn.get_or_insert_with(|| tasks(config, env, given.key, given.iteration));
        let rollouts = fold_in(fold_in(given.key, given.iteration), Tensor::constant_u32(k as u32));
        let play = Play {
            env,
            policy: &outer.learner.policy,
            acting: &Acting::of(parts),
            how: How::Explore,
            rows: [outer.seeds * config.meta_batch, config.rollouts],
            tasks,
            keys: Keys::of(row_keys(rollouts, config.meta_batch)),
        };
        play.episodes(1, config.steps(env.spec().horizon)).steps.paths()
    });
}

/// What names the random numbers of an iteration.
#[derive(Clone, Copy, Debug)]
pub(super) struct Given {
    /// Each seed's key, words of `[S, 1]`.
    pub key: [Tensor; 2],
    /// Number of the iteration, from 1.
    pub iteration: Tensor,
}

/// An iteration, wherever its episodes come from.
#[derive(Clone, Copy, Debug)]
pub(super) struct OuterLoop<'a> {
    pub variant: Variant,
    pub config: &'a MamlConfig,
    pub learner: &'a Learner,
    pub seeds: usize,
}

impl OuterLoop<'_> {
    /// Collect with the shared policy, adapt, collect with the adapted ones, and so on; then the outer steps. `collect` gives the
    /// episodes of each phase, played by parameters `[K, …]`.
    pub fn trace(&self, cx: &mut Context, mut collect: impl FnMut(&mut Context, usize, Given, &[Tensor]) -> Paths) {
        let OuterLoop { variant, config, learner, seeds } = *self;
        let held = Held::declare(cx, &entries(learner, config), seeds);
        let iteration = cx.scalar_u32("iteration");
        let learning_rate = cx.scalar_f32("learning_rate");
        let words = held.get("key");
        let given = Given { key: [words.slice(1, 0, 1), words.slice(1, 1, 2)], iteration };
        let theta = held.get("theta");

        let mut phases = Vec::with_capacity(config.inner_steps + 1);
        let (mut metrics, mut returns) = (Vec::new(), Vec::new());
        let (mut parts, step_sizes) = learner.start(theta, config.meta_batch);
        for k in 0..=config.inner_steps {
            let paths = collect(cx, k, given, &parts);
            let phase = learner.phase(config, &parts, &paths, seeds);
            let episodes = config.meta_batch * config.rollouts;
            let per_seed = |x: Tensor| x.reshape(&[seeds, episodes]).sum_keep(1);
            let sum = per_seed(paths.path_returns());
            returns.push(sum * (1.0 / episodes as f64));
            if k == config.inner_steps {
                let count = Tensor::constant_f32(episodes as f64).broadcast_to(&[seeds, 1]);
                metrics.extend([count, sum, per_seed(paths.path_lengths())]);
            }
            if k < config.inner_steps {
                parts = learner.adapt(&parts, &phase, &step_sizes);
            }
            phases.push(phase);
        }
        let coef = held.find("inner_kl_coef").unwrap_or(Tensor::constant_f32(config.inner_kl_coef));
        let updated = outer(variant, config, learner, theta, held.adam(), &phases, [learning_rate, coef]);
        update_parameters(cx, updated.theta, updated.adam);
        metrics.extend(returns);
        if config.target_inner_kl > 0.0 {
            let kl = Tensor::concat(&updated.inner_kl, 1);
            metrics.push(mean_keep(coef));
            cx.update("inner_kl_coef", adapted_coef(coef, kl, config.target_inner_kl));
        }
        metrics.extend(updated.metrics);
        cx.output("metrics", Tensor::concat(&metrics, 1));
    }
}

struct Updated {
    theta: Tensor,
    adam: AdamState,
    /// KL before each inner step, `[S, 1]`.
    inner_kl: Vec<Tensor>,
    /// Meta-loss, inner and outer KL at the end, norm of the first gradient, dropped and made updates: `[S, 1]` each.
    metrics: [Tensor; 6],
}

/// Mean over inner steps, `[S, K]` → `[S, 1]`.
fn mean_keep(x: Tensor) -> Tensor {
    x.sum_keep(1) * (1.0 / x.size(1) as f64)
}

fn mean_kl(meta: &MetaLoss) -> Tensor {
    mean_keep(Tensor::concat(&meta.inner_kl, 1))
}

/// η of each inner step, `[S, K]`, after an iteration that ended with these KLs.
///
/// The rule of ProMP's published code, and of PPO's adaptive penalty, arXiv:1707.06347, sec. 4.
fn adapted_coef(coef: Tensor, kl: Tensor, target: f64) -> Tensor {
    let (low, high) = (Tensor::constant_f32(target / 1.5), Tensor::constant_f32(target * 1.5));
    kl.lt(low).select(coef * 0.5, kl.gt(high).select(coef * 2.0, coef))
}

/// The outer steps. `scalars`: learning rate, and η as `[]` or of each inner step as `[S, K]`.
fn outer(
    variant: Variant,
    config: &MamlConfig,
    learner: &Learner,
    theta: Tensor,
    adam: AdamState,
    phases: &[Phase],
    [learning_rate, coef]: [Tensor; 2],
) -> Updated {
    let objective = match variant {
        Variant::ProMp | Variant::MamlPpo => Objective::Clipped(config.clip_eps),
        Variant::MamlVpg | Variant::DiceMaml => Objective::PolicyGradient,
        Variant::MamlTrpo => Objective::Ratio,
        Variant::EMaml => Objective::RatioExploring,
    };
    let layout = &learner.layout;
    let value = |parts: &[Tensor]| learner.meta_loss(objective, parts, phases);
    if variant.trust_region() {
        let step = config.trust_region().step(layout, theta, |p| value(p).loss, |p| value(p).outer_kl);
        let meta = value(&layout.split(step.theta));
        let metrics = [step.loss_after, mean_kl(&meta), step.constraint, step.grad_norm, step.broken, step.accepted];
        return Updated { theta: step.theta, adam, inner_kl: meta.inner_kl, metrics };
    }
    let descent = Descent {
        layout,
        optimiser: Adam { eps: config.adam_eps, ..Adam::default() },
        learning_rate,
        max_grad_norm: config.max_grad_norm,
        sums: &[],
        stop: None,
        first_norm: true,
    };
    let end = descent.run(theta, adam, config.outer_steps, &(), |parts, ()| {
        let meta = value(parts);
        let penalty = match config.inner_kl_coef > 0.0 {
            true => mean_keep(Tensor::concat(&meta.inner_kl, 1) * coef),
            false => meta.loss * 0.0,
        };
        Look { loss: meta.loss + penalty, seen: Named::new() }
    });
    let meta = value(&layout.split(end.theta));
    let first_norm = end.first_norm.unwrap_or(Tensor::poison());
    Updated {
        theta: end.theta,
        adam: end.adam,
        inner_kl: meta.inner_kl.clone(),
        metrics: [meta.loss, mean_kl(&meta), meta.outer_kl, first_norm, end.non_finite, end.updates],
    }
}
