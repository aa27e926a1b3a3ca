//! Evaluation of policies that learn within a trial: held-out tasks, episode by episode.

use super::adapted::{Adaptation, Kept, LOWER, MAX_TASKS, PathStep, Stage, StageUnit};
use super::evaluate::{Episodes, UnderTest, expect_finite};
use crate::backend::room;
use crate::env::EnvDef;
use crate::meta::rl2::{Rl2Config, Rl2Net, TrialSpec, Trials, try_trials};
use crate::{Context, DType, Error, Program, Result, Tensor};

/// Most steps of all trials.
const MAX_STEPS: usize = 1 << 25;

/// A trial of one episode is shown in at most as many parts.
const PARTS: usize = 20;

/// Checks that there are not too few or too many, with episodes of at most `horizon` steps.
pub(super) fn check(spec: TrialSpec, horizon: usize) -> Result<()> {
    let trials = spec.tasks.saturating_mul(spec.rollouts);
    let steps = spec.episodes.saturating_mul(horizon);
    if spec.episodes == 0 {
        return Err(Error::config("episodes", "0 is too few; give at least 1"));
    }
    for (name, value) in [("tasks", spec.tasks), ("rollouts", spec.rollouts)] {
        if value == 0 || value > MAX_TASKS {
            return Err(Error::config(name, format!("{value} is not in 1 to {MAX_TASKS}")));
        }
    }
    if trials.saturating_mul(steps) > MAX_STEPS {
        let problem = format!("{trials} trials of {steps} steps are more than {MAX_STEPS} in all");
        return Err(Error::config("tasks", problem));
    }
    Ok(())
}

/// Trials of one policy on `spec.tasks` held-out tasks.
pub(super) async fn adapt(test: UnderTest<'_>, config: &Rl2Config, spec: TrialSpec) -> Result<Adaptation> {
    let UnderTest { device, env, .. } = test;
    check(spec, env.spec().horizon)?;
    let (trials, steps) = (spec.tasks * spec.rollouts, spec.episodes * env.spec().horizon);
    let net = Rl2Net::new(env.spec(), config);
    let (unit, stages) = parts(spec.episodes, steps);
    let widths = [env.state_len(), env.spec().action.dim()];
    // Rewards are read as f64 and counts as u32, each beside the bytes that it came in.
    let read = steps.saturating_mul(20 * trials + 8 * spec.tasks * widths.iter().sum::<usize>());
    let kept = Kept { tasks: spec.tasks, rollouts: spec.rollouts, stages, steps, read };
    let lower = |error: Error| error.lowered_by(&[LOWER.as_slice(), &["episodes"]].concat());
    let _kept = kept.lease(&test).map_err(lower)?;
    let mut program = Program::new(device, |cx| {
        let (theta, key) = inputs(cx, &net, 1);
        let given = test.declare(cx);
        let (trials, tasks) = try_trials(&net, config, env, theta, key, given, spec);
        if let Some(tasks) = tasks {
            cx.output("tasks", tasks);
        }
        cx.output("rewards", trials.paths.reward);
        cx.output("episodes", trials.episode);
        cx.output("valid", trials.paths.valid);
        cx.output("lost", trials.paths.path_most(trials.lost));
        cx.output("sums", trials.paths.path_returns());
        for (name, of) in [("states", trials.states), ("actions", trials.limited)] {
            let width = of.shape().last().copied().unwrap_or(1);
            let by_task = of.reshape(&[steps, spec.tasks, spec.rollouts, width]);
            cx.output(name, by_task.slice(2, 0, 1));
        }
    })
    .map_err(lower)?;
    let out = test.run(&mut program)?;
    let tasks = match env.spec().task.len() {
        0 => vec![Vec::new(); spec.tasks],
        width => {
            let all = device.read_f32(out.get("tasks")?).await?;
            all.chunks(width).step_by(spec.rollouts).map(<[f32]>::to_vec).collect()
        }
    };
    let rewards = device.read(out.get("rewards")?).await?;
    let (lost, sums) = (device.read(out.get("lost")?).await?, device.read(out.get("sums")?).await?);
    expect_finite(&lost, &sums, |row| format!("task {}", row / spec.rollouts))?;
    let episodes = device.read_u32(out.get("episodes")?).await?;
    let valid = device.read_u32(out.get("valid")?).await?;
    let states = device.read_f32(out.get("states")?).await?;
    let actions = device.read_f32(out.get("actions")?).await?;
    let stage_of = |step: usize, row: usize| match unit {
        StageUnit::Steps(length) => step / length,
        _ => episodes[step * trials + row] as usize,
    };
    let mut all: Vec<Stage> = room(stages)?;
    for _ in 0..stages {
        let mut stage = Stage { returns: room(spec.tasks)?, paths: room(spec.tasks)? };
        for _ in 0..spec.tasks {
            let mut returns = room(spec.rollouts)?;
            returns.resize(spec.rollouts, 0.0);
            stage.returns.push(returns);
        }
        all.push(stage);
    }
    let mut lengths: Vec<usize> = room(stages)?;
    for row in 0..trials {
        let (task, rollout) = (row / spec.rollouts, row % spec.rollouts);
        let made = || (0..steps).filter(|step| valid[step * trials + row] != 0);
        if rollout == 0 {
            lengths.clear();
            lengths.resize(stages, 0);
            made().for_each(|step| lengths[stage_of(step, row)] += 1);
            for (stage, length) in all.iter_mut().zip(&lengths) {
                stage.paths.push(room(*length)?);
            }
        }
        for step in made() {
            let (stage, reward) = (&mut all[stage_of(step, row)], rewards[step * trials + row]);
            stage.returns[task][rollout] += reward;
            if rollout == 0 {
                let at = step * spec.tasks + task;
                stage.paths[task].push(PathStep::of(env, [&states, &actions], at, reward)?);
            }
        }
    }
    Ok(Adaptation { tasks, unit, episodes: spec.episodes, horizon: env.spec().horizon, stages: all })
}

/// What is looked at one by one: episodes or, of a single one, stretches of it; and how many of them.
pub(super) fn parts(episodes: usize, steps: usize) -> (StageUnit, usize) {
    match episodes {
        1 => {
            let length = steps.div_ceil(PARTS);
            (StageUnit::Steps(length), steps.div_ceil(length))
        }
        _ => (StageUnit::Episodes, episodes),
    }
}

fn inputs(cx: &mut Context, net: &Rl2Net, seeds: usize) -> (Tensor, [Tensor; 2]) {
    let theta = cx.input("theta", &[seeds, net.layout.len()], DType::F32);
    let key = cx.input("key", &[seeds, 2], DType::U32);
    (theta, [key.slice(1, 0, 1), key.slice(1, 1, 2)])
}

/// `[S, E]` trials, each on a held-out task of its own, counted as one episode; outputs as those of policies that do not
/// adapt.
pub(super) fn trace(cx: &mut Context, env: &EnvDef, config: &Rl2Config, of: Episodes) {
    let net = Rl2Net::new(env.spec(), config);
    let (theta, key) = inputs(cx, &net, of.seeds);
    let spec =
        TrialSpec { tasks: of.episodes, rollouts: 1, episodes: config.episodes, deterministic: of.deterministic };
    let (trials, tasks): (Trials, _) = try_trials(&net, config, env, theta, key, None, spec);
    let steps = trials.paths.valid.size(0);
    let lengths = trials.paths.path_lengths();
    cx.output("returns", trials.paths.path_returns());
    cx.output("lengths", lengths.to_u32());
    cx.output("lost", trials.paths.path_most(trials.lost));
    // What is shorter than its episodes' time limits had an episode that ended by itself.
    cx.output("terminated", lengths.lt(Tensor::constant_f32(steps as f64)));
    if of.record {
        cx.output("states", trials.states);
        cx.output("actions", trials.limited);
        cx.output("rewards", trials.paths.reward);
        if let Some(tasks) = tasks {
            cx.output("task", tasks);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_of_one_episode_is_shown_in_equal_stretches() {
        for (steps, length, stages) in [(1, 1, 1), (10, 1, 10), (20, 1, 20), (21, 2, 11), (100, 5, 20), (500, 25, 20)] {
            assert_eq!(parts(1, steps), (StageUnit::Steps(length), stages));
        }
        assert_eq!(parts(7, 70), (StageUnit::Episodes, 7));
    }
}
