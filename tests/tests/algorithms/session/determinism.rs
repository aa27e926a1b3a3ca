//! Determinism: equal seeds give equal bits, alone or stacked, on one thread or several.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy_core::Device;
use quickstudy_core::train::{Row, Session, Setup};
use quickstudy_tests::trainings::training;

/// The snapshot, the policy's snapshot and the rows of each seed after some iterations.
fn train(setup: &Setup, threads: usize, iterations: usize) -> Vec<(Vec<u8>, Vec<Row>)> {
    let mut session = Session::new(&Device::cpu(threads), setup).unwrap();
    let mut rows = vec![Vec::new(); setup.seeds.len()];
    for _ in 0..iterations {
        for (all, row) in rows.iter_mut().zip(pollster::block_on(session.step()).unwrap()) {
            all.push(row);
        }
    }
    let snapshot = |i| pollster::block_on(session.snapshot(i)).unwrap();
    rows.into_iter().enumerate().map(|(i, rows)| (snapshot(i), rows)).collect()
}

/// Settings that together use every option, small enough for a test.
const CASES: [(&str, &str); 4] = [
    ("cartpole", "envs = 6\nhorizon = 16\nminibatches = 3\nepochs = 2\nhidden = [16, 16]"),
    (
        "pendulum",
        "envs = 3\nhorizon = 16\nminibatches = 2\nepochs = 2\nhidden = [16]\nnormalise_observations = true\n\
         normalise_rewards = true\nvalue_clip = true\ntarget_kl = 0.01\nlearning_rate = 0.01",
    ),
    ("mountain-car-continuous", "envs = 2\nhorizon = 8\nminibatches = 4\nepochs = 2\nhidden = [16]"),
    (
        "acrobot",
        "sde = false\nenvs = 2\nhorizon = 12\nminibatches = 2\nepochs = 2\nhidden = [8]\nactivation = \"relu\"",
    ),
];

fn same(a: &[(Vec<u8>, Vec<Row>)], b: &[(Vec<u8>, Vec<Row>)], what: &str) {
    assert_eq!(a.len(), b.len());
    for (i, ((bytes_a, rows_a), (bytes_b, rows_b))) in a.iter().zip(b).enumerate() {
        // Debug text, because a mean return may be NaN before the first episode ends.
        assert_eq!(format!("{rows_a:?}"), format!("{rows_b:?}"), "{what}, seed {i}");
        assert!(bytes_a == bytes_b, "{what}, seed {i}: snapshots differ");
    }
}

#[test]
fn three_stacked_seeds_equal_three_runs_bit_for_bit() {
    for (name, settings) in CASES {
        let seeds = [5, 0, u64::MAX];
        let stacked = train(&training("ppo", name).seeds(&seeds).set(settings).setup(), 1, 3);
        let alone: Vec<_> =
            seeds.iter().flat_map(|s| train(&training("ppo", name).seeds(&[*s]).set(settings).setup(), 1, 3)).collect();
        same(&stacked, &alone, name);
        assert_ne!(stacked[0].0, stacked[1].0, "{name}: seeds differ");
    }
}

#[test]
fn one_thread_equals_several() {
    for (name, settings) in CASES {
        let setup = training("ppo", name).seeds(&[1, 2]).set(settings).setup();
        same(&train(&setup, 1, 3), &train(&setup, 2, 3), name);
    }
    // The run is large enough that work is really split.
    let setup = training("ppo", "cartpole")
        .seeds(&[1])
        .set("envs = 512\nhorizon = 8\nminibatches = 2\nepochs = 2\nhidden = [32, 32]")
        .setup();
    same(&train(&setup, 1, 2), &train(&setup, 3, 2), "cartpole, 512 environments");
}

#[test]
fn evaluating_changes_nothing_about_training() {
    let (name, settings) = CASES[1];
    let setup = training("ppo", name).seeds(&[3, 4]).set(settings).setup();
    let plain = train(&setup, 1, 2);
    let mut session = Session::new(&Device::cpu(1), &setup).unwrap();
    for _ in 0..2 {
        let before = pollster::block_on(session.evaluate(3)).unwrap();
        let again = pollster::block_on(session.evaluate(3)).unwrap();
        assert_eq!(before, again, "the same policy at the same iteration");
        pollster::block_on(session.step()).unwrap();
    }
    for (i, (bytes, _)) in plain.iter().enumerate() {
        assert!(*bytes == pollster::block_on(session.snapshot(i)).unwrap(), "seed {i}");
    }
}
