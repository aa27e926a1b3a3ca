//! Who gets credit for what: advantages and value targets of whole trials.

use super::collect::Trials;
use super::config::{AdvantageCentre, EntropyMethod, Rl2Config};
use crate::Tensor;
use crate::sample::{Paths, Processor};

/// Training data of trials, `[T, S, M, 1]`; 0 in padding.
#[derive(Clone, Copy, Debug)]
pub struct Credit {
    /// Discounted sums of rewards to the end of the trial: what a baseline is fitted to.
    pub fitted: Tensor,
    /// What is expected of each step: learned values, or a baseline fitted to these very trials.
    pub values: Tensor,
    /// Advantages, centred.
    pub advantage: Tensor,
    /// Targets of learned values.
    pub returns: Tensor,
}

impl Rl2Config {
    /// Credit for the steps of trials, as if each were one path: nothing ends with an episode.
    #[track_caller]
    pub fn credit(&self, trials: &Trials) -> Credit {
        let entropy = self.entropy(trials.entropy, trials.logp);
        let paths = Paths { reward: self.rewards(&trials.paths, entropy), ..trials.paths };
        let processor = Processor {
            gamma: self.gamma,
            gae_lambda: self.gae_lambda,
            baseline: self.critic.baseline().unwrap_or_default(),
            normalise: false,
            positive: false,
        };
        let fitted = processor.returns(&paths);
        let values = match self.critic.baseline() {
            None => paths.valid.select(trials.value, Tensor::constant_f32(0.0)),
            Some(baseline) => baseline.fit_predict(&paths, fitted),
        };
        let raw = processor.advantages(&paths, values);
        let returns = paths.valid.select(raw + values, Tensor::constant_f32(0.0));
        let advantage = centred(self.advantage_centre, self.positive_advantages, raw, paths.valid);
        Credit { fitted, values, advantage, returns }
    }

    /// Rewards as credit is given for them, `[T, S, M, 1]`: with the entropy, if that is to be maximised too.
    ///
    /// Of valid steps only; garage adds it to padding as well, from where it leaks into the returns of shorter trials.
    #[track_caller]
    fn rewards(&self, paths: &Paths, entropy: Tensor) -> Tensor {
        match self.entropy_method {
            EntropyMethod::Max => {
                let bonus = entropy.stop_gradient() * self.entropy_coef;
                paths.reward + paths.valid.select(bonus, Tensor::constant_f32(0.0))
            }
            _ => paths.reward,
        }
    }
}

/// Advantages standardised as asked for and perhaps shifted to be positive, `[T, S, M, 1]`; 0 in padding.
#[track_caller]
fn centred(centre: AdvantageCentre, positive: bool, raw: Tensor, valid: Tensor) -> Tensor {
    let none = Tensor::constant_f32(0.0);
    let mut x = valid.select(raw, none);
    match centre {
        AdvantageCentre::None => {}
        AdvantageCentre::All => {
            let weight = valid.to_f32();
            let sum = |x: Tensor| x.sum_keep(2).sum_keep(0);
            let mean = |x: Tensor| sum(x * weight) / sum(weight);
            let from_mean = x - mean(x);
            x = from_mean / (mean(from_mean.square()).sqrt() + 1e-8);
        }
        AdvantageCentre::Step => {
            let n = 1.0 / x.size(2) as f64;
            let from_mean = x - x.sum_keep(2) * n;
            x = from_mean / (from_mean.square().sum_keep(2) * n + 1e-8).sqrt();
        }
    }
    if positive {
        let least = -valid.select(-x, Tensor::constant_f32(-1e30)).max_keep(2).max_keep(0);
        x = x - least + 1e-8;
    }
    valid.select(x, none)
}
