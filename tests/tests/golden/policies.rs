//! Squashed normal numbers against garage's and Pyrado's.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use quickstudy_core::dist::SquashedGaussian;
use quickstudy_core::grad::value_and_grad;
use quickstudy_core::{DType, Device, Program, State, Tensor};
use quickstudy_tests::golden::{items, load, numbers};
use serde_json::Value;

/// Results of a program whose inputs are the golden file's numbers, by name, `[1, B, A]` each.
fn run(
    case: &Value,
    names: &[&str],
    trace: impl FnOnce(&dyn Fn(&str) -> Tensor) -> Vec<(&'static str, Tensor)>,
) -> Vec<(String, Vec<f64>)> {
    let device = Device::cpu(1);
    let shape = [1, items(&case["action"]).len(), numbers(&items(&case["action"])[0]).len()];
    let mut program = Program::new(&device, |cx| {
        let inputs: Vec<(&str, Tensor)> =
            names.iter().map(|name| (*name, cx.input(name, &shape, DType::F32))).collect();
        let get = |name: &str| inputs.iter().find(|(n, _)| *n == name).unwrap().1;
        for (name, x) in trace(&get) {
            cx.output(name, x);
        }
    })
    .unwrap();
    let arrays: Vec<_> =
        names.iter().map(|name| (*name, device.array(&shape, &numbers(&case[*name])).unwrap())).collect();
    let inputs: Vec<_> = arrays.iter().map(|(name, array)| (*name, array)).collect();
    let out = program.run(&State::new(), &inputs, &[]).unwrap();
    out.iter().map(|(name, array)| (name.to_owned(), pollster::block_on(device.read(array)).unwrap())).collect()
}

fn near(got: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(got.len(), expected.len(), "{what}");
    for (x, y) in got.iter().zip(expected) {
        assert!((x - y).abs() <= tolerance * (1.0 + y.abs()), "{what}: {got:?}, expected {expected:?}");
    }
}

#[test]
fn squashed_normal_numbers_have_garages_densities_and_gradients() {
    let golden = load("tanh_normal.json");
    let mut checked = 0;
    for case in items(&golden["garage"]) {
        let got = run(case, &["loc", "log_std", "pre_tanh", "action"], |get| {
            let d = SquashedGaussian::new(get("loc"), get("log_std"));
            vec![
                ("log_prob_with_pre_tanh", d.log_prob_before(get("pre_tanh"))),
                ("log_prob_inverted", d.log_prob(get("action"))),
                ("mean", d.mode()),
                ("entropy_of_underlying_normal", d.entropy_before()),
            ]
        });
        for (name, values) in got {
            // The case of saturated actions has densities with u alone: from an f32 action u cannot be had.
            let Some(expected) = case.get(&name).map(numbers) else { continue };
            near(&values, &expected, if name == "log_prob_inverted" { 2e-4 } else { 2e-5 }, &name);
            checked += 1;
        }
        if case.get("eps").is_none() {
            continue;
        }
        let got = run(case, &["loc", "log_std", "eps"], |get| {
            let eps = get("eps");
            let (_, grads) = value_and_grad(&[get("loc"), get("log_std")], |at| {
                let u = at[0] + at[1].exp() * eps;
                SquashedGaussian::new(at[0], at[1]).log_prob_before(u).sum_all()
            });
            vec![("grad_sum_logprob_loc", grads[0]), ("grad_sum_logprob_log_std", grads[1])]
        });
        for (name, values) in got {
            near(&values, &numbers(&case[&name]), 2e-4, &name);
            checked += 1;
        }
    }
    assert_eq!(checked, 13);
}

#[test]
fn squashed_normal_numbers_have_pyrados_densities() {
    let golden = load("tanh_normal.json");
    for case in items(&golden["pyrado"]) {
        let got = run(case, &["mean", "log_std", "eps"], |get| {
            let d = SquashedGaussian::new(get("mean"), get("log_std"));
            let u = get("mean") + get("log_std").clamp(-20.0, 2.0).exp() * get("eps");
            vec![("action", u.tanh()), ("log_prob", d.log_prob_before(u))]
        });
        for (name, values) in got {
            near(&values, &numbers(&case[&name]), 5e-4, &name);
        }
    }
}
