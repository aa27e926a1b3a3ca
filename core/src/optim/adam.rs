//! Adam, and clipping of gradients by their norm.

use super::{Progress, RateSchedule};
use crate::Tensor;
use crate::settings::Range;

crate::settings! {
    /// The settings of an algorithm that makes its steps by [`Adam`].
    #[derive(Copy)]
    pub struct AdamConfig {
        /// Adam's step size; lower it where train/approx_kl, if there is one, is above about 0.03
        ///
        /// α of Adam.
        learning_rate: f64 = 1e-3, Range::Positive;
        /// How the rate falls.
        ..schedule: RateSchedule;
        /// Adam's ε
        adam_eps: f64 = 1e-5, Range::Positive;
    }
}

impl AdamConfig {
    /// The share of a rate that is left in the next iteration.
    pub fn factor(&self, at: Progress) -> f64 {
        self.schedule.factor(at)
    }

    /// The step size in the next iteration.
    pub fn rate(&self, at: Progress) -> f64 {
        self.learning_rate * self.factor(at)
    }

    /// The optimiser.
    pub fn optimiser(&self) -> Adam {
        Adam { eps: self.adam_eps, ..Adam::default() }
    }
}

/// Adam's constants.
///
/// Kingma and Ba 2015, arXiv:1412.6980, algorithm 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adam {
    /// Decay of the first moment, in [0, 1).
    pub beta1: f64,
    /// Decay of the second moment, in [0, 1).
    pub beta2: f64,
    /// Added to the square root of the second moment.
    pub eps: f64,
    /// Divide averages by those of the number 1. Without it, and without a first moment, this is
    /// [RMSprop](super::RmsPropConfig).
    pub corrected: bool,
}

impl Default for Adam {
    fn default() -> Self {
        Adam { beta1: 0.9, beta2: 0.999, eps: 1e-8, corrected: true }
    }
}

/// Adam's memory of `[S, P]` parameters; all zero at first.
#[derive(Clone, Copy, Debug)]
pub struct GradientMoments {
    /// First moment `[S, P]`.
    pub m: Tensor,
    /// Second moment `[S, P]`.
    pub v: Tensor,
    /// `1 − β₁ᵗ` and `1 − β₂ᵗ`, `[S, 2]`: the same averages of the number 1. Kept rather than computed from a step
    /// count, because `1 − β₂ᵗ` of a rounded power is off by 1e-4 in the first steps.
    pub scale: Tensor,
}

crate::tree!(GradientMoments: m, v, scale);

impl Adam {
    /// One step against the gradient: the new θ and memory. `theta, grad: [S, P]`; `learning_rate`: `[]` or `[S, 1]`.
    ///
    /// m ← β₁ m + (1 − β₁) g, v ← β₂ v + (1 − β₂) g², θ ← θ − α m̂ / (√v̂ + ε), where m and v below 2⁻¹²⁶ become 0:
    /// units that a gradient no longer reaches would else keep subnormal moments, which no θ feels and each step pays
    /// for.
    #[track_caller]
    pub fn step(
        &self,
        theta: Tensor,
        grad: Tensor,
        state: GradientMoments,
        learning_rate: Tensor,
    ) -> (Tensor, GradientMoments) {
        let m = state.m * self.beta1 + grad * (1.0 - self.beta1);
        let m = if self.beta1 > 0.0 { m.without_subnormals() } else { m };
        let v = (state.v * self.beta2 + grad.square() * (1.0 - self.beta2)).without_subnormals();
        let decay = Tensor::literal_f32(&[self.beta1, self.beta2]);
        let gain = Tensor::literal_f32(&[1.0 - self.beta1, 1.0 - self.beta2]);
        let scale = state.scale * decay + gain;
        let (c1, c2) = (scale.slice(1, 0, 1), scale.slice(1, 1, 2));
        let step = match self.corrected {
            true => m * (learning_rate / c1) / ((v * c2.recip()).sqrt() + self.eps),
            false => m * learning_rate / (v.sqrt() + self.eps),
        };
        (theta - step, GradientMoments { m, v, scale })
    }
}

/// ½ λ ‖θ‖² of the slices of θ, `[S, …]` → `[S, 1]`: as a part of the loss what `weight_decay` = λ of
/// `torch.optim.Adam` is.
#[track_caller]
pub fn weight_decay(parts: &[Tensor], share: f64) -> Tensor {
    let squares = parts.iter().map(|part| {
        let seeds = part.size(0);
        part.square().reshape(&[seeds, part.len() / seeds.max(1)]).sum_keep(1)
    });
    squares.reduce(|a, b| a + b).unwrap_or(Tensor::poison()) * (0.5 * share)
}

/// Euclidean norm of each row: `[S, P]` → `[S, 1]`.
#[track_caller]
pub fn norm(grad: Tensor) -> Tensor {
    grad.square().sum_keep(1).sqrt()
}

/// Rows longer than `max_norm` scaled down to it, and the norms before: `[S, P]` → `([S, P], [S, 1])`.
///
/// g ← g · min(1, c / (‖g‖ + 1e-6)), as `torch.nn.utils.clip_grad_norm_`.
#[track_caller]
pub fn clip_by_norm(grad: Tensor, max_norm: f64) -> (Tensor, Tensor) {
    let norm = norm(grad);
    let factor = (max_norm / (norm + 1e-6)).min(Tensor::constant_f32(1.0));
    (grad * factor, norm)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::State;
    use crate::{DType, Device, Program};

    #[test]
    fn steps_match_the_algorithm_written_out() {
        // Independent f64 evaluation of algorithm 1 on g_t = [t, −0.001 t²], two stacked seeds with rates 0.1 and 0.01.
        let adam = Adam::default();
        let (mut m, mut v, mut theta) = ([0.0; 2], [0.0; 2], [[1.0, 2.0]; 2]);
        for t in 1..=20 {
            let g = [f64::from(t), -0.001 * f64::from(t * t)];
            for i in 0..2 {
                m[i] = 0.9 * m[i] + 0.1 * g[i];
                v[i] = 0.999 * v[i] + 0.001 * g[i] * g[i];
                let (mh, vh) = (m[i] / (1.0 - 0.9_f64.powi(t)), v[i] / (1.0 - 0.999_f64.powi(t)));
                for (row, rate) in theta.iter_mut().zip([0.1, 0.01]) {
                    row[i] -= rate * mh / (vh.sqrt() + 1e-8);
                }
            }
        }
        let device = Device::cpu(1);
        let mut program = Program::new(&device, |cx| {
            let theta = cx.state("theta", &[2, 2], DType::F32);
            let state = GradientMoments {
                m: cx.state("m", &[2, 2], DType::F32),
                v: cx.state("v", &[2, 2], DType::F32),
                scale: cx.state("scale", &[2, 2], DType::F32),
            };
            let grad = cx.input("grad", &[2, 2], DType::F32);
            let (theta, next) = adam.step(theta, grad, state, Tensor::literal_f32(&[0.1, 0.01]).unsqueeze(1));
            cx.update("theta", theta);
            cx.update("m", next.m);
            cx.update("v", next.v);
            cx.update("scale", next.scale);
        })
        .unwrap();
        let mut state = State::new();
        state.insert("theta", device.array(&[2, 2], &[1.0, 2.0, 1.0, 2.0]).unwrap());
        for name in ["m", "v", "scale"] {
            state.insert(name, device.zeros(&[2, 2], DType::F32).unwrap());
        }
        for t in 1..=20 {
            let t = f64::from(t);
            let grad = device.array(&[2, 2], &[t, -0.001 * t * t, t, -0.001 * t * t]).unwrap();
            program.run(&state, &[("grad", &grad)], &[]).unwrap();
        }
        let got = pollster::block_on(device.read(state.get("theta").unwrap())).unwrap();
        for (got, expected) in got.iter().zip(theta.concat()) {
            assert!((got - expected).abs() < 3e-6, "{got} {expected}");
        }
    }

    #[test]
    fn the_gradient_of_weight_decay_is_the_parameters_share() {
        let device = Device::cpu(1);
        let mut program = Program::new(&device, |cx| {
            let parts = [cx.input("a", &[2, 2], DType::F32), cx.input("b", &[2, 1, 1], DType::F32)];
            cx.output("loss", weight_decay(&parts, 0.5));
            let grads = crate::grad::grad(weight_decay(&parts, 0.5).sum_all(), &parts);
            cx.output("a", grads[0]);
            cx.output("b", grads[1]);
        })
        .unwrap();
        let a = device.array(&[2, 2], &[1.0, -2.0, 0.0, 4.0]).unwrap();
        let b = device.array(&[2, 1, 1], &[3.0, -1.0]).unwrap();
        let out = program.run(&State::new(), &[("a", &a), ("b", &b)], &[]).unwrap();
        let read = |name| pollster::block_on(device.read(out.get(name).unwrap())).unwrap();
        assert_eq!(read("loss"), [0.25 * 14.0, 0.25 * 17.0]);
        assert_eq!((read("a"), read("b")), (vec![0.5, -1.0, 0.0, 2.0], vec![1.5, -0.5]));
    }

    #[test]
    fn only_long_gradients_are_clipped() {
        let device = Device::cpu(1);
        let mut program = Program::new(&device, |cx| {
            let (clipped, norm) = clip_by_norm(cx.input("g", &[2, 2], DType::F32), 0.5);
            cx.output("clipped", clipped);
            cx.output("norm", norm);
        })
        .unwrap();
        let g = device.array(&[2, 2], &[3.0, -4.0, 0.03, 0.04]).unwrap();
        let out = program.run(&State::new(), &[("g", &g)], &[]).unwrap();
        let read = |name| pollster::block_on(device.read(out.get(name).unwrap())).unwrap();
        for (got, expected) in read("clipped").iter().zip([0.3, -0.4, 0.03, 0.04]) {
            assert!((got - expected).abs() < 1e-6);
        }
        for (got, expected) in read("norm").iter().zip([5.0, 0.05]) {
            assert!((got - expected).abs() < 1e-6);
        }
    }
}
