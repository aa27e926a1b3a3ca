//! Finished episodes: the latest ones of a seed, from which the metrics `rollout/ep_…` are computed.

use safetensors::tensor::Dtype;

use super::snapshot::{Entry, find};
use super::wrong::wrong;
use crate::Result;
use crate::algo::Metrics;
use crate::math::order::{by_key, total};

/// The least number of episodes that the reported mean return covers, once that many have ended.
const WINDOW: usize = 100;

/// The latest finished episodes of a seed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::train) struct Finished {
    /// The number, the sum of returns and the sum of lengths of each iteration's episodes, in the latest iterations
    /// that hold [`WINDOW`] episodes.
    pub iterations: Vec<[f64; 3]>,
    /// The returns of the latest episodes, at most [`WINDOW`], the oldest first.
    pub returns: Vec<f64>,
}

impl Finished {
    /// The sum of returns in the form of [`Metrics::returns`].
    pub fn sum(returns: &[f64]) -> f64 {
        returns.iter().filter(|x| **x != Metrics::NONE).sum()
    }

    /// Adds an iteration, and the returns of its episodes in the form of [`Metrics::returns`]; drops what is no longer
    /// needed.
    pub fn add(&mut self, iteration: [f64; 3], returns: &[f64]) {
        if iteration[0] > 0.0 {
            self.iterations.push(iteration);
        }
        let mut total: f64 = self.iterations.iter().map(|f| f[0]).sum();
        let mut old = 0;
        while old < self.iterations.len() && total - self.iterations[old][0] >= WINDOW as f64 {
            total -= self.iterations[old][0];
            old += 1;
        }
        self.iterations.drain(..old);
        let latest = returns.iter().rev().filter(|x| x.is_finite() && **x > Metrics::NONE).take(WINDOW);
        let new: Vec<f64> = latest.copied().collect();
        self.returns.extend(new.iter().rev());
        self.returns.drain(..self.returns.len().saturating_sub(WINDOW));
    }

    /// Tells whether everything that is held is still needed.
    pub fn in_window(&self) -> bool {
        let but_first: f64 = self.iterations.iter().skip(1).map(|f| f[0]).sum();
        but_first < WINDOW as f64 && self.returns.len() <= WINDOW
    }

    /// The mean return and the mean length; NaN if no episode has ended.
    pub fn means(&self) -> [f64; 2] {
        let sum = |k: usize| self.iterations.iter().map(|f| f[k]).sum::<f64>();
        [1, 2].map(|k| if sum(0) > 0.0 { sum(k) / sum(0) } else { f64::NAN })
    }

    /// The median, the standard deviation, the largest and the smallest of the latest returns; NaN if there are none.
    pub fn spread(&self) -> [(&'static str, f64); 4] {
        let sorted = by_key(self.returns.clone(), &|x| total(*x));
        let n = sorted.len();
        let at = |i: usize| sorted.get(i).copied().unwrap_or(f64::NAN);
        let mean = sorted.iter().sum::<f64>() / n as f64;
        let variance = sorted.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n as f64;
        [
            ("rollout/ep_return_median", (at(n / 2) + at(n.saturating_sub(1) / 2)) / 2.0),
            ("rollout/ep_return_std", variance.sqrt()),
            ("rollout/ep_return_max", at(n.saturating_sub(1))),
            ("rollout/ep_return_min", at(0)),
        ]
    }
}

/// The tensor of iterations with finished episodes, kept by the host in f64.
const FINISHED: &str = "finished_episodes";
/// The tensor of the latest returns. Older files do not have it.
const RETURNS: &str = "finished_returns";

/// Finished episodes as tensors: `[k, 3]` of k iterations, and the latest returns, `[n]`.
pub(in crate::train) fn entries(finished: &Finished) -> [Entry<'static>; 2] {
    let entry = |name: &str, numbers: &[f64], shape: Vec<usize>| {
        let bytes = numbers.iter().flat_map(|v| v.to_le_bytes()).collect();
        Entry { name: name.to_owned(), dtype: Dtype::F64, shape, bytes }
    };
    let Finished { iterations, returns } = finished;
    [
        entry(FINISHED, iterations.as_flattened(), vec![iterations.len(), 3]),
        entry(RETURNS, returns, vec![returns.len()]),
    ]
}

/// The inverse of [`entries`], after `iteration` iterations with episodes of at most `limit` steps.
pub(in crate::train) fn read(entries: &[Entry<'_>], limit: usize, iteration: u64) -> Result<Finished> {
    let numbers =
        |entry: &Entry<'_>, width: &[usize]| match entry.dtype == Dtype::F64 && entry.shape.get(1..) == Some(width) {
            true => Ok(entry.numbers().collect::<Vec<f64>>()),
            false => Err(wrong(format!("the tensor `{}` is {:?} {:?}", entry.name, entry.shape, entry.dtype))),
        };
    let iterations = numbers(find(entries, FINISHED)?, &[3])?;
    let returns = entries.iter().find(|entry| entry.name == RETURNS).map(|entry| numbers(entry, &[]));
    let (iterations, returns) = (iterations.as_chunks().0.to_vec(), returns.transpose()?.unwrap_or_default());
    // These are sums of f32, up to rounding, of episodes that have at least one step each and at most `limit`.
    let no_return = |x: &f64| x.is_nan() || x.abs() > f64::from(f32::MAX);
    let cannot_be = |[episodes, returns, steps]: &[f64; 3]| {
        let most = *episodes * limit as f64 * (1.0 + 1e-5);
        *episodes < 1.0 || episodes.fract() != 0.0 || steps < episodes || *steps > most || no_return(returns)
    };
    let none = |name: &str, row: usize, what: &dyn std::fmt::Debug| {
        wrong(format!("the tensor `{name}` holds {what:?} at [{row}], which cannot be"))
    };
    if let Some(row) = iterations.iter().position(cannot_be) {
        return Err(none(FINISHED, row, &iterations[row]));
    }
    if let Some(row) = returns.iter().position(no_return) {
        return Err(none(RETURNS, row, &returns[row]));
    }
    let finished = Finished { iterations, returns };
    let rows = finished.iterations.len();
    match finished.in_window() && rows as u64 <= iteration {
        true => Ok(finished),
        false => Err(wrong(format!(
            "the tensors `{FINISHED}` and `{RETURNS}` have {rows} rows and {} numbers, more than is kept of \
             {iteration} iterations",
            finished.returns.len()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_holds_the_latest_iterations_with_a_hundred_episodes() {
        let mut window = Finished::default();
        assert!(window.means().iter().all(|x| x.is_nan()));
        for _ in 0..7 {
            window.add([30.0, 60.0, 90.0], &[]);
        }
        window.add([0.0, 0.0, 0.0], &[]);
        assert_eq!(window.iterations, vec![[30.0, 60.0, 90.0]; 4]);
        assert_eq!(window.means(), [2.0, 3.0]);
        window.add([100.0, 5.0, 6.0], &[]);
        assert_eq!(window.iterations, [[100.0, 5.0, 6.0]]);
    }

    #[test]
    fn the_spread_is_that_of_the_latest_hundred_returns() {
        let mut window = Finished::default();
        let values = |window: &Finished| window.spread().map(|(_, value)| value);
        assert!(values(&window).iter().all(|x| x.is_nan()));
        window.add([3.0, 0.0, 0.0], &[4.0, Metrics::NONE, 1.0, Metrics::NONE, 7.0]);
        assert_eq!(window.returns, [4.0, 1.0, 7.0]);
        assert_eq!(values(&window), [4.0, 6f64.sqrt(), 7.0, 1.0]);
        let more: Vec<f64> = (0..99).map(f64::from).collect();
        window.add([99.0, 0.0, 0.0], &more);
        assert_eq!((window.returns.len(), window.returns[..3].to_vec()), (100, vec![7.0, 0.0, 1.0]));
        window.add([1.0, 0.0, 0.0], &[99.0]);
        assert_eq!(values(&window), [49.5, (9999.0f64 / 12.0).sqrt(), 99.0, 0.0]);
    }
}
