//! RL²: a recurrent policy that learns within its memory, across the episodes of a trial on one task.
//!
//! Duan et al. 2016, arXiv:1611.02779; after garage's `RL2PPO` and `RL2TRPO`. A trial is several episodes on one
//! task, and the memory lasts from its first step to its last. An iteration is one program for all stacked
//! seeds: it draws tasks, plays a trial on each, and optimises the policy on the trials as if each were one long
//! path. The automatic reset starts the next episode of a trial; a trial differs from a long path only in its
//! episodes' numbers and its end. So `credit::Paths` holds trials as it holds episodes, with a row per seed in
//! place of a row per task. An update runs the memory over whole trials, T steps of B trials at once, in
//! minibatches of trials (PPO) or on all of them (TRPO).
//!
//! Departures from garage, each with its reason:
//!  1. a learned value, read from the memory, in place of a fitted baseline (`critic`): it knows what the policy knows
//!  2. an episode's end is shown to the next episode (`carry_over`), as in the paper
//!  3. padding counts nowhere: not in standardised advantages, entropies or divergences

mod collect;
mod config;
mod credit;
mod learner;
mod loss;
mod policy;
mod update;

pub use crate::learn::EntropyMethod;
pub use collect::Trials;
pub use config::{AdvantageCentre, Critic, Rl2Config, Rl2Variant};
pub use credit::Credit;
pub use learner::Rl2Net;
pub use loss::{TrialBatch, TrialLosses, losses};
pub use policy::{PreviousStep, TrialPolicy, augmented};

use config::MAX_BATCH;
use update::{TrialData, natural, proximal};

use crate::algo::{
    Algorithm, AlgorithmDef, Course, Family, Held, Learned, Metrics, StateEntry, Together, update_parameters,
};
use crate::backend::ScalarValue;
use crate::dist::fold_in;
use crate::env::{ActionSpace, EnvSpec};
use crate::host::FleetSize;
use crate::meta::deviation::std_fits;
use crate::nn::Layout;
use crate::optim::Progress;
use crate::play::{Amount, Cast, Iteration};
use crate::policy::{Acting, Policy};
use crate::rng::streams;
use crate::settings::Settings as _;
use crate::task::TaskSource;
use crate::{Error, Result, Tensor};

/// Makes the register's entry of a variant.
macro_rules! registered {
    ($variant:ident, $name:literal, $line:literal) => {
        AlgorithmDef {
            uses: |key| Rl2Variant::$variant.uses(key),
            defaults: || Rl2Config::of(Rl2Variant::$variant).table(),
            presets: crate::algo::presets!("rl2/presets.toml"),
            ..AlgorithmDef::new::<Rl2Config>($name, $line, Family::Memory, |settings, spec| {
                let config = Rl2Config::of(Rl2Variant::$variant).with(settings)?;
                Ok(Box::new(Rl2::new(Rl2Variant::$variant, &config, spec)?))
            })
        }
    };
}

/// The entries of RL² in the register.
pub static RL2: [AlgorithmDef; 2] = [
    registered!(Ppo, "rl2-ppo", "RL²: a recurrent policy learns within its memory, by PPO (arXiv:1611.02779)"),
    registered!(Trpo, "rl2-trpo", "RL² with trust-region steps, as in its paper"),
];

/// Meta-training by RL², for one environment.
#[derive(Clone, Debug)]
pub struct Rl2 {
    variant: Rl2Variant,
    config: Rl2Config,
    net: Rl2Net,
    action: ActionSpace,
    /// The most steps of an episode.
    horizon: usize,
}

impl Rl2 {
    /// Sets up meta-training for an environment.
    ///
    /// # Errors
    /// If a setting is invalid.
    pub fn new(variant: Rl2Variant, config: &Rl2Config, spec: &EnvSpec) -> Result<Rl2> {
        config.validate(variant)?;
        std_fits(config.learn_std, spec)?;
        if config.batch(spec.horizon) > MAX_BATCH {
            let problem = format!(
                "meta_batch × episodes × the time limit of `{}` is {} × {} × {}, more than {MAX_BATCH}; \
                 lower it, episodes or time_limit",
                spec.name, config.meta_batch, config.episodes, spec.horizon
            );
            return Err(Error::config("meta_batch", problem));
        }
        let (net, action) = (Rl2Net::new(spec, config), spec.action.clone());
        Ok(Rl2 { variant, config: config.clone(), net, action, horizon: spec.horizon })
    }

    /// The networks.
    pub fn net(&self) -> &Rl2Net {
        &self.net
    }
}

impl Learned for Rl2 {
    fn policy(&self) -> Box<dyn Policy + '_> {
        let Rl2Config { carry_over, show_time_limit, .. } = self.config;
        Box::new(TrialPolicy { net: &self.net, space: &self.action, carry_over, show_time_limit })
    }

    fn course(&self) -> Course {
        Course {
            family: Family::Memory,
            episodes: self.config.episodes,
            ..Course::fixed(self.horizon, self.config.gamma)
        }
    }

    fn start(&self, held: &Held, _tasks: usize) -> Acting {
        Acting::of(&self.net.layout.split(held.theta()))
    }
}

impl Algorithm for Rl2 {
    fn layout(&self) -> &Layout {
        &self.net.layout
    }

    fn entries(&self, _: Option<usize>) -> Vec<StateEntry> {
        StateEntry::learner(self.net.layout.len())
    }

    fn fleet(&self, seeds: usize) -> FleetSize {
        FleetSize { tasks: seeds * self.config.meta_batch, envs_per_task: 1, horizon: self.horizon }
    }

    fn batch(&self) -> u64 {
        self.config.batch(self.horizon) as u64
    }

    fn sizes(&self) -> Vec<(&'static str, usize)> {
        let Rl2Config { meta_batch, episodes, net, .. } = &self.config;
        vec![("meta_batch", *meta_batch), ("episodes", *episodes), ("units", net.memory.units)]
    }

    /// Plays trials and learns from them. The metrics count each episode of a trial; their returns of trials, of first
    /// and of last episodes are means over trials.
    fn iteration(&self, it: &mut Iteration<'_>, held: &Held) -> Metrics {
        let Rl2 { variant, config, net, horizon, .. } = self;
        let (seeds, trained) = (it.seeds(), held.trained());
        let learning_rate = it.scalar("learning_rate");
        let tasks = it.tasks(config.task_source(), config.meta_batch);
        let (acting, policy) = (self.start(held, config.meta_batch), self.policy());
        let cast = Cast { policy: &*policy, acting: &acting, rows: [seeds, config.meta_batch] };
        let (key, n) = (fold_in(it.key(), it.number()), config.episodes);
        let trials = Trials::from(&it.episodes(cast, &tasks, key, Amount::Episodes(n), config.trial_steps(*horizon)));

        let data = TrialData::new(config, &trials);
        let updated = match variant {
            Rl2Variant::Ppo => {
                let order = fold_in(fold_in(it.key(), Tensor::constant_u32(streams::MINIBATCH)), it.number());
                proximal(it.context(), config, net, trained, &data, order, learning_rate)
            }
            Rl2Variant::Trpo => natural(config, net, trained, &data),
        };
        update_parameters(it, updated.trained);

        let count = Tensor::constant_f32((config.meta_batch * n) as f64).broadcast_to(&[seeds, 1]);
        let of_episodes = trials.episode_returns(n);
        let returns = of_episodes.sum;
        let over = |x: Tensor| x.sum_keep(2).sum_keep(1).reshape(&[seeds, 1]);
        let mean = |x: Tensor| over(x) * (1.0 / config.meta_batch as f64);
        let made = over(trials.episode_lengths(n));
        Metrics::of_episodes(count, over(returns), made)
            .returns(of_episodes.map(|x| x.reshape(&[seeds, config.meta_batch * n])), config.meta_batch * n)
            .sum(Metrics::STEPS, made)
            .last("meta/trial_return", mean(returns))
            .last("meta/first_episode_return", mean(returns.slice(2, 0, 1)))
            .last("meta/last_episode_return", mean(returns.slice(2, n - 1, n)))
            .with(updated.averages)
            .last("train/explained_variance", data.explained)
            .with(updated.counts)
    }

    fn counts_steps(&self) -> bool {
        true
    }

    /// Each rank plays trials of its own.
    fn together(&self) -> Together {
        match self.variant {
            Rl2Variant::Trpo => Together::No("a trust region's step is not joined over ranks; train rl2-ppo"),
            Rl2Variant::Ppo if self.config.tolerance > 0.0 => {
                Together::No("passes that end by a tolerance are not joined over ranks; set tolerance to 0")
            }
            Rl2Variant::Ppo => Together::Gradients,
        }
    }

    fn schedules(&self, at: Progress) -> Vec<(&'static str, f64)> {
        match self.variant {
            Rl2Variant::Ppo => vec![("train/learning_rate", self.config.adam.rate(at))],
            Rl2Variant::Trpo => Vec::new(),
        }
    }

    fn scalars(&self, at: Progress) -> Vec<(&'static str, ScalarValue)> {
        vec![("learning_rate", self.config.adam.rate(at).into())]
    }
}

impl Rl2Config {
    /// The source of training tasks.
    fn task_source(&self) -> TaskSource {
        match self.train_tasks {
            0 => TaskSource::Fresh,
            count => TaskSource::Pool { first: 0, count: u32::try_from(count).unwrap_or(u32::MAX) },
        }
    }
}
