//! Inertias of links about the root, and what they make along the joints.

use super::kinematics::Pose;
use super::model::Model;
use crate::env::Real;

/// A symmetric matrix that turns a twist (turning, speed along X, along Z) of what is at the root into forces there:
/// its entries (0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2).
pub(super) type Spatial<R> = [R; 6];

/// The inertia of a link, of its mass and its moment of inertia about its centre.
#[inline(always)]
pub(super) fn inertia<R: Real>([mass, moment]: [R; 2], pose: &Pose<R>) -> Spatial<R> {
    let [x, z] = pose.com;
    let (mx, mz) = (mass * x, mass * z);
    [mx * x + mz * z + moment, mz, -mx, mass, R::lit(0.0), mass]
}

/// The force that a matrix makes of a twist.
#[inline(always)]
pub(super) fn times<R: Real>(s: &Spatial<R>, t: &[R; 3]) -> [R; 3] {
    [
        s[0] * t[0] + s[1] * t[1] + s[2] * t[2],
        s[1] * t[0] + s[3] * t[1] + s[4] * t[2],
        s[2] * t[0] + s[4] * t[1] + s[5] * t[2],
    ]
}

/// Adds each link's numbers to those of its parent, from the last to the first.
#[inline(always)]
pub(super) fn gather<R: Real, const K: usize>(model: &Model, numbers: &mut [[R; K]]) {
    for i in (1..model.links.len()).rev() {
        let (before, behind) = numbers.split_at_mut(i);
        let to = &mut before[model.links[i].parent];
        for (to, from) in to.iter_mut().zip(&behind[0]) {
            *to = *to + *from;
        }
    }
}

/// Fills the matrix of the joints, of which only entries of joints with their ancestors are written, from the matrices
/// of links, which are spoiled (the composite rigid body algorithm).
#[inline(always)]
pub(super) fn joint_matrix<R: Real>(model: &Model, poses: &[Pose<R>], composite: &mut [Spatial<R>], h: &mut [R]) {
    gather(model, composite);
    let n = model.dofs.len();
    let root = &composite[0];
    // Along X, along Z, turning: places in a twist.
    let places = [1, 2, 0];
    const AT: [[usize; 3]; 3] = [[0, 1, 2], [1, 3, 4], [2, 4, 5]];
    for (row, a) in model.root.iter().zip(places) {
        for (column, b) in model.root.iter().zip(places) {
            if let (Some(row), Some(column)) = (row, column)
                && column <= row
            {
                h[row * n + column] = root[AT[a][b]];
            }
        }
    }
    for (i, link) in model.links.iter().enumerate().skip(1) {
        let force = times(&composite[i], &poses[i].axis());
        let row = link.dof * n;
        for (column, place) in model.root.iter().zip(places) {
            if let Some(column) = column {
                h[row + column] = force[place];
            }
        }
        let mut j = i;
        while j != 0 {
            h[row + model.links[j].dof] = poses[j].along(&force);
            j = model.links[j].parent;
        }
    }
}

/// Puts the forces on links, which are spoiled, into forces along the joints.
#[inline(always)]
pub(super) fn joint_forces<R: Real>(model: &Model, poses: &[Pose<R>], forces: &mut [[R; 3]], out: &mut [R]) {
    gather(model, forces);
    for (dof, place) in model.root.iter().zip([1, 2, 0]) {
        if let Some(dof) = dof {
            out[*dof] = forces[0][place];
        }
    }
    for (i, link) in model.links.iter().enumerate().skip(1) {
        out[link.dof] = poses[i].along(&forces[i]);
    }
}
