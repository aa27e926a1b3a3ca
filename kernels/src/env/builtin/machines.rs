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

use super::parameters::{Make, Parameter};
use crate::env::EnvDef;

/// A name, the parameters it takes, and how it is made.
type MachineEntry = (&'static str, fn() -> Vec<Parameter>, Make);

/// The machines.
pub(super) const MACHINES: [MachineEntry; 9] = [
    ("ball-on-beam", || BallOnBeam::continuous().parameters(), |p| EnvDef::new(BallOnBeam::continuous().given(p)?)),
    (
        "ball-on-beam-discrete",
        || BallOnBeam::discrete().parameters(),
        |p| EnvDef::new(BallOnBeam::discrete().given(p)?),
    ),
    ("mass-spring", || MassSpring::default().parameters(), |p| EnvDef::new(MassSpring::default().given(p)?)),
    (
        "pyrado-pendulum",
        || PyradoPendulum::default().parameters(),
        |p| EnvDef::new(PyradoPendulum::default().given(p)?),
    ),
    ("qube-swing-up", || Qube::swing_up().parameters(), |p| EnvDef::new(Qube::swing_up().given(p)?)),
    ("qube-stabilise", || Qube::stabilise().parameters(), |p| EnvDef::new(Qube::stabilise().given(p)?)),
    ("qcartpole-stabilise", || QCartPole::stabilise().parameters(), |p| EnvDef::new(QCartPole::stabilise().given(p)?)),
    ("qcartpole-swing-up", || QCartPole::swing_up().parameters(), |p| EnvDef::new(QCartPole::swing_up().given(p)?)),
    ("ball-balancer", || BallBalancer::default().parameters(), |p| EnvDef::new(BallBalancer::default().given(p)?)),
];
