//! Rows of leaves and of elementwise primitives.

use quickstudy_core::tensor::{Binary, Unary};
use quickstudy_core::{DType, Tensor};

use super::{Domain, Primitive, Row};
use crate::random_graph::{Kind, binary, unary};

/// How an operand of an elementwise primitive lies in memory.
struct Layout {
    name: &'static str,
    /// Shape of the argument.
    of: &'static [usize],
    /// From the argument to the operand.
    view: fn(Tensor) -> Tensor,
}

const LAYOUTS: [Layout; 11] = [
    Layout { name: "[]", of: &[], view: |t| t },
    Layout { name: "[1]", of: &[1], view: |t| t },
    Layout { name: "[7]", of: &[7], view: |t| t },
    Layout { name: "[3, 5]", of: &[3, 5], view: |t| t },
    Layout { name: "permuted [7, 5]", of: &[5, 7], view: |t| t.transpose() },
    Layout { name: "sliced [4, 5]", of: &[4, 9], view: |t| t.slice(1, 2, 7) },
    Layout { name: "repeated [4, 6]", of: &[1, 6], view: |t| t.broadcast_to(&[4, 6]) },
    Layout { name: "reshaped of permuted [15, 2]", of: &[2, 3, 5], view: |t| t.permute(&[1, 2, 0]).reshape(&[15, 2]) },
    Layout { name: "padded [5, 3]", of: &[2, 3], view: |t| t.slice(0, 1, 2).broadcast_to(&[5, 3]) },
    Layout { name: "[300, 17]", of: &[300, 17], view: |t| t },
    Layout { name: "[2, 4099]", of: &[2, 4099], view: |t| t },
];

/// Domain, and whether the function is smooth in it.
fn domain(op: Unary) -> (Domain, bool) {
    match op {
        Unary::Neg => (Domain::Real(-3.0, 3.0), true),
        Unary::Recip => (Domain::Away(0.3, 3.0), true),
        Unary::Exp => (Domain::Real(-4.0, 4.0), true),
        Unary::Log | Unary::Sqrt => (Domain::Real(0.1, 10.0), true),
        Unary::Sin | Unary::Cos => (Domain::Real(-20.0, 20.0), true),
        Unary::Tanh => (Domain::Real(-4.0, 4.0), true),
        Unary::Floor => (Domain::Grid(0.0), false),
        Unary::Cast(DType::F32) => (Domain::Bits, false),
        Unary::Cast(DType::U32) => {
            (Domain::These(&[0.0, 1.0, 2.75, -1.5, 255.0, 8_388_609.0, 3e9, 4_294_967_040.0, 1e10, -1e20]), false)
        }
        // Patterns of normal numbers.
        Unary::Bitcast(DType::F32) => (Domain::Below(0x7f00_0000), false),
        Unary::Bitcast(DType::U32) => (Domain::Real(-100.0, 100.0), false),
        Unary::Stop => (Domain::Real(-3.0, 3.0), false),
    }
}

pub(super) fn unary_rows(op: Unary) -> Vec<Row> {
    let (domain, smooth) = domain(op);
    let row = |l: &Layout| {
        let view = l.view;
        // The other operation keeps the primitive inside of a kernel.
        let build = move |t: &[Tensor]| {
            let y = unary(op, view(t[0]));
            let one = if y.dtype() == DType::F32 { Tensor::constant_f32(1.25) } else { Tensor::constant_u32(1) };
            vec![y, y + one]
        };
        Row::new(l.name, &[(l.of, domain)], build).smooth(smooth)
    };
    let mut rows: Vec<Row> = LAYOUTS.iter().map(row).collect();
    let wide = match op {
        Unary::Exp => Some(Domain::Real(-86.0, 86.0)),
        Unary::Log => Some(Domain::Real(1e-30, 1e30)),
        Unary::Sin | Unary::Cos => Some(Domain::Real(-1e4, 1e4)),
        Unary::Tanh => Some(Domain::Real(-40.0, 40.0)),
        Unary::Sqrt => Some(Domain::Real(0.0, 1e30)),
        Unary::Recip => Some(Domain::Away(1e-20, 1e20)),
        _ => None,
    };
    rows.extend(wide.map(|d| Row::new("wide", &[(&[5000], d)], move |t| vec![unary(op, t[0])])));
    rows
}

/// Argument shapes and views of two operands.
type Pair = (&'static str, &'static [usize], &'static [usize], fn(Tensor, Tensor) -> (Tensor, Tensor));

const PAIRS: [Pair; 11] = [
    ("[] and []", &[], &[], |a, b| (a, b)),
    ("[1] and [1]", &[1], &[1], |a, b| (a, b)),
    ("[7] and []", &[7], &[], |a, b| (a, b)),
    ("[3, 5] and [5]", &[3, 5], &[5], |a, b| (a, b)),
    ("[3, 1] and [1, 5]", &[3, 1], &[1, 5], |a, b| (a, b)),
    ("[2, 1, 5] and [2, 3, 1]", &[2, 1, 5], &[2, 3, 1], |a, b| (a, b)),
    ("permuted [7, 5] and [7, 5]", &[5, 7], &[7, 5], |a, b| (a.transpose(), b)),
    ("sliced [4, 5] and sliced [5]", &[4, 9], &[11], |a, b| (a.slice(1, 2, 7), b.slice(0, 3, 8))),
    ("[300, 17] and [17]", &[300, 17], &[17], |a, b| (a, b)),
    ("[300, 1] and [1, 17]", &[300, 1], &[1, 17], |a, b| (a, b)),
    ("[4099] and [4099]", &[4099], &[4099], |a, b| (a, b)),
];

/// Domains of both operands, and whether the function is smooth there.
fn domains(op: Binary) -> Vec<(Domain, Domain, bool)> {
    let bits = (Domain::Bits, Domain::Bits, false);
    let small = (Domain::Below(5), Domain::Below(5), false);
    match op {
        Binary::Add | Binary::Mul => vec![(Domain::Real(-3.0, 3.0), Domain::Real(-3.0, 3.0), true), bits],
        // Smooth where the operands differ; then with ties.
        Binary::Max | Binary::Min => vec![
            (Domain::Grid(0.0), Domain::Grid(0.05), true),
            (Domain::Grid(0.0), Domain::Grid(0.0), false),
            bits,
            small,
        ],
        Binary::Lt | Binary::Eq => vec![(Domain::Grid(0.0), Domain::Grid(0.0), false), bits, small],
        Binary::And | Binary::Or | Binary::Xor | Binary::Shl | Binary::Shr => vec![bits],
    }
}

pub(super) fn binary_rows(op: Binary) -> Vec<Row> {
    let mut rows = Vec::new();
    for (a, b, smooth) in domains(op) {
        for (name, sa, sb, view) in PAIRS {
            let build = move |t: &[Tensor]| {
                let (x, y) = view(t[0], t[1]);
                let z = binary(op, x, y);
                vec![z, z + z]
            };
            rows.push(Row::new(format!("{name} of {a:?}"), &[(sa, a), (sb, b)], build).smooth(smooth));
        }
        // One operand twice, and a constant.
        let twice = move |t: &[Tensor]| {
            let c = if t[0].dtype() == DType::F32 { Tensor::constant_f32(0.625) } else { Tensor::constant_u32(3) };
            vec![binary(op, t[0], t[0]), binary(op, t[0], c), binary(op, c, t[0])]
        };
        rows.push(Row::new("itself and a constant", &[(&[5], a)], twice));
    }
    rows
}

pub(super) fn select() -> Vec<Row> {
    let shapes: [[&'static [usize]; 3]; 8] = [
        [&[], &[], &[]],
        [&[1], &[1], &[1]],
        [&[7], &[7], &[]],
        [&[3, 1], &[1, 5], &[3, 5]],
        [&[5], &[3, 5], &[1, 1]],
        [&[3, 5], &[3, 1], &[5]],
        [&[300, 1], &[300, 17], &[17]],
        [&[4099], &[4099], &[4099]],
    ];
    let mut rows = Vec::new();
    for [c, a, b] in shapes {
        let real = Domain::Real(-3.0, 3.0);
        let build = |t: &[Tensor]| vec![t[0].select(t[1], t[2])];
        rows.push(Row::new(format!("{c:?}"), &[(c, Domain::Truth), (a, real), (b, real)], build).smooth(true));
        let bits = [(c, Domain::Truth), (a, Domain::Bits), (b, Domain::Bits)];
        rows.push(Row::new(format!("{c:?} of u32"), &bits, build));
    }
    let strided = |t: &[Tensor]| vec![t[0].transpose().select(t[1].slice(1, 1, 6), t[2].broadcast_to(&[3, 5]))];
    let real = Domain::Real(-3.0, 3.0);
    rows.push(Row::new("strided", &[(&[5, 3], Domain::Truth), (&[3, 8], real), (&[1, 5], real)], strided).smooth(true));
    rows
}

pub(super) fn threefry() -> Vec<Row> {
    let shapes: [[&'static [usize]; 4]; 5] = [
        [&[], &[], &[], &[]],
        [&[1], &[], &[7], &[1]],
        [&[3, 1], &[3, 1], &[1, 5], &[]],
        [&[300], &[], &[300], &[300]],
        [&[2, 1], &[2, 1], &[4099], &[]],
    ];
    let row = |s: &[&'static [usize]; 4]| {
        let build = |t: &[Tensor]| [0, 1].map(|word| Tensor::threefry([t[0], t[1]], [t[2], t[3]], word)).to_vec();
        Row::new(format!("{s:?}"), &s.map(|s| (s, Domain::Bits)), build)
    };
    shapes.iter().map(row).collect()
}

pub(super) fn permutation() -> Vec<Row> {
    let sizes = [1, 2, 3, 7, 16, 100, 1000, 4099];
    let row = |n: &usize| {
        let n = *n;
        let build = move |t: &[Tensor]| vec![Tensor::iota(&[2, n], 1).permutation([t[0], t[1]], n)];
        Row::new(format!("all of {n}"), &[(&[2, 1], Domain::Bits), (&[], Domain::Bits)], build)
    };
    sizes.iter().map(row).collect()
}

pub(super) fn leaves(primitive: Primitive) -> Vec<Row> {
    let real = Domain::Real(-3.0, 3.0);
    match primitive {
        Primitive::Const => {
            let build = |t: &[Tensor]| vec![t[0] * 0.3 + 1e-3, Tensor::full(&[2, 3], 0.1), Tensor::constant_u32(7)];
            vec![Row::new("in operations and alone", &[(&[3], real)], build).smooth(true)]
        }
        Primitive::Literal => {
            let build = |t: &[Tensor]| {
                let numbers = Tensor::literal_f32(&[0.1, -2.0, 3.5]);
                vec![t[0] * numbers, numbers, Tensor::literal_u32(&[1, u32::MAX])]
            };
            vec![Row::new("in operations and alone", &[(&[4, 3], real)], build).smooth(true)]
        }
        Primitive::Iota => {
            let build = |t: &[Tensor]| {
                let along = |axis| Tensor::iota(&[3, 5, 7], axis);
                vec![along(0), along(1), along(2) + Tensor::constant_u32(1), t[0] * Tensor::iota(&[5], 0).to_f32()]
            };
            vec![Row::new("along each axis", &[(&[300, 5], real)], build)]
        }
        Primitive::Scalar => {
            let build = |t: &[Tensor]| vec![t[0] * t[1], t[0] + t[1], Tensor::iota(&[7], 0) + t[2], t[1], t[2]];
            let mut row = Row::new("both data types", &[(&[5, 3], real), (&[], real), (&[], Domain::Bits)], build);
            row.args[1].kind = Kind::Scalar;
            row.args[2].kind = Kind::Scalar;
            vec![row]
        }
        _ => {
            let build = |t: &[Tensor]| vec![t[0], t[1], t[0].transpose(), t[0] + 1.0];
            vec![Row::new("as a result", &[(&[3, 5], real), (&[7], Domain::Bits)], build).smooth(true)]
        }
    }
}
