//! Derivatives against literal numbers and against finite differences in f64.

mod learning;
mod loops;
mod rules;
mod until;

/// Uneven numbers between −1 and 1.
fn numbers(n: usize, seed: usize) -> Vec<f64> {
    (0..n).map(|i| (1.3 * i as f64 + 2.1 * seed as f64 + 0.7).sin()).collect()
}
