//! Runs that all ranks train together.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use super::launcher::Place;
use quickstudy_core::Device;
use quickstudy_core::backend::ThreadRanks;
use quickstudy_core::train::Session;
use quickstudy_tests::trainings::training;
use std::rc::Rc;
use toml::Table;

/// The snapshot at the end of the run that so many ranks train as threads of this process.
fn in_threads(ranks: usize, [algorithm, env]: [&str; 2], steps: u64, settings: &str) -> Vec<u8> {
    let settings: Table = toml::from_str(settings).unwrap();
    let train = |own: ThreadRanks| {
        let setup = training(algorithm, env).seeds(&[0]).steps(steps).with(settings.clone()).setup();
        let mut session = Session::new(&Device::cpu(1).among(Rc::new(own)), &setup).unwrap();
        session.run_to_end(|_| {}).unwrap();
        pollster::block_on(session.snapshot(0)).unwrap()
    };
    std::thread::scope(|scope| {
        let train = &train;
        let team = ThreadRanks::team(ranks).into_iter();
        let threads: Vec<_> = team.map(|own| scope.spawn(move || train(own))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).next().unwrap()
    })
}

#[test]
fn ranks_of_processes_are_those_of_threads() {
    let place = Place::new();
    let small = "hidden = [16]";
    let runs = [
        (2, ["ppo", "cartpole"], 6000, small),
        (4, ["a2c", "pendulum"], 4000, small),
        (2, ["vpg", "cartpole"], 4000, small),
        (2, ["sac", "pendulum"], 1500, "hidden = [16]\nlearning_starts = 200"),
        (2, ["td3", "pendulum"], 1500, "hidden = [16]\nlearning_starts = 200"),
        (2, ["dqn", "cartpole"], 3000, "hidden = [16]\nlearning_starts = 200"),
        (2, ["promp", "point-corner"], 20_000, "hidden = [16]\nmeta_batch = 4\nrollouts = 4"),
        (4, ["rl2-ppo", "bandit"], 8000, "units = 8\nmeta_batch = 8\nminibatches = 2"),
    ];
    for (ranks, [algorithm, env], steps, settings) in runs {
        let out = format!("{algorithm}-{ranks}");
        let set: String =
            settings.lines().map(|line| format!(" --set {}", line.replace(' ', ""))).collect::<Vec<_>>().concat();
        place.train(ranks, &format!("train {algorithm} --env {env} --steps {steps} --eval-every 0 --out {out}{set}"));
        let file = place.read(format!("{out}/last.safetensors"));
        assert!(file == in_threads(ranks, [algorithm, env], steps, settings), "{algorithm} on {ranks} ranks");
    }
}

#[test]
fn a_run_goes_on_with_as_many_ranks() {
    let place = Place::new();
    let train = "train ppo --env cartpole --steps 12k";
    place.train(3, &format!("{train} --out whole"));
    place.train(3, &format!("{train} --pause-at 5k --out parts"));
    let refused = place.run(2, "train --resume parts");
    assert_eq!(refused.code, Some(2));
    let own = refused.own_lines();
    assert!(own.len() == 1 && own[0].contains("it is of 3 ranks together, and here are 2 ranks"), "{own:?}");
    let alone = place.run(1, "train --resume parts");
    assert!(alone.code == Some(2) && alone.text.contains("such as by `mpirun -n 3`"), "{}", alone.text);
    place.train(3, "train --resume parts");
    assert!(place.read("whole/last.safetensors") == place.read("parts/last.safetensors"));
    assert!(place.read("whole/best.safetensors") == place.read("parts/best.safetensors"));
    // What ranks have trained is evaluated by one.
    place.train(1, "eval parts --episodes 4");
}

#[test]
fn what_cannot_be_trained_together_is_refused_by_name_once() {
    let place = Place::new();
    for (command, message) in [
        ("train trpo --env cartpole", "error: trpo: 2 ranks cannot train one run together: a trust region's step"),
        ("train pearl --env point-robot", "error: pearl: 2 ranks cannot train one run together"),
        ("train ppo --env cartpol", "error: unknown environment `cartpol`, did you mean `cartpole`?"),
        ("train ppo --env cartpole --device auto", "error: --device auto measures"),
    ] {
        let refused = place.run(2, command);
        let own = refused.own_lines();
        let errors: Vec<_> = own.iter().filter(|line| line.starts_with("error: ")).collect();
        assert_eq!(refused.code, Some(2), "{}", refused.text);
        assert!(errors.len() == 1 && errors[0].starts_with(message), "{command}: {own:?}");
    }
    assert!(!place.join("runs").exists());
}
