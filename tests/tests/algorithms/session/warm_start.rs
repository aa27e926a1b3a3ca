//! Training that begins with parameters that another run has learned.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy_core::Device;
use quickstudy_core::env::builtin;
use quickstudy_core::train::{self, ALGORITHMS, Own, Session, Setup, algorithm};
use quickstudy_tests::crafted::Crafted;
use quickstudy_tests::hosted::hosted;
use quickstudy_tests::trainings::{snapshot, steps, training, training_on, wait};

const REPLAY: &str = "hidden = [8]\nbatch_size = 8\nlearning_starts = 40\niteration_steps = 40\n\
                      train_freq = 1\ngradient_steps = 1";

/// An environment and small settings of an algorithm.
fn small(name: &str) -> (String, String) {
    let (env, settings) = train::small(algorithm(name).unwrap()).unwrap();
    (env.spec().name.clone(), settings.to_string())
}

fn setup(algorithm: &str, env: &str, text: &str, seeds: &[u64]) -> Setup {
    training(algorithm, env).seeds(seeds).steps(2000).set(text).setup()
}

fn fresh(setup: &Setup) -> Session {
    Session::new(&Device::cpu(1), setup).unwrap()
}

fn trained(setup: &Setup, iterations: usize) -> Session {
    let mut session = fresh(setup);
    steps(&mut session, iterations);
    session
}

#[test]
fn a_policy_is_enough_and_its_critics_become_their_targets() {
    let mut with_targets = 0;
    for name in ALGORITHMS.iter().map(|def| def.name) {
        let (env, text) = small(name);
        let source = trained(&setup(name, &env, &text, &[3]), 3);
        let targets = Crafted::read(&snapshot(&source, 0)).tensors;
        let target_of = |name: &String| name.strip_prefix("target.").is_some_and(|name| targets.contains_key(name));
        if !targets.keys().any(target_of) {
            continue;
        }
        with_targets += 1;
        let policy = wait(source.policy_snapshot(0));
        let mut session = fresh(&setup(name, &env, &text, &[7, 8, 9]));
        session.start_from(Own::default(), &[&policy]).unwrap();
        for index in 0..3 {
            assert_eq!(wait(session.parameters(index)), wait(source.parameters(0)), "{name}");
            let file = Crafted::read(&snapshot(&session, index));
            let targets =
                file.tensors.iter().filter_map(|(name, target)| Some((name.strip_prefix("target.")?, target)));
            let targets: Vec<_> = targets.filter(|(name, _)| file.tensors.contains_key(*name)).collect();
            assert!(targets.iter().any(|(name, _)| name.contains("weight")), "{name}");
            targets.iter().for_each(|(tensor, target)| assert!(file.tensors[*tensor] == **target, "{name}: {tensor}"));
        }
    }
    assert!(with_targets >= 5, "{with_targets} have targets");
}

#[test]
fn such_a_run_resumes_exactly() {
    for name in ["ppo", "sac"] {
        let (env, text) = small(name);
        let source = snapshot(&trained(&setup(name, &env, &text, &[3]), 3), 0);
        let begin = || {
            let mut session = fresh(&setup(name, &env, &text, &[5]));
            session.start_from(Own::default(), &[&source]).unwrap();
            session
        };
        let mut whole = begin();
        steps(&mut whole, 4);
        // Before the first iteration, and between iterations.
        for first in [0, 2] {
            let mut parts = begin();
            steps(&mut parts, first);
            let mut resumed = Session::restore(&Device::cpu(1), &[&snapshot(&parts, 0)]).unwrap();
            (first..4).for_each(|_| drop(wait(resumed.step())));
            assert!(snapshot(&whole, 0) == snapshot(&resumed, 0), "{name}, {first}");
        }
    }
}

/// This is Pyrado's `use_trained_policy_for_refill`.
#[test]
fn an_empty_memory_is_filled_by_the_trained_policy() {
    let text = format!("{REPLAY}\nnoise = \"gaussian\"\nsigma = 0.0\nactivation = \"tanh\"");
    let source = snapshot(&trained(&setup("ddpg", "pendulum", &text, &[3]), 6), 0);
    let numbers = |file: &Crafted, name: &str| -> Vec<f32> {
        file.tensors[name].2.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
    };
    // The policy's action is computed by hand.
    let file = Crafted::read(&source);
    let layer = |number: usize, x: &[f32]| -> Vec<f32> {
        let weight = numbers(&file, &format!("policy.{number}.weight"));
        let bias = numbers(&file, &format!("policy.{number}.bias"));
        let row = |(row, bias): (&[f32], &f32)| row.iter().zip(x).map(|(w, x)| w * x).sum::<f32>() + bias;
        weight.chunks(x.len()).zip(&bias).map(row).map(f32::tanh).collect()
    };
    let acts = |obs: &[f32]| layer(1, &layer(0, obs))[0];
    let played = |warm_up: &str| {
        let mut session = fresh(&setup("ddpg", "pendulum", &format!("{text}\nwarm_up = \"{warm_up}\""), &[9]));
        session.start_from(Own::default(), &[&source]).unwrap();
        wait(session.step());
        let file = Crafted::read(&snapshot(&session, 0));
        let rows = numbers(&file, "memory.transitions");
        let width = file.tensors["memory.transitions"].1[1];
        let errors = rows.chunks(width).take(40).map(|row| (row[3] - acts(&row[..3])).abs());
        errors.fold(0.0, f32::max)
    };
    let (by_policy, by_chance) = (played("policy"), played("random"));
    assert!(by_policy < 1e-5 && by_chance > 0.1, "{by_policy}, {by_chance}");
}

#[test]
fn it_begins_on_the_host_as_well() {
    let device = Device::cpu(1);
    let (env, text) = (builtin("pendulum").unwrap(), small("td3").1);
    let source = trained(&setup("td3", "pendulum", &text, &[3]), 3);
    let mut session = training_on("td3", hosted(&env)).seeds(&[4]).steps(2000).set(&text).session_on(&device);
    session.start_from(Own::default(), &[&snapshot(&source, 0)]).unwrap();
    assert_eq!(wait(session.parameters(0)), wait(source.parameters(0)));
    wait(session.step());
}

#[test]
fn another_algorithm_or_environment_with_the_same_networks_will_do() {
    let ppo = "hidden = [8]\nenvs = 2\nhorizon = 16\nminibatches = 2\nnormalise_observations = false";
    let trpo = "hidden = [8]\nenvs = 2\nhorizon = 16\nnormalise_observations = false";
    let source = trained(&setup("ppo", "mountain-car", ppo, &[3]), 2);
    let mut session = fresh(&setup("trpo", "mountain-car", trpo, &[3]));
    session.start_from(Own::default(), &[&snapshot(&source, 0)]).unwrap();
    assert_eq!(wait(session.parameters(0)), wait(source.parameters(0)));
}

#[test]
fn what_does_not_fit_is_told_in_a_line() {
    let base = "envs = 2\nhorizon = 16\nminibatches = 2";
    let of = |env: &str, more: &str, seeds: &[u64]| setup("ppo", env, &format!("{base}\n{more}"), seeds);
    let small = "hidden = [8]\nactivation = \"tanh\"\nnormalise_observations = false";
    let normalised = "hidden = [8]\nactivation = \"tanh\"\nnormalise_observations = true";
    let deeper = "hidden = [8, 2]\nactivation = \"tanh\"\nnormalise_observations = false";
    let file = snapshot(&trained(&of("cartpole", small, &[3]), 1), 0);
    let refused = |to: &Setup, files: &[&[u8]]| {
        let mut session = fresh(to);
        let before = snapshot(&session, 0);
        let error = session.start_from(Own::default(), files).unwrap_err().to_string();
        assert!(snapshot(&session, 0) == before && !error.contains('\n'), "{error}");
        error
    };
    for (to, parts) in [
        (of("cartpole", &small.replace("[8]", "[16]"), &[0]), ["`policy.0.weight`", "[8, 4]", "expected", "[16, 4]"]),
        (of("pendulum", small, &[0]), ["`policy.0.weight`", "[8, 4]", "expected", "[8, 3]"]),
        (of("cartpole", &small.replace("tanh", "relu"), &[0]), ["activation", "\"tanh\"", "\"relu\"", "this run"]),
        (of("cartpole", normalised, &[0]), ["normalise_observations = false", "this run", "", ""]),
        (of("cartpole", deeper, &[0]), ["`value.1.weight`", "[1, 8]", "expected", "[2, 8]"]),
        (
            setup("dqn", "cartpole", &format!("{REPLAY}\nactivation = \"tanh\""), &[0]),
            ["it has no tensor `q.0.", "", "", ""],
        ),
    ] {
        let error = refused(&to, &[&file]);
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    }
    let one = of("cartpole", small, &[0]);
    assert!(refused(&one, &[&file, &file]).contains("2 snapshots for 1 seeds"));
    assert!(refused(&one, &[]).contains("0 snapshots"));
    assert!(refused(&one, &[b"GIF89a"]).contains("no safetensors file"));
    // One layer does not exist, and one would be left out.
    let promp = |hidden: &str| {
        setup("promp", "point-corner", &format!("hidden = {hidden}\nmeta_batch = 2\nrollouts = 2\nhorizon = 8"), &[0])
    };
    let [shallow, deep] = ["[2]", "[2, 2]"].map(promp);
    let [one, two] = [&shallow, &deep].map(|of| snapshot(&fresh(of), 0));
    for (to, file, problem) in [(&deep, &one, "it has no tensor"), (&shallow, &two, "it has a tensor")] {
        let error = refused(to, &[file]);
        assert!(error.contains(problem) && error.contains("policy.2."), "{error}");
    }
}
