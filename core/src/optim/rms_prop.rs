//! RMSprop.

use super::{Adam, RateSchedule};
use crate::settings::Range;

crate::settings! {
    /// The settings of an algorithm that makes its steps by RMSprop: v ← α v + (1 − α) g², θ ← θ − η g / (√v + ε).
    ///
    /// Tieleman and Hinton 2012, lecture 6.5, as `torch.optim.RMSprop` without momentum.
    #[derive(Copy)]
    pub struct RmsPropConfig {
        /// RMSprop's step size
        ///
        /// η of RMSprop.
        learning_rate: f64 = 5e-4, Range::Positive;
        /// How the rate falls.
        ..schedule: RateSchedule;
        /// α: share of the old squares in their average
        rms_decay: f64 = 0.99, Range::Unit;
        /// RMSprop's ε
        rms_eps: f64 = 1e-8, Range::Positive;
    }
}

impl RmsPropConfig {
    /// The optimiser: Adam without a first moment and without corrections.
    #[must_use]
    pub fn optimiser(&self) -> Adam {
        Adam { beta1: 0.0, beta2: self.rms_decay, eps: self.rms_eps, corrected: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optim::GradientMoments;
    use crate::program::State;
    use crate::{Device, Program, Tensor};

    #[test]
    fn steps_are_those_of_the_formula() {
        let config = RmsPropConfig { learning_rate: 0.1, ..RmsPropConfig::default() };
        let device = Device::cpu(1);
        let mut program = Program::new(&device, |cx| {
            let zero = Tensor::zeros(&[1, 2]);
            let mut at =
                (Tensor::literal_f32(&[1.0, 2.0]).unsqueeze(0), GradientMoments { m: zero, v: zero, scale: zero });
            for t in 1..=3 {
                let grad = Tensor::literal_f32(&[f64::from(t), -0.5]).unsqueeze(0);
                at = config.optimiser().step(at.0, grad, at.1, Tensor::constant_f32(config.learning_rate));
            }
            cx.output("theta", at.0);
        })
        .unwrap();
        let out = program.run(&State::new(), &[], &[]).unwrap();
        let got = pollster::block_on(device.read(out.get("theta").unwrap())).unwrap();
        let (mut theta, mut v) = ([1.0f64, 2.0], [0.0f64; 2]);
        for t in 1..=3 {
            for (i, g) in [f64::from(t), -0.5].into_iter().enumerate() {
                v[i] = 0.99 * v[i] + 0.01 * g * g;
                theta[i] -= 0.1 * g / (v[i].sqrt() + 1e-8);
            }
        }
        assert!(got.iter().zip(theta).all(|(got, want)| (got - want).abs() < 1e-5), "{got:?} {theta:?}");
    }
}
