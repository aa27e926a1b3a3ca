//! Forces without contacts and limits, and the rows of these.

use super::contact;
use super::kinematics::{poses, velocity};
use super::model::Model;
use super::motion::Motion;
use super::spatial::{inertia, joint_forces};
use crate::env::{Real, StepPart};

/// Computes, of joints at positions `q` and speeds `v`: poses, inertias, smooth forces along the joints, and the rows.
pub(super) struct Prepare<'a, 'm, R: Real> {
    pub motion: &'a mut Motion<'m, R>,
    pub q: &'a [R],
    pub v: &'a [R],
}

impl<R: Real> StepPart for Prepare<'_, '_, R> {
    type Output = ();

    #[inline(always)]
    fn done(self) {
        let Self { motion, q, v } = self;
        let model = motion.model;
        poses(model, q, v, &mut motion.angles, &mut motion.poses);
        for (i, (to, pose)) in motion.inertias.iter_mut().zip(&motion.poses).enumerate() {
            *to = inertia(motion.properties.link(model, i), pose);
        }
        smooth(motion, q, v);
        let height = model.root[1].map_or(R::lit(0.0), |dof| q[dof]) + R::constant(model.height);
        let own = &motion.properties;
        for (i, (point, row)) in model.points.iter().zip(&mut motion.points).enumerate() {
            *row = contact::point(point, own.weight_of_point(model, i), &motion.poses[point.link], height);
        }
        for (i, (limit, row)) in model.limits.iter().zip(&mut motion.limits).enumerate() {
            *row = contact::limit(limit, own.weight_of_limit(model, i), q[limit.dof], v[limit.dof]);
        }
        let links = model.links.len();
        for (i, pair) in model.pairs.iter().enumerate() {
            let rows = &mut motion.touch_rows[2 * i * links..2 * (i + 1) * links];
            let touches = contact::touch(model, pair, own.weight_of_pair(model, i), &motion.poses, v, rows);
            motion.touches[2 * i..2 * (i + 1)].copy_from_slice(&touches);
        }
    }
}

/// Motors, springs, dampers, the fluid, and what inertia and gravity do by themselves (recursive Newton–Euler).
#[inline(always)]
fn smooth<R: Real>(motion: &mut Motion<'_, R>, q: &[R], v: &[R]) {
    let model = motion.model;
    let Motion { poses, accelerations, forces, smooth, drive, properties, .. } = motion;
    for (i, link) in model.links.iter().enumerate() {
        let pose = poses[i];
        // The acceleration of its hinge if no joint accelerates, gravity taken away.
        let hinge = if i == 0 {
            model.gravity.map(|g| -R::constant(g))
        } else {
            let parent = &poses[link.parent];
            let squared = parent.twist[0] * parent.twist[0];
            let at = accelerations[link.parent];
            let side = |axis: usize| at[axis] - squared * (pose.origin[axis] - parent.origin[axis]);
            [side(0), side(1)]
        };
        accelerations[i] = hinge;
        let squared = pose.twist[0] * pose.twist[0];
        let [mass, _] = properties.link(model, i);
        let force = |axis: usize| mass * (hinge[axis] - squared * (pose.com[axis] - pose.origin[axis]));
        let (mut along, mut up) = (force(0), force(1));
        let mut turn = R::lit(0.0);
        if let Some(fluid) = model.fluid {
            let [fx, fz, torque] = drag(model, i, poses, fluid.map(R::constant));
            (along, up, turn) = (along - fx, up - fz, -torque);
        }
        forces[i] = [turn + (pose.com[1] * along - pose.com[0] * up), along, up];
    }
    joint_forces(model, poses, forces, smooth);
    for (i, dof) in model.dofs.iter().enumerate() {
        let mut against = smooth[i];
        if dof.damping.get() != 0.0 {
            against = properties.damping(model, i) * v[i] + against;
        }
        if dof.stiffness.get() != 0.0 {
            against = R::constant(dof.stiffness) * (q[i] - R::constant(dof.spring)) + against;
        }
        smooth[i] = drive[i] - against;
    }
}

/// The force and the torque of a fluid on a link.
#[inline(always)]
fn drag<R: Real>(
    model: &Model,
    link: usize,
    poses: &[super::kinematics::Pose<R>],
    [density, viscosity]: [R; 2],
) -> [R; 3] {
    let (pose, of) = (&poses[link], &model.links[link].fluid);
    let [vx, vz] = velocity(&pose.twist, pose.com);
    let [ax, az] = pose.turned(of.first.map(R::constant));
    // The second side is the first, turned from X to Z.
    let (a, b) = (vx * ax + vz * az, vz * ax - vx * az);
    let [slow, slow_turn] = of.slow.map(|c| R::constant(c) * viscosity);
    let [fast_a, fast_b, fast_turn] = of.fast.map(|c| R::constant(c) * density);
    let (fa, fb) = (resist(a, slow, fast_a), resist(b, slow, fast_b));
    [fa * ax - fb * az, fa * az + fb * ax, resist(pose.twist[0], slow_turn, fast_turn)]
}

/// A force against a speed.
#[inline(always)]
fn resist<R: Real>(speed: R, slow: R, fast: R) -> R {
    -((slow + fast * speed.abs()) * speed)
}
