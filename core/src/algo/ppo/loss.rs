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
    use crate::algo::on_policy::differences::check_derivatives;
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

    #[test]
    fn the_loss_has_the_gradient_of_finite_differences() {
        let config = PpoConfig::default();
        check_derivatives([1e-5, 1e-7], |net, parts, batch| {
            losses(net, parts, batch, Tensor::constant_f32(0.2), &config).total
        });
    }
}
