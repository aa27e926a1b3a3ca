//! Learning where rollouts are played on the host.

use super::{HostRollouts, OnPolicy, Recorded, Sampled};
use crate::algo::{ActorCritic, Algorithm, Held, LocalFuture, StateEntry};
use crate::backend::ScalarValue;
use crate::backend::reference::NonFinite;
use crate::env::EnvSpec;
use crate::host::Executor;
use crate::{Array, Device, Program, Result, State};

/// An algorithm where rollouts are played on the host; all else is as [`OnDevice`](super::OnDevice), by the same functions.
///
/// A program acts in each step, and one learns from the rollout, for which it looks at the recorded steps instead of stepping
/// environments itself. With the same seeds, a built-in environment on the host trains the same parameters.
#[derive(Debug)]
pub struct OnHost<C> {
    config: C,
    rollouts: HostRollouts,
    program: Program,
    metric_names: Vec<String>,
    /// The last rollout.
    recorded: Vec<(&'static str, Array)>,
    /// All that training changes, each array with a leading axis of seeds; environments keep their states to themselves.
    pub state: State,
}

impl<C: OnPolicy> OnHost<C> {
    /// Fresh training of one run per seed, on an executor with one group of `envs` environments for each.
    ///
    /// # Errors
    /// If a setting is invalid, the executor does not fit it, or the device lacks memory.
    pub fn new(device: &Device, config: &C, executor: Box<dyn Executor>, seeds: &[u64]) -> Result<Self> {
        let net = ActorCritic::new(&executor.fleet().spec, &config.net());
        let state = HostRollouts::start(device, &config.sampling(), &net, seeds)?;
        Self::resume(device, config, executor, seeds, state)
    }

    /// Training that goes on from a state with all of [`entries`](Self::entries), of runs with these seeds, in new episodes: what
    /// environments were in the middle of is not part of the state.
    ///
    /// # Errors
    /// As [`new`](Self::new), or if an array is missing or of another shape.
    pub fn resume(
        device: &Device,
        config: &C,
        executor: Box<dyn Executor>,
        seeds: &[u64],
        state: State,
    ) -> Result<Self> {
        config.validate()?;
        let net = ActorCritic::new(&executor.fleet().spec, &config.net());
        let sampling = config.sampling();
        let rollouts = HostRollouts::new(device, sampling, &net, executor, seeds)?;
        let rows = [seeds.len(), sampling.envs];
        let program = Program::new(device, |cx| {
            let held = Held::declare(cx, &HostRollouts::entries(&sampling, &net), seeds.len());
            let parts = net.layout.split(held.get("theta"));
            let recorded = Recorded::declare(cx, sampling.horizon, rows, net.observations(), net.actions());
            let sampled = Sampled::replay(sampling, &recorded, &net, &parts, &held, cx.scalar_u32("iteration"));
            config.learn(cx, &net, &held, &sampled);
        })?;
        let metric_names = C::METRICS.map(str::to_owned).to_vec();
        Ok(OnHost { config: config.clone(), rollouts, program, metric_names, recorded: Vec::new(), state })
    }

    /// Everything that training changes, for one seed.
    pub fn entries(config: &C, spec: &EnvSpec) -> Vec<StateEntry> {
        HostRollouts::entries(&config.sampling(), &ActorCritic::new(spec, &config.net()))
    }

    /// Steps that environments have made.
    pub fn env_steps(&self) -> u64 {
        self.rollouts.env_steps()
    }

    fn inputs(&self) -> Vec<(&str, &Array)> {
        self.recorded.iter().map(|(name, array)| (*name, array)).collect()
    }
}

impl<C: OnPolicy> Algorithm for OnHost<C> {
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
        self.config.schedules(done, total)
    }

    fn scalars(&self, done: u64, total: u64) -> Vec<(&'static str, ScalarValue)> {
        self.config.scalars(done, total)
    }

    fn step(&mut self, done: u64, total: u64) -> LocalFuture<'_, Result<Array>> {
        Box::pin(async move {
            self.recorded = self.rollouts.play(&mut self.state, (done + 1) as u32).await?;
            let scalars = self.config.scalars(done, total);
            let inputs: Vec<(&str, &Array)> = self.recorded.iter().map(|(name, array)| (*name, array)).collect();
            self.program.run(&self.state, &inputs, &scalars)?.get("metrics").cloned()
        })
    }

    /// Of learning, from the last rollout. A state from before the first iteration has no observations yet.
    fn first_non_finite<'a>(
        &'a self,
        before: &'a State,
        done: u64,
        total: u64,
    ) -> LocalFuture<'a, Result<Option<NonFinite>>> {
        Box::pin(async move { self.program.first_non_finite(before, &self.inputs(), &self.scalars(done, total)).await })
    }
}
