//! Rows of loops and calls.

use quickstudy_core::Tensor;
use quickstudy_core::tensor::{Loop, scan, scan_until};

use super::{Domain, Row};
use crate::random_graph::Twin;

fn carry(c: Tensor) -> Loop {
    Loop { carry: vec![c], ys: vec![] }
}

/// c ← tanh(c·w + x), y = c·u with w and u from outside.
fn recurrent(reverse: bool) -> impl Fn(&[Tensor]) -> Vec<Tensor> {
    move |t| {
        let (x, c, w, u) = (t[0], t[1], t[2], t[3]);
        let (c, y) = scan(x.size(0), reverse, &[c], &[x], |_, c, x| {
            let next = (c[0].matmul(w) + x[0]).tanh();
            Loop { carry: vec![next], ys: vec![next * u, c[0]] }
        });
        vec![c[0], y[0], y[1]]
    }
}

pub(super) fn scans() -> Vec<Row> {
    let real = Domain::Real(-1.0, 1.0);
    let mut rows = Vec::new();
    for (steps, n) in [(1, 1), (3, 2), (4, 300)] {
        for reverse in [false, true] {
            let shapes: [&[usize]; 4] = [&[steps, 1, n, 3], &[1, n, 3], &[1, 3, 3], &[3]];
            let name = format!("{steps} steps of {n} rows, reverse {reverse}");
            rows.push(Row::new(name, &shapes.map(|s| (s, real)), recurrent(reverse)).smooth(true));
        }
    }
    let discounted = |t: &[Tensor]| {
        let (c, y) = scan(5, true, &[t[1]], &[t[0]], |_, c, x| {
            let c = c[0] * 0.9 + x[0];
            Loop { carry: vec![c], ys: vec![c] }
        });
        vec![c[0], y[0]]
    };
    rows.push(Row::new("discounted sums", &[(&[5, 3], real), (&[3], real)], discounted).smooth(true));
    rows.push(Row::new("discounted sums of many", &[(&[5, 400], real), (&[400], real)], discounted).smooth(true));
    let swap = |t: &[Tensor]| {
        let (c, _) = scan(3, false, &[t[0], t[1]], &[], |_, c, _| Loop { carry: vec![c[1], c[0] + c[1]], ys: vec![] });
        c
    };
    rows.push(Row::new("carries that change places", &[(&[4], real), (&[4], real)], swap).smooth(true));
    let nested = |t: &[Tensor]| {
        let (x, c, k) = (t[0], t[1], t[2]);
        let (c, y) = scan(2, false, &[c], &[x], |i, c, x| {
            let (d, z) = scan(3, true, &[c[0]], &[], |j, d, _| {
                let weight = i.to_f32() + j.to_f32() * 0.5;
                Loop { carry: vec![(d[0] * k + x[0] * weight).sin()], ys: vec![d[0] * c[0]] }
            });
            Loop { carry: d, ys: vec![z[0].sum_keep(0)] }
        });
        vec![c[0], y[0]]
    };
    rows.push(Row::new("nested", &[(&[2, 3], real), (&[3], real), (&[], real)], nested).smooth(true));
    let memory = |t: &[Tensor]| {
        let (c, _) = scan(4, false, &[t[0]], &[t[1]], |i, c, x| {
            carry(c[0].store((i + Tensor::constant_u32(1)).reshape(&[1]), x[0].reshape(&[1, 3])))
        });
        c
    };
    rows.push(Row::new("rows stored", &[(&[5, 3], real), (&[4, 3], real)], memory).smooth(true));
    let old_rows = |t: &[Tensor]| {
        let (c, y) = scan(4, false, &[t[0]], &[t[1]], |i, c, x| {
            let at = (i + Tensor::constant_u32(1)).reshape(&[1]);
            let new = c[0].store(at, x[0].reshape(&[1, 3])).store(i.reshape(&[1]), c[0].slice(0, 4, 5) * 0.5);
            // Old numbers that only follow new ones.
            Loop { carry: vec![new], ys: vec![(c[0] * new.sum_keep(0)).sum_keep(1)] }
        });
        vec![c[0], y[0]]
    };
    rows.push(Row::new("rows stored, old ones read", &[(&[5, 3], real), (&[4, 3], real)], old_rows).smooth(true));
    // Stops once the counter, a sum of multiples of an eighth, is above 1.
    let until = |t: &[Tensor]| {
        let (c, y) = scan_until(6, &[t[0], Tensor::constant_f32(0.0)], &[], |_, c, _| {
            let count = c[1] + 0.375;
            (Loop { carry: vec![(c[0] * 1.5).sin(), count], ys: vec![c[0]] }, Tensor::constant_f32(1.0).lt(count))
        });
        vec![c[0], c[1], y[0]]
    };
    rows.push(Row::new("until", &[(&[3], real)], until).smooth(true));
    rows.extend(ends_by_rows());
    let random = |t: &[Tensor]| {
        let (c, y) = scan(3, false, &[t[0]], &[t[1]], |i, c, x| {
            let bits = Tensor::threefry([c[0], i], [x[0], Tensor::constant_u32(1)], 0);
            Loop { carry: vec![bits], ys: vec![bits.bit_xor(c[0])] }
        });
        vec![c[0], y[0]]
    };
    rows.push(Row::new("random bits", &[(&[100], Domain::Bits), (&[3, 100], Domain::Bits)], random));
    let gathered = |t: &[Tensor]| {
        let (c, _) = scan(4, false, &[t[0].slice(0, 0, 1)], &[], |i, c, _| {
            carry(c[0] * 0.5 + t[0].stop_gradient().gather(i.reshape(&[1])))
        });
        c
    };
    rows.push(Row::new("rows gathered", &[(&[6, 5], real)], gathered));
    rows
}

/// Loops whose rows end once a count of theirs, of multiples of an eighth, is above 1; some do not.
fn ends_by_rows() -> Vec<Row> {
    let real = Domain::Real(-1.0, 1.0);
    let build = |rows: [usize; 2], stacked: bool, own: bool| {
        move |t: &[Tensor]| {
            let first = Tensor::iota(&rows, 1).bit_and(Tensor::constant_u32(7)).to_f32() * 0.125 - 0.875;
            let (c, y) = scan_until(6, &[t[0], t[1], first], &[], |_, c, _| {
                // Each row, or all of a group.
                let near = if own { c[0] } else { c[0] * 0.5 + c[0].mean(&[1]).unsqueeze(1) };
                let next = (near * 1.5 + c[1].unsqueeze(2)).sin();
                let count = c[2] + 0.375;
                let ys = if stacked { vec![c[0], count] } else { vec![] };
                let carry = vec![next, c[1] * 0.5 + next.sum(&[2]), count];
                (Loop { carry, ys }, Tensor::constant_f32(1.0).lt(count))
            });
            [c, y].concat()
        }
    };
    let mut found = Vec::new();
    for (rows, n) in [([2, 5], 3), ([1, 1], 2), ([3, 150], 1)] {
        for stacked in [false, true] {
            for own in [true, false] {
                let shapes: [&[usize]; 2] = [&[rows[0], rows[1], n], &rows];
                let name = format!("until by rows {rows:?}, {n} numbers, stacked {stacked}, apart {own}");
                found.push(Row::new(name, &shapes.map(|s| (s, real)), build(rows, stacked, own)).smooth(true));
            }
        }
    }
    found
}

pub(super) fn calls() -> Vec<Row> {
    let mut rows = Vec::new();
    let shapes: [(&'static [usize], &'static [usize]); 6] = [
        (&[1, 1], &[1, 1]),
        (&[3, 2], &[3, 1]),
        (&[2, 3, 2], &[2, 3, 3]),
        (&[300, 3], &[300, 2]),
        (&[2, 17, 1], &[2, 17, 4]),
        (&[16, 2], &[16, 2]),
    ];
    for twin in Twin::ALL {
        for (a, b) in shapes {
            let build = move |t: &[Tensor]| {
                let results = twin.call(t[0], t[1]);
                let after = results[0] * 2.0;
                [results, vec![after]].concat()
            };
            // Twins take maxima: keep the operands apart.
            let args = [(a, Domain::Grid(0.0)), (b, Domain::Grid(0.05))];
            rows.push(Row::new(format!("{twin:?} of {a:?} and {b:?}"), &args, build).smooth(true));
        }
    }
    let inside = |t: &[Tensor]| {
        let (c, y) = scan(3, false, &[t[0]], &[t[1]], |_, c, x| {
            let next = Twin::Spring.call(c[0], x[0])[0];
            Loop { carry: vec![next.tanh()], ys: vec![next] }
        });
        vec![c[0], y[0]]
    };
    for n in [2, 200] {
        let real = Domain::Real(-1.0, 1.0);
        let shapes: [&[usize]; 2] = [&[n, 2], &[3, n, 1]];
        rows.push(Row::new(format!("in a loop, {n} rows"), &shapes.map(|s| (s, real)), inside).smooth(true));
    }
    rows
}
