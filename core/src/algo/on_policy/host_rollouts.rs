//! Rollouts of environments on the host.

use std::fmt;

use super::rollout::OBS_LIMIT;
use super::{Recorded, Sampling, fresh};
use crate::algo::{ActorCritic, StateEntry};
use crate::dist::RowNoise;
use crate::host::{Executor, Stepped};
use crate::rng::{Key, fold_in, key_from_seed, streams};
use crate::sample::Moments;
use crate::{Array, DType, Device, Error, Program, Result, State, Tensor};

/// Plays rollouts with the policy of a state, one group of environments per seed.
pub struct HostRollouts {
    device: Device,
    sampling: Sampling,
    keys: Vec<Key>,
    executor: Box<dyn Executor>,
    act: Program,
    /// What agents see now; none before the first reset and after an error.
    observations: Option<Vec<f64>>,
    env_steps: u64,
}

impl fmt::Debug for HostRollouts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostRollouts").field("fleet", self.executor.fleet()).finish_non_exhaustive()
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
        let act = Program::new(device, |cx| {
            let parts = net.layout.split(cx.input("theta", &[s, net.layout.len()], DType::F32));
            let mut obs = cx.input("obs", &[s, sampling.envs, net.observations()], DType::F32);
            if sampling.normalise_observations {
                let mut of = |name: &str| cx.input(name, &[s, net.observations()], DType::F32);
                let moments = Moments { mean: of("obs_mean"), var: of("obs_var"), count: Tensor::zeros(&[s, 1]) };
                obs = moments.standardise(obs, OBS_LIMIT);
            }
            let mut key = |name: &str| {
                let words = cx.input(name, &[s, 2], DType::U32);
                RowNoise::new([words.slice(1, 0, 1), words.slice(1, 1, 2)], sampling.envs)
            };
            let noise = key("action_key");
            let matrix = if sampling.sde { net.noise_matrix(&parts, &key("exploration_key")) } else { None };
            let (action, _) = net.act(&parts, obs, &noise, matrix);
            cx.output("actions", Tensor::concat(&[action.unsqueeze(0), net.limit(action).unsqueeze(0)], 0));
        })?;
        let keys = seeds.iter().map(|seed| key_from_seed(*seed)).collect();
        let device = device.clone();
        Ok(HostRollouts { device, sampling, keys, executor, act, observations: None, env_steps: 0 })
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
        self.env_steps
    }

    /// Keys of a stream in an iteration, one per seed.
    fn keys(&self, stream: u32, iteration: u32) -> Vec<Key> {
        self.keys.iter().map(|key| fold_in(fold_in(*key, stream), iteration)).collect()
    }

    /// Start episodes everywhere, and say so in the state.
    async fn begin(&mut self, state: &mut State, iteration: u32) -> Result<Vec<f64>> {
        let first = self.executor.reset(&self.keys(streams::ENV, iteration)).await?;
        let fleet = self.executor.fleet();
        fleet.expect_first(&first)?;
        let shape = [self.keys.len(), self.sampling.envs, fleet.observations()];
        state.insert("obs", self.device.array(&shape, &first)?);
        for name in ["env_steps", "ep_return", "discounted"] {
            if let Ok(array) = state.get(name) {
                let zeros = self.device.zeros(&array.shape, array.dtype())?;
                state.insert(name, zeros);
            }
        }
        Ok(first)
    }

    /// One rollout: inputs as [`Recorded::declare`](super::Recorded::declare)d.
    ///
    /// After an error, the next one starts with new episodes.
    ///
    /// # Errors
    /// If an environment or the device fails.
    pub async fn play(&mut self, state: &mut State, iteration: u32) -> Result<Vec<(&'static str, Array)>> {
        let mut observations = match self.observations.take() {
            Some(observations) => observations,
            // As on the device, where 0 names the reset before the first iteration.
            None => self.begin(state, iteration - 1).await?,
        };
        let (action_keys, env_keys) = (self.keys(streams::ACTION, iteration), self.keys(streams::ENV, iteration));
        let exploration = self.keys(streams::EXPLORATION, iteration);
        let at = |keys: &[Key], number: u32| -> Vec<Key> { keys.iter().map(|key| fold_in(*key, number)).collect() };
        let (mut actions, mut all) = (Vec::new(), Stepped::default());
        for t in 0..self.sampling.horizon as u32 {
            // A noise matrix lasts for so many steps; for the whole rollout if that is 0.
            let renewed = t.checked_div(self.sampling.sde_sample_freq as u32).unwrap_or(0);
            let keys = [at(&action_keys, t), at(&exploration, renewed)];
            let mut drawn = self.draw(state, &observations, &keys).await?;
            let played = drawn.split_off(drawn.len() / 2);
            let stepped = self.executor.step(&played, &at(&env_keys, t)).await?;
            self.executor.fleet().expect_stepped(&stepped)?;
            self.env_steps += self.executor.fleet().num_envs() as u64;
            observations.clone_from(&stepped.observations);
            actions.append(&mut drawn);
            all.append(stepped);
        }
        self.observations = Some(observations);
        let rows = [self.sampling.horizon, self.keys.len(), self.sampling.envs];
        Recorded::upload(&self.device, self.executor.fleet(), rows, actions, all)
    }

    /// Actions as drawn, then as played, `[2, S, N, A]`.
    async fn draw(&mut self, state: &State, observations: &[f64], keys: &[Vec<Key>; 2]) -> Result<Vec<f64>> {
        let fleet = self.executor.fleet();
        let shape = [self.keys.len(), self.sampling.envs, fleet.observations()];
        let obs = self.device.array(&shape, observations)?;
        let [action_key, exploration_key] =
            [&keys[0], &keys[1]].map(|keys| self.device.array_u32(&[keys.len(), 2], keys.as_flattened()));
        let (action_key, exploration_key) = (action_key?, exploration_key?);
        let mut inputs = vec![("obs", &obs), ("action_key", &action_key), ("theta", state.get("theta")?)];
        if self.sampling.sde {
            inputs.push(("exploration_key", &exploration_key));
        }
        if self.sampling.normalise_observations {
            inputs.extend([("obs_mean", state.get("obs_mean")?), ("obs_var", state.get("obs_var")?)]);
        }
        let out = self.act.run(&State::new(), &inputs, &[])?;
        self.device.read(out.get("actions")?).await
    }
}
