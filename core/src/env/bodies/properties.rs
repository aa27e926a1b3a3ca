//! Numbers of a body that a task may change: masses, moments of inertia, frictions and dampings, with what follows.

use super::inverse_weights::InverseWeights;
use super::model::Model;
use crate::env::Real;

/// Factors by which a body differs from its description. Centres of mass stay where they are, and a fluid goes on
/// pushing the body that is described.
#[derive(Clone, Copy, Debug)]
pub struct Factors<'a, R> {
    /// Those of the masses: one per link.
    pub masses: &'a [R],
    /// Those of the moments of inertia: one per link.
    pub inertias: &'a [R],
    /// Those of frictions: of the floor, and then of each capsule that touches it.
    pub frictions: &'a [R],
    /// Those of dampings: one per joint that has some, in the order of the state.
    pub dampings: &'a [R],
}

/// The numbers of a body in motion. They are the description's constants, or these times a task's factors.
#[derive(Clone)]
pub(super) struct Properties<R> {
    /// The mass and the moment of inertia of each link.
    pub links: Vec<[R; 2]>,
    /// The damping of each joint, in the order of the computation.
    pub dampings: Vec<R>,
    pub points: Vec<PointProperties<R>>,
    /// The inverses of the masses that rows move: of limits, and then of pairs of capsules.
    pub weights: Vec<R>,
}

/// The friction of a point, and the inverse of the mass that its rows move.
#[derive(Clone, Copy)]
pub(super) struct PointProperties<R> {
    pub friction: R,
    pub weight: R,
}

impl<R: Real> Properties<R> {
    /// Room for those of a body.
    #[inline(always)]
    fn room(model: &Model) -> Self {
        let zero = R::lit(0.0);
        Self {
            links: vec![[zero; 2]; model.links.len()],
            dampings: vec![zero; model.dofs.len()],
            points: vec![PointProperties { friction: zero, weight: zero }; model.points.len()],
            weights: vec![zero; model.limits.len() + model.pairs.len()],
        }
    }

    /// Those of the description.
    #[inline(always)]
    pub fn described(model: &Model) -> Self {
        let mut own = Self::room(model);
        for (to, link) in own.links.iter_mut().zip(&model.links) {
            *to = [R::constant(link.mass), R::constant(link.inertia)];
        }
        for (to, dof) in own.dampings.iter_mut().zip(&model.dofs) {
            *to = R::constant(dof.damping);
        }
        for (to, point) in own.points.iter_mut().zip(&model.points) {
            (to.friction, to.weight) = (R::constant(point.friction), R::constant(point.give.weight));
        }
        let (of_limits, of_pairs) = own.weights.split_at_mut(model.limits.len());
        for (to, limit) in of_limits.iter_mut().zip(&model.limits) {
            *to = R::constant(limit.give.weight);
        }
        for (to, pair) in of_pairs.iter_mut().zip(&model.pairs) {
            *to = R::constant(pair.give.weight);
        }
        own
    }

    /// Those of the description times factors. The inverse weights are computed with each step of an environment.
    #[inline(always)]
    pub fn scaled(model: &Model, by: Factors<'_, R>) -> Self {
        let mut own = Self::room(model);
        for (i, (to, link)) in own.links.iter_mut().zip(&model.links).enumerate() {
            *to = [R::constant(link.mass) * by.masses[i], R::constant(link.inertia) * by.inertias[i]];
        }
        let mut damped = 0;
        for &dof in &model.order {
            let damping = model.dofs[dof].damping;
            if damping.get() != 0.0 {
                own.dampings[dof] = R::constant(damping) * by.dampings[damped];
                damped += 1;
            }
        }
        let inverse = InverseWeights::new(model, &own.links);
        for (to, point) in own.points.iter_mut().zip(&model.points) {
            let [capsule, floor] = point.frictions.map(R::constant);
            to.friction = counting(capsule * by.frictions[1 + point.capsule], floor * by.frictions[0]);
            to.weight = inverse_of_point(to.friction, inverse.links[point.link]);
        }
        let (of_limits, of_pairs) = own.weights.split_at_mut(model.limits.len());
        for (to, limit) in of_limits.iter_mut().zip(&model.limits) {
            *to = inverse.joints[limit.dof];
        }
        for (to, pair) in of_pairs.iter_mut().zip(&model.pairs) {
            *to = inverse.links[pair.links[0]] + inverse.links[pair.links[1]];
        }
        own
    }
}

/// The friction of two surfaces: the larger one.
#[inline(always)]
pub(super) fn counting<R: Real>(one: R, other: R) -> R {
    one.max(other).max(R::lit(1e-5))
}

/// The inverse of the mass that the rows of a point move, of that which its link has.
#[inline(always)]
pub(super) fn inverse_of_point<R: Real>(friction: R, link: R) -> R {
    friction * 2.0 * friction * (friction * friction + 1.0) * link
}
