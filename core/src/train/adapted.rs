//! Evaluation of meta-trained policies on held-out tasks: what they do before and after adapting to each.

use super::evaluate::{Episodes, UnderTest, expect_finite};
use crate::backend::{Lease, copied, room};
use crate::env::EnvDef;
use crate::meta::{Learner, MamlConfig, Trial, try_adapting};
use crate::{Context, DType, Error, Program, Result, Tensor};

/// What to measure on held-out tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetaTest {
    /// Held-out tasks.
    pub tasks: usize,
    /// Rollouts per task and gradient step, or trials per task; none: as many as in training.
    pub rollouts: Option<usize>,
    /// Gradient steps of policies that adapt by these; none: as many as in training.
    pub inner_steps: Option<usize>,
    /// Episodes of a trial, of policies that adapt by their memory; none: as many as in training.
    pub episodes: Option<usize>,
    /// Names the tasks.
    pub seed: u64,
    /// Measure the most probable actions; what gradient steps learn from is always drawn.
    pub deterministic: bool,
}

impl Default for MetaTest {
    fn default() -> Self {
        MetaTest { tasks: 40, rollouts: None, inner_steps: None, episodes: None, seed: 0, deterministic: true }
    }
}

/// How a policy adapted to held-out tasks.
#[derive(Clone, Debug, PartialEq)]
pub struct Adaptation {
    /// Parameters of each task; empty ones if the environment has a single task.
    pub tasks: Vec<Vec<f32>>,
    /// What tells one stage from the next.
    pub unit: StageUnit,
    /// Episodes that are played one after the other on a task: 1, or as many as a trial has.
    pub episodes: usize,
    /// Steps after which an episode ends.
    pub horizon: usize,
    /// In order: before adaptation and after each step of it, or episode by episode.
    pub stages: Vec<Stage>,
}

/// What a policy adapts by from one stage to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageUnit {
    /// Gradient steps; the first stage is before them.
    GradientSteps,
    /// Episodes of a trial; it learns in the first one already.
    Episodes,
    /// Stretches of as many steps of the only episode of a trial.
    Steps(usize),
}

/// What a policy did at one stage of adaptation.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    /// Return of each rollout, by task.
    pub returns: Vec<Vec<f64>>,
    /// Each task's first rollout, from its beginning to its end.
    pub paths: Vec<Vec<PathStep>>,
}

/// A step of an episode.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PathStep {
    /// The environment's state in which it was made; of environments of the host, what the policy saw there.
    pub state: Vec<f32>,
    /// What the environment got.
    pub action: Vec<f32>,
    /// What it paid.
    pub reward: f64,
}

impl PathStep {
    /// The step in that row of all states and actions.
    pub(super) fn of(env: &EnvDef, [states, actions]: [&[f32]; 2], row: usize, reward: f64) -> Result<PathStep> {
        let part = |of: &[f32], width: usize| copied(&of[row * width..][..width]);
        Ok(PathStep { state: part(states, env.state_len())?, action: part(actions, env.spec().action.dim())?, reward })
    }
}

impl Stage {
    /// Mean return of each task.
    pub fn task_means(&self) -> Vec<f64> {
        self.returns.iter().map(|r| r.iter().sum::<f64>() / r.len().max(1) as f64).collect()
    }
}

/// Most tasks of one adaptation, and most rollouts on each.
pub(super) const MAX_TASKS: usize = 1 << 14;

/// Checks that there are not too few or too many.
pub(super) fn check(trial: &Trial) -> Result<()> {
    for (name, value, most) in [
        ("tasks", trial.tasks, MAX_TASKS),
        ("rollouts", trial.rollouts, MAX_TASKS),
        ("inner_steps", trial.inner_steps, 100),
    ] {
        if value == 0 || value > most {
            return Err(Error::config(name, format!("{value} is not in 1 to {most}")));
        }
    }
    Ok(())
}

/// Sizes of an adaptation's results.
pub(super) struct Kept {
    /// Held-out tasks.
    pub tasks: usize,
    /// Rollouts of each.
    pub rollouts: usize,
    /// Stages.
    pub stages: usize,
    /// Steps of a task's first rollout, over all stages.
    pub steps: usize,
    /// Bytes of what is read from the device at once.
    pub read: usize,
}

impl Kept {
    /// Bytes of a list's address, length and place in the heap.
    const LIST: usize = 64;

    /// Takes the memory of the results and of what they are made from, before anything runs.
    pub fn lease(&self, test: &UnderTest<'_>) -> Result<Lease> {
        let numbers = test.env.state_len() + test.env.spec().action.dim();
        let step = size_of::<f64>() + 2 * Kept::LIST + 4 * numbers;
        let stages = self.stages.saturating_mul(2 * Kept::LIST + 8 * self.rollouts);
        let task = self.steps.saturating_mul(step).saturating_add(stages);
        let bytes = self.tasks.saturating_mul(task).saturating_add(self.read);
        test.device.take_on_host(bytes as u64)
    }
}

/// Settings of which lower values leave less to keep.
pub(super) const LOWER: [&str; 2] = ["tasks", "rollouts"];

/// Adapts one policy to `trial.tasks` held-out tasks.
pub(super) async fn adapt(test: UnderTest<'_>, config: &MamlConfig, trial: Trial) -> Result<Adaptation> {
    let UnderTest { device, env, .. } = test;
    check(&trial)?;
    let learner = Learner::new(env.spec(), config);
    let horizon = config.steps(env.spec().horizon);
    let numbers = env.state_len() + env.spec().action.dim();
    let kept = Kept {
        tasks: trial.tasks,
        rollouts: trial.rollouts,
        stages: trial.inner_steps + 1,
        steps: horizon.saturating_mul(trial.inner_steps + 1),
        read: trial.tasks.saturating_mul(24 * trial.rollouts + horizon.saturating_mul(8 * numbers + 16)),
    };
    let _kept = kept.lease(&test).map_err(|error| error.lowered_by(&LOWER))?;
    let mut program = Program::new(device, |cx| {
        let theta = cx.input("theta", &[1, learner.layout.len()], DType::F32);
        let key = cx.input("key", &[1, 2], DType::U32);
        let key = [key.slice(1, 0, 1), key.slice(1, 1, 2)];
        let given = test.declare(cx);
        let tried = try_adapting(&learner, config, env, theta, key, given, trial);
        if let Some(tasks) = tried.tasks {
            cx.output("tasks", tasks);
        }
        for (k, stage) in tried.stages.iter().enumerate() {
            cx.output(&format!("returns {k}"), stage.paths().path_returns());
            cx.output(&format!("lengths {k}"), stage.paths().path_lengths());
            cx.output(&format!("lost {k}"), stage.paths().path_most(stage.lost));
            cx.output(&format!("states {k}"), stage.state.slice(2, 0, 1));
            cx.output(&format!("actions {k}"), stage.played.slice(2, 0, 1));
            cx.output(&format!("rewards {k}"), stage.reward.slice(2, 0, 1));
        }
    })
    .map_err(|error| error.lowered_by(&LOWER))?;
    let out = test.run(&mut program)?;
    let width = env.spec().task.len();
    let tasks = match width {
        0 => vec![Vec::new(); trial.tasks],
        _ => device.read_f32(out.get("tasks")?).await?.chunks(width).map(<[f32]>::to_vec).collect(),
    };
    let mut stages = Vec::with_capacity(trial.inner_steps + 1);
    for k in 0..=trial.inner_steps {
        let returns = device.read(out.get(&format!("returns {k}"))?).await?;
        let lengths = device.read(out.get(&format!("lengths {k}"))?).await?;
        let states = device.read_f32(out.get(&format!("states {k}"))?).await?;
        let actions = device.read_f32(out.get(&format!("actions {k}"))?).await?;
        let rewards = device.read(out.get(&format!("rewards {k}"))?).await?;
        let rollouts = returns.len() / trial.tasks;
        let lost = device.read(out.get(&format!("lost {k}"))?).await?;
        expect_finite(&lost, &returns, |row| format!("task {} after {k} gradient steps", row / rollouts))?;
        let mut stage = Stage { returns: room(trial.tasks)?, paths: room(trial.tasks)? };
        for (task, returns) in returns.chunks(rollouts).enumerate() {
            let length = lengths[task * rollouts] as usize;
            let mut path = room(length)?;
            for row in (0..length).map(|t| t * trial.tasks + task) {
                path.push(PathStep::of(env, [&states, &actions], row, rewards[row])?);
            }
            stage.paths.push(path);
            stage.returns.push(copied(returns)?);
        }
        stages.push(stage);
    }
    Ok(Adaptation { tasks, unit: StageUnit::GradientSteps, episodes: 1, horizon, stages })
}

/// `[S, E]` episodes, each on a held-out task of its own and after the configured inner steps; outputs as those of
/// policies that do not adapt.
pub(super) fn trace(cx: &mut Context, env: &EnvDef, config: &MamlConfig, of: Episodes) {
    let (s, e) = (of.seeds, of.episodes);
    let learner = Learner::new(env.spec(), config);
    let theta = cx.input("theta", &[s, learner.layout.len()], DType::F32);
    let key = cx.input("key", &[s, 2], DType::U32);
    let key = [key.slice(1, 0, 1), key.slice(1, 1, 2)];
    let trial = Trial {
        tasks: e,
        rollouts: config.rollouts,
        inner_steps: config.inner_steps,
        measured: 1,
        deterministic: of.deterministic,
        last_only: true,
    };
    let tried = try_adapting(&learner, config, env, theta, key, None, trial);
    let Some(last) = tried.stages.last() else { return };
    let paths = last.paths();
    let rows = |x: Tensor| x.reshape(&[s, e]);
    cx.output("returns", rows(paths.path_returns()));
    cx.output("lengths", rows(paths.path_lengths()).to_u32());
    cx.output("lost", rows(paths.path_most(last.lost)));
    let t = paths.valid.size(0);
    // An episode that is not cut by the time limit has ended by itself.
    let whole = rows(paths.path_lengths()).lt(Tensor::constant_f32(t as f64));
    cx.output("terminated", whole);
    if of.record {
        cx.output("states", last.state);
        cx.output("actions", last.played);
        cx.output("rewards", paths.reward);
        if let Some(task) = tried.tasks {
            cx.output("task", task);
        }
    }
}
