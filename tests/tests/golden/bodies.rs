//! Bodies against MuJoCo's steps.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use quickstudy_core::env;
use quickstudy_tests::golden::{items, load, numbers};

/// The largest error: of positions, and of speeds relative to 1 + |speed|.
fn error(got: &[f64], positions: &[f64], speeds: &[f64]) -> f64 {
    let n = positions.len();
    let places = got[..n].iter().zip(positions).map(|(a, b)| (a - b).abs());
    let speed = got[n..2 * n].iter().zip(speeds).map(|(a, b)| (a - b).abs() / (1.0 + b.abs()));
    places.chain(speed).fold(0.0, f64::max)
}

#[test]
fn a_step_of_the_cheetah_is_that_of_mujoco() {
    let env = env::builtin("half-cheetah").unwrap();
    let golden = load("half_cheetah_mujoco.json");
    for (i, record) in items(&golden["records"]).iter().enumerate() {
        let of = |name: &str| numbers(&record[name]);
        let state = [of("qpos"), of("qvel"), of("warmstart")].concat();
        let step = env.step(&state, &of("ctrl"), &[], [0, 0], 0).unwrap();
        let error = error(&step.state, &of("qpos_next"), &of("qvel_next"));
        assert!(error < 5e-12, "record {i}: {error:e}");
    }
}

/// Hoppers and walkers on the floor: contacts of links with each other, also where their axes cross or are parallel.
#[test]
fn a_step_of_a_fallen_body_is_that_of_mujoco() {
    let golden = load("fallen_mujoco.json");
    for record in items(&golden["records"]) {
        let (name, met) = (record["env"].as_str().unwrap(), record["met"].as_str().unwrap());
        let env = env::builtin(&format!("{name}:terminate_when_unhealthy=false")).unwrap();
        let of = |name: &str| numbers(&record[name]);
        let (state, ctrl) = ([of("qpos"), of("qvel"), of("warmstart")].concat(), of("ctrl"));
        let step = env.step(&state, &ctrl, &[], [0, 0], 0).unwrap();
        let off = error(&step.state, &of("qpos_next"), &of("qvel_next"));
        assert!(off < 5e-12 && !step.terminated, "{name} with {met}: {off:e}");
        let narrow = |numbers: &[f64]| numbers.iter().map(|x| *x as f32).collect::<Vec<f32>>();
        let step = env.step(&narrow(&state), &narrow(&ctrl), &[], [0, 0], 0).unwrap();
        let wide: Vec<f64> = step.state.into_iter().map(f64::from).collect();
        let off = error(&wide, &of("qpos_next"), &of("qvel_next"));
        assert!(off < 1e-3, "{name} with {met}, in f32: {off:e}");
    }
}

/// Older versions of MuJoCo and of the models: the same where nothing is touched.
#[test]
fn free_motion_is_that_of_mujoco() {
    let golden = load("mujoco_planar.json");
    let mut compared = 0;
    for (model, name) in [
        ("inverted_pendulum", "inverted-pendulum"),
        ("inverted_double_pendulum", "inverted-double-pendulum"),
        ("half_cheetah", "half-cheetah"),
        ("swimmer", "swimmer"),
    ] {
        let env = env::builtin(name).unwrap();
        let of = &golden["models"][model];
        for way in ["trajectories", "free_flight"] {
            for trajectory in of[way].as_array().into_iter().flatten() {
                let of = |name: &str| numbers(&trajectory[name]);
                let mut state = vec![0.0; env.state_len()];
                let begin = [of("qpos0"), of("qvel0")].concat();
                state[..begin.len()].copy_from_slice(&begin);
                for (i, step) in items(&trajectory["steps"]).iter().enumerate() {
                    state = env.step(&state, &numbers(&step["ctrl"]), &[], [0, 0], 0).unwrap().state;
                    let error = error(&state, &numbers(&step["qpos"]), &numbers(&step["qvel"]));
                    assert!(error < 1e-9, "{name}, {way}, step {i}: {error:e}");
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 50, "{compared}");
}
