//! Families of tasks: bodies that run at a velocity or in a direction which only rewards tell.
//!
//! | name | paid for | tasks | of the originals differ |
//! |---|---|---|---|
//! | `half-cheetah-vel` | −│v − velocity│ − 0.05 │a│² | velocity U(0, 3) | garage U(0, 2); garage and PEARL also show the torso |
//! | `half-cheetah-dir` | direction · v − 0.05 │a│² | direction ±1 | garage and PEARL also show the torso |
//! | `walker2d-vel` | 15 while healthy − │v − velocity│ − 0.001 │a│² | velocity U(0, 10) | |
//! | `walker2d-dir` | 1 while healthy + direction · v − 0.001 │a│² | direction ±1 | |
//! | `swimmer-vel` | −│v − velocity│ − 0.0001 │a│² | velocity U(0.1, 0.2) | ProMP pays + │v − velocity│ |
//!
//! Episodes have 200 steps, as PEARL's; garage's examples of RL² have 100 and 150 (`time_limit`). The walkers' steps are
//! eight integration steps, as ProMP's, and a step that ends unhealthy has no bonus, as in Gymnasium.
//!
//! The torso of garage and PEARL is where it was one integration step before, by a fault of mujoco-py's `step`; here it
//! is where it is.
//!
//! Sources: ProMP, `meta_policy_search/envs/mujoco_envs/{half_cheetah,walker2d}_rand_{vel,direc}.py` and
//! `swimmer_rand_vel.py`; garage, `half_cheetah_{vel,dir}_env.py`; PEARL's authors (oyster),
//! `rlkit/envs/half_cheetah_{vel,dir}.py`; MAML (arXiv:1703.03400), §5.3.

use super::{Course, Locomotion, half_cheetah, swimmer, walker2d};
use crate::Result;

/// The time limit of PEARL's configurations, in steps.
const HORIZON: usize = 200;

/// The height of the cheetah's torso where its joint is at 0.
pub(in crate::env::builtin) const CHEETAH_HEIGHT: f64 = 0.7;

/// A cheetah that runs as fast as the task asks for.
///
/// # Errors
/// None: the description is a constant.
pub fn half_cheetah_vel() -> Result<Locomotion<9>> {
    let (name, course) = ("half-cheetah-vel".to_owned(), Course::Velocity([0.0, 3.0]));
    Ok(Locomotion { name, course, ctrl_cost_weight: 0.05, ..of_family(half_cheetah()?) })
}

/// A cheetah that runs to the side that the task asks for.
///
/// # Errors
/// None: the description is a constant.
pub fn half_cheetah_dir() -> Result<Locomotion<9>> {
    let (name, course) = ("half-cheetah-dir".to_owned(), Course::Direction);
    Ok(Locomotion { name, course, ctrl_cost_weight: 0.05, ..of_family(half_cheetah()?) })
}

/// A walker that goes as fast as the task asks for.
///
/// # Errors
/// None: the description is a constant.
pub fn walker2d_vel() -> Result<Locomotion<9>> {
    let (name, course) = ("walker2d-vel".to_owned(), Course::Velocity([0.0, 10.0]));
    Ok(Locomotion { name, course, frame_skip: 8, healthy_reward: 15.0, ..of_family(walker2d()?) })
}

/// A walker that goes to the side that the task asks for.
///
/// # Errors
/// None: the description is a constant.
pub fn walker2d_dir() -> Result<Locomotion<9>> {
    let (name, course) = ("walker2d-dir".to_owned(), Course::Direction);
    Ok(Locomotion { name, course, frame_skip: 8, ..of_family(walker2d()?) })
}

/// A swimmer that is as fast as the task asks for.
///
/// # Errors
/// None: the description is a constant.
pub fn swimmer_vel() -> Result<Locomotion<5>> {
    let (name, course) = ("swimmer-vel".to_owned(), Course::Velocity([0.1, 0.2]));
    Ok(Locomotion { name, course, ..of_family(swimmer()?) })
}

fn of_family<const N: usize>(body: Locomotion<N>) -> Locomotion<N> {
    Locomotion { horizon: HORIZON, solved_at: None, ..body }
}
