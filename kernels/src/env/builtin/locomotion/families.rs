//! Task distributions: bodies that run at a velocity or in a direction which only rewards tell.
//!
//! | name | paid for, less the cost of controls | tasks | originals |
//! |---|---|---|---|
//! | `half-cheetah-vel` | −│v − velocity│ | velocity U(0, 3) | garage U(0, 2), torso seen, as by PEARL |
//! | `half-cheetah-dir` | direction · v | direction ±1 | garage, PEARL: torso seen |
//! | `walker2d-vel` | 15 while healthy − │v − velocity│ | velocity U(0, 10) | |
//! | `walker2d-dir` | 1 while healthy + direction · v | direction ±1 | |
//! | `swimmer-vel` | −│v − velocity│ | velocity U(0.1, 0.2) | ProMP: + │v − velocity│ |
//!
//! Controls cost 0.05 │a│² of cheetahs, 0.001 │a│² of walkers, and 0.0001 │a│² of swimmers.
//!
//! Episodes have 200 steps, as PEARL's; garage's examples of RL² have 100 and 150 (`time_limit`). The walkers' steps
//! are eight integration steps, as ProMP's, and a step that ends unhealthy has no bonus, as in Gymnasium.
//!
//! The torso of garage and PEARL is where it was one integration step before, by a fault of mujoco-py's `step`; here it
//! is where it is.
//!
//! Sources: ProMP, `meta_policy_search/envs/mujoco_envs/{half_cheetah,walker2d}_rand_{vel,direc}.py` and
//! `swimmer_rand_vel.py`; garage, `half_cheetah_{vel,dir}_env.py`; PEARL's authors (oyster),
//! `rlkit/envs/half_cheetah_{vel,dir}.py`; MAML (arXiv:1703.03400), §5.3.

use super::{Locomotion, RandParams, RunningTask, half_cheetah, hopper, swimmer, walker2d};
use crate::Result;
use crate::env::bodies::{BodySpec, Model};

/// The time limit of PEARL's configurations, in steps.
const HORIZON: usize = 200;

/// The height of the cheetah's torso where its joint is at 0.
pub(in crate::env::builtin) const CHEETAH_HEIGHT: f64 = 0.7;

/// A cheetah that runs as fast as the task asks for.
///
/// # Errors
/// None: the description is a constant.
pub fn half_cheetah_vel() -> Result<Locomotion<9>> {
    let (name, course) = ("half-cheetah-vel".to_owned(), RunningTask::Velocity([0.0, 3.0]));
    Ok(Locomotion { name, course, ctrl_cost_weight: 0.05, ..of_family(half_cheetah()?) })
}

/// A cheetah that runs to the side that the task asks for.
///
/// # Errors
/// None: the description is a constant.
pub fn half_cheetah_dir() -> Result<Locomotion<9>> {
    let (name, course) = ("half-cheetah-dir".to_owned(), RunningTask::Direction);
    Ok(Locomotion { name, course, ctrl_cost_weight: 0.05, ..of_family(half_cheetah()?) })
}

/// A walker that goes as fast as the task asks for.
///
/// # Errors
/// None: the description is a constant.
pub fn walker2d_vel() -> Result<Locomotion<9>> {
    let (name, course) = ("walker2d-vel".to_owned(), RunningTask::Velocity([0.0, 10.0]));
    Ok(Locomotion { name, course, frame_skip: 8, healthy_reward: 15.0, ..of_family(walker2d()?) })
}

/// A walker that goes to the side that the task asks for.
///
/// # Errors
/// None: the description is a constant.
pub fn walker2d_dir() -> Result<Locomotion<9>> {
    let (name, course) = ("walker2d-dir".to_owned(), RunningTask::Direction);
    Ok(Locomotion { name, course, frame_skip: 8, ..of_family(walker2d()?) })
}

/// A swimmer that is as fast as the task asks for.
///
/// # Errors
/// None: the description is a constant.
pub fn swimmer_vel() -> Result<Locomotion<5>> {
    let (name, course) = ("swimmer-vel".to_owned(), RunningTask::Velocity([0.1, 0.2]));
    Ok(Locomotion { name, course, ..of_family(swimmer()?) })
}

/// Hoppers of the source, each task with one of its own.
///
/// # Errors
/// None: the description is a constant.
pub fn hopper_rand_params() -> Result<Locomotion<6>> {
    Locomotion { name: "hopper-rand-params".to_owned(), ..hopper()? }.with_rand_params(&hopper::body(), 7)
}

/// Walkers of the source, each task with one of its own.
///
/// # Errors
/// None: the description is a constant.
pub fn walker2d_rand_params() -> Result<Locomotion<9>> {
    Locomotion { name: "walker2d-rand-params".to_owned(), ..walker2d()? }.with_rand_params(&walker2d::body(), 13)
}

fn of_family<const N: usize>(body: Locomotion<N>) -> Locomotion<N> {
    Locomotion { horizon: HORIZON, solved_at: None, ..body }
}

impl<const N: usize> Locomotion<N> {
    /// The environment with a body of its own for each task, and steps of Newton's method that suffice for most of
    /// them.
    fn with_rand_params(self, body: &BodySpec, newton_steps: usize) -> Result<Self> {
        let model = Model::new(&BodySpec { newton_steps, ..body.clone() })?;
        Ok(Self { model, rand_params: Some(RandParams::new(body)?), horizon: HORIZON, solved_at: None, ..self })
    }
}

#[cfg(test)]
mod tests {
    use crate::env::{Shape, builtin};

    fn distance(name: &str, state: &[f64], action: &[f64], task: &[f64]) -> (f64, f64, bool) {
        let env = builtin(name).unwrap();
        let step = env.step(state, action, task, [0, 0], 0).unwrap();
        (step.state[0] - state[0], step.reward, step.terminated)
    }

    #[test]
    fn rewards_are_those_of_the_sources() {
        let mut cheetah = [0.0; 27];
        (cheetah[0], cheetah[9]) = (4.0, 1.25);
        let action = [0.5, -0.25, 1.5, 0.0, 0.0, 0.0];
        let squares: f64 = action.iter().map(|a| a * a).sum();
        for velocity in [0.0, 1.1, 3.0] {
            let (way, reward, _) = distance("half-cheetah-vel", &cheetah, &action, &[velocity]);
            assert!((reward + (way / 0.05 - velocity).abs() + 0.05 * squares).abs() < 1e-12);
        }
        for direction in [-1.0, 1.0] {
            let (way, reward, _) = distance("half-cheetah-dir", &cheetah, &action, &[direction]);
            assert!((reward - direction * way / 0.05 + 0.05 * squares).abs() < 1e-12 && way.abs() > 1e-3);
        }
        let mut walker = [0.0; 27];
        (walker[1], walker[9]) = (1.25, 0.5);
        let (way, reward, ends) = distance("walker2d-vel", &walker, &action, &[2.5]);
        assert!((reward - 15.0 + (way / 0.016 - 2.5).abs() + 1e-3 * squares).abs() < 1e-12 && !ends);
        let (way, reward, _) = distance("walker2d-dir", &walker, &action, &[-1.0]);
        assert!((reward - 1.0 + way / 0.016 + 1e-3 * squares).abs() < 1e-12);
        walker[1] = 0.7;
        let (way, reward, ends) = distance("walker2d-dir", &walker, &action, &[1.0]);
        assert!(ends && (reward - way / 0.016 + 1e-3 * squares).abs() < 1e-12);
        let mut swimmer = [0.0; 15];
        swimmer[5] = 0.15;
        let (way, reward, _) = distance("swimmer-vel", &swimmer, &[0.5, 0.0], &[0.12]);
        assert!((reward + (way / 0.04 - 0.12).abs() + 1e-4 * 0.25).abs() < 1e-12);
    }

    #[test]
    fn tasks_are_uniform_velocities_and_directions_as_often_forwards_as_backwards() {
        let tasks = |name: &str| -> Vec<f64> {
            let env = builtin(name).unwrap();
            (0..2000).map(|element| env.sample_task::<f64>([3, 4], element)[0]).collect()
        };
        let mean = |tasks: &[f64]| tasks.iter().sum::<f64>() / tasks.len() as f64;
        for (name, low, high) in [
            ("half-cheetah-vel", 0.0, 3.0),
            ("half-cheetah-vel:velocity_range=0..2", 0.0, 2.0),
            ("walker2d-vel", 0.0, 10.0),
            ("swimmer-vel", 0.1, 0.2),
        ] {
            let tasks = tasks(name);
            assert!(tasks.iter().all(|x| (low..high).contains(x)), "{name}");
            // Four standard errors of uniform numbers.
            let error = 4.0 * (high - low) / 12.0_f64.sqrt() / 2000.0_f64.sqrt();
            assert!((mean(&tasks) - 0.5 * (low + high)).abs() < error, "{name}");
        }
        for name in ["half-cheetah-dir", "walker2d-dir"] {
            let tasks = tasks(name);
            assert!(tasks.iter().all(|x| x.abs() == 1.0) && mean(&tasks).abs() < 4.0 / 2000.0_f64.sqrt(), "{name}");
        }
    }

    #[test]
    fn garage_s_cheetah_shows_20_numbers_and_none_shows_the_task() {
        let name = "half-cheetah-vel:velocity_range=0..2,observe_torso=true";
        let env = builtin(name).unwrap();
        assert_eq!((env.spec().name.as_str(), env.spec().horizon), (name, 200));
        let mut state: Vec<f64> = (0..27).map(|i| 0.01 * f64::from(i)).collect();
        state[0] = 12.5;
        let seen = env.observe(&state, &[1.5]).unwrap();
        let expected = [&state[1..18], &[12.5, 0.0, state[1] + 0.7]].concat();
        assert_eq!(seen, expected);
        assert_eq!(seen, env.observe(&state, &[0.5]).unwrap());
        assert_eq!(builtin("half-cheetah-vel").unwrap().observe(&state, &[1.5]).unwrap(), &state[1..18]);
        assert_eq!(builtin("half-cheetah-dir:observe_torso=true").unwrap().spec().observation.len(), 20);
        let message = builtin("half-cheetah-vel:velocity_range=0..inf").unwrap_err().to_string();
        assert!(message.contains("give it two bounds, such as 0..3"), "{message}");
        assert!(builtin("half-cheetah:observe_torso=true").is_err());
    }

    #[test]
    fn pictures_show_what_is_asked_for() {
        let env = builtin("half-cheetah-vel").unwrap();
        let green = |task: f32| {
            let scene = env.draw(&[0.0; 27], &[task]).unwrap();
            let mut lines = scene.shapes.into_iter().filter_map(|shape| match shape {
                Shape::Line { from, to, color, .. } if color == crate::env::Color::GREEN => Some(to[0] - from[0]),
                _ => None,
            });
            lines.next().unwrap()
        };
        assert!((green(3.0) / green(1.5) - 2.0).abs() < 1e-5 && green(1.5) > 0.1);
        assert!(!env.spec().legend.is_empty() && env.spec().course == Some(0));
    }
}
