//! How likely a run of one method is better than one of another.

/// The probability that a run of `x` has a higher score than one of `y`, averaged over environments: the statistic U of
/// Mann and Whitney over the number of pairs, ties counting half, as rliable's `probability_of_improvement`.
pub(crate) fn probability(x: &[Vec<f64>], y: &[Vec<f64>]) -> f64 {
    let chances: Vec<f64> = x.iter().zip(y).map(|(x, y)| chance(x, y)).collect();
    crate::statistics::mean(&chances)
}

/// The share of pairs in which the first is higher.
fn chance(x: &[f64], y: &[f64]) -> f64 {
    let mut sorted = y.to_vec();
    sorted.sort_by(f64::total_cmp);
    let doubled =
        |score: &f64| sorted.partition_point(|other| other < score) + sorted.partition_point(|other| other <= score);
    x.iter().map(doubled).sum::<usize>() as f64 / (2 * x.len() * y.len()) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_count_half_and_environments_alike() {
        assert_eq!(chance(&[3.0, 4.0], &[1.0, 2.0]), 1.0);
        // Of six pairs, 2 > 1 twice, 2 = 2 twice.
        assert_eq!(chance(&[2.0, 2.0], &[1.0, 2.0, 3.0]), 0.5);
        assert_eq!(chance(&[500.0; 4], &[500.0; 7]), 0.5);
        let (x, y) = (vec![vec![1.0, 5.0], vec![9.0]], vec![vec![2.0, 3.0], vec![4.0, 5.0]]);
        assert_eq!(probability(&x, &y), 0.75);
        assert_eq!(probability(&y, &x), 0.25);
    }
}
