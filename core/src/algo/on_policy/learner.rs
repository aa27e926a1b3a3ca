//! Learning from rollouts of the own policy: the trait in which such algorithms differ, and the algorithm that each makes.

use std::fmt::Debug;

use super::{CriticConfig, Sampled, Sampling, update};
use crate::algo::{ActorCritic, Algorithm, Course, Held, Learned, Metrics, Relation, StateEntry};
use crate::env::EnvSpec;
use crate::host::FleetSize;
use crate::learn::Turn;
use crate::nn::Layout;
use crate::optim::Progress;
use crate::play::Iteration;
use crate::policy::{Acting, MemoryConfig, MemoryKind, NetConfig, Normalised, Policy};
use crate::{Error, Result};

/// The settings of an algorithm that learns from rollouts of its own policy, and how it learns from one: those of
/// [`Ppo`](crate::algo::Ppo), [`Trpo`](crate::algo::Trpo), [`A2c`](crate::algo::A2c) and [`Vpg`](crate::algo::Vpg).
pub trait OnPolicy: Clone + Debug {
    /// Every value on its own and in combination.
    ///
    /// # Errors
    /// [`Error::Config`] with the first setting that cannot work and what to do about it.
    fn validate(&self) -> Result<()>;

    /// Sizes and kinds of the networks.
    fn net(&self) -> &NetConfig;

    /// The memory of the networks, if algorithms of these settings can have one.
    fn memory(&self) -> MemoryConfig {
        MemoryConfig::default()
    }

    /// How rollouts are made.
    fn sampling(&self) -> &Sampling;

    /// The same, to be fitted to an environment.
    fn sampling_mut(&mut self) -> &mut Sampling;

    /// How the value function learns, and whether advantages are standardised, if updates are those of [`Update`](super::Update).
    fn critic(&self) -> Option<(&CriticConfig, bool)> {
        None
    }

    /// Tells whether learning follows what [`Sampled::turned`] makes of the policy's gradients, as
    /// [`Update`](super::Update) and [`TrustRegionUpdate`](super::TrustRegionUpdate) do.
    fn takes_turns(&self) -> bool {
        self.critic().is_some()
    }

    /// Entries of the state that learning has besides those of the rollouts, where observations have so many numbers.
    fn entries(&self, _observations: usize) -> Vec<StateEntry> {
        self.critic().map_or_else(Vec::new, |(critic, scale)| update::entries(critic, scale))
    }

    /// Changes what a rollout is credited with, before it is learned from.
    fn credit<'a>(&self, _held: &Held, sampled: Sampled<'a>) -> Sampled<'a> {
        sampled
    }

    /// Settings of which lower values take less memory.
    fn sizes(&self) -> Vec<(&'static str, usize)> {
        let (Sampling { envs, horizon, .. }, net) = (self.sampling(), self.net());
        let (rollouts, steps) = (self.sampling().min_rollouts, self.sampling().min_steps);
        let mut sizes = vec![("envs", *envs)];
        match self.sampling().whole() {
            None => sizes.push(("horizon", *horizon)),
            Some(_) => {
                sizes.extend([("min_rollouts", rollouts), ("min_steps", steps)].into_iter().filter(|(_, n)| *n > 0))
            }
        }
        sizes.push(("hidden", net.hidden.iter().copied().max().unwrap_or(0)));
        if self.memory().cell != MemoryKind::None {
            sizes.push(("units", self.memory().units));
        }
        sizes
    }

    /// Values that follow a schedule, in the next iteration, by the names of their metrics: `train/` and the
    /// name of the iteration's scalar.
    fn schedules(&self, at: Progress) -> Vec<(&'static str, f64)>;

    /// Learns from a rollout.
    fn learn(&self, it: &mut Iteration<'_>, net: &ActorCritic, held: &Held, sampled: &Sampled<'_>) -> Metrics;
}

/// Rollouts, and learning from each as the settings `C` say.
#[derive(Clone, Debug)]
pub struct OnPolicyLearner<C> {
    config: C,
    net: ActorCritic,
    /// Most steps of an episode.
    horizon: usize,
    /// Numbers of a task, each episode's own; 0 if there is a single one.
    tasks: usize,
}

impl<C: OnPolicy> OnPolicyLearner<C> {
    /// For an environment; if it has many tasks, a new one is drawn for each episode.
    ///
    /// # Errors
    /// If a setting is invalid, or does not fit the environment.
    pub fn new(config: &C, spec: &EnvSpec) -> Result<Self> {
        let mut config = config.clone();
        *config.sampling_mut() = config.sampling().fitted(spec.horizon)?;
        config.validate()?;
        if config.sampling().sde && spec.action.choices().is_some() {
            let problem = format!("the actions of `{}` are choices, which have no noise; set it to false", spec.name);
            return Err(Error::config("sde", problem));
        }
        if config.sampling().sde && config.net().min_std > 0.0 {
            let problem = "state-dependent exploration has no lowest σ; set it to 0, or sde to false";
            return Err(Error::config("min_std", problem));
        }
        let (Sampling { envs, minibatches, .. }, memory) = (config.sampling(), config.memory());
        if memory.cell != MemoryKind::None && !envs.is_multiple_of(*minibatches) {
            let near = (1..=*envs).filter(|d| envs % d == 0).min_by_key(|d| d.abs_diff(*minibatches)).unwrap_or(1);
            let problem = format!("{minibatches} must divide envs ({envs}) where policies remember; try {near}");
            return Err(Error::config("minibatches", problem));
        }
        let net = ActorCritic::remembering(spec, config.net(), &memory, config.sampling());
        Ok(OnPolicyLearner { config, net, horizon: spec.horizon, tasks: spec.task.len() })
    }

    /// One iteration, in which `turn` changes the gradients by which the policy makes steps, if there is one.
    pub fn iterate(&self, it: &mut Iteration<'_>, held: &Held, turn: Option<&dyn Turn>) -> Metrics {
        let sampled = Sampled::collect(*self.config.sampling(), &self.net, it, held).turned(turn);
        self.config.learn(it, &self.net, held, &self.config.credit(held, sampled))
    }

    /// The settings.
    pub fn config(&self) -> &C {
        &self.config
    }

    /// The networks.
    pub fn net(&self) -> &ActorCritic {
        &self.net
    }
}

impl<C: OnPolicy> Learned for OnPolicyLearner<C> {
    fn policy(&self) -> Box<dyn Policy + '_> {
        Box::new(Normalised(&self.net.policy))
    }

    fn course(&self) -> Course {
        Course::fixed(self.horizon, self.config.sampling().gamma)
    }

    fn start(&self, held: &Held, _tasks: usize) -> Acting {
        self.net.acting(held)
    }
}

impl<C: OnPolicy> Algorithm for OnPolicyLearner<C> {
    fn layout(&self) -> &Layout {
        &self.net.layout
    }

    fn entries(&self, environment: Option<usize>) -> Vec<StateEntry> {
        let mut entries = self.config.sampling().entries(environment, [self.horizon, self.tasks], &self.net);
        entries.extend(self.config.entries(self.net.observations()));
        if entries.iter().any(|entry| entry.name == update::OF_VALUE) {
            let (value, all) = (self.net.value_places(), self.net.layout.len());
            for entry in &mut entries {
                match entry.name {
                    "adam_scale" => entry.relations = vec![Relation::Corrects(vec![0..value.start, value.end..all])],
                    update::OF_VALUE => entry.relations = vec![Relation::Corrects(vec![value.clone()])],
                    _ => {}
                }
            }
        }
        entries
    }

    fn most(&self, iterations: u64) -> u64 {
        // Whole episodes have room for the longest ones.
        let Sampling { horizon, envs, .. } = *self.config.sampling();
        iterations.saturating_mul((horizon * envs) as u64)
    }

    fn fleet(&self, seeds: usize) -> FleetSize {
        FleetSize { tasks: seeds, envs_per_task: self.config.sampling().envs, horizon: self.horizon }
    }

    fn batch(&self) -> u64 {
        let sampling = self.config.sampling();
        let steps = sampling.whole().map_or(sampling.horizon, |amount| amount.planned(self.horizon));
        (steps * sampling.envs) as u64
    }

    fn counts_steps(&self) -> bool {
        self.config.sampling().whole().is_some()
    }

    fn policy_entries(&self) -> Vec<&'static str> {
        match self.config.sampling().normalise_observations {
            true => vec!["theta", "obs_mean", "obs_var"],
            false => vec!["theta"],
        }
    }

    fn sizes(&self) -> Vec<(&'static str, usize)> {
        self.config.sizes()
    }

    fn iteration(&self, it: &mut Iteration<'_>, held: &Held) -> Metrics {
        self.iterate(it, held, None)
    }

    fn schedules(&self, at: Progress) -> Vec<(&'static str, f64)> {
        self.config.schedules(at)
    }
}
