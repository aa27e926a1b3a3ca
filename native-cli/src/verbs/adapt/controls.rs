//! Policies that need no training, played on the same tasks as a trained one: what is trivial, and what is possible.

mod bandit;
mod course;
mod mdp;
mod plane;

use quickstudy_core::Result;
use quickstudy_core::env::EnvDef;
use quickstudy_core::rng::{fold_in, key_from_seed, stream};

/// The information that a control may look at before it acts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen<'a> {
    /// State of the environment.
    pub state: &'a [f64],
    /// Steps taken in this episode.
    pub step: usize,
}

/// A policy that is not trained.
pub(super) trait Control {
    /// Its name.
    fn name(&self) -> String;

    /// A trial on a task begins. Only those that are told what others must find out look at the task.
    fn begin(&mut self, task: &[f64]);

    /// Chooses the next action. `uniform`: a random number in [0, 1).
    fn act(&mut self, seen: Seen<'_>, uniform: f64) -> Vec<f64>;

    /// Learns from the outcome of that action.
    fn learn(&mut self, _state: &[f64], _action: &[f64], _reward: f64, _next: &[f64]) {}
}

/// Controls for an environment, from trivial to best; empty where none is known.
pub(super) fn controls(env: &EnvDef) -> Vec<Box<dyn Control>> {
    let spec = env.spec();
    match spec.name.split(':').next().unwrap_or_default() {
        "bandit" => bandit::controls(spec.task.len(), spec.horizon),
        "tabular-mdp" => mdp::controls(spec.horizon),
        _ if spec.course.is_some() => course::controls(spec),
        _ => plane::controls(spec),
    }
}

/// Returns of a control on each task: whole trials of `episodes` episodes, `rollouts` of them averaged.
pub(super) fn play(
    control: &mut dyn Control,
    env: &EnvDef,
    tasks: &[Vec<f32>],
    [rollouts, episodes, horizon]: [usize; 3],
    seed: u64,
) -> Result<Vec<f64>> {
    let key = fold_in(key_from_seed(seed), stream("controls"));
    let mut returns = Vec::with_capacity(tasks.len());
    for (number, task) in tasks.iter().enumerate() {
        let task: Vec<f64> = task.iter().map(|x| f64::from(*x)).collect();
        let mut sum = 0.0;
        for rollout in 0..rollouts {
            let element = (number * rollouts + rollout) as u32;
            control.begin(&task);
            for episode in 0..episodes {
                let key = fold_in(key, episode as u32);
                let mut state = env.reset::<f64>(&task, fold_in(key, 0), element)?;
                for step in 0..horizon {
                    let draw =
                        quickstudy_core::rng::threefry2x32(fold_in(key, u32::MAX - step as u32), [element, 1])[0];
                    let uniform = f64::from(draw >> 8) / f64::from(1 << 24);
                    let action = control.act(Seen { state: &state, step }, uniform);
                    let next = env.step::<f64>(&state, &action, &task, fold_in(key, step as u32 + 1), element)?;
                    sum += next.reward;
                    control.learn(&state, &action, next.reward, &next.state);
                    state = next.state;
                    if next.terminated {
                        break;
                    }
                }
            }
        }
        returns.push(sum / rollouts.max(1) as f64);
    }
    Ok(returns)
}
