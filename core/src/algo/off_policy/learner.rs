//! The iteration of algorithms that learn from a replay memory: the trait in which they differ, and the algorithm that each makes.

use std::fmt::Debug;

use super::Replay;
use crate::algo::count::Count;
use crate::algo::{Algorithm, Course, Held, Learned, Metrics, StateEntry};
use crate::dist::fold_in;
use crate::env::EnvSpec;
use crate::nn::Layout;
use crate::play::{Cast, Experience, Iteration, Running, Until};
use crate::policy::{Acting, Policy, Uniform};
use crate::replay::{ReplayMemory, Stored, Transitions};
use crate::rng::streams;
use crate::tensor::{Named, Tree};
use crate::{DType, Result, Tensor};

/// Networks and settings of an algorithm that learns from a replay memory, fitted to an environment, and its update.
pub trait OffPolicy: Clone + Debug + 'static {
    /// Parameters, targets and optimisers: all that updates change.
    type Learner: Tree;

    /// The settings of playing, remembering and drawing.
    fn replay(&self) -> &Replay;

    /// Which part of θ is what.
    fn layout(&self) -> &Layout;

    /// Who acts.
    fn policy(&self) -> Box<dyn Policy + '_>;

    /// A key, and all that updates change.
    fn entries(&self) -> Vec<StateEntry>;

    /// The learner as a state holds it.
    fn begin(&self, held: &Held) -> Self::Learner;

    /// The values by which the policy acts. `rates` are [schedules](OffPolicy::schedules) by the names of their scalars; there are none in
    /// the warm-up, where another policy acts.
    fn acting(&self, learner: &Self::Learner, rates: &Named) -> Acting;

    /// One update on transitions that were drawn. `key`, words `[S, 1]`, is this update's own.
    fn update(
        &self,
        learner: Self::Learner,
        rates: &Named,
        batch: &Transitions,
        key: [Tensor; 2],
    ) -> (Self::Learner, Metrics);

    /// Updates the state.
    fn keep(&self, it: &mut Iteration<'_>, learner: &Self::Learner);

    /// Settings of which lower values take less memory.
    fn sizes(&self) -> Vec<(&'static str, usize)>;

    /// As [`Algorithm::schedules`].
    fn schedules(&self, done: u64, total: u64) -> Vec<(&'static str, f64)>;
}

/// Steps, a memory of them, and updates on what it holds as `C` says.
#[derive(Clone, Debug)]
pub struct OffPolicyLearner<C> {
    algorithm: C,
    memory: ReplayMemory,
    /// Acts while nothing is learned.
    beginner: Uniform,
    /// Most steps of an episode.
    horizon: usize,
    /// Numbers of a task, each episode's own; 0 if there is a single one.
    tasks: usize,
}

/// The stage of an iteration that learns; before it, [`Replay::learning_starts`] steps are played and remembered.
const TRAINING: usize = 1;

impl<C: OffPolicy> OffPolicyLearner<C> {
    /// For an environment; if it has many tasks, a new one is drawn for each episode.
    ///
    /// # Errors
    /// If a setting does not fit others.
    pub fn new(algorithm: C, spec: &EnvSpec) -> Result<Self> {
        algorithm.replay().validate()?;
        let (observations, actions) = (spec.observation.len(), spec.action.dim());
        let memory = ReplayMemory { rows: algorithm.replay().memory_size, observations, actions };
        let (beginner, horizon, tasks) = (Uniform::new(&spec.action), spec.horizon, spec.task.len());
        Ok(OffPolicyLearner { algorithm, memory, beginner, horizon, tasks })
    }

    /// The networks and settings.
    pub fn algorithm(&self) -> &C {
        &self.algorithm
    }

    /// The transitions of T steps, one row per step and environment: `[S, T · N, …]`.
    fn transitions(&self, played: &Experience) -> Transitions {
        let steps = &played.steps;
        let rows = |x: Tensor| match x.shape()[..] {
            [t, s, n, d] => x.permute(&[1, 0, 2, 3]).reshape(&[s, t * n, d]),
            _ => Tensor::poison(),
        };
        let (t, next) = (steps.obs.size(0), played.next.obs.unsqueeze(0));
        let next = match t {
            1 => next,
            _ => Tensor::concat(&[steps.obs.slice(0, 1, t), next], 0),
        };
        // What the time limit cut off is followed by its own last observation, and not by that of the next episode.
        let next_obs = steps.truncated.select(played.cut_obs.unwrap_or(Tensor::poison()), next);
        Transitions {
            obs: rows(steps.obs),
            action: rows(steps.action),
            next_obs: rows(next_obs),
            reward: rows(steps.reward),
            terminated: rows(steps.terminated.to_f32()),
        }
    }

    /// All updates after a pass, as far as it learns.
    fn updates(
        &self,
        it: &mut Iteration<'_>,
        learner: C::Learner,
        rates: &Named,
        stored: &Stored,
        key: [Tensor; 2],
    ) -> (C::Learner, Metrics) {
        let Replay { batch_size, gradient_steps, .. } = *self.algorithm.replay();
        let update = |number: Tensor, learner: C::Learner| {
            let key = fold_in(key, number);
            let batch = self.memory.sample(stored, key, batch_size);
            self.algorithm.update(learner, rates, &batch, key)
        };
        match gradient_steps {
            1 => update(Tensor::constant_u32(0), learner),
            _ => it.repeat(gradient_steps, &learner, |_, number, learner| update(number, learner)),
        }
    }
}

impl<C: OffPolicy> Learned for OffPolicyLearner<C> {
    fn policy(&self) -> Box<dyn Policy + '_> {
        self.algorithm.policy()
    }

    fn course(&self) -> Course {
        Course::fixed(self.horizon, self.algorithm.replay().gamma)
    }

    fn start(&self, held: &Held, _tasks: usize) -> Acting {
        // The policy's slices come first.
        Acting::of(&self.algorithm.layout().split(held.get("theta")))
    }
}

impl<C: OffPolicy> Algorithm for OffPolicyLearner<C> {
    fn layout(&self) -> &Layout {
        self.algorithm.layout()
    }

    fn entries(&self, environment: Option<usize>) -> Vec<StateEntry> {
        let n = self.algorithm.replay().envs;
        let mut entries = self.algorithm.entries();
        entries.extend(StateEntry::running(environment, [n, self.memory.observations, self.tasks]));
        entries.extend([
            StateEntry::new("memory", &self.memory.shape(), DType::F32).bulk(),
            StateEntry::new("memory_next", &[1], DType::U32),
            StateEntry::new("memory_filled", &[1], DType::U32),
        ]);
        entries
    }

    fn fleet(&self, seeds: usize) -> [usize; 3] {
        [seeds, self.algorithm.replay().envs, self.horizon]
    }

    fn batch(&self) -> u64 {
        self.algorithm.replay().batch() as u64
    }

    fn for_steps(&self, steps: u64) -> Result<Option<Box<dyn Algorithm>>> {
        let memory = ReplayMemory { rows: self.algorithm.replay().rows(steps)?, ..self.memory };
        Ok(Some(Box::new(OffPolicyLearner { memory, ..self.clone() })))
    }

    fn sizes(&self) -> Vec<(&'static str, usize)> {
        let mut sizes = self.algorithm.sizes();
        sizes.insert(0, ("memory_size", self.memory.rows));
        sizes
    }

    fn stages(&self) -> usize {
        2
    }

    fn stage(&self, done: u64) -> usize {
        if done < self.algorithm.replay().warm_up() { 0 } else { TRAINING }
    }

    fn iteration(&self, it: &mut Iteration<'_>, held: &Held) -> Metrics {
        let Replay { envs, train_freq, iteration_steps, .. } = *self.algorithm.replay();
        let (rows, learns) = ([it.seeds(), envs], it.stage() == TRAINING);
        let names: Vec<&'static str> =
            if learns { self.schedules(0, 1).into_iter().map(|(name, _)| name).collect() } else { Vec::new() };
        let scalar = |name: &'static str| name.trim_start_matches("train/");
        let rates: Named = names.into_iter().map(|name| (scalar(name), it.scalar(scalar(name)))).collect();
        let policy: Box<dyn Policy + '_> =
            if learns { self.algorithm.policy() } else { Box::new(self.beginner.clone()) };
        let keys = fold_in(fold_in(it.key(), Tensor::constant_u32(streams::REPLAY)), it.number());
        let (obs, steps) = (held.get("obs"), held.get("env_steps"));
        let state = held.find("env_state").unwrap_or(obs);
        let running =
            Running { state, steps: steps.reshape(&rows), obs, memory: Named::new(), task: held.find("task") };
        let stored =
            Stored { rows: held.get("memory"), next: held.get("memory_next"), filled: held.get("memory_filled") };
        let init = ((running, held.get("ep_return")), (stored, self.algorithm.begin(held)));
        let passes = iteration_steps / train_freq;
        let (last, metrics) = it.repeat(passes, &init, |it, pass, ((running, ep_return), (stored, learner))| {
            let acting = self.algorithm.acting(&learner, &rates);
            let cast = Cast { policy: &*policy, acting: &acting, rows };
            let first = pass * Tensor::constant_u32(train_freq as u32);
            let steps = running.steps.unsqueeze(2);
            let played = it.go_on(cast, running, Until { steps: train_freq, span: 1, lasting: None }, first);
            let stored = self.memory.push(stored, &self.transitions(&played));
            let xs = [played.steps.reward, played.steps.terminated, played.steps.truncated];
            let (count, [_, ended]) = Count::from(steps, ep_return, ep_return * 0.0).over(train_freq, xs, 1.0);
            let metrics = count.metrics(ended, [train_freq, rows[0], envs]);
            let (learner, metrics) = match learns {
                false => (learner, metrics),
                true => {
                    let (learner, learned) = self.updates(it, learner, &rates, &stored, fold_in(keys, pass));
                    (learner, metrics.with(learned))
                }
            };
            (((played.next, count.ep_return), (stored, learner)), metrics)
        });
        let ((running, ep_return), (stored, learner)) = last;
        if held.find("env_state").is_some() {
            it.update("env_state", running.state);
        }
        if let Some(task) = running.task {
            it.update("task", task);
        }
        for (name, value) in [
            ("env_steps", running.steps.unsqueeze(2)),
            ("obs", running.obs),
            ("ep_return", ep_return),
            ("memory", stored.rows),
            ("memory_next", stored.next),
            ("memory_filled", stored.filled),
        ] {
            it.update(name, value);
        }
        if learns {
            self.algorithm.keep(it, &learner);
        }
        metrics
    }

    fn schedules(&self, done: u64, total: u64) -> Vec<(&'static str, f64)> {
        self.algorithm.schedules(done, total)
    }
}
