//! Tests of PPO's limits, and of the terms of its loss.

use super::*;
use crate::algo::Training;
use crate::algo::on_policy::differences::check_derivatives;
use crate::algo::on_policy::mean;
use crate::env::builtin;
use crate::learn::log_ratio;
use crate::policy::NetConfig;
use crate::program::State;
use crate::{Array, Device, Program};

#[test]
fn a_limit_of_0_is_one_that_no_gradient_reaches() {
    let (device, env) = (Device::cpu(1), builtin("cartpole").unwrap());
    // Gives the bits of parameters, optimiser and metrics of two seeds after three iterations.
    let train = |max_grad_norm: f64| {
        let config = PpoConfig {
            max_grad_norm,
            epochs: 2,
            sampling: Sampling { horizon: 16, envs: 4, ..Sampling::default() },
            net: NetConfig::hidden(vec![8]),
            ..PpoConfig::default()
        };
        let ppo = std::rc::Rc::new(Ppo::new(&config, env.spec()).unwrap());
        let mut ppo = Training::new(&device, ppo, &env, &[1, 2]).unwrap();
        let read = |x: &Array| {
            let numbers = pollster::block_on(device.read(x)).unwrap();
            numbers.into_iter().map(f64::to_bits).collect::<Vec<_>>()
        };
        let metrics: Vec<_> = (0..3).map(|done| read(&pollster::block_on(ppo.step(done, 3)).unwrap())).collect();
        (metrics, ["theta", "adam_m", "adam_v"].map(|name| read(ppo.state.get(name).unwrap())))
    };
    let free = train(0.0);
    assert!(free == train(1e9));
    assert!(free.1 != train(0.01).1, "limits change the training");
}

fn run(f: impl FnOnce() -> Vec<Tensor>) -> Vec<Vec<f64>> {
    let device = Device::cpu(1);
    let mut program = Program::new(&device, |cx| {
        for (i, y) in f().into_iter().enumerate() {
            cx.output(&i.to_string(), y);
        }
    })
    .unwrap();
    let out = program.run(&State::new(), &[], &[]).unwrap();
    out.iter().map(|(_, array)| pollster::block_on(device.read(array)).unwrap()).collect()
}

fn rows(values: &[f64]) -> Tensor {
    Tensor::literal_f32(values).reshape(&[1, values.len(), 1])
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-6
}

#[test]
fn a_ratio_of_one_gives_minus_the_mean_advantage_and_nothing_clipped() {
    let out = run(|| {
        let (adv, zero) = (rows(&[1.0, -2.0, 4.0]), rows(&[0.0; 3]));
        let eps = Tensor::constant_f32(0.2);
        [clip_loss(log_ratio(zero, zero).exp(), adv, eps), approx_kl(zero)].map(mean).to_vec()
    });
    assert!(near(out[0][0], -1.0) && out[1][0] == 0.0, "{out:?}");
}

#[test]
fn clipping_is_pessimistic() {
    // By hand, eq. 7 gives for ε = 0.2: min(1.5, 1.2)·1, min(−1.5, −1.2)·1, min(0.5, 0.8), min(−0.5, −0.8).
    let out = run(|| {
        let (ratio, adv) = (rows(&[1.5, 1.5, 0.5, 0.5]), rows(&[1.0, -1.0, 1.0, -1.0]));
        [0.2, 0.99].map(|eps| mean(clip_loss(ratio, adv, Tensor::constant_f32(eps)))).to_vec()
    });
    assert!(near(out[0][0], -(1.2 - 1.5 + 0.5 - 0.8) / 4.0), "{out:?}");
    assert!(near(out[1][0], 0.0), "{out:?}");
}

#[test]
fn the_value_loss_takes_the_larger_of_clipped_and_plain() {
    // The old value is 0, and ε is 0.2. v = 1, R = 1: plain 0, clipped 0.8². v = 0.1, R = 1: both 0.9². v = −1, R = 1:
    // 2², 1.2².
    let out = run(|| {
        let (v, r) = (rows(&[1.0, 0.1, -1.0]), rows(&[1.0; 3]));
        let clip = (rows(&[0.0; 3]), Tensor::constant_f32(0.2));
        [Some(clip), None].map(|clip| mean(value_loss(v, r, clip)) * 0.5).to_vec()
    });
    assert!(near(out[0][0], 0.5 * (0.64 + 0.81 + 4.0) / 3.0), "{out:?}");
    assert!(near(out[1][0], 0.5 * (0.0 + 0.81 + 4.0) / 3.0), "{out:?}");
}

#[test]
fn advantages_are_standardised_and_the_kl_estimate_is_not_negative() {
    let out = run(|| {
        vec![
            standardise(rows(&[1.0, 2.0, 3.0, 6.0]), None),
            mean(approx_kl(rows(&[0.5, -0.5]))),
            standardise(rows(&[7.0; 4]), None),
        ]
    });
    let std = (14.0_f64 / 4.0).sqrt();
    for (got, x) in out[0].iter().zip([-2.0, -1.0, 0.0, 3.0]) {
        assert!(near(*got, x / std), "{out:?}");
    }
    assert!(near(out[1][0], (0.5_f64.exp() - 1.5 + (-0.5_f64).exp() - 0.5) / 2.0), "{out:?}");
    assert_eq!(out[2], [0.0; 4]);
}

#[test]
fn an_absurd_ratio_stays_finite() {
    let out = run(|| vec![clip_loss(log_ratio(rows(&[500.0]), rows(&[-500.0])).exp(), rows(&[-1.0]), rows(&[0.2]))]);
    assert!(out[0][0].is_finite() && out[0][0] > 1e8, "{out:?}");
}

#[test]
fn the_loss_has_the_gradient_of_finite_differences() {
    let PpoConfig { value_coef, entropy_coef, limits, .. } = PpoConfig::default();
    check_derivatives([1e-5, 1e-7], |net, parts, batch| {
        let losses = losses(net, parts, batch, Tensor::constant_f32(0.2), limits.value_clip, true);
        losses.total(Some(value_coef), entropy_coef)
    });
}
