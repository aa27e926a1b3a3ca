//! The rule by which a gradient becomes a step, and the settings of algorithms that leave the choice of it open.

use super::{Adam, GradientMoments, Progress, RateSchedule, RmsPropConfig};
use crate::Tensor;
use crate::settings::Range;

/// The rule by which a gradient becomes a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Optimiser {
    /// Steps by moments of the gradient; without a first one and without corrections it is RMSprop.
    Adam(Adam),
    /// Gradient descent whose steps have so much of the last one in them, in [0, 1): m ← μ m + g, θ ← θ − α m, as
    /// `torch.optim.SGD`.
    Momentum(f64),
}

impl From<Adam> for Optimiser {
    fn from(adam: Adam) -> Optimiser {
        Optimiser::Adam(adam)
    }
}

impl Optimiser {
    /// One step against the gradient: the new θ and memory. `theta, grad: [S, P]`; `learning_rate`: `[]` or `[S, 1]`.
    #[track_caller]
    pub fn step(
        &self,
        theta: Tensor,
        grad: Tensor,
        state: GradientMoments,
        learning_rate: Tensor,
    ) -> (Tensor, GradientMoments) {
        match self {
            Optimiser::Adam(adam) => adam.step(theta, grad, state, learning_rate),
            Optimiser::Momentum(momentum) => {
                let m = (state.m * *momentum + grad).without_subnormals();
                // Above 0 after the first step, as Adam's: so a snapshot tells a memory that was used from a new one.
                let scale = state.scale * 0.5 + 0.5;
                (theta - m * learning_rate, GradientMoments { m, scale, ..state })
            }
        }
    }
}

/// Names of the rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OptimiserKind {
    /// [`Adam`].
    #[default]
    Adam,
    /// [`RmsPropConfig`].
    RmsProp,
    /// [`Optimiser::Momentum`].
    Sgd,
}

crate::words!(OptimiserKind { Adam = "adam", RmsProp = "rms_prop", Sgd = "sgd" });

crate::settings! {
    /// The settings of an algorithm that makes its steps by a rule of one's choice.
    #[derive(Copy)]
    pub struct OptimiserConfig {
        /// step size; lower it where train/approx_kl, if there is one, is above about 0.03
        learning_rate: f64 = 1e-3, Range::Positive;
        /// How the rate falls.
        ..schedule: RateSchedule;
        /// rule by which gradients become steps
        optimiser: OptimiserKind = OptimiserKind::Adam;
        /// Adam's ε
        adam_eps: f64 = 1e-5, Range::Positive;
        /// RMSprop: share of the old squares in their average
        rms_decay: f64 = 0.99, Range::Unit;
        /// RMSprop's ε
        rms_eps: f64 = 1e-5, Range::Positive;
        /// of sgd: share of the last step in the next one
        momentum: f64 = 0.9, Range::Between(0.0, 0.999_999);
    }
}

impl OptimiserConfig {
    /// The share of a rate that is left in the next iteration.
    pub fn factor(&self, at: Progress) -> f64 {
        self.schedule.factor(at)
    }

    /// The step size in the next iteration.
    pub fn rate(&self, at: Progress) -> f64 {
        self.learning_rate * self.factor(at)
    }

    /// The rule.
    pub fn rule(&self) -> Optimiser {
        match self.optimiser {
            OptimiserKind::Adam => Adam { eps: self.adam_eps, ..Adam::default() }.into(),
            OptimiserKind::RmsProp => {
                let (rms_decay, rms_eps) = (self.rms_decay, self.rms_eps);
                RmsPropConfig { rms_decay, rms_eps, ..RmsPropConfig::default() }.optimiser().into()
            }
            OptimiserKind::Sgd => Optimiser::Momentum(self.momentum),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optim::Schedule;
    use crate::program::State;
    use crate::{Device, Program};

    #[test]
    fn steps_with_momentum_are_those_of_the_formula() {
        let rule =
            OptimiserConfig { optimiser: OptimiserKind::Sgd, momentum: 0.5, ..OptimiserConfig::default() }.rule();
        let device = Device::cpu(1);
        let mut program = Program::new(&device, |cx| {
            let zero = Tensor::zeros(&[1, 2]);
            let mut at =
                (Tensor::literal_f32(&[1.0, 2.0]).unsqueeze(0), GradientMoments { m: zero, v: zero, scale: zero });
            for grad in [[1.0, -4.0], [2.0, 0.0], [0.0, 8.0]] {
                at = rule.step(at.0, Tensor::literal_f32(&grad).unsqueeze(0), at.1, Tensor::constant_f32(0.25));
            }
            cx.output("theta", at.0);
        })
        .unwrap();
        let out = program.run(&State::new(), &[], &[]).unwrap();
        let got = pollster::block_on(device.read(out.get("theta").unwrap())).unwrap();
        // m of the first number: 1, 2.5, 1.25; of the second: −4, −2, 7.
        assert_eq!(got, [1.0 - 0.25 * 4.75, 2.0 - 0.25]);
    }

    #[test]
    fn each_word_is_a_rule_and_rates_fall_as_they_are_told() {
        let of = |optimiser| OptimiserConfig { optimiser, ..OptimiserConfig::default() }.rule();
        assert_eq!(of(OptimiserKind::Adam), Adam { eps: 1e-5, ..Adam::default() }.into());
        let rms = Adam { beta1: 0.0, beta2: 0.99, eps: 1e-5, corrected: false };
        assert_eq!(of(OptimiserKind::RmsProp), rms.into());
        let config = OptimiserConfig {
            schedule: RateSchedule {
                learning_rate_schedule: Schedule::Step,
                learning_rate_fall: 0.25,
                learning_rate_falls: 1,
            },
            ..OptimiserConfig::default()
        };
        assert_eq!(
            [0, 4, 5, 9].map(|done| config.rate(Progress { iterations: done, steps: done, budget: 10 })),
            [1e-3, 1e-3, 2.5e-4, 2.5e-4]
        );
    }
}
