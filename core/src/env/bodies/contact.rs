//! Rows that push: contacts with the floor, contacts of capsules, and limits of joints.

use super::kinematics::{Pose, velocity};
use super::model::{Give, LimitModel, Model, PairModel, PointModel};
use crate::env::{Constant, Mask, Real};

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

/// The weight of a row at a depth, and the part of its reference acceleration that the depth asks for.
#[inline(always)]
fn pushed<R: Real>(give: &Give, depth: R) -> (R, R) {
    let zero = R::lit(0.0);
    let impedance = impedance(give, depth);
    let weight = impedance / (R::constant(give.weight) * (R::lit(1.0) - impedance));
    let spring = R::constant(give.stiffness) * impedance * depth;
    (R::select(depth.lt(zero), weight, zero), spring)
}

/// A point, where the root's origin is at a height.
#[inline(always)]
pub(super) fn point<R: Real>(model: &PointModel, pose: &Pose<R>, height: R) -> FloorPoint<R> {
    let [x, z] = pose.place(model.at.map(R::constant));
    let radius = R::constant(model.radius);
    let distance = height + z - radius;
    let low = z - radius - distance * 0.5;
    let (weight, spring) = pushed(&model.give, distance - R::constant(model.give.margin));
    let [along, away] = velocity(&pose.twist, [x, low]);
    let damping = R::constant(model.give.damping);
    FloorPoint { weight, at: [x, low], target: [-(damping * along), -(damping * away + spring)] }
}

/// A limit, of a joint at a position.
#[inline(always)]
pub(super) fn limit<R: Real>(model: &LimitModel, q: R, v: R) -> Limit<R> {
    let (one, margin) = (R::lit(1.0), R::constant(model.give.margin));
    let (below, above) = (q - R::constant(model.low), R::constant(model.high) - q);
    let low = below.lt(above);
    let depth = R::select(low, below, above) - margin;
    let sign = R::select(low, one, -one);
    let (weight, spring) = pushed(&model.give, depth);
    Limit { weight, sign, target: -(R::constant(model.give.damping) * sign * v + spring) }
}

/// Two capsules. The row's entries of the joints between them go into `row`, which has a number per link.
///
/// Capsules whose axes cross do not push each other, as in MuJoCo, where their normal is that of the plane.
#[inline(always)]
pub(super) fn touch<R: Real>(model: &Model, pair: &PairModel, poses: &[Pose<R>], v: &[R], row: &mut [R]) -> Touch<R> {
    let (zero, one) = (R::lit(0.0), R::lit(1.0));
    let [first, second] = pair.links.map(|link| poses[link]);
    let of = |c: [Constant; 2]| c.map(R::constant);
    let [a, c] = [first.place(of(pair.centers[0])), second.place(of(pair.centers[1]))];
    let [p, q] = [first.turned(of(pair.halves[0])), second.turned(of(pair.halves[1]))];
    let between = [a[0] - c[0], a[1] - c[1]];
    let (ma, mb, mc) = (dot(p, p), -dot(p, q), dot(q, q));
    let (u, w) = (-dot(p, between), dot(q, between));
    let inverse = (ma * mc - mb * mb).max(R::lit(1e-12)).recip();
    let (x, y) = ((mc * u - mb * w) * inverse, (ma * w - mb * u) * inverse);
    let inside = x.abs().lt(one).and(y.abs().lt(one));
    let (per_a, per_c) = (ma.recip(), mc.recip());
    let y = R::select(one.lt(x), (w - mb) * per_c, R::select(x.lt(-one), (w + mb) * per_c, y));
    let x = unit(x);
    let x = R::select(one.lt(y), unit((u - mb) * per_a), R::select(y.lt(-one), unit((u + mb) * per_a), x));
    let y = unit(y);
    let from = [a[0] + p[0] * x, a[1] + p[1] * x];
    let to = [c[0] + q[0] * y, c[1] + q[1] * y];
    let apart = [to[0] - from[0], to[1] - from[1]];
    let length = dot(apart, apart).max(R::lit(1e-20)).sqrt();
    let [ra, rc] = pair.radii.map(R::constant);
    // The places nearest to each other are then one place, but for rounding.
    let crossing = inside.and(length.lt((ra + rc) * 1e-4));
    let per_length = R::select(crossing, zero, length.recip());
    let normal = apart.map(|x| x * per_length);
    let distance = length - ra - rc;
    let touching = ra + distance * 0.5;
    let at = [from[0] + normal[0] * touching, from[1] + normal[1] * touching];
    let (weight, spring) = pushed(&pair.give, distance - R::constant(pair.give.margin));
    let mut speed = zero;
    let mut link = pair.links[1];
    while link != pair.links[0] {
        let [px, pz] = poses[link].origin;
        row[link] = normal[0] * (at[1] - pz) - normal[1] * (at[0] - px);
        speed = row[link] * v[model.links[link].dof] + speed;
        link = model.links[link].parent;
    }
    Touch { weight, target: -(R::constant(pair.give.damping) * speed + spring) }
}

#[inline(always)]
fn dot<R: Real>(a: [R; 2], b: [R; 2]) -> R {
    a[0] * b[0] + a[1] * b[1]
}

/// A number limited to −1 to 1.
#[inline(always)]
fn unit<R: Real>(x: R) -> R {
    x.clamp(-1.0, 1.0)
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
