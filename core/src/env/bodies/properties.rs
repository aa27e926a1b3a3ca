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
    /// Those of the description.
    #[inline(always)]
    pub fn described(model: &Model) -> Self {
        let limits = model.limits.iter().map(|limit| limit.give.weight);
        let pairs = model.pairs.iter().map(|pair| pair.give.weight);
        let (mut links, mut points) = (Vec::new(), Vec::new());
        for link in &model.links {
            links.push([R::constant(link.mass), R::constant(link.inertia)]);
        }
        for point in &model.points {
            let (friction, weight) = (R::constant(point.friction), R::constant(point.give.weight));
            points.push(PointProperties { friction, weight });
        }
        Self {
            links,
            dampings: model.dofs.iter().map(|dof| R::constant(dof.damping)).collect(),
            points,
            weights: limits.chain(pairs).map(R::constant).collect(),
        }
    }

    /// Those of the description times factors.
    #[inline(always)]
    pub fn scaled(model: &Model, by: Factors<'_, R>) -> Self {
        let (mut links, mut dampings, mut points) = (Vec::new(), Vec::new(), Vec::new());
        for (i, link) in model.links.iter().enumerate() {
            links.push([R::constant(link.mass) * by.masses[i], R::constant(link.inertia) * by.inertias[i]]);
        }
        let of = InverseWeights::new(model, &links);
        dampings.resize(model.dofs.len(), R::lit(0.0));
        let damped = model.order.iter().filter(|dof| model.dofs[**dof].damping.get() != 0.0);
        for (dof, factor) in damped.zip(by.dampings) {
            dampings[*dof] = R::constant(model.dofs[*dof].damping) * *factor;
        }
        for point in &model.points {
            let [own, floor] = point.frictions.map(R::constant);
            let friction = counting(own * by.frictions[1 + point.capsule], floor * by.frictions[0]);
            points.push(PointProperties { friction, weight: inverse_of_point(friction, of.links[point.link]) });
        }
        let mut weights = Vec::with_capacity(model.limits.len() + model.pairs.len());
        for limit in &model.limits {
            weights.push(of.joints[limit.dof]);
        }
        for pair in &model.pairs {
            weights.push(of.links[pair.links[0]] + of.links[pair.links[1]]);
        }
        Self { links, dampings, points, weights }
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
