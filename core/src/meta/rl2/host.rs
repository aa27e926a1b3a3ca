//! RL² on environments of the host.

use std::fmt;

use super::memory::{MemoryAdaptation, MemoryPolicy};
use super::{Rl2, Rl2Config, Rl2Net, Rl2Variant, TrialPolicy, Trials, initial, learn};
use crate::algo::{Algorithm, Held, LocalFuture};
use crate::backend::ScalarValue;
use crate::backend::reference::NonFinite;
use crate::host::{Actor, Executor, Fleet, PlayedStep, Player};
use crate::meta::host_tasks::{chances, expect_fleet};
use crate::play::{Recorded, Tape, replay};
use crate::policy::Acting;
use crate::rng::{Key, fold_in, key_from_seed, streams};
use crate::{Array, DType, Device, Error, Program, Result, State};

/// RL² where trials are played on the host; all else is [`Rl2`], by the same functions and with the same state.
///
/// A program acts in each step, and one learns from the trials, for which it looks at the recorded steps instead of stepping
/// environments itself. With the same seeds, a built-in environment without chance trains the same parameters on the host; one with
/// chance draws other numbers there, since every trial is a group of its own.
pub struct HostRl2 {
    device: Device,
    variant: Rl2Variant,
    config: Rl2Config,
    keys: Vec<Key>,
    player: Player,
    actor: MemoryPolicy,
    program: Program,
    metric_names: Vec<String>,
    /// The last iteration's trials.
    recorded: Vec<(&'static str, Array)>,
    /// All that training changes, each array with a leading axis of seeds.
    pub state: State,
}

impl fmt::Debug for HostRl2 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostRl2").field("fleet", self.player.executor().fleet()).finish_non_exhaustive()
    }
}

impl HostRl2 {
    /// Fresh training of one run per seed, on an executor of seeds × `meta_batch` tasks with one environment each.
    ///
    /// # Errors
    /// If a setting is invalid, the executor does not fit it, or the device lacks memory.
    pub fn new(
        device: &Device,
        variant: Rl2Variant,
        config: &Rl2Config,
        executor: Box<dyn Executor>,
        seeds: &[u64],
    ) -> Result<HostRl2> {
        config.validate(variant)?;
        let state = initial(device, config, &executor.fleet().spec, seeds)?;
        HostRl2::resume(device, variant, config, executor, seeds, state)
    }

    /// Training that goes on from a state with all of [`Rl2::entries`], of runs with these seeds.
    ///
    /// # Errors
    /// As [`new`](HostRl2::new), or if an array is missing or of another shape.
    pub fn resume(
        device: &Device,
        variant: Rl2Variant,
        config: &Rl2Config,
        executor: Box<dyn Executor>,
        seeds: &[u64],
        state: State,
    ) -> Result<HostRl2> {
        config.validate(variant)?;
        let (fleet, s, m) = (executor.fleet(), seeds.len(), config.meta_batch);
        let spec = &fleet.spec;
        expect_fleet(fleet, s, [s * m, 1, spec.horizon])?;
        let net = Rl2Net::new(spec, config);
        // To who acts, the trials of a seed are environments side by side, with the seed's parameters and key.
        let by_seed = Fleet { tasks: s, envs_per_task: m, ..fleet.clone() };
        let theta = state.get("theta")?.clone();
        let actor = MemoryPolicy::new(&MemoryAdaptation::new(device, config, theta), &by_seed)?;
        let program = Program::new(device, |cx| {
            let held = Held::declare(cx, &Rl2::entries(config, spec), s);
            let iteration = cx.scalar_u32("iteration");
            let steps = config.trial_steps(spec.horizon);
            let first = cx.input("first_observation", &[s, m, fleet.observations()], DType::F32);
            let recorded = Recorded::declare(cx, steps, [s, m], fleet.observations(), fleet.actions());
            let acting = Acting::of(&net.layout.split(held.get("theta")));
            let policy = TrialPolicy { net: &net, space: &spec.action, carry_over: config.carry_over };
            let played = replay(&policy, &acting, config.episodes, first, &recorded);
            learn(cx, variant, config, &net, &held, &Trials::from(&played), iteration);
        })?;
        Ok(HostRl2 {
            device: device.clone(),
            variant,
            config: config.clone(),
            keys: seeds.iter().map(|seed| key_from_seed(*seed)).collect(),
            player: Player::new(executor),
            actor,
            program,
            metric_names: Rl2::metric_names(variant),
            recorded: Vec::new(),
            state,
        })
    }

    /// Steps that environments have made.
    pub fn env_steps(&self) -> u64 {
        self.player.env_steps()
    }

    /// Give each trial its task of this iteration.
    async fn draw_tasks(&mut self, iteration: u32) -> Result<()> {
        if self.player.executor().fleet().spec.task.is_empty() {
            return Ok(());
        }
        let chances = chances(self.config.task_source(), &self.keys, iteration, self.config.meta_batch);
        let executor = self.player.executor_mut();
        let tasks = executor.sample_tasks(&chances).await?;
        executor.set_tasks(&tasks).await
    }

    /// Play a trial on each task, until the last one has ended.
    async fn play(&mut self, iteration: u32) -> Result<()> {
        self.recorded.clear();
        self.draw_tasks(iteration).await?;
        self.actor.forget(self.state.get("theta")?.clone());
        let keys: Vec<Key> = self.keys.iter().map(|key| fold_in(*key, iteration)).collect();
        self.actor.begin(&keys)?;
        let trials = 0..self.config.meta_batch as u32;
        let of_trials = |key: &Key| trials.clone().map(|trial| fold_in(fold_in(*key, streams::ENV), trial)).collect();
        let env_keys: Vec<Key> = keys.iter().flat_map::<Vec<Key>, _>(of_trials).collect();
        let at_first: Vec<Key> = env_keys.iter().map(|key| fold_in(*key, 0)).collect();
        self.player.begin(&at_first).await?;
        let first = self.player.seen().unwrap_or_default().to_vec();
        let most = self.config.trial_steps(self.player.executor().fleet().spec.horizon);
        let (mut left, mut tape, mut steps) = (vec![self.config.episodes; env_keys.len()], Tape::default(), 0);
        let mut record = |step: PlayedStep<'_>| {
            for (number, left) in left.iter_mut().enumerate() {
                *left = left.saturating_sub(usize::from(step.stepped.ended(number)));
            }
            tape.add(&step);
            steps += 1;
            steps < most && left.iter().any(|episodes| *episodes > 0)
        };
        self.player.play(&mut self.actor, &env_keys, 1, &mut record).await?;

        let fleet = self.player.executor().fleet();
        if left.iter().any(|episodes| *episodes > 0) {
            let (name, horizon) = (fleet.spec.name.clone(), fleet.spec.horizon);
            let problem = format!(
                "an episode is longer than the time limit of {horizon} steps: the executor does not cut it off"
            );
            return Err(Error::Environment { name, problem });
        }
        let shape = [self.keys.len(), self.config.meta_batch];
        self.recorded = tape.upload(&self.device, fleet, [most, shape[0], shape[1]])?;
        let shape = [shape[0], shape[1], fleet.observations()];
        self.recorded.push(("first_observation", self.device.array(&shape, &first)?));
        Ok(())
    }

    fn inputs(&self) -> Vec<(&str, &Array)> {
        self.recorded.iter().map(|(name, array)| (*name, array)).collect()
    }
}

impl Algorithm for HostRl2 {
    fn state(&self) -> &State {
        &self.state
    }

    fn program(&self) -> &Program {
        &self.program
    }

    fn running(&mut self) -> (&mut Program, &State) {
        (&mut self.program, &self.state)
    }

    fn metric_names(&self) -> &[String] {
        &self.metric_names
    }

    fn schedules(&self, done: u64, total: u64) -> Vec<(&'static str, f64)> {
        self.config.schedules(self.variant, done, total)
    }

    fn scalars(&self, done: u64, total: u64) -> Vec<(&'static str, ScalarValue)> {
        self.config.scalars(done, total)
    }

    fn step(&mut self, done: u64, total: u64) -> LocalFuture<'_, Result<Array>> {
        Box::pin(async move {
            self.play((done + 1) as u32).await?;
            let scalars = self.config.scalars(done, total);
            let inputs: Vec<(&str, &Array)> = self.recorded.iter().map(|(name, array)| (*name, array)).collect();
            self.program.run(&self.state, &inputs, &scalars)?.get("metrics").cloned()
        })
    }

    /// Of learning, from the last trials.
    fn first_non_finite<'a>(
        &'a self,
        before: &'a State,
        done: u64,
        total: u64,
    ) -> LocalFuture<'a, Result<Option<NonFinite>>> {
        Box::pin(async move { self.program.first_non_finite(before, &self.inputs(), &self.scalars(done, total)).await })
    }
}
