//! A cheetah of two legs runs (HalfCheetah-v5).
//!
//! Source: Gymnasium 1.4 `mujoco/half_cheetah_v5.py` and `half_cheetah.xml`. Six motors, five integration steps of
//! 0.01 s each. Reward: the speed along X, less 0.1 |a|². It never terminates; time limit 1000; the authors name 4800
//! as solved.

use super::Locomotion;
use crate::Result;
use crate::env::bodies::{BodySpec, Capsule, Floor, Joint, Link, Motor, Root, Softness};

/// The cheetah of the source.
///
/// # Errors
/// None: the description is a constant.
pub fn half_cheetah() -> Result<Locomotion<9>> {
    Ok(Locomotion {
        solved_at: Some(4800.0),
        frame_skip: 5,
        ctrl_cost_weight: 0.1,
        reset_noise_scale: 0.1,
        normal_speeds: true,
        ..Locomotion::new("half-cheetah", &body())?
    })
}

fn body() -> BodySpec {
    let softness = Softness { low: 0.0, high: 0.8, width: 0.01, ..Softness::default() };
    let at_ends = Softness { width: 0.03, ..softness };
    let hinge = |damping, stiffness, low, high| Joint {
        armature: 0.1,
        damping,
        stiffness,
        range: Some([low, high]),
        softness: at_ends,
        ..Joint::default()
    };
    let limb = |center, angle, half| Capsule::around(center, angle, half, 0.046).touching(0.4);
    let link =
        |name, parent, at, hinge, limb| Link { name, parent, at, hinge, capsules: vec![limb], ..Link::default() };
    let torso = vec![Capsule::between([-0.5, 0.0], [0.5, 0.0], 0.046).touching(0.4), limb([0.6, 0.1], 0.87, 0.15)];
    let gears = [120.0, 90.0, 60.0, 120.0, 60.0, 30.0];
    BodySpec {
        root: Root::free([0.0, 0.7]),
        links: vec![
            Link { name: "torso", capsules: torso, ..Link::default() },
            link("bthigh", 0, [-0.5, 0.0], hinge(6.0, 240.0, -0.52, 1.05), limb([0.1, -0.13], -3.8, 0.145)),
            link("bshin", 1, [0.16, -0.25], hinge(4.5, 180.0, -0.785, 0.785), limb([-0.14, -0.07], -2.03, 0.15)),
            link("bfoot", 2, [-0.28, -0.14], hinge(3.0, 120.0, -0.4, 0.785), limb([0.03, -0.097], -0.27, 0.094)),
            link("fthigh", 0, [0.5, 0.0], hinge(4.5, 180.0, -1.0, 0.7), limb([-0.07, -0.12], 0.52, 0.133)),
            link("fshin", 4, [-0.14, -0.24], hinge(3.0, 120.0, -1.2, 0.87), limb([0.065, -0.09], -0.6, 0.106)),
            link("ffoot", 5, [0.13, -0.18], hinge(1.5, 60.0, -0.5, 0.5), limb([0.045, -0.07], -0.6, 0.07)),
        ],
        motors: Motor::on(3, &gears),
        floor: Some(Floor { friction: 0.4, softness, ..Floor::default() }),
        total_mass: Some(14.0),
        newton_steps: 8,
        ..BodySpec::new(0.01)
    }
}
