//! Rows of the primitives that move elements.

use quickstudy_core::{DType, Tensor};

use super::{Domain, Primitive, Row};

/// A view as a result, as an operand, and of a computed value.
fn used(view: fn(Tensor) -> Tensor) -> impl Fn(&[Tensor]) -> Vec<Tensor> {
    move |t| {
        let one = if t[0].dtype() == DType::F32 { Tensor::constant_f32(0.75) } else { Tensor::constant_u32(5) };
        let v = view(t[0]);
        vec![v, v + one, view(t[0] + one), view(view_again(t[0]))]
    }
}

/// A strided tensor of the shape and elements of `t`'s reverse order of axes, twice.
fn view_again(t: Tensor) -> Tensor {
    let rank = t.rank();
    let back: Vec<usize> = (0..rank).rev().collect();
    if rank < 2 { t } else { (t.permute(&back) + t.permute(&back)).permute(&back) }
}

type View = (&'static str, &'static [usize], fn(Tensor) -> Tensor);

fn all(views: &[View]) -> Vec<Row> {
    let mut rows = Vec::new();
    for (name, shape, view) in views {
        rows.push(Row::new(*name, &[(shape, Domain::Real(-3.0, 3.0))], used(*view)).smooth(true));
        rows.push(Row::new(format!("{name} of u32"), &[(shape, Domain::Bits)], used(*view)));
    }
    rows
}

pub(super) fn views(primitive: Primitive) -> Vec<Row> {
    match primitive {
        Primitive::Reshape => all(&[
            ("[1] → []", &[1], |t| t.reshape(&[])),
            ("[] → [1, 1]", &[], |t| t.reshape(&[1, 1])),
            ("[6] → [2, 3]", &[6], |t| t.reshape(&[2, 3])),
            ("[2, 3, 5] → [6, 5]", &[2, 3, 5], |t| t.reshape(&[6, 5])),
            ("[2, 15] → [2, 3, 5]", &[2, 15], |t| t.reshape(&[2, 3, 5])),
            ("of permuted", &[2, 3, 5], |t| t.permute(&[2, 0, 1]).reshape(&[10, 3])),
            ("of sliced", &[4, 6], |t| t.slice(1, 1, 4).reshape(&[2, 6])),
            ("[300, 16] → [1200, 4]", &[300, 16], |t| t.reshape(&[1200, 4])),
        ]),
        Primitive::Permute => all(&[
            ("[3, 5] transposed", &[3, 5], |t| t.transpose()),
            ("[2, 3, 5] by 021", &[2, 3, 5], |t| t.permute(&[0, 2, 1])),
            ("[2, 3, 5] by 102", &[2, 3, 5], |t| t.permute(&[1, 0, 2])),
            ("[2, 3, 5] by 120", &[2, 3, 5], |t| t.permute(&[1, 2, 0])),
            ("[2, 3, 5] by 201", &[2, 3, 5], |t| t.permute(&[2, 0, 1])),
            ("[2, 3, 5] by 210", &[2, 3, 5], |t| t.permute(&[2, 1, 0])),
            ("[2, 1, 3, 2] by 3120", &[2, 1, 3, 2], |t| t.permute(&[3, 1, 2, 0])),
            ("[300, 17] transposed", &[300, 17], |t| t.transpose()),
        ]),
        Primitive::Broadcast => all(&[
            ("[1] → [7]", &[1], |t| t.broadcast_to(&[7])),
            ("[5] → [3, 5]", &[5], |t| t.broadcast_to(&[3, 5])),
            ("[3, 1] → [3, 5]", &[3, 1], |t| t.broadcast_to(&[3, 5])),
            ("[2, 1, 3] → [2, 4, 3]", &[2, 1, 3], |t| t.broadcast_to(&[2, 4, 3])),
            ("[1, 1] → [2, 3, 5]", &[1, 1], |t| t.broadcast_to(&[2, 3, 5])),
            ("of sliced", &[4, 3], |t| t.slice(0, 2, 3).broadcast_to(&[6, 3])),
            ("[17] → [300, 17]", &[17], |t| t.broadcast_to(&[300, 17])),
        ]),
        Primitive::Slice => all(&[
            ("[7] 2..3", &[7], |t| t.slice(0, 2, 3)),
            ("[5, 4] rows 1..4", &[5, 4], |t| t.slice(0, 1, 4)),
            ("[5, 4] columns 1..3", &[5, 4], |t| t.slice(1, 1, 3)),
            ("of a slice", &[5, 6], |t| t.slice(1, 1, 5).slice(0, 2, 4).slice(1, 1, 2)),
            ("of permuted", &[3, 5], |t| t.transpose().slice(0, 1, 4)),
            ("[300, 17] columns 3..8", &[300, 17], |t| t.slice(1, 3, 8)),
        ]),
        Primitive::Pad => all(&[
            ("[1] by 2, 1", &[1], |t| t.pad(0, 2, 1)),
            ("[3, 4] rows by 1, 0", &[3, 4], |t| t.pad(0, 1, 0)),
            ("[3, 4] columns by 0, 3", &[3, 4], |t| t.pad(1, 0, 3)),
            ("[2, 3, 2] in the middle", &[2, 3, 2], |t| t.pad(1, 2, 1)),
            ("of permuted", &[3, 4], |t| t.transpose().pad(0, 1, 2)),
            ("sliced after", &[5], |t| t.pad(0, 2, 2).slice(0, 1, 6)),
            ("[300, 5] columns by 1, 2", &[300, 5], |t| t.pad(1, 1, 2)),
        ]),
        _ => all(&[
            ("[1] twice", &[1], |t| Tensor::concat(&[t, t], 0)),
            ("[3, 2] rows", &[3, 2], |t| Tensor::concat(&[t, t.slice(0, 1, 2), t], 0)),
            ("[3, 2] columns", &[3, 2], |t| Tensor::concat(&[t.slice(1, 1, 2), t], 1)),
            ("[2, 3, 2] middle", &[2, 3, 2], |t| Tensor::concat(&[t, t.slice(1, 0, 2)], 1)),
            ("of permuted", &[3, 3], |t| Tensor::concat(&[t, t.transpose()], 1)),
            ("stacked", &[4], |t| Tensor::stack(&[t, t], 1)),
            ("[300, 5] columns", &[300, 5], |t| Tensor::concat(&[t, t.slice(1, 2, 5)], 1)),
        ]),
    }
}

pub(super) fn gather() -> Vec<Row> {
    // Source, index; indices of n or more read the last row.
    let shapes: [(&'static [usize], &'static [usize]); 10] = [
        (&[1], &[1]),
        (&[7], &[3]),
        (&[5], &[11]),
        (&[4, 3], &[6]),
        (&[2, 4], &[2, 3]),
        (&[2, 4, 3], &[2, 5]),
        (&[3, 2, 2, 2], &[3, 1]),
        (&[300, 17], &[100]),
        (&[2, 40, 5], &[2, 300]),
        (&[2, 3, 4, 5], &[2, 3, 2]),
    ];
    let mut rows = Vec::new();
    for (source, index) in shapes {
        let n = source[index.len() - 1] as u32;
        for (name, domain) in [("", Domain::Real(-3.0, 3.0)), (" of u32", Domain::Bits)] {
            let build = |t: &[Tensor]| vec![t[0].gather(t[1]), (t[0] + t[0]).gather(t[1])];
            let name = format!("{source:?} at {index:?}{name}");
            rows.push(Row::new(name, &[(source, domain), (index, Domain::Below(n + 2))], build));
        }
    }
    let strided = |t: &[Tensor]| vec![t[0].transpose().gather(t[1].transpose().reshape(&[6]))];
    let args: [(&[usize], Domain); 2] = [(&[3, 5], Domain::Real(-3.0, 3.0)), (&[2, 3], Domain::Below(5))];
    rows.push(Row::new("strided", &args, strided));
    rows
}

pub(super) fn store() -> Vec<Row> {
    // Destination, index; an index is a permutation of a range a little larger than the rows.
    let shapes: [(&'static [usize], &'static [usize]); 8] = [
        (&[1], &[1]),
        (&[7], &[3]),
        (&[4, 3], &[2]),
        (&[2, 4], &[2, 3]),
        (&[2, 4, 3], &[2, 4]),
        (&[3, 2, 2], &[3, 1]),
        (&[300, 17], &[100]),
        (&[2, 300, 5], &[2, 64]),
    ];
    let mut rows = Vec::new();
    for (to, index) in shapes {
        let axis = index.len() - 1;
        let from = [index, &to[index.len()..]].concat();
        let n = to[axis] + 2;
        for (name, domain) in [("", Domain::Real(-3.0, 3.0)), (" of u32", Domain::Bits)] {
            let build = move |t: &[Tensor]| {
                let key = [t[2], Tensor::constant_u32(3)];
                let at = Tensor::iota(index, axis).permutation(key, n);
                vec![t[0].store(at, t[1]), (t[0] + t[0]).store(at, t[1] + t[1])]
            };
            let args: [(&[usize], Domain); 3] = [(to, domain), (&from, domain), (&[], Domain::Bits)];
            rows.push(Row::new(format!("{to:?} at {index:?}{name}"), &args, build).smooth(name.is_empty()));
        }
    }
    rows
}
