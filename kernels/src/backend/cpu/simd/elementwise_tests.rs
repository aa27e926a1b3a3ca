//! Every kernel against plain scalar code, bit for bit, on every instruction set that the processor has.

use super::*;
use crate::{math, rng};

pub(crate) const UNARY: [UnaryOp; 11] = [
    UnaryOp::Neg,
    UnaryOp::Recip,
    UnaryOp::Exp,
    UnaryOp::Log,
    UnaryOp::Sqrt,
    UnaryOp::Sin,
    UnaryOp::Cos,
    UnaryOp::Tanh,
    UnaryOp::Floor,
    UnaryOp::ToU32,
    UnaryOp::ToF32,
];

pub(crate) const BINARY: [BinaryOp; 18] = [
    BinaryOp::Add,
    BinaryOp::Mul,
    BinaryOp::TanhGrad,
    BinaryOp::Max,
    BinaryOp::Min,
    BinaryOp::Lt,
    BinaryOp::Eq,
    BinaryOp::AddU,
    BinaryOp::MulU,
    BinaryOp::MaxU,
    BinaryOp::MinU,
    BinaryOp::LtU,
    BinaryOp::EqU,
    BinaryOp::And,
    BinaryOp::Or,
    BinaryOp::Xor,
    BinaryOp::Shl,
    BinaryOp::Shr,
];

/// Few for Miri, which takes ten thousand times as long.
const LENGTHS: &[usize] = if cfg!(miri) { &[0, 1, 17] } else { &[0, 1, 2, 3, 15, 16, 17, 31, 32, 64, 100, 345] };

fn scalar_unary(op: UnaryOp, x: f32) -> f32 {
    match op {
        UnaryOp::Neg => -x,
        UnaryOp::Recip => 1.0 / x,
        UnaryOp::Exp => math::exp(x),
        UnaryOp::Log => math::log(x),
        UnaryOp::Sqrt => x.sqrt(),
        UnaryOp::Sin => math::sin(x),
        UnaryOp::Cos => math::cos(x),
        UnaryOp::Tanh => math::tanh(x),
        UnaryOp::Floor => x.floor(),
        UnaryOp::ToU32 => f32::from_bits(x as u32),
        UnaryOp::ToF32 => x.to_bits() as f32,
    }
}

fn scalar_binary(op: BinaryOp, a: f32, b: f32) -> f32 {
    let (u, v) = (a.to_bits(), b.to_bits());
    f32::from_bits(match op {
        BinaryOp::Add => (a + b).to_bits(),
        BinaryOp::Mul => (a * b).to_bits(),
        BinaryOp::TanhGrad => (a * (1.0 + -(b * b))).to_bits(),
        BinaryOp::Max => (if a < b { b } else { a }).to_bits(),
        BinaryOp::Min => (if b < a { b } else { a }).to_bits(),
        BinaryOp::Lt => u32::from(a < b),
        BinaryOp::Eq => u32::from(a == b),
        BinaryOp::AddU => u.wrapping_add(v),
        BinaryOp::MulU => u.wrapping_mul(v),
        BinaryOp::MaxU => u.max(v),
        BinaryOp::MinU => u.min(v),
        BinaryOp::LtU => u32::from(u < v),
        BinaryOp::EqU => u32::from(u == v),
        BinaryOp::And => u & v,
        BinaryOp::Or => u | v,
        BinaryOp::Xor => u ^ v,
        BinaryOp::Shl => u.wrapping_shl(v),
        BinaryOp::Shr => u.wrapping_shr(v),
    })
}

/// Numbers of every kind: a mix of special values, moderate floats and random bits.
fn values(len: usize, seed: u32) -> Vec<f32> {
    let special = [0.0, -0.0, 1.0, -1.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1e-42, f32::MAX, 4e9, -3.5];
    (0..len as u32)
        .map(|i| {
            let bits = rng::threefry2x32([seed, 7], [i, 0]);
            match bits[1] % 4 {
                0 => special[bits[0] as usize % special.len()],
                1 => f32::from_bits(bits[0]),
                2 => f32::from_bits(bits[0] % 40), // small integers: shifts, equal pairs
                _ => (rng::uniform(bits[0]) - 0.5) * 20.0,
            }
        })
        .collect()
}

/// Equal bits, any NaN standing for any other.
fn same(got: &[f32], want: &[f32], what: &str) {
    assert_eq!(got.len(), want.len());
    for (i, (g, w)) in got.iter().zip(want).enumerate() {
        assert!(g.to_bits() == w.to_bits() || (g.is_nan() && w.is_nan()), "{what} at {i}: {g:e}, expected {w:e}");
    }
}

#[test]
fn unary_kernels_equal_scalar_code() {
    for isa in Isa::available() {
        for (op, len) in UNARY.into_iter().flat_map(|op| LENGTHS.iter().map(move |&len| (op, len))) {
            let what = format!("{isa} {op:?} {len}");
            let x = values(len, 1);
            let want: Vec<f32> = x.iter().map(|x| scalar_unary(op, *x)).collect();
            let mut got = vec![0.0; len];
            unary(isa, op, &mut got, Operand::Slice(&x));
            same(&got, &want, &what);
            let mut got = x;
            unary(isa, op, &mut got, Operand::Dst);
            same(&got, &want, &what);
            unary(isa, op, &mut got, Operand::Splat(0.3));
            same(&got, &vec![scalar_unary(op, 0.3); len], &what);
        }
    }
}

#[test]
fn binary_kernels_equal_scalar_code() {
    for isa in Isa::available() {
        for (op, len) in BINARY.into_iter().flat_map(|op| LENGTHS.iter().map(move |&len| (op, len))) {
            let (a, b, s) = (values(len, 1), values(len, 2), f32::from_bits(5));
            let at = |x: Operand, i: usize| match x {
                Operand::Slice(x) => x[i],
                Operand::Splat(x) => x,
                Operand::Dst => a[i],
            };
            let (slice_a, slice_b, splat) = (Operand::Slice(&a), Operand::Slice(&b), Operand::Splat(s));
            let forms = [
                (slice_a, slice_b),
                (slice_a, splat),
                (splat, slice_b),
                (splat, splat),
                (Operand::Dst, slice_b),
                (slice_b, Operand::Dst),
                (Operand::Dst, Operand::Dst),
                (Operand::Dst, splat),
                (splat, Operand::Dst),
            ];
            for (x, y) in forms {
                let want: Vec<f32> = (0..len).map(|i| scalar_binary(op, at(x, i), at(y, i))).collect();
                let mut got = a.clone();
                binary(isa, op, &mut got, x, y);
                same(&got, &want, &format!("{isa} {op:?} {len} {x:?} {y:?}"));
            }
        }
    }
}

#[test]
fn select_equals_scalar_code() {
    for isa in Isa::available() {
        for &len in LENGTHS {
            let mask: Vec<f32> = (0..len as u32).map(|i| f32::from_bits(i * i % 3)).collect();
            let (a, b) = (values(len, 1), values(len, 2));
            let operands =
                |x: &[f32]| [Operand::Splat(2.5), Operand::Splat(0.0), Operand::Dst].map(|o| (o, x.to_vec()));
            let at = |x: Operand, dst: &[f32], i: usize| match x {
                Operand::Slice(x) => x[i],
                Operand::Splat(x) => x,
                Operand::Dst => dst[i],
            };
            let sets = [operands(&a), operands(&b), operands(&mask)].concat();
            for (x, dst) in sets {
                for (m, u, v) in [
                    (Operand::Slice(&mask), Operand::Slice(&a), x),
                    (Operand::Slice(&mask), x, Operand::Slice(&b)),
                    (Operand::Slice(&mask), x, x),
                    (Operand::Slice(&mask), Operand::Slice(&a), Operand::Slice(&b)),
                    (x, Operand::Slice(&a), Operand::Slice(&b)),
                ] {
                    let want: Vec<f32> = (0..len)
                        .map(|i| if at(m, &dst, i).to_bits() != 0 { at(u, &dst, i) } else { at(v, &dst, i) })
                        .collect();
                    let mut got = dst.clone();
                    select(isa, &mut got, m, u, v);
                    same(&got, &want, &format!("{isa} select {len} {x:?}"));
                }
            }
        }
    }
}

#[test]
fn threefry_equals_the_random_number_module() {
    for isa in Isa::available() {
        for &len in LENGTHS {
            let counter: Vec<f32> = (0..len as u32).map(f32::from_bits).collect();
            let keys: Vec<f32> = (0..len as u32).map(|i| f32::from_bits(i.wrapping_mul(0x9e37_79b9))).collect();
            let (mut x0, mut x1) = (vec![0.0; len], vec![0.0; len]);
            let operands = [
                Operand::Slice(&keys),
                Operand::Splat(f32::from_bits(11)),
                Operand::Slice(&counter),
                Operand::Splat(f32::from_bits(3)),
            ];
            threefry(isa, &mut x0, &mut x1, operands);
            for i in 0..len {
                let want = rng::threefry2x32([keys[i].to_bits(), 11], [i as u32, 3]);
                assert_eq!([x0[i].to_bits(), x1[i].to_bits()], want, "{isa} {len} {i}");
            }
        }
    }
}

#[test]
#[should_panic(expected = "differ in length")]
fn operands_of_another_length_are_refused() {
    unary(Isa::Baseline, UnaryOp::Neg, &mut [0.0; 3], Operand::Slice(&[0.0; 2]));
}
