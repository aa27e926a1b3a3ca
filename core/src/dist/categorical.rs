//! One of several choices.

use super::RowNoise;
use crate::Tensor;

/// A distribution over `A` choices per row, `[S, B]`; a row may have several such, along axes between `B` and `A`.
#[derive(Clone, Copy, Debug)]
pub struct Categorical {
    /// Log-probabilities `[S, B, …, A]`.
    log_probs: Tensor,
}

/// The axis of choices, which is the last one.
fn last(scores: Tensor) -> usize {
    scores.shape().len().saturating_sub(1)
}

impl Categorical {
    /// From unnormalised log-probabilities `[S, B, A]`.
    #[track_caller]
    pub fn new(logits: Tensor) -> Categorical {
        Categorical { log_probs: logits.log_softmax(last(logits)) }
    }

    /// Log-probabilities of all choices, `[S, B, A]`.
    #[must_use]
    pub fn log_probs(&self) -> Tensor {
        self.log_probs
    }

    fn choices(&self) -> usize {
        self.log_probs.size(last(self.log_probs))
    }

    /// Log-probability of the choice `action: [S, B, 1]` → `[S, B, 1]`.
    #[track_caller]
    pub fn log_prob(&self, action: Tensor) -> Tensor {
        at(self.log_probs, action)
    }

    /// −Σ p ln p, `[S, B, 1]`.
    #[track_caller]
    pub fn entropy(&self) -> Tensor {
        -(self.log_probs.exp() * self.log_probs).sum_keep(last(self.log_probs))
    }

    /// KL(self ‖ other), `[S, B, 1]`: Σ p (ln p − ln q).
    #[track_caller]
    pub fn kl(&self, other: &Categorical) -> Tensor {
        (self.log_probs.exp() * (self.log_probs - other.log_probs)).sum_keep(last(self.log_probs))
    }

    /// A copy through which no gradient flows.
    #[track_caller]
    pub fn stop_gradient(&self) -> Categorical {
        Categorical { log_probs: self.log_probs.stop_gradient() }
    }

    /// A choice per row by inverting the running sum of probabilities, `[S, B, 1]`.
    #[track_caller]
    pub fn sample(&self, noise: &RowNoise) -> Tensor {
        self.invert(noise.uniform())
    }

    /// The choices at which the running sum of probabilities exceeds the uniform numbers `u: [S, B, …, 1]`, of
    /// that shape.
    #[track_caller]
    pub(super) fn invert(&self, u: Tensor) -> Tensor {
        let p = self.log_probs.exp();
        let (mut sum, mut index) = (Tensor::constant_f32(0.0), Tensor::constant_f32(0.0));
        // The last choice takes what rounding leaves over.
        for a in 0..self.choices() - 1 {
            sum = sum + p.slice(last(p), a, a + 1);
            index = index + u.lt(sum).not().to_f32();
        }
        index.broadcast_to(&u.shape())
    }

    /// The most probable choice, the first of equals, `[S, B, 1]`.
    #[track_caller]
    pub fn mode(&self) -> Tensor {
        best(self.log_probs)
    }
}

/// The score of one choice each, `[S, B, …, A]` and the choice `[S, B, …, 1]` → `[S, B, …, 1]`.
#[track_caller]
pub fn at(scores: Tensor, choice: Tensor) -> Tensor {
    let axis = last(scores);
    let number = Tensor::iota(&[1, 1, scores.size(axis)], 2).to_f32();
    number.eq(choice).select(scores, Tensor::constant_f32(0.0)).sum_keep(axis)
}

/// The number of the largest score, the first of equals: `[S, B, …, A]` → `[S, B, …, 1]`.
#[track_caller]
pub fn best(scores: Tensor) -> Tensor {
    let axis = last(scores);
    let (n, top) = (scores.size(axis), scores.max_keep(axis));
    let from_the_end = n as f64 - Tensor::iota(&[1, 1, n], 2).to_f32();
    let rank = scores.lt(top).select(Tensor::constant_f32(0.0), from_the_end);
    n as f64 - rank.max_keep(axis)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::State;
    use crate::{DType, Device, Program};

    fn run(logits: &[f64], choices: usize, f: impl FnOnce(Categorical) -> Tensor) -> Vec<f64> {
        let device = Device::cpu(1);
        let shape = [1, logits.len() / choices, choices];
        let mut program = Program::new(&device, |cx| {
            let y = f(Categorical::new(cx.input("logits", &shape, DType::F32)));
            cx.output("y", y);
        })
        .unwrap();
        let logits = device.array(&shape, logits).unwrap();
        let out = program.run(&State::new(), &[("logits", &logits)], &[]).unwrap();
        pollster::block_on(device.read(out.get("y").unwrap())).unwrap()
    }

    #[test]
    fn log_probabilities_entropy_and_mode_are_those_of_the_softmax() {
        // Logits ln 1, ln 2, ln 5 shifted by 3: probabilities 1/8, 1/4, 5/8. Second row: even, first of equals.
        let logits = [3.0, 3.0 + 2f64.ln(), 3.0 + 5f64.ln(), 0.0, 0.0, 0.0];
        let lp = run(&logits, 3, |d| d.log_prob(Tensor::literal_f32(&[1.0, 2.0]).reshape(&[1, 2, 1])));
        assert!((lp[0] - 0.25_f64.ln()).abs() < 1e-6 && (lp[1] - (1.0 / 3.0_f64).ln()).abs() < 1e-6, "{lp:?}");
        let h = run(&logits, 3, |d| d.entropy());
        let expected = -[0.125, 0.25, 0.625_f64].iter().map(|p| p * p.ln()).sum::<f64>();
        assert!((h[0] - expected).abs() < 1e-6 && (h[1] - 3f64.ln()).abs() < 1e-6, "{h:?}");
        assert_eq!(run(&logits, 3, |d| d.mode()), [2.0, 0.0]);
        assert_eq!(run(&[0.0, 1e4, 1e4, 0.0], 2, |d| d.mode()), [1.0, 0.0]);
    }

    #[test]
    fn samples_come_in_proportion() {
        let n = 20_000;
        let logits: Vec<f64> = (0..n).flat_map(|_| [0.0, 2f64.ln(), 5f64.ln()]).collect();
        let key = || [Tensor::constant_u32(3), Tensor::constant_u32(4)].map(|k| k.broadcast_to(&[1, 1]));
        let samples = run(&logits, 3, |d| d.sample(&RowNoise::new(key(), n)));
        for (choice, p) in [0.125, 0.25, 0.625].into_iter().enumerate() {
            let share = samples.iter().filter(|a| **a == choice as f64).count() as f64 / n as f64;
            assert!((share - p).abs() < 4.0 * (p * (1.0 - p) / n as f64).sqrt(), "{choice}: {share}");
        }
    }
}
