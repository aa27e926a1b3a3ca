//! Training that begins with what another run has learned.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy_core::env::builtin;
use quickstudy_core::train::{ALGORITHMS, Layer, Own, Session, Setup};
use quickstudy_core::{Device, Result};
use quickstudy_tests::crafted::Crafted;
use quickstudy_tests::hosted::hosted;

fn wait<T>(future: impl Future<Output = Result<T>>) -> T {
    pollster::block_on(future).unwrap()
}

const REPLAY: &str = "hidden = [8]\nbatch_size = 8\nlearning_starts = 40\niteration_steps = 40\n\
                      train_freq = 1\ngradient_steps = 1";

/// An environment and small settings for each algorithm.
fn small(algorithm: &str) -> (&'static str, String) {
    match algorithm {
        "ppo" => (
            "pendulum",
            "hidden = [8]\nenvs = 2\nhorizon = 16\nminibatches = 2\nnormalise_observations = true\nnormalise_rewards = true"
                .to_owned(),
        ),
        "ppo2" | "a2c" | "vpg" | "svpg" => ("cartpole", "hidden = [8]\nenvs = 2\nhorizon = 16\nminibatches = 2".to_owned()),
        "trpo" => ("cartpole", "hidden = [8]\nenvs = 2\nhorizon = 16".to_owned()),
        "dqn" | "dql" => ("cartpole", REPLAY.to_owned()),
        "ddpg" | "td3" | "sac" => ("pendulum", REPLAY.to_owned()),
        "cem" => ("cartpole", "hidden = [8]\nn_samples = 4\nbest_frac = 0.5".to_owned()),
        "cma-es" | "openai-es" | "nop" => ("cartpole", "hidden = [8]\nn_samples = 4".to_owned()),
        "ars" => ("cartpole", "hidden = [8]\nn_samples = 4\ntop_directions = 2".to_owned()),
        "rl2-ppo" => ("bandit", "units = 8\nmeta_batch = 4\nminibatches = 1".to_owned()),
        "rl2-trpo" => ("bandit", "units = 8\nmeta_batch = 4".to_owned()),
        "pearl" => (
            "point-robot",
            "hidden = [8]\nencoder_hidden_sizes = [8]\ntrain_tasks = 2\nnum_tasks_sample = 2\nnum_initial_steps = 20\n\
             num_steps_prior = 20\nnum_steps_per_epoch = 2\nmeta_batch = 2\nbatch_size = 8\nembedding_batch_size = 10\n\
             embedding_mini_batch_size = 10"
                .to_owned(),
        ),
        _ => ("point-corner", "hidden = [8]\nmeta_batch = 2\nrollouts = 2\nhorizon = 8".to_owned()),
    }
}

fn setup(algorithm: &str, env: &str, text: &str, seeds: &[u64]) -> Setup {
    let layer = Layer { origin: "test".into(), settings: toml::from_str(text).unwrap() };
    Setup::resolve(algorithm, builtin(env).unwrap(), seeds, Some(2000), &[layer]).unwrap()
}

fn fresh(setup: &Setup) -> Session {
    Session::new(&Device::cpu(1), setup).unwrap()
}

fn trained(setup: &Setup, iterations: usize) -> Session {
    let mut session = fresh(setup);
    (0..iterations).for_each(|_| drop(wait(session.step())));
    session
}

fn snapshot(session: &Session, index: usize) -> Vec<u8> {
    wait(session.snapshot(index))
}

/// True of tensors that another run gives.
fn is_learned(name: &str) -> bool {
    let others = [
        "optimiser.",
        "search.",
        "random.",
        "memory.",
        "environment.",
        "exploration.",
        "finished_",
        "target.updates_since",
    ];
    !others.iter().any(|other| name.starts_with(other))
}

#[test]
fn it_has_the_parameters_of_the_other_run_and_begins_all_else_anew() {
    for def in ALGORITHMS {
        let (env, text) = small(def.name);
        let source = trained(&setup(def.name, env, &text, &[3, 4]), 3);
        let files = [0, 1].map(|index| snapshot(&source, index));
        let of = setup(def.name, env, &text, &[4, 3]);
        let mut session = fresh(&of);
        session.start_from(Own::default(), &[&files[0], &files[1]]).unwrap();
        let anew = fresh(&of);
        for (index, number) in [(0, 1), (1, 0)] {
            assert_eq!(wait(session.parameters(index)), wait(source.parameters(number)), "{}", def.name);
            let [got, want, first] =
                [&snapshot(&session, index), &files[number], &snapshot(&anew, index)].map(|file| Crafted::read(file));
            for (name, tensor) in &got.tensors {
                let expected = if is_learned(name) { &want } else { &first };
                assert!(expected.tensors[name] == *tensor, "{}: {name}", def.name);
            }
            let changed = |name: &&String| want.tensors[*name] != first.tensors[*name];
            let changed: Vec<&String> = got.tensors.keys().filter(|name| is_learned(name)).filter(changed).collect();
            // Who learns nothing has the first parameters of its seed, in both runs.
            assert!(
                def.name == "nop" || changed.iter().any(|name| name.contains("weight")),
                "{}: {changed:?}",
                def.name
            );
        }
        assert_eq!((session.iteration(), session.env_steps()), (0, 0));
        wait(session.step());
        assert!(session.start_from(Own::default(), &[&files[0]]).is_err(), "it has begun");
    }
}

#[test]
fn a_policy_is_enough_and_its_critics_become_their_targets() {
    for name in ["dqn", "dql", "ddpg", "td3", "sac"] {
        let (env, text) = small(name);
        let of = setup(name, env, &text, &[3]);
        let source = trained(&of, 3);
        let policy = wait(source.policy_snapshot(0));
        let mut session = fresh(&setup(name, env, &text, &[7, 8, 9]));
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
}

#[test]
fn such_a_run_resumes_exactly() {
    for name in ["ppo", "sac"] {
        let (env, text) = small(name);
        let source = snapshot(&trained(&setup(name, env, &text, &[3]), 3), 0);
        let begin = || {
            let mut session = fresh(&setup(name, env, &text, &[5]));
            session.start_from(Own::default(), &[&source]).unwrap();
            session
        };
        let mut whole = begin();
        (0..4).for_each(|_| drop(wait(whole.step())));
        // Before the first iteration, and in between.
        for first in [0, 2] {
            let mut parts = begin();
            (0..first).for_each(|_| drop(wait(parts.step())));
            let mut resumed = Session::restore(&Device::cpu(1), &[&snapshot(&parts, 0)]).unwrap();
            (first..4).for_each(|_| drop(wait(resumed.step())));
            assert!(snapshot(&whole, 0) == snapshot(&resumed, 0), "{name}, {first}");
        }
    }
}

/// Pyrado's `use_trained_policy_for_refill`.
#[test]
fn an_empty_memory_is_filled_by_the_trained_policy() {
    let text = format!("{REPLAY}\nnoise = \"gaussian\"\nsigma = 0.0\nactivation = \"tanh\"");
    let source = snapshot(&trained(&setup("ddpg", "pendulum", &text, &[3]), 6), 0);
    let numbers = |file: &Crafted, name: &str| -> Vec<f32> {
        file.tensors[name].2.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
    };
    // The policy's action by hand.
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
    let layer = Layer { origin: "test".into(), settings: toml::from_str(&text).unwrap() };
    let of = Setup::resolve("td3", hosted(&env), &[4], Some(2000), &[layer]).unwrap();
    let mut session = Session::new(&device, &of).unwrap();
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
    // A layer that there is not, and one that would be left out.
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
