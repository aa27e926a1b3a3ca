//! Evaluation of policies that learn within a trial: held-out tasks, episode by episode.

use super::adapted::{Adaptation, PathStep, Stage, StageUnit};
use super::evaluate::{Episodes, UnderTest, expect_finite};
use crate::env::EnvDef;
use crate::meta::rl2::{Rl2Config, Rl2Net, TrialSpec, Trials, try_trials};
use crate::{Context, DType, Error, Program, Result, Tensor};

/// Most steps of all trials.
const MAX_STEPS: usize = 1 << 25;

/// A trial of one episode is shown in at most as many parts.
const PARTS: usize = 20;

/// That there are not too few or too many, with episodes of at most `horizon` steps.
pub(super) fn check(spec: TrialSpec, horizon: usize) -> Result<()> {
    let trials = spec.tasks.saturating_mul(spec.rollouts);
    let steps = spec.episodes.saturating_mul(horizon);
    for (name, value) in [("tasks", spec.tasks), ("rollouts", spec.rollouts), ("episodes", spec.episodes)] {
        if value == 0 {
            return Err(Error::config(name, "0 is too few; give at least 1"));
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
    })?;
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
    let chunks = [(&states, env.state_len()), (&actions, env.spec().action.dim())];
    let [states, actions] = chunks.map(|(all, width)| all.chunks(width).collect::<Vec<&[f32]>>());

    let (unit, stages) = parts(spec.episodes, steps);
    let stage_of = |step: usize, row: usize| match unit {
        StageUnit::Steps(length) => step / length,
        _ => episodes[step * trials + row] as usize,
    };
    let mut all: Vec<Stage> = (0..stages)
        .map(|_| Stage { returns: vec![vec![0.0; spec.rollouts]; spec.tasks], paths: vec![Vec::new(); spec.tasks] })
        .collect();
    for row in 0..trials {
        let (task, rollout) = (row / spec.rollouts, row % spec.rollouts);
        for step in (0..steps).filter(|step| valid[step * trials + row] != 0) {
            let stage = &mut all[stage_of(step, row)];
            stage.returns[task][rollout] += rewards[step * trials + row];
            if rollout == 0 {
                let at = step * spec.tasks + task;
                let (state, action) = (states[at].to_vec(), actions[at].to_vec());
                stage.paths[task].push(PathStep { state, action, reward: rewards[step * trials + row] });
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
