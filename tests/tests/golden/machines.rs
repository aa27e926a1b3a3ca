//! Machines against Pyrado's steps.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::f64::consts::PI;

use quickstudy_core::env::{self, ActionSpace};
use quickstudy_tests::golden::{items, load, number, numbers};

fn off(got: &[f64], want: &[f64]) -> f64 {
    assert!(got.len() >= want.len());
    got.iter().zip(want).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// The original's reward where a speed of a Qube is beyond ±π: its error is reflected there, as if it were an angle.
fn reflected(name: &str, state: &[f64], reward: f64) -> f64 {
    let weights = match name.split(':').next().unwrap() {
        "qube-swing-up" => [0.02, 0.005],
        "qube-stabilise" => [2.0, 2.0],
        _ => return reward,
    };
    let less = state[2..].iter().zip(weights).map(|(speed, weight)| {
        let mirrored = if speed.abs() > PI { 2.0 * PI - speed.abs() } else { *speed };
        weight * (speed * speed - mirrored * mirrored)
    });
    reward * less.sum::<f64>().exp()
}

#[test]
fn steps_are_those_of_pyrado() {
    let golden = load("pyrado_envs.json");
    let mut played = Vec::new();
    for run in items(&golden["envs"]) {
        let name = match run["env"].as_str().unwrap() {
            "bob" => "ball-on-beam",
            "omo" => "mass-spring:goal=0.5",
            "pend" => "pyrado-pendulum",
            "qbb" => "ball-balancer",
            "qcp-st" => "qcartpole-stabilise",
            "qcp-su" => "qcartpole-swing-up",
            "qq-st" => "qube-stabilise:integrator=pyrado",
            "qq-su" => "qube-swing-up:integrator=pyrado",
            other => unreachable!("{other}"),
        };
        let env = env::builtin(name).unwrap();
        let spec = env.spec();
        assert_eq!((spec.dt, spec.horizon as u64), (number(&run["dt"]), run["max_steps"].as_u64().unwrap()), "{name}");
        let labels: Vec<&str> = items(&run["obs_labels"]).iter().map(|label| label.as_str().unwrap()).collect();
        assert_eq!(spec.observation.iter().map(|dim| dim.name.as_str()).collect::<Vec<_>>(), labels, "{name}");
        // Domain parameters are all there, with the same values.
        let known = env::builtin_parameters(name.split(':').next().unwrap());
        for (parameter, value) in run["domain_param"].as_object().unwrap() {
            let own = known.iter().find(|own| own.name == parameter).unwrap();
            assert_eq!(own.default.parse::<f64>().unwrap(), number(value), "{name}: {parameter}");
        }
        let ActionSpace::Box { dims } = &spec.action else { unreachable!("{name}") };
        let highest: Vec<f64> = dims.iter().map(|dim| dim.high).collect();
        assert!(off(&highest, &numbers(&run["act_bound"])) < 1e-12, "{name}: {highest:?}");
        let mut state = vec![0.0; env.state_len()];
        let first = numbers(&run["init_state"]);
        state[..first.len()].copy_from_slice(&first);
        let mut worst = [0.0_f64; 3];
        for (i, step) in items(&run["steps"]).iter().enumerate() {
            let after = env.step(&state, &numbers(&step["act"]), &[], [0, 0], 0).unwrap();
            let errors = [
                off(&after.state, &numbers(&step["state"])),
                off(&after.observation, &numbers(&step["obs"])),
                (reflected(name, &state, after.reward) - number(&step["reward"])).abs(),
            ];
            assert!(errors.iter().all(|error| *error <= 1e-9), "{name}, step {i}: {errors:?}");
            assert_eq!(after.terminated, step["done"].as_bool().unwrap(), "{name}, step {i}");
            for (worst, error) in worst.iter_mut().zip(errors) {
                *worst = worst.max(error);
            }
            state = after.state;
        }
        println!("{name}: state {:e}, observation {:e}, reward {:e}", worst[0], worst[1], worst[2]);
        played.push(name);
    }
    assert_eq!(played.len(), 8, "{played:?}");
}

/// Three torques instead of any.
#[test]
fn discrete_torques_are_those_of_the_beam_that_pyrado_has() {
    let golden = load("pyrado_envs.json");
    let run = items(&golden["envs"]).iter().find(|run| run["env"] == "bob").unwrap();
    let [any, discrete] = ["ball-on-beam", "ball-on-beam-discrete"].map(|name| env::builtin(name).unwrap());
    let most = numbers(&run["act_bound"])[0];
    let mut state = numbers(&run["init_state"]);
    for step in items(&run["steps"]) {
        for (choice, torque) in [-most, 0.0, most].into_iter().enumerate() {
            let [a, b] = [(&any, torque), (&discrete, choice as f64)]
                .map(|(env, action)| env.step(&state, &[action], &[], [0, 0], 0).unwrap());
            assert!(off(&a.state, &b.state) < 1e-12 && (a.reward - b.reward).abs() < 1e-12);
        }
        state = numbers(&step["state"]);
    }
}
