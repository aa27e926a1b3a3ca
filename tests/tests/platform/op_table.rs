//! Every primitive: the CPU against the f64 reference, and derivatives of first and second order against differences.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a failing row ends the test")]

use std::collections::BTreeSet;

use quickstudy_core::backend::cpu::simd::isa::Isa;
use quickstudy_core::backend::cpu::{Cpu, CpuOptions};
use quickstudy_core::{DType, Device, Program, Tensor, grad};
use quickstudy_tests::random_graph::{Report, Subject, Way, check_program};
use quickstudy_tests::table::{Primitive, rows, specials};

/// Every instruction set, node by node and tile by tile, on one thread and two.
fn ways(isa: Isa) -> Vec<Way> {
    let way = |tiles, threads| Way {
        name: format!("{isa}, tiles {tiles}, {threads} threads"),
        device: Device::new(Cpu::new(CpuOptions { threads, isa, tiles })),
        slack: 1.0,
    };
    vec![way(false, 1), way(true, 1), way(true, 2)]
}

#[test]
fn every_primitive_has_rows_that_use_it() {
    for primitive in Primitive::all() {
        let rows = rows(primitive);
        assert!(!rows.is_empty(), "{primitive:?} has no row");
        for row in rows {
            let trace = Program::trace_of(|cx| row.trace(cx));
            let trace = trace.unwrap_or_else(|e| panic!("{primitive:?}, {}: {e}", row.name));
            let used: BTreeSet<Primitive> = trace.graph.nodes.iter().map(|n| Primitive::of(&n.op)).collect();
            assert!(used.contains(&primitive), "{primitive:?}: row `{}` does not use it", row.name);
        }
    }
}

/// The CPU against the reference on the rows of some primitives.
fn compare(select: impl Fn(Primitive) -> bool) {
    let (mut report, mut count) = (Report::default(), 0);
    for isa in Isa::available() {
        let ways = ways(isa);
        for primitive in Primitive::all().into_iter().filter(|p| select(*p)) {
            for row in rows(primitive) {
                let subject = Subject { args: &row.args, trace: &|cx| row.trace(cx) };
                match check_program(subject, &ways) {
                    Ok(r) => {
                        assert_eq!(r.unbounded, 0, "{primitive:?}, {}: a result has no bound", row.name);
                        report.add(r);
                    }
                    Err(failure) => panic!("{primitive:?}, {}: {failure}", row.name),
                }
                count += 1;
            }
        }
    }
    println!("{count} rows, {report:?}");
}

#[test]
fn functions_of_one_tensor_agree_with_the_reference() {
    compare(|p| matches!(p, Primitive::Unary(_)));
}

#[test]
fn functions_of_two_tensors_agree_with_the_reference() {
    compare(|p| matches!(p, Primitive::Binary(_)));
}

#[test]
fn contractions_agree_with_the_reference() {
    compare(|p| matches!(p, Primitive::Sum | Primitive::ReduceMax | Primitive::MatMul));
}

#[test]
fn loops_and_calls_agree_with_the_reference() {
    compare(|p| matches!(p, Primitive::Scan | Primitive::Call));
}

#[test]
fn all_other_primitives_agree_with_the_reference() {
    use Primitive::{Call, MatMul, Out, Param, ReduceMax, Scan, Sum};
    compare(|p| {
        let elsewhere = matches!(p, Primitive::Unary(_) | Primitive::Binary(_));
        !elsewhere && !matches!(p, Sum | ReduceMax | MatMul | Scan | Call | Param | Out)
    });
}

/// Compare derivatives of the smooth rows with differences. The primitive stands in the middle of the graph: before it
/// each argument is halved, after it comes sin(0.7·y), so the cotangent that reaches it is none of 1.
fn differentiate(order: usize, rtol: f64, most: usize) {
    let (mut count, mut worst, mut seen) = (0, 0.0f64, BTreeSet::new());
    for primitive in Primitive::all() {
        for row in rows(primitive).iter().filter(|r| r.smooth && r.coordinates() <= most) {
            let doubled = |v: &Vec<f64>| v.iter().map(|v| 2.0 * v).collect::<Vec<f64>>();
            let floats = row.args.iter().filter(|a| a.dtype == DType::F32);
            let point: Vec<(Vec<usize>, Vec<f64>)> = floats.map(|a| (a.shape.clone(), doubled(&a.values))).collect();
            let f = |x: &[Tensor]| {
                let mut x = x.iter();
                let arg = |a: &quickstudy_tests::random_graph::Arg| match a.dtype {
                    DType::F32 => *x.next().expect("one per float argument") * 0.5,
                    DType::U32 => {
                        Tensor::literal_u32(&a.values.iter().map(|v| *v as u32).collect::<Vec<_>>()).reshape(&a.shape)
                    }
                };
                let args: Vec<Tensor> = row.args.iter().map(arg).collect();
                let results = (row.build)(&args).into_iter().filter(|y| y.dtype() == DType::F32);
                Tensor::concat(&results.map(|y| (y * 0.7).sin().flatten()).collect::<Vec<_>>(), 0)
            };
            match grad::check::check(f, &point, order, rtol, rtol) {
                Ok(error) => worst = worst.max(error),
                Err(e) => panic!("{primitive:?}, {}: {e}", row.name),
            }
            count += 1;
            seen.insert(primitive);
        }
    }
    println!("order {order}: {count} rows of {} primitives, largest relative error {worst:e}", seen.len());
    assert!(seen.len() >= 28, "only {seen:?} were differentiated");
}

#[test]
fn first_derivatives_agree_with_differences() {
    differentiate(1, 1e-5, 80);
}

#[test]
fn second_derivatives_agree_with_differences() {
    differentiate(2, 1e-4, 60);
}

#[test]
fn functions_that_are_not_smooth_stop_derivatives() {
    let point = [(vec![3], vec![0.3, -1.2, 2.6])];
    let gradient = |f: fn(Tensor) -> Tensor| grad::check::gradient(|x| f(x[0]).sum_all(), &point).unwrap();
    assert_eq!(gradient(|x| x.floor() * 2.0), [[0.0; 3]]);
    assert_eq!(gradient(|x| x.stop_gradient() * x), [[0.3, -1.2, 2.6]]);
    assert_eq!(gradient(|x| x.to_u32().to_f32() + x), [[1.0; 3]]);
    assert_eq!(gradient(|x| x.bitcast_u32().bitcast_f32() + x), [[1.0; 3]]);
    assert_eq!(gradient(|x| x.lt(x * 0.5).to_f32() + x), [[1.0; 3]]);
}

#[test]
fn the_source_of_a_gather_has_no_derivative() {
    let gradient =
        grad::check::gradient(|x| x[0].gather(Tensor::literal_u32(&[1, 1])).sum_all(), &[(vec![3], vec![0.0; 3])]);
    let message = gradient.unwrap_err().to_string();
    assert!(message.contains("one-hot"), "{message}");
}

#[test]
fn special_values() {
    let mut devices = vec![(Device::reference(), true)];
    for isa in Isa::available() {
        for tiles in [false, true] {
            devices.push((Device::new(Cpu::new(CpuOptions { threads: 1, isa, tiles })), tiles));
        }
    }
    for (device, tiles) in &devices {
        let name = &device.caps().name;
        for special in specials() {
            let got = special.on(device).unwrap();
            assert!(special.is(got), "{name}, tiles {tiles}: {special} is {}", special.show(got));
        }
    }
}
