//! PPO's loss, as a function of one minibatch per stacked seed.

use crate::Tensor;
use crate::algo::ActorCritic;
use crate::algo::on_policy::{self, Losses, Minibatch};

use super::PpoConfig;

/// −L of eq. 9: −L^CLIP + c₁ L^VF − c₂ S. `clip_eps`: `[]`.
pub fn losses(net: &ActorCritic, parts: &[Tensor], batch: &Minibatch, clip_eps: Tensor, config: &PpoConfig) -> Losses {
    on_policy::losses(net, parts, batch, clip_eps, &config.terms())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::on_policy::{approx_kl, clip_loss, standardise, value_loss};
    use crate::learn::log_ratio;
    use crate::program::State;
    use crate::{Device, Program};

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
            vec![clip_loss(log_ratio(zero, zero).exp(), adv, eps), approx_kl(zero)]
        });
        assert!(near(out[0][0], -1.0) && out[1][0] == 0.0, "{out:?}");
    }

    #[test]
    fn clipping_is_pessimistic() {
        // Eq. 7 by hand, ε = 0.2: min(1.5, 1.2)·1, min(−1.5, −1.2)·1, min(0.5, 0.8), min(−0.5, −0.8).
        let out = run(|| {
            let (ratio, adv) = (rows(&[1.5, 1.5, 0.5, 0.5]), rows(&[1.0, -1.0, 1.0, -1.0]));
            vec![clip_loss(ratio, adv, Tensor::constant_f32(0.2)), clip_loss(ratio, adv, Tensor::constant_f32(0.99))]
        });
        assert!(near(out[0][0], -(1.2 - 1.5 + 0.5 - 0.8) / 4.0), "{out:?}");
        assert!(near(out[1][0], 0.0), "{out:?}");
    }

    #[test]
    fn the_value_loss_takes_the_larger_of_clipped_and_plain() {
        // Old value 0, ε = 0.2. v = 1, R = 1: plain 0, clipped 0.8². v = 0.1, R = 1: both 0.9². v = −1, R = 1: 2², 1.2².
        let out = run(|| {
            let (v, r) = (rows(&[1.0, 0.1, -1.0]), rows(&[1.0; 3]));
            let clip = (rows(&[0.0; 3]), Tensor::constant_f32(0.2));
            vec![value_loss(v, r, Some(clip)), value_loss(v, r, None)]
        });
        assert!(near(out[0][0], 0.5 * (0.64 + 0.81 + 4.0) / 3.0), "{out:?}");
        assert!(near(out[1][0], 0.5 * (0.0 + 0.81 + 4.0) / 3.0), "{out:?}");
    }

    #[test]
    fn advantages_are_standardised_and_the_kl_estimate_is_not_negative() {
        let out = run(|| {
            vec![standardise(rows(&[1.0, 2.0, 3.0, 6.0])), approx_kl(rows(&[0.5, -0.5])), standardise(rows(&[7.0; 4]))]
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
        let out =
            run(|| vec![clip_loss(log_ratio(rows(&[500.0]), rows(&[-500.0])).exp(), rows(&[-1.0]), rows(&[0.2]))]);
        assert!(out[0][0].is_finite() && out[0][0] > 1e8, "{out:?}");
    }

    /// The gradient of the whole loss with respect to θ against finite differences, first and second order.
    #[test]
    fn the_loss_has_the_gradient_of_finite_differences() {
        use crate::algo::Sampling;
        use crate::env::{ActionSpace, Dim, EnvSpec};
        use crate::grad::check::check;
        use crate::policy::NetConfig;
        use crate::rng::Threefry;

        let vector = || ActionSpace::continuous(vec![Dim::new("a", -1.0, 1.0); 2]);
        let spaces = [(ActionSpace::discrete(&["l", "m", "r"]), false), (vector(), false), (vector(), true)];
        for (space, sde) in spaces {
            let spec = EnvSpec::new("e", vec![Dim::unbounded("x"); 2], space, 9);
            let config = PpoConfig {
                sampling: Sampling { sde, ..Sampling::default() },
                net: NetConfig { hidden: vec![3], log_std_init: -0.5, ..NetConfig::default() },
                ..PpoConfig::default()
            };
            let net = ActorCritic::new(&spec, &config.net, &config.sampling);
            let mut rng = Threefry::new([1, u32::from(sde)]);
            let mut numbers = |n: usize| (0..n).map(|_| 0.7 * rng.normal()).collect::<Vec<f64>>();
            let mut theta = net.layout.init([3, 4]);
            theta.iter_mut().zip(numbers(net.layout.len())).for_each(|(t, z)| *t += 0.3 * z);
            // State-dependent noise stops the gradient at the features, on purpose: there, the slice of the noise only.
            let (fixed, free) = theta.split_at(if sde { theta.len() - 6 } else { 1 });
            let rows = 5;
            let obs = numbers(rows * 2);
            let (logp, value, adv, returns) = (numbers(rows), numbers(rows), numbers(rows), numbers(rows));
            let (choice, action) = ([0.0, 1.0, 2.0, 2.0, 0.0], numbers(rows * 2));
            let loss = |x: &[Tensor]| {
                let column = |v: &[f64]| Tensor::literal_f32(v).reshape(&[1, rows, v.len() / rows]);
                let batch = Minibatch {
                    obs: column(&obs),
                    action: column(if net.actions() == 1 { &choice } else { &action }),
                    // Around the log-probabilities of the policies here, so that some samples are clipped.
                    logp_old: column(&logp) - 1.3,
                    value_old: column(&value),
                    advantage: column(&adv),
                    returns: column(&returns),
                    sequences: None,
                };
                let theta = Tensor::concat(&[Tensor::literal_f32(fixed).unsqueeze(0), x[0]], 1);
                losses(&net, &net.layout.split(theta), &batch, Tensor::constant_f32(0.2), &config).total.sum_all()
            };
            let point = [(vec![1, free.len()], free.to_vec())];
            check(loss, &point, 1, 1e-5, 1e-7).unwrap();
            check(loss, &point, 2, 1e-4, 1e-6).unwrap();
        }
    }
}
