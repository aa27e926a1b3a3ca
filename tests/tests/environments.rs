//! The built-in environments against reference trajectories, at their edges, and one lane against many.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy_core::env::{EnvDef, Scalar, builtin};
use quickstudy_tests::golden;

/// The environment that a golden file's name stands for.
fn environment(golden_name: &str) -> EnvDef {
    let name = match golden_name {
        "CartPole-v1" => "cartpole",
        "Pendulum-v0" | "Pendulum-v1" => "pendulum",
        "Acrobot-v1" => "acrobot",
        "MountainCar-v0" => "mountain-car",
        "MountainCarContinuous-v0" => "mountain-car-continuous",
        other => panic!("no environment for {other}"),
    };
    builtin(name).unwrap()
}

/// One recorded step.
struct Record {
    env: String,
    from: Vec<f64>,
    action: Vec<f64>,
    state: Vec<f64>,
    observation: Vec<f64>,
    reward: f64,
    done: bool,
    first: bool,
}

fn records() -> Vec<Record> {
    let file = golden::load("classic_control.json");
    let mut records = Vec::new();
    for run in golden::items(&file["envs"]) {
        let env = run["env"].as_str().unwrap();
        let mut from = golden::numbers(&run["init_state"]);
        for (t, step) in golden::items(&run["steps"]).iter().enumerate() {
            let mut record = Record {
                env: env.to_owned(),
                from: std::mem::take(&mut from),
                action: golden::numbers(&step["act"]),
                state: golden::numbers(&step["state"]),
                observation: golden::numbers(&step["obs"]),
                reward: golden::number(&step["reward"]),
                done: step["done"].as_bool().unwrap(),
                first: t == 0,
            };
            from = record.state.clone();
            if env == "Pendulum-v0" {
                // Version 0 moved the angle with the speed before limiting it; version 1 with the limited one.
                record.state[0] = record.from[0] + record.state[1] * 0.05;
                record.observation[..2].copy_from_slice(&[record.state[0].cos(), record.state[0].sin()]);
            }
            records.push(record);
        }
    }
    records
}

/// The largest difference.
fn off(got: &[f64], want: &[f64]) -> f64 {
    assert_eq!(got.len(), want.len());
    got.iter().zip(want).map(|(g, w)| (g - w).abs()).fold(0.0, f64::max)
}

fn worst<T: Scalar>(record: &Record, convert: impl Fn(f64) -> T) -> (f64, bool) {
    let env = environment(&record.env);
    let list = |x: &[f64]| x.iter().map(|&x| convert(x)).collect::<Vec<T>>();
    let wide = |x: &[T]| x.iter().map(|&x| x.into()).collect::<Vec<f64>>();
    let step = env.step(&list(&record.from), &list(&record.action), &[], [0, 0], 0).unwrap();
    let error = off(&wide(&step.state), &record.state)
        .max(off(&wide(&step.observation), &record.observation))
        .max((step.reward.into() - record.reward).abs());
    (error, step.terminated)
}

#[test]
fn golden_steps_match_in_f64() {
    let mut seen = std::collections::BTreeMap::<String, f64>::new();
    for record in records() {
        let (error, terminated) = worst(&record, |x| x);
        // Some of the original's observations and states are rounded to f32.
        let rounded = record.observation.iter().all(|&x| x == f64::from(x as f32));
        let tolerance = if rounded { 1e-6 } else { 1e-12 };
        assert!(error <= tolerance, "{} from {:?}: off by {error}", record.env, record.from);
        assert_eq!(terminated, record.done, "{} from {:?}", record.env, record.from);
        let entry = seen.entry(record.env).or_default();
        *entry = entry.max(error);
    }
    println!("largest error per environment: {seen:?}");
    assert_eq!(seen.len(), 5, "{:?}", seen.keys());
}

#[test]
fn golden_steps_match_in_f32() {
    for record in records() {
        let (error, _) = worst(&record, |x| x as f32);
        assert!(error <= 1e-4, "{} from {:?}: off by {error}", record.env, record.from);
    }
}

#[test]
fn golden_trajectories_match_in_f64() {
    let mut state = Vec::new();
    let mut pendulum_limited = false;
    for record in records() {
        if record.first {
            state.clone_from(&record.from);
            pendulum_limited = false;
        }
        let env = environment(&record.env);
        let step = env.step(&state, &record.action, &[], [0, 0], 0).unwrap();
        // From where the pendulum's versions part on, only single steps can be compared.
        pendulum_limited |= record.env.starts_with("Pendulum") && record.state[1].abs() == 8.0;
        if !pendulum_limited {
            let error = off(&step.state, &record.state);
            assert!(error <= 1e-9, "{}: off by {error}", record.env);
        }
        state = step.state;
    }
}
