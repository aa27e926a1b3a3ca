//! Bodies made ready to move: their tree, and their constants as data.

use super::body::{Capsule, Integrator};
use crate::env::Constant;

/// A body made ready to move.
#[derive(Clone, Debug)]
pub struct Model {
    pub(super) links: Vec<LinkModel>,
    /// The joints in the order of the computation: along X, along Z, turning, then those of the links.
    pub(super) dofs: Vec<Dof>,
    /// The numbers of the root's joints, as far as there are: along X, along Z, turning.
    pub(super) root: [Option<usize>; 3],
    /// For each joint in the order of the state its number in that of the computation.
    pub(super) order: Vec<usize>,
    pub(super) motors: Vec<MotorModel>,
    pub(super) points: Vec<PointModel>,
    pub(super) limits: Vec<LimitModel>,
    pub(super) pairs: Vec<PairModel>,
    /// Where links are with all joints at rest.
    pub(super) rest: Vec<RestPose>,
    pub(super) gravity: [Constant; 2],
    /// The height of the root's origin above the floor where its joint along Z is at 0.
    pub(super) height: Constant,
    pub(super) fluid: Option<[Constant; 2]>,
    pub(super) timestep: f64,
    pub(super) integrator: Integrator,
    /// The steps of Newton's method: the part of the way that each goes, and that the one before went.
    pub(super) ways: Vec<[f64; 2]>,
    pub(super) names: Vec<String>,
    /// The links' shapes, for pictures.
    pub(super) capsules: Vec<(usize, Capsule)>,
    pub(super) floor: Option<f64>,
    pub(super) at: [f64; 2],
}

/// A link. Places are in the frame of its hinge.
#[derive(Clone, Debug)]
pub(super) struct LinkModel {
    pub parent: usize,
    /// The number of its hinge; 0 of a first link without one.
    pub dof: usize,
    /// Its hinge in the frame of its parent.
    pub offset: [Constant; 2],
    pub com: [Constant; 2],
    pub mass: Constant,
    pub inertia: Constant,
    pub fluid: FluidBox,
}

/// A link with all joints at rest, relative to the root's origin.
#[derive(Clone, Debug)]
pub(super) struct RestPose {
    pub origin: [Constant; 2],
    pub com: [Constant; 2],
    /// The joints that move it, the nearest first.
    pub path: Vec<usize>,
    /// Forces along these joints of a force of 1 on its centre, along X and along Z.
    pub rows: [Vec<Constant>; 2],
}

/// The box of fluid that moves with a link.
#[derive(Clone, Copy, Debug)]
pub(super) struct FluidBox {
    /// The direction of its first side, in the frame of the link.
    pub first: [Constant; 2],
    /// The drag of slow motion per speed and viscosity: of all directions, and of turning.
    pub slow: [Constant; 2],
    /// The drag per squared speed and density: along the first side, along the second, and of turning.
    pub fast: [Constant; 3],
}

/// A joint.
#[derive(Clone, Debug)]
pub(super) struct Dof {
    /// The joints between it and the root, the nearest first.
    pub ancestors: Vec<usize>,
    /// 1, or −1 where the state counts the other way.
    pub axis: f64,
    /// The state's number where the computation has 0.
    pub rest: Constant,
    /// True where nothing depends on the position: it may be counted from the beginning of a step.
    pub relative: bool,
    pub armature: Constant,
    pub damping: Constant,
    pub stiffness: Constant,
    /// Where its spring rests.
    pub spring: Constant,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct MotorModel {
    pub dof: usize,
    pub gear: Constant,
    pub range: f64,
}

/// How a row gives way (`solref`, `solimp`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Give {
    /// The reference acceleration per depth and impedance.
    pub stiffness: Constant,
    /// The reference acceleration per speed.
    pub damping: Constant,
    pub low: Constant,
    pub rise: Constant,
    /// 1 / width.
    pub slope: Constant,
    pub constant: bool,
    pub margin: Constant,
    /// The inverse of the mass that it moves, times what the shape of its friction asks for.
    pub weight: Constant,
}

/// The end of a capsule above the floor.
#[derive(Clone, Copy, Debug)]
pub(super) struct PointModel {
    pub link: usize,
    pub at: [Constant; 2],
    pub radius: Constant,
    /// The number of its capsule among those that touch the floor.
    pub capsule: usize,
    /// The frictions of its capsule and of the floor, and the one that counts.
    pub frictions: [Constant; 2],
    pub friction: Constant,
    pub give: Give,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct LimitModel {
    pub dof: usize,
    pub low: Constant,
    pub high: Constant,
    pub give: Give,
}

/// Two capsules: their links, centres, half axes and radii.
#[derive(Clone, Copy, Debug)]
pub(super) struct PairModel {
    pub links: [usize; 2],
    pub centers: [[Constant; 2]; 2],
    pub halves: [[Constant; 2]; 2],
    pub radii: [Constant; 2],
    pub give: Give,
}

impl Model {
    /// The number of joints: of positions in a state, and of speeds.
    #[must_use]
    pub fn joints(&self) -> usize {
        self.dofs.len()
    }

    /// The names of the joints, in the order of the state.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The names of the joints that the motors drive.
    #[must_use]
    pub fn motor_names(&self) -> Vec<String> {
        let driven = |motor: &MotorModel| self.order.iter().position(|dof| *dof == motor.dof);
        self.motors.iter().filter_map(|motor| Some(self.names[driven(motor)?].clone())).collect()
    }

    /// The limits of the controls.
    #[must_use]
    pub fn control_ranges(&self) -> Vec<f64> {
        self.motors.iter().map(|motor| motor.range).collect()
    }
}
