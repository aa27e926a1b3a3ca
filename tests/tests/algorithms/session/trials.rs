//! Trials: runs that differ in settings are rows of one program, and each makes the bits that it makes alone.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy_core::algo::AlgorithmDef;
use quickstudy_core::train::{
    ALGORITHMS, Evaluation, Own, Saved, Session, Setup, check_stackable, small, trial_stacks,
};
use quickstudy_core::{Device, Result};
use quickstudy_tests::trainings::{snapshot, training, training_on, wait};
use toml::{Table, Value};

/// Iterations of each run.
const ITERATIONS: usize = 3;

/// Settings that are no numbers of a program, by their algorithms: powers of them are lists, they change shapes or
/// branches, their number meets a matrix that belongs to no row, or, of CMA-ES, the host learns.
const APART: [(&str, &[&str]); 14] = [
    ("a2c", &["rms_decay"]),
    ("trpo", &["backtrack_ratio", "curvature_share"]),
    ("svpg", &["rms_decay"]),
    ("dqn", &["tau"]),
    ("dql", &["rms_decay"]),
    ("cma-es", &["sigma0"]),
    ("promp", &["baseline_regularisation", "clip_eps_factor"]),
    ("maml-ppo", &["baseline_regularisation", "clip_eps_factor"]),
    ("maml-vpg", &["baseline_regularisation"]),
    ("maml-trpo", &["backtrack_ratio", "baseline_regularisation"]),
    ("e-maml", &["backtrack_ratio", "baseline_regularisation"]),
    ("dice-maml", &["baseline_regularisation", "gamma"]),
    ("rl2-trpo", &["backtrack_ratio", "baseline_regularisation"]),
    ("pearl", &["context_lr", "qf_lr"]),
];

/// A small run of an algorithm with one setting changed.
fn setup(def: &'static AlgorithmDef, changed: Option<(&str, f64)>) -> Result<Setup> {
    let (env, mut settings) = small(def)?;
    settings.extend(changed.map(|(key, value)| (key.to_owned(), Value::Float(value))));
    training_on(def, env).with(settings).resolve()
}

/// Settings that are numbers and not 0 by default, with another value that the algorithm takes.
fn numbers(def: &'static AlgorithmDef) -> Vec<(String, f64)> {
    let own: Table = setup(def, None).unwrap().table();
    let floats = own.into_iter().filter_map(|(key, value)| Some((key, value.as_float()?)));
    floats
        .filter(|(_, value)| *value != 0.0)
        .filter_map(|(key, value)| {
            let other = [0.9 * value, 1.1 * value].into_iter().find(|other| setup(def, Some((&key, *other))).is_ok());
            Some((key.clone(), other?))
        })
        .collect()
}

/// A run alone: its first snapshot, the one after its iterations, and its rows and evaluation there.
struct Alone {
    first: Vec<u8>,
    last: Vec<u8>,
    said: String,
}

impl Alone {
    fn train(device: &Device, setup: &Setup, played: Evaluation) -> Alone {
        let mut session = Session::new(device, setup).unwrap();
        let first = snapshot(&session, 0);
        let rows: Vec<_> = (0..ITERATIONS).map(|_| session.step_blocking().unwrap().remove(0)).collect();
        let episodes = wait(session.evaluate(played)).remove(0);
        Alone { first, last: snapshot(&session, 0), said: format!("{rows:?} {episodes:?}") }
    }
}

/// Checks that runs stacked make what they make alone.
fn same_as_alone(device: &Device, alone: &[Alone], played: Evaluation, what: &str) {
    let firsts: Vec<Saved<'_>> = alone.iter().map(|run| Saved::in_one_file(&run.first)).collect();
    let mut session = Session::restore_trials(device, Own::default(), &firsts).unwrap();
    let mut rows: Vec<Vec<_>> = vec![Vec::new(); alone.len()];
    for _ in 0..ITERATIONS {
        let step = session.step_blocking().unwrap();
        rows.iter_mut().zip(step).for_each(|(all, row)| all.push(row));
    }
    let episodes = wait(session.evaluate(played));
    for (index, (run, (rows, episodes))) in alone.iter().zip(rows.iter().zip(episodes)).enumerate() {
        assert_eq!(format!("{rows:?} {episodes:?}"), run.said, "{what}, run {index}");
        assert!(snapshot(&session, index) == run.last, "{what}, run {index}: snapshots differ");
    }
}

#[test]
fn runs_that_differ_in_a_number_are_rows_of_one_program_of_every_algorithm() {
    let device = Device::cpu(1);
    let mut stacked = 0;
    for def in ALGORITHMS.iter() {
        let apart = APART.iter().find(|(name, _)| *name == def.name).map_or(&[][..], |(_, keys)| keys);
        let played = Evaluation::Episodes(2);
        let plain = setup(def, None).unwrap();
        let mut alone = vec![Alone::train(&device, &plain, played)];
        let mut changed = 0;
        for (key, value) in numbers(def) {
            let other = setup(def, Some((&key, value))).unwrap();
            if apart.contains(&&*key) {
                let fits = check_stackable(&[&plain, &other], played);
                assert!(fits.is_err(), "{}: {key} can be stacked: take it off the list", def.name);
                continue;
            }
            alone.push(Alone::train(&device, &other, played));
            changed += usize::from(alone[0].last != alone[alone.len() - 1].last);
        }
        if alone.len() > 1 {
            same_as_alone(&device, &alone, played, def.name);
            assert!(changed > 1, "{}: the settings change something", def.name);
        }
        stacked += alone.len() - 1;
    }
    assert!(stacked > 150, "{stacked} settings");
}

/// As a sweep begins and goes on: the same seeds in each trial, some of which end before others.
#[test]
fn trials_may_end_before_others_and_be_told_from_runs_of_other_shapes() {
    let device = Device::cpu(1);
    let of = |settings: &str| training("vpg", "cartpole").seeds(&[0, 1]).steps(1500).set(settings).setup();
    let setups = [
        of("gamma = 0.9\nhidden = [8]\nmin_rollouts = 2"),
        of("gamma = 1.0\nlearning_rate = 0.05\nhidden = [8]\nmin_rollouts = 2"),
    ];
    let mut firsts = Vec::new();
    let mut lasts = Vec::new();
    for setup in &setups {
        let mut session = Session::new(&device, setup).unwrap();
        firsts.extend((0..2).map(|index| snapshot(&session, index)));
        session.run_to_end(|_| {}).unwrap();
        lasts.extend((0..2).map(|index| snapshot(&session, index)));
    }
    let saved: Vec<Saved<'_>> = firsts.iter().map(|file| Saved::in_one_file(file)).collect();
    let mut session = Session::restore_trials(&device, Own::default(), &saved).unwrap();
    assert_eq!(session.setup().seeds, [0, 1, 0, 1]);
    assert_eq!(session.setup_of(2).table(), setups[1].table());
    session.run_to_end(|_| {}).unwrap();
    for (index, last) in lasts.iter().enumerate() {
        assert!(snapshot(&session, index) == *last, "run {index}");
    }
    let made: Vec<u64> = (0..4).map(|index| session.iterations_made(index)).collect();
    assert!(made.iter().any(|other| *other != made[0]), "all ended at once: {made:?}");
    let wide = snapshot(&Session::new(&device, &of("hidden = [16]\nmin_rollouts = 2")).unwrap(), 0);
    let files: Vec<&[u8]> = firsts.iter().map(Vec::as_slice).chain([&wide[..]]).collect();
    assert_eq!(trial_stacks(Own::default(), &files), [[0, 1, 2, 3, 4]], "headers tell no shapes");
    let saved: Vec<Saved<'_>> = files.iter().map(|file| Saved::in_one_file(file)).collect();
    let refused = Session::restore_trials(&device, Own::default(), &saved).unwrap_err().to_string();
    assert!(refused.contains("states of other shapes"), "{refused}");
    assert!(check_stackable(&[&setups[0], &of("hidden = [16]\nmin_rollouts = 2")], Evaluation::Episodes(1)).is_err());
}
