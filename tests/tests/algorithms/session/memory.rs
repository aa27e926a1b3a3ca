//! The memory that training takes, the sizes that it grows with, and the settings that lower it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may panic")]

use quickstudy_core::algo::Training;
use quickstudy_core::train::{ALGORITHMS, Session, Setup, small};
use quickstudy_core::{Device, Error};
use quickstudy_tests::trainings::{training, training_on};
use toml::Table;

fn setup(algorithm: &str, env: &str, settings: &str, seeds: &[u64]) -> Setup {
    let settings: Table = toml::from_str(settings).unwrap();
    training(algorithm, env).seeds(seeds).steps(10_000).with(settings).setup()
}

#[test]
fn fewer_recurrent_units_take_less() {
    let device = Device::cpu(1);
    for (algorithm, more) in [("vpg", ""), ("trpo", ""), ("svpg", ""), ("svpg", "particle = \"trpo\"\n")] {
        let of = |units: usize| {
            let text = format!("{more}cell = \"gru\"\nunits = {units}\nenvs = 8\nhorizon = 16\nminibatches = 2");
            setup(algorithm, "cartpole", &text, &[0])
        };
        assert!(of(32).memory_settings().contains(&"units"), "{algorithm}: {:?}", of(32).memory_settings());
        let [many, few] = [32, 16].map(|units| Session::memory(&device, &of(units)).unwrap());
        assert!(few < many, "{algorithm}: {few} bytes with half of units, {many} before");
    }
}

#[test]
fn trials_take_memory_in_proportion_to_their_episodes() {
    let device = Device::cpu(2);
    for algorithm in ["rl2-ppo", "rl2-trpo"] {
        let bytes = |episodes: usize| {
            let text = format!("meta_batch = 4\nunits = 8\nepisodes = {episodes}");
            Session::memory(&device, &setup(algorithm, "bandit", &text, &[0])).unwrap() as f64
        };
        for (few, many) in [(64, 1024), (1024, 65_536)] {
            let growth = bytes(many) / bytes(few) / (many as f64 / few as f64);
            assert!(growth < 1.1, "{algorithm}: from {few} to {many} episodes, {growth} times as much for each");
        }
    }
}

#[test]
fn a_byte_less_than_is_needed_is_refused() {
    let of = setup("ppo", "cartpole", "envs = 8\nhorizon = 16\nminibatches = 1", &[0]);
    let device = Device::cpu(1);
    let needed = Session::memory(&device, &of).unwrap();
    device.limit_memory(needed - 1);
    let error = Session::new(&device, &of).unwrap_err().to_string();
    assert!(error.contains("less is needed with lower envs, horizon, hidden"), "{error}");
    device.limit_memory(needed + (1 << 16));
    let mut session = Session::new(&device, &of).unwrap();
    pollster::block_on(session.step()).unwrap();
    pollster::block_on(session.snapshot(0)).unwrap();
    let error = pollster::block_on(session.evaluate(1 << 20)).unwrap_err().to_string();
    assert!(error.contains("eval_episodes"), "{error}");
}

/// On 32 bits a replay buffer can be too large for an array; here only many seeds are. Tracing goes on after that.
#[test]
fn arrays_that_no_machine_can_hold_are_an_error_of_every_algorithm() {
    for def in ALGORITHMS {
        let (env, settings) = small(def).unwrap();
        let setup = training_on(*def, env.clone()).seeds(&[0]).steps(100_000).with(settings).setup();
        let error = Training::traces(&**setup.fitted(), &env, 1 << 56).unwrap_err();
        assert!(matches!(error, Error::Memory(_)), "{}: {error}", def.name);
    }
}
