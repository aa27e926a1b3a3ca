//! The built-in environments by name.

use super::acrobot::Acrobot;
use super::cartpole::CartPole;
use super::mountain_car::MountainCar;
use super::mountain_car_continuous::MountainCarContinuous;
use super::pendulum::Pendulum;
use super::point::{PointCorner, PointReward};
use super::{Env, EnvDef};
use crate::{Error, Result};

type Make = fn() -> Result<EnvDef>;

const BUILTIN: [(&str, Make); 8] = [
    ("cartpole", make::<CartPole>),
    ("pendulum", make::<Pendulum>),
    ("acrobot", make::<Acrobot>),
    ("mountain-car", make::<MountainCar>),
    ("mountain-car-continuous", make::<MountainCarContinuous>),
    ("point-corner", make::<PointCorner>),
    ("point-corner-sparse", || EnvDef::new(PointCorner::with_reward(PointReward::Sparse))),
    ("point-corner-squared", || EnvDef::new(PointCorner::with_reward(PointReward::Squared))),
];

fn make<E: Env + Default>() -> Result<EnvDef> {
    EnvDef::new(E::default())
}

/// Names of the built-in environments.
#[must_use]
pub fn builtin_names() -> [&'static str; BUILTIN.len()] {
    BUILTIN.map(|(name, _)| name)
}

/// The built-in environment of that name.
///
/// # Errors
/// [`Error::Unknown`] with the closest name.
pub fn builtin(name: &str) -> Result<EnvDef> {
    match BUILTIN.iter().find(|(known, _)| *known == name) {
        Some((_, make)) => make(),
        None => Err(Error::unknown("environment", name, builtin_names())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_that_of_its_spec_and_typing_errors_are_corrected() {
        for name in builtin_names() {
            assert_eq!(builtin(name).unwrap().spec().name, name);
        }
        let message = builtin("cartpol").unwrap_err().to_string();
        assert_eq!(message, "unknown environment `cartpol`, did you mean `cartpole`?");
        assert!(builtin("mountaincar").unwrap_err().to_string().contains("`mountain-car`"));
    }
}
