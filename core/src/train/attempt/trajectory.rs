//! Trajectories: episodes of a trained policy, step by step.

use super::episode_program::EpisodeProgram;
use super::evaluation::{Episodes, bad_count, eval_key};
use super::evaluator::Evaluator;
use super::under_test::PolicyArrays;
use crate::rng::{self, Key, streams};
use crate::{Device, Result};

/// An episode step by step, for drawing.
#[derive(Clone, Debug, PartialEq)]
pub struct Trajectory {
    /// The state before each step, and the state after the last one.
    pub states: Vec<Vec<f32>>,
    /// The action of each step, as the environment got it.
    pub actions: Vec<Vec<f32>>,
    /// The reward of each step.
    pub rewards: Vec<f32>,
    /// The parameters of the task; empty if the environment has a single task.
    pub task: Vec<f32>,
}

impl EpisodeProgram {
    /// Plays the episodes of a single policy and records their steps.
    async fn trajectories(&mut self, device: &Device, policy: &PolicyArrays, key: Key) -> Result<Vec<Trajectory>> {
        let out = self.run(device, policy, &[key])?;
        let lengths = device.read_u32(out.get("lengths")?).await?;
        let states = device.read_f32(out.get("states")?).await?;
        let actions = device.read_f32(out.get("actions")?).await?;
        let rewards = device.read_f32(out.get("rewards")?).await?;
        let tasks = match self.env.spec().task.is_empty() {
            true => Vec::new(),
            false => device.read_f32(out.get("task")?).await?,
        };
        // The arrays are in order of time; the rows of a step are all episodes, one behind the other.
        let count = self.of.episodes;
        let rows = |flat: &[f32], width: usize, episode: usize| -> Vec<Vec<f32>> {
            let length = lengths[episode] as usize;
            flat.chunks(width.max(1)).skip(episode).step_by(count).take(length).map(<[f32]>::to_vec).collect()
        };
        let spec = self.env.spec();
        let recorded = |episode: usize| {
            let mut states = rows(&states, self.env.state_len(), episode);
            let actions = rows(&actions, spec.action.dim(), episode);
            let task = tasks.chunks(spec.task.len().max(1)).nth(episode).unwrap_or_default().to_vec();
            // On the device the next episode has begun by then, so the last state is computed by a step of its own. The
            // keys are those of policies that do not adapt.
            if let (Some(state), Some(action), []) = (states.last(), actions.last(), &task[..]) {
                let key = rng::fold_in(rng::fold_in(key, streams::ENV), lengths[episode]);
                states.push(self.env.next_state(state, action, &[], key, episode as u32)?);
            }
            Ok(Trajectory { states, actions, rewards: rows(&rewards, 1, episode).concat(), task })
        };
        (0..count).map(recorded).collect()
    }
}

impl Evaluator {
    /// Plays the first episode of [`evaluate`](Self::evaluate) with the same seed, step by step.
    ///
    /// # Errors
    /// If the device fails.
    pub async fn trajectory(&self, seed: u64, deterministic: bool) -> Result<Trajectory> {
        let mut first = self.trajectories(1, seed, deterministic).await?;
        first.pop().ok_or_else(|| bad_count(0))
    }

    /// Plays the first `count` episodes of [`evaluate`](Self::evaluate) with the same seed, step by step.
    ///
    /// # Errors
    /// If `count` is 0 or more than [`MAX_EPISODES`](crate::train::MAX_EPISODES), or the device fails.
    pub async fn trajectories(&self, count: usize, seed: u64, deterministic: bool) -> Result<Vec<Trajectory>> {
        let of = Episodes { seeds: 1, episodes: count, deterministic, record: true, sizes: None };
        let mut program = EpisodeProgram::new(self.on(), self.env().device()?, self.fitted(), of)?;
        program.trajectories(self.on(), self.policy(), eval_key(seed)).await
    }
}
