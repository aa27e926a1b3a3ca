//! Statistics of returns: mean, standard error, interquartile mean and bootstrap intervals.

pub(crate) mod aggregate;
pub(crate) mod band;
pub(crate) mod bootstrap;

/// Arithmetic mean; NaN for no values.
pub(crate) fn mean(values: &[f64]) -> f64 {
    let (sum, count) = (values.iter().sum::<f64>(), values.len() as f64);
    // The sum of finite numbers may be none, though their mean is.
    if sum.is_finite() { sum / count } else { values.iter().map(|value| value / count).sum() }
}

/// The middle value, or the mean of the middle two; NaN for no values.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n => mean(&[sorted[n / 2], sorted[n - 1 - n / 2]]),
    }
}

/// Standard error of the mean (sample standard deviation over √n); none for fewer than two values, which tell nothing
/// about it.
pub(crate) fn standard_error(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let center = mean(values);
    let n = values.len() as f64;
    // Squares of large numbers are infinite.
    let unit = values.iter().map(|v| (v - center).abs()).fold(0.0, f64::max);
    let unit = if unit > 1e150 { unit } else { 1.0 };
    let squares: f64 = values.iter().map(|v| ((v - center) / unit).powi(2)).sum();
    Some((squares / (n - 1.0) / n).sqrt() * unit)
}

/// A standard error as text with four digits after the point; a dash where there is none.
pub(crate) fn error_text(error: Option<f64>) -> String {
    error.map_or_else(|| NONE.to_owned(), |error| format!("{error:.4}"))
}

/// An interval as text, `[1.25, 3.50]`; a dash where there is none.
pub(crate) fn interval_text(interval: Option<(f64, f64)>, digits: usize) -> String {
    interval.map_or_else(|| NONE.to_owned(), |(low, high)| format!("[{low:.digits$}, {high:.digits$}]"))
}

/// Stands in tables for a number that there is not.
pub(crate) const NONE: &str = "–";

/// Interquartile mean: the mean of the middle half, with fractional weights at its ends; NaN for no values.
///
/// Agarwal et al. 2021, arXiv:2108.13264: less swayed by one lucky or failed seed than the mean, and statistically
/// more efficient than the median.
pub(crate) fn iqm(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let (low, high) = (n / 4.0, n * 3.0 / 4.0);
    let mut total = 0.0;
    // By a unit where the sum might be infinite.
    let largest = values.iter().map(|value| value.abs()).fold(0.0, f64::max);
    let unit = if largest > 1e150 { largest } else { 1.0 };
    for (i, value) in sorted.iter().enumerate() {
        let weight = (high.min(i as f64 + 1.0) - low.max(i as f64)).max(0.0);
        total += weight * (value / unit);
    }
    total / (high - low) * unit
}

/// A 95 % percentile bootstrap interval of `statistic`, from 2000 resamples with a fixed seed.
///
/// Fewer than two values have none: they do not tell how far others would be from them.
pub(crate) fn bootstrap95(values: &[f64], statistic: impl Fn(&[f64]) -> f64) -> Option<(f64, f64)> {
    const RESAMPLES: usize = 2000;
    if values.len() < 2 {
        return None;
    }
    let mut draws = Draws::default();
    let mut resample = vec![0.0; values.len()];
    let mut results: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            for slot in &mut resample {
                *slot = values[draws.below(values.len())];
            }
            statistic(&resample)
        })
        .collect();
    results.sort_by(f64::total_cmp);
    Some((results[RESAMPLES * 25 / 1000], results[RESAMPLES * 975 / 1000]))
}

/// Random numbers of resamples and of sweeps, always the same: splitmix64 (Steele et al. 2014) from a fixed seed.
#[derive(Clone, Debug)]
pub(crate) struct Draws(u64);

impl Default for Draws {
    fn default() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }
}

impl Draws {
    /// The numbers of this seed.
    pub(crate) fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    /// A random number in [0, 1).
    pub(crate) fn unit(&mut self) -> f64 {
        self.below(1 << 53) as f64 / (1_u64 << 53) as f64
    }

    /// A number in `0..n`, by the multiply-shift method.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        ((u128::from(z) * n as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_of_the_largest_numbers_are_numbers() {
        let large = [1e308, 1.5e308, 1e308, 1.5e308];
        for value in [mean(&large), median(&large), iqm(&large)] {
            assert!((value / 1.25e308 - 1.0).abs() < 1e-12, "{value}");
        }
        assert_eq!(mean(&[1e308, -1e308, 1e308, -1e308]), 0.0);
        let (low, high) = bootstrap95(&large, mean).unwrap();
        assert!(low.is_finite() && high.is_finite() && low < high);
        // Half of the deviations are ± 0.25e308, so that the variance is 0.0625 of its square over 3.
        let error = standard_error(&large).unwrap();
        assert!((error / 1e308 - (0.25 * 0.25 / 3.0_f64).sqrt()).abs() < 1e-12, "{error}");
        assert!(mean(&[f64::INFINITY, 1.0]).is_infinite() && mean(&[]).is_nan());
    }

    #[test]
    fn means_and_errors_of_small_samples() {
        assert_eq!(mean(&[1.0, 2.0, 6.0]), 3.0);
        // Sample variance of 1, 2, 6 is 7; √(7/3).
        assert!((standard_error(&[1.0, 2.0, 6.0]).unwrap() - 1.527_525_231_651_946_7).abs() < 1e-15);
        // One value has no error, which is not an error of 0.
        assert_eq!((standard_error(&[4.0]), standard_error(&[])), (None, None));
        assert_eq!([error_text(None), error_text(Some(0.25))], ["–", "0.2500"]);
        assert!(mean(&[]).is_nan() && median(&[]).is_nan());
        assert_eq!([median(&[7.0, 1.0, 2.0]), median(&[4.0, 1.0, 2.0, 9.0])], [2.0, 3.0]);
    }

    #[test]
    fn iqm_is_the_mean_of_the_middle_half() {
        assert_eq!(iqm(&[-1000.0, 1.0, 3.0, 1000.0]), 2.0);
        assert_eq!(iqm(&[5.0]), 5.0);
        // Five values: the middle half is [1.25, 3.75), weights 0.75, 1, 0.75 on 2, 4, 8.
        assert!((iqm(&[8.0, 0.0, 4.0, 100.0, 2.0]) - (1.5 + 4.0 + 6.0) / 2.5).abs() < 1e-12);
        assert!(iqm(&[]).is_nan());
    }

    #[test]
    fn the_bootstrap_interval_has_the_width_of_theory() {
        // 0..=99: the standard error of the mean is 2.9; the normal interval is 49.5 ± 5.7.
        let values: Vec<f64> = (0..100).map(f64::from).collect();
        let (low, high) = bootstrap95(&values, mean).unwrap();
        assert!((low - 43.9).abs() < 0.8 && (high - 55.1).abs() < 0.8, "{low} {high}");
        assert_eq!(bootstrap95(&values, mean), Some((low, high)));
        assert_eq!((bootstrap95(&[7.0], iqm), bootstrap95(&[], mean)), (None, None));
        assert_eq!([interval_text(None, 2), interval_text(Some((1.0, 2.5)), 2)], ["–", "[1.00, 2.50]"]);
    }
}
