use std::panic::Location;

use super::*;
use crate::tensor::{DType, Loop, Op, Tensor, push, scan, scan_until};

fn input(i: u32, shape: &[usize]) -> Tensor {
    push(Op::Input(i), &[], shape.to_vec(), DType::F32, Location::caller())
}

/// Trace with f32 inputs of these shapes and values, then evaluate with bounds.
fn run(inputs: &[(&[usize], &[f64])], f: impl FnOnce(&[Tensor]) -> Vec<Tensor>) -> Vec<Bounded> {
    let (outs, graph) = Graph::trace(|| {
        let tensors: Vec<Tensor> = inputs.iter().enumerate().map(|(i, (s, _))| input(i as u32, s)).collect();
        f(&tensors).into_iter().map(Tensor::raw).collect::<Vec<_>>()
    })
    .unwrap();
    let values: Vec<Value> = inputs.iter().map(|(s, v)| Value::f64(s, v.to_vec())).collect();
    let bounded = evaluate_with_bounds(&graph, &outs, &values, &[]).unwrap();
    let plain = evaluate(&graph, &outs, &values, &[]).unwrap();
    for (b, p) in bounded.iter().zip(&plain) {
        assert_eq!(&b.value, p);
        assert_eq!(b.bound.len(), p.data.len());
    }
    bounded
}

#[test]
fn views_move_elements_as_documented() {
    let x: Vec<f64> = (0..6).map(f64::from).collect();
    let r = run(&[(&[2, 3], &x)], |t| {
        vec![
            t[0].transpose(),
            t[0].slice(1, 1, 3),
            t[0].pad(0, 1, 0).slice(1, 0, 2),
            t[0].slice(0, 1, 2).broadcast_to(&[2, 3]),
            Tensor::concat(&[t[0], t[0].slice(1, 0, 1)], 1),
            t[0].gather(Tensor::literal_u32(&[1, 7])),
            t[0].store(Tensor::literal_u32(&[5, 0]), Tensor::full(&[2, 3], 9.0)),
            Tensor::iota(&[2, 3], 1).to_f32(),
        ]
    });
    let expected: [&[f64]; 8] = [
        &[0., 3., 1., 4., 2., 5.],
        &[1., 2., 4., 5.],
        &[0., 0., 0., 1., 3., 4.],
        &[3., 4., 5., 3., 4., 5.],
        &[0., 1., 2., 0., 3., 4., 5., 3.],
        &[3., 4., 5., 3., 4., 5.],
        &[9., 9., 9., 3., 4., 5.],
        &[0., 1., 2., 0., 1., 2.],
    ];
    for (got, want) in r.iter().zip(expected) {
        assert_eq!(got.value.to_f64(), want);
        assert!(got.bound.iter().all(|b| *b == 0.0));
    }
}

#[test]
fn contractions_sum_what_they_say() {
    let (a, b): (Vec<f64>, Vec<f64>) =
        ((1..=6).map(f64::from).collect(), (1..=6).map(|v| f64::from(v) * 0.5).collect());
    let r = run(&[(&[2, 3], &a), (&[3, 2], &b)], |t| {
        vec![
            t[0].matmul(t[1]),
            t[1].matmul_with(t[0], true, true),
            t[0].matmul_with(t[0], false, true),
            t[0].sum(&[0]),
            t[0].sum_all(),
            t[0].max_keep(0),
        ]
    });
    let expected: [&[f64]; 6] =
        [&[11., 14., 24.5, 32.], &[11., 24.5, 14., 32.], &[14., 32., 32., 77.], &[5., 7., 9.], &[21.], &[4., 5., 6.]];
    for (got, want) in r.iter().zip(expected) {
        assert_eq!(got.value.to_f64(), want);
        assert!(got.bound.iter().all(|b| *b == 0.0), "small integers are exact");
    }
}

#[test]
fn a_scan_carries_stacks_and_captures() {
    // c ← c·k + x_t, y_t = c + t, over [1, 2, 3] with k = 2 from outside.
    let body = |k: Tensor| {
        move |t: Tensor, c: &[Tensor], x: &[Tensor]| {
            let c = c[0] * k + x[0];
            Loop { carry: vec![c], ys: vec![c + t.to_f32()] }
        }
    };
    let r = run(&[(&[3], &[1., 2., 3.]), (&[], &[2.])], |t| {
        let zero = Tensor::constant_f32(0.0);
        let (c, y) = scan(3, false, &[zero], &[t[0]], body(t[1]));
        let (d, z) = scan(3, true, &[zero], &[t[0]], body(t[1]));
        vec![c[0], y[0], d[0], z[0]]
    });
    assert_eq!(r[0].value.to_f64(), [11.]); // ((1)·2 + 2)·2 + 3
    assert_eq!(r[1].value.to_f64(), [1., 5., 13.]);
    assert_eq!(r[2].value.to_f64(), [17.]); // ((3)·2 + 2)·2 + 1
    assert_eq!(r[3].value.to_f64(), [17., 9., 5.]);
}

#[test]
fn scans_nest_and_stop() {
    let r = run(&[(&[2], &[1., 10.])], |t| {
        let zero = Tensor::constant_f32(0.0);
        // Σ_i Σ_j x_i·(j + 1)
        let (c, _) = scan(2, false, &[zero], &[t[0]], |_, c, x| {
            let (d, _) = scan(3, false, &[c[0]], &[], |j, d, _| Loop {
                carry: vec![d[0] + x[0] * (j.to_f32() + 1.0)],
                ys: vec![],
            });
            Loop { carry: d, ys: vec![] }
        });
        let (s, _) = scan_until(9, &[zero], &[], |_, c, _| {
            let next = c[0] + 1.0;
            (Loop { carry: vec![next], ys: vec![] }, Tensor::constant_f32(3.5).lt(next))
        });
        vec![c[0], s[0]]
    });
    assert_eq!(r[0].value.to_f64(), [66.]);
    assert_eq!(r[1].value.to_f64(), [4.]);
}

#[test]
fn random_bits_are_those_of_rng() {
    let r = run(&[], |_| {
        let key = [7, 8].map(Tensor::constant_u32);
        let i = Tensor::iota(&[3], 0);
        vec![Tensor::threefry(key, [i, Tensor::constant_u32(5)], 1), i.permutation(key, 3)]
    });
    let expected: Vec<u32> = (0..3).map(|i| crate::rng::threefry2x32([7, 8], [i, 5])[1]).collect();
    assert_eq!(r[0].value.data, Data::U32(expected));
    let expected: Vec<u32> = (0..3).map(|i| crate::rng::permute(i, [7, 8], 3)).collect();
    assert_eq!(r[1].value.data, Data::U32(expected));
}

#[test]
fn bounds_hold_for_f32_arithmetic_and_are_not_loose() {
    // x/3 + y, squared: three roundings and that of a constant.
    let xs: Vec<f64> = (1..200).map(|i| f64::from(i as f32 * 0.37)).collect();
    let n = xs.len();
    let r = run(&[(&[n], &xs)], |t| vec![(t[0] * (1.0 / 3.0) + 0.1).square()]);
    for (i, x) in xs.iter().enumerate() {
        let y = *x as f32 * (1.0f64 / 3.0) as f32 + 0.1f32;
        let error = (f64::from(y * y) - r[0].value.to_f64()[i]).abs();
        assert!(error <= r[0].bound[i], "{error} > {}", r[0].bound[i]);
        assert!(r[0].bound[i] <= r[0].value.to_f64()[i] * 1e-6);
    }
}

#[test]
fn uncertain_comparisons_have_no_bound_and_certain_ones_are_exact() {
    let r = run(&[(&[3], &[0.25, 0.3, 0.75])], |t| {
        let third = t[0] * (1.0 / 3.0);
        let c = third.lt(Tensor::constant_f32(0.1));
        vec![c, (t[0] * 4.0).floor(), c.select(t[0], t[0] + 1.0), third.bitcast_u32()]
    });
    assert_eq!(r[0].bound, [0.0, f64::INFINITY, 0.0]); // 0.3/3 may be on either side of 0.1
    let certain = r[0].value.to_f64();
    assert_eq!((certain[0], certain[2]), (1.0, 0.0));
    assert_eq!(r[1].bound, [0.0; 3]);
    assert!(r[2].bound[1] > 1.0 && r[2].bound[1] < 1.001 && r[2].bound[0] == 0.0);
    assert!(r[3].bound.iter().all(|b| b.is_infinite()));
}

#[test]
fn the_first_operation_that_is_not_finite_is_named() {
    let (out, graph) = Graph::trace(|| {
        let x = input(0, &[2]);
        let (c, _) = scan(5, false, &[x], &[], |_, c, _| Loop { carry: vec![c[0].square().exp()], ys: vec![] });
        c[0].raw()
    })
    .unwrap();
    let find = |v: &[f64]| first_non_finite(&graph, &[out], &[Value::f64(&[2], v.to_vec())], &[]).unwrap();
    // 1 → e → e^(e²) = 1618 → overflow of exp at index 2; the other element starts at 0 and gets there one step later.
    let found = find(&[0.0, 1.0]).unwrap();
    assert_eq!((found.op, found.value), ("exp", f64::INFINITY));
    assert!(found.place.starts_with("element [1] of [2], index 2 of scan %"), "{}", found.place);
    let (out, graph) = Graph::trace(|| (input(0, &[]).exp() + 1.0).raw()).unwrap();
    assert!(first_non_finite(&graph, &[out], &[Value::f64(&[], vec![2.0])], &[]).unwrap().is_none());
}

#[test]
fn what_does_not_fit_the_graph_is_an_error() {
    let (out, graph) = Graph::trace(|| (input(0, &[2]) + 1.0).raw()).unwrap();
    assert!(evaluate(&graph, &[out], &[], &[]).is_err());
    assert!(evaluate(&graph, &[out], &[Value::f64(&[3], vec![0.0; 3])], &[]).is_err());
    let (out, graph) =
        Graph::trace(|| Tensor::zeros(&[3]).store(Tensor::literal_u32(&[1, 1]), Tensor::ones(&[2])).raw()).unwrap();
    let message = evaluate(&graph, &[out], &[], &[]).unwrap_err().to_string();
    assert!(message.contains("row 1 is stored twice"), "{message}");
}

#[test]
fn the_reference_device_runs_programs_in_f64() {
    let device = crate::Device::reference();
    let mut program = crate::Program::new(&device, |cx| {
        let (a, b) = (cx.state("a", &[2], DType::F32), cx.state("b", &[2], DType::F32));
        let (k, by) = (cx.input("k", &[2], DType::U32), cx.scalar_f32("by"));
        cx.update("a", b * by);
        cx.update("b", a);
        cx.output("k", k + Tensor::constant_u32(u32::MAX));
    })
    .unwrap();
    let mut state = crate::State::new();
    state.insert("a", device.array(&[2], &[0.1, 0.2]).unwrap());
    state.insert("b", device.array(&[2], &[1.0, 1e300]).unwrap());
    let k = device.array_u32(&[2], &[5, 0]).unwrap();
    let outputs = program.run(&state, &[("k", &k)], &[("by", 0.3.into())]).unwrap();
    // Both are computed from the old values, and no digit is lost.
    assert_eq!(pollster::block_on(device.read(state.get("a").unwrap())).unwrap(), [0.3, 3e299]);
    assert_eq!(pollster::block_on(device.read(state.get("b").unwrap())).unwrap(), [0.1, 0.2]);
    assert_eq!(pollster::block_on(device.read_u32(outputs.get("k").unwrap())).unwrap(), [4, u32::MAX]);
}
