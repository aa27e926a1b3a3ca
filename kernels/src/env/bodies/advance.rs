//! Steps of bodies in time.

use super::body::Integrator;
use super::factor::{factor, solve};
use super::forward::Prepare;
use super::kinematics::twists;
use super::motion::{Motion, turned};
use super::solver::NewtonStep;
use super::spatial::{joint_forces, joint_matrix, times};
use crate::env::{Real, StepPart};

impl<R: Real> Motion<'_, R> {
    /// Moves a state by `steps` integration steps. Returns how far the root's joints without a place of their own went:
    /// of each joint the change of its position, in the order of the state.
    #[inline(always)]
    pub fn advance(&mut self, state: [&mut [R]; 3], steps: usize) -> Vec<R> {
        R::apart(Advance { motion: self, state, steps })
    }

    /// Accelerations of the joints, which `a` begins with a guess of, and the forces of limits.
    #[inline(always)]
    fn accelerate(&mut self, q: &[R], v: &[R], a: &mut [R], forces: &mut [R]) {
        R::apart(Prepare { motion: self, q, v });
        let (model, mut first) = (self.model, true);
        R::fold(&model.ways, a, |a, ways| {
            let went = R::apart(NewtonStep { motion: self, a, first, ways });
            first = false;
            went
        });
        for (row, limit) in self.limits.iter().zip(&model.limits) {
            let missing = row.target - row.sign * a[limit.dof];
            forces[limit.dof] = row.sign * row.weight * missing.max(R::lit(0.0));
        }
    }
}

/// Moves a state by integration steps.
struct Advance<'a, 'm, R: Real> {
    motion: &'a mut Motion<'m, R>,
    /// Positions, speeds and accelerations, in the order of the state.
    state: [&'a mut [R]; 3],
    steps: usize,
}

impl<R: Real> StepPart for Advance<'_, '_, R> {
    type Output = Vec<R>;

    #[inline(always)]
    fn done(self) -> Vec<R> {
        let Self { motion, state, steps } = self;
        let model = motion.model;
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
                Integrator::Euler => R::apart(Euler { motion, all }),
                Integrator::RungeKutta => R::apart(RungeKutta { motion, all }),
            }
            true
        });
        motion.seen.copy_from_slice(&all[3 * n..4 * n]);
        motion.limit_forces.copy_from_slice(&all[4 * n..]);
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
}

/// A step of Euler's method: `(M + h D) a' = M a`, as forces are `M a` at the solution.
struct Euler<'a, 'm, R: Real> {
    motion: &'a mut Motion<'m, R>,
    all: &'a mut [R],
}

impl<R: Real> StepPart for Euler<'_, '_, R> {
    type Output = ();

    #[inline(always)]
    fn done(self) {
        let Self { motion, all } = self;
        let model = motion.model;
        let [q, v, a, seen, forces] = parts(all, model.dofs.len());
        seen.copy_from_slice(q);
        motion.accelerate(q, v, a, forces);
        damped(motion, a);
        let h = model.timestep;
        for ((q, v), a) in q.iter_mut().zip(v).zip(&motion.right) {
            *v = *v + *a * h;
            *q = *q + *v * h;
        }
    }
}

/// A step of Runge and Kutta's method. Each stage searches from the accelerations of the one before.
struct RungeKutta<'a, 'm, R: Real> {
    motion: &'a mut Motion<'m, R>,
    all: &'a mut [R],
}

impl<R: Real> StepPart for RungeKutta<'_, '_, R> {
    type Output = ();

    #[inline(always)]
    fn done(self) {
        let Self { motion, all } = self;
        let (n, h) = (motion.model.dofs.len(), motion.model.timestep);
        let [q, v, a, seen, forces] = parts(all, n);
        // The stage's speeds, accelerations, positions and forces of limits, and the sums over stages.
        let mut stages = vec![R::lit(0.0); 6 * n];
        stages[..n].copy_from_slice(v);
        stages[n..2 * n].copy_from_slice(a);
        let first = [&*q, &*v];
        // How far along the stage before, and the weight in the sum.
        let table = [[0.0, 1.0], [0.5 * h, 2.0], [0.5 * h, 2.0], [h, 1.0]];
        R::fold(&table, &mut stages, |stages, [along, weight]| {
            R::apart(RungeKuttaStage { motion, first, stages, along, weight });
            true
        });
        for i in 0..n {
            a[i] = stages[n + i];
            seen[i] = stages[2 * n + i];
            forces[i] = stages[3 * n + i];
            q[i] = q[i] + stages[4 * n + i] * (h / 6.0);
            v[i] = v[i] + stages[5 * n + i] * (h / 6.0);
        }
    }
}

/// A stage of that method.
struct RungeKuttaStage<'a, 'm, R: Real> {
    motion: &'a mut Motion<'m, R>,
    /// Positions and speeds before the step.
    first: [&'a [R]; 2],
    stages: &'a mut [R],
    along: R,
    weight: R,
}

impl<R: Real> StepPart for RungeKuttaStage<'_, '_, R> {
    type Output = ();

    #[inline(always)]
    fn done(self) {
        let Self { motion, first: [q, v], stages, along, weight } = self;
        let n = q.len();
        let (moving, rest) = stages.split_at_mut(2 * n);
        let (speed, acceleration) = moving.split_at_mut(n);
        let (place, rest) = rest.split_at_mut(n);
        let (forces, sums) = rest.split_at_mut(n);
        for i in 0..n {
            place[i] = q[i] + along * speed[i];
            speed[i] = v[i] + along * acceleration[i];
        }
        motion.accelerate(place, speed, acceleration, forces);
        for i in 0..n {
            sums[i] = sums[i] + weight * speed[i];
            sums[n + i] = sums[n + i] + weight * acceleration[i];
        }
    }
}

/// Solves for the accelerations that the speeds change by, into the right side.
#[inline(always)]
fn damped<R: Real>(motion: &mut Motion<'_, R>, a: &[R]) {
    let model = motion.model;
    let n = model.dofs.len();
    let Motion { poses, inertias, composite, twists: moving, forces, h, right, properties, .. } = motion;
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
        h[i * n + i] = h[i * n + i] + (armature + properties.damping(model, i) * model.timestep);
    }
    factor(model, h);
    solve(model, h, right);
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
