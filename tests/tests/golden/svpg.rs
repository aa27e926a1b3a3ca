//! SVPG's kernel and the correct direction against Pyrado's numbers.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use quickstudy_core::algo::svpg::{bandwidth, direction, kernel, repulsion, squared_distances};
use quickstudy_core::{Device, Program, State, Tensor};
use quickstudy_tests::golden::{items, load, number, numbers};

#[test]
fn kernel_bandwidth_and_direction_are_those_of_pyrado_with_the_right_sign() {
    let device = Device::cpu(1);
    for case in items(&load("svpg.json")["cases"]) {
        let (x, n) = (numbers(&case["X"]), items(&case["X"]).len());
        let (gradients, temperature) = (numbers(&case["policy_grads_of_loss"]), number(&case["temperature"]));
        let names = ["bandwidth", "kernel", "repulsion", "direction"];
        let mut program = Program::new(&device, |cx| {
            // The second seed is another one.
            let stacked = |x: &[f64]| {
                let both: Vec<f64> = x.iter().copied().chain(x.iter().map(|x| 3.0 * x)).collect();
                Tensor::literal_f32(&both).reshape(&[2, n, x.len() / n])
            };
            let (x, gradients) = (stacked(&x), stacked(&gradients));
            let distances = squared_distances(x);
            let h = bandwidth(distances);
            let k = kernel(distances, h);
            let all = [h.sqrt(), k, repulsion(x, k, h), direction(x, gradients, temperature)];
            names.iter().zip(all).for_each(|(name, value)| cx.output(name, value));
        })
        .unwrap();
        let out = program.run(&State::new(), &[], &[]).unwrap();
        let recorded = ["bandwidth_h", "kernel", "kernel_grad_correct", "descent_direction_correct"];
        for (name, recorded) in names.iter().zip(recorded) {
            let got = pollster::block_on(device.read(out.get(name).unwrap())).unwrap();
            let expected = numbers(&case[recorded]);
            assert_eq!(got.len(), 2 * expected.len());
            for (got, x) in got.iter().zip(&expected) {
                assert!((got - x).abs() <= 2e-6 * x.abs().max(1.0), "{name}: {got} for {x}");
            }
        }
    }
}

#[test]
fn one_particle_and_equal_ones_have_finite_directions() {
    let device = Device::cpu(1);
    for n in 1..5 {
        let mut program = Program::new(&device, |cx| {
            let [x, gradients] = [0.3, 2.0].map(|value| Tensor::full(&[1, n, 2], value));
            cx.output("direction", direction(x, gradients, 4.0));
        })
        .unwrap();
        let out = program.run(&State::new(), &[], &[]).unwrap();
        let got = pollster::block_on(device.read(out.get("direction").unwrap())).unwrap();
        assert!(got.iter().all(|x| (x - 0.5).abs() < 1e-5), "{n}: {got:?}");
    }
}
