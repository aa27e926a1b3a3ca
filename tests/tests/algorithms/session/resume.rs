//! Training that is saved and restored goes on as if it had not been interrupted.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy_core::backend::cpu::simd::isa::Isa;
use quickstudy_core::backend::cpu::{Cpu, CpuOptions};
use quickstudy_core::train::{Evaluator, Session};
use quickstudy_core::{Device, Error, env};
use quickstudy_tests::trainings::{snapshot, steps, training, wait};

const SMALL: &str = "envs = 4\nhorizon = 8\nminibatches = 2\nepochs = 2\nhidden = [16]";

#[test]
fn twice_n_iterations_equal_n_restored_and_n() {
    let cases = [
        ("cartpole", SMALL.to_owned()),
        ("pendulum", format!("{SMALL}\nnormalise_observations = true\nnormalise_rewards = true")),
        ("mountain-car-continuous", "hidden = [16]".to_owned()),
    ];
    for (name, settings) in cases {
        let setup = training("ppo", name).seeds(&[7, 8, 9]).steps(4096).set(&settings).setup();
        let device = Device::cpu(1);
        let mut through = Session::new(&device, &setup).unwrap();
        let all = steps(&mut through, 8);

        let mut first = Session::new(&device, &setup).unwrap();
        steps(&mut first, 4);
        let saved: Vec<Vec<u8>> = (0..3).map(|i| snapshot(&first, i)).collect();
        drop(first);
        let saved: Vec<&[u8]> = saved.iter().map(Vec::as_slice).collect();

        // All three seeds, in another order and on another device; and the middle one alone.
        let mut rest = Session::restore(&Device::cpu(2), &[saved[2], saved[0], saved[1]]).unwrap();
        assert_eq!((rest.iteration(), rest.env_steps()), (4, 4 * setup.batch()));
        let rows = steps(&mut rest, 4);
        let mut alone = Session::restore(&device, &saved[1..2]).unwrap();
        assert_eq!(alone.setup().seeds, [8]);
        let rows_alone = steps(&mut alone, 4);
        for (index, position) in [(2, 0), (0, 1), (1, 2)] {
            assert!(snapshot(&through, index) == snapshot(&rest, position), "{name}, seed {index}");
            for (t, rows) in rows.iter().enumerate() {
                assert_eq!(format!("{:?}", rows[position]), format!("{:?}", all[4 + t][index]), "{name}");
            }
        }
        assert!(snapshot(&through, 1) == snapshot(&alone, 0), "{name}, alone");
        assert_eq!(format!("{:?}", rows_alone[3][0]), format!("{:?}", all[7][1]), "{name}, alone");
    }
}

#[test]
fn a_run_ends_after_its_steps_also_when_resumed() {
    let device = Device::cpu(1);
    let mut setup = training("ppo", "cartpole").seeds(&[0]).steps(4096).set(SMALL).setup();
    setup.steps = 100; // 4 iterations of 32
    let mut session = Session::new(&device, &setup).unwrap();
    assert_eq!((session.iterations(), session.total_steps()), (4, 128));
    steps(&mut session, 3);
    let mut session = Session::restore(&device, &[&snapshot(&session, 0)]).unwrap();
    assert!(!session.done());
    steps(&mut session, 1);
    assert!(session.done());
    session.set_steps(200).unwrap();
    assert_eq!((session.done(), session.iterations()), (false, 7));
}

#[test]
fn what_cannot_be_restored_says_why() {
    let device = Device::cpu(1);
    let one = |settings: &str, seed: u64, n: usize| {
        let mut session = training("ppo", "cartpole").seeds(&[seed]).steps(4096).set(settings).session_on(&device);
        steps(&mut session, n);
        session
    };
    let session = one(SMALL, 1, 1);
    let good = snapshot(&session, 0);
    let policy = wait(session.policy_snapshot(0));
    let other = snapshot(&one(&format!("{SMALL}\ngamma = 0.5"), 2, 1), 0);
    let later = snapshot(&one(SMALL, 2, 2), 0);
    let problem = |snapshots: &[&[u8]]| match Session::restore(&device, snapshots) {
        Err(Error::Snapshot(problem)) => problem,
        other => panic!("{other:?}"),
    };
    assert!(problem(&[]).contains("no snapshot"));
    assert!(problem(&[&policy]).contains("a policy only"));
    assert!(problem(&[&good, &other]).contains("differ in more than the seed"));
    // Runs with different numbers of iterations go on one after the other.
    let apart = Session::restore(&device, &[&later, &good]).unwrap();
    assert_eq!((apart.running(), apart.iteration(), apart.iterations_made(0)), (&[1][..], 1, 2));
    assert!(problem(&[&good, &good]).contains("given twice"));
    assert!(problem(&[b"not a snapshot"]).contains("no safetensors file"));
    assert!(problem(&[&good[..good.len() - 1]]).contains("damaged"));
    let pendulum = env::builtin("pendulum").unwrap();
    let foreign = Session::restore_with(&device, Some(pendulum.into()), &[&good]).unwrap_err();
    assert!(foreign.to_string().contains("made on the environment `cartpole`, not on `pendulum`"));
    assert!(session.setup().seeds == [1] && pollster::block_on(session.snapshot(1)).is_err());
}

#[test]
fn a_policy_evaluates_the_same_from_either_snapshot() {
    let device = Device::cpu(1);
    let mut session = training("ppo", "pendulum")
        .seeds(&[1])
        .steps(4096)
        .set(&format!("{SMALL}\nnormalise_observations = true"))
        .session_on(&device);
    steps(&mut session, 2);
    let policy = wait(session.policy_snapshot(0));
    let whole = snapshot(&session, 0);
    assert!(policy.len() < whole.len());
    let mut results = Vec::new();
    for bytes in [&policy, &whole] {
        let mut evaluator = Evaluator::load(&device, bytes).unwrap();
        assert_eq!((evaluator.trained_seed(), evaluator.env_steps()), (1, 64));
        let episodes = wait(evaluator.evaluate(5, 3, true));
        assert_eq!(episodes, wait(evaluator.evaluate(5, 3, true)));
        assert_ne!(episodes, wait(evaluator.evaluate(5, 4, true)));
        assert_ne!(episodes, wait(evaluator.evaluate(5, 3, false)));
        assert!(episodes.iter().all(|e| e.length == 200 && !e.terminated && e.ret < 0.0));

        // The recorded episode is the first one.
        let path = wait(evaluator.trajectory(3, true));
        let first = wait(evaluator.evaluate(1, 3, true))[0];
        assert_eq!((path.rewards.len(), path.actions.len()), (200, 200));
        let sum: f64 = path.rewards.iter().map(|r| f64::from(*r)).sum();
        assert!((sum - first.ret).abs() < 1e-3 * sum.abs() && first == episodes[0], "{sum} {first:?}");
        // From each state the recorded action leads to the next, the one at the end of the episode included.
        assert_eq!(path.states.len(), 201);
        for (t, pair) in path.states.windows(2).enumerate() {
            let next = evaluator.env().device().unwrap().step(&pair[0], &path.actions[t], &[], [0, 0], 0).unwrap();
            assert_eq!((&next.state, next.reward), (&pair[1], path.rewards[t]), "step {t}");
        }
        // Several recorded episodes are the first ones, of which each goes on by its own random numbers to its own end.
        let paths = wait(evaluator.trajectories(3, 3, true));
        assert_eq!((paths.len(), &paths[0]), (3, &path));
        for (path, episode) in paths.iter().zip(&episodes) {
            let sum: f64 = path.rewards.iter().map(|r| f64::from(*r)).sum();
            assert!((sum - episode.ret).abs() < 1e-3 * sum.abs() && path.states.len() == 201, "{sum} {episode:?}");
            let last =
                evaluator.env().device().unwrap().step(&path.states[199], &path.actions[199], &[], [0, 0], 0).unwrap();
            assert_eq!(last.state, path.states[200]);
        }
        results.push(episodes);
    }
    assert_eq!(results[0], results[1]);
}

#[test]
fn snapshots_move_between_instruction_sets() {
    let on = |isa: Isa| Device::new(Cpu::new(CpuOptions { threads: 1, isa, ..CpuOptions::default() }));
    let setup = training("ppo", "pendulum").steps(4096).set(&format!("{SMALL}\nnormalise_observations = true")).setup();
    for made in Isa::available() {
        let mut first = Session::new(&on(made), &setup).unwrap();
        steps(&mut first, 3);
        let saved = snapshot(&first, 0);
        let next = format!("{:?}", steps(&mut first, 1));
        for goes_on in Isa::available() {
            let device = on(goes_on);
            assert!(device.caps().name.contains(&goes_on.to_string()), "{}", device.caps().name);
            let mut rest = Session::restore(&device, &[&saved]).unwrap();
            assert_eq!(rest.iteration(), 3);
            // Saved bits are restored exactly by each reader; results computed from them may then differ.
            assert!(snapshot(&rest, 0) == saved, "{made} to {goes_on}");
            let rows = steps(&mut rest, 1);
            if made.fuses() == goes_on.fuses() {
                assert_eq!(format!("{rows:?}"), next, "{made} to {goes_on}");
            }
            let rows = steps(&mut rest, 4);
            assert!(rows.iter().flatten().flatten().all(|(_, value)| !value.is_infinite()), "{made} to {goes_on}");
            assert_eq!(rest.iteration(), 8);
            let episodes = wait(rest.evaluate(3));
            assert!(episodes[0].iter().all(|e| e.length == 200 && e.ret.is_finite()));
            let mut policy = Evaluator::load(&on(made), &snapshot(&rest, 0)).unwrap();
            assert_eq!(wait(policy.evaluate(2, 1, true)).len(), 2);
        }
    }
}
