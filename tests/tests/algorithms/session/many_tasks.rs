//! Algorithms that do not adapt, on environments with many tasks: each episode has its own task.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::rc::Rc;

use quickstudy_core::algo::{Algorithm, Training};
use quickstudy_core::env::builtin;
use quickstudy_core::host::{HostEnv, IterativeExecutor, TaskPerEpisode, Wrapped};
use quickstudy_core::train::{Evaluator, Session, Setup};
use quickstudy_core::{Device, Result, State};
use quickstudy_tests::trainings::training;

const SEEDS: [u64; 2] = [5, 1 << 33];

fn setup(algorithm: &str, env: &str, steps: u64) -> Setup {
    let text = "envs = 3\nhorizon = 40\nminibatches = 2\nhidden = [8]";
    training(algorithm, env).seeds(&SEEDS).steps(steps).set(text).setup()
}

fn words(device: &Device, state: &State, name: &str) -> Vec<u32> {
    let array = state.get(name).unwrap();
    pollster::block_on(device.read_f32(array)).unwrap().into_iter().map(f32::to_bits).collect()
}

#[test]
fn a_task_lasts_for_an_episode_and_the_host_trains_the_same_parameters() {
    let device = Device::cpu(2);
    for (algorithm, name) in [
        ("ppo", "point-corner"),
        ("ppo", "bandit"),
        ("trpo", "point-corner"),
        ("a2c", "point-corner"),
        ("svpg", "point-corner"),
    ] {
        let env = builtin(name).unwrap();
        let setup = setup(algorithm, name, 360);
        let fitted: Rc<dyn Algorithm> = setup.fitted().clone();
        let mut inside = Training::new(&device, fitted.clone(), &env, &SEEDS).unwrap();
        let make = |_| -> Result<Box<dyn HostEnv>> { Ok(Box::new(TaskPerEpisode::new(Wrapped::new(&env)))) };
        let executor = Box::new(IterativeExecutor::new(fitted.fleet(SEEDS.len()).tasks, 3, 0, make).unwrap());
        let mut outside = Training::new(&device, fitted, executor, &SEEDS).unwrap();
        let mut tasks = vec![words(&device, &inside.state, "task")];
        for done in 0..3 {
            let metrics = |training: &mut Training| {
                let metrics = pollster::block_on(training.step(done, 3)).unwrap();
                pollster::block_on(device.read(&metrics)).unwrap()
            };
            assert_eq!(metrics(&mut inside), metrics(&mut outside), "{name}");
            tasks.push(words(&device, &inside.state, "task"));
        }
        assert!(words(&device, &inside.state, "theta") == words(&device, &outside.state, "theta"), "{name}");
        // Time limits: 100 steps of point-corner in rollouts of 40, and 10 steps of the bandit.
        let changed: Vec<bool> = tasks.windows(2).map(|pair| pair[0] != pair[1]).collect();
        assert_eq!(changed, if name == "bandit" { [true; 3] } else { [false, false, true] }, "{name}");
        let d = env.spec().task.len();
        let first: Vec<&[u32]> = tasks[0].chunks(d).collect();
        assert!(name != "bandit" || first.windows(2).all(|pair| pair[0] != pair[1]), "each environment has its own");
    }
}

#[test]
fn such_a_run_resumes_exactly_and_its_evaluations_play_a_task_per_episode() {
    let device = Device::cpu(2);
    let setup = setup("ppo", "bandit", 480);
    let mut whole = Session::new(&device, &setup).unwrap();
    whole.step_blocking().unwrap();
    let half = [0, 1].map(|seed| pollster::block_on(whole.snapshot(seed)).unwrap());
    let mut resumed = Session::restore(&device, &[&half[0], &half[1]]).unwrap();
    whole.step_blocking().unwrap();
    resumed.step_blocking().unwrap();
    let last = [&whole, &resumed].map(|session| pollster::block_on(session.snapshot(1)).unwrap());
    assert!(last[0] == last[1]);
    let mut policy = Evaluator::load(&device, &last[0]).unwrap();
    let episodes = pollster::block_on(policy.evaluate(64, 3, true)).unwrap();
    // The arm that the policy prefers pays differently in each task.
    let mut returns: Vec<u64> = episodes.iter().map(|episode| episode.ret.to_bits()).collect();
    returns.sort_unstable();
    returns.dedup();
    assert!(returns.len() > 3, "{returns:?}");
    let path = pollster::block_on(policy.trajectory(3, true)).unwrap();
    assert_eq!(path.task.len(), builtin("bandit").unwrap().spec().task.len());
    assert_eq!(path.rewards.iter().map(|x| f64::from(*x)).sum::<f64>(), episodes[0].ret);
    // Recorded episodes are those of the evaluation, each on its own task.
    let paths = pollster::block_on(policy.trajectories(5, 3, true)).unwrap();
    assert_eq!((paths.len(), &paths[0]), (5, &path));
    for (path, episode) in paths.iter().zip(&episodes) {
        assert_eq!(path.rewards.iter().map(|x| f64::from(*x)).sum::<f64>(), episode.ret);
        assert_eq!((path.states.len(), path.actions.len()), (path.rewards.len(), path.rewards.len()));
    }
    assert!(paths.windows(2).all(|pair| pair[0].task != pair[1].task), "{paths:?}");
}
