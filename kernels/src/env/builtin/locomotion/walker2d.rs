//! Two legs walk (Walker2d-v5).
//!
//! Source: Gymnasium 1.4 `mujoco/walker2d_v5.py` and `walker2d_v5.xml`, whose feet have a friction of 1.9. Six motors,
//! four integration steps of 0.002 s each. Reward: the speed along X, plus 1 while healthy, less 0.001 |a|². An episode
//! ends where the torso is not between 0.8 m and 2 m high, or leans by 1 rad or more; time limit 1000.

use super::{Health, Locomotion};
use crate::Result;
use crate::env::bodies::{BodySpec, Capsule, Floor, Integrator, Joint, Link, Motor, Root};

/// The walker of the source.
///
/// # Errors
/// None: the description is a constant.
pub fn walker2d() -> Result<Locomotion<9>> {
    Ok(Locomotion {
        frame_skip: 4,
        ctrl_cost_weight: 1e-3,
        healthy_reward: 1.0,
        health: Some(Health { height: [0.8, 2.0], angle: [-1.0, 1.0], state: [f64::NEG_INFINITY, f64::INFINITY] }),
        terminate_when_unhealthy: true,
        first: [0.0, 1.25, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        reset_noise_scale: 5e-3,
        shown_speed: 10.0,
        ..Locomotion::new("walker2d", &body())?
    })
}

pub(super) fn body() -> BodySpec {
    let hinge = |low: f64, high: f64| Joint {
        axis: -1.0,
        armature: 0.01,
        damping: 0.1,
        range: Some([low.to_radians(), high.to_radians()]),
        ..Joint::default()
    };
    let bone = |center, half, radius| Capsule::around(center, 0.0, half, radius).touching(0.9);
    let foot = Capsule::around([-0.1, 0.1], -std::f64::consts::FRAC_PI_2, 0.1, 0.06).touching(1.9);
    let link =
        |name, parent, at, anchor, hinge, capsule| Link { name, parent, at, anchor, hinge, capsules: vec![capsule] };
    let torso = Link { name: "torso", capsules: vec![bone([0.0, 0.0], 0.2, 0.05)], ..Link::default() };
    let leg = |names: [&'static str; 3], first: usize| {
        [
            link(names[0], 0, [0.0, -0.2], [0.0; 2], hinge(-150.0, 0.0), bone([0.0, -0.225], 0.225, 0.05)),
            link(names[1], first, [0.0, -0.7], [0.0, 0.25], hinge(-150.0, 0.0), bone([0.0, 0.0], 0.25, 0.04)),
            link(names[2], first + 1, [0.2, -0.35], [-0.2, 0.1], hinge(-45.0, 45.0), foot),
        ]
    };
    let (right, left) = (leg(["thigh", "leg", "foot"], 1), leg(["thigh_left", "leg_left", "foot_left"], 4));
    BodySpec {
        integrator: Integrator::RungeKutta,
        root: Root::free_at_height(1.25),
        links: [torso].into_iter().chain(right).chain(left).collect(),
        motors: Motor::on(3, &[100.0; 6]),
        floor: Some(Floor { friction: 0.7, ..Floor::default() }),
        newton_steps: 11,
        ..BodySpec::new(0.002)
    }
}
