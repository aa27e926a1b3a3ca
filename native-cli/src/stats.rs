//! Statistics of returns: mean, standard error, interquartile mean and bootstrap intervals.

/// Arithmetic mean; NaN for no values.
#[must_use]
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Standard error of the mean (sample standard deviation over √n); 0 for fewer than two values.
#[must_use]
pub fn standard_error(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let center = mean(values);
    let squares: f64 = values.iter().map(|v| (v - center).powi(2)).sum();
    let n = values.len() as f64;
    (squares / (n - 1.0) / n).sqrt()
}

/// Interquartile mean: the mean of the middle half, with fractional weights at its ends; NaN for no values.
///
/// Agarwal et al. 2021, arXiv:2108.13264: less swayed by one lucky or failed seed than the mean, and statistically
/// more efficient than the median.
#[must_use]
pub fn iqm(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let (low, high) = (n / 4.0, n * 3.0 / 4.0);
    let mut total = 0.0;
    for (i, value) in sorted.iter().enumerate() {
        let weight = (high.min(i as f64 + 1.0) - low.max(i as f64)).max(0.0);
        total += weight * value;
    }
    total / (high - low)
}

/// A 95 % percentile bootstrap interval of `statistic`, from 2000 resamples with a fixed seed.
///
/// With one value the interval is that value; with none it is NaN.
#[must_use]
pub fn bootstrap95(values: &[f64], statistic: impl Fn(&[f64]) -> f64) -> (f64, f64) {
    const RESAMPLES: usize = 2000;
    match values {
        [] => return (f64::NAN, f64::NAN),
        [only] => return (*only, *only),
        _ => {}
    }
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut resample = vec![0.0; values.len()];
    let mut results: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            for slot in &mut resample {
                *slot = values[below(&mut state, values.len())];
            }
            statistic(&resample)
        })
        .collect();
    results.sort_by(f64::total_cmp);
    (results[RESAMPLES * 25 / 1000], results[RESAMPLES * 975 / 1000])
}

/// A number in `0..n` from splitmix64 (Steele et al. 2014) by the multiply-shift method.
fn below(state: &mut u64, n: usize) -> usize {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^= z >> 31;
    ((u128::from(z) * n as u128) >> 64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_and_errors_of_small_samples() {
        assert_eq!(mean(&[1.0, 2.0, 6.0]), 3.0);
        // Sample variance of 1, 2, 6 is 7; √(7/3).
        assert!((standard_error(&[1.0, 2.0, 6.0]) - 1.527_525_231_651_946_7).abs() < 1e-15);
        assert_eq!(standard_error(&[4.0]), 0.0);
        assert!(mean(&[]).is_nan());
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
        let (low, high) = bootstrap95(&values, mean);
        assert!((low - 43.9).abs() < 0.8 && (high - 55.1).abs() < 0.8, "{low} {high}");
        assert_eq!(bootstrap95(&values, mean), (low, high));
        assert_eq!(bootstrap95(&[7.0], iqm), (7.0, 7.0));
        assert!(bootstrap95(&[], mean).0.is_nan());
    }
}
