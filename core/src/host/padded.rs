//! Episodes of the host as the block that tensor programs work on.

use super::{Fleet, HostPath, Samples};
use crate::credit::Paths;
use crate::program::Context;
use crate::{Array, DType, Device, Error, Result};

/// Sizes of a block of episodes: `[T, K, N, …]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockShape {
    /// T, steps of each path, padding included.
    pub steps: usize,
    /// K, tasks.
    pub tasks: usize,
    /// N, paths of each task, empty ones included.
    pub paths: usize,
    /// O, numbers of an observation.
    pub observations: usize,
    /// A, numbers of an action.
    pub actions: usize,
    /// I, values that environments report at each step; 0: the block has none of them.
    pub env_infos: usize,
    /// J, values that the actor reports about each action; 0: the block has none of them.
    pub agent_infos: usize,
}

/// Episodes of K tasks side by side, padded with zeros to T steps and N paths.
#[derive(Clone, Debug, PartialEq)]
pub struct Padded {
    /// Its sizes.
    pub shape: BlockShape,
    obs: Vec<f64>,
    next_obs: Vec<f64>,
    action: Vec<f64>,
    reward: Vec<f64>,
    valid: Vec<u32>,
    env_infos: Vec<f64>,
    agent_infos: Vec<f64>,
}

/// A block on a device, as the inputs of a program.
#[derive(Clone, Debug)]
pub struct PathArrays(Vec<(String, Array)>);

impl BlockShape {
    /// The shape of one episode of each environment of a fleet: T is the fleet's horizon, N the environments per task,
    /// and I the values that the fleet reports. J is 0; it is the length of [`Actor::info`](super::Actor::info).
    #[must_use]
    pub fn of(fleet: &Fleet) -> BlockShape {
        BlockShape {
            steps: fleet.horizon,
            tasks: fleet.tasks,
            paths: fleet.envs_per_task,
            observations: fleet.observations(),
            actions: fleet.actions(),
            env_infos: fleet.info.len(),
            agent_infos: 0,
        }
    }

    fn of_width(self, width: usize) -> [usize; 4] {
        [self.steps, self.tasks, self.paths, width]
    }

    /// Declares a block as inputs of a program, whose names begin with `prefix`. Infos of which there are none are no
    /// inputs.
    #[track_caller]
    pub fn declare(self, cx: &mut Context, prefix: &str) -> Paths {
        let mut input = |part: &str, width: usize, dtype| cx.input(&name(prefix, part), &self.of_width(width), dtype);
        Paths {
            obs: input("obs", self.observations, DType::F32),
            next_obs: input("next_obs", self.observations, DType::F32),
            action: input("action", self.actions, DType::F32),
            reward: input("reward", 1, DType::F32),
            valid: input("valid", 1, DType::U32),
            env_infos: (self.env_infos > 0).then(|| input("env_infos", self.env_infos, DType::F32)),
            agent_infos: (self.agent_infos > 0).then(|| input("agent_infos", self.agent_infos, DType::F32)),
        }
    }
}

fn name(prefix: &str, part: &str) -> String {
    format!("{prefix}{part}")
}

impl Padded {
    /// Packs the episodes of a collection with all that was reported. T is the fleet's horizon, N the largest number
    /// of episodes of a task, and J the number of values that the actor reported about each action.
    ///
    /// # Errors
    /// As [`with_shape`](Padded::with_shape).
    pub fn new(samples: &Samples, fleet: &Fleet) -> Result<Padded> {
        let paths = samples.tasks.iter().map(Vec::len).max().unwrap_or(0).max(1);
        let agent_infos = samples.paths().find(|path| !path.is_empty()).map_or(0, |p| p.agent_infos.len() / p.len());
        Padded::with_shape(&samples.tasks, BlockShape { paths, agent_infos, ..BlockShape::of(fleet) })
    }

    /// Packs episodes, given by task, into a block of this shape.
    ///
    /// # Errors
    /// [`Error::Program`] if an episode is too long, a task has too many or none, or the numbers do not fit.
    pub fn with_shape(tasks: &[Vec<HostPath>], shape: BlockShape) -> Result<Padded> {
        let BlockShape { steps, tasks: count, paths: most, observations, actions, env_infos, agent_infos } = shape;
        if tasks.len() != count {
            return Err(Error::Program(format!("episodes of {} tasks do not fill a block of {count}", tasks.len())));
        }
        let rows = steps * count * most;
        let mut block = Padded {
            shape,
            obs: vec![0.0; rows * observations],
            next_obs: vec![0.0; rows * observations],
            action: vec![0.0; rows * actions],
            reward: vec![0.0; rows],
            valid: vec![0; rows],
            env_infos: vec![0.0; rows * env_infos],
            agent_infos: vec![0.0; rows * agent_infos],
        };
        for (k, paths) in tasks.iter().enumerate() {
            if paths.is_empty() || paths.len() > most {
                let problem = format!("task {k} has {} episodes, expected 1 to {most}", paths.len());
                return Err(Error::Program(problem));
            }
            for (n, path) in paths.iter().enumerate() {
                let t = path.len();
                let whole = path.observations.len() == t * observations
                    && path.last_observation.len() == observations
                    && path.actions.len() == t * actions;
                if t == 0 || t > steps || !whole {
                    let problem = format!(
                        "episode {n} of task {k} has {t} steps with {} and {} numbers, expected 1 to {steps} steps \
                         with {observations} and {actions} numbers each",
                        path.observations.len(),
                        path.actions.len()
                    );
                    return Err(Error::Program(problem));
                }
                let reported =
                    [("env_infos", &path.env_infos, env_infos), ("agent_infos", &path.agent_infos, agent_infos)];
                for (what, infos, width) in reported {
                    if width > 0 && infos.len() != t * width {
                        let problem = format!(
                            "episode {n} of task {k} has {t} steps with {} numbers of {what}, expected {width} numbers \
                             each, or a block without them ({what}: 0)",
                            infos.len()
                        );
                        return Err(Error::Program(problem));
                    }
                }
                for s in 0..t {
                    let row = (s * count + k) * most + n;
                    block.reward[row] = path.rewards[s];
                    block.valid[row] = 1;
                    copy(&mut block.obs, row, &path.observations, s, observations);
                    match s + 1 == t {
                        true => copy(&mut block.next_obs, row, &path.last_observation, 0, observations),
                        false => copy(&mut block.next_obs, row, &path.observations, s + 1, observations),
                    }
                    copy(&mut block.action, row, &path.actions, s, actions);
                    copy(&mut block.env_infos, row, &path.env_infos, s, env_infos);
                    copy(&mut block.agent_infos, row, &path.agent_infos, s, agent_infos);
                }
            }
        }
        Ok(block)
    }

    /// Uploads the block, for a program that [`BlockShape::declare`]d it with this prefix.
    ///
    /// # Errors
    /// If the device lacks memory.
    pub fn upload(&self, device: &Device, prefix: &str) -> Result<PathArrays> {
        let of = |width| self.shape.of_width(width);
        let mut arrays = vec![
            (name(prefix, "obs"), device.array(&of(self.shape.observations), &self.obs)?),
            (name(prefix, "next_obs"), device.array(&of(self.shape.observations), &self.next_obs)?),
            (name(prefix, "action"), device.array(&of(self.shape.actions), &self.action)?),
            (name(prefix, "reward"), device.array(&of(1), &self.reward)?),
            (name(prefix, "valid"), device.array_u32(&of(1), &self.valid)?),
        ];
        let infos = [
            ("env_infos", self.shape.env_infos, &self.env_infos),
            ("agent_infos", self.shape.agent_infos, &self.agent_infos),
        ];
        for (part, width, numbers) in infos.into_iter().filter(|(_, width, _)| *width > 0) {
            arrays.push((name(prefix, part), device.array(&of(width), numbers)?));
        }
        Ok(PathArrays(arrays))
    }
}

impl PathArrays {
    /// The inputs by name, for a run of the program.
    pub fn inputs(&self) -> impl Iterator<Item = (&str, &Array)> {
        self.0.iter().map(|(name, array)| (name.as_str(), array))
    }
}

/// Copies row `s` of `from` to row `row` of `to`; rows have `width` numbers.
fn copy(to: &mut [f64], row: usize, from: &[f64], s: usize, width: usize) {
    to[row * width..(row + 1) * width].copy_from_slice(&from[s * width..(s + 1) * width]);
}
