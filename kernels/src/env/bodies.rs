//! Bodies: planar articulated bodies with the equations of MuJoCo.
//!
//! A [`BodySpec`] describes links in a plane, joints between them, motors and what they touch; a [`Model`] is the body
//! made ready to move, and [`Motion`] moves it. All is written once over [`Real`](super::Real), so a body runs in
//! `f64`, as lanes, and in a trace. Bodies differ by data alone: one function per type of number moves them all.
//!
//! # The part of MuJoCo's model that it has
//!
//! - Links are a tree in one plane. The first may slide along both axes and turn, or do some of these; each other one
//!   turns about a hinge on its parent.
//! - Shapes are capsules and spheres, of which masses and moments of inertia follow.
//! - Joints have limits with a margin, springs, damping and armature.
//! - Motors drive joints, with a gear; controls are limited to a range.
//! - Contacts: ends of capsules touch a level floor, with pyramidal friction (`condim` 3), and capsules of a link those
//!   of one that descends from it, without friction (`condim` 1).
//! - Softness: `solref` as time constant and damping ratio, `solimp` of power 2 and midpoint 0.5.
//! - A fluid pushes by the model of inertia boxes.
//! - Integrators are Euler, with implicit damping of joints, and Runge and Kutta's of order 4.
//! - The solver is Newton's method on the rows that push, for a number of steps.
//!
//! Two capsules touch in one place, and in two where their axes are within 10⁻⁴ of parallel. Where axes cross, they do
//! not push each other, as in MuJoCo.
//!
//! A description cannot name more of MuJoCo than this, and [`Model::new`] refuses one that contradicts itself.
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
mod capsules;
mod check;
mod contact;
mod factor;
mod forward;
mod inverse_weights;
mod kinematics;
mod model;
mod motion;
mod picture;
mod properties;
mod solid;
mod solver;
mod spatial;
mod state;

pub use body::{BodySpec, Capsule, Floor, Fluid, Integrator, Joint, Link, Motor, Pair, Root, RootJoint, Softness};
pub use model::Model;
pub use motion::Motion;
pub use properties::Factors;
pub use state::Joints;
