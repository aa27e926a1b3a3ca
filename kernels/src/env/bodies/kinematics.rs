//! Where links are, and how they move.

use super::model::Model;
use crate::env::Real;

/// Where a link is, relative to the root's origin, and how it moves.
#[derive(Clone, Copy)]
pub(super) struct Pose<R> {
    pub sin: R,
    pub cos: R,
    /// Its hinge.
    pub origin: [R; 2],
    /// Its centre of mass.
    pub com: [R; 2],
    /// Its twist: its angular velocity, and the velocity of what moves with it at the root's origin.
    pub twist: [R; 3],
}

impl<R: Real> Pose<R> {
    /// A link at the root that does not move.
    #[inline(always)]
    pub fn still() -> Self {
        let zero = R::lit(0.0);
        Self { sin: zero, cos: R::lit(1.0), origin: [zero; 2], com: [zero; 2], twist: [zero; 3] }
    }

    /// A direction in the frame of the link, in that of the plane.
    #[inline(always)]
    pub fn turned(&self, [x, z]: [R; 2]) -> [R; 2] {
        [self.cos * x + self.sin * z, self.cos * z - self.sin * x]
    }

    /// A place in the frame of the link's hinge, relative to the root's origin.
    #[inline(always)]
    pub fn place(&self, at: [R; 2]) -> [R; 2] {
        let [x, z] = self.turned(at);
        [self.origin[0] + x, self.origin[1] + z]
    }

    /// The twist of its hinge at speed 1.
    #[inline(always)]
    pub fn axis(&self) -> [R; 3] {
        [R::lit(1.0), -self.origin[1], self.origin[0]]
    }

    /// The part of a force along its hinge.
    #[inline(always)]
    pub fn along(&self, force: &[R; 3]) -> R {
        self.origin[0] * force[2] + (force[0] - self.origin[1] * force[1])
    }
}

/// The velocity of a place that moves by a twist.
#[inline(always)]
pub(super) fn velocity<R: Real>(twist: &[R; 3], [x, z]: [R; 2]) -> [R; 2] {
    [z * twist[0] + twist[1], twist[2] - x * twist[0]]
}

/// The numbers of the joints `values` as twists of the links.
#[inline(always)]
pub(super) fn twists<R: Real>(model: &Model, poses: &[Pose<R>], values: &[R], out: &mut [[R; 3]]) {
    let [x, z, turn] = model.root.map(|dof| dof.map_or(R::lit(0.0), |dof| values[dof]));
    out[0] = [turn, x, z];
    for (i, link) in model.links.iter().enumerate().skip(1) {
        let (parent, value) = (out[link.parent], values[link.dof]);
        let [px, pz] = poses[i].origin;
        out[i] = [parent[0] + value, parent[1] - pz * value, px * value + parent[2]];
    }
}

/// Poses of all links.
#[inline(always)]
pub(super) fn poses<R: Real>(model: &Model, q: &[R], v: &[R], angles: &mut [R], out: &mut [Pose<R>]) {
    let zero = R::lit(0.0);
    let at = |c: [crate::env::Constant; 2]| c.map(R::constant);
    for (i, link) in model.links.iter().enumerate() {
        let mut pose = Pose::still();
        if i == 0 {
            let [x, z, turn] = model.root.map(|dof| dof.map_or(zero, |dof| v[dof]));
            pose.twist = [turn, x, z];
            angles[0] = model.root[2].map_or(zero, |dof| q[dof]);
        } else {
            let (parent, speed) = (&out[link.parent], v[link.dof]);
            pose.origin = parent.place(at(link.offset));
            let [px, pz] = pose.origin;
            let of = parent.twist;
            pose.twist = [of[0] + speed, of[1] - pz * speed, px * speed + of[2]];
            angles[i] = angles[link.parent] + q[link.dof];
        }
        if i > 0 || model.root[2].is_some() {
            (pose.sin, pose.cos) = angles[i].sin_cos();
        }
        pose.com = pose.place(at(link.com));
        out[i] = pose;
    }
}
