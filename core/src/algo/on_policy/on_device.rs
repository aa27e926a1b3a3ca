//! Learning where rollouts are part of the program.

use super::{OnPolicy, Sampled};
use crate::algo::{ActorCritic, Algorithm, Held, StateEntry};
use crate::backend::ScalarValue;
use crate::env::EnvDef;
use crate::program::{Context, Plan, PlanOptions};
use crate::{Device, Program, Result, State};

/// An algorithm on one environment under one or several seeds: an iteration is one program, in which nothing is read.
#[derive(Debug)]
pub struct OnDevice<C> {
    config: C,
    net: ActorCritic,
    program: Program,
    metric_names: Vec<String>,
    /// All that training changes, each array with a leading axis of seeds.
    pub state: State,
}

impl<C: OnPolicy> OnDevice<C> {
    /// Fresh training of one run per seed.
    ///
    /// # Errors
    /// If a setting is invalid or the device lacks memory.
    pub fn new(device: &Device, config: &C, env: &EnvDef, seeds: &[u64]) -> Result<Self> {
        let training = Self::resume(device, config, env, seeds.len(), State::new())?;
        let state = config.sampling().start(device, env, &training.net, seeds)?;
        Ok(OnDevice { state, ..training })
    }

    /// Training that goes on from a state with all of [`entries`](Self::entries).
    ///
    /// # Errors
    /// If a setting is invalid or an array is missing or of another shape.
    pub fn resume(device: &Device, config: &C, env: &EnvDef, seeds: usize, state: State) -> Result<Self> {
        config.validate()?;
        let net = ActorCritic::new(env.spec(), &config.net());
        let program = Program::new(device, |cx| iteration(cx, config, env, &net, seeds))?;
        let metric_names = C::METRICS.map(str::to_owned).to_vec();
        Ok(OnDevice { config: config.clone(), net, program, metric_names, state })
    }

    /// The plan of one iteration, without a device.
    ///
    /// # Errors
    /// If a setting is invalid.
    pub fn plan(config: &C, env: &EnvDef, seeds: usize) -> Result<Plan> {
        config.validate()?;
        let net = ActorCritic::new(env.spec(), &config.net());
        Program::plan_of(PlanOptions::default(), |cx| iteration(cx, config, env, &net, seeds))
    }

    /// The networks.
    pub fn net(&self) -> &ActorCritic {
        &self.net
    }

    /// Everything that training changes, for one seed.
    pub fn entries(config: &C, env: &EnvDef) -> Vec<StateEntry> {
        config.sampling().entries(env, &ActorCritic::new(env.spec(), &config.net()))
    }
}

fn iteration<C: OnPolicy>(cx: &mut Context, config: &C, env: &EnvDef, net: &ActorCritic, seeds: usize) {
    let sampling = config.sampling();
    let held = Held::declare(cx, &sampling.entries(env, net), seeds);
    let parts = net.layout.split(held.get("theta"));
    let sampled = Sampled::collect(sampling, env, net, &parts, &held, cx.scalar_u32("iteration"));
    config.learn(cx, net, &held, &sampled);
}

impl<C: OnPolicy> Algorithm for OnDevice<C> {
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
}
