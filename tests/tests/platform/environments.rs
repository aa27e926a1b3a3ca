//! The built-in environments against reference trajectories, at their edges, and one lane against many.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use proptest::prelude::*;
use quickstudy_core::backend::cpu::simd::isa::Isa;
use quickstudy_core::env::{Check, EnvDef, Lockstep, Outcome, Scalar, builtin, builtin_names, check_env};
use quickstudy_core::rng::{self, Threefry};
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

/// Returns of the first episode of each of `count` environments under random actions.
fn random_returns(name: &str, count: usize) -> Vec<f64> {
    let env = builtin(name).unwrap();
    let mut rows = Lockstep::new(&env, Isa::detect(), count);
    let mut rng = Threefry::new(rng::key_from_seed(2026));
    let key = rng::key_from_seed(7);
    rows.reset(rng::fold_in(key, u32::MAX));
    let (mut returns, mut over) = (vec![0.0; rows.count()], vec![false; rows.count()]);
    for t in 0..env.spec().horizon {
        rows.random_actions(|| rng.word());
        rows.step(rng::fold_in(key, t as u32));
        for i in 0..rows.count() {
            if !over[i] {
                returns[i] += f64::from(rows.reward[i]);
                over[i] = (rows.terminated[i].to_bits() | rows.truncated[i].to_bits()) != 0;
            }
        }
        if over.iter().all(|&o| o) {
            break;
        }
    }
    assert!(over.iter().all(|&o| o), "every episode ends within the time limit");
    returns
}

/// Mean and its standard error.
fn mean(x: &[f64]) -> (f64, f64) {
    let n = x.len() as f64;
    let mean = x.iter().sum::<f64>() / n;
    let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

#[test]
fn random_policies_score_what_they_score_in_the_original() {
    // Means and standard errors of an independent C program after Gymnasium's source.
    for (name, count, reference, error) in [
        ("cartpole", 32_768, 22.23, 0.03),
        ("pendulum", 8192, -1230.3, 2.0),
        ("acrobot", 4096, -498.8, 0.2),
        ("mountain-car-continuous", 4096, -33.1, 0.06),
    ] {
        let (got, own_error) = mean(&random_returns(name, count));
        let limit = 3.0 * (error * error + own_error * own_error).sqrt();
        println!("{name}: {got:.3} ± {own_error:.3}, reference {reference} ± {error}");
        assert!((got - reference).abs() <= limit, "{name}: {got} ± {own_error}, reference {reference} ± {error}");
    }
    // The mountain is not climbed by chance.
    let (got, _) = mean(&random_returns("mountain-car", 1024));
    assert!(got < -199.0, "{got}");
}

/// Environments of each kind: classic control, a machine, a body, goals in the plane, a table.
const FIRST: [&str; 6] = ["cartpole", "pendulum", "qube-swing-up", "hopper", "point-walls", "tabular-mdp"];

#[test]
fn all_checks_pass_for_built_in_environments_of_each_kind() {
    FIRST.into_iter().for_each(passes_all_checks);
}

#[test]
#[ignore = "half a minute: scripts/second-tier.sh"]
fn all_checks_pass_for_all_other_built_in_environments() {
    // Bodies that are another one but for their reward would be checked twice, which takes long.
    let rewarded_otherwise = ["half-cheetah-dir", "walker2d-dir", "walker2d-vel", "swimmer-vel"];
    let others = |name: &&str| !rewarded_otherwise.contains(name) && !FIRST.contains(name);
    builtin_names().into_iter().filter(others).for_each(passes_all_checks);
}

fn passes_all_checks(name: &str) {
    let begin = std::time::Instant::now();
    let now = || begin.elapsed().as_secs_f64();
    let report = check_env(&builtin(name).unwrap(), Some(&now));
    println!("{report}");
    // Timings on a shared machine may warn, and of one place to start from; nothing else may.
    let one_place = ["grid-world", "pyrado-pendulum"].contains(&name);
    // Light feet below heavy torsos are ill-conditioned.
    let uneven = name.ends_with("-rand-params");
    let may_warn = |c: &Check| match c.name {
        "speed of lanes" => true,
        "resets" => one_place,
        "f32 and f64" => uneven,
        _ => false,
    };
    let bad = |c: &&Check| c.outcome == Outcome::Failed || (c.outcome == Outcome::Warning && !may_warn(c));
    assert_eq!(report.checks.iter().find(bad), None, "{name}");
}

#[test]
fn an_episode_that_terminates_in_its_last_step_is_not_truncated() {
    for (name, state, action, terminates) in [
        ("cartpole", vec![2.39, 3.0, 0.0, 0.0], 1.0, true),
        ("cartpole", vec![0.0; 4], 1.0, false),
        ("mountain-car", vec![0.49, 0.05], 2.0, true),
        ("mountain-car-continuous", vec![0.44, 0.05], 1.0, true),
        ("acrobot", vec![std::f32::consts::PI - 0.1, 0.0, 0.0, 0.0], 1.0, true),
        ("pendulum", vec![0.0, 0.0], 0.0, false),
    ] {
        let env = builtin(name).unwrap();
        let horizon = env.spec().horizon as u32;
        for isa in Isa::available() {
            let mut rows = Lockstep::new(&env, isa, 16);
            let n = rows.count();
            rows.state.chunks_mut(n).zip(&state).for_each(|(lanes, x)| lanes.fill(*x));
            rows.action.fill(action);
            // Lane 0 is in its last step, lane 1 one before.
            rows.steps[0] = f32::from_bits(horizon - 1);
            rows.steps[1] = f32::from_bits(horizon - 2);
            rows.step([1, 2]);
            let at = |v: &[f32], i: usize| v[i].to_bits();
            let one = env.step(&state, &[action], &[], [1, 2], 0).unwrap();
            assert_eq!(one.terminated, terminates, "{name}");
            for (i, cut) in [(0, !terminates), (1, false)] {
                assert_eq!(at(&rows.terminated, i), u32::from(terminates), "{name}");
                assert_eq!(at(&rows.truncated, i), u32::from(cut), "{name}");
                let last: Vec<f32> = rows.last_observation.iter().skip(i).step_by(n).copied().collect();
                assert_eq!(last, one.observation, "the final observation is kept");
                let over = terminates || cut;
                assert_eq!(at(&rows.steps, i), if over { 0 } else { horizon - 1 });
                let seen: Vec<f32> = rows.observation.iter().skip(i).step_by(n).copied().collect();
                assert_eq!(seen != last, over, "{name}: a new episode begins where one is over");
            }
        }
    }
}

proptest! {
    #[test]
    fn any_action_and_state_bits_are_survived(
        bits in prop::collection::vec(any::<u32>(), 16 * 7),
        which in 0..builtin_names().len(),
    ) {
        let env = builtin(builtin_names()[which]).unwrap();
        for isa in Isa::available() {
            let mut rows = Lockstep::new(&env, isa, 16);
            let mut bits = bits.iter().copied().cycle().map(f32::from_bits);
            rows.action.fill_with(|| bits.next().unwrap_or(0.0));
            rows.reset([3, 4]);
            rows.step([1, 2]);
            rows.state.fill_with(|| bits.next().unwrap_or(0.0));
            rows.steps.fill_with(|| bits.next().unwrap_or(0.0));
            rows.step([1, 3]);
            for (end, cut) in rows.terminated.iter().zip(&rows.truncated) {
                prop_assert!(end.to_bits() + cut.to_bits() <= 1);
            }
        }
    }

    #[test]
    fn actions_between_choices_act_as_the_nearest(seed in any::<u32>(), shift in -0.49_f32..0.49) {
        for (name, n) in [("cartpole", 2), ("acrobot", 3), ("mountain-car", 3)] {
            let env = builtin(name).unwrap();
            let state: Vec<f32> = env.reset(&[], [seed, 1], 0).unwrap();
            for i in 0..n {
                let exact = env.step(&state, &[i as f32], &[], [0, 0], 0).unwrap();
                prop_assert_eq!(exact, env.step(&state, &[i as f32 + shift], &[], [0, 0], 0).unwrap());
            }
        }
    }
}

/// Types of the built-in environments; some have several names.
#[cfg(target_arch = "x86_64")]
const TYPES: usize = 22;

/// Functions of this test's own machine code: name and the names that it calls.
#[cfg(target_arch = "x86_64")]
fn calls() -> Option<Vec<(String, Vec<String>)>> {
    let binary = std::env::current_exe().unwrap();
    let output = std::process::Command::new("objdump").args(["-d", "-C", "--no-show-raw-insn"]).arg(binary).output();
    let text = String::from_utf8_lossy(&output.ok()?.stdout).into_owned();
    let mut functions: Vec<(String, Vec<String>)> = Vec::new();
    for line in text.lines() {
        let symbol = line.split_once('<').map(|(_, rest)| rest.trim_end_matches(':').trim_end_matches('>').to_owned());
        if line.ends_with(">:") {
            functions.push((symbol.unwrap_or_default(), Vec::new()));
        } else if line.contains("\tcall") {
            // A call through a pointer has no name and is kept as it is.
            let target = symbol.unwrap_or_else(|| line.trim().to_owned());
            if let Some((_, targets)) = functions.last_mut() {
                targets.push(target);
            }
        }
    }
    Some(functions)
}

#[cfg(target_arch = "x86_64")]
#[test]
fn blocks_for_an_instruction_set_call_no_environment_code() {
    let Some(functions) = calls() else {
        println!("skipped: there is no objdump");
        return;
    };
    for (block, set) in [("block_any", "avx512"), ("block_any", "avx2")] {
        let of = format!("::{block}::{set}");
        let found: Vec<_> = functions.iter().filter(|(name, _)| name.contains(&of)).collect();
        assert!(found.len() >= TYPES, "{of}: {} functions", found.len());
        for (name, targets) in found {
            // Freeing a block's vectors is no environment code.
            let ours = |t: &&String| t.contains("quickstudy_kernels::") && !t.contains("drop_in_place");
            let bad: Vec<_> = targets.iter().filter(ours).collect();
            assert!(bad.is_empty(), "{name} calls {bad:?}");
        }
    }
}
