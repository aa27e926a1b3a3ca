//! Parameters of the environments of bodies: keyword arguments of Gymnasium's, by their names there.

use std::borrow::Cow;
use std::fmt::Display;

use super::inverted_double_pendulum::InvertedDoublePendulum;
use super::inverted_pendulum::InvertedPendulum;
use super::locomotion::{Locomotion, half_cheetah, hopper, swimmer, walker2d};
#[cfg(any(test, feature = "guest"))]
use super::parameters::parse;
use super::parameters::{Given, Parameter};
use super::reacher::Reacher;
use crate::env::{Env, EnvDef};
use crate::{Error, Result};

const fn parameter(name: &'static str, default: &'static str, meaning: &'static str) -> Parameter {
    Parameter { name, default: Cow::Borrowed(default), meaning }
}

const FORWARD: Parameter = parameter("forward_reward_weight", "1", "reward per speed");
const ALIVE: Parameter = parameter("healthy_reward", "1", "reward of each step that ends healthy");
const ENDS: Parameter = parameter("terminate_when_unhealthy", "true", "whether an episode ends where it falls");
const HIDES: Parameter =
    parameter("exclude_current_positions_from_observation", "true", "whether the place along the way is not seen");

const fn cost(default: &'static str) -> Parameter {
    parameter("ctrl_cost_weight", default, "cost per squared action")
}

const fn noise(default: &'static str) -> Parameter {
    parameter("reset_noise_scale", default, "how far first states are from rest")
}

const CHEETAH: &[Parameter] = &[FORWARD, cost("0.1"), noise("0.1"), HIDES];
const LEGGED: &[Parameter] = &[FORWARD, cost("0.001"), ALIVE, ENDS, noise("0.005"), HIDES];
const SWIMMER: &[Parameter] = &[FORWARD, cost("0.0001"), noise("0.1"), HIDES];
const REACHER: &[Parameter] = &[
    parameter("reward_dist_weight", "1", "cost per distance"),
    parameter("reward_control_weight", "1", "cost per squared action"),
];
const POLE: &[Parameter] = &[noise("0.01")];
const POLES: &[Parameter] = &[parameter("healthy_reward", "10", "reward of standing"), noise("0.1")];

/// The environments of bodies, with the parameters that each takes.
pub(in crate::env) const BODIES: &[(&str, &[Parameter])] = &[
    ("half-cheetah", CHEETAH),
    ("hopper", LEGGED),
    ("walker2d", LEGGED),
    ("swimmer", SWIMMER),
    ("reacher", REACHER),
    ("inverted-pendulum", POLE),
    ("inverted-double-pendulum", POLES),
];

/// Takes an environment of whatever type.
pub(in crate::env) trait Take {
    /// It is made into this.
    type Made;
    /// Takes it.
    fn take<E: Env>(self, env: E) -> Result<Self::Made>;
}

/// Takes environments into handles.
pub(super) struct Handles;

impl Take for Handles {
    type Made = EnvDef;
    fn take<E: Env>(self, env: E) -> Result<EnvDef> {
        EnvDef::new(env)
    }
}

/// The environment of that name, with parameters as they are written behind a name.
///
/// # Errors
/// [`Error::Unknown`] for another name or a parameter that it does not take, [`Error::Config`] for a value that cannot
/// be.
#[cfg(any(test, feature = "guest"))]
pub(in crate::env) fn body<T: Take>(name: &str, parameters: Option<&str>, to: T) -> Result<T::Made> {
    let known = BODIES.iter().find(|(body, _)| *body == name).map_or(&[][..], |(_, known)| known);
    given_body(name, &parse(name, parameters, known)?, to)
}

/// The environment of that name.
pub(super) fn given_body<T: Take>(name: &str, given: &Given<'_>, to: T) -> Result<T::Made> {
    match name {
        "half-cheetah" => to.take(locomotion(half_cheetah()?, given)?),
        "hopper" => to.take(locomotion(hopper()?, given)?),
        "walker2d" => to.take(locomotion(walker2d()?, given)?),
        "swimmer" => to.take(locomotion(swimmer()?, given)?),
        "reacher" => to.take(reacher(given)?),
        "inverted-pendulum" => to.take(pole(given)?),
        "inverted-double-pendulum" => to.take(poles(given)?),
        _ => Err(Error::unknown("environment", name, BODIES.iter().map(|(name, _)| *name))),
    }
}

/// Reads parameters, and makes the name of an environment with those that are not as by default.
struct Reader<'a> {
    given: &'a Given<'a>,
    name: String,
}

impl Reader<'_> {
    fn noted<T: Display + PartialEq>(&mut self, parameter: &str, value: T, default: &T) -> T {
        if value != *default {
            let mark = if self.name.contains(':') { ',' } else { ':' };
            self.name = format!("{}{mark}{parameter}={value}", self.name);
        }
        value
    }

    fn number(&mut self, parameter: &str, default: f64) -> Result<f64> {
        let value = self.given.number(parameter, default, -1e6..=1e6)?;
        Ok(self.noted(parameter, value, &default))
    }

    fn positive(&mut self, parameter: &str, default: f64) -> Result<f64> {
        let value = self.given.number(parameter, default, 0.0..=1e6)?;
        Ok(self.noted(parameter, value, &default))
    }

    fn flag(&mut self, parameter: &str, default: bool) -> Result<bool> {
        let value = self.given.flag(parameter, default)?;
        Ok(self.noted(parameter, value, &default))
    }
}

fn locomotion<const N: usize>(mut env: Locomotion<N>, given: &Given<'_>) -> Result<Locomotion<N>> {
    let mut read = Reader { given, name: env.name.clone() };
    env.forward_reward_weight = read.number(FORWARD.name, env.forward_reward_weight)?;
    env.ctrl_cost_weight = read.number("ctrl_cost_weight", env.ctrl_cost_weight)?;
    env.healthy_reward = read.number(ALIVE.name, env.healthy_reward)?;
    env.terminate_when_unhealthy = read.flag(ENDS.name, env.terminate_when_unhealthy)?;
    env.reset_noise_scale = read.positive("reset_noise_scale", env.reset_noise_scale)?;
    if !read.flag(HIDES.name, true)? {
        env.hidden_positions = 0;
    }
    env.name = read.name;
    Ok(env)
}

fn reacher(given: &Given<'_>) -> Result<Reacher> {
    let mut env = Reacher::new()?;
    let mut read = Reader { given, name: env.name };
    env.reward_dist_weight = read.number("reward_dist_weight", env.reward_dist_weight)?;
    env.reward_control_weight = read.number("reward_control_weight", env.reward_control_weight)?;
    env.name = read.name;
    Ok(env)
}

fn pole(given: &Given<'_>) -> Result<InvertedPendulum> {
    let mut env = InvertedPendulum::new()?;
    let mut read = Reader { given, name: env.name };
    env.reset_noise_scale = read.positive("reset_noise_scale", env.reset_noise_scale)?;
    env.name = read.name;
    Ok(env)
}

fn poles(given: &Given<'_>) -> Result<InvertedDoublePendulum> {
    let mut env = InvertedDoublePendulum::new()?;
    let mut read = Reader { given, name: env.name };
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
}
