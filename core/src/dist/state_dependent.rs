//! Generalised state-dependent exploration: noise that is a linear function of the policy's features.
//!
//! Raffin, Kober and Stulp 2021, arXiv:2005.05719, section 3. The noise matrix θ_ε is drawn now and then instead of at
//! every step, so exploration is smooth in time: a = μ(s) + θ_εᵀ φ(s), θ_ε ~ N(0, σ²) entry by entry. Over θ_ε, the
//! action is normal with variance Σ_l φ_l² σ_la².

use super::RowNoise;
use super::gaussian::{Gaussian, LOG_STD_RANGE};
use super::squashed::SquashedGaussian;
use crate::Tensor;

/// Added to the variance, so that features of zero do not make it vanish (as Stable-Baselines3).
const MIN_VARIANCE: f64 = 1e-6;

/// The noise's scales, a parameter.
#[derive(Clone, Copy, Debug)]
pub struct StateDependent {
    /// ln σ, limited, `[S, L, A]`.
    log_std: Tensor,
}

impl StateDependent {
    /// From the logarithms of σ, a parameter `[S, L, A]` for L features and A numbers of the action.
    #[track_caller]
    pub fn new(log_std: Tensor) -> StateDependent {
        StateDependent { log_std: log_std.clamp(LOG_STD_RANGE.0, LOG_STD_RANGE.1) }
    }

    /// The action's distribution, given means `[S, B, A]` and features `[S, B, L]`.
    ///
    /// The features are constants here: the noise does not shape them (as Stable-Baselines3's default).
    #[track_caller]
    pub fn distribution(&self, mean: Tensor, features: Tensor) -> Gaussian {
        let variance = features.stop_gradient().square().matmul((self.log_std * 2.0).exp());
        Gaussian::with_variance(mean, variance + MIN_VARIANCE)
    }

    /// The distribution of an action that a tanh limits. The noise shapes the features too (as Stable-Baselines3's
    /// SAC): the deviation is learned with them.
    #[track_caller]
    pub fn squashed(&self, mean: Tensor, features: Tensor) -> SquashedGaussian {
        let variance = features.square().matmul((self.log_std * 2.0).exp());
        SquashedGaussian::of(Gaussian::with_variance(mean, variance + MIN_VARIANCE))
    }

    /// A noise matrix per row, `[S, N, A · L]`: the L entries of an action's number lie together.
    #[track_caller]
    pub fn draw(&self, noise: &RowNoise) -> Tensor {
        let (seeds, features, actions) = (self.log_std.size(0), self.log_std.size(1), self.log_std.size(2));
        let std = self.log_std.exp().transpose().reshape(&[seeds, 1, actions * features]);
        noise.normal(actions * features) * std
    }

    /// The disturbance of the action: `features: [S, N, L]`, `matrix` of [`draw`](Self::draw) → `[S, N, A]`.
    #[track_caller]
    pub fn disturb(&self, features: Tensor, matrix: Tensor) -> Tensor {
        let (l, actions) = (self.log_std.size(1), self.log_std.size(2));
        let one = |a: usize| (matrix.slice(2, a * l, (a + 1) * l) * features).sum_keep(2);
        Tensor::concat(&(0..actions).map(one).collect::<Vec<_>>(), 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::State;
    use crate::{Device, Program};

    /// The variance over noise matrices is that of the distribution, whose density and entropy are PPO's.
    #[test]
    fn disturbances_have_the_variance_of_the_distribution() {
        let n = 40_000;
        let device = Device::cpu(1);
        let phi = [0.5, -1.0, 0.25];
        let log_std = [0.1, -0.5, 0.7, 0.0, -1.0, 0.3]; // [3 features, 2 numbers]
        let mut program = Program::new(&device, |cx| {
            let key = [Tensor::constant_u32(3), Tensor::constant_u32(4)].map(|k| k.broadcast_to(&[1, 1]));
            let features = Tensor::literal_f32(&phi).broadcast_to(&[1, n, 3]);
            let sde = StateDependent::new(Tensor::literal_f32(&log_std).reshape(&[1, 3, 2]));
            cx.output("noise", sde.disturb(features, sde.draw(&RowNoise::new(key, n))));
            let one = sde.distribution(Tensor::zeros(&[1, 1, 2]), features.slice(1, 0, 1));
            cx.output("entropy", one.entropy());
        })
        .unwrap();
        let out = program.run(&State::new(), &[], &[]).unwrap();
        let read = |name| pollster::block_on(device.read(out.get(name).unwrap())).unwrap();
        let noise = read("noise");
        let mut entropy = std::f64::consts::TAU.ln() + 1.0;
        for a in 0..2 {
            let variance: f64 = (0..3).map(|l| (phi[l] * f64::exp(log_std[l * 2 + a])).powi(2)).sum();
            let column = || noise.iter().skip(a).step_by(2);
            let mean = column().sum::<f64>() / n as f64;
            let got = column().map(|x| x * x).sum::<f64>() / n as f64;
            assert!(mean.abs() < 4.0 * (variance / n as f64).sqrt(), "{mean}");
            assert!((got / variance - 1.0).abs() < 4.0 * (2.0 / n as f64).sqrt(), "{got} {variance}");
            entropy += 0.5 * variance.ln();
        }
        assert!((read("entropy")[0] - entropy).abs() < 1e-5);
    }
}
