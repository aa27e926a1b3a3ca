//! Meta-tests on a device: adaptation to held-out tasks, stage by stage.

use super::adapted::{Adaptation, AdaptationStage, PathStep, StageUnit};
use super::evaluation::{Episodes, expect_finite};
use super::under_test::UnderTest;
use crate::algo::{Algorithm, Family, Held};
use crate::backend::{Lease, copied, room};
use crate::env::EnvDef;
use crate::meta::{EpisodeOutcome, Trial, try_adapting, try_exploring};
use crate::play::Steps;
use crate::program::Outputs;
use crate::tensor::{CompensatedSum, Named, scan_tree};
use crate::{Context, Device, Program, Result, Tensor};

/// The most parts in which a trial of a single episode is shown.
const PARTS: usize = 20;

/// The unit and the number of a trial's stages: adaptations, episodes, or stretches of a single episode.
pub(in crate::train) fn stages(family: Family, trial: &Trial, horizon: usize) -> (StageUnit, usize) {
    match (family, trial.episodes) {
        (Family::Memory, 1) => {
            let length = horizon.div_ceil(PARTS);
            (StageUnit::Steps(length), horizon.div_ceil(length))
        }
        (Family::Memory, episodes) => (StageUnit::Episodes, episodes),
        (Family::Inference, _) => (StageUnit::Episodes, trial.rounds + 1),
        (Family::SingleTask | Family::Gradients, _) => (StageUnit::GradientSteps, trial.rounds + 1),
    }
}

/// The sizes of an adaptation's results.
struct ResultSizes {
    /// The number of held-out tasks.
    tasks: usize,
    /// The number of rollouts per task.
    rollouts: usize,
    /// The number of stages.
    stages: usize,
    /// The number of steps of a task's first rollout, over all stages.
    steps: usize,
    /// The number of bytes that are read from the device at once.
    read: usize,
}

impl ResultSizes {
    /// Bytes of the address, the length and the place in the heap of a list.
    const LIST: usize = 64;

    /// Takes the memory of the results and of their sources before anything runs.
    fn lease(&self, test: &UnderTest<'_>) -> Result<Lease> {
        let numbers = test.env.state_len() + test.env.spec().action.dim();
        let step = size_of::<f64>() + 2 * ResultSizes::LIST + 4 * numbers;
        let stages = self.stages.saturating_mul(2 * ResultSizes::LIST + 8 * self.rollouts);
        let task = self.steps.saturating_mul(step).saturating_add(stages);
        let bytes = self.tasks.saturating_mul(task).saturating_add(self.read);
        test.device.take_on_host(bytes as u64)
    }
}

/// Names of the outputs that are read of each round, each of which follows the round's number.
const READ: [&str; 7] = ["returns", "lost", "rewards", "episodes", "valid", "states", "actions"];

/// Lets a policy adapt to `trial.tasks` held-out tasks.
pub(in crate::train) async fn adapt(
    test: UnderTest<'_>,
    algorithm: &dyn Algorithm,
    trial: Trial,
) -> Result<Adaptation> {
    let UnderTest { device, env, .. } = test;
    let Trial { tasks: m, rollouts, rounds, episodes, .. } = trial;
    let (course, width) = (algorithm.course(), env.spec().task.len());
    let steps = episodes * course.steps;
    let (unit, count) = stages(course.family, &trial, course.steps);
    let numbers = env.state_len() + env.spec().action.dim();
    // Rewards are read as f64 and counts as u32, each beside its original bytes.
    let read = steps.saturating_mul(20 * m * rollouts + 8 * m * numbers).saturating_add(24 * m * rollouts);
    let measured = 4 * size_of::<f64>() + size_of::<EpisodeOutcome>();
    let read = read.saturating_add((rounds + 1).max(episodes).saturating_mul(measured * m * rollouts));
    let kept = ResultSizes { tasks: m, rollouts, stages: count, steps: steps.saturating_mul(rounds + 1), read };
    let lower: &[&'static str] = match course.family {
        Family::Memory => &["tasks", "rollouts", "episodes"],
        _ => &["tasks", "rollouts"],
    };
    let _kept = kept.lease(&test).map_err(|error| error.lowered_by(lower))?;
    let mut program = Program::new(device, |cx| {
        let held = algorithm.declare_policy(cx, 1);
        let key = cx.input("key", &[1, 2], crate::DType::U32);
        let key = [key.slice(1, 0, 1), key.slice(1, 1, 2)];
        let given = test.declare(cx);
        let tried = try_adapting(algorithm, env, &held, key, given, trial);
        if let Some(tasks) = tried.tasks {
            cx.output("tasks", tasks);
        }
        for (k, of) in tried.stages.iter().enumerate() {
            let first = |x: Tensor| {
                let width = x.shape().last().copied().unwrap_or(1);
                x.reshape(&[steps, m, rollouts, width]).slice(2, 0, 1)
            };
            let paths = of.paths();
            let all = [
                paths.path_return_sums().parts(),
                paths.path_most(of.lost),
                of.reward,
                of.episode,
                of.valid,
                first(of.state),
                first(of.played),
            ];
            READ.iter().zip(all).for_each(|(name, x)| cx.output(&format!("{name} {k}"), x));
            let (_, measured) = scan_tree(episodes, &(), &(), |episode, (), ()| {
                ((), outcome(env, of, tried.tasks, episode, course.discount))
            });
            output_outcomes(cx, &format!("{k}"), measured.unwrap_or_default());
        }
    })
    .map_err(|error| error.lowered_by(lower))?;
    let out = test.run(&mut program)?;
    let tasks = match width {
        0 => vec![Vec::new(); m],
        _ => device.read_f32(out.get("tasks")?).await?.chunks(width).map(<[f32]>::to_vec).collect(),
    };
    let mut all = empty(count, &trial)?;
    let mut lengths: Vec<usize> = room(count)?;
    let in_rounds = course.family.in_rounds();
    for k in 0..=rounds {
        let of = |name: &str| out.get(&format!("{name} {k}"));
        let returns = CompensatedSum::read(&device.read(of("returns")?).await?);
        let lost = device.read(of("lost")?).await?;
        expect_finite(&lost, &returns, |row| match course.family {
            Family::Gradients => format!("task {} after {k} gradient steps", row / rollouts),
            Family::Inference => format!("task {} after {k} inferences", row / rollouts),
            Family::SingleTask | Family::Memory => format!("task {}", row / rollouts),
        })?;
        let rewards = device.read(of("rewards")?).await?;
        let episode = device.read_u32(of("episodes")?).await?;
        let valid = device.read_u32(of("valid")?).await?;
        let states = device.read_f32(of("states")?).await?;
        let actions = device.read_f32(of("actions")?).await?;
        let rows = m * rollouts;
        let stage_of = |step: usize, row: usize| match unit {
            _ if in_rounds => k,
            StageUnit::Steps(length) => step / length,
            StageUnit::GradientSteps | StageUnit::Episodes => episode[step * rows + row] as usize,
        };
        let measured = read_outcomes(device, &out, &format!("{k}")).await?;
        for (number, outcomes) in measured.chunks(rows).enumerate() {
            // The outcome of an episode is known at its end.
            let stage = if in_rounds { k } else { number + count - episodes };
            all[stage].outcomes = copied(outcomes)?;
        }
        for row in 0..rows {
            let (task, rollout) = (row / rollouts, row % rollouts);
            let made = || (0..steps).filter(|step| valid[step * rows + row] != 0);
            if rollout == 0 {
                lengths.clear();
                lengths.resize(count, 0);
                made().for_each(|step| lengths[stage_of(step, row)] += 1);
                for (stage, length) in all.iter_mut().zip(&lengths).filter(|(_, length)| **length > 0) {
                    stage.paths[task] = room(*length)?;
                }
            }
            for step in made() {
                let (stage, reward) = (&mut all[stage_of(step, row)], rewards[step * rows + row]);
                if !in_rounds {
                    stage.returns[task][rollout] += reward;
                }
                if rollout == 0 {
                    let at = step * m + task;
                    stage.paths[task].push(PathStep::of(env, [&states, &actions], at, reward)?);
                }
            }
        }
        if in_rounds {
            for (task, returns) in returns.chunks(rollouts).enumerate() {
                all[k].returns[task] = copied(returns)?;
            }
        }
    }
    let episodes = if unit == StageUnit::Episodes { count } else { episodes };
    Ok(Adaptation { tasks, unit, episodes, horizon: course.steps, stages: all })
}

/// Makes `count` stages without results.
pub(in crate::train) fn empty(count: usize, trial: &Trial) -> Result<Vec<AdaptationStage>> {
    let mut all: Vec<AdaptationStage> = room(count)?;
    for _ in 0..count {
        let mut stage =
            AdaptationStage { returns: room(trial.tasks)?, paths: room(trial.tasks)?, outcomes: Vec::new() };
        for _ in 0..trial.tasks {
            let mut returns = room(trial.rollouts)?;
            returns.resize(trial.rollouts, 0.0);
            stage.returns.push(returns);
            stage.paths.push(Vec::new());
        }
        all.push(stage);
    }
    Ok(all)
}

/// Traces `[S, E]` episodes or trials, each on a held-out task of its own and after adaptation. A trial counts as one
/// episode; outputs are named like those of policies that do not adapt.
pub(in crate::train) fn trace(
    cx: &mut Context,
    env: &EnvDef,
    algorithm: &dyn Algorithm,
    (held, key): (&Held, [Tensor; 2]),
    of: Episodes,
) {
    let (course, deterministic) = (algorithm.course(), of.deterministic);
    let (tried, episodes) = match of.sizes {
        Some(sizes) => (try_exploring(algorithm, env, held, key, (sizes, deterministic)), 1),
        None => {
            let trial = Trial {
                tasks: of.episodes,
                rollouts: course.rollouts,
                rounds: course.rounds,
                episodes: course.episodes,
                measured: usize::from(course.rounds > 0),
                deterministic,
                last_only: true,
            };
            (try_adapting(algorithm, env, held, key, None, trial), course.episodes)
        }
    };
    let Some(last) = tried.stages.last() else { return };
    let (paths, rows) = (last.paths(), |x: Tensor| x.reshape(&[of.seeds, of.episodes]));
    let lengths = rows(paths.path_lengths());
    cx.output("returns", paths.path_return_sums().map(rows).parts());
    cx.output("lengths", lengths.to_u32());
    cx.output("lost", rows(paths.path_most(last.lost)));
    // Episodes that the time limit does not cut off have ended by themselves.
    cx.output("terminated", lengths.lt(Tensor::constant_f32(paths.valid.size(0) as f64)));
    let episode = Tensor::constant_u32(episodes as u32 - 1);
    output_outcomes(cx, ADAPTED, outcome(env, last, tried.tasks, episode, course.discount));
    if of.record {
        cx.output("states", last.state);
        cx.output("actions", last.played);
        cx.output("rewards", paths.reward);
        if let Some(task) = tried.tasks {
            cx.output("task", task);
        }
    }
}

/// The name of the outcomes of the last episode after adaptation.
pub(in crate::train) const ADAPTED: &str = "adapted";

/// The outcome of episode number `episode` (u32 `[]`) of each rollout, `[K, N, 1]` under the name of each field of
/// [`EpisodeOutcome`]. A success below 0 is unknown.
fn outcome(env: &EnvDef, steps: &Steps, tasks: Option<Tensor>, episode: Tensor, discount: f64) -> Named {
    let (k, n) = (steps.reward.size(1), steps.reward.size(2));
    let counts = steps.valid.bit_and(steps.episode.eq(episode)).to_f32();
    let (zero, one) = (Tensor::zeros(&[k, n, 1]), Tensor::constant_f32(1.0));
    let first = (CompensatedSum::from(zero), zero + 1.0);
    let ((discounted, _), _) =
        scan_tree(steps.reward.size(0), &first, &(steps.reward, counts), |_, now, (reward, counts)| {
            let (sum, factor): (CompensatedSum, Tensor) = now;
            let next = counts.gt(Tensor::constant_f32(0.0)).select(factor * discount, one);
            ((sum.plus(factor * reward * counts), next), ())
        });
    let over = |x: Tensor| (x * counts).sum_keep(0).reshape(&[k, n, 1]);
    let any = |x: Tensor| over(x.to_f32()).gt(Tensor::constant_f32(0.0)).to_f32();
    let tasks = tasks.map(|tasks| {
        let (seeds, m, width) = (tasks.size(0), tasks.size(1), tasks.size(2));
        let rollouts = k * n / (seeds * m).max(1);
        tasks.unsqueeze(2).broadcast_to(&[seeds, m, rollouts, width]).reshape(&[k, n, width])
    });
    let returns = CompensatedSum::of_rows(steps.reward * counts);
    let success = env.trace_success(steps.state, steps.reward, steps.terminated, tasks);
    let success = success.map_or(zero - 1.0, any);
    Named::from([
        ("ret", returns.sum),
        ("ret_rest", returns.rest),
        ("discounted", discounted.sum),
        ("terminated", any(steps.terminated)),
        ("success", success),
    ])
}

fn output_outcomes(cx: &mut Context, of: &str, outcomes: Named) {
    outcomes.iter().for_each(|(name, x)| cx.output(&format!("{name} {of}"), x));
}

/// Reads the outcomes that a program left under the name `of`, in order.
pub(in crate::train) async fn read_outcomes(device: &Device, out: &Outputs, of: &str) -> Result<Vec<EpisodeOutcome>> {
    let read = async |name: &str| device.read(out.get(&format!("{name} {of}"))?).await;
    let (sums, rests, discounted) = (read("ret").await?, read("ret_rest").await?, read("discounted").await?);
    let returns = CompensatedSum::read(&[sums, rests].concat());
    let (terminated, success) = (read("terminated").await?, read("success").await?);
    let one = |((ret, discounted), (terminated, success)): ((f64, f64), (f64, f64))| {
        let success = (success >= 0.0).then_some(success != 0.0);
        EpisodeOutcome { ret, discounted, terminated: terminated != 0.0, success, success_at_end: None, class: None }
    };
    let mut all = room(returns.len())?;
    all.extend(returns.into_iter().zip(discounted).zip(terminated.into_iter().zip(success)).map(one));
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_of_one_episode_is_shown_in_equal_stretches() {
        let trial = |episodes| Trial {
            tasks: 1,
            rollouts: 1,
            rounds: 0,
            episodes,
            measured: 0,
            deterministic: false,
            last_only: false,
        };
        for (steps, length, count) in [(1, 1, 1), (10, 1, 10), (20, 1, 20), (21, 2, 11), (100, 5, 20), (500, 25, 20)] {
            assert_eq!(stages(Family::Memory, &trial(1), steps), (StageUnit::Steps(length), count));
        }
        assert_eq!(stages(Family::Memory, &trial(7), 10), (StageUnit::Episodes, 7));
    }
}
