//! Bodies in motion: the room that it takes, and what is seen of it.

use super::contact::{FloorPoint, Limit, Touch};
use super::kinematics::{Pose, poses};
use super::model::Model;
use super::properties::{Factors, Properties};
use super::spatial::Spatial;
use crate::env::{Real, StepPart};

/// Room to move a body in, of any type of number.
///
/// A state is `[positions, speeds, accelerations]`, each with a number per joint in the order of the description. The
/// accelerations are those of the last evaluation, from which the next one begins to search (MuJoCo's
/// `qacc_warmstart`); a new episode begins with zeros.
#[derive(Clone)]
pub struct Motion<'m, R: Real> {
    pub(super) model: &'m Model,
    pub(super) properties: Properties<R>,
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
    pub(super) points: Vec<FloorPoint<R>>,
    pub(super) pushes: Vec<[R; 3]>,
    pub(super) limits: Vec<Limit<R>>,
    pub(super) limit_pushes: Vec<R>,
    /// Two rows for each pair of capsules.
    pub(super) touches: Vec<Touch<R>>,
    pub(super) touch_rows: Vec<R>,
    pub(super) touch_pushes: Vec<R>,
    pub(super) h: Vec<R>,
    pub(super) right: Vec<R>,
    /// The positions of the last evaluation of forces, in the order of the computation.
    pub(super) seen: Vec<R>,
    /// The forces of limits at the last evaluation, in that order.
    pub(super) limit_forces: Vec<R>,
}

impl<'m, R: Real> Motion<'m, R> {
    /// Room for a body, driven by these controls: a number per motor.
    #[inline(always)]
    #[must_use]
    pub fn new(model: &'m Model, controls: &[R]) -> Self {
        R::apart(MakeRoom { model, controls, factors: None })
    }

    /// Room for a body that differs from its description by these factors.
    #[inline(always)]
    #[must_use]
    pub fn with_factors(model: &'m Model, controls: &[R], factors: Factors<'_, R>) -> Self {
        R::apart(MakeRoom { model, controls, factors: Some(factors) })
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

/// Makes room for a body.
struct MakeRoom<'a, 'm, R> {
    model: &'m Model,
    controls: &'a [R],
    factors: Option<Factors<'a, R>>,
}

impl<'m, R: Real> StepPart for MakeRoom<'_, 'm, R> {
    type Output = Motion<'m, R>;

    #[inline(always)]
    fn done(self) -> Motion<'m, R> {
        let Self { model, controls, factors } = self;
        let zero = R::lit(0.0);
        let (links, n) = (model.links.len(), model.dofs.len());
        let mut drive = vec![zero; n];
        for (motor, control) in model.motors.iter().zip(controls) {
            let limited = control.clamp(-motor.range, motor.range);
            drive[motor.dof] = R::constant(motor.gear) * limited + drive[motor.dof];
        }
        Motion {
            model,
            properties: match factors {
                Some(by) => Properties::scaled(model, by),
                None => Properties::described(),
            },
            angles: vec![zero; links],
            poses: vec![Pose::still(); links],
            inertias: vec![[zero; 6]; links],
            composite: vec![[zero; 6]; links],
            accelerations: vec![[zero; 2]; links],
            twists: vec![[zero; 3]; links],
            forces: vec![[zero; 3]; links],
            drive,
            smooth: vec![zero; n],
            points: vec![FloorPoint { weight: zero, at: [zero; 2], target: [zero; 2] }; model.points.len()],
            pushes: vec![[zero; 3]; model.points.len()],
            limits: vec![Limit { weight: zero, sign: zero, target: zero }; model.limits.len()],
            limit_pushes: vec![zero; model.limits.len()],
            touches: vec![Touch::none(); 2 * model.pairs.len()],
            touch_rows: vec![zero; 2 * model.pairs.len() * links],
            touch_pushes: vec![zero; 2 * model.pairs.len()],
            h: vec![zero; n * n],
            right: vec![zero; n],
            seen: vec![zero; n],
            limit_forces: vec![zero; n],
        }
    }
}

/// A number of a joint, in the direction of its axis.
#[inline(always)]
pub(super) fn turned<R: Real>(axis: f64, x: R) -> R {
    if axis < 0.0 { -x } else { x }
}
