//! Tests of the number of evaluations beside pycma's, and of the exactness of the state.

use super::*;
use crate::rng::Threefry;

const N: usize = 10;

fn sphere(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum()
}

fn ellipsoid(x: &[f64]) -> f64 {
    x.iter().enumerate().map(|(i, x)| 1e6_f64.powf(i as f64 / (N - 1) as f64) * x * x).sum()
}

fn rosenbrock(x: &[f64]) -> f64 {
    x.windows(2).map(|x| 100.0 * (x[0] * x[0] - x[1]).powi(2) + (x[0] - 1.0).powi(2)).sum()
}

/// Counts the evaluations until a value is at most 1e-10, in a search whose numbers are kept as pairs of f32.
fn evaluations(separable: bool, x0: f64, seed: u32, f: fn(&[f64]) -> f64) -> usize {
    let mut random = Threefry::new([seed, 7]);
    let lambda = 4 + (3.0 * (N as f64).ln()) as usize;
    let constants = Constants::new(N, lambda, separable);
    let mut strategy = Strategy::new(vec![x0; N], 0.3, &constants);
    for generation in 0..5000 {
        let z: Vec<f64> = (0..lambda * N).map(|_| random.normal()).collect();
        let frame = strategy.covariance.frame();
        let candidates = strategy.ask(&frame, &z);
        let costs: Vec<f64> = candidates.chunks(N).map(f).collect();
        if let Some(at) = costs.iter().position(|cost| *cost <= 1e-10) {
            return generation * lambda + at + 1;
        }
        let [theta, entries @ ..] = &packed(&strategy.tell(&constants, &frame, &candidates, &costs).unwrap());
        let entries = std::array::from_fn(|i: usize| &entries[i][..]);
        strategy = unpacked(theta, entries, &constants, 0.3);
    }
    usize::MAX
}

/// Compares with medians of pycma 4.5.0 over 11 seeds, from `tests/peers/pycma_evaluations.py`.
#[test]
fn as_many_evaluations_as_pycma_are_needed() {
    type Case = (bool, fn(&[f64]) -> f64, f64, f64);
    let cases: [Case; 5] = [
        (false, sphere, 0.5, 1540.0),
        (false, ellipsoid, 0.5, 4260.0),
        (false, rosenbrock, 0.0, 5230.0),
        (true, sphere, 0.5, 1310.0),
        (true, ellipsoid, 0.5, 2330.0),
    ];
    for (separable, f, x0, expected) in cases {
        let mut counts: Vec<usize> = (1..12).map(|seed| evaluations(separable, x0, seed, f)).collect();
        counts.sort_unstable();
        println!("{separable} {expected}: median {}, {} to {}", counts[5], counts[0], counts[10]);
        assert!(counts[10] < usize::MAX, "{counts:?}");
        assert!((counts[5] as f64 / expected - 1.0).abs() < 0.15, "{counts:?} for {expected}");
    }
}

#[test]
fn the_state_holds_what_it_is_rounded_to() {
    let mut random = Threefry::new([3, 4]);
    for _ in 0..1000 {
        let x = random.normal() * (20.0 * random.normal()).exp();
        let kept = rounded(x);
        assert_eq!(rounded(kept).to_bits(), kept.to_bits());
        assert!((kept / x - 1.0).abs() < 1e-14, "{kept} for {x}");
    }
}

#[test]
fn a_step_that_is_not_finite_is_not_made() {
    let constants = Constants::new(2, 4, false);
    let strategy = Strategy::new(vec![0.0; 2], 1.0, &constants);
    let frame = strategy.covariance.frame();
    let mut candidates = strategy.ask(&frame, &[1.0, 2.0, -1.0, 0.5, 0.3, 0.2, 0.1, -2.0]);
    let costs = [1.0, 2.0, 3.0, 4.0];
    assert!(strategy.tell(&constants, &frame, &candidates, &costs).is_some());
    candidates[0] = f64::INFINITY;
    assert!(strategy.tell(&constants, &frame, &candidates, &costs).is_none());
}
