//! Policies that need no training, played on the same tasks as a trained one: what is trivial, and what is possible.

mod bandit;
mod control;
mod mdp;

use crate::pictures::adaptation::rollouts;
use control::{Control, Seen};
use quickstudy_core::Result;
use quickstudy_core::env::{ActionSpace, Dim, EnvDef, EnvSpec};
use quickstudy_core::rng::{fold_in, key_from_seed, stream, threefry2x32};
use quickstudy_core::train::Adaptation;

/// The controls of an environment, each with its returns on the tasks of an adaptation.
pub(crate) fn beside(env: &EnvDef, adaptation: &Adaptation, seed: u64) -> Result<Vec<(String, Vec<f64>)>> {
    let sizes = [rollouts(adaptation), adaptation.episodes, adaptation.horizon];
    let played =
        |mut control: Box<dyn Control>| Ok((control.name(), play(&mut *control, env, &adaptation.tasks, sizes, seed)?));
    controls(env).into_iter().map(played).collect()
}

/// Controls for an environment, from trivial to best; empty where none is known.
fn controls(env: &EnvDef) -> Vec<Box<dyn Control>> {
    let spec = env.spec();
    match spec.name.split(':').next().unwrap_or_default() {
        "bandit" => bandit::controls(spec.task.len(), spec.horizon),
        "tabular-mdp" => mdp::controls(spec.horizon),
        _ if spec.course.is_some() => of_bodies(spec),
        _ => in_plane(spec),
    }
}

/// Returns of a control on each task: whole trials of `episodes` episodes, `rollouts` of them averaged.
fn play(
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
                    let draw = threefry2x32(fold_in(key, u32::MAX - step as u32), [element, 1])[0];
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

/// Controls of bodies that should run at a velocity or in a direction: doing nothing, and acting by chance.
fn of_bodies(spec: &EnvSpec) -> Vec<Box<dyn Control>> {
    let ActionSpace::Box { dims } = &spec.action else { return Vec::new() };
    vec![Box::new(Still { name: "doing nothing", dims: dims.len() }), Box::new(Chance { dims: dims.clone() })]
}

/// Actions of zeros.
struct Still {
    name: &'static str,
    dims: usize,
}

impl Control for Still {
    fn name(&self) -> String {
        self.name.to_owned()
    }
    fn act(&mut self, _seen: Seen<'_>, _uniform: f64) -> Vec<f64> {
        vec![0.0; self.dims]
    }
}

/// Uniform actions.
struct Chance {
    dims: Vec<Dim>,
}

impl Control for Chance {
    fn name(&self) -> String {
        "acting by chance".to_owned()
    }
    fn act(&mut self, seen: Seen<'_>, uniform: f64) -> Vec<f64> {
        let key = [(uniform * f64::from(1 << 24)) as u32, seen.step as u32];
        let number = |(i, dim): (usize, &Dim)| {
            let share = f64::from(threefry2x32(key, [i as u32, 0])[0]) / 2.0_f64.powi(32);
            dim.low + share * (dim.high - dim.low)
        };
        self.dims.iter().enumerate().map(number).collect()
    }
}

/// Controls of points in the plane: standing still, and going straight to the goal.
fn in_plane(spec: &EnvSpec) -> Vec<Box<dyn Control>> {
    let ActionSpace::Box { dims } = &spec.action else { return Vec::new() };
    let (Some(plane), 2) = (spec.plane, dims.len()) else { return Vec::new() };
    let still = Still { name: "standing still", dims: dims.len() };
    // Walls and momentum need more than the straight way.
    let straight = ["point-momentum", "point-walls"].iter().all(|name| !spec.name.starts_with(name));
    let goal = ["goal_x", "goal_y"].map(|name| spec.task.iter().position(|dim| dim.name == name));
    match goal {
        [Some(x), Some(y)] if straight => {
            let limits = [dims[0].high, dims[1].high];
            vec![Box::new(still), Box::new(Straight { plane, goal: [x, y], limits, target: [0.0; 2] })]
        }
        _ => vec![Box::new(still)],
    }
}

/// As far towards the goal as an action goes, along each axis.
struct Straight {
    plane: [usize; 2],
    /// Where the goal stands in a task.
    goal: [usize; 2],
    limits: [f64; 2],
    target: [f64; 2],
}

impl Control for Straight {
    fn name(&self) -> String {
        "knowing the goal".to_owned()
    }

    fn begin(&mut self, task: &[f64]) {
        self.target = self.goal.map(|i| task[i]);
    }

    fn act(&mut self, seen: Seen<'_>, _uniform: f64) -> Vec<f64> {
        let towards = |i: usize| self.target[i] - seen.state[self.plane[i]];
        (0..2).map(|i| towards(i).clamp(-self.limits[i], self.limits[i])).collect()
    }
}
