//! How far an f32 execution may be from the f64 value, element by element.
//!
//! A bound of 0 says that f32 computes the f64 number exactly; integers have bound 0 or, where a float of uncertain
//! value decided them, infinity. Rules, with ε = 2⁻²⁴ (half a unit in the last place, relative):
//!
//! * Inputs and constants: their own rounding to f32.
//! * Correctly rounded operations (add, mul, recip, sqrt): the operands' bounds through the operation's worst slope
//!   over their intervals, plus ε of the result; 0 if the operands are exact and the result is an f32 number.
//! * exp, log, sin, cos, tanh: the same with the units in the last place that [`crate::math`] documents, and one more.
//! * Sums and products of matrices: the operands' bounds, plus (length of the longest chain of
//!   additions)·ε·Σ|terms|, for the order that the CPU documents ([`chain`]); 0 if all terms lie on a
//!   grid on which every partial sum is exact.
//! * `lt`, `eq`, `floor`, `to_u32`, `bitcast_u32`: 0 where the outcome is the same over the operands' whole intervals,
//!   else infinite. Tests draw such operands from a dyadic grid, where they are exact.
//! * `select` and `max`: where the choice is uncertain, the result may be either operand.

use super::moves;
use super::value::{Cell, Data};
use crate::tensor::{Binary, DType, Node, Op, Unary};

/// Half a unit in the last place of an f32, relative to its value.
const EPS: f64 = 1.0 / 16_777_216.0;

/// The largest absolute loss when a result is so small that f32 flushes or rounds it as a subnormal.
const TINY: f64 = f32::MIN_POSITIVE as f64;

/// Units in the last place by which the elementary functions may be off: what `crate::math` documents, plus one.
fn ulps(op: Unary) -> f64 {
    match op {
        Unary::Exp | Unary::Log => 2.0,
        Unary::Sin | Unary::Cos => 3.0,
        Unary::Tanh => 8.0,
        _ => 0.5,
    }
}

/// `bound`, or infinity where f32 overflows or the bound is not a number.
fn checked(value: f64, bound: f64) -> f64 {
    if value.abs() + bound <= f64::from(f32::MAX) { bound } else { f64::INFINITY }
}

/// Bound of a result that is `bound` off before its rounding, which is `ulps` units in the last place.
fn rounded(value: f64, bound: f64, ulps: f64) -> f64 {
    checked(value, bound + (value.abs() + bound) * (2.0 * ulps * EPS) + TINY)
}

/// Bound of a correctly rounded result.
fn nearest(value: f64, bound: f64) -> f64 {
    if bound == 0.0 && f64::from(value as f32) == value { checked(value, 0.0) } else { rounded(value, bound, 0.5) }
}

/// `a·b`, where nothing of infinity is nothing.
fn times(a: f64, b: f64) -> f64 {
    if a == 0.0 || b == 0.0 { 0.0 } else { a * b }
}

/// 0 or infinity.
fn certain(yes: bool) -> f64 {
    if yes { 0.0 } else { f64::INFINITY }
}

/// Bound of a number that is stored as f32.
pub(super) fn leaf(data: &Data) -> Vec<f64> {
    match data {
        Data::F64(x) => {
            x.iter().map(|v| if v.is_finite() { checked(*v, (v - f64::from(*v as f32)).abs()) } else { 0.0 }).collect()
        }
        Data::U32(x) => vec![0.0; x.len()],
    }
}

/// Length of one slice of a reduced axis of `len` elements: long axes are summed in slices.
fn slice_len(len: usize) -> usize {
    len.min(1024)
}

/// Additions that one term of a sum over `len` elements goes through at most. Products of matrices add the terms of a
/// slice one by one; sums use 16 lanes and a tree of 4 levels; both add the slices one by one.
fn chain(len: usize, lanes: bool) -> f64 {
    let slice = slice_len(len);
    let inside = if lanes { slice.min(slice.div_ceil(16) + 4) } else { slice };
    (inside + len.div_ceil(slice)) as f64
}

/// The largest power of two that divides a number; infinity for 0.
fn grid(x: f64) -> f64 {
    if x == 0.0 {
        return f64::INFINITY;
    }
    let bits = x.to_bits();
    let exponent = ((bits >> 52) & 0x7ff) as i32 - 1075;
    2f64.powi(exponent + ((bits & ((1 << 52) - 1)) | (1 << 52)).trailing_zeros() as i32)
}

/// Tells whether all partial sums of terms on a grid are exact in f32, in any order.
fn exact_sum(total: f64, grid: f64) -> bool {
    total <= grid * 16_777_216.0 && grid >= 2f64.powi(-126)
}

fn unary(op: Unary, x: &Cell, result: &Data) -> Vec<f64> {
    let b = &x.bound;
    match (&x.data, result) {
        (Data::F64(x), Data::F64(y)) => {
            let zip = x.iter().zip(b).zip(y);
            zip.map(|((x, b), y)| unary_element(op, *x, *b, *y)).collect()
        }
        (Data::F64(x), Data::U32(_)) => {
            let same = |x: f64, b: f64| match op {
                Unary::Cast(_) => b == 0.0 || (x - b) as u32 == (x + b) as u32,
                _ => b == 0.0,
            };
            x.iter().zip(b).map(|(x, b)| certain(same(*x, *b))).collect()
        }
        (Data::U32(_), Data::F64(y)) => b
            .iter()
            .zip(y)
            .map(|(b, y)| match op {
                Unary::Cast(DType::F32) if *b == 0.0 => nearest(*y, 0.0),
                _ => *b,
            })
            .collect(),
        (Data::U32(_), Data::U32(_)) => b.clone(),
    }
}

fn unary_element(op: Unary, x: f64, b: f64, y: f64) -> f64 {
    let tail = (x.abs() - b).max(0.0);
    match op {
        Unary::Neg | Unary::Stop | Unary::Cast(_) | Unary::Bitcast(_) => b,
        Unary::Recip if b == 0.0 => nearest(y, 0.0),
        Unary::Recip if tail == 0.0 => f64::INFINITY,
        Unary::Recip => nearest(y, b / (x.abs() * tail)),
        Unary::Sqrt if b == 0.0 => nearest(y, 0.0),
        Unary::Sqrt if x - b < 0.0 => f64::INFINITY,
        Unary::Sqrt => nearest(y, y - (x - b).sqrt()),
        Unary::Exp => rounded(y, y * b.exp_m1(), ulps(op)),
        Unary::Log if x - b <= 0.0 => f64::INFINITY,
        Unary::Log => rounded(y, -(-b / x).ln_1p(), ulps(op)),
        Unary::Sin | Unary::Cos if x.abs() + b > 1e4 => f64::INFINITY,
        Unary::Sin | Unary::Cos => rounded(y, b.min(2.0) + 1e-13, ulps(op)),
        Unary::Tanh => rounded(y, b.min(2.0) * (1.0 - tail.tanh() * tail.tanh()), ulps(op)),
        Unary::Floor => certain(b == 0.0 || (x - b).floor() == (x + b).floor()),
    }
}

fn binary(op: Binary, x: &Cell, y: &Cell, result: &Data) -> Vec<f64> {
    let bounds = x.bound.iter().zip(&y.bound);
    let (Data::F64(a), Data::F64(b)) = (&x.data, &y.data) else {
        return bounds.map(|(p, q)| p + q).collect();
    };
    let values = a.iter().zip(b).zip(bounds);
    if op.is_comparison() {
        let far = |a: f64, b: f64, c: f64| c == 0.0 || (a - b).abs() > c;
        return values.map(|((a, b), (p, q))| certain(far(*a, *b, p + q))).collect();
    }
    let Data::F64(z) = result else { return vec![f64::INFINITY; x.bound.len()] };
    values
        .zip(z)
        .map(|(((a, b), (p, q)), z)| match op {
            Binary::Add => nearest(*z, p + q),
            Binary::Mul => nearest(*z, times(a.abs(), *q) + times(b.abs(), *p) + times(*p, *q)),
            _ if (a - b).abs() > p + q => {
                if z == a {
                    *p
                } else {
                    *q
                }
            }
            _ => p.max(*q),
        })
        .collect()
}

fn select(c: &Cell, a: &Cell, b: &Cell) -> Vec<f64> {
    let Data::U32(condition) = &c.data else { return vec![f64::INFINITY; c.bound.len()] };
    let distance = |i: usize| match (&a.data, &b.data) {
        (Data::F64(a), Data::F64(b)) => (a[i] - b[i]).abs(),
        (Data::U32(a), Data::U32(b)) => certain(a[i] == b[i]),
        _ => f64::INFINITY,
    };
    (0..condition.len())
        .map(|i| match (c.bound[i] == 0.0, condition[i] != 0) {
            (true, true) => a.bound[i],
            (true, false) => b.bound[i],
            // Whichever is taken, it is that far from the one that should be.
            (false, _) => distance(i) + a.bound[i].max(b.bound[i]),
        })
        .collect()
}

fn sum(x: &Cell, values: &[f64], shape: &[usize], axis: usize) -> Vec<f64> {
    let pairs: Vec<(f64, f64)> = values.iter().copied().zip(x.bound.iter().copied()).collect();
    moves::fold(&pairs, shape, axis, |group| {
        let (mut total, mut bound, mut finest) = (0.0, 0.0, f64::INFINITY);
        for (v, b) in group {
            total += v.abs();
            bound += b;
            finest = grid(*v).min(finest);
        }
        accumulated(total, bound, finest, chain(group.len(), true))
    })
}

/// Bound of a sum whose terms' sizes add up to `total` and their bounds to `bound`.
fn accumulated(total: f64, bound: f64, finest: f64, chain: f64) -> f64 {
    if bound == 0.0 && exact_sum(total, finest) {
        return 0.0;
    }
    let growth = chain * EPS / (1.0 - chain * EPS);
    checked(total, bound + (total + bound) * growth + chain * TINY)
}

fn matmul(p: moves::BatchedProduct, a: &Cell, b: &Cell) -> Vec<f64> {
    let (Data::F64(x), Data::F64(y)) = (&a.data, &b.data) else { return Vec::new() };
    let sizes = |v: &[f64]| v.iter().map(|v| v.abs()).collect::<Vec<f64>>();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| times(*a, *b)).sum::<f64>();
    let (ax, by) = (sizes(x), sizes(y));
    let totals = p.each(&ax, &by, dot);
    let grids = |v: &[f64]| v.iter().map(|v| grid(*v)).collect::<Vec<f64>>();
    let finest = p.each(&grids(x), &grids(y), |a, b| a.iter().zip(b).map(|(a, b)| a * b).fold(f64::INFINITY, f64::min));
    let left = p.each(&a.bound, &by, dot);
    let right = p.each(&ax, &b.bound, dot);
    let both = p.each(&a.bound, &b.bound, dot);
    (0..totals.len())
        .map(|i| accumulated(totals[i], left[i] + right[i] + both[i], finest[i], chain(p.k, false)))
        .collect()
}

fn reduce_max(x: &Cell, shape: &[usize], axis: usize) -> Vec<f64> {
    let values: Vec<f64> = match &x.data {
        Data::F64(v) => v.clone(),
        Data::U32(v) => v.iter().map(|v| f64::from(*v)).collect(),
    };
    let pairs: Vec<(f64, f64)> = values.into_iter().zip(x.bound.iter().copied()).collect();
    moves::fold(&pairs, shape, axis, |group| {
        let least = group.iter().map(|(v, b)| v - b).fold(f64::NEG_INFINITY, f64::max);
        group.iter().filter(|(v, b)| v + b >= least).map(|(_, b)| *b).fold(0.0, f64::max)
    })
}

/// Bounds of an operation that computes; those of operations that move elements move with them.
pub(super) fn of(node: &Node, src: &[&Cell], shapes: &[&[usize]], result: &Data) -> Vec<f64> {
    match (&node.op, src) {
        (Op::Unary(op), [x]) => unary(*op, x, result),
        (Op::Binary(op), [x, y]) => binary(*op, x, y, result),
        (Op::Select, [c, a, b]) => select(c, a, b),
        (Op::Sum { axis }, [x]) => match &x.data {
            Data::F64(values) => sum(x, values, shapes[0], *axis),
            Data::U32(_) => vec![f64::INFINITY; result.len()],
        },
        (Op::ReduceMax { axis }, [x]) => reduce_max(x, shapes[0], *axis),
        (Op::MatMul { ta, tb }, [a, b]) => matmul(moves::BatchedProduct::new(shapes[0], &node.shape, *ta, *tb), a, b),
        _ => (0..result.len()).map(|i| src.iter().map(|c| c.bound[i]).sum()).collect(),
    }
}
