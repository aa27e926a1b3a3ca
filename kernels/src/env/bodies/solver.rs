//! Newton's method on the rows that push.
//!
//! A row pushes where the acceleration along it is below its target, with a force of its weight times what is missing.
//! The accelerations of the joints solve `(M + Jᵀ D J) a = f + Jᵀ D t`, `D` being the weights of the rows that push.
//! Which do follows from `a`, so a step computes `D` and solves; where `D` is what the step before had, `a` is the
//! solution. `Jᵀ D J` of contacts with the floor is assembled link by link, as inertia is, so no Jacobian is kept.

use super::contact::{push, renew};
use super::factor::{factor, solve};
use super::kinematics::{twists, velocity};
use super::motion::Motion;
use super::spatial::{joint_forces, joint_matrix};
use crate::env::{Mask, Real, StepPart};

/// A step of Newton's method on the accelerations `a`. Returns false where nothing that pushes has changed since the
/// step before, and `a` is the solution.
pub(super) struct NewtonStep<'a, 'm, R: Real> {
    pub motion: &'a mut Motion<'m, R>,
    pub a: &'a mut [R],
    /// True for the first step.
    pub first: bool,
    /// The part of the way that it goes, and that the step before went: 1 or a half.
    pub ways: [R; 2],
}

impl<R: Real> StepPart for NewtonStep<'_, '_, R> {
    type Output = bool;

    #[inline(always)]
    fn done(self) -> bool {
        let Self { motion, a, first, ways: [way, way_before] } = self;
        let model = motion.model;
        let one = R::lit(1.0);
        let mut changed = way_before.lt(one);
        if !R::TRACED && first {
            changed = R::Mask::splat(true);
        }
        twists(model, &motion.poses, a, &mut motion.twists);
        for (i, ((row, point), pushes)) in motion.points.iter().zip(&model.points).zip(&mut motion.pushes).enumerate() {
            let [along, away] = velocity(&motion.twists[point.link], row.at);
            let n = away - row.target[1];
            let t = motion.properties.friction(model, i) * (along - row.target[0]);
            for (push_of, excess) in pushes.iter_mut().zip([n + t, n - t, n]) {
                renew::<R>(&mut changed, push_of, push(row.weight, excess));
            }
        }
        for ((row, limit), old) in motion.limits.iter().zip(&model.limits).zip(&mut motion.limit_pushes) {
            renew::<R>(&mut changed, old, push(row.weight, row.sign * a[limit.dof] - row.target));
        }
        let links = model.links.len();
        for (i, row) in motion.touches.iter().enumerate() {
            if !row.any() {
                continue;
            }
            let (pair, entries) = (&model.pairs[i / 2], &motion.touch_rows[i * links..]);
            let mut excess = -row.target;
            let mut link = pair.links[1];
            while link != pair.links[0] {
                excess = entries[link] * a[model.links[link].dof] + excess;
                link = model.links[link].parent;
            }
            renew::<R>(&mut changed, &mut motion.touch_pushes[i], push(row.weight, excess));
        }
        if !changed.any() {
            return false;
        }
        assemble(motion);
        factor(model, &mut motion.h);
        solve(model, &motion.h, &mut motion.right);
        let half = way.lt(one);
        for (a, next) in a.iter_mut().zip(&motion.right) {
            *a = R::select(half, *a + (*next - *a) * 0.5, *next);
        }
        true
    }
}

/// The matrix and the right side of what pushes.
#[inline(always)]
fn assemble<R: Real>(motion: &mut Motion<'_, R>) {
    let model = motion.model;
    let Motion { poses, inertias, composite, forces, h, right, smooth, properties, .. } = motion;
    composite.copy_from_slice(inertias);
    forces.fill([R::lit(0.0); 3]);
    for (i, ((row, point), [d1, d2, d3])) in motion.points.iter().zip(&model.points).zip(&motion.pushes).enumerate() {
        let mu = properties.friction(model, i);
        let [x, z] = row.at;
        let [along, away] = row.target;
        let xx = mu * mu * (*d1 + *d2);
        let xz = mu * (*d1 - *d2);
        let zz = *d1 + *d2 + *d3 + *d3;
        let fx = xx * along + xz * away;
        let fz = xz * along + zz * away;
        let (wx, wz) = (z * xx - x * xz, z * xz - x * zz);
        let to = &mut composite[point.link];
        for (to, add) in to.iter_mut().zip([z * wx - x * wz, wx, wz, xx, xz, zz]) {
            *to = *to + add;
        }
        let to = &mut forces[point.link];
        for (to, add) in to.iter_mut().zip([z * fx - x * fz, fx, fz]) {
            *to = *to + add;
        }
    }
    joint_forces(model, poses, forces, right);
    joint_matrix(model, poses, composite, h);
    let n = model.dofs.len();
    for (i, dof) in model.dofs.iter().enumerate() {
        right[i] = right[i] + smooth[i];
        h[i * n + i] = h[i * n + i] + R::constant(dof.armature);
    }
    for ((row, limit), push) in motion.limits.iter().zip(&model.limits).zip(&motion.limit_pushes) {
        let i = limit.dof;
        h[i * n + i] = h[i * n + i] + *push;
        right[i] = right[i] + row.sign * *push * row.target;
    }
    let links = model.links.len();
    for (i, row) in motion.touches.iter().enumerate() {
        if !row.any() {
            continue;
        }
        let (pair, entries, push) = (&model.pairs[i / 2], &motion.touch_rows[i * links..], motion.touch_pushes[i]);
        let (mut link, until) = (pair.links[1], pair.links[0]);
        while link != until {
            let force = push * entries[link];
            let dof = model.links[link].dof;
            right[dof] = force * row.target + right[dof];
            let mut other = link;
            while other != until {
                let at = dof * n + model.links[other].dof;
                h[at] = force * entries[other] + h[at];
                other = model.links[other].parent;
            }
            link = model.links[link].parent;
        }
    }
}
