//! MAML's family on environments of the host.

use super::config::{MamlConfig, Variant};
use super::host_learner::HostLearner;
use super::host_tasks::{chances, expect_fleet};
use super::maml::{Learner, Maml, OuterLoop, initial, scalars, schedules};
use crate::algo::{Algorithm, LocalFuture};
use crate::backend::ScalarValue;
use crate::backend::reference::NonFinite;
use crate::host::{BlockShape, Executor, MetaSampler, Padded, PathArrays};
use crate::play::PolicyActor;
use crate::policy::How;
use crate::rng::{Key, fold_in, key_from_seed};
use crate::{Array, Device, Program, Result, State};

/// Meta-training where episodes are played on the host; all else is [`Maml`], by the same functions and with the same state.
///
/// An iteration draws tasks, plays them with the shared policy, adapts, plays with the adapted ones, and so on: one program acts, one
/// adapts, and one takes the outer step on the episodes of all phases. With the same seeds, a built-in environment on the host
/// trains the same parameters as [`Maml`].
#[derive(Debug)]
pub struct HostMaml {
    device: Device,
    variant: Variant,
    config: MamlConfig,
    keys: Vec<Key>,
    sampler: MetaSampler,
    block: BlockShape,
    actor: PolicyActor,
    learner: HostLearner,
    outer: Program,
    metric_names: Vec<String>,
    /// The last iteration's episodes, by phase.
    episodes: Vec<PathArrays>,
    /// All that training changes, each array with a leading axis of seeds.
    pub state: State,
}

/// What the names of a phase's inputs begin with.
fn prefix(phase: usize) -> String {
    format!("phase {phase} ")
}

impl HostMaml {
    /// Fresh training of one run per seed, on an executor of seeds × `meta_batch` tasks with `rollouts` environments each.
    ///
    /// # Errors
    /// If a setting is invalid, the executor does not fit it, or the device lacks memory.
    pub fn new(
        device: &Device,
        variant: Variant,
        config: &MamlConfig,
        executor: Box<dyn Executor>,
        seeds: &[u64],
    ) -> Result<HostMaml> {
        let state = initial(device, &Learner::new(&executor.fleet().spec, config), config, seeds)?;
        HostMaml::resume(device, variant, config, executor, seeds, state)
    }

    /// Training that goes on from a state with all of [`Maml::entries`], of runs with these seeds.
    ///
    /// # Errors
    /// As [`new`](HostMaml::new), or if an array is missing or of another shape.
    pub fn resume(
        device: &Device,
        variant: Variant,
        config: &MamlConfig,
        executor: Box<dyn Executor>,
        seeds: &[u64],
        state: State,
    ) -> Result<HostMaml> {
        config.validate()?;
        let fleet = executor.fleet();
        let want = [seeds.len() * config.meta_batch, config.rollouts, config.steps(fleet.spec.horizon)];
        expect_fleet(fleet, seeds.len(), want)?;
        let block = BlockShape::of(fleet);
        let learner = Learner::new(&fleet.spec, config);
        let programs = HostLearner::new(device, &learner, config, seeds.len(), block)?;
        let actor = PolicyActor::of_parts(device, &learner.policy, &learner.policy_shapes(), fleet, How::Explore)?;
        let of = OuterLoop { variant, config, learner: &learner, seeds: seeds.len() };
        let outer = Program::new(device, |cx| of.trace(cx, |cx, k, _, _| block.declare(cx, &prefix(k))))?;
        Ok(HostMaml {
            device: device.clone(),
            variant,
            config: config.clone(),
            keys: seeds.iter().map(|seed| key_from_seed(*seed)).collect(),
            sampler: MetaSampler::episodes(executor, 1),
            block,
            actor,
            learner: programs,
            outer,
            metric_names: Maml::metric_names(config),
            episodes: Vec::new(),
            state,
        })
    }

    /// Steps that environments have made.
    pub fn env_steps(&self) -> u64 {
        self.sampler.env_steps()
    }

    /// Give each group its task of this iteration.
    async fn draw_tasks(&mut self, iteration: u32) -> Result<()> {
        let chances = chances(self.config.task_source(), &self.keys, iteration, self.config.meta_batch);
        let tasks = self.sampler.sample_tasks(&chances).await?;
        self.sampler.set_tasks(&tasks).await
    }

    /// Play all phases.
    async fn collect(&mut self, iteration: u32) -> Result<()> {
        self.episodes.clear();
        self.draw_tasks(iteration).await?;
        let theta = self.state.get("theta")?.clone();
        let mut parts = self.learner.start(&theta)?;
        for k in 0..=self.config.inner_steps {
            let rows = 0..self.config.meta_batch as u32;
            let of_seed = |key: &Key| fold_in(fold_in(*key, iteration), k as u32);
            let keys: Vec<Key> =
                self.keys.iter().map(of_seed).flat_map(|key| rows.clone().map(move |row| fold_in(key, row))).collect();
            self.actor.set_parts(&parts);
            let samples = self.sampler.obtain(&mut self.actor, &keys).await?;
            let episodes = Padded::with_shape(&samples.tasks, self.block)?;
            if k < self.config.inner_steps {
                parts = self.learner.adapt(&theta, &parts, &episodes)?;
            }
            self.episodes.push(episodes.upload(&self.device, &prefix(k))?);
        }
        Ok(())
    }
}

/// Inputs of the outer program.
fn inputs(episodes: &[PathArrays]) -> Vec<(&str, &Array)> {
    episodes.iter().flat_map(PathArrays::inputs).collect()
}

impl Algorithm for HostMaml {
    fn state(&self) -> &State {
        &self.state
    }

    fn program(&self) -> &Program {
        &self.outer
    }

    fn running(&mut self) -> (&mut Program, &State) {
        (&mut self.outer, &self.state)
    }

    fn metric_names(&self) -> &[String] {
        &self.metric_names
    }

    fn schedules(&self, done: u64, total: u64) -> Vec<(&'static str, f64)> {
        schedules(self.variant, &self.config, done, total)
    }

    fn scalars(&self, done: u64, total: u64) -> Vec<(&'static str, ScalarValue)> {
        scalars(&self.config, done, total)
    }

    fn step(&mut self, done: u64, total: u64) -> LocalFuture<'_, Result<Array>> {
        Box::pin(async move {
            self.collect((done + 1) as u32).await?;
            let scalars = self.scalars(done, total);
            self.outer.run(&self.state, &inputs(&self.episodes), &scalars)?.get("metrics").cloned()
        })
    }

    /// Of the outer steps, on the episodes of the last iteration.
    fn first_non_finite<'a>(
        &'a self,
        before: &'a State,
        done: u64,
        total: u64,
    ) -> LocalFuture<'a, Result<Option<NonFinite>>> {
        Box::pin(async move {
            self.outer.first_non_finite(before, &inputs(&self.episodes), &self.scalars(done, total)).await
        })
    }
}
