//! The iteration of algorithms that learn from a replay buffer.

mod whole_episodes;

use super::{Occasion, OffPolicy, Replay, UpdateOutcome, WarmUp, memory_entries, period};
use crate::algo::Count;
use crate::algo::RunningEpisodes;
use crate::algo::{Algorithm, Course, Held, Learned, Metrics, StateEntry, Statistics, Together, merge_steps};
use crate::credit::Moments;
use crate::dist::fold_in;
use crate::env::EnvSpec;
use crate::host::FleetSize;
use crate::learn::by_seed;
use crate::nn::Layout;
use crate::optim::Progress;
use crate::play::{Cast, Iteration, Steps, Until};
use crate::policy::{Acting, Normalised, Policy, Uniform};
use crate::replay::{Batch, ReplayMemory, Stored, Transitions};
use crate::rng::streams;
use crate::tensor::{Named, Tree};
use crate::{DType, Error, Result, Tensor};

/// An algorithm that makes steps, keeps a memory of them, and learns by the updates of `C`.
#[derive(Clone, Debug)]
pub struct OffPolicyLearner<C> {
    algorithm: C,
    memory: ReplayMemory,
    /// The policy while nothing is learned: even draws.
    beginner: Uniform,
    /// The most steps of an episode.
    horizon: usize,
    /// The count of numbers in an episode's task; 0 if there is a single task.
    tasks: usize,
}

/// The stage of iterations that learn. Before it, [`Replay::learning_starts`] steps are played and remembered.
const TRAINING: usize = 1;

impl<C: OffPolicy> OffPolicyLearner<C> {
    /// Makes the algorithm for an environment. If that has many tasks, each episode draws a new one.
    ///
    /// # Errors
    /// If a setting does not fit others.
    pub fn new(algorithm: C, spec: &EnvSpec) -> Result<Self> {
        algorithm.replay().validate(spec.horizon)?;
        let memory = algorithm.replay().memory(spec)?;
        let (beginner, horizon, tasks) = (Uniform::new(&spec.action), spec.horizon, spec.task.len());
        let learner = OffPolicyLearner { algorithm, memory, beginner, horizon, tasks };
        let Replay { train_freq, iteration_steps, .. } = *learner.algorithm.replay();
        let (passes, whole) = (learner.passes_of_a_period(), learner.algorithm.replay().whole_episodes().is_some());
        if !whole && !(iteration_steps / train_freq).is_multiple_of(passes) {
            let steps = train_freq * passes;
            let near = iteration_steps.div_ceil(steps) * steps;
            let problem = format!(
                "{iteration_steps} is no multiple of {steps}, the steps after which the kinds of updates repeat; try \
                 {near}"
            );
            return Err(Error::config_instead("iteration_steps", problem, near));
        }
        Ok(learner)
    }

    /// The networks and settings.
    pub fn algorithm(&self) -> &C {
        &self.algorithm
    }

    /// The transitions of T steps, one row per step and environment: `[S, T · N, …]`.
    fn transitions(steps: &Steps) -> Transitions {
        Transitions {
            obs: by_seed(steps.obs),
            action: by_seed(steps.action),
            next_obs: by_seed(steps.next_obs),
            reward: by_seed(steps.reward),
            terminated: by_seed(steps.terminated.to_f32()),
        }
    }

    /// The number of passes after which the kinds of updates repeat. Each iteration begins with the first kind.
    fn passes_of_a_period(&self) -> usize {
        period::passes(self.algorithm.replay().gradient_steps, self.algorithm.period())
    }

    /// The values by which the policy acts.
    fn acting(&self, learner: &C::Learner, rates: &Named, statistics: Option<&Moments>) -> Acting {
        let Acting { parts, values } = self.algorithm.acting(learner, rates);
        let values = match statistics {
            None => values,
            Some(statistics) => values.iter().chain(Normalised::values(statistics).iter()).collect(),
        };
        Acting { parts, values }
    }

    /// Makes all updates after the pass of number `pass`, u32 `[]`.
    fn updates(
        &self,
        it: &mut Iteration<'_>,
        rates: &Named,
        (learner, stored, statistics): (C::Learner, Stored, Option<&Moments>),
        pass: Tensor,
        key: [Tensor; 2],
    ) -> ((C::Learner, Stored), Metrics) {
        let (Replay { batch_size, gradient_steps, .. }, of) = (*self.algorithm.replay(), self.algorithm.period());
        let update = |it: &mut Iteration<'_>, update: Tensor, (learner, stored): (C::Learner, Stored)| {
            let key = fold_in(key, update);
            let drawn = self.memory.sample(&stored, key, batch_size, rates.find(CORRECTION));
            let number = period::number(pass, update, gradient_steps, of);
            let batch = statistics.map_or(drawn.batch, |statistics| standardised(&drawn.batch, statistics));
            let occasion = Occasion { rates, batch: &batch, key, number };
            let UpdateOutcome { learner, metrics, errors } = self.algorithm.update(it.context(), learner, occasion);
            ((learner, self.memory.learned(stored, &drawn, errors)), metrics)
        };
        if gradient_steps == 1 {
            return update(it, Tensor::constant_u32(0), (learner, stored));
        }
        if it.ranks() > 1 {
            // The ranks meet in each update, and a loop in which they do cannot be inside of another one.
            let (mut at, mut all) = ((learner, stored), None);
            for number in 0..gradient_steps {
                let number = Tensor::constant_u32(number as u32);
                let (after, metrics) = update(it, number, at);
                let before = all.unwrap_or_else(|| metrics.passes(it.seeds(), gradient_steps));
                (at, all) = (after, Some(before.after(number, &metrics)));
            }
            return (at, all.unwrap_or_default().flattened(it.seeds(), gradient_steps));
        }
        // Updates only read rows; they change priorities.
        let fixed = Stored { priorities: None, ..stored.clone() };
        let init = (learner, stored.priorities);
        let ((learner, priorities), metrics) = it.repeat(gradient_steps, &init, |it, number, (learner, priorities)| {
            let ((learner, stored), metrics) = update(it, number, (learner, Stored { priorities, ..fixed.clone() }));
            ((learner, stored.priorities), metrics)
        });
        ((learner, Stored { priorities, ..fixed }), metrics)
    }

    /// Makes the passes of an iteration, from the episodes that are running in the state.
    fn passes(
        &self,
        it: &mut Iteration<'_>,
        cast: &Actors<'_>,
        from: Carried<C::Learner>,
        held: &Held,
    ) -> (Carried<C::Learner>, Metrics) {
        let Replay { train_freq, iteration_steps, .. } = *self.algorithm.replay();
        let remembered = if cast.acts { self.algorithm.remembered() } else { Vec::new() };
        let memory = remembered.iter().map(|(name, _)| (*name, held.get(name))).collect();
        let init = Pass { episodes: RunningEpisodes::of(held, memory), carried: from };
        let passes = iteration_steps / train_freq;
        let (last, metrics) = it.repeat(passes, &init, |it, number, at| self.pass(it, cast, number, at));
        let Pass { episodes, carried } = last;
        episodes.keep(it);
        for (name, _) in remembered {
            it.update(name, episodes.running.memory.get(name));
        }
        (carried, metrics)
    }

    /// Makes one pass, of number `number`, u32 `[]`: steps, then updates.
    fn pass(
        &self,
        it: &mut Iteration<'_>,
        cast: &Actors<'_>,
        number: Tensor,
        from: Pass<C::Learner>,
    ) -> (Pass<C::Learner>, Metrics) {
        let Replay { envs, train_freq, .. } = *self.algorithm.replay();
        let (Actors { policy, rates, key, acts, learns }, rows) = (cast, [it.seeds(), envs]);
        let Pass { episodes: RunningEpisodes { running, ep_return }, carried } = from;
        let Carried { learner, stored, statistics } = carried;
        let acting = self.acting(&learner, rates, statistics.as_ref());
        let first = number * Tensor::constant_u32(train_freq as u32);
        let steps = running.steps.unsqueeze(2);
        let played = it.go_on(
            Cast { policy: &**policy, acting: &acting, rows },
            running,
            Until {
                steps: train_freq,
                span: train_freq,
                lasting: (*acts && self.algorithm.noise_lasts()).then_some(0),
            },
            first,
        );
        let ends = played.steps.ends();
        let stored = self.memory.push(stored, &Self::transitions(&played.steps), by_seed(ends.step_numbers(steps)));
        let not_discounted = Tensor::zeros(&steps.shape());
        let (count, (_, ended)) = Count::from(steps, ep_return, not_discounted).over(played.steps.reward, ends, 1.0);
        let metrics = count.metrics(ended, [train_freq, rows[0], envs]);
        let statistics = statistics.map(|before| merge_steps(it, before, played.steps.obs, None));
        let ((learner, stored), metrics) = match learns {
            false => ((learner, stored), metrics),
            true => {
                let from = (learner, stored, statistics.as_ref());
                let (after, learned) = self.updates(it, rates, from, number, fold_in(*key, number));
                (after, metrics.with(learned))
            }
        };
        let episodes = RunningEpisodes { running: played.next, ep_return: count.ep_return };
        (Pass { episodes, carried: Carried { learner, stored, statistics } }, metrics)
    }
}

/// The state of a run between two passes.
#[derive(Clone, Debug)]
struct Pass<L> {
    episodes: RunningEpisodes,
    carried: Carried<L>,
}

/// All that passes change besides the running episodes.
#[derive(Clone, Debug)]
struct Carried<L> {
    learner: L,
    stored: Stored,
    /// Statistics of all observations so far, by which the policy and updates standardise them.
    statistics: Option<Moments>,
}

impl<L: Tree> Tree for Carried<L> {
    fn leaves(&self, to: &mut Vec<Tensor>) {
        self.stored.leaves(to);
        self.learner.leaves(to);
        self.statistics.leaves(to);
    }

    fn rebuild(&self, from: &mut dyn Iterator<Item = Tensor>) -> Self {
        let stored = self.stored.rebuild(from);
        Carried { stored, learner: self.learner.rebuild(from), statistics: self.statistics.rebuild(from) }
    }
}

impl<L: Tree> Tree for Pass<L> {
    fn leaves(&self, to: &mut Vec<Tensor>) {
        self.episodes.leaves(to);
        self.carried.leaves(to);
    }

    fn rebuild(&self, from: &mut dyn Iterator<Item = Tensor>) -> Self {
        Pass { episodes: self.episodes.rebuild(from), carried: self.carried.rebuild(from) }
    }
}

/// The policy of an iteration's passes, with its rates.
struct Actors<'a> {
    policy: Box<dyn Policy + 'a>,
    rates: Named,
    /// The key of the updates' random numbers, words `[S, 1]`.
    key: [Tensor; 2],
    /// True if the policy acts, false if actions are even draws.
    acts: bool,
    /// True if passes have updates.
    learns: bool,
}

/// Standardises the observations of a batch.
#[track_caller]
fn standardised(batch: &Batch, statistics: &Moments) -> Batch {
    let seen = |obs: Tensor| Normalised::standardised(statistics, obs);
    let Transitions { obs, next_obs, .. } = batch.transitions;
    Batch { transitions: Transitions { obs: seen(obs), next_obs: seen(next_obs), ..batch.transitions }, ..*batch }
}

/// The scalars of values that follow a schedule, by their names.
fn rates(it: &mut Iteration<'_>, scheduled: Vec<(&'static str, f64)>) -> Named {
    let names = scheduled.into_iter().map(|(name, _)| name.trim_start_matches("train/"));
    names.map(|name| (name, it.scalar(name))).collect()
}

/// The name of β's scalar.
const CORRECTION: &str = "priority_correction";

impl<C: OffPolicy> Learned for OffPolicyLearner<C> {
    fn policy(&self) -> Box<dyn Policy + '_> {
        Box::new(Normalised(self.algorithm.policy()))
    }

    fn course(&self) -> Course {
        Course::fixed(self.horizon, self.algorithm.replay().gamma)
    }

    fn start(&self, held: &Held, _tasks: usize) -> Acting {
        // The policy's slices come first.
        let parts = self.algorithm.layout().split(held.theta());
        let (rates, statistics) = (self.algorithm.last_rates(), Statistics::acting(held));
        Acting { parts, values: rates.iter().chain(statistics.iter()).collect() }
    }
}

impl<C: OffPolicy> Algorithm for OffPolicyLearner<C> {
    fn layout(&self) -> &Layout {
        self.algorithm.layout()
    }

    fn entries(&self, environment: Option<usize>) -> Vec<StateEntry> {
        let n = self.algorithm.replay().envs;
        let mut entries = self.algorithm.entries();
        let goes_on = self.algorithm.replay().whole_episodes().is_none();
        if goes_on {
            let sizes = [n, self.memory.observations, self.tasks];
            entries.extend(RunningEpisodes::entries(environment, self.horizon, sizes));
        }
        if self.algorithm.replay().normalise_observations {
            entries.extend(Statistics::OBSERVATIONS.entries(self.memory.observations));
        }
        entries.extend(memory_entries::declare(&self.memory));
        let of_policy = |(name, width)| StateEntry::new(name, &[n, width], DType::F32).of_episode();
        entries.extend(self.algorithm.remembered().into_iter().filter(|_| goes_on).map(of_policy));
        entries
    }

    fn fleet(&self, seeds: usize) -> FleetSize {
        FleetSize { tasks: seeds, envs_per_task: self.algorithm.replay().envs, horizon: self.horizon }
    }

    fn batch(&self) -> u64 {
        self.algorithm.replay().batch(self.horizon) as u64
    }

    fn most(&self, iterations: u64) -> u64 {
        let replay = self.algorithm.replay();
        let [before, after] = [false, true].map(|learns| replay.most(learns, self.horizon) as u64);
        let warm_up = replay.warm_up(self.horizon).min(iterations);
        warm_up.saturating_mul(before).saturating_add((iterations - warm_up).saturating_mul(after))
    }

    fn counts_steps(&self) -> bool {
        self.algorithm.replay().whole_episodes().is_some()
    }

    /// Hindsight takes goals from there. Memories of whole episodes have always held it.
    fn reads_last_observations(&self) -> bool {
        self.memory.hindsight.is_some() && self.algorithm.replay().whole_episodes().is_none()
    }

    /// Each rank remembers what it plays, and draws from that.
    fn together(&self) -> Together {
        Together::Gradients
    }

    fn policy_entries(&self) -> Vec<&'static str> {
        Statistics::policy_entries(self.algorithm.replay().normalise_observations)
    }

    fn for_steps(&self, steps: u64) -> Result<Option<Box<dyn Algorithm>>> {
        let memory = ReplayMemory { rows: self.algorithm.replay().rows(steps, self.horizon)?, ..self.memory.clone() };
        Ok(Some(Box::new(OffPolicyLearner { memory, ..self.clone() })))
    }

    fn sizes(&self) -> Vec<(&'static str, usize)> {
        let Replay { envs, batch_size, min_rollouts, min_steps, .. } = *self.algorithm.replay();
        let hidden = self.algorithm.net().hidden.iter().copied().max().unwrap_or(0);
        let mut sizes = vec![("memory_size", self.memory.rows), ("batch_size", batch_size), ("envs", envs)];
        let minima = [("min_rollouts", min_rollouts), ("min_steps", min_steps)];
        sizes.extend(minima.into_iter().filter(|(_, minimum)| *minimum > 0));
        sizes.push(("hidden", hidden));
        sizes
    }

    fn stages(&self) -> usize {
        2
    }

    fn stage(&self, done: u64) -> usize {
        if done < self.algorithm.replay().warm_up(self.horizon) { 0 } else { TRAINING }
    }

    fn iteration(&self, it: &mut Iteration<'_>, held: &Held) -> Metrics {
        let Replay { warm_up, .. } = *self.algorithm.replay();
        let learns = it.stage() == TRAINING;
        let acts = learns || warm_up == WarmUp::Policy;
        let rates = if acts { rates(it, self.schedules(Progress::default())) } else { Named::new() };
        let policy: Box<dyn Policy + '_> = if acts { self.policy() } else { Box::new(self.beginner.clone()) };
        let key = fold_in(fold_in(it.key(), Tensor::constant_u32(streams::REPLAY)), it.number());
        let cast = Actors { policy, rates, key, acts, learns };
        let stored = memory_entries::begin(&self.memory, held);
        let statistics = Statistics::OBSERVATIONS.find(held);
        let from = Carried { learner: self.algorithm.begin(held), stored, statistics };
        let (Carried { learner, stored, statistics }, metrics) =
            match self.algorithm.replay().amount(learns, self.horizon) {
                Some(amount) => self.pass_of_episodes(it, &cast, from, amount),
                None => self.passes(it, &cast, from, held),
            };
        memory_entries::keep(it, stored);
        if let Some(statistics) = statistics {
            Statistics::OBSERVATIONS.keep(it, &statistics);
        }
        if learns {
            self.algorithm.keep(it, &learner);
        }
        metrics
    }

    fn schedules(&self, at: Progress) -> Vec<(&'static str, f64)> {
        let mut schedules = self.algorithm.schedules(at);
        if self.memory.prioritised.is_some() {
            let correction = self.algorithm.replay().correction(at, self.horizon);
            schedules.push(("train/priority_correction", correction));
        }
        schedules
    }
}
