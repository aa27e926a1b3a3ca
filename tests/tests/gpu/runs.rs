//! Small kernels that one workgroup runs in turn give what each alone gives.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy_core::program::{Program, State};
use quickstudy_core::tensor::{Loop, scan};
use quickstudy_core::{Context, DType, Device, Tensor};
use quickstudy_gpu::{GpuOptions, KernelLimits, dispatches};
use quickstudy_tests::gpu;

/// Twenty pairs of a sum and of a map that reads it, which writes 300 elements: two workgroups, of which the second
/// has invocations without an element.
fn chain(mut x: Tensor) -> Tensor {
    for i in 0..20 {
        let mean = x.sum_keep(0) * (1.0 / 300.0);
        x = ((x - mean) * (1.0 + 0.1 * f64::from(i))).tanh() + mean * 0.5;
    }
    x
}

fn many_kernels(cx: &mut Context) {
    let x = cx.input("x", &[300], DType::F32);
    cx.output("y", chain(x));
}

/// Products with lanes and with tiles beside sums, in a loop whose steps read what the step before wrote.
fn products_in_a_loop(cx: &mut Context) {
    let x = cx.input("x", &[300], DType::F32);
    let w = x.slice(0, 0, 256).reshape(&[64, 4]) * 0.2;
    let (last, _) = scan(5, false, &[w, x], &[], |_, carry, _| {
        let (w, x) = (carry[0], carry[1]);
        let gram = w.matmul_with(w, true, false).tanh();
        let wide = w.matmul_with(w, false, true).tanh();
        let next = w.matmul(gram) * 0.5 + wide.sum_keep(1) * 0.01;
        Loop { carry: vec![next, x - x.sum_keep(0) * 0.003 + gram.sum_all() * 0.1], ys: Vec::new() }
    });
    cx.output("w", last[0]);
    cx.output("y", last[1]);
}

/// Each of ten outputs is a buffer of its own: more than a run may bind.
fn ten_outputs(cx: &mut Context) {
    let x = cx.input("x", &[300], DType::F32);
    let mut of = x;
    for i in 0..10 {
        of = (of + of.sum_keep(0) * 0.001).tanh();
        cx.output(&format!("y{i}"), of);
    }
}

/// Dispatches of a program under limits.
fn count(trace: fn(&mut Context), limits: KernelLimits) -> usize {
    dispatches(&gpu::plan(Program::trace_of(trace).unwrap()), limits).unwrap().iter().sum()
}

#[test]
fn kernels_that_wait_for_each_other_are_few_dispatches() {
    let alone = KernelLimits { runs: false, ..KernelLimits::default() };
    let limits = KernelLimits::default();
    let each = count(many_kernels, alone);
    assert!(each >= 20, "{each}");
    assert_eq!(count(many_kernels, limits), 1);
    let [alone_in_loop, in_loop] = [alone, limits].map(|limits| count(products_in_a_loop, limits));
    assert!(2 * in_loop < alone_in_loop, "{in_loop} of {alone_in_loop}");
    let outputs = [alone, limits].map(|limits| count(ten_outputs, limits));
    assert!(outputs[0] > outputs[1] && (2..=5).contains(&outputs[1]), "{outputs:?}");
    // Memory and iterations of a workgroup end runs, too.
    let small = KernelLimits { workgroup_bytes: 512, ..limits };
    assert_eq!(count(many_kernels, small), each);
    assert!(count(many_kernels, KernelLimits { trips: 20, ..limits }) > 1);
}

/// All outputs of a program on a device.
fn outputs(device: &Device, trace: fn(&mut Context)) -> Vec<f64> {
    let values: Vec<f64> = (0..300).map(|i| f64::from((i * 37) % 101) * 0.02 - 1.0).collect();
    let x = device.array(&[300], &values).unwrap();
    let mut program = Program::new(device, trace).unwrap();
    let outputs = program.run(&State::new(), &[("x", &x)], &[]).unwrap();
    outputs.iter().flat_map(|(_, array)| pollster::block_on(device.read(array)).unwrap()).collect()
}

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn runs_compute_what_kernels_alone_do() {
    for trace in [many_kernels, products_in_a_loop, ten_outputs] {
        let exact = outputs(&Device::reference(), trace);
        for (runs, tiled) in [(false, false), (true, false), (true, true)] {
            let options = GpuOptions { runs: Some(runs), tiled: Some(tiled), ..GpuOptions::default() };
            let found = outputs(&Device::new(gpu::open(&options)), trace);
            assert_eq!(found.len(), exact.len());
            for (i, (x, y)) in found.iter().zip(&exact).enumerate() {
                assert!((x - y).abs() <= 2e-5 * (1.0 + y.abs()), "runs {runs}, element {i}: {x}, {y} is right");
            }
        }
    }
}
