//! Rows that push: contacts with the floor, contacts of capsules, and limits of joints.

use super::capsules::{CapsuleAxes, CapsuleSpan};
use super::kinematics::{Pose, velocity};
use super::model::{Give, LimitModel, Model, PairModel, PointModel};
use crate::env::{Mask, Real};

/// A point above the floor. Its three rows push along the normal and the edges of the pyramid of friction.
#[derive(Clone, Copy)]
pub(super) struct FloorPoint<R> {
    /// The weight of a row that pushes; 0 where the point is not near the floor.
    pub weight: R,
    /// Where it touches, relative to the root's origin.
    pub at: [R; 2],
    /// The reference accelerations along the floor and away from it.
    pub target: [R; 2],
}

/// A limit of a joint.
#[derive(Clone, Copy)]
pub(super) struct Limit<R> {
    pub weight: R,
    /// 1 at the lower end, −1 at the upper one.
    pub sign: R,
    pub target: R,
}

/// A contact of two capsules.
#[derive(Clone, Copy)]
pub(super) struct Touch<R> {
    pub weight: R,
    pub target: R,
}

impl<R: Real> Touch<R> {
    /// A row that does not push.
    #[inline(always)]
    pub fn none() -> Self {
        Self { weight: R::lit(0.0), target: R::lit(0.0) }
    }

    /// True where it may push in some lane. Others need no work: they change nothing.
    #[inline(always)]
    pub fn any(&self) -> bool {
        self.weight.truth().any()
    }
}

/// The impedance at a depth, which is below 0 inside.
#[inline(always)]
fn impedance<R: Real>(give: &Give, depth: R) -> R {
    if give.constant {
        return R::constant(give.low);
    }
    let (zero, one) = (R::lit(0.0), R::lit(1.0));
    let x = (-(depth * R::constant(give.slope))).max(zero).min(one);
    let rest = one - x;
    let y = R::select(x.lt(R::lit(0.5)), x * x * 2.0, one - rest * rest * 2.0);
    y * R::constant(give.rise) + R::constant(give.low)
}

/// The weight of a row at a depth, of the inverse of the mass that it moves, and the part of its reference acceleration
/// that the depth asks for.
#[inline(always)]
fn pushed<R: Real>(give: &Give, inverse: R, depth: R) -> (R, R) {
    let zero = R::lit(0.0);
    let impedance = impedance(give, depth);
    let weight = impedance / (inverse * (R::lit(1.0) - impedance));
    let spring = R::constant(give.stiffness) * impedance * depth;
    (R::select(depth.lt(zero), weight, zero), spring)
}

/// A point, where the root's origin is at a height.
#[inline(always)]
pub(super) fn point<R: Real>(model: &PointModel, inverse: R, pose: &Pose<R>, height: R) -> FloorPoint<R> {
    let [x, z] = pose.place(model.at.map(R::constant));
    let radius = R::constant(model.radius);
    let distance = height + z - radius;
    let low = z - radius - distance * 0.5;
    let (weight, spring) = pushed(&model.give, inverse, distance - R::constant(model.give.margin));
    let [along, away] = velocity(&pose.twist, [x, low]);
    let damping = R::constant(model.give.damping);
    FloorPoint { weight, at: [x, low], target: [-(damping * along), -(damping * away + spring)] }
}

/// A limit, of a joint at a position.
#[inline(always)]
pub(super) fn limit<R: Real>(model: &LimitModel, inverse: R, q: R, v: R) -> Limit<R> {
    let (one, margin) = (R::lit(1.0), R::constant(model.give.margin));
    let (below, above) = (q - R::constant(model.low), R::constant(model.high) - q);
    let low = below.lt(above);
    let depth = R::select(low, below, above) - margin;
    let sign = R::select(low, one, -one);
    let (weight, spring) = pushed(&model.give, inverse, depth);
    Limit { weight, sign, target: -(R::constant(model.give.damping) * sign * v + spring) }
}

/// The two rows of two capsules. Their entries of the joints between them go into `rows`: a number per link of the
/// first row, then of the second. A row that pushes in no lane may have any entries.
///
/// Parallel capsules touch in two places, others in one. Capsules whose axes cross do not push each other, as in
/// MuJoCo, where their normal is that of the plane.
#[inline(always)]
pub(super) fn touch<R: Real>(
    model: &Model,
    pair: &PairModel,
    inverse: R,
    poses: &[Pose<R>],
    v: &[R],
    rows: &mut [R],
) -> [Touch<R>; 2] {
    let axes = CapsuleAxes::new(pair, poses);
    let parallel = axes.parallel;
    let (mut span, inside) = axes.nearest();
    let [ra, rc] = pair.radii.map(R::constant);
    // The places nearest to each other are one place, but for rounding.
    let crossing = inside.and(span.length.lt((ra + rc) * 1e-4));
    let (one, other) = rows.split_at_mut(model.links.len());
    let mut second = Touch::none();
    if parallel.any() {
        span = CapsuleSpan::select(parallel, axes.end(-1.0), span);
        second = touch_row(model, (pair, inverse), poses, v, &axes.end(1.0), parallel, other);
    }
    [touch_row(model, (pair, inverse), poses, v, &span, parallel.or(crossing.not()), one), second]
}

/// A row of two capsules, which pushes only where `allowed`.
#[inline(always)]
fn touch_row<R: Real>(
    model: &Model,
    (pair, inverse): (&PairModel, R),
    poses: &[Pose<R>],
    v: &[R],
    span: &CapsuleSpan<R>,
    allowed: R::Mask,
    row: &mut [R],
) -> Touch<R> {
    let zero = R::lit(0.0);
    let [ra, rc] = pair.radii.map(R::constant);
    let distance = span.length - ra - rc;
    let depth = distance - R::constant(pair.give.margin);
    if !depth.lt(zero).and(allowed).any() {
        return Touch::none();
    }
    let (weight, spring) = pushed(&pair.give, inverse, depth);
    let per_length = span.length.recip();
    let normal = span.way.map(|x| x * per_length);
    let touching = ra + distance * 0.5;
    let at = [span.from[0] + normal[0] * touching, span.from[1] + normal[1] * touching];
    let mut speed = zero;
    let mut link = pair.links[1];
    while link != pair.links[0] {
        let [px, pz] = poses[link].origin;
        row[link] = normal[0] * (at[1] - pz) - normal[1] * (at[0] - px);
        speed = row[link] * v[model.links[link].dof] + speed;
        link = model.links[link].parent;
    }
    let target = -(R::constant(pair.give.damping) * speed + spring);
    Touch { weight: R::select(allowed, weight, zero), target }
}

/// The weight where a row pushes, and 0 where it does not: where the acceleration is below its target.
#[inline(always)]
pub(super) fn push<R: Real>(weight: R, excess: R) -> R {
    R::select(excess.lt(R::lit(0.0)), weight, R::lit(0.0))
}

/// Remembers what pushes, and tells whether it is something else than before.
#[inline(always)]
pub(super) fn renew<R: Real>(changed: &mut R::Mask, old: &mut R, new: R) {
    if !R::TRACED {
        *changed = changed.or(old.eq(new).not());
    }
    *old = new;
}
