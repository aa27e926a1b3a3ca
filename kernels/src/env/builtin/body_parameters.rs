//! Parameters of the environments of bodies: keyword arguments of Gymnasium's, by their names there.

use std::borrow::Cow;

use super::inverted_double_pendulum::InvertedDoublePendulum;
use super::inverted_pendulum::InvertedPendulum;
use super::locomotion::families::{
    CHEETAH_HEIGHT, half_cheetah_dir, half_cheetah_vel, hopper_rand_params, swimmer_vel, walker2d_dir,
    walker2d_rand_params, walker2d_vel,
};
use super::locomotion::{Locomotion, RunningTask, half_cheetah, hopper, swimmer, walker2d};
use super::parameters::{BuiltinEntry, Given, Parameter};
use super::reacher::Reacher;
use super::reader::Reader;
use crate::Result;
use crate::env::EnvDef;

const fn parameter(name: &'static str, default: &'static str, meaning: &'static str) -> Parameter {
    Parameter { name, default: Cow::Borrowed(default), meaning }
}

const FORWARD: Parameter = parameter("forward_reward_weight", "1", "reward per speed");
const ALIVE: &str = "healthy_reward";
const ENDS: Parameter = parameter("terminate_when_unhealthy", "true", "whether an episode ends where it falls");
const HEALTHY_STATE: &str = "healthy_state_range";
const HEALTHY_HEIGHT: &str = "healthy_z_range";
const HEALTHY_ANGLE: &str = "healthy_angle_range";
const HIDES: Parameter =
    parameter("exclude_current_positions_from_observation", "true", "whether the place along the way is not seen");

const VELOCITY: &str = "velocity_range";
const TORSO: Parameter =
    parameter("observe_torso", "false", "whether the torso's place is seen too, as in garage's and PEARL's");

const fn velocity(default: &'static str) -> Parameter {
    parameter(VELOCITY, default, "velocities that tasks ask for, in m/s")
}

const fn alive(default: &'static str) -> Parameter {
    parameter(ALIVE, default, "reward of each step that ends healthy")
}

const fn cost(default: &'static str) -> Parameter {
    parameter("ctrl_cost_weight", default, "cost per squared action")
}

const fn noise(default: &'static str) -> Parameter {
    parameter("reset_noise_scale", default, "how far first states are from rest")
}

const fn height(default: &'static str) -> Parameter {
    parameter(HEALTHY_HEIGHT, default, "heights at which it is healthy, without both bounds")
}

const fn angle(default: &'static str) -> Parameter {
    parameter(HEALTHY_ANGLE, default, "angles of the torso at which it is healthy")
}

const CHEETAH: &[Parameter] = &[FORWARD, cost("0.1"), noise("0.1"), HIDES];
const STATE: Parameter =
    parameter(HEALTHY_STATE, "-100..100", "where all other numbers of its state are while it is healthy");
const SCALE: Parameter =
    parameter("log_scale_limit", "3", "exponents by which tasks scale its numbers are up to ± this");
const HOPPER: &[Parameter] =
    &[FORWARD, cost("0.001"), alive("1"), ENDS, STATE, height("0.7..inf"), angle("-0.2..0.2"), noise("0.005"), HIDES];
const HOPPERS: &[Parameter] = &[
    FORWARD,
    cost("0.001"),
    alive("1"),
    ENDS,
    STATE,
    height("0.7..inf"),
    angle("-0.2..0.2"),
    noise("0.005"),
    HIDES,
    SCALE,
];
const WALKER: &[Parameter] =
    &[FORWARD, cost("0.001"), alive("1"), ENDS, height("0.8..2"), angle("-1..1"), noise("0.005"), HIDES];
const WALKERS: &[Parameter] =
    &[FORWARD, cost("0.001"), alive("1"), ENDS, height("0.8..2"), angle("-1..1"), noise("0.005"), HIDES, SCALE];
const CHEETAH_VEL: &[Parameter] = &[velocity("0..3"), TORSO, FORWARD, cost("0.05"), noise("0.1"), HIDES];
const CHEETAH_DIR: &[Parameter] = &[TORSO, FORWARD, cost("0.05"), noise("0.1"), HIDES];
const WALKER_VEL: &[Parameter] = &[
    velocity("0..10"),
    FORWARD,
    cost("0.001"),
    alive("15"),
    ENDS,
    height("0.8..2"),
    angle("-1..1"),
    noise("0.005"),
    HIDES,
];
const SWIMMER_VEL: &[Parameter] = &[velocity("0.1..0.2"), FORWARD, cost("0.0001"), noise("0.1"), HIDES];
const SWIMMER: &[Parameter] = &[FORWARD, cost("0.0001"), noise("0.1"), HIDES];
const REACHER: &[Parameter] = &[
    parameter("reward_dist_weight", "1", "cost per distance"),
    parameter("reward_control_weight", "1", "cost per squared action"),
];
const POLE: &[Parameter] = &[noise("0.01")];
const POLES: &[Parameter] = &[parameter("healthy_reward", "10", "reward of standing"), noise("0.1")];

/// The environments of bodies.
pub(super) const BODIES: &[BuiltinEntry] = &[
    ("half-cheetah", CHEETAH, |p| EnvDef::new(locomotion(half_cheetah()?, p)?)),
    ("hopper", HOPPER, |p| EnvDef::new(locomotion(hopper()?, p)?)),
    ("walker2d", WALKER, |p| EnvDef::new(locomotion(walker2d()?, p)?)),
    ("swimmer", SWIMMER, |p| EnvDef::new(locomotion(swimmer()?, p)?)),
    ("half-cheetah-vel", CHEETAH_VEL, |p| EnvDef::new(cheetah(half_cheetah_vel()?, p)?)),
    ("half-cheetah-dir", CHEETAH_DIR, |p| EnvDef::new(cheetah(half_cheetah_dir()?, p)?)),
    ("walker2d-vel", WALKER_VEL, |p| EnvDef::new(locomotion(walker2d_vel()?, p)?)),
    ("walker2d-dir", WALKER, |p| EnvDef::new(locomotion(walker2d_dir()?, p)?)),
    ("swimmer-vel", SWIMMER_VEL, |p| EnvDef::new(locomotion(swimmer_vel()?, p)?)),
    ("reacher", REACHER, |p| EnvDef::new(reacher(p)?)),
    ("hopper-rand-params", HOPPERS, |p| EnvDef::new(locomotion(hopper_rand_params()?, p)?)),
    ("walker2d-rand-params", WALKERS, |p| EnvDef::new(locomotion(walker2d_rand_params()?, p)?)),
    ("inverted-pendulum", POLE, |p| EnvDef::new(pole(p)?)),
    ("inverted-double-pendulum", POLES, |p| EnvDef::new(poles(p)?)),
];

fn locomotion<const N: usize>(mut env: Locomotion<N>, given: &Given<'_>) -> Result<Locomotion<N>> {
    let mut read = Reader::new(given, &env.name);
    if let RunningTask::Velocity(range) = env.course {
        env.course = RunningTask::Velocity(read.bounds(VELOCITY, range)?);
    }
    env.forward_reward_weight = read.number(FORWARD.name, env.forward_reward_weight)?;
    env.ctrl_cost_weight = read.number("ctrl_cost_weight", env.ctrl_cost_weight)?;
    env.healthy_reward = read.number(ALIVE, env.healthy_reward)?;
    env.terminate_when_unhealthy = read.flag(ENDS.name, env.terminate_when_unhealthy)?;
    if let Some(health) = &mut env.health {
        health.state = read.span(HEALTHY_STATE, health.state)?;
        health.height = read.span(HEALTHY_HEIGHT, health.height)?;
        health.angle = read.span(HEALTHY_ANGLE, health.angle)?;
    }
    env.reset_noise_scale = read.positive("reset_noise_scale", env.reset_noise_scale)?;
    if !read.flag(HIDES.name, true)? {
        env.hidden_positions = 0;
    }
    if let Some(rand) = &mut env.rand_params {
        let limit = given.number(SCALE.name, rand.log_scale_limit, 0.01..=10.0)?;
        rand.log_scale_limit = read.noted(SCALE.name, limit, &rand.log_scale_limit);
    }
    env.name = read.name;
    Ok(env)
}

/// A cheetah of a family, of which also the torso may be seen.
fn cheetah(env: Locomotion<9>, given: &Given<'_>) -> Result<Locomotion<9>> {
    let mut env = locomotion(env, given)?;
    let mut read = Reader::new(given, &env.name);
    env.observe_torso = read.flag(TORSO.name, false)?.then_some(CHEETAH_HEIGHT);
    env.name = read.name;
    Ok(env)
}

fn reacher(given: &Given<'_>) -> Result<Reacher> {
    let mut env = Reacher::new()?;
    let mut read = Reader::new(given, &env.name);
    env.reward_dist_weight = read.number("reward_dist_weight", env.reward_dist_weight)?;
    env.reward_control_weight = read.number("reward_control_weight", env.reward_control_weight)?;
    env.name = read.name;
    Ok(env)
}

fn pole(given: &Given<'_>) -> Result<InvertedPendulum> {
    let mut env = InvertedPendulum::new()?;
    let mut read = Reader::new(given, &env.name);
    env.reset_noise_scale = read.positive("reset_noise_scale", env.reset_noise_scale)?;
    env.name = read.name;
    Ok(env)
}

fn poles(given: &Given<'_>) -> Result<InvertedDoublePendulum> {
    let mut env = InvertedDoublePendulum::new()?;
    let mut read = Reader::new(given, &env.name);
    env.healthy_reward = read.number("healthy_reward", env.healthy_reward)?;
    env.reset_noise_scale = read.positive("reset_noise_scale", env.reset_noise_scale)?;
    env.name = read.name;
    Ok(env)
}

#[cfg(test)]
mod tests {
    use crate::env::builtin;

    #[test]
    fn parameters_are_part_of_the_name_and_do_what_they_say() {
        for (given, own) in [
            ("hopper:terminate_when_unhealthy=false", "hopper:terminate_when_unhealthy=false"),
            ("hopper:ctrl_cost_weight=0.001", "hopper"),
            (
                "half-cheetah:ctrl_cost_weight=0.5,forward_reward_weight=2",
                "half-cheetah:forward_reward_weight=2,ctrl_cost_weight=0.5",
            ),
            ("reacher:reward_control_weight=0", "reacher:reward_control_weight=0"),
            ("inverted-pendulum:reset_noise_scale=0.05", "inverted-pendulum:reset_noise_scale=0.05"),
            ("inverted-double-pendulum:healthy_reward=1", "inverted-double-pendulum:healthy_reward=1"),
            ("swimmer:time_limit=10", "swimmer:time_limit=10"),
            ("hopper:healthy_z_range=0.7..inf,healthy_angle_range=-.2..0.20", "hopper"),
            ("walker2d:healthy_z_range=-inf..1e1", "walker2d:healthy_z_range=-inf..10"),
            (
                "hopper:healthy_angle_range=-0.5..1,healthy_state_range=-10..inf",
                "hopper:healthy_state_range=-10..inf,healthy_angle_range=-0.5..1",
            ),
        ] {
            assert_eq!(builtin(given).unwrap().spec().name, own, "{given}");
            assert_eq!(builtin(own).unwrap().spec().name, own);
        }
        let seen = |name: &str| builtin(name).unwrap().spec().observation.len();
        let hides = "exclude_current_positions_from_observation=false";
        assert_eq!([seen("walker2d"), seen(&format!("walker2d:{hides}"))], [17, 18]);
        assert_eq!([seen("swimmer"), seen(&format!("swimmer:{hides}"))], [8, 10]);
        // A hopper that lies on the floor.
        let mut state = [0.0_f64; 18];
        state[1..3].copy_from_slice(&[0.6, 1.5]);
        let step = |name: &str| builtin(name).unwrap().step(&state, &[1.0, 0.0, 0.0], &[], [0, 0], 0).unwrap();
        let [ends, goes_on] = ["hopper", "hopper:terminate_when_unhealthy=false"].map(step);
        assert!(ends.terminated && !goes_on.terminated && ends.reward == goes_on.reward);
        let cheap = step("hopper:ctrl_cost_weight=0");
        assert!((cheap.reward - ends.reward - 1e-3).abs() < 1e-12);
        let refused = |name: &str| builtin(name).unwrap_err().to_string();
        assert!(refused("hopper:terminate_when_unhealthy=no").contains("expected true or false"));
        assert!(refused("hopper:reset_noise_scale=-1").contains("expected a number in 0 to"));
        assert!(refused("reacher:weight=1").contains("has no parameter `weight`"));
    }

    #[test]
    fn bodies_are_healthy_strictly_within_the_ranges_that_are_given() {
        let ends = |name: &str, qpos: &[f64], qvel: &[f64]| {
            let joints = qpos.len();
            let state = [qpos, qvel, &vec![0.0; joints]].concat();
            let action = vec![0.0; joints - 3];
            builtin(name).unwrap().step(&state, &action, &[], [0, 0], 0).unwrap().terminated
        };
        // High above the floor nothing touches it, and its height and angle hardly change within a step.
        let hopper = |name: &str, height, angle, speed| {
            ends(name, &[0.0, height, angle, -0.1, -0.1, 0.0], &[0.0, 0.0, 0.0, speed, 0.0, 0.0])
        };
        assert!(!hopper("hopper", 3.0, 0.1, 0.0) && hopper("hopper", 3.0, 0.3, 0.0));
        assert!(!hopper("hopper:healthy_angle_range=-0.5..0.5", 3.0, 0.3, 0.0));
        assert!(hopper("hopper:healthy_angle_range=0.2..inf", 3.0, 0.1, 0.0));
        assert!(hopper("hopper:healthy_z_range=0.7..2.5", 3.0, 0.1, 0.0));
        assert!(!hopper("hopper:healthy_z_range=2.5..inf", 3.0, 0.1, 0.0));
        assert!(hopper("hopper:healthy_state_range=-1..1", 3.0, 0.1, 5.0));
        // One bound counts without the other.
        for (range, speed) in [("-1..inf", -5.0), ("-inf..1", 5.0)] {
            let name = format!("hopper:healthy_state_range={range}");
            assert!(hopper(&name, 3.0, 0.1, speed) && !hopper(&name, 3.0, 0.1, -0.1 * speed), "{name}");
        }
        let walker = |name: &str, height, angle| {
            let qpos = [0.0, height, angle, -0.1, -0.1, 0.0, -0.1, -0.1, 0.0];
            ends(name, &qpos, &[0.0; 9])
        };
        assert!(!walker("walker2d", 1.9, 0.9) && walker("walker2d", 2.1, 0.9) && walker("walker2d", 1.9, 1.1));
        assert!(!walker("walker2d:healthy_z_range=0.8..3,healthy_angle_range=-2..2", 2.1, 1.1));
        let refused = |name: &str| builtin(name).unwrap_err().to_string();
        for text in ["0.7", "0.7..", "..2", "low..high", "0.7..NaN", "[0.7", "0.7..=2", "0.7..2..3", ""] {
            let message = refused(&format!("hopper:healthy_z_range={text}"));
            assert!(message.contains(&format!("healthy_z_range={text}: expected a range LOW..HIGH")), "{message}");
        }
        assert!(refused("hopper:healthy_z_range=2..0.7").contains("2..0.7: the range is empty"));
        assert!(refused("hopper:healthy_angle_range=1..1").contains("1..1: the range is empty"));
        assert!(refused("hopper:healthy_state_range=-1e7..1").contains("expected bounds in"));
        assert!(refused("walker2d:healthy_state_range=-1..1").contains("`healthy_state_range`"));
        assert!(refused("half-cheetah:healthy_z_range=0..1").contains("`healthy_z_range`"));
    }
}
