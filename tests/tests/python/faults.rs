//! Environments that fail in every way: runs go on.

use std::time::Duration;

use quickstudy_bridge::Options;
use quickstudy_core::host::Faults;

use crate::{executor, keys, options, place, said};

const WIDTH: usize = 2;

/// Plays environments that fail until there were so many faults, and checks each step.
fn played_until(id: &str, envs: usize, options: &Options, faults: u64) -> Faults {
    let place = place(id, options).unwrap();
    let mut executor = executor(&place, envs);
    let mut seen = pollster::block_on(executor.reset(&keys(envs, 0))).unwrap();
    let mut lengths = vec![0_usize; envs];
    let mut cut = 0;
    for step in 1..100_000 {
        let before = executor.faults().total();
        let stepped = pollster::block_on(executor.step(&vec![1.0; envs], &keys(envs, step))).unwrap();
        let failed = executor.faults().total() - before;
        let mut of_step = 0;
        for (env, length) in lengths.iter_mut().enumerate() {
            let row = env * WIDTH..(env + 1) * WIDTH;
            let [last, next] = [&stepped.last_observations, &stepped.observations].map(|all| &all[row.clone()]);
            assert!(last.iter().chain(next).all(|x| x.is_finite()) && stepped.rewards[env].is_finite());
            *length += 1;
            assert_eq!(stepped.lengths[env], *length);
            if stepped.rewards[env] == 0.0 {
                // A step that failed: cut off where it began.
                assert!(stepped.truncated[env] && !stepped.terminated[env]);
                assert_eq!(last, &seen[row], "number {env} at step {step}");
                of_step += 1;
            } else {
                assert_eq!(last[1], *length as f64, "the simulator counts as the executor does");
                assert_eq!(stepped.truncated[env], *length == 30);
            }
            if stepped.ended(env) {
                assert_eq!(next[1], 0.0, "a new episode");
                *length = 0;
            } else {
                assert_eq!(last, next);
            }
        }
        // A process that died takes all of its environments with it.
        assert!((of_step > 0) == (failed > 0) && of_step >= failed, "{of_step} steps, {failed} faults");
        // An environment that raises, or whose numbers are none, takes no other with it.
        let only_raised = executor.faults().failed == executor.faults().total();
        assert!(!only_raised || of_step == failed, "{of_step} steps for {failed} faults");
        cut += of_step;
        seen = stepped.observations;
        if executor.faults().total() >= faults {
            break;
        }
    }
    assert!(cut >= faults);
    executor.faults()
}

#[test]
#[ignore = "needs Python with Gymnasium: scripts/check-python.sh"]
fn a_hundred_faults_of_all_kinds_do_not_end_a_run() {
    let options = options(2);
    let quick = "raise,exit,interrupt,nan,inf_reward,huge,half,shape,scalar,none,none_reward";
    let options = Options { time_limit: Duration::from_millis(700), ..options };
    let faults = played_until(&format!("Faulty-v0?kinds={quick}&chance=0.01"), 6, &options, 70);
    assert_eq!((faults.failed, faults.total()), (faults.total(), faults.total()), "{faults:?}");
    let faults = played_until("Faulty-v0?kinds=_exit,kill,segfault,fork&chance=0.004", 6, &options, 22);
    assert_eq!((faults.died, faults.hung), (faults.total(), 0), "{faults:?}");
    let faults = played_until("Faulty-v0?kinds=hang,spin,stop&chance=0.004", 6, &options, 8);
    assert_eq!((faults.hung, faults.died), (faults.total(), 0), "{faults:?}");
    let lines = said().join("\n");
    for part in ["the simulator has lost its way", "SIGKILL", "SIGSEGV", "exit code 7", "longer than 700ms", "nan"] {
        assert!(lines.contains(part), "`{part}` is missing:\n{lines}");
    }
}

#[test]
#[ignore = "needs Python with Gymnasium: scripts/check-python.sh"]
fn resets_that_fail_by_their_seed_are_tried_with_another() {
    let options = options(2);
    // Three of a hundred seeds, at each of eight hundred resets.
    let mut executor = executor(&place("Faulty-v0?chance=0&in_reset=0.03&max_episode_steps=3", &options).unwrap(), 8);
    pollster::block_on(executor.reset(&keys(8, 0))).unwrap();
    for step in 1..300 {
        pollster::block_on(executor.step(&[1.0; 8], &keys(8, step))).unwrap();
    }
    let faults = executor.faults();
    assert!(faults.failed > 10 && faults.failed == faults.total(), "{faults:?}");
}

#[test]
#[ignore = "needs Python with Gymnasium: scripts/check-python.sh"]
fn workers_that_die_while_they_start_are_replaced() {
    let options = options(4);
    let place = place("Faulty-v0?chance=0&in_init=2", &options).unwrap();
    let mut executor = executor(&place, 8);
    pollster::block_on(executor.reset(&keys(8, 0))).unwrap();
    let _ = std::fs::remove_file(std::env::temp_dir().join(format!("quickstudy-deaths-{}", std::process::id())));
    assert!(executor.faults().died >= 2, "{:?}", executor.faults());
}

#[test]
#[ignore = "needs Python with Gymnasium: scripts/check-python.sh"]
fn prints_do_not_disturb() {
    let options = options(1);
    let mut executor = executor(&place("Faulty-v0?kinds=print,shell&chance=0.5", &options).unwrap(), 2);
    pollster::block_on(executor.reset(&keys(2, 0))).unwrap();
    for step in 1..300 {
        pollster::block_on(executor.step(&[0.0, 1.0], &keys(2, step))).unwrap();
    }
    assert_eq!(executor.faults().total(), 0);
    drop(executor);
    let lines = said();
    let printed = |part: &str| lines.iter().filter(|line| line.contains(part)).count();
    assert!(printed("noise noise") >= 1 && printed("a child shell prints") == 1, "{lines:?}");
}

#[test]
#[ignore = "needs Python with Gymnasium: scripts/check-python.sh"]
fn too_many_failures_are_an_error_that_quotes_the_traceback() {
    let options = options(1);
    let mut executor = executor(&place("Faulty-v0?kinds=raise&at=2", &options).unwrap(), 1);
    let fault = |executor: &mut Box<dyn quickstudy_core::host::Executor>| -> Option<String> {
        pollster::block_on(executor.reset(&keys(1, 0))).unwrap();
        let failed = |step| pollster::block_on(executor.step(&[1.0], &keys(1, step))).err();
        (1..1000).find_map(failed).map(|error| error.to_string())
    };
    let error = fault(&mut executor).unwrap();
    for part in
        ["failures in", "too many", "RuntimeError: the simulator has lost its way", "envs_under_test.py", "in fail"]
    {
        assert!(error.contains(part), "`{part}` is missing: {error}");
    }
}
