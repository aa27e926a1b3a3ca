//! How much memory training takes: what it grows with, and what lowers it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may panic")]

use quickstudy_core::Device;
use quickstudy_core::env::builtin;
use quickstudy_core::train::{ALGORITHMS, Layer, Session, Setup};
use toml::{Table, Value};

fn setup(algorithm: &str, env: &str, settings: &str, seeds: &[u64]) -> Setup {
    let settings: Table = toml::from_str(settings).unwrap();
    let layer = Layer { origin: "test".to_owned(), settings };
    Setup::resolve(algorithm, builtin(env).unwrap(), seeds, Some(10_000), &[layer]).unwrap()
}

fn halved(value: &Value) -> Value {
    match value {
        Value::Integer(n) => Value::Integer(n / 2),
        Value::Array(all) => Value::Array(all.iter().map(halved).collect()),
        other => panic!("{other} cannot be halved"),
    }
}

#[test]
fn lower_values_of_the_settings_that_are_named_take_less() {
    let devices = [Device::cpu(1), Device::cpu(2)];
    for algorithm in ALGORITHMS.iter().map(|def| def.name) {
        let (env, text) = match algorithm {
            "dqn" | "dql" => (
                "cartpole",
                "memory_size = 4000\nenvs = 64\niteration_steps = 16\ntrain_freq = 4\nbatch_size = 512\nhidden = [32, 32]",
            ),
            "ddpg" | "td3" | "sac" => (
                "pendulum",
                "memory_size = 4000\nlearning_starts = 100\nenvs = 64\niteration_steps = 16\nbatch_size = 512\nhidden = [32, 32]",
            ),
            "svpg" => ("cartpole", "num_particles = 4\nenvs = 16\nhorizon = 64\nminibatches = 1\nhidden = [32, 32]"),
            "ppo" | "ppo2" | "a2c" | "vpg" | "trpo" => {
                ("cartpole", "envs = 64\nhorizon = 64\nminibatches = 1\nhidden = [32, 32]")
            }
            "cem" => ("cartpole", "n_samples = 64\nepisodes = 64\nbest_frac = 0.25\nhidden = [16, 16]"),
            "cma-es" | "openai-es" | "ars" | "nop" => ("cartpole", "n_samples = 64\nepisodes = 64\nhidden = [16, 16]"),
            _ if algorithm.starts_with("rl2") => ("point-corner", "meta_batch = 16\nepisodes = 4\nunits = 16"),
            "pearl" => (
                "point-corner",
                "train_tasks = 8\nnum_tasks_sample = 4\nnum_initial_steps = 100\nnum_steps_prior = 400\nmemory_size = 2000\n\
                 num_extra_rl_steps_posterior = 0\nnum_steps_per_epoch = 2\nmeta_batch = 8\nbatch_size = 256\nhidden = [32, 32]\nencoder_hidden_sizes = [32]",
            ),
            _ => ("point-corner", "meta_batch = 8\nrollouts = 8\ninner_steps = 2\nhidden = [32, 32]\nhorizon = 40"),
        };
        let text = if algorithm == "trpo" { text.replace("minibatches = 1\n", "") } else { text.to_owned() };
        let whole = setup(algorithm, env, &text, &[0, 1]);
        let keys = whole.memory_settings();
        assert!(keys.len() > 3, "{algorithm}: {keys:?}");
        let other = keys.contains(&"n_samples")
            || ["rl2-ppo", "rl2-trpo", "pearl", "dqn", "dql", "ddpg", "td3", "sac"].contains(&algorithm);
        assert!(other || keys.contains(&"horizon"), "{algorithm}: {keys:?}");
        for device in &devices {
            let needed = Session::memory(device, &whole).unwrap();
            for key in keys.iter().filter(|key| **key != "number of seeds") {
                let mut table: Table = toml::from_str(&text).unwrap();
                let value = halved(&table[*key]);
                table.insert((*key).to_owned(), value);
                let less = Session::memory(device, &setup(algorithm, env, &table.to_string(), &[0, 1])).unwrap();
                assert!(less < needed, "{algorithm}: {less} bytes with half of {key}, {needed} before");
            }
            let less = Session::memory(device, &setup(algorithm, env, &text, &[0])).unwrap();
            assert!(less < needed, "{algorithm}: {less} bytes with one seed, {needed} before");
        }
    }
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
