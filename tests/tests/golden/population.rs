//! Searches by populations against upstream's numbers: CEM's candidates and refits, CMA-ES generation by generation.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use quickstudy_core::algo::cem::{CemConfig, candidates, refit};
use quickstudy_core::algo::cma_es::{Constants, Strategy};
use quickstudy_core::{Device, Program, State, Tensor};
use quickstudy_tests::golden::{items, load, numbers};

fn row(values: &[f64]) -> Tensor {
    Tensor::literal_f32(values).reshape(&[1, values.len()])
}

fn computed(f: impl FnOnce() -> Vec<Tensor>) -> Vec<Vec<f64>> {
    let device = Device::cpu(1);
    let mut count = 0;
    let mut program = Program::new(&device, |cx| {
        for (i, value) in f().into_iter().enumerate() {
            cx.output(&i.to_string(), value);
            count = i + 1;
        }
    })
    .unwrap();
    let out = program.run(&State::new(), &[], &[]).unwrap();
    (0..count).map(|i| pollster::block_on(device.read(out.get(&i.to_string()).unwrap())).unwrap()).collect()
}

#[track_caller]
fn close(got: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(got.len(), expected.len());
    for (got, x) in got.iter().zip(expected) {
        assert!((got - x).abs() <= tolerance * x.abs().max(1.0), "{got} for {x}");
    }
}

/// The extra deviation falls with each candidate there: what is left is given candidate by candidate.
#[test]
fn candidates_and_refits_of_cem_are_those_of_garage() {
    for case in items(&load("cem.json")["cases"]) {
        let config = &case["config"];
        let number = |name: &str| config[name].as_f64().unwrap();
        let (n, extra) = (number("n_samples") as usize, number("extra_std"));
        let mut ours = CemConfig { best_frac: number("best_frac"), ..CemConfig::default() };
        ours.population.n_samples = n;
        let (mut mean, mut std) = (numbers(&case["theta0"]), vec![number("init_std"); number("n_params") as usize]);
        let (mut played, mut returns) = (Vec::new(), Vec::new());
        for step in items(&case["steps"]) {
            played.extend(numbers(&step["evaluated_params"]));
            returns.push(step["average_return"].as_f64().unwrap());
            if returns.len() == n {
                let all = std::mem::take(&mut played);
                let returns = std::mem::take(&mut returns);
                let [new_mean, new_std] = &computed(|| {
                    let all = Tensor::literal_f32(&all).reshape(&[1, n, all.len() / n]);
                    refit(all, row(&returns), ours.best()).to_vec()
                })[..] else {
                    unreachable!()
                };
                (mean, std) = (new_mean.clone(), new_std.clone());
            }
            close(&mean, &numbers(&step["cur_mean"]), 1e-6);
            close(&std, &numbers(&step["cur_std"]), 1e-6);
            let left = (1.0 - step["itr"].as_f64().unwrap() / number("extra_decay_time")).max(0.0);
            let next = computed(|| {
                let z = row(&numbers(&step["noise_used_for_next"])).unsqueeze(1);
                vec![candidates([row(&mean), row(&std)], z, extra, Tensor::constant_f32(left))]
            });
            close(&next[0], &numbers(&step["next_params"]), 2e-6);
        }
    }
}

/// pycma 4.5.0, told the same candidates and costs.
#[test]
fn generations_of_cma_es_are_those_of_pycma() {
    for case in items(&load("cmaes.json")["cases"]) {
        let number = |name: &str| case[name].as_f64().unwrap();
        let (n, lambda, expected) = (number("n") as usize, number("popsize") as usize, &case["strategy"]);
        let constants = Constants::new(n, lambda, false);
        let Constants { mueff, cc, c1, cmu, cs, damps, chi, .. } = constants;
        let numbers_of =
            ["mueff", "cc", "c1", "cmu", "cs", "damps", "chiN_exact"].map(|name| expected[name].as_f64().unwrap());
        close(&[mueff, cc, c1, cmu, cs, damps, chi], &numbers_of, 1e-12);
        close(&constants.weights, &numbers(&expected["weights"]), 1e-12);
        let mut strategy = Strategy::new(numbers(&case["x0"]), number("sigma0"), &constants);
        for generation in items(&case["generations"]) {
            let rows = |name: &str| items(&generation[name]).iter().flat_map(numbers).collect::<Vec<f64>>();
            let frame = strategy.covariance.frame();
            strategy = strategy.tell(&constants, &frame, &rows("X"), &numbers(&generation["costs"])).unwrap();
            close(&strategy.mean, &numbers(&generation["mean"]), 1e-9);
            close(&[strategy.sigma], &[generation["sigma"].as_f64().unwrap()], 1e-9);
            close(&strategy.path_c, &numbers(&generation["pc"]), 1e-9);
            close(&strategy.path_sigma, &numbers(&generation["ps"]), 1e-9);
            close(strategy.covariance.numbers(), &rows("C"), 1e-9);
        }
    }
}
