//! Fuzzed input of users and strangers is read without a panic: each target's corpus, and changed copies of it.
//!
//! `scripts/fuzz.sh` runs this for a time, with other changes each time and an eye on memory.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy_tests::inputs::{Effort, TARGETS, corpus, run};
use std::time::Duration;

fn asked<T: std::str::FromStr>(variable: &str) -> Option<T> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}: expected a number, got `{text}`")))
}

#[test]
fn fuzzed_inputs_are_read_or_refused() {
    let seconds: Option<u64> = asked("QUICKSTUDY_FUZZ_SECONDS");
    let seed = asked("QUICKSTUDY_FUZZ_SEED").unwrap_or(0);
    let only: Option<String> = asked("QUICKSTUDY_FUZZ_TARGET");
    let chosen = TARGETS.iter().filter(|target| only.as_ref().is_none_or(|name| *name == target.name));
    for target in chosen {
        let effort = seconds.map_or(Effort::Inputs(300), |seconds| Effort::Time(Duration::from_secs(seconds)));
        let inputs = run(target, effort, seed);
        println!("{:<12} {inputs} inputs, the changes from seed {seed} on", target.name);
    }
}

#[test]
fn corpora_reach_what_they_are_for() {
    let text = |name: &str| -> Vec<String> {
        corpus(name).iter().map(|input| String::from_utf8_lossy(input).into_owned()).collect()
    };
    let envs = text("env");
    assert!(envs.iter().any(|env| quickstudy_core::env::builtin(env.lines().next().unwrap_or("")).is_ok()));
    assert!(text("config").iter().any(|text| text.contains("algorithm = \"rl2-ppo\"")));
    assert!(text("run-folder").iter().any(|text| text.contains("=== metrics.csv") && text.contains("=== events")));
    let device = quickstudy_core::Device::cpu(1);
    assert!(corpus("snapshot").iter().any(|bytes| quickstudy_core::train::Evaluator::load(&device, bytes).is_ok()));
}
