//! PEARL: a policy that acts by a belief about its task, and an encoder that infers the belief from transitions.
//!
//! Rakelly et al. 2019, arXiv:1903.08254, algorithms 1 and 2; after garage's `PEARL` and the authors' code (oyster). An
//! iteration is garage's epoch: the policy collects whole episodes on some of the training tasks, first by draws from
//! the prior and then by draws from the belief; updates on batches of other tasks follow. Each training task has a
//! [memory](TaskMemory) of its own, whose latest part is the task's context.
//!
//! Departures from garage, each with its reason:
//!  1. critics begin apart, and regularisers have gradients, as in the authors' code; otherwise neither has an effect
//!  2. the tasks that are collected on are dealt like cards: all are visited equally often, and memories need no more
//!     than their share
//!  3. between episodes a belief is inferred from all of the context, as on held-out tasks, and not from a draw of it
//!  4. an update with a gradient that is not finite is dropped and counted

mod config;
mod encoder;
mod loss;
mod memory;
mod nets;
mod policy;
mod tally;
#[cfg(test)]
mod tests;
mod visits;

pub use config::{EncoderKind, PearlConfig};
pub use encoder::{Belief, ContextEncoder};
pub use loss::{PolicyNumbers, Regularisers, critic_loss, critic_target, policy_loss, regularisation, value_loss};
pub use memory::{Collected, Remembered, TaskMemory};
pub use nets::{PearlBatch, PearlLearner, PearlNets, PearlUpdated};
pub use policy::{ContextPolicy, augmented};
use tally::{Tally, metrics};

use super::per_task;
use crate::algo::{Algorithm, AlgorithmDef, Course, Family, Held, Learned, Metrics, Numbers, Relation, StateEntry};
use crate::credit::Paths;
use crate::dist::{RowNoise, fold_in};
use crate::env::EnvSpec;
use crate::host::FleetSize;
use crate::nn::Layout;
use crate::play::{Amount, Cast, Iteration, Steps, Tasks, row_keys};
use crate::policy::{Acting, Policy};
use crate::replay::Transitions;
use crate::rng::streams;
use crate::settings::Settings as _;
use crate::tensor::Named;
use crate::{DType, Error, Result, Tensor};

/// The entry of PEARL in the register.
pub static PEARL: AlgorithmDef = AlgorithmDef {
    presets: crate::algo::presets!("pearl/presets.toml"),
    small: config::SMALL,
    ..AlgorithmDef::new::<PearlConfig>(
        "pearl",
        "PEARL: a belief about the task, inferred from what was seen (arXiv:1903.08254)",
        Family::Inference,
        |settings, spec| Ok(Box::new(Pearl::new(&PearlConfig::default().with(settings)?, spec)?)),
    )
};

/// The stage of an iteration that learns. In the stage before, each task is visited by draws from the prior alone.
const TRAINING: usize = 1;

/// Meta-training by PEARL, for one environment.
#[derive(Clone, Debug)]
pub struct Pearl {
    nets: PearlNets,
    memory: TaskMemory,
    /// The most steps of an episode.
    horizon: usize,
}

/// Whole episodes that were collected at once on each of M tasks, and their consequences.
struct Round {
    collected: Collected,
    /// Evidence after these episodes, `[S · M, 1, ·]` each.
    evidence: Named,
    /// Counts of these episodes.
    tally: Tally,
}

impl Pearl {
    /// Sets up meta-training for an environment.
    ///
    /// # Errors
    /// If a setting is invalid, or the environment has a single task or takes discrete actions.
    pub fn new(config: &PearlConfig, spec: &EnvSpec) -> Result<Pearl> {
        if spec.task.is_empty() {
            let problem = format!("`{}` has a single task, so there is nothing to infer; train sac on it", spec.name);
            return Err(Error::config("env", problem));
        }
        Pearl::of(PearlNets::new(config, spec)?, spec)
    }

    /// Sets up meta-training with given networks.
    ///
    /// # Errors
    /// If a setting does not fit the environment.
    pub fn of(nets: PearlNets, spec: &EnvSpec) -> Result<Pearl> {
        let config = &nets.config.clone();
        let memory = TaskMemory {
            tasks: config.train_tasks,
            rows: config.memory_size,
            observations: spec.observation.len(),
            actions: spec.action.dim(),
            two_rewards: config.dense_rewards,
        };
        let pearl = Pearl { nets, memory, horizon: spec.horizon };
        let (least, context) = (pearl.most_added(), config.embedding_batch_size);
        if config.memory_size < least {
            let problem = format!(
                "{} rows are fewer than the {least} that one iteration may add to a task, in episodes of up to {} \
                 steps; raise it to that, or lower the time_limit of `{}`",
                config.memory_size, spec.horizon, spec.name
            );
            return Err(Error::config("memory_size", problem));
        }
        let planned = |amount: &Amount| amount.planned(spec.horizon);
        let of = |amounts: &[Amount]| amounts.iter().map(planned).fold(0, usize::saturating_add);
        let collected = of(&pearl.visit()[..2]).min(of(&[pearl.initial()]));
        if config.encoder == EncoderKind::Gru && context > collected {
            let problem = format!(
                "encoder = \"gru\" reads {context} transitions in order of time, and {collected} are collected for a \
                 context; lower it to {collected}, raise num_initial_steps and num_steps_prior to {context}, or choose \
                 encoder = \"mlp\", which draws with replacement"
            );
            return Err(Error::config("embedding_batch_size", problem));
        }
        Ok(pearl)
    }

    /// The networks.
    #[must_use]
    pub fn nets(&self) -> &PearlNets {
        &self.nets
    }

    fn config(&self) -> &PearlConfig {
        &self.nets.config
    }

    /// The values by which a policy acts before it has seen anything, for `tasks` of each seed.
    fn prior(&self, theta: Tensor, tasks: usize) -> Acting {
        let values = self.nets.encoder.nothing([theta.size(0) * tasks, 1]);
        Acting { parts: per_task(&self.nets.acting_parts(theta), tasks), values }
    }

    /// Evidence after episodes `[T, K, N, …]`, read one after the other.
    fn infer(&self, acting: &Acting, seen: &Paths) -> Named {
        let Paths { obs, next_obs, action, reward, valid, .. } = *seen;
        let encoder = &self.nets.encoder;
        let transitions = encoder.transitions(obs, action, reward, next_obs);
        let shape = transitions.shape();
        let [t, k, n, width] = shape[..] else { return acting.values.clone() };
        let in_order = |x: Tensor, width: usize| x.permute(&[1, 2, 0, 3]).reshape(&[k, 1, n * t, width]);
        let slices = self.nets.policy(None).slices.min(acting.parts.len());
        encoder.after(&acting.parts[slices..], &acting.values, in_order(transitions, width), Some(in_order(valid, 1)))
    }

    /// Collects whole episodes on an iteration's tasks; none if the settings ask for no steps.
    fn collect(
        &self,
        it: &mut Iteration<'_>,
        (tasks, key): (&Tasks, [Tensor; 2]),
        acting: &Acting,
        (amount, infers, context): (Amount, Option<usize>, bool),
    ) -> Option<Round> {
        let (seeds, m, room) = (it.seeds(), self.config().num_tasks_sample, it.room(amount.most(self.horizon)));
        if room.most == 0 {
            return None;
        }
        let policy = self.nets.policy(infers);
        let cast = Cast { policy: &policy, acting, rows: [seeds * m, 1] };
        let steps = it.episodes(cast, tasks, row_keys(key, m), amount, room).steps;
        let Steps { obs, action, next_obs, terminated, .. } = steps;
        let by_task = |x: Tensor| {
            let width = x.size(3);
            x.reshape(&[room.steps, seeds, m, width]).permute(&[1, 2, 0, 3])
        };
        let reward = match self.memory.two_rewards {
            true => it.dense_reward(&steps, tasks),
            false => steps.reward,
        };
        let rows = Tensor::concat(&[obs, action, next_obs, reward, terminated.to_f32()], 3);
        let rows = if self.memory.two_rewards { Tensor::concat(&[rows, steps.reward], 3) } else { rows };
        let valid = by_task(steps.valid).reshape(&[seeds, m, room.steps]);
        Some(Round {
            collected: Collected { rows: by_task(rows), valid, context },
            evidence: self.infer(acting, &steps.paths()),
            tally: Tally::of(&steps, [seeds, m]),
        })
    }

    /// Visits an iteration's tasks. Returns the rows that were collected, and metrics of the episodes.
    fn play(
        &self,
        it: &mut Iteration<'_>,
        theta: Tensor,
        tasks: &Tasks,
        key: [Tensor; 2],
    ) -> (Vec<Collected>, Metrics) {
        let of = |stream: u32| fold_in(key, Tensor::constant_u32(stream));
        let prior = self.prior(theta, self.config().num_tasks_sample);
        if it.stage() != TRAINING {
            let round = self.collect(it, (tasks, of(0)), &prior, (self.initial(), None, true));
            let round = round.map(|round| (vec![round.collected], metrics([Some(round.tally), None])));
            return round.unwrap_or_default();
        }
        let [by_prior, by_belief, extra] = self.visit();
        let every = self.config().update_post_train;
        let (mut acting, mut all, mut of_prior, mut of_belief) = (prior, Vec::new(), None, None);
        let rounds = [(by_prior, None, true), (by_belief, Some(every), true), (extra, None, false)];
        for (stream, round) in (0..).zip(rounds) {
            let played = self.collect(it, (tasks, of(stream)), &acting, round);
            let Some(Round { collected, evidence, tally }) = played else { continue };
            // Episodes outside of the context leave the belief as it is.
            acting.values = if round.2 { evidence } else { acting.values };
            all.push(collected);
            match stream {
                0 => of_prior = Some(tally),
                _ => {
                    let before: Option<Tally> = of_belief.take();
                    of_belief = Some(match before {
                        Some(before) => before.and(tally),
                        None => tally,
                    });
                }
            }
        }
        (all, metrics([of_prior, of_belief]))
    }

    /// Draws the data of one update. `rows` are the part of the context that it reads.
    fn data(&self, held: &Remembered, evidence: &Named, rows: Tensor, tasks: Tensor, key: [Tensor; 2]) -> PearlBatch {
        let config = self.config();
        let (seeds, m) = (tasks.size(0), config.meta_batch);
        let noise = |stream: u32, rows: usize| RowNoise::new(fold_in(key, Tensor::constant_u32(stream)), rows);
        let (seen, shown) = self.memory.transitions(rows);
        let Transitions { obs, action, next_obs, .. } = seen;
        let context = self.nets.encoder.transitions(obs, action, shown, next_obs);
        let (c, width) = (config.embedding_mini_batch_size, context.size(2));
        let drawn = self.memory.batch(held, tasks, &noise(2, m * config.batch_size), config.batch_size);
        PearlBatch {
            evidence: evidence.clone(),
            context: context.reshape(&[seeds, m, c, width]),
            transitions: self.memory.transitions(drawn).0,
            of_z: noise(3, m).normal(config.latent_dim),
            of_actions: noise(4, m * config.batch_size).normal(self.memory.actions),
        }
    }

    /// Makes the updates on one draw of tasks: one for each part of their contexts.
    fn update(
        &self,
        it: &mut Iteration<'_>,
        held: &Remembered,
        learner: PearlLearner,
        key: [Tensor; 2],
    ) -> (PearlLearner, Metrics) {
        let config = self.config();
        let (seeds, m, whole) = (it.seeds(), config.meta_batch, config.embedding_batch_size);
        let part = config.embedding_mini_batch_size;
        let noise = |stream: u32, rows: usize| RowNoise::new(fold_in(key, Tensor::constant_u32(stream)), rows);
        let tasks = (noise(0, m).uniform() * config.train_tasks as f64).to_u32().reshape(&[seeds, m]);
        let recurrent = config.encoder == EncoderKind::Gru;
        let rows = self.memory.contexts(held, tasks, &noise(1, m * whole), whole, recurrent);
        let nothing = self.nets.encoder.nothing([seeds, m]);
        let of_part = |number: Tensor| fold_in(fold_in(key, Tensor::constant_u32(5)), number);
        if whole == part {
            let data = self.data(held, &nothing, rows, tasks, of_part(Tensor::constant_u32(0)));
            let PearlUpdated { learner, metrics, .. } = self.nets.update(it.context(), learner, &data);
            return (learner, metrics);
        }
        let width = rows.size(2);
        let by_part = rows.reshape(&[seeds, m, whole, width]);
        let ((learner, _), metrics) =
            it.repeat(whole / part, &(learner, nothing.clone()), |it, number, (learner, evidence)| {
                let first = number * Tensor::constant_u32(part as u32);
                let place = Tensor::iota(&[seeds, m, part], 2)
                    + first
                    + Tensor::iota(&[seeds, m, 1], 1) * Tensor::constant_u32(whole as u32);
                let rows = by_part.reshape(&[seeds, m * whole, width]).gather(place.reshape(&[seeds, m * part]));
                let data = self.data(held, &evidence, rows, tasks, of_part(number));
                let PearlUpdated { learner, metrics, evidence: after } = self.nets.update(it.context(), learner, &data);
                // A recurrent encoder goes on from its units; votes count for their own part only.
                ((learner, if recurrent { after } else { nothing.clone() }), metrics)
            });
        (learner, metrics)
    }
}

impl Learned for Pearl {
    fn policy(&self) -> Box<dyn Policy + '_> {
        Box::new(self.nets.policy(None))
    }

    fn course(&self) -> Course {
        let rounds = self.config().exploration_episodes;
        Course { family: Family::Inference, rounds, ..Course::fixed(self.horizon, self.config().gamma) }
    }

    fn start(&self, held: &Held, tasks: usize) -> Acting {
        self.prior(held.theta(), tasks)
    }

    fn adapt(&self, _held: &Held, acting: &Acting, seen: &Paths) -> Acting {
        Acting { parts: acting.parts.clone(), values: self.infer(acting, seen) }
    }
}

impl Algorithm for Pearl {
    fn layout(&self) -> &Layout {
        self.nets.layout()
    }

    fn entries(&self, _: Option<usize>) -> Vec<StateEntry> {
        let TaskMemory { tasks, rows, .. } = self.memory;
        let counts =
            |name, most: usize| StateEntry::new(name, &[tasks], DType::U32).holding(Numbers::up_to(most as u64));
        let mut entries = self.nets.entries();
        let stretch = Relation::Stretch { first: "context_first", filled: "memory_filled", rows };
        entries.extend([
            StateEntry::new("memory", &[tasks * rows, self.memory.width()], DType::F32).bulk(),
            counts("memory_next", rows),
            counts("memory_filled", rows).related(Relation::FilledUpTo { next: "memory_next", rows }),
            counts("context_first", rows.saturating_sub(1)),
            counts("context_filled", rows).related(stretch),
        ]);
        entries
    }

    fn most(&self, iterations: u64) -> u64 {
        let first = iterations.min(self.warm_up());
        let most = |amounts: &[Amount]| {
            let of_task: usize = amounts.iter().map(|amount| amount.most(self.horizon)).sum();
            (of_task * self.config().num_tasks_sample) as u64
        };
        let initial = first.saturating_mul(most(&[self.initial()]));
        initial.saturating_add((iterations - first).saturating_mul(most(&self.visit())))
    }

    fn fleet(&self, seeds: usize) -> FleetSize {
        FleetSize { tasks: seeds * self.config().num_tasks_sample, envs_per_task: 1, horizon: self.horizon }
    }

    fn batch(&self) -> u64 {
        let each: usize = self.visit().iter().map(|amount| amount.planned(self.horizon)).sum();
        (each * self.config().num_tasks_sample) as u64
    }

    fn planned(&self, iterations: u64) -> u64 {
        let first = iterations.min(self.warm_up());
        let initial = (self.initial().planned(self.horizon) * self.config().num_tasks_sample) as u64;
        first.saturating_mul(initial).saturating_add((iterations - first).saturating_mul(self.batch()))
    }

    fn iterations(&self, steps: u64) -> u64 {
        let warm_up = self.planned(self.warm_up());
        match steps.checked_sub(warm_up) {
            Some(rest) => self.warm_up() + rest.div_ceil(self.batch()),
            None => steps.div_ceil(self.planned(1)),
        }
    }

    fn for_steps(&self, steps: u64) -> Result<Option<Box<dyn Algorithm>>> {
        let iterations = self.iterations(steps);
        if iterations <= self.warm_up() {
            return Err(self.too_short(steps));
        }
        let rows = usize::try_from(self.rows(self.most_iterations(steps).max(self.warm_up() + 1)))
            .unwrap_or(usize::MAX)
            .min(self.config().memory_size);
        let all = self.memory.tasks.checked_mul(rows).filter(|all| u32::try_from(*all).is_ok());
        if all.is_none() {
            let problem =
                format!("{} tasks with {rows} rows each are too many; lower it or train_tasks", self.memory.tasks);
            return Err(Error::config("memory_size", problem));
        }
        Ok(Some(Box::new(Pearl { memory: TaskMemory { rows, ..self.memory }, ..self.clone() })))
    }

    fn counts_steps(&self) -> bool {
        true
    }

    fn sizes(&self) -> Vec<(&'static str, usize)> {
        let PearlConfig { meta_batch, batch_size, num_tasks_sample, train_tasks, .. } = *self.config();
        let hidden = self.config().net.hidden.iter().copied().max().unwrap_or(0);
        vec![
            ("memory_size", self.memory.rows),
            ("train_tasks", train_tasks),
            ("batch_size", batch_size),
            ("meta_batch", meta_batch),
            ("num_tasks_sample", num_tasks_sample),
            ("hidden", hidden),
        ]
    }

    fn stages(&self) -> usize {
        2
    }

    fn stage(&self, done: u64) -> usize {
        if done < self.warm_up() { 0 } else { TRAINING }
    }

    fn iteration(&self, it: &mut Iteration<'_>, held: &Held) -> Metrics {
        let learner = self.nets.begin(held);
        let key = fold_in(fold_in(it.key(), Tensor::constant_u32(streams::REPLAY)), it.number());
        let stream = |number: u32| fold_in(key, Tensor::constant_u32(number));
        let tasks = it.tasks(self.tasks(), self.config().num_tasks_sample);
        let (visit, played) = self.play(it, held.theta(), &tasks, stream(0));
        let remembered = Remembered {
            rows: held.get("memory"),
            next: held.get("memory_next"),
            filled: held.get("memory_filled"),
            context: held.get("context_first"),
            context_filled: held.get("context_filled"),
        };
        let remembered = self.memory.add(remembered, tasks.numbers, &visit);
        for (name, value) in [
            ("memory", remembered.rows),
            ("memory_next", remembered.next),
            ("memory_filled", remembered.filled),
            ("context_first", remembered.context),
            ("context_filled", remembered.context_filled),
        ] {
            it.update(name, value);
        }
        if it.stage() != TRAINING {
            return played;
        }
        let (learner, metrics) = it.repeat(self.config().num_steps_per_epoch, &learner, |it, number, learner| {
            self.update(it, &remembered, learner, fold_in(stream(1), number))
        });
        self.nets.keep(it, &learner);
        played.with(metrics)
    }
}
