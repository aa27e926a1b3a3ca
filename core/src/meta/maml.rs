//! Model-Agnostic Meta-Learning by policy gradients, and its family.
//!
//! Finn et al. 2017, arXiv:1703.03400, algorithm 3; a [`Variant`] says how outer steps are made.
//! An iteration is one program for all stacked seeds. It draws tasks, collects with the shared policy, adapts,
//! collects with the adapted policies, and so on; then it optimises the shared parameters through the
//! adaptation. The host reads nothing in between.

pub(super) mod adapt;
pub(super) mod config;
pub(super) mod objective;
pub(super) mod surrogate;

use self::adapt::{InnerSteps, StepSizes};
use self::config::{MAX_BATCH, MamlConfig, Variant};
use self::objective::{MetaLoss, Objective, meta_loss};
use self::surrogate::{Phase, Surrogate};
use super::deviation::{constant, log_std, std_fits};
use super::per_task::per_task;
use crate::algo::{
    Algorithm, AlgorithmDef, Course, Family, First, Held, Learned, Metrics, Numbers, StateEntry, Together,
    update_parameters,
};
use crate::backend::ScalarValue;
use crate::credit::{Paths, adjusted_rewards};
use crate::dist::fold_in;
use crate::env::EnvSpec;
use crate::host::FleetSize;
use crate::learn::{Between, Descent, Look};
use crate::nn::{Init, Layout};
use crate::optim::{Progress, Trained, weight_decay};
use crate::play::{Amount, Cast, Iteration, row_keys};
use crate::policy::{Acting, Policy, PolicyNet};
use crate::program::Context;
use crate::settings::Settings as _;
use crate::tensor::{Named, require};
use crate::{DType, Error, Result, Tensor};

/// The policy, and the adaptation of its shared parameters to a task.
#[derive(Clone, Debug)]
pub struct Learner {
    /// Slices of the policy, then one slice of inner step sizes for each of them, if these are learned.
    pub layout: Layout,
    /// The policy.
    pub policy: PolicyNet,
    /// The number of slices of the policy alone.
    slices: usize,
    inner_lr: f64,
    learn_inner_lr: bool,
    kind: Surrogate,
    first_order: bool,
    /// The number of the slice that is ln σ, if it is not learned.
    fixed: Option<usize>,
}

impl Learner {
    /// Declares networks and inner step sizes for an environment.
    pub fn new(spec: &EnvSpec, config: &MamlConfig) -> Learner {
        let mut layout = Layout::new();
        let policy = PolicyNet::new(&mut layout, spec, &config.net);
        let slices: Vec<(String, Vec<usize>)> =
            layout.slices().map(|(name, shape, _)| (name.to_owned(), shape.to_vec())).collect();
        if config.learn_inner_lr {
            for (name, shape) in &slices {
                layout.add(format!("inner_lr.{name}"), shape, Init::Constant(config.inner_lr));
            }
        }
        let fixed = if config.learn_std { None } else { log_std(&layout) };
        Learner {
            layout,
            fixed,
            policy,
            slices: slices.len(),
            inner_lr: config.inner_lr,
            learn_inner_lr: config.learn_inner_lr,
            kind: config.inner_loss,
            first_order: config.first_order,
        }
    }

    /// Separates the slices `[S, …]` of the policy from the step sizes, which it repeats for M tasks of each seed.
    fn split<'a>(&self, parts: &'a [Tensor], tasks: usize) -> (&'a [Tensor], StepSizes) {
        let (policy, rates) = parts.split_at(self.slices.min(parts.len()));
        match self.learn_inner_lr {
            true => (policy, StepSizes::Learned(per_task(rates, tasks))),
            false => (policy, StepSizes::Fixed(self.inner_lr)),
        }
    }

    /// The parameters that each of M tasks starts from: slices of the policy, `[S · M, …]`, and step sizes.
    #[track_caller]
    pub fn start(&self, theta: Tensor, tasks: usize) -> (Vec<Tensor>, StepSizes) {
        let parts = self.layout.split(theta);
        let (policy, step_sizes) = self.split(&parts, tasks);
        (per_task(policy, tasks), step_sizes)
    }

    fn inner<'a>(&'a self, step_sizes: &'a StepSizes, first_order: bool) -> InnerSteps<'a> {
        InnerSteps { policy: &self.policy, loss: self.kind, step_sizes, first_order, fixed: self.fixed }
    }

    /// Makes one inner step from `parts: [K, …]`, without second derivatives.
    #[track_caller]
    pub fn adapt(&self, parts: &[Tensor], phase: &Phase, step_sizes: &StepSizes) -> Vec<Tensor> {
        self.inner(step_sizes, true).adapt(parts, std::slice::from_ref(phase)).last().to_vec()
    }

    /// The meta-objective at all slices, `[S, …]`.
    #[track_caller]
    pub fn meta_loss(&self, objective: Objective, parts: &[Tensor], phases: &[Phase]) -> MetaLoss {
        let seeds = parts.first().map_or(1, |p| p.size(0));
        let tasks = phases.first().map_or(1, |p| p.obs.size(0) / seeds);
        let parts = constant(parts, self.fixed);
        let (policy, step_sizes) = self.split(&parts, tasks);
        meta_loss(objective, &self.inner(&step_sizes, self.first_order), policy, phases)
    }

    /// ½ λ ‖θ‖² over the policy's slices that are learned, `[S, 1]`.
    fn weight_decay(&self, parts: &[Tensor], share: f64) -> Tensor {
        let slices = parts.iter().take(self.slices).enumerate().filter(|(i, _)| Some(*i) != self.fixed);
        weight_decay(&slices.map(|(_, part)| *part).collect::<Vec<_>>(), share)
    }

    /// Training data for an inner step, of episodes that `parts: [K, …]` collected.
    #[track_caller]
    pub fn phase(&self, config: &MamlConfig, parts: &[Tensor], paths: &Paths, seeds: usize) -> Phase {
        self.phase_of(config, parts, paths, seeds, self.kind == Surrogate::Dice)
    }

    /// Training data for the outer loss, of episodes that the adapted `parts: [K, …]` collected.
    #[track_caller]
    pub fn last_phase(&self, config: &MamlConfig, parts: &[Tensor], paths: &Paths, seeds: usize) -> Phase {
        let dice = self.kind == Surrogate::Dice && config.outer_loss == Surrogate::Dice;
        self.phase_of(config, parts, paths, seeds, dice)
    }

    #[track_caller]
    fn phase_of(&self, config: &MamlConfig, parts: &[Tensor], paths: &Paths, seeds: usize, dice: bool) -> Phase {
        require(config.check());
        let processor = config.processor;
        let processed = match dice {
            true => processor.process_dice(paths),
            false => processor.process(paths),
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

/// Makes the register's entry of a variant.
macro_rules! registered {
    ($variant:ident, $line:literal) => {
        AlgorithmDef {
            uses: |key| Variant::$variant.uses(key),
            defaults: || MamlConfig::of(Variant::$variant).table(),
            presets: crate::algo::presets!("maml/presets.toml"),
            ..AlgorithmDef::new::<MamlConfig>(Variant::$variant.name(), $line, Family::Gradients, |settings, spec| {
                let config = MamlConfig::of(Variant::$variant).with(settings)?;
                Ok(Box::new(Maml::new(Variant::$variant, &config, spec)?))
            })
        }
    };
}

/// The entries of MAML's family in the register.
pub static MAML_FAMILY: [AlgorithmDef; 6] = [
    registered!(ProMp, "Proximal Meta-Policy Search: learns to adapt (arXiv:1810.06784)"),
    registered!(MamlPpo, "MAML with a clipped outer objective"),
    registered!(MamlVpg, "MAML, policy gradient inside and outside (arXiv:1703.03400)"),
    registered!(MamlTrpo, "MAML with trust-region outer steps (arXiv:1703.03400)"),
    registered!(EMaml, "MAML that is rewarded for exploring (arXiv:1803.01118)"),
    registered!(DiceMaml, "MAML with DICE objectives, exact to any order (arXiv:1802.05098)"),
];

/// Meta-training by MAML's family, for one environment.
#[derive(Clone, Debug)]
pub struct Maml {
    variant: Variant,
    config: MamlConfig,
    learner: Learner,
    /// Most steps of an episode.
    steps: usize,
}

impl Maml {
    /// Sets up meta-training for an environment with many tasks.
    ///
    /// # Errors
    /// If a setting is invalid, or does not fit the environment.
    pub fn new(variant: Variant, config: &MamlConfig, spec: &EnvSpec) -> Result<Maml> {
        config.validate(variant)?;
        if spec.task.is_empty() {
            let problem = format!("`{}` has a single task, and {} learns to adapt to many", spec.name, variant.name());
            return Err(Error::config("env", problem));
        }
        std_fits(config.learn_std, spec)?;
        let steps = config.batch(spec.horizon) / (config.inner_steps + 1);
        if steps > MAX_BATCH {
            let problem = format!(
                "meta_batch × rollouts × steps of a rollout is {} × {} × {}, more than {MAX_BATCH}; lower it, \
                 meta_batch, horizon or time_limit",
                config.meta_batch,
                config.rollouts,
                config.steps(spec.horizon)
            );
            return Err(Error::config("rollouts", problem));
        }
        let (learner, steps) = (Learner::new(spec, config), config.steps(spec.horizon));
        Ok(Maml { variant, config: config.clone(), learner, steps })
    }

    fn clip_eps_falls(&self) -> bool {
        self.config.clip_eps_factor < 1.0 && self.variant.uses("clip_eps_factor")
    }

    /// The policy and its adaptation.
    pub fn learner(&self) -> &Learner {
        &self.learner
    }
}

impl Learned for Maml {
    fn policy(&self) -> Box<dyn Policy + '_> {
        Box::new(self.learner.policy.clone())
    }

    fn course(&self) -> Course {
        let MamlConfig { inner_steps: rounds, rollouts, processor, .. } = self.config;
        Course { family: Family::Gradients, rounds, rollouts, ..Course::fixed(self.steps, processor.gamma) }
    }

    fn start(&self, held: &Held, tasks: usize) -> Acting {
        Acting::of(&self.learner.start(held.theta(), tasks).0)
    }

    /// Makes one inner step on the episodes that were seen.
    fn adapt(&self, held: &Held, acting: &Acting, seen: &Paths) -> Acting {
        let Maml { learner, config, .. } = self;
        let theta = held.theta();
        let (seeds, rows) = (theta.size(0), acting.parts.first().map_or(1, |part| part.size(0)));
        let (_, step_sizes) = learner.start(theta, rows / seeds);
        let phase = learner.phase(config, &acting.parts, seen, seeds);
        Acting::of(&learner.adapt(&acting.parts, &phase, &step_sizes))
    }
}

impl Algorithm for Maml {
    fn layout(&self) -> &Layout {
        &self.learner.layout
    }

    fn entries(&self, _: Option<usize>) -> Vec<StateEntry> {
        let mut entries = StateEntry::learner(self.learner.layout.len());
        if self.config.target_inner_kl > 0.0 {
            let coef = StateEntry::new("inner_kl_coef", &[self.config.inner_steps], DType::F32);
            entries.push(coef.holding(Numbers::NOT_NEGATIVE).from(First::Value(self.config.inner_kl_coef)));
        }
        entries
    }

    fn fleet(&self, seeds: usize) -> FleetSize {
        let (tasks, envs_per_task) = (seeds * self.config.meta_batch, self.config.rollouts);
        FleetSize { tasks, envs_per_task, horizon: self.steps }
    }

    fn batch(&self) -> u64 {
        self.config.batch(self.steps) as u64
    }

    /// Each rank draws tasks of its own.
    fn together(&self) -> Together {
        match self.variant.trust_region() {
            true => {
                Together::No("a trust region's step is not joined over ranks; train promp, or one seed on each rank")
            }
            false => Together::Gradients,
        }
    }

    fn sizes(&self) -> Vec<(&'static str, usize)> {
        let MamlConfig { meta_batch, rollouts, inner_steps, net, .. } = &self.config;
        vec![
            ("meta_batch", *meta_batch),
            ("rollouts", *rollouts),
            ("horizon", self.steps),
            ("inner_steps", *inner_steps),
            ("hidden", net.layers.hidden.iter().copied().max().unwrap_or(0)),
        ]
    }

    /// Algorithm 3: collects with the shared policy, adapts, collects with the adapted policies, and so on; then makes
    /// the outer steps. Returns in the metrics are means over all tasks and rollouts.
    fn iteration(&self, it: &mut Iteration<'_>, held: &Held) -> Metrics {
        let Maml { variant, config, learner, steps } = self;
        let (seeds, theta) = (it.seeds(), held.theta());
        let learning_rate = it.scalar("learning_rate");
        let tasks = it.tasks(config.task_source(), config.meta_batch);
        let episodes = config.meta_batch * config.rollouts;
        let per_seed = |x: Tensor| x.reshape(&[seeds, episodes]).sum_keep(1);

        let mut phases = Vec::with_capacity(config.inner_steps + 1);
        let (mut metrics, mut returns) = (Metrics::default(), Vec::new());
        let mut made = Tensor::zeros(&[seeds, 1]);
        let (mut parts, step_sizes) = learner.start(theta, config.meta_batch);
        for k in 0..=config.inner_steps {
            let key = fold_in(fold_in(it.key(), it.number()), Tensor::constant_u32(k as u32));
            let rows = [seeds * config.meta_batch, config.rollouts];
            let cast = Cast { policy: &learner.policy, acting: &Acting::of(&parts), rows };
            let played = it.episodes(cast, &tasks, row_keys(key, config.meta_batch), Amount::Episodes(1), *steps);
            let paths = played.steps.paths();
            let phase = match k < config.inner_steps {
                true => learner.phase(config, &parts, &paths, seeds),
                false => learner.last_phase(config, &parts, &paths, seeds),
            };
            let of_paths = paths.path_return_sums();
            let (sum, lengths) = (per_seed(of_paths.sum), per_seed(paths.path_lengths()));
            made = made + lengths;
            returns.push((format!("meta/step_{k}_return"), sum * (1.0 / episodes as f64)));
            if k < config.inner_steps {
                parts = learner.adapt(&parts, &phase, &step_sizes);
            } else {
                let count = Tensor::constant_f32(episodes as f64).broadcast_to(&[seeds, 1]);
                let returns = of_paths.map(|x| x.reshape(&[seeds, episodes]));
                metrics = Metrics::of_episodes(count, sum, lengths).returns(returns, episodes);
            }
            phases.push(phase);
        }
        metrics = metrics.sum(Metrics::STEPS, made);
        for (name, value) in returns {
            metrics = metrics.last(name, value);
        }
        let coef = held.find("inner_kl_coef").unwrap_or(Tensor::constant_f32(config.inner_kl_coef));
        let objective = match variant {
            Variant::ProMp | Variant::MamlPpo if self.clip_eps_falls() => {
                Objective::ClippedBy(it.scalar_of_iterations("clip_eps"))
            }
            Variant::ProMp | Variant::MamlPpo => Objective::Clipped(config.clip_eps),
            Variant::MamlVpg if config.exploration => Objective::LogLikelihoodExploring,
            Variant::DiceMaml if config.outer_loss == Surrogate::LogLikelihood => Objective::LogLikelihood,
            Variant::MamlVpg | Variant::DiceMaml => Objective::PolicyGradient,
            Variant::MamlTrpo => Objective::Ratio,
            Variant::EMaml => Objective::RatioExploring,
        };
        let updated =
            outer(it.context(), (*variant, objective), config, learner, held.trained(), &phases, [learning_rate, coef]);
        update_parameters(it, updated.trained);
        if config.target_inner_kl > 0.0 {
            let kl = Tensor::concat(&updated.inner_kl, 1);
            metrics = metrics.last("train/inner_kl_coef", mean_keep(coef));
            it.update("inner_kl_coef", adapted_coef(coef, kl, config.target_inner_kl));
        }
        metrics.with(updated.metrics)
    }

    fn counts_steps(&self) -> bool {
        true
    }

    fn schedules(&self, at: Progress) -> Vec<(&'static str, f64)> {
        let mut schedules = Vec::new();
        if !self.variant.trust_region() {
            schedules.push(("train/learning_rate", self.config.adam.rate(at)));
        }
        if self.clip_eps_falls() {
            schedules.push(("train/clip_eps", self.config.clip_eps_after(at.iterations)));
        }
        schedules
    }

    fn scalars(&self, at: Progress) -> Vec<(&'static str, ScalarValue)> {
        let rate = ("learning_rate", self.config.adam.rate(at).into());
        match self.clip_eps_falls() {
            true => vec![rate, ("clip_eps", self.config.clip_eps_after(at.iterations).into())],
            false => vec![rate],
        }
    }
}

struct OuterSteps {
    trained: Trained,
    /// KL before each inner step, `[S, 1]` each.
    inner_kl: Vec<Tensor>,
    /// Loss and KLs after the last outer step, and the norm of the first gradient.
    metrics: Metrics,
}

/// The mean over inner steps, `[S, K]` → `[S, 1]`.
fn mean_keep(x: Tensor) -> Tensor {
    x.sum_keep(1) * (1.0 / x.size(1) as f64)
}

fn mean_kl(meta: &MetaLoss) -> Tensor {
    mean_keep(Tensor::concat(&meta.inner_kl, 1))
}

/// η of each inner step for the next iteration, `[S, K]`, from the KLs at the end of this one.
///
/// This is the rule of ProMP's published code, and of PPO's adaptive penalty, arXiv:1707.06347, sec. 4.
fn adapted_coef(coef: Tensor, kl: Tensor, target: f64) -> Tensor {
    let (low, high) = (Tensor::constant_f32(target / 1.5), Tensor::constant_f32(target * 1.5));
    // Single precision has no numbers behind a hundred halvings or doublings, and from 0 no factor leads back.
    kl.lt(low).select(coef * 0.5, kl.gt(high).select(coef * 2.0, coef)).clamp(1e-20, 1e20)
}

/// Makes the outer steps. The last argument is the learning rate, and η as `[]` or, for each inner step, `[S, K]`.
fn outer(
    cx: &mut Context,
    (variant, objective): (Variant, Objective),
    config: &MamlConfig,
    learner: &Learner,
    trained: Trained,
    phases: &[Phase],
    [learning_rate, coef]: [Tensor; 2],
) -> OuterSteps {
    let layout = &learner.layout;
    let value = |parts: &[Tensor]| learner.meta_loss(objective, parts, phases);
    if variant.trust_region() {
        let step = config.trust_region.step(layout, trained.theta, |p| value(p).loss, |p| value(p).outer_kl);
        let meta = value(&layout.split(step.theta));
        let metrics = Metrics::default()
            .last("train/meta_loss", step.loss_after)
            .last("train/inner_kl", mean_kl(&meta))
            .last("train/outer_kl", step.constraint)
            .last("train/grad_norm", step.grad_norm)
            .sum(Metrics::NON_FINITE, step.broken)
            .sum(Metrics::UPDATES, step.accepted);
        return OuterSteps { trained: Trained { theta: step.theta, ..trained }, inner_kl: meta.inner_kl, metrics };
    }
    let descent = Descent {
        layout,
        optimiser: config.adam.optimiser().into(),
        learning_rate,
        max_grad_norm: config.max_grad_norm,
        sums: &[],
        stop: None,
    };
    let between = Between { first_norm: true, ..Between::default() };
    let end = descent.run_with(cx, between, trained, config.outer_steps, &(), |parts, ()| {
        let meta = value(parts);
        let penalty = match config.inner_kl_coef > 0.0 {
            true => mean_keep(Tensor::concat(&meta.inner_kl, 1) * coef),
            false => meta.loss * 0.0,
        };
        let loss = meta.loss + penalty;
        let loss = match config.weight_decay > 0.0 {
            true => loss + learner.weight_decay(parts, config.weight_decay),
            false => loss,
        };
        Look { loss, seen: Named::new() }
    });
    let meta = value(&layout.split(end.trained.theta));
    let (first_norm, counts) = (end.first_norm.unwrap_or(Tensor::poison()), end.counts());
    // The coefficient that follows it is the same on all ranks.
    let share = 1.0 / cx.ranks() as f64;
    let inner_kl = cx.sum_of_ranks(&meta.inner_kl).into_iter();
    let inner_kl = if cx.ranks() == 1 { inner_kl.collect() } else { inner_kl.map(|kl| kl * share).collect() };
    OuterSteps {
        trained: end.trained,
        inner_kl,
        metrics: Metrics::default()
            .last("train/meta_loss", meta.loss)
            .last("train/inner_kl", mean_kl(&meta))
            .last("train/outer_kl", meta.outer_kl)
            .last("train/grad_norm", first_norm)
            .with(counts),
    }
}
