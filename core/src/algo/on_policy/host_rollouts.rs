//! Rollouts of environments on the host.

use std::fmt;

use super::{Sampling, fresh};
use crate::algo::{ActorCritic, StateEntry};
use crate::host::{Executor, PlayedStep, Player};
use crate::play::{ActorSpec, PolicyActor, Tape};
use crate::policy::{Acting, How, Normalised};
use crate::rng::{Key, fold_in, key_from_seed, streams};
use crate::tensor::Named;
use crate::{Array, Context, DType, Device, Error, Result, State};

/// Plays rollouts with the policy of a state, one group of environments per seed.
pub struct HostRollouts {
    device: Device,
    sampling: Sampling,
    keys: Vec<Key>,
    player: Player,
    actor: PolicyActor,
}

impl fmt::Debug for HostRollouts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostRollouts").field("fleet", self.player.executor().fleet()).finish_non_exhaustive()
    }
}

impl HostRollouts {
    /// On an executor with one group of `envs` environments per seed.
    ///
    /// # Errors
    /// If the executor has others, or the device fails.
    pub fn new(
        device: &Device,
        sampling: Sampling,
        net: &ActorCritic,
        executor: Box<dyn Executor>,
        seeds: &[u64],
    ) -> Result<HostRollouts> {
        let (fleet, s) = (executor.fleet(), seeds.len());
        if [fleet.tasks, fleet.envs_per_task] != [s, sampling.envs] {
            let problem = format!(
                "the executor has {} groups of {} environments; {s} seeds with these settings need {s} of {}",
                fleet.tasks, fleet.envs_per_task, sampling.envs
            );
            return Err(Error::config("executor", problem));
        }
        if !fleet.spec.task.is_empty() {
            let problem = format!("`{}` has task parameters, and a single task is trained on", fleet.spec.name);
            return Err(Error::config("env", problem));
        }
        let policy = Normalised(&net.policy);
        let sizes = [s, sampling.envs, net.observations(), net.actions()];
        let spec = ActorSpec { policy: &policy, sizes, how: How::Explore, lasting: sampling.sde, info: &[] };
        let mut actor = PolicyActor::new(device, spec, &|cx: &mut Context| {
            let parts = net.layout.split(cx.input("theta", &[s, net.layout.len()], DType::F32));
            let mut values = Named::new();
            if sampling.normalise_observations {
                for name in STATISTICS {
                    values = values.and(name, cx.input(name, &[s, net.observations()], DType::F32));
                }
            }
            Acting { parts, values }
        })?;
        actor.lasts = sampling.sde_sample_freq;
        let keys = seeds.iter().map(|seed| key_from_seed(*seed)).collect();
        Ok(HostRollouts { device: device.clone(), sampling, keys, player: Player::new(executor), actor })
    }

    /// Everything that training changes, for one seed.
    pub fn entries(sampling: &Sampling, net: &ActorCritic) -> Vec<StateEntry> {
        sampling.entries_with(None, net)
    }

    /// The state before training.
    ///
    /// # Errors
    /// If the device lacks memory.
    pub fn start(device: &Device, sampling: &Sampling, net: &ActorCritic, seeds: &[u64]) -> Result<State> {
        fresh(device, &HostRollouts::entries(sampling, net), net, seeds)
    }

    /// Steps that environments have made.
    pub fn env_steps(&self) -> u64 {
        self.player.env_steps()
    }

    /// Keys of a stream in an iteration, one per seed.
    fn keys(&self, stream: u32, iteration: u32) -> Vec<Key> {
        self.keys.iter().map(|key| fold_in(fold_in(*key, stream), iteration)).collect()
    }

    /// Start episodes everywhere, and say so in the state.
    async fn begin(&mut self, state: &mut State, iteration: u32) -> Result<()> {
        self.player.begin(&self.keys(streams::ENV, iteration)).await?;
        let fleet = self.player.executor().fleet();
        let shape = [self.keys.len(), self.sampling.envs, fleet.observations()];
        state.insert("obs", self.device.array(&shape, self.player.seen().unwrap_or_default())?);
        for name in ["env_steps", "ep_return", "discounted"] {
            if let Ok(array) = state.get(name) {
                let zeros = self.device.zeros(&array.shape, array.dtype())?;
                state.insert(name, zeros);
            }
        }
        Ok(())
    }

    /// One rollout: inputs as [`Recorded::declare`](crate::play::Recorded::declare)d.
    ///
    /// After an error, the next one starts with new episodes.
    ///
    /// # Errors
    /// If an environment or the device fails.
    pub async fn play(&mut self, state: &mut State, iteration: u32) -> Result<Vec<(&'static str, Array)>> {
        if self.player.seen().is_none() {
            // As on the device, where 0 names the reset before the first iteration.
            self.begin(state, iteration - 1).await?;
        }
        let mut acting = vec![("theta".to_owned(), state.get("theta")?.clone())];
        if self.sampling.normalise_observations {
            for name in STATISTICS {
                acting.push((name.to_owned(), state.get(name)?.clone()));
            }
        }
        self.actor.set_acting(acting);
        self.actor.set_keys(&self.keys(streams::ACTION, iteration), &self.keys(streams::EXPLORATION, iteration))?;
        let (mut tape, mut left) = (Tape::default(), self.sampling.horizon);
        let env_keys = self.keys(streams::ENV, iteration);
        let mut record = |step: PlayedStep<'_>| {
            tape.add(&step);
            left -= 1;
            left > 0
        };
        self.player.play(&mut self.actor, &env_keys, 0, &mut record).await?;
        let rows = [self.sampling.horizon, self.keys.len(), self.sampling.envs];
        tape.upload(&self.device, self.player.executor().fleet(), rows)
    }
}

/// Statistics by which observations are standardised.
const STATISTICS: [&str; 2] = ["obs_mean", "obs_var"];
