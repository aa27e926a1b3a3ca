//! Bodies: planar articulated bodies with the equations of MuJoCo.
//!
//! A [`BodySpec`] describes links in a plane, joints between them, motors and what they touch; a [`Model`] is the body made
//! ready to move, and [`Motion`] moves it. All is written once over [`Real`](super::Real), so a body runs in `f64`, as
//! lanes, and in a trace. Bodies differ by data alone: one function per type of number moves them all.
//!
//! # The part of MuJoCo's model that it has
//!
//! | | |
//! |---|---|
//! | links | a tree in one plane. The first may slide along both axes and turn, or some of these; each other one turns about a hinge on its parent |
//! | shapes | capsules and spheres, of which masses and moments of inertia follow |
//! | joints | limits with a margin, springs, damping, armature |
//! | motors | on joints, with a gear, controls limited to a range |
//! | contacts | ends of capsules with a level floor, with pyramidal friction (`condim` 3); capsules of a link with those of one that descends from it, without friction (`condim` 1) |
//! | softness | `solref` as time constant and damping ratio, `solimp` of power 2 and midpoint 0.5 |
//! | fluid | the model of inertia boxes |
//! | integrators | Euler, with implicit damping of joints; Runge–Kutta of order 4 |
//! | solver | Newton's method on the set of rows that push, for a number of steps |
//!
//! What MuJoCo has beyond this cannot be written down here, or [`Model::new`] refuses it.
//!
//! # Coordinates
//!
//! The plane has the axes X and Z, and angles are positive where Z turns towards X, as about MuJoCo's y-axis in its
//! vertical plane of x and z. A level plane of x and y is described by X = y and Z = x: angles are then positive as
//! about the z-axis.
//!
//! Source: MuJoCo's documentation, chapter Computation, and its code of version 4.0.0.

mod advance;
mod body;
mod build;
mod check;
mod contact;
mod factor;
mod forward;
mod kinematics;
mod model;
mod motion;
mod picture;
mod solid;
mod solver;
mod spatial;
mod state;

pub use body::{BodySpec, Capsule, Floor, Fluid, Integrator, Joint, Link, Motor, Pair, Root, RootJoint, Softness};
pub use model::Model;
pub use motion::Motion;
pub use state::Joints;
