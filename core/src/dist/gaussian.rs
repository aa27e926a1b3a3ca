//! Independent Gaussians, one for each number of a vector.

use super::RowNoise;
use crate::Tensor;

/// Logarithms of standard deviations are limited to this range, so that a policy can neither freeze nor overflow.
pub const LOG_STD_RANGE: (f64, f64) = (-20.0, 2.0);

/// A normal distribution per row with a diagonal covariance.
#[derive(Clone, Copy, Debug)]
pub struct Gaussian {
    /// `[S, B, A]`
    mean: Tensor,
    /// `[S, 1 or B, A]`
    log_std: Tensor,
    /// 1/σ², `[S, 1 or B, A]`
    precision: Tensor,
}

impl Gaussian {
    /// From means `[S, B, A]` and the logarithm of the standard deviation, a parameter `[S, A]`.
    #[track_caller]
    pub fn new(mean: Tensor, log_std: Tensor) -> Gaussian {
        Gaussian::at_least(mean, log_std, LOG_STD_RANGE.0)
    }

    /// As [`new`](Self::new), with deviations whose logarithm is no lower than `least`; below it, the parameter has no
    /// gradient.
    #[track_caller]
    pub fn at_least(mean: Tensor, log_std: Tensor, least: f64) -> Gaussian {
        let log_std = log_std.clamp(least.clamp(LOG_STD_RANGE.0, LOG_STD_RANGE.1), LOG_STD_RANGE.1).unsqueeze(1);
        Gaussian { mean, log_std, precision: (log_std * -2.0).exp() }
    }

    /// From means and logarithms of standard deviations, both `[S, B, A]`.
    #[track_caller]
    pub fn with_log_std(mean: Tensor, log_std: Tensor) -> Gaussian {
        let log_std = log_std.clamp(LOG_STD_RANGE.0, LOG_STD_RANGE.1);
        Gaussian { mean, log_std, precision: (log_std * -2.0).exp() }
    }

    /// From means and variances, both `[S, B, A]`.
    #[track_caller]
    pub fn with_variance(mean: Tensor, variance: Tensor) -> Gaussian {
        Gaussian { mean, log_std: variance.log() * 0.5, precision: variance.recip() }
    }

    /// Joint log-density of `action: [S, B, A]` → `[S, B, 1]`.
    ///
    /// Σ −½ (a − μ)²/σ² − ln σ − ½ ln 2π
    #[track_caller]
    pub fn log_prob(&self, action: Tensor) -> Tensor {
        let half_log_tau = 0.5 * std::f64::consts::TAU.ln();
        ((action - self.mean).square() * self.precision * -0.5 - self.log_std - half_log_tau).sum_keep(2)
    }

    /// Σ ½ + ½ ln 2π + ln σ, `[S, B, 1]`.
    #[track_caller]
    pub fn entropy(&self) -> Tensor {
        let each = self.log_std + 0.5 * (1.0 + std::f64::consts::TAU.ln());
        each.broadcast_to(&self.mean.shape()).sum_keep(2)
    }

    /// The logarithm of the standard deviation, `[S, 1 or B, A]`, within [`LOG_STD_RANGE`].
    #[must_use]
    pub fn log_std(&self) -> Tensor {
        self.log_std
    }

    /// The draw that standard normal numbers `[S, B, A]` lead to.
    #[track_caller]
    pub fn disturbed(&self, normal: Tensor) -> Tensor {
        self.mean + self.log_std.exp() * normal
    }

    /// A draw per row, `[S, B, A]`.
    #[track_caller]
    pub fn sample(&self, noise: &RowNoise) -> Tensor {
        self.disturbed(noise.normal(self.mean.size(2)))
    }

    /// KL(self ‖ other), `[S, B, 1]`: Σ ((μ₁ − μ₂)² + σ₁² − σ₂²) / (2 σ₂² + 1e-8) + ln σ₂ − ln σ₁.
    ///
    /// The 1e-8 is that of the libraries whose numbers we compare with.
    #[track_caller]
    pub fn kl(&self, other: &Gaussian) -> Tensor {
        let variance = |d: &Gaussian| (d.log_std * 2.0).exp();
        let (from, to) = (variance(self), variance(other));
        let distance = (self.mean - other.mean).square() + from - to;
        (distance / (to * 2.0 + 1e-8) + other.log_std - self.log_std).sum_keep(2)
    }

    /// A copy through which no gradient flows.
    #[track_caller]
    pub fn stop_gradient(&self) -> Gaussian {
        let [mean, log_std, precision] = [self.mean, self.log_std, self.precision].map(Tensor::stop_gradient);
        Gaussian { mean, log_std, precision }
    }

    /// The mean.
    pub fn mode(&self) -> Tensor {
        self.mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::State;
    use crate::{Device, Program};

    fn run(f: impl FnOnce() -> Tensor) -> Vec<f64> {
        let device = Device::cpu(1);
        let mut program = Program::new(&device, |cx| cx.output("y", f())).unwrap();
        let out = program.run(&State::new(), &[], &[]).unwrap();
        pollster::block_on(device.read(out.get("y").unwrap())).unwrap()
    }

    fn example() -> Gaussian {
        let mean = Tensor::literal_f32(&[0.5, -1.0, 0.0, 2.0]).reshape(&[1, 2, 2]);
        Gaussian::new(mean, Tensor::literal_f32(&[0.3, -0.7]).reshape(&[1, 2]))
    }

    #[test]
    fn density_and_entropy_are_sums_over_the_action() {
        // The formulas evaluated in f64 by a Python script.
        let action = || Tensor::literal_f32(&[1.0, -1.5, 0.0, 2.0]).reshape(&[1, 2, 2]);
        let lp = run(|| example().log_prob(action()));
        assert!((lp[0] - -2.013_378_516_776_7).abs() < 1e-5 && (lp[1] - -1.437_877_066_409_3).abs() < 1e-6, "{lp:?}");
        for h in run(|| example().entropy()) {
            assert!((h - 2.437_877_066_409_3).abs() < 1e-6, "{h}");
        }
        let same = run(|| {
            let d = example();
            Gaussian::with_variance(d.mean, (d.log_std * 2.0).exp().broadcast_to(&[1, 2, 2])).log_prob(action())
        });
        assert!(lp.iter().zip(same).all(|(a, b)| (a - b).abs() < 1e-5));
    }

    #[test]
    fn samples_have_the_mean_and_deviation() {
        let n = 20_000;
        let z = run(|| {
            let key = [Tensor::constant_u32(3), Tensor::constant_u32(4)].map(|k| k.broadcast_to(&[1, 1]));
            let mean = Tensor::literal_f32(&[0.5, -1.0]).broadcast_to(&[1, n, 2]);
            Gaussian::new(mean, Tensor::literal_f32(&[0.3, -0.7]).reshape(&[1, 2])).sample(&RowNoise::new(key, n))
        });
        for (i, (mean, std)) in [(0.5, 0.3_f64.exp()), (-1.0, (-0.7_f64).exp())].into_iter().enumerate() {
            let column = || z.iter().skip(i).step_by(2);
            let m = column().sum::<f64>() / n as f64;
            let s = (column().map(|x| (x - m).powi(2)).sum::<f64>() / n as f64).sqrt();
            assert!((m - mean).abs() < 4.0 * std / (n as f64).sqrt() && (s / std - 1.0).abs() < 0.02, "{m} {s}");
        }
    }
}
