//! Training data that learners make of whole episodes: returns, baselines, advantages.

use super::baseline::REGULARISATION;
use super::{Baseline, Paths};
use crate::Tensor;
use crate::settings::{Range, Settings as _};
use crate::tensor::require;

crate::settings! {
    /// The settings by which episodes become training data.
    ///
    /// As in `SampleProcessor` of ProMP, returns are discounted sums to the end of the path. The baseline is fitted to
    /// them on the same paths, and its value after the last step is 0, also where a time limit ended the path. Defaults
    /// are those of `SampleProcessor`; [`Processor::dice`] has those of `DiceSampleProcessor`.
    ///
    /// Each method ends its trace with an error where a setting is not in its range.
    #[derive(Copy)]
    pub struct Processor {
        /// discount of later rewards
        gamma: f64 = 0.99, Range::Unit;
        /// λ of the advantages
        gae_lambda: f64 = 1.0, Range::Unit;
        /// subtracted from returns, fitted per task
        baseline: Baseline = Baseline::LinearFeature;
        /// added to the diagonal of a fitted baseline's equations
        ///
        /// Larger: nearer to no baseline. Of no use to `zero`.
        baseline_regularisation: f64 = REGULARISATION, Range::Positive;
        /// per task
        ///
        /// Over valid steps.
        normalise_advantages: bool = false;
        /// shift them so that the smallest is 0
        ///
        /// Or rather 1e-8, per task.
        positive_advantages: bool = false;
    }
}

/// Training data of episodes.
#[derive(Clone, Copy, Debug)]
pub struct Processed {
    /// The episodes themselves: observations, actions, rewards, which steps are valid, and all that was reported.
    pub paths: Paths,
    /// Discounted sums of rewards to the end of the path, `[T, K, N, 1]`.
    pub returns: Tensor,
    /// Advantages, 0 in padding, `[T, K, N, 1]`.
    pub advantages: Tensor,
}

impl Processor {
    /// The defaults of ProMP's `DiceSampleProcessor`: a baseline that is linear in time, and standardised results.
    #[must_use]
    pub fn dice() -> Processor {
        Processor { baseline: Baseline::LinearTime, normalise_advantages: true, ..Processor::default() }
    }

    /// Computes returns and advantages.
    #[track_caller]
    pub fn process(&self, paths: &Paths) -> Processed {
        let returns = self.returns(paths);
        let values = self.predictions(paths, returns);
        Processed { paths: *paths, returns, advantages: self.advantages(paths, values) }
    }

    fn predictions(&self, paths: &Paths, targets: Tensor) -> Tensor {
        self.baseline.regularised(paths, targets, self.baseline_regularisation)
    }

    /// Discounted sums of rewards to the end of the path, `[T, K, N, 1]`.
    #[track_caller]
    pub fn returns(&self, paths: &Paths) -> Tensor {
        require(self.check());
        paths.advantages(paths.reward, Tensor::zeros(&paths.reward.shape()), self.gamma, 1.0)
    }

    /// Advantages over given values, `[T, K, N, 1]`, standardised and shifted as the settings ask for.
    #[track_caller]
    pub fn advantages(&self, paths: &Paths, values: Tensor) -> Tensor {
        require(self.check());
        self.scaled(paths, paths.advantages(paths.reward, values, self.gamma, self.gae_lambda))
    }

    /// Computes the data that DICE weighs, `[T, K, N, 1]`: discounted rewards less a baseline fitted to
    /// them, standardised as the settings ask for.
    ///
    /// It is `DiceSampleProcessor` of ProMP, but with statistics over valid steps only: there, padding counts too.
    #[track_caller]
    pub fn process_dice(&self, paths: &Paths) -> Processed {
        require(self.check());
        let t = paths.reward.size(0);
        let discounts: Vec<f64> = (0..t).map(|i| self.gamma.powi(i as i32)).collect();
        let discounted = paths.reward * Tensor::literal_f32(&discounts).reshape(&[t, 1, 1, 1]);
        let adjusted = discounted - self.predictions(paths, discounted);
        Processed { paths: *paths, returns: self.returns(paths), advantages: self.scaled(paths, adjusted) }
    }

    /// Standardises and shifts advantages per task; 0 in padding.
    fn scaled(&self, paths: &Paths, raw: Tensor) -> Tensor {
        let [none, tiny] = [0.0, 1e-8].map(Tensor::constant_f32);
        let mean = |x: Tensor| {
            let weights = paths.valid.to_f32();
            let sum = |x: Tensor| x.sum_keep(2).sum_keep(0);
            sum(x * weights) / sum(weights)
        };
        let mut x = raw;
        if self.normalise_advantages {
            let centred = x - mean(x);
            x = centred / (mean(centred.square()).sqrt() + 1e-8);
        }
        if self.positive_advantages {
            let least = -paths.valid.select(-x, Tensor::constant_f32(-1e30)).max_keep(2).max_keep(0);
            x = x - least + tiny;
        }
        paths.valid.select(x, none)
    }
}

/// Standardises rewards over all tasks of a seed: `[T, S · M, N, 1]`, 0 in padding.
///
/// It is `adj_avg_rewards` of ProMP's `MetaSampleProcessor`, for E-MAML.
#[track_caller]
pub fn adjusted_rewards(paths: &Paths, seeds: usize) -> Tensor {
    let shape = paths.reward.shape();
    let [t, k, n, _] = shape[..] else {
        return Tensor::poison();
    };
    let by_seed = |x: Tensor| x.permute(&[1, 0, 2, 3]).reshape(&[seeds, k / seeds * t * n]);
    let (reward, valid) = (by_seed(paths.reward), by_seed(paths.valid.to_f32()));
    let count = valid.sum_keep(1);
    let mean = (reward * valid).sum_keep(1) / count;
    let centred = (reward - mean) * valid;
    let std = (centred.square().sum_keep(1) / count).sqrt();
    (centred / (std + 1e-8)).reshape(&[k, t, n, 1]).permute(&[1, 0, 2, 3])
}
