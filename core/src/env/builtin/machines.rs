//! Pyrado's simulated machines: a ball on a beam and one on a plate, a mass on a spring, and poles that hang from a
//! motor, a cart or an arm.
//!
//! Source: SimuRLacra's Pyrado, `environments/pysim`. All have the same rule of a step: the reward is that of the state
//! *before* it and of the action as it was asked for; the action is then limited to what the motor can do; the machine
//! moves; the episode ends where the state leaves its bounds. Departures, in all machines:
//!
//! - The time limit is no end: Pyrado's `max_steps` is the time limit of the environment, which truncates.
//! - Only angles are wrapped in errors. The original reflects every number beyond ±π, positions and speeds among them.
//! - Action spaces are those of the nominal machine, whatever its domain parameters are, so that a policy of one
//!   machine plays another. Motors are limited by the domain parameters.
//!
//! [`Machine`] has the domain parameters, and how they are drawn for tasks; [`Weights`] the rewards.

mod ball_balancer;
mod ball_on_beam;
mod bounds;
mod machine;
mod mass_spring;
mod observation;
mod pendulum;
mod qcartpole;
mod qube;
mod reward;
#[cfg(test)]
mod tests;

pub use ball_balancer::BallBalancer;
pub use ball_on_beam::BallOnBeam;
pub use machine::{DomainParameter, Machine, Spread};
pub use mass_spring::MassSpring;
pub use pendulum::PyradoPendulum;
pub use qcartpole::QCartPole;
pub use qube::{Qube, QubeIntegrator};
pub use reward::Weights;

use super::parameters::{Given, Parameter};
use super::take::Take;
use crate::{Error, Result};

/// The names of the machines.
pub(super) const MACHINES: [&str; 9] = [
    "ball-on-beam",
    "ball-on-beam-discrete",
    "mass-spring",
    "pyrado-pendulum",
    "qube-swing-up",
    "qube-stabilise",
    "qcartpole-stabilise",
    "qcartpole-swing-up",
    "ball-balancer",
];

/// The parameters that a machine takes.
pub(super) fn machine_parameters(name: &str) -> Option<Vec<Parameter>> {
    Some(match name {
        "ball-on-beam" => BallOnBeam::continuous().parameters(),
        "ball-on-beam-discrete" => BallOnBeam::discrete().parameters(),
        "mass-spring" => MassSpring::default().parameters(),
        "pyrado-pendulum" => PyradoPendulum::default().parameters(),
        "qube-swing-up" => Qube::swing_up().parameters(),
        "qube-stabilise" => Qube::stabilise().parameters(),
        "qcartpole-stabilise" => QCartPole::stabilise().parameters(),
        "qcartpole-swing-up" => QCartPole::swing_up().parameters(),
        "ball-balancer" => BallBalancer::default().parameters(),
        _ => return None,
    })
}

/// The machine of that name.
pub(super) fn given_machine<T: Take>(name: &str, given: &Given<'_>, to: T) -> Result<T::Made> {
    match name {
        "ball-on-beam" => to.take(BallOnBeam::continuous().given(given)?),
        "ball-on-beam-discrete" => to.take(BallOnBeam::discrete().given(given)?),
        "mass-spring" => to.take(MassSpring::default().given(given)?),
        "pyrado-pendulum" => to.take(PyradoPendulum::default().given(given)?),
        "qube-swing-up" => to.take(Qube::swing_up().given(given)?),
        "qube-stabilise" => to.take(Qube::stabilise().given(given)?),
        "qcartpole-stabilise" => to.take(QCartPole::stabilise().given(given)?),
        "qcartpole-swing-up" => to.take(QCartPole::swing_up().given(given)?),
        "ball-balancer" => to.take(BallBalancer::default().given(given)?),
        _ => Err(Error::unknown("environment", name, MACHINES)),
    }
}
