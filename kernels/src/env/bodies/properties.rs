//! Numbers of a body that a task may change: masses, moments of inertia, frictions and dampings, with what follows.

use super::inverse_weights::InverseWeights;
use super::model::Model;
use crate::env::Real;

/// Factors by which a body differs from its description. Centres of mass stay where they are, and a fluid goes on
/// pushing the body that is described.
#[derive(Clone, Copy, Debug)]
pub struct Factors<'a, R> {
    /// Factors of masses: one per link.
    pub masses: &'a [R],
    /// Factors of moments of inertia: one per link.
    pub inertias: &'a [R],
    /// Factors of frictions: of the floor, and then of each capsule that touches it.
    pub frictions: &'a [R],
    /// Factors of dampings: one per joint that has some, in the order of the state.
    pub dampings: &'a [R],
}

/// The numbers of a body in motion: the description's constants, or these times a task's factors.
///
/// Constants are read where they are needed, not copied: bodies without tasks are as fast as if there were none.
#[derive(Clone)]
pub(super) struct Properties<R>(Option<Scaled<R>>);

/// The numbers of a body that a task changes.
#[derive(Clone)]
struct Scaled<R> {
    /// The mass and the moment of inertia of each link.
    links: Vec<[R; 2]>,
    /// The damping of each joint, in the order of the computation.
    dampings: Vec<R>,
    /// The friction of each point, and the inverse of the mass that its rows move.
    points: Vec<[R; 2]>,
    /// The inverses of the masses that limits move, and then pairs of capsules.
    weights: Vec<R>,
}

impl<R: Real> Properties<R> {
    /// The numbers of the description.
    #[inline(always)]
    pub fn described() -> Self {
        Self(None)
    }

    /// The mass and the moment of inertia of a link.
    #[inline(always)]
    pub fn link(&self, model: &Model, link: usize) -> [R; 2] {
        match &self.0 {
            Some(own) => own.links[link],
            None => [R::constant(model.links[link].mass), R::constant(model.links[link].inertia)],
        }
    }

    /// The damping of a joint.
    #[inline(always)]
    pub fn damping(&self, model: &Model, dof: usize) -> R {
        match &self.0 {
            Some(own) => own.dampings[dof],
            None => R::constant(model.dofs[dof].damping),
        }
    }

    /// The friction of a point.
    #[inline(always)]
    pub fn friction(&self, model: &Model, point: usize) -> R {
        match &self.0 {
            Some(own) => own.points[point][0],
            None => R::constant(model.points[point].friction),
        }
    }

    /// The inverse of the mass that the rows of a point move.
    #[inline(always)]
    pub fn weight_of_point(&self, model: &Model, point: usize) -> R {
        match &self.0 {
            Some(own) => own.points[point][1],
            None => R::constant(model.points[point].give.weight),
        }
    }

    /// The inverse of the mass that a limit moves.
    #[inline(always)]
    pub fn weight_of_limit(&self, model: &Model, limit: usize) -> R {
        match &self.0 {
            Some(own) => own.weights[limit],
            None => R::constant(model.limits[limit].give.weight),
        }
    }

    /// The inverse of the mass that a pair of capsules moves.
    #[inline(always)]
    pub fn weight_of_pair(&self, model: &Model, pair: usize) -> R {
        match &self.0 {
            Some(own) => own.weights[model.limits.len() + pair],
            None => R::constant(model.pairs[pair].give.weight),
        }
    }

    /// The numbers of the description times factors. The inverse weights are computed with each step of an environment.
    #[inline(always)]
    pub fn scaled(model: &Model, by: Factors<'_, R>) -> Self {
        let zero = R::lit(0.0);
        let mut links = vec![[zero; 2]; model.links.len()];
        for (i, (to, link)) in links.iter_mut().zip(&model.links).enumerate() {
            *to = [R::constant(link.mass) * by.masses[i], R::constant(link.inertia) * by.inertias[i]];
        }
        let (mut dampings, mut damped) = (vec![zero; model.dofs.len()], 0);
        for &dof in &model.order {
            let damping = model.dofs[dof].damping;
            if damping.get() != 0.0 {
                dampings[dof] = R::constant(damping) * by.dampings[damped];
                damped += 1;
            }
        }
        let inverse = InverseWeights::new(model, &links);
        let mut points = vec![[zero; 2]; model.points.len()];
        for (to, point) in points.iter_mut().zip(&model.points) {
            let [capsule, floor] = point.frictions.map(R::constant);
            let friction = counting(capsule * by.frictions[1 + point.capsule], floor * by.frictions[0]);
            *to = [friction, inverse_of_point(friction, inverse.links[point.link])];
        }
        let mut weights = vec![zero; model.limits.len() + model.pairs.len()];
        let (of_limits, of_pairs) = weights.split_at_mut(model.limits.len());
        for (to, limit) in of_limits.iter_mut().zip(&model.limits) {
            *to = inverse.joints[limit.dof];
        }
        for (to, pair) in of_pairs.iter_mut().zip(&model.pairs) {
            *to = inverse.links[pair.links[0]] + inverse.links[pair.links[1]];
        }
        Self(Some(Scaled { links, dampings, points, weights }))
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
