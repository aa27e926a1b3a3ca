//! A leg hops (Hopper-v5).
//!
//! Source: Gymnasium 1.4 `mujoco/hopper_v5.py` and `hopper.xml`. Three motors, four integration steps of 0.002 s each.
//! Reward: the speed along X, plus 1 while healthy, less 0.001 |a|². An episode ends where the torso is below 0.7 m,
//! leans by 0.2 rad or more, or a number of the state is 100 or more; time limit 1000; the authors name 3800 as solved.

use super::{Health, Locomotion};
use crate::Result;
use crate::env::bodies::{BodySpec, Capsule, Floor, Integrator, Joint, Link, Motor, Pair, Root, Softness};

/// The hopper of the source.
///
/// # Errors
/// None: the description is a constant.
pub fn hopper() -> Result<Locomotion<6>> {
    Ok(Locomotion {
        solved_at: Some(3800.0),
        frame_skip: 4,
        ctrl_cost_weight: 1e-3,
        healthy_reward: 1.0,
        health: Some(Health { height: [0.7, f64::INFINITY], angle: [-0.2, 0.2], state: [-100.0, 100.0] }),
        terminate_when_unhealthy: true,
        first: [0.0, 1.25, 0.0, 0.0, 0.0, 0.0],
        reset_noise_scale: 5e-3,
        shown_speed: 10.0,
        ..Locomotion::new("hopper", &body())?
    })
}

pub(super) fn body() -> BodySpec {
    let softness = Softness { low: 0.8, high: 0.8, width: 0.01, ..Softness::default() };
    let hinge = |low: f64, high: f64| Joint {
        axis: -1.0,
        armature: 1.0,
        damping: 1.0,
        range: Some([low.to_radians(), high.to_radians()]),
        ..Joint::default()
    };
    let bone = |center, half, radius| Capsule::around(center, 0.0, half, radius).touching(0.9);
    let foot = Capsule::around([-0.065, 0.1], -std::f64::consts::FRAC_PI_2, 0.195, 0.06).touching(2.0);
    let link =
        |name, parent, at, anchor, hinge, capsule| Link { name, parent, at, anchor, hinge, capsules: vec![capsule] };
    let touch = |first, second| Pair { first: (first, 0), second: (second, 0), margin: 0.002, softness };
    BodySpec {
        integrator: Integrator::RungeKutta,
        root: Root::free_at_height(1.25),
        links: vec![
            Link { name: "torso", capsules: vec![bone([0.0, 0.0], 0.2, 0.05)], ..Link::default() },
            link("thigh", 0, [0.0, -0.2], [0.0; 2], hinge(-150.0, 0.0), bone([0.0, -0.225], 0.225, 0.05)),
            link("leg", 1, [0.0, -0.7], [0.0, 0.25], hinge(-150.0, 0.0), bone([0.0, 0.0], 0.25, 0.04)),
            link("foot", 2, [0.13, -0.35], [-0.13, 0.1], hinge(-45.0, 45.0), foot),
        ],
        motors: Motor::on(3, &[200.0; 3]),
        // Margins of the floor and of a capsule are added up.
        floor: Some(Floor { friction: 1.0, margin: 0.002, softness, ..Floor::default() }),
        pairs: vec![touch(0, 2), touch(0, 3), touch(1, 3)],
        newton_steps: 7,
        ..BodySpec::new(0.002)
    }
}
