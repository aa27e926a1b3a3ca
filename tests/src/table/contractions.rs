//! Rows of sums, maxima and matrix products.

use quickstudy_core::Tensor;

use super::{Domain, Row};

/// Axes of operands, short ones first; 1025 and more are summed in slices.
const REDUCED: [(&[usize], usize); 14] = [
    (&[2], 0),
    (&[7], 0),
    (&[3, 5], 0),
    (&[3, 5], 1),
    (&[2, 3, 4], 1),
    (&[17, 2], 0),
    (&[2, 33], 1),
    (&[300, 17], 0),
    (&[300, 17], 1),
    (&[1000], 0),
    (&[1025], 0),
    (&[5, 2500], 1),
    (&[5000, 3], 0),
    (&[2, 20000], 1),
];

pub(super) fn sum() -> Vec<Row> {
    let mut rows = Vec::new();
    for (shape, axis) in REDUCED {
        let build = move |t: &[Tensor]| {
            let s = t[0].sum_keep(axis);
            // Alone, with operations before and after, and as in a mean that is subtracted.
            vec![s, (t[0] * t[0]).sum_keep(axis) * 0.5, t[0] - s * 0.1]
        };
        rows.push(Row::new(format!("{shape:?} over {axis}"), &[(shape, Domain::Real(-1.0, 1.0))], build).smooth(true));
    }
    let strided = |t: &[Tensor]| {
        let x = t[0];
        vec![x.transpose().sum_keep(0), x.slice(1, 1, 4).sum_keep(1), x.sum_all(), x.mean(&[0]), x.sum(&[0, 1])]
    };
    rows.push(Row::new("strided", &[(&[5, 7], Domain::Real(-1.0, 1.0))], strided).smooth(true));
    rows.push(Row::new("exact", &[(&[4, 300], Domain::Grid(0.0))], |t| vec![t[0].sum_keep(1), t[0].sum_keep(0)]));
    rows
}

pub(super) fn reduce_max() -> Vec<Row> {
    let mut rows = Vec::new();
    for (shape, axis) in REDUCED {
        for (name, domain) in [("", Domain::Apart), (" with ties", Domain::Grid(0.0)), (" of u32", Domain::Bits)] {
            let build = move |t: &[Tensor]| {
                let m = t[0].max_keep(axis);
                vec![m, m + m, (t[0] + t[0]).max_keep(axis)]
            };
            let name = format!("{shape:?} over {axis}{name}");
            rows.push(Row::new(name, &[(shape, domain)], build).smooth(domain == Domain::Apart));
        }
    }
    let strided = |t: &[Tensor]| vec![t[0].transpose().max_keep(0), t[0].slice(1, 1, 4).max_keep(1)];
    rows.push(Row::new("strided", &[(&[5, 7], Domain::Apart)], strided).smooth(true));
    rows
}

pub(super) fn matmul() -> Vec<Row> {
    // Leading axes of both, then m, k, n. A k above 1024 is summed in slices.
    type Size = (&'static [usize], &'static [usize], [usize; 3]);
    let sizes: [Size; 15] = [
        (&[], &[], [1, 1, 1]),
        (&[], &[], [1, 7, 1]),
        (&[], &[], [2, 3, 4]),
        (&[2], &[2], [3, 2, 1]),
        (&[2], &[], [2, 2, 3]),
        (&[], &[3], [2, 2, 2]),
        (&[2, 1], &[1, 2], [1, 2, 2]),
        (&[], &[], [17, 33, 9]),
        (&[2], &[2], [5, 65, 16]),
        (&[], &[], [64, 64, 64]),
        (&[1], &[1], [300, 64, 65]),
        (&[2], &[2], [301, 4, 64]),
        (&[], &[], [3, 1500, 5]),
        (&[2], &[2], [64, 2500, 6]),
        (&[], &[], [600, 33, 2]),
    ];
    let mut rows = Vec::new();
    for (la, lb, [m, k, n]) in sizes {
        for (ta, tb) in [(false, false), (true, false), (false, true), (true, true)] {
            let a = [la, &if ta { [k, m] } else { [m, k] }].concat();
            let b = [lb, &if tb { [n, k] } else { [k, n] }].concat();
            let real = Domain::Real(-1.0, 1.0);
            let build = move |t: &[Tensor]| {
                let y = t[0].matmul_with(t[1], ta, tb);
                vec![y, (t[0] * 0.5).matmul_with(t[1], ta, tb) + 1.0]
            };
            let name = format!("{a:?} {ta} by {b:?} {tb}");
            rows.push(Row::new(name, &[(&a, real), (&b, real)], build).smooth(true));
        }
    }
    let layer = |t: &[Tensor]| {
        let h = (t[0].matmul(t[1]) + t[2]).tanh();
        vec![h, t[0].matmul_with(h, true, false), h.sum_keep(0)]
    };
    for rows_of_x in [5, 200] {
        let real = Domain::Real(-1.0, 1.0);
        let x = [rows_of_x, 4];
        rows.push(
            Row::new(format!("layer of {rows_of_x}"), &[(&x, real), (&[4, 6], real), (&[6], real)], layer).smooth(true),
        );
    }
    let strided = |t: &[Tensor]| {
        let (a, b) = (t[0], t[1]);
        vec![
            a.transpose().matmul(b.slice(0, 1, 4)),
            a.matmul(b.slice(0, 0, 4).slice(1, 1, 3)),
            b.slice(1, 1, 4).matmul(a),
            a.slice(1, 0, 1).broadcast_to(&[3, 4]).matmul(b.slice(0, 1, 5)),
        ]
    };
    let real = Domain::Real(-1.0, 1.0);
    rows.push(Row::new("strided", &[(&[3, 4], real), (&[5, 4], real)], strided).smooth(true));
    rows.push(Row::new("exact", &[(&[20, 30], Domain::Grid(0.0)), (&[30, 9], Domain::Grid(0.0))], |t| {
        vec![t[0].matmul(t[1])]
    }));
    rows
}
