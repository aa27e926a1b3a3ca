//! Places where two capsules are nearest to each other.

use super::kinematics::Pose;
use super::model::PairModel;
use crate::env::{Constant, Mask, Real};

/// The axes of two capsules. A place on an axis is a number from −1, its back, to 1, its front.
pub(super) struct CapsuleAxes<R: Real> {
    centers: [[R; 2]; 2],
    halves: [[R; 2]; 2],
    /// The scalar product of both half axes.
    along: R,
    /// The scalar product of each half axis with the way from its centre to the other one.
    ways: [R; 2],
    /// The inverse square of each half axis.
    inverse: [R; 2],
    /// The place on each axis where their lines cross.
    crossing: [R; 2],
    /// True where the sine of the angle between the axes is below 10⁻⁴.
    pub parallel: R::Mask,
}

/// A place on the first axis, and how to get from there to one on the second.
#[derive(Clone, Copy)]
pub(super) struct CapsuleSpan<R> {
    pub from: [R; 2],
    pub way: [R; 2],
    pub length: R,
}

impl<R: Real> CapsuleAxes<R> {
    #[inline(always)]
    pub fn new(pair: &PairModel, poses: &[Pose<R>]) -> Self {
        let [first, second] = pair.links.map(|link| poses[link]);
        let of = |c: [Constant; 2]| c.map(R::constant);
        let [a, c] = [first.place(of(pair.centers[0])), second.place(of(pair.centers[1]))];
        let [p, q] = [first.turned(of(pair.halves[0])), second.turned(of(pair.halves[1]))];
        let between = [c[0] - a[0], c[1] - a[1]];
        let squares = [dot(p, p), dot(q, q)];
        let sine = cross(p, q);
        let parallel = (sine * sine).lt(squares[0] * squares[1] * 1e-8);
        let per_sine = R::select(parallel, R::lit(1.0), sine).recip();
        Self {
            centers: [a, c],
            halves: [p, q],
            along: dot(p, q),
            ways: [dot(p, between), -dot(q, between)],
            inverse: squares.map(R::recip),
            crossing: [cross(between, q) * per_sine, cross(between, p) * per_sine],
            parallel,
        }
    }

    /// The places nearest to each other of axes that are not parallel, and where these cross.
    #[inline(always)]
    pub fn nearest(&self) -> (CapsuleSpan<R>, R::Mask) {
        let one = R::lit(1.0);
        let ([x, y], [u, w], [per_a, per_c]) = (self.crossing, self.ways, self.inverse);
        let inside = x.abs().lt(one).and(y.abs().lt(one));
        let beside = |x| (w + self.along * x) * per_c;
        let y = R::select(one.lt(x), beside(one), R::select(x.lt(-one), beside(-one), y));
        let beside = |y| unit((u + self.along * y) * per_a);
        let x = R::select(one.lt(y), beside(one), R::select(y.lt(-one), beside(-one), unit(x)));
        (self.span([x, unit(y)]), inside)
    }

    /// The places on parallel axes at one end of the part where they lie side by side, towards the first one's back
    /// (−1) or front (1). CapsuleAxes one behind the other have no such part: both ends are where they are nearest.
    #[inline(always)]
    pub fn end(&self, side: f64) -> CapsuleSpan<R> {
        let one = R::lit(1.0);
        let ([u, w], [per_a, per_c]) = (self.ways, self.inverse);
        let end = R::select(self.along.lt(R::lit(0.0)), -one, one) * side;
        let beside = (u + self.along * end) * per_a;
        let x = unit(beside);
        let y = R::select(beside.abs().lt(one), end, unit((w + self.along * x) * per_c));
        self.span([x, y])
    }

    #[inline(always)]
    fn span(&self, [x, y]: [R; 2]) -> CapsuleSpan<R> {
        let ([a, c], [p, q]) = (self.centers, self.halves);
        let from = [a[0] + p[0] * x, a[1] + p[1] * x];
        let to = [c[0] + q[0] * y, c[1] + q[1] * y];
        let way = [to[0] - from[0], to[1] - from[1]];
        CapsuleSpan { from, way, length: dot(way, way).max(R::lit(1e-20)).sqrt() }
    }
}

impl<R: Real> CapsuleSpan<R> {
    /// This one where the mask holds, else the other one.
    #[inline(always)]
    pub fn select(mask: R::Mask, this: Self, other: Self) -> Self {
        let both = |a: [R; 2], b: [R; 2]| [R::select(mask, a[0], b[0]), R::select(mask, a[1], b[1])];
        Self {
            from: both(this.from, other.from),
            way: both(this.way, other.way),
            length: R::select(mask, this.length, other.length),
        }
    }
}

#[inline(always)]
fn dot<R: Real>(a: [R; 2], b: [R; 2]) -> R {
    a[0] * b[0] + a[1] * b[1]
}

#[inline(always)]
fn cross<R: Real>(a: [R; 2], b: [R; 2]) -> R {
    a[0] * b[1] - a[1] * b[0]
}

/// A number limited to −1 to 1.
#[inline(always)]
fn unit<R: Real>(x: R) -> R {
    x.clamp(-1.0, 1.0)
}
