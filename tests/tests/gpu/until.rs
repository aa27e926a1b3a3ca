//! Loops that end row by row: one dispatch on a GPU, in which each row ends by itself. Without a GPU only the number of
//! dispatches and the shader are looked at.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use quickstudy_core::tensor::{Loop, Op, graph, scan, scan_until};
use quickstudy_core::{Context, DType, Device, Program, State, Tensor};
use quickstudy_gpu::{GpuOptions, KernelLimits, dispatches, shaders};
use quickstudy_tests::gpu;
use quickstudy_tests::trainings::{distance, wait};

const SHAPE: [usize; 2] = [2, 70];

/// The step after which each row ends: a multiple of `apart`, from none on.
fn last_steps(apart: u32) -> Tensor {
    let [seed, row] = [0, 1].map(|axis| Tensor::iota(&SHAPE, axis));
    (row.bit_and(Tensor::constant_u32(7)) + seed) * Tensor::constant_u32(apart)
}

/// Rows that go through a layer until each ends by itself, with a derivative if `derive`.
fn layers(cx: &mut Context, width: usize, derive: bool) {
    let (x, w) = (cx.input("x", &[2, 70, width], DType::F32), cx.input("w", &[2, width, width], DType::F32));
    let last = last_steps(3);
    let (carry, _) = scan_until(200, &[Tensor::zeros(&[2, 70, width]), Tensor::zeros(&SHAPE)], &[], |t, c, _| {
        let next = (c[0].matmul(w) + x + t.to_f32() * 0.125).sin();
        (Loop { carry: vec![next, c[1] + next.sum(&[2])], ys: Vec::new() }, t.eq(last))
    });
    cx.output("x", carry[0]);
    cx.output("sum", carry[1]);
    if derive {
        let loss = carry[0].square().sum_all() + (carry[1] * 0.1).sin().sum_all();
        cx.output("by w", quickstudy_core::grad::grad(loss, &[w])[0]);
    }
}

fn run(device: &Device, width: usize, derive: bool) -> Vec<Vec<f64>> {
    let mut program = Program::new(device, |cx| layers(cx, width, derive)).unwrap();
    let numbers = |n: usize| (0..n).map(|i| ((i * 7919 + 13) % 1009) as f64 / 1009.0 - 0.5).collect::<Vec<f64>>();
    let x = device.array(&[2, 70, width], &numbers(140 * width)).unwrap();
    // So small that no error grows from step to step.
    let weights: Vec<f64> = numbers(2 * width * width).iter().map(|w| w * 3.0 / width as f64).collect();
    let w = device.array(&[2, width, width], &weights).unwrap();
    let out = program.run(&State::new(), &[("x", &x), ("w", &w)], &[]).unwrap();
    out.iter().map(|(_, a)| wait(device.read(a))).collect()
}

#[test]
fn a_loop_that_ends_row_by_row_is_one_dispatch() {
    let plan = gpu::plan(Program::trace_of(|cx| layers(cx, 3, false)).unwrap());
    let limits = KernelLimits::default();
    // The rows' last steps, and the loop.
    assert_eq!(dispatches(&plan, limits).unwrap(), [1, 1], "{plan}");
    let shader = shaders(&plan, limits).unwrap().concat();
    assert_eq!(shader.matches("[0u] != 0u) { break; }").count(), 1, "{shader}");
    let plan_of_many = gpu::plan(Program::trace_of(|cx| layers(cx, 20, false)).unwrap());
    assert_eq!(dispatches(&plan_of_many, limits).unwrap(), [1, 1], "{plan_of_many}");
    let shader = shaders(&plan_of_many, limits).unwrap().concat();
    assert_eq!(shader.matches("workgroupUniformLoad(&integers1[12]) == 0u) { break; }").count(), 1, "{shader}");
    // With few iterations per dispatch it is several, each of which looks whether its row has ended.
    let limits = KernelLimits { trips: 1000, ..limits };
    assert!(dispatches(&plan, limits).unwrap()[1] > 1, "{plan}");
    assert_eq!(shaders(&plan, limits).unwrap().concat().matches("[0u] != 0u) { break; }").count(), 1);
}

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn rows_and_derivatives_are_those_of_the_cpu_and_the_reference() {
    // Of 20 units the invocations of a workgroup each compute one, of a few rows.
    let together = Device::new(gpu::open(&GpuOptions { chains: Some(true), ..GpuOptions::default() }));
    for (width, derive) in [(3, false), (3, true), (20, false), (20, true)] {
        let exact = run(&Device::reference(), width, derive);
        for device in [&gpu::device(), &together, &Device::cpu(1)] {
            for (found, exact) in run(device, width, derive).iter().zip(&exact) {
                let apart = distance(found, exact);
                assert!(apart < 1e-4, "width {width}, derivative {derive}, {}: {apart:e}", device.caps().name);
            }
        }
    }
}

/// How many steps each row is given by a loop that is told, behind the back of `scan_until`, that a row has
/// ended: a count that nothing freezes shows it.
fn steps_given(device: &Device, len: usize, apart: u32, stacked: bool) -> Vec<u32> {
    let mut program = Program::new(device, |cx| {
        let zero = Tensor::constant_u32(0).broadcast_to(&SHAPE);
        let last = last_steps(apart);
        let (carry, ys) = scan(len, false, &[zero, zero], &[], |t, c, _| {
            let ys = if stacked { vec![c[0]] } else { Vec::new() };
            Loop { carry: vec![c[0] + Tensor::constant_u32(1), c[1].bit_or(t.eq(last))], ys }
        });
        graph::with(|g| {
            for node in &mut g.nodes {
                if let Op::Scan(scan) = &mut node.op {
                    Arc::make_mut(scan).until = Some(1);
                }
            }
        });
        cx.output("steps", carry[0]);
        ys.into_iter().for_each(|y| cx.output("y", y));
    })
    .unwrap();
    let out = program.run(&State::new(), &[], &[]).unwrap();
    wait(device.read_u32(out.get("steps").unwrap()))
}

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn each_row_ends_by_itself_also_in_a_later_dispatch() {
    let device = gpu::device();
    let row = |i: usize| (i % 70 % 8 + i / 70) as u32;
    assert_eq!(steps_given(&device, 100, 5, false), (0..140).map(|i| row(i) * 5 + 1).collect::<Vec<_>>());
    // On a software adapter three dispatches, after each of which some rows have ended; one row goes on to the end.
    let (len, apart) = (170_000, 24_000);
    let given = (0..140).map(|i| (row(i) * apart + 1).min(len as u32)).collect::<Vec<_>>();
    assert!(given.contains(&(len as u32)));
    assert_eq!(steps_given(&device, len, apart, false), given);
    // A stacked output has a row for each step.
    assert_eq!(steps_given(&device, 100, 5, true), [100; 140]);
}
