//! Three links swim (Swimmer-v5).
//!
//! Source: Gymnasium 1.4 `mujoco/swimmer_v5.py` and `swimmer.xml`. Two motors, four integration steps of 0.01 s each,
//! in a level plane of a fluid. Reward: the speed along x, less 0.0001 |a|². It never terminates; time limit 1000; the
//! authors name 360 as solved.

use super::Locomotion;
use crate::Result;
use crate::env::bodies::{BodySpec, Capsule, Fluid, Integrator, Joint, Link, Motor, Root, RootJoint};

/// The swimmer of the source.
///
/// # Errors
/// None: the description is a constant.
pub fn swimmer() -> Result<Locomotion<5>> {
    Ok(Locomotion {
        solved_at: Some(360.0),
        frame_skip: 4,
        ctrl_cost_weight: 1e-4,
        reset_noise_scale: 0.1,
        hidden_positions: 2,
        ..Locomotion::new("swimmer", &body())?
    })
}

fn body() -> BodySpec {
    let joint = Joint { armature: 0.1, ..Joint::default() };
    let range = Some([-(100.0_f64.to_radians()), 100.0_f64.to_radians()]);
    let hinge = Joint { range, ..joint.clone() };
    // The plane's X is y, and its Z is x.
    let rod = |from: f64, to: f64| vec![Capsule::between([0.0, from], [0.0, to], 0.1)];
    let link = |name, parent, at: f64| Link {
        name,
        parent,
        at: [0.0, at],
        hinge: hinge.clone(),
        capsules: rod(0.0, -1.0),
        ..Link::default()
    };
    BodySpec {
        integrator: Integrator::RungeKutta,
        gravity: [0.0; 2],
        root: Root {
            at: [0.0; 2],
            joints: vec![RootJoint::SlideZ(joint.clone()), RootJoint::SlideX(joint.clone()), RootJoint::Hinge(joint)],
        },
        links: vec![
            Link { name: "torso", capsules: rod(1.5, 0.5), ..Link::default() },
            link("mid", 0, 0.5),
            link("back", 1, -1.0),
        ],
        motors: Motor::on(3, &[150.0; 2]),
        fluid: Some(Fluid { density: 4000.0, viscosity: 0.1 }),
        newton_steps: 3,
        ..BodySpec::new(0.01)
    }
}
