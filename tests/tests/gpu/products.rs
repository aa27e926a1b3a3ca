//! Products and reductions of sizes at and off the edges of tiles and slices on the GPU, against the f64 reference.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use crate::programs::{Case, cases};
use quickstudy_core::program::{Program, State};
use quickstudy_core::{DType, Device};
use quickstudy_gpu::GpuOptions;
use quickstudy_tests::gpu;

/// All results of a case on a device, by name.
fn results(device: &Device, case: &Case) -> Vec<(String, Vec<f64>)> {
    let mut number = 0u64;
    let mut array = |shape: &[usize]| {
        let mut next = || {
            number = (number + 1).wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (number >> 40) as f64 / f64::from(1 << 24) - 0.5
        };
        let values: Vec<f64> = (0..shape.iter().product()).map(|_| f64::from(next() as f32)).collect();
        device.array(shape, &values).unwrap()
    };
    let mut program = Program::new(device, |cx| case.trace(cx)).unwrap();
    let inputs: Vec<_> = case.inputs.iter().map(|(name, shape)| (*name, array(shape))).collect();
    let mut state = State::new();
    if let Some(shape) = &case.state {
        state.insert("theta", array(shape));
    }
    let inputs: Vec<_> = inputs.iter().map(|(name, array)| (*name, array)).collect();
    let outputs = program.run(&state, &inputs, &[]).unwrap();
    let read = |array: &quickstudy_core::Array| match array.dtype() {
        DType::F32 => pollster::block_on(device.read(array)).unwrap(),
        DType::U32 => pollster::block_on(device.read_u32(array)).unwrap().into_iter().map(f64::from).collect(),
    };
    let all = outputs.iter().chain(state.iter());
    all.map(|(name, array)| (name.to_owned(), read(array))).collect()
}

fn check(tiled: bool) {
    let options = GpuOptions { tiled: Some(tiled), ..GpuOptions::default() };
    let device = Device::new(gpu::open(&options));
    let reference = Device::reference();
    for case in cases() {
        let (on_gpu, exact) = (results(&device, &case), results(&reference, &case));
        assert!(!exact.is_empty() && on_gpu.len() == exact.len(), "{}", case.name);
        for ((name, x), (_, y)) in on_gpu.iter().zip(&exact) {
            let bound = 1e-5 * (1.0 + y.iter().fold(0.0, |max: f64, y| max.max(y.abs())));
            for (i, (x, y)) in x.iter().zip(y).enumerate() {
                assert!((x - y).abs() <= bound, "{}: element {i} of `{name}` is {x}, {y} is right", case.name);
            }
        }
    }
}

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn products_in_registers_and_reductions_are_those_of_the_reference() {
    check(false);
}

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn products_in_workgroup_memory_are_those_of_the_reference() {
    check(true);
}
