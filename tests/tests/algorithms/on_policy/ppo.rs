//! PPO learns, within a budget; a random policy fails the same bar.
//!
//! The ignored tests are the full bars: ten seeds with the presets' budgets, 1,000 evaluation episodes per seed.
//! `cargo test --release -p quickstudy-tests --test algorithms learning -- --ignored --nocapture` prints their figures.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy_core::Device;
use quickstudy_core::train::{Evaluator, Session};
use quickstudy_tests::trainings::{mean_returns, training};

fn train(session: &mut Session) {
    while !session.done() {
        for row in pollster::block_on(session.step()).unwrap() {
            assert!(row.iter().all(|(name, value)| value.is_finite() || name.starts_with("rollout/")), "{row:?}");
        }
    }
}

/// The mean return of the first seed's policy when it draws its actions: before training, a random policy.
fn random_return(session: &Session, episodes: usize) -> f64 {
    let bytes = pollster::block_on(session.policy_snapshot(0)).unwrap();
    let mut evaluator = Evaluator::load(&Device::cpu(0), &bytes).unwrap();
    let all = pollster::block_on(evaluator.evaluate(episodes, 0, false)).unwrap();
    all.iter().map(|e| e.ret).sum::<f64>() / episodes as f64
}

/// The mean of the middle half.
fn iqm(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let cut = sorted.len() / 4;
    let middle = &sorted[cut..sorted.len() - cut];
    middle.iter().sum::<f64>() / middle.len() as f64
}

#[test]
fn ppo_learns_cartpole_and_a_random_policy_does_not() {
    let mut learner = training("ppo", "cartpole").seeds(&[0, 1, 2]).steps(40_000).session_on(&Device::cpu(0));
    let bar = 195.0;
    let random = random_return(&learner, 100);
    assert!((15.0..30.0).contains(&random), "a uniform policy has 22.2 on average, this one {random}");
    assert!(random < bar);
    train(&mut learner);
    let returns = mean_returns(&mut learner, 50);
    assert!(iqm(&returns) >= bar, "{returns:?}");
}

/// Trains ten seeds with the preset, prints their figures and holds them to the bar.
fn full(name: &str, bar: f64) {
    let mut learner = training("ppo", name).seeds(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]).session_on(&Device::cpu(0));
    let random = random_return(&learner, 1000);
    let start = std::time::Instant::now();
    train(&mut learner);
    let seconds = start.elapsed().as_secs_f64();
    let returns = mean_returns(&mut learner, 1000);
    let result = iqm(&returns);
    println!(
        "{name}: IQM {result:.2} (bar {bar}), random {random:.2}, {} steps × 10 seeds in {seconds:.1} s; per seed {:?}",
        learner.env_steps(),
        returns.iter().map(|r| r.round()).collect::<Vec<f64>>()
    );
    assert!(random < bar, "{name}: a random policy passes with {random}");
    assert!(result >= bar, "{name}: {result} is below {bar}; {returns:?}");
}

#[test]
#[ignore = "a full learning bar: seconds to minutes in release"]
fn full_bar_cartpole() {
    full("cartpole", 499.5);
}

#[test]
#[ignore = "a full learning bar: seconds to minutes in release"]
fn full_bar_pendulum() {
    full("pendulum", -175.0);
}

#[test]
#[ignore = "a full learning bar: seconds to minutes in release"]
fn full_bar_acrobot() {
    full("acrobot", -76.0);
}

#[test]
#[ignore = "a full learning bar: seconds to minutes in release"]
fn full_bar_mountain_car_continuous() {
    full("mountain-car-continuous", 88.0);
}
