//! Credit assignment: advantages and value targets of whole trials.

use super::collect::Trials;
use super::config::{AdvantageCentre, Rl2Config};
use crate::Tensor;
use crate::credit::{Paths, Processor};
use crate::learn::EntropyMethod;
use crate::settings::Settings as _;
use crate::tensor::require;

/// Training data of trials, `[T, S, M, 1]` each; 0 in padding.
#[derive(Clone, Copy, Debug)]
pub struct Credit {
    /// Discounted sums of rewards to the end of the trial, to which a baseline is fitted.
    pub fitted: Tensor,
    /// Predictions of the returns: learned values, or a baseline fitted to these trials.
    pub values: Tensor,
    /// Advantages, standardised as the settings ask for.
    pub advantage: Tensor,
    /// TD(λ) returns: advantages before they are standardised, plus `values`.
    pub returns: Tensor,
    /// Targets of a learned value: returns standardised by the batch's `Scale`.
    pub target: Tensor,
}

/// The unit of a learned value: the mean return of each step over the trials of a batch, and
/// the deviation of returns from these means.
///
/// Much of a return is how long the trial still lasts, which a memory would have to count. And the values of long
/// trials are large: their loss would drown the policy's in the weights that both share.
#[derive(Clone, Copy, Debug)]
struct Scale {
    /// The mean return of each step, `[T, S, 1, 1]`.
    mean: Tensor,
    /// The deviation of returns, `[1, S, 1, 1]`.
    deviation: Tensor,
}

impl Scale {
    fn of(returns: Tensor, valid: Tensor) -> Scale {
        let weight = valid.to_f32();
        let at_least_one = |x: Tensor| x.max(Tensor::constant_f32(1.0));
        let mean = (returns * weight).sum_keep(2) / at_least_one(weight.sum_keep(2));
        let square = ((returns - mean) * weight).square();
        let over_all = |x: Tensor| x.sum_keep(2).sum_keep(0);
        let deviation = (over_all(square) / at_least_one(over_all(weight))).sqrt();
        Scale { mean, deviation: deviation.max(Tensor::constant_f32(1e-3)) }
    }
}

impl Rl2Config {
    /// Predictions of the returns of trials, `[T, S, M, 1]`: learned values, or a baseline fitted to these trials.
    #[track_caller]
    pub fn predicted(&self, trials: &Trials) -> Tensor {
        require(self.check());
        let paths = self.rewarded(trials);
        let fitted = self.processor().returns(&paths);
        match self.critic.baseline() {
            None => {
                let Scale { mean, deviation } = Scale::of(fitted, paths.valid);
                paths.valid.select(mean + deviation * trials.value, Tensor::constant_f32(0.0))
            }
            Some(baseline) => baseline.regularised(&paths, fitted, self.baseline_regularisation),
        }
    }

    /// Credits the steps of trials over predicted returns, `values: [T, S, M, 1]`, as if each trial were one path,
    /// which does not end with an episode.
    #[track_caller]
    pub fn credit(&self, trials: &Trials, values: Tensor) -> Credit {
        require(self.check());
        let paths = self.rewarded(trials);
        let fitted = self.processor().returns(&paths);
        let raw = self.processor().advantages(&paths, values);
        let valid = |x: Tensor| paths.valid.select(x, Tensor::constant_f32(0.0));
        let returns = valid(raw + values);
        let Scale { mean, deviation } = Scale::of(fitted, paths.valid);
        let target = valid((returns - mean) / deviation);
        let advantage = centred(self.advantage_centre, self.positive_advantages, raw, paths.valid);
        Credit { fitted, values, advantage, returns, target }
    }

    fn processor(&self) -> Processor {
        Processor {
            gamma: self.gamma,
            gae_lambda: self.gae_lambda,
            baseline: self.critic.baseline().unwrap_or_default(),
            baseline_regularisation: self.baseline_regularisation,
            normalise_advantages: false,
            positive_advantages: false,
        }
    }

    fn rewarded(&self, trials: &Trials) -> Paths {
        let entropy = self.entropy(trials.entropy, trials.logp);
        Paths { reward: self.rewards(&trials.paths, entropy), ..trials.paths }
    }

    /// Rewards that credit is given for, `[T, S, M, 1]`: with the entropy, if the settings maximise that as well.
    ///
    /// Only valid steps get it; garage adds it to padding too, from where it leaks into the returns of shorter trials.
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

/// Standardises advantages, and shifts them to be positive if `positive`, `[T, S, M, 1]`; 0 in padding.
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
