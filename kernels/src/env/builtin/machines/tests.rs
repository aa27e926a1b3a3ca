//! Machines: how exact their steps are, their ends, their tasks and their names.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::f64::consts::PI;

use super::MACHINES;
use crate::env::{EnvDef, builtin, builtin_parameters};

fn step(env: &EnvDef, state: &[f64], action: &[f64], task: &[f64]) -> (Vec<f64>, f64, bool) {
    let step = env.step(state, action, task, [0, 0], 0).unwrap();
    (step.state, step.reward, step.terminated)
}

/// The state after a tenth of a second, by steps of `dt`.
fn swung(integrator: &str, dt: f64) -> Vec<f64> {
    let env = builtin(&format!("qube-swing-up:integrator={integrator},dt={dt}")).unwrap();
    let mut state = vec![0.2, 0.5, 1.0, 1.0];
    for _ in 0..(0.1 / dt).round() as usize {
        state = step(&env, &state, &[1.5], &[]).0;
    }
    state
}

#[test]
fn half_a_step_has_a_sixteenth_of_the_error_and_in_the_original_half_of_it() {
    let exact = swung("rk4", 1e-4);
    let error = |integrator: &str, dt: f64| {
        swung(integrator, dt).iter().zip(&exact).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    };
    for (integrator, low, high) in [("rk4", 14.5, 17.0), ("pyrado", 1.9, 2.1)] {
        let errors = [0.004, 0.002, 0.001].map(|dt| error(integrator, dt));
        for pair in errors.windows(2) {
            assert!((low..high).contains(&(pair[0] / pair[1])), "{integrator}: {errors:?}");
        }
    }
    assert!(error("rk4", 0.004) < 1e-4 * error("pyrado", 0.004));
}

#[test]
fn without_a_motor_and_damping_a_qube_keeps_its_energy() {
    // The rotor brakes by its constant, so it has next to none.
    let env = builtin(
        "qube-swing-up:motor_back_emf=0.0001,damping_rot_pole=0.000000001,damping_pend_pole=0.000000001,dt=0.001",
    )
    .unwrap();
    let (arm_mass, arm, mass, length, gravity) = (0.095, 0.085, 0.024, 0.129, 9.81);
    // By the speeds of the pole's centre, which the equations of motion do not mention: it is at half of its length.
    let energy = |s: &[f64]| {
        let (sin, cos) = s[1].sin_cos();
        let half = 0.5 * length;
        let along = arm * s[2] + half * cos * s[3];
        let (across, up) = (half * sin * s[2], half * sin * s[3]);
        let turning = mass * length * length / 12.0 * (s[3] * s[3]);
        // The inertia of Pyrado's pole about the upright axis is that of a point at its centre.
        let arm_turning = arm_mass * arm * arm / 12.0 * s[2] * s[2];
        0.5 * (mass * (along * along + across * across + up * up) + turning + arm_turning) - mass * gravity * half * cos
    };
    let mut state = vec![0.1, 2.0, 1.0, -3.0];
    let first = energy(&state);
    for _ in 0..400 {
        state = step(&env, &state, &[0.0], &[]).0;
    }
    assert!((energy(&state) - first).abs() < 1e-4 * first.abs().max(0.01), "{first} {}", energy(&state));
}

#[test]
fn rewards_are_of_the_state_before_and_of_the_whole_action() {
    let env = builtin("qube-swing-up").unwrap();
    let upright = [0.0, PI, 0.0, 0.0];
    let (_, reward, _) = step(&env, &upright, &[0.0], &[]);
    assert!((reward - 1.0).abs() < 1e-12);
    let ([a, b], [c, d]) = ([4.5, 9.0].map(|volts| step(&env, &upright, &[volts], &[]).0), [4.5, 9.0]);
    assert_eq!(a, b, "the motor takes 4.5 V");
    for volts in [c, d] {
        let (_, reward, _) = step(&env, &upright, &[volts], &[]);
        assert!((reward - (-0.004 * volts * volts).exp()).abs() < 1e-12);
    }
    // A whole turn away is upright again, and a speed beyond π is no angle.
    let turned = step(&env, &[0.0, -PI, 0.0, 7.0], &[0.0], &[]).1;
    assert!((turned - (-0.005 * 49.0_f64).exp()).abs() < 1e-12);
    let beam = builtin("ball-on-beam").unwrap();
    let worst = step(&beam, &[1.0, PI / 4.0, 10.0, PI], &[29.43], &[]).1;
    assert!((worst - 1e-4).abs() < 1e-12, "{worst}");
    let plate = builtin("ball-balancer").unwrap();
    let bounds = [PI / 4.0, PI / 4.0, 0.1375, 0.1375, 5.0 * PI, 5.0 * PI, 0.5, 0.5];
    assert!((step(&plate, &bounds, &[3.0, -3.0], &[]).1 - 1e-4).abs() < 1e-12);
}

#[test]
fn leaving_the_bounds_ends_an_episode_and_costs_what_the_original_has() {
    let ends = |name: &str, state: &[f64]| {
        let env = builtin(name).unwrap();
        let (next, reward, ended) = step(&env, state, &vec![0.0; env.spec().action.dim()], &[]);
        ended.then_some((next, reward))
    };
    let (_, reward) = ends("mass-spring", &[0.99, 9.0]).unwrap();
    assert!((reward + 10.0 * 0.99 * 0.99 + 0.01 * 81.0 + 1000.0).abs() < 1e-9, "{reward}");
    assert!(ends("mass-spring", &[0.5, 0.0]).is_none());
    let (_, reward) = ends("qcartpole-swing-up", &[0.3569, PI, 1.6, 0.0, 0.0, 17.0]).unwrap();
    assert!((reward + 0.3 * 0.3569 * 0.3569 + 0.005 * 2.56 + 1e4).abs() < 1e-9, "{reward}");
    // 40 steps are made with this one, so that 260 are left, each as expensive as the last state without a voltage.
    let before = [0.355, PI + 0.1, 0.81, 0.2, 0.0, 39.0];
    let cost = |s: &[f64]| 5.0 * s[0] * s[0] + 10.0 * (s[1] - PI).powi(2) + 0.01 * (s[2] * s[2] + s[3] * s[3]);
    let (next, reward) = ends("qcartpole-stabilise:time_limit=1000", &before).unwrap();
    assert!((reward + cost(&before) + 260.0 * cost(&next)).abs() < 1e-9, "{reward}");
    let (_, late) = ends("qcartpole-stabilise:time_limit=1000", &[&before[..5], &[700.0]].concat()).unwrap();
    assert!((late + cost(&before)).abs() < 1e-9, "{late}");
    for (name, inside, beyond) in [
        ("ball-on-beam", [0.98, 0.0, 0.0, 0.0], [0.999, 0.0, 0.5, 0.0]),
        ("ball-on-beam-discrete", [0.0, 0.7, 0.0, 0.0], [0.0, 0.78, 0.0, 1.5]),
        ("qube-swing-up", [2.0, 0.0, 0.0, 0.0], [2.0, 0.0, 9.0, 0.0]),
        ("qube-stabilise", [0.0, 12.0, 0.0, 0.0], [0.0, 12.56, 0.0, 9.0]),
    ] {
        // The middle one of three torques is none.
        let env = builtin(name).unwrap();
        let rest = if name.ends_with("discrete") { 1.0 } else { 0.0 };
        assert!(!step(&env, &inside, &[rest], &[]).2 && step(&env, &beyond, &[rest], &[]).2, "{name}");
        assert!(step(&env, &beyond, &[rest], &[]).1 >= 0.0, "{name}");
    }
    assert!(ends("pyrado-pendulum", &[12.5, 5.0]).is_some() && ends("pyrado-pendulum", &[12.4, 0.0]).is_none());
    let ball = |x: f64, speed: f64| [0.0, 0.0, x, 0.0, 0.0, 0.0, speed, 0.0];
    assert!(ends("ball-balancer", &ball(0.137, 0.2)).is_some() && ends("ball-balancer", &ball(0.1, 0.2)).is_none());
    // A longer rail has more room.
    let far = [0.4, PI, 0.0, 0.0, 0.0, 0.0];
    assert!(ends("qcartpole-swing-up", &far).is_some() && ends("qcartpole-swing-up:rail_length=1", &far).is_none());
}

#[test]
fn three_torques_are_those_of_the_beam() {
    let [discrete, any] = ["ball-on-beam-discrete", "ball-on-beam"].map(|name| builtin(name).unwrap());
    let state = [0.3, 0.1, -0.2, 0.4];
    for (choice, torque) in [(0.0, -29.43), (1.0, 0.0), (2.0, 29.43)] {
        assert_eq!(step(&discrete, &state, &[choice], &[]), step(&any, &state, &[torque], &[]));
    }
}

#[test]
fn small_voltages_do_nothing_where_there_is_a_dead_zone() {
    let same = |name: &str, state: &[f64], a: &[f64], b: &[f64]| {
        let env = builtin(name).unwrap();
        step(&env, state, a, &[]).0 == step(&env, state, b, &[]).0
    };
    let qube = [0.0, 0.1, 0.0, 0.0];
    assert!(!same("qube-swing-up", &qube, &[0.2], &[0.0]));
    assert!(same("qube-swing-up:voltage_thold_pos=0.3", &qube, &[0.2], &[0.0]));
    assert!(!same("qube-swing-up:voltage_thold_pos=0.3", &qube, &[-0.2], &[0.0]));
    let cart = [0.0, 0.1, 0.1, 0.0, 0.0, 0.0];
    assert!(same("qcartpole-swing-up:voltage_thold_neg=-0.3", &cart, &[-0.2], &[0.0]));
    assert!(!same("qcartpole-swing-up:voltage_thold_neg=-0.3,simple_dynamics=true", &cart, &[-0.2], &[0.0]));
    let ball = [0.1, 0.0, 0.05, 0.02, 0.0, 0.0, 0.1, 0.0];
    assert!(!same("ball-balancer", &ball, &[0.2, -0.05], &[0.0, 0.0]));
    assert!(same("ball-balancer:simple_dynamics=false", &ball, &[0.2, -0.05], &[0.0, 0.0]));
    assert!(!same("ball-balancer:simple_dynamics=false", &ball, &[-0.2, -0.08], &[0.0, 0.0]));
}

/// Both axes of the balancer are alike, also where a turning plate pushes the ball.
#[test]
fn axes_of_the_balancer_are_alike_and_a_ball_that_rubs_is_slower() {
    let env = builtin("ball-balancer:simple_dynamics=false,voltage_thold_x_neg=-0.074").unwrap();
    let (a, b) = ([0.2, 0.0, 0.05, 0.01, 1.0, 0.0, 0.1, 0.0], [0.0, 0.2, 0.01, 0.05, 0.0, 1.0, 0.0, 0.1]);
    let (next, mirrored) = (step(&env, &a, &[2.0, 0.0], &[]).0, step(&env, &b, &[0.0, 2.0], &[]).0);
    for i in 0..8 {
        assert!((next[i] - mirrored[i ^ 1]).abs() < 1e-15, "{next:?} {mirrored:?}");
    }
    let rolls =
        |name: &str| step(&builtin(name).unwrap(), &[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.1, 0.0], &[0.0; 2], &[]).0[6];
    let (free, rubs) = (rolls("ball-balancer"), rolls("ball-balancer:simple_dynamics=false"));
    // 0.05 N s/m at 0.1 m/s on 1.4 · 3 g, for 0.01 s.
    assert!((free - 0.1).abs() < 1e-15 && (free - rubs - 0.005 / 0.0042 * 0.01).abs() < 1e-12, "{free} {rubs}");
}

#[test]
fn parameters_are_part_of_the_name_and_change_the_machine() {
    for (given, own) in [
        ("qube-swing-up:mass_pend_pole=0.03", "qube-swing-up:mass_pend_pole=0.03"),
        ("qube-swing-up:randomised=true,integrator=pyrado", "qube-swing-up:integrator=pyrado,randomised=true"),
        ("qube-stabilise:dt=0.01,integrator=rk4", "qube-stabilise"),
        ("mass-spring:goal=0.5,time_limit=20", "mass-spring:goal=0.5,time_limit=20"),
        ("qube-swing-up:damping_rot_pole=0.000005", "qube-swing-up"),
        (
            "qcartpole-stabilise:simple_dynamics=false,pole_mass=0.127",
            "qcartpole-stabilise:pole_mass=0.127,simple_dynamics=false",
        ),
    ] {
        assert_eq!(builtin(given).unwrap().spec().name, own, "{given}");
        assert_eq!(builtin(own).unwrap().spec(), builtin(given).unwrap().spec());
    }
    let refused = |name: &str| builtin(name).unwrap_err().to_string();
    assert!(refused("qube-swing-up:mass_pend_pole=0").contains("expected a number in 0.0001 to"));
    assert!(refused("qube-swing-up:integrator=euler").contains("unknown value `euler`"));
    assert!(refused("ball-on-beam:integrator=rk4").contains("no parameter `integrator`"));
    // Each domain parameter does something, somewhere.
    for (name, _, _) in MACHINES {
        let other = |parameter: &str| {
            let default: f64 = builtin_parameters(name).iter().find(|p| p.name == parameter)?.default.parse().ok()?;
            let value = if parameter.contains("thold") && !parameter.contains("torque") {
                if parameter.contains("neg") { -2.0 } else { 2.0 }
            } else if default == 0.0 {
                0.1
            } else {
                default * 0.8
            };
            Some(value)
        };
        let way = if name.starts_with("ball-balancer") || name.starts_with("qcartpole") {
            "simple_dynamics=false,"
        } else {
            ""
        };
        for parameter in builtin_parameters(name) {
            let Some(value) = other(parameter.name) else { continue };
            let [a, b] = [String::new(), format!("{}={value}", parameter.name)]
                .map(|text| builtin(format!("{name}:{way}{text}").trim_end_matches([',', ':'])).unwrap());
            // The mass of a ball and its radius cancel in its own equation.
            let unseen = matches!(parameter.name, "time_limit" | "ball_radius");
            let differ = [1.3, -1.3, 50.0].into_iter().any(|action| {
                let state: Vec<f64> =
                    (0..a.state_len()).map(|i| [0.34, 2.9, 0.3, 0.2, 0.3, 0.4, 0.2, 0.1][i]).collect();
                let action = vec![action; a.spec().action.dim()];
                step(&a, &state, &action, &[]) != step(&b, &state, &action, &[])
            });
            assert!(differ || unseen, "{name}: {}", parameter.name);
        }
    }
}

#[test]
fn tasks_are_machines_of_which_the_nominal_one_is_one() {
    for (name, _, _) in MACHINES {
        let [one, many] = ["", ":randomised=true"].map(|text| builtin(&format!("{name}{text}")).unwrap());
        assert!(one.spec().task.is_empty() && many.spec().task.len() >= 3, "{name}");
        assert_eq!(one.spec().action, many.spec().action);
        let parameters = builtin_parameters(name);
        let nominal: Vec<f64> = many
            .spec()
            .task
            .iter()
            .map(|dim| {
                let parameter = parameters.iter().find(|p| p.name == dim.name).unwrap();
                parameter.default.parse().unwrap()
            })
            .collect();
        let state: Vec<f64> = one.reset(&[], [3, 4], 1).unwrap();
        assert_eq!(state, many.reset(&nominal, [3, 4], 1).unwrap(), "{name}");
        let action = vec![1.0; one.spec().action.dim()];
        assert_eq!(step(&one, &state, &action, &[]), step(&many, &state, &action, &nominal), "{name}");
        let count = 4000;
        for (i, (dim, mean)) in many.spec().task.iter().zip(&nominal).enumerate() {
            let drawn: Vec<f64> = (0..count).map(|element| many.sample_task::<f64>([1, 2], element)[i]).collect();
            let average = drawn.iter().sum::<f64>() / f64::from(count);
            let spread = (drawn.iter().map(|x| (x - average).powi(2)).sum::<f64>() / f64::from(count)).sqrt();
            assert!(drawn.iter().all(|x| (dim.low..=dim.high).contains(x)), "{name}: {}", dim.name);
            // What is clipped at an end has another mean.
            let clipped = drawn.iter().any(|x| [dim.low, dim.high].contains(x));
            let near = clipped || (average - mean).abs() < 0.1 * spread;
            assert!(spread > 0.0 && near, "{name}: {} {average} {mean}", dim.name);
        }
    }
    // The table of Pyrado: a fifth of the mass, a tenth of gravity, a quarter of damping.
    let env = builtin("qube-swing-up:randomised=true,mass_pend_pole=0.03").unwrap();
    for (name, mean, part) in
        [("mass_pend_pole", 0.03, 0.2), ("gravity_const", 9.81, 0.1), ("damping_pend_pole", 1e-6, 0.25)]
    {
        let i = env.spec().task.iter().position(|dim| dim.name == name).unwrap();
        let drawn: Vec<f64> =
            (0..4000).map(|element| env.sample_task::<f64>([1, 2], element)[i] / mean - 1.0).collect();
        let spread = (drawn.iter().map(|x| x * x).sum::<f64>() / 4000.0).sqrt();
        assert!((spread / part - 1.0).abs() < 0.06, "{name}: {spread}");
    }
    assert!(env.spec().task.iter().all(|dim| !dim.name.starts_with("voltage")));
}

#[cfg(not(target_arch = "wasm32"))]
#[test]
fn machines_keep_to_the_contract_of_environments_also_with_tasks() {
    use crate::env::{Outcome, check_env};
    for (name, _, _) in MACHINES {
        for text in ["", ":randomised=true", ":dt=0.005"] {
            let report = check_env(&builtin(&format!("{name}{text}")).unwrap(), None);
            let allowed = |check: &crate::env::Check| name == "pyrado-pendulum" && check.name == "resets";
            let bad = report.checks.iter().find(|check| check.outcome != Outcome::Passed && !allowed(check));
            assert!(bad.is_none(), "{report}");
        }
    }
    for text in ["qube-swing-up:integrator=pyrado", "ball-balancer:simple_dynamics=false,randomised=true"] {
        let report = check_env(&builtin(text).unwrap(), None);
        assert!(report.checks.iter().all(|check| check.outcome == Outcome::Passed), "{report}");
    }
}
