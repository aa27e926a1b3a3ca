//! Executors of host environments against recorded traces, against each other, and where environments fail.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy_core::host::{Executor, HostEnv, IterativeExecutor, ParallelExecutor};
use quickstudy_core::{Error, Result};
use quickstudy_tests::golden::{items, load, number, numbers};
use quickstudy_tests::toy_env::{Fault, ToyEnv};
use quickstudy_tests::trainings::wait;

fn iterative(tasks: usize, envs: usize, horizon: usize) -> Box<dyn Executor> {
    Box::new(IterativeExecutor::new(tasks, envs, horizon, |_| Ok(Box::new(ToyEnv::default()))).unwrap())
}

fn parallel(tasks: usize, envs: usize, horizon: usize, threads: usize) -> Box<dyn Executor> {
    Box::new(ParallelExecutor::new(tasks, envs, horizon, threads, |_| Ok(Box::new(ToyEnv::default()))).unwrap())
}

#[test]
fn golden_executors_play_the_recorded_trace() {
    let file = load("promp_executor.json");
    let trace = &file["trace"];
    let [count, envs, horizon] =
        ["meta_batch_size", "envs_per_task", "max_path_length"].map(|key| number(&file[key]) as usize);
    let tasks: Vec<Vec<f64>> = numbers(&file["tasks"]).into_iter().map(|task| vec![task]).collect();
    assert_eq!(number(&trace["num_envs"]) as usize, count * envs);
    let keys = vec![[0, 0]; count];
    for mut executor in [
        iterative(count, envs, horizon),
        parallel(count, envs, horizon, 0),
        parallel(count, envs, horizon, 2),
        parallel(count, envs, horizon, 1),
    ] {
        wait(executor.set_tasks(&tasks));
        assert_eq!(wait(executor.reset(&keys)), numbers(&trace["reset_obs"]));
        for step in items(&trace["steps"]) {
            let stepped = wait(executor.step(&numbers(&step["actions"]), &keys));
            assert_eq!(stepped.observations, numbers(&step["obs"]));
            assert_eq!(stepped.rewards, numbers(&step["rewards"]));
            assert_eq!(stepped.info, numbers(&step["env_info_e"]));
            // What the original loses: here, the toy's info is the observation that the step led to.
            assert_eq!(stepped.last_observations, numbers(&step["env_info_e"]));
            let done: Vec<f64> = (0..count * envs).map(|n| f64::from(u8::from(stepped.ended(n)))).collect();
            assert_eq!(done, numbers(&step["dones"]));
        }
    }
}

#[test]
fn the_time_limit_cuts_off_and_the_last_observation_is_the_steps_own() {
    for mut executor in [iterative(2, 1, 3), parallel(2, 1, 3, 0)] {
        wait(executor.set_tasks(&[vec![0.0], vec![9.0]]));
        wait(executor.reset(&[[0, 0]; 2]));
        let mut ends = Vec::new();
        for _ in 0..6 {
            let stepped = wait(executor.step(&[1.0, 1.0], &[[0, 0]; 2]));
            ends.push((stepped.terminated[0], stepped.truncated[1], stepped.lengths.clone()));
            assert!(!stepped.terminated[1] && !stepped.truncated[0]);
            if stepped.truncated[1] {
                assert_eq!(stepped.last_observations[2..], [12.0, 3.0]);
                assert_eq!(stepped.observations[2..], [9.0, 0.0]);
            }
        }
        let lengths: Vec<Vec<usize>> = ends.iter().map(|e| e.2.clone()).collect();
        assert_eq!(lengths, [[1, 1], [2, 2], [1, 3], [2, 1], [1, 2], [2, 3]].map(Vec::from));
        assert_eq!(ends.iter().map(|e| e.0).collect::<Vec<_>>(), [false, true, false, true, false, true]);
        assert_eq!(ends.iter().map(|e| e.1).collect::<Vec<_>>(), [false, false, true, false, false, true]);
    }
}

#[test]
fn failing_environments_are_named_and_may_be_used_again() {
    for (fault, problem) in [
        (Fault::Error, "number 3 (copy 1 of task 1), step: the simulator is gone"),
        (Fault::Panic, "number 3 (copy 1 of task 1), step: panicked: out of cheese"),
        (Fault::Short, "number 3 (copy 1 of task 1), step: the observation has 1 numbers, expected 2"),
        (Fault::NotFinite, "number 3 (copy 1 of task 1), step: the reward holds NaN"),
    ] {
        let make = |number| -> Result<Box<dyn HostEnv>> {
            Ok(Box::new(ToyEnv::failing((number == 3 || number == 5).then_some(fault))))
        };
        let executors: [Box<dyn Executor>; 2] = [
            Box::new(IterativeExecutor::new(3, 2, 9, make).unwrap()),
            Box::new(ParallelExecutor::new(3, 2, 9, 0, make).unwrap()),
        ];
        for mut executor in executors {
            wait(executor.set_tasks(&[vec![5.0], vec![5.0], vec![5.0]]));
            for _ in 0..2 {
                wait(executor.reset(&[[0, 0]; 3]));
                wait(executor.step(&[0.0; 6], &[[0, 0]; 3]));
                let error = pollster::block_on(executor.step(&[0.0; 6], &[[0, 0]; 3])).unwrap_err();
                assert_eq!(error, Error::Environment { name: "toy".into(), problem: problem.into() });
            }
            let error = pollster::block_on(executor.step(&[0.0; 6], &[[0, 0]; 3])).unwrap_err();
            assert!(error.to_string().contains("no episode is running; reset first"), "{error}");
        }
    }
}

#[test]
fn arguments_that_do_not_fit_are_refused() {
    let mut executor = iterative(2, 2, 5);
    let message = |result: Result<()>| result.unwrap_err().to_string();
    let of = "for 2 tasks of 2 environments each";
    let refused = pollster::block_on(executor.set_tasks(&[vec![0.0]]));
    assert_eq!(message(refused), format!("program: tasks: got 1, expected 2 {of}"));
    let refused = pollster::block_on(executor.set_tasks(&[vec![0.0], vec![]]));
    assert_eq!(message(refused), format!("program: numbers of a task: got 0, expected 1 {of}"));
    let refused = pollster::block_on(executor.step(&[0.0; 3], &[[0, 0]; 2])).map(|_| ());
    assert_eq!(message(refused), format!("program: numbers of all actions: got 3, expected 4 {of}"));
    let none = IterativeExecutor::new(2, 0, 5, |_| Ok(Box::new(ToyEnv::default()))).map(|_| ());
    assert_eq!(message(none), "envs_per_task: 0 leaves nothing to play; give at least 1");
    let mut stuck = ToyEnv::default();
    stuck.spec.horizon = 0;
    let refused = IterativeExecutor::new(1, 1, 5, |_| Ok(Box::new(stuck.clone()))).map(|_| ());
    assert_eq!(message(refused), "environment toy: the time limit is 0, expected 1 to 2³² − 1 steps");
    let other = |number| {
        let mut env = ToyEnv::default();
        env.spec.dt += f64::from(u8::from(number == 3));
        Ok(Box::new(env) as Box<dyn HostEnv>)
    };
    let refused = IterativeExecutor::new(2, 2, 5, other).map(|_| ());
    assert_eq!(message(refused), "environment toy: number 3 has another spec or other info than number 0");
}
