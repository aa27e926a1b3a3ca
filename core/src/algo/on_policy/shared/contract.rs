//! The contract of on-policy algorithms: the trait in which they differ, and the algorithm that they share.

use std::fmt::Debug;

use super::{FittedBaseline, MAX_BATCH, Sampling, Stepping};
use crate::algo::{ActorCritic, Algorithm, Course, Held, Learned, Metrics, StateEntry, Statistics, Together};
use crate::env::EnvSpec;
use crate::host::FleetSize;
use crate::learn::{Turn, nearest_divisor};
use crate::nn::Layout;
use crate::optim::Progress;
use crate::play::Iteration;
use crate::policy::{Acting, MemoryConfig, MemoryKind, NetConfig, Normalised, Policy};
use crate::{Error, Result};

/// The settings that all on-policy algorithms have, and the demands on their state.
#[derive(Clone, Debug)]
pub struct Parts<'a> {
    /// The settings of rollouts.
    pub sampling: &'a Sampling,
    /// Sizes and kinds of the networks.
    pub net: &'a NetConfig,
    /// The memory of the networks, if they have one.
    pub memory: MemoryConfig,
    /// The division of parameters into groups that make their steps together.
    pub stepping: Stepping,
    /// The entries of the state that not all on-policy algorithms have, which `iteration` finds in what is held.
    pub entries: Vec<StateEntry>,
    /// The baseline that is fitted to each rollout; none if the value function is the baseline.
    pub baseline: Option<FittedBaseline>,
}

impl Parts<'_> {
    /// The settings that the memory of a run grows with, by their keys.
    fn sizes(&self) -> Vec<(&'static str, usize)> {
        let Parts { sampling, net, memory, .. } = self;
        let mut sizes = vec![("envs", sampling.envs)];
        match sampling.whole_episodes() {
            None => sizes.push(("horizon", sampling.horizon)),
            Some(_) => {
                let minima = [("min_rollouts", sampling.min_rollouts), ("min_steps", sampling.min_steps)];
                sizes.extend(minima.into_iter().filter(|(_, n)| *n > 0));
            }
        }
        sizes.push(("hidden", net.layers.hidden.iter().copied().max().unwrap_or(0)));
        if memory.cell != MemoryKind::None {
            sizes.push(("units", memory.units));
        }
        sizes
    }
}

/// An algorithm that learns from rollouts of its own policy: the settings and steps in which it differs from others.
/// [`OnPolicyLearner`] has what they share.
pub trait OnPolicy: Clone + Debug {
    /// The settings that all on-policy algorithms have.
    fn parts(&self) -> Parts<'_>;

    /// The settings of rollouts, which are then fitted to an environment.
    fn sampling_mut(&mut self) -> &mut Sampling;

    /// Checks every setting, alone and in combination.
    ///
    /// # Errors
    /// [`Error::Config`] with the first setting that cannot work and what to do about it.
    fn validate(&self) -> Result<()>;

    /// Values that follow a schedule in the next iteration, by the names of their metrics: `train/` and the name of the
    /// iteration's scalar.
    fn schedules(&self, at: Progress) -> Vec<(&'static str, f64)>;

    /// The way in which several ranks train it together.
    fn together(&self) -> Together {
        Together::Gradients
    }

    /// Makes an iteration: collects a rollout, learns from it, and writes the new state. `turn`, which SVPG gives to
    /// its particles, changes the policy's gradients before each step.
    fn iteration(&self, nets: &ActorCritic, it: &mut Iteration<'_>, held: &Held, turn: Option<&dyn Turn>) -> Metrics;
}

/// An algorithm that plays rollouts and learns from each as the settings `C` say.
#[derive(Clone, Debug)]
pub struct OnPolicyLearner<C> {
    config: C,
    net: ActorCritic,
    /// The most steps of an episode.
    horizon: usize,
    /// The count of numbers in an episode's task; 0 if there is a single task.
    tasks: usize,
}

impl<C: OnPolicy> OnPolicyLearner<C> {
    /// Makes the algorithm for an environment. If that has many tasks, each episode draws a new one.
    ///
    /// # Errors
    /// If a setting is invalid, or does not fit the environment.
    pub fn new(config: &C, spec: &EnvSpec) -> Result<Self> {
        let mut config = config.clone();
        *config.sampling_mut() = config.parts().sampling.fitted(spec.horizon)?;
        let Parts { sampling, memory, .. } = config.parts();
        let Sampling { envs, minibatches, minibatch_size, sde, .. } = *sampling;
        // Before the others, which would advise a number that divides steps.
        let divided = !(1..=MAX_BATCH).contains(&envs) || envs.is_multiple_of(minibatches);
        if memory.cell != MemoryKind::None && minibatch_size == 0 && !divided {
            let near = nearest_divisor(envs, minibatches);
            let problem = format!(
                "{minibatches} must divide envs ({envs}) where policies remember; try {near}, or set minibatch_size"
            );
            return Err(Error::config_instead("minibatches", problem, near));
        }
        config.validate()?;
        let Parts { sampling, net, memory, stepping, .. } = config.parts();
        if sde && spec.action.counts().is_some() {
            let problem = format!("`{}` takes {}, which have no noise; set it to false", spec.name, spec.action.kind());
            return Err(Error::config("sde", problem));
        }
        if sde && net.gaussian.min_std > 0.0 {
            let problem = "state-dependent exploration has no lowest σ; set it to 0, or sde to false";
            return Err(Error::config("min_std", problem));
        }
        let net = ActorCritic::remembering(spec, net, &memory, sampling).stepping(stepping);
        Ok(OnPolicyLearner { config, net, horizon: spec.horizon, tasks: spec.task.len() })
    }

    /// Makes an iteration; `turn`, if given, changes the policy's gradients before each step.
    pub fn iterate(&self, it: &mut Iteration<'_>, held: &Held, turn: Option<&dyn Turn>) -> Metrics {
        self.config.iteration(&self.net, it, held, turn)
    }

    /// The settings.
    pub fn config(&self) -> &C {
        &self.config
    }

    /// The networks.
    pub fn net(&self) -> &ActorCritic {
        &self.net
    }

    fn sampling(&self) -> &Sampling {
        self.config.parts().sampling
    }
}

impl<C: OnPolicy> Learned for OnPolicyLearner<C> {
    fn policy(&self) -> Box<dyn Policy + '_> {
        Box::new(Normalised(&self.net.policy))
    }

    fn course(&self) -> Course {
        Course::fixed(self.horizon, self.sampling().gamma)
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
        let Parts { sampling, entries: own, baseline, .. } = self.config.parts();
        let mut entries = self.net.entries(sampling, environment, [self.horizon, self.tasks]);
        entries.extend(own);
        entries.extend(baseline.iter().flat_map(|fitted| fitted.entries(self.net.observations())));
        entries
    }

    fn most(&self, iterations: u64) -> u64 {
        // Whole episodes have room for the longest ones.
        let Sampling { horizon, envs, .. } = *self.sampling();
        iterations.saturating_mul((horizon * envs) as u64)
    }

    fn fleet(&self, seeds: usize) -> FleetSize {
        FleetSize { tasks: seeds, envs_per_task: self.sampling().envs, horizon: self.horizon }
    }

    fn batch(&self) -> u64 {
        let sampling = self.sampling();
        let steps = sampling.whole_episodes().map_or(sampling.horizon, |amount| amount.planned(self.horizon));
        (steps * sampling.envs) as u64
    }

    fn counts_steps(&self) -> bool {
        self.sampling().whole_episodes().is_some()
    }

    fn together(&self) -> Together {
        self.config.together()
    }

    fn policy_entries(&self) -> Vec<&'static str> {
        Statistics::policy_entries(self.sampling().normalise_observations)
    }

    fn sizes(&self) -> Vec<(&'static str, usize)> {
        self.config.parts().sizes()
    }

    fn iteration(&self, it: &mut Iteration<'_>, held: &Held) -> Metrics {
        self.iterate(it, held, None)
    }

    fn schedules(&self, at: Progress) -> Vec<(&'static str, f64)> {
        self.config.schedules(at)
    }
}
