//! Bodies in motion.

use super::body::Integrator;
use super::contact::{Limit, Point, Touch};
use super::factor::{factor, solve};
use super::forward::Prepare;
use super::inertia::{Spatial, joint_forces, joint_matrix, times};
use super::kinematics::{Pose, poses, twists};
use super::model::Model;
use super::solver::NewtonStep;
use crate::env::{Part, Real};

/// Room to move a body in, of any type of number.
///
/// A state is `[positions, speeds, accelerations]`, each with a number per joint in the order of the description. The
/// accelerations are those of the last evaluation, from which the next one begins to search (MuJoCo's
/// `qacc_warmstart`); a new episode begins with zeros.
#[derive(Clone)]
pub struct Motion<'m, R: Real> {
    pub(super) model: &'m Model,
    pub(super) angles: Vec<R>,
    pub(super) poses: Vec<Pose<R>>,
    pub(super) inertias: Vec<Spatial<R>>,
    pub(super) composite: Vec<Spatial<R>>,
    pub(super) accelerations: Vec<[R; 2]>,
    pub(super) twists: Vec<[R; 3]>,
    pub(super) forces: Vec<[R; 3]>,
    /// The forces of motors along the joints.
    pub(super) drive: Vec<R>,
    pub(super) smooth: Vec<R>,
    pub(super) points: Vec<Point<R>>,
    pub(super) pushes: Vec<[R; 3]>,
    pub(super) limits: Vec<Limit<R>>,
    pub(super) limit_pushes: Vec<R>,
    pub(super) touches: Vec<Touch<R>>,
    pub(super) touch_rows: Vec<R>,
    pub(super) touch_pushes: Vec<R>,
    pub(super) h: Vec<R>,
    pub(super) right: Vec<R>,
    /// The positions of the last evaluation of forces, in the order of the computation.
    seen: Vec<R>,
    /// The forces of limits at the last evaluation, in that order.
    limit_forces: Vec<R>,
}

/// The steps of Newton's method: each is a whole one at first, then every other one goes half the way, so that they do
/// not go in circles. Beside each stands the way of the one before. The last is always whole.
fn ways(count: usize) -> Vec<[f64; 2]> {
    let half = |i: usize| i >= 4 && (i - 4).is_multiple_of(2) && i + 1 < count;
    let way = |i: usize| if half(i) { 0.5 } else { 1.0 };
    (0..count).map(|i| [way(i), if i == 0 { 1.0 } else { way(i - 1) }]).collect()
}

impl<'m, R: Real> Motion<'m, R> {
    /// Room for a body, driven by these controls: a number per motor.
    #[inline(always)]
    #[must_use]
    pub fn new(model: &'m Model, controls: &[R]) -> Self {
        let zero = R::lit(0.0);
        let (links, n) = (model.links.len(), model.dofs.len());
        let mut drive = vec![zero; n];
        for (motor, control) in model.motors.iter().zip(controls) {
            let limited = control.clamp(-motor.range, motor.range);
            drive[motor.dof] = R::constant(motor.gear) * limited + drive[motor.dof];
        }
        Self {
            model,
            angles: vec![zero; links],
            poses: vec![Pose::still(); links],
            inertias: vec![[zero; 6]; links],
            composite: vec![[zero; 6]; links],
            accelerations: vec![[zero; 2]; links],
            twists: vec![[zero; 3]; links],
            forces: vec![[zero; 3]; links],
            drive,
            smooth: vec![zero; n],
            points: vec![Point { weight: zero, at: [zero; 2], target: [zero; 2] }; model.points.len()],
            pushes: vec![[zero; 3]; model.points.len()],
            limits: vec![Limit { weight: zero, sign: zero, target: zero }; model.limits.len()],
            limit_pushes: vec![zero; model.limits.len()],
            touches: vec![Touch { weight: zero, target: zero }; model.pairs.len()],
            touch_rows: vec![zero; model.pairs.len() * links],
            touch_pushes: vec![zero; model.pairs.len()],
            h: vec![zero; n * n],
            right: vec![zero; n],
            seen: vec![zero; n],
            limit_forces: vec![zero; n],
        }
    }

    /// Moves a state by `steps` integration steps. Returns how far the root's joints without a place of their own went:
    /// of each joint the change of its position, in the order of the state.
    #[inline(always)]
    pub fn advance(&mut self, state: [&mut [R]; 3], steps: usize) -> Vec<R> {
        let model = self.model;
        let [q, v, a] = state;
        let n = model.dofs.len();
        let zero = R::lit(0.0);
        // Positions, speeds, accelerations, and of the last evaluation the positions and the forces of limits.
        let mut all = vec![zero; 5 * n];
        for (i, &dof) in model.order.iter().enumerate() {
            let of = &model.dofs[dof];
            all[dof] = if of.relative { zero } else { turned(of.axis, q[i] - R::constant(of.rest)) };
            all[n + dof] = turned(of.axis, v[i]);
            all[2 * n + dof] = turned(of.axis, a[i]);
        }
        let before: Vec<R> = all[..n].to_vec();
        R::fold(&vec![[0.0; 0]; steps], &mut all, |all, _| {
            match model.integrator {
                Integrator::Euler => self.euler(all),
                Integrator::RungeKutta => self.runge_kutta(all),
            }
            true
        });
        self.seen.copy_from_slice(&all[3 * n..4 * n]);
        self.limit_forces.copy_from_slice(&all[4 * n..]);
        let mut moved = vec![zero; n];
        for (i, &dof) in model.order.iter().enumerate() {
            let of = &model.dofs[dof];
            moved[i] = turned(of.axis, all[dof] - before[dof]);
            q[i] = if of.relative { q[i] + moved[i] } else { turned(of.axis, all[dof]) + R::constant(of.rest) };
            v[i] = turned(of.axis, all[n + dof]);
            a[i] = turned(of.axis, all[2 * n + dof]);
        }
        moved
    }

    /// Accelerations of the joints, which `a` begins with a guess of, and the forces of limits.
    #[inline(always)]
    fn accelerate(&mut self, q: &[R], v: &[R], a: &mut [R], forces: &mut [R]) {
        R::apart(Prepare { motion: self, q, v });
        let mut first = true;
        R::fold(&ways(self.model.newton_steps), a, |a, ways| {
            let went = R::apart(NewtonStep { motion: self, a, first, ways });
            first = false;
            went
        });
        for (row, limit) in self.limits.iter().zip(&self.model.limits) {
            let missing = row.target - row.sign * a[limit.dof];
            forces[limit.dof] = row.sign * row.weight * missing.max(R::lit(0.0));
        }
    }

    /// A step of Euler's method: `(M + h D) a' = M a`, as forces are `M a` at the solution.
    #[inline(always)]
    fn euler(&mut self, all: &mut [R]) {
        let n = self.model.dofs.len();
        let [q, v, a, seen, forces] = parts(all, n);
        seen.copy_from_slice(q);
        self.accelerate(q, v, a, forces);
        R::apart(ImplicitDamping { motion: self, a });
        let h = self.model.timestep;
        for ((q, v), a) in q.iter_mut().zip(v).zip(&self.right) {
            *v = *v + *a * h;
            *q = *q + *v * h;
        }
    }

    /// A step of Runge and Kutta's method. Each stage searches from the accelerations of the one before.
    #[inline(always)]
    fn runge_kutta(&mut self, all: &mut [R]) {
        let n = self.model.dofs.len();
        let h = self.model.timestep;
        let [q, v, a, seen, forces] = parts(all, n);
        // The stage's speeds, accelerations, positions and forces of limits, and the sums over stages.
        let zero = R::lit(0.0);
        let mut stages = vec![zero; 6 * n];
        {
            let (begin, rest) = stages.split_at_mut(2 * n);
            begin[..n].copy_from_slice(v);
            begin[n..].copy_from_slice(a);
            rest.fill(zero);
        }
        let (first_q, first_v) = (&*q, &*v);
        // How far along the stage before, and the weight in the sum.
        let table = [[0.0, 1.0], [0.5 * h, 2.0], [0.5 * h, 2.0], [h, 1.0]];
        R::fold(&table, &mut stages, |stages, [along, weight]| {
            let (moving, rest) = stages.split_at_mut(2 * n);
            let (speed, acceleration) = moving.split_at_mut(n);
            let (place, rest) = rest.split_at_mut(n);
            let (forces, sums) = rest.split_at_mut(n);
            for i in 0..n {
                place[i] = first_q[i] + along * speed[i];
                speed[i] = first_v[i] + along * acceleration[i];
            }
            self.accelerate(place, speed, acceleration, forces);
            for i in 0..n {
                sums[i] = sums[i] + weight * speed[i];
                sums[n + i] = sums[n + i] + weight * acceleration[i];
            }
            true
        });
        for i in 0..n {
            seen[i] = stages[2 * n + i];
            forces[i] = stages[3 * n + i];
            q[i] = q[i] + stages[4 * n + i] * (h / 6.0);
            v[i] = v[i] + stages[5 * n + i] * (h / 6.0);
            a[i] = stages[n + i];
        }
    }

    /// Where a place in a link's frame is, with the joints at these positions, relative to the root's origin.
    #[inline(always)]
    pub fn place(&mut self, qpos: &[R], link: usize, at: [f64; 2]) -> [R; 2] {
        let mut q = vec![R::lit(0.0); qpos.len()];
        for (position, &dof) in qpos.iter().zip(&self.model.order) {
            let of = &self.model.dofs[dof];
            q[dof] = turned(of.axis, *position - R::constant(of.rest));
        }
        self.at(&q, link, at)
    }

    #[inline(always)]
    fn at(&mut self, q: &[R], link: usize, at: [f64; 2]) -> [R; 2] {
        let still = vec![R::lit(0.0); q.len()];
        poses(self.model, q, &still, &mut self.angles, &mut self.poses);
        self.poses[link].place(at.map(R::lit))
    }

    /// The position of a joint at the last evaluation of forces, in the order of the state.
    #[inline(always)]
    pub fn seen_position(&self, joint: usize) -> R {
        let dof = self.model.order[joint];
        let of = &self.model.dofs[dof];
        turned(of.axis, self.seen[dof]) + R::constant(of.rest)
    }

    /// The force of a joint's limits at the last evaluation of forces, in the order of the state.
    #[inline(always)]
    pub fn limit_force(&self, joint: usize) -> R {
        let dof = self.model.order[joint];
        turned(self.model.dofs[dof].axis, self.limit_forces[dof])
    }

    /// Where a place in a link's frame was at the last evaluation of forces, relative to the root's origin: what MuJoCo
    /// shows after a step, which is not where the step led to.
    #[inline(always)]
    pub fn seen(&mut self, link: usize, at: [f64; 2]) -> [R; 2] {
        let seen = self.seen.clone();
        self.at(&seen, link, at)
    }
}

/// Solves for the accelerations that the speeds change by, into the right side.
struct ImplicitDamping<'a, 'm, R: Real> {
    motion: &'a mut Motion<'m, R>,
    a: &'a [R],
}

impl<R: Real> Part for ImplicitDamping<'_, '_, R> {
    type Output = ();

    #[inline(always)]
    fn done(self) {
        let Self { motion, a } = self;
        let model = motion.model;
        let n = model.dofs.len();
        let Motion { poses, inertias, composite, twists: moving, forces, h, right, .. } = motion;
        twists(model, poses, a, moving);
        for ((force, inertia), twist) in forces.iter_mut().zip(&*inertias).zip(&*moving) {
            *force = times(inertia, twist);
        }
        joint_forces(model, poses, forces, right);
        composite.copy_from_slice(inertias);
        joint_matrix(model, poses, composite, h);
        for (i, dof) in model.dofs.iter().enumerate() {
            let armature = R::constant(dof.armature);
            right[i] = armature * a[i] + right[i];
            h[i * n + i] = h[i * n + i] + (armature + R::constant(dof.damping) * model.timestep);
        }
        factor(model, h);
        solve(model, h, right);
    }
}

/// Five parts of as many numbers.
#[inline(always)]
fn parts<R>(all: &mut [R], n: usize) -> [&mut [R]; 5] {
    let (q, rest) = all.split_at_mut(n);
    let (v, rest) = rest.split_at_mut(n);
    let (a, rest) = rest.split_at_mut(n);
    let (seen, forces) = rest.split_at_mut(n);
    [q, v, a, seen, forces]
}

/// A number of a joint, in the direction of its axis.
#[inline(always)]
fn turned<R: Real>(axis: f64, x: R) -> R {
    if axis < 0.0 { -x } else { x }
}
