//! Searches by populations end to end: seeds, resuming, the host, and that they learn where a random policy fails.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::rc::Rc;

use quickstudy_core::algo::{Algorithm, Training};
use quickstudy_core::env::{EnvDef, builtin};
use quickstudy_core::host::{HostEnv, IterativeExecutor, TaskPerEpisode, Wrapped};
use quickstudy_core::train::Evaluator;
use quickstudy_core::{Device, Result, State};
use quickstudy_tests::costly::Costly;
use quickstudy_tests::trainings::{
    Request, finish, stacks_and_resumes, steps, theta, training, training_on, value, wait,
};

/// Each search on an environment, with settings of its own.
const ALL: [(&str, &str, &str); 13] = [
    ("cem", "cartpole", "best_frac = 0.5\nepisodes = 2"),
    ("cem", "pendulum", "best_frac = 0.5\nhidden = [4]"),
    ("cem", "pendulum", "best_frac = 0.5\ndeterministic = false"),
    ("cem", "point-corner", "best_frac = 0.3"),
    ("cma-es", "cartpole", "episodes = 2"),
    ("cma-es", "pendulum", "separable = true\nhidden = [4]"),
    ("cma-es", "point-corner", "deterministic = false"),
    ("openai-es", "cartpole", "learning_rate_schedule = \"linear\""),
    ("openai-es", "pendulum", "optimiser = \"sgd\""),
    ("ars", "cartpole", "top_directions = 2\nepisodes = 2"),
    ("ars", "pendulum", "normalise_observations = false"),
    ("ars", "pendulum", "deterministic = false\nhidden = [3]"),
    ("nop", "cartpole", "deterministic = false\nepisodes = 3"),
];

fn small(algorithm: &str, env: &str, settings: &str) -> Request {
    training(algorithm, env).steps(1_000_000).set(&format!("n_samples = 6\n{settings}"))
}

#[test]
fn seeds_do_not_depend_on_each_other_and_resumed_training_is_that_without_a_stop() {
    for (algorithm, env, settings) in ALL {
        let request = small(algorithm, env, settings).seeds(&[7, 8, 9]);
        let (alone, rows) = stacks_and_resumes(&request, 2, &format!("{algorithm} {env}"));
        let moved = theta(&alone, 0) != theta(&request.seeds(&[8]).session(), 0);
        assert_eq!(moved, algorithm != "nop", "{algorithm} {env}");
        assert_eq!(value(&rows[1][0], "train/non_finite"), 0.0);
    }
}

/// Policies of many parameters play in groups of rows, whose returns are written where metrics are joined.
#[test]
fn returns_of_wide_policies_are_those_of_their_episodes() {
    for algorithm in ["cem", "openai-es", "ars", "cma-es"] {
        for episodes in [1, 4] {
            let settings = format!("hidden = [32]\nn_samples = 16\nepisodes = {episodes}\n");
            let mut session = training(algorithm, "cartpole").seeds(&[0, 1]).steps(3000).set(&settings).session();
            for row in &steps(&mut session, 1)[0] {
                // All episodes of the run so far are those of the candidates.
                let [mean, most] = ["rollout/ep_return_mean", "rollout/ep_return_max"].map(|name| value(row, name));
                let [of_candidates, best] =
                    ["population/return_mean", "population/return_best"].map(|name| value(row, name));
                assert!((mean - of_candidates).abs() < 1e-5 * mean, "{algorithm}: {mean} and {of_candidates}");
                assert!(mean < best && best <= most, "{algorithm}: {mean}, {best}, {most}");
            }
        }
    }
}

fn words(device: &Device, state: &State, name: &str) -> Vec<u32> {
    let array = state.get(name).unwrap();
    wait(device.read_f32(array)).into_iter().map(f32::to_bits).collect()
}

#[test]
fn the_host_trains_the_same_parameters() {
    let device = Device::cpu(2);
    let seeds = [5, 1 << 33];
    for (algorithm, name, settings) in ALL {
        let env = builtin(name).unwrap();
        let setup = small(algorithm, name, settings).seeds(&seeds).setup();
        let fitted: Rc<dyn Algorithm> = setup.fitted().clone();
        let size = fitted.fleet(seeds.len());
        let mut inside = Training::new(&device, fitted.clone(), &env, &seeds).unwrap();
        let make = |_| -> Result<Box<dyn HostEnv>> {
            Ok(match env.spec().task.is_empty() {
                true => Box::new(Wrapped::new(&env)),
                false => Box::new(TaskPerEpisode::new(Wrapped::new(&env))),
            })
        };
        let executor = Box::new(IterativeExecutor::new(size.tasks, size.envs_per_task, 0, make).unwrap());
        let mut outside = Training::new(&device, fitted, executor, &seeds).unwrap();
        for done in 0..3 {
            let metrics = |training: &mut Training| {
                let metrics = wait(training.step(done, 3));
                wait(device.read(&metrics))
            };
            assert_eq!(metrics(&mut inside), metrics(&mut outside), "{algorithm} {name} {settings}");
        }
        let entries: Vec<&str> = inside.state.iter().map(|(entry, _)| entry).filter(|entry| *entry != "key").collect();
        for entry in entries {
            let both = [&inside, &outside].map(|training| words(&device, &training.state, entry));
            assert!(both[0] == both[1], "{algorithm} {name}: {entry}");
        }
    }
}

/// The mean return on CartPole of the policy that `steps` steps on `env` trained, with the preset's settings.
fn learned(algorithm: &str, env: EnvDef, steps: u64, settings: &str, seeds: &[u64]) -> Vec<f64> {
    let device = Device::cpu(2);
    let mut session = training_on(algorithm, env).seeds(seeds).steps(steps).set(settings).session_on(&device);
    finish(&mut session);
    let of = |index: usize| {
        let bytes = wait(session.snapshot(index));
        let episodes = wait(Evaluator::load(&device, &bytes).unwrap().evaluate(20, 1, true));
        episodes.iter().map(|episode| episode.ret).sum::<f64>() / 20.0
    };
    (0..seeds.len()).map(of).collect()
}

/// A random policy gets about 22, and one that always pushes in one direction 9.
#[test]
fn searches_learn_cartpole_and_one_that_does_nothing_does_not() {
    for (algorithm, steps, settings) in LEARN {
        let returns = learned(algorithm, builtin("cartpole").unwrap(), steps, settings, &[1, 2, 3]);
        println!("{algorithm} {settings}: {returns:?}");
        assert!(returns.iter().all(|ret| *ret > 450.0), "{algorithm} {settings}: {returns:?}");
    }
    let returns = learned("nop", builtin("cartpole").unwrap(), 10_000, "", &[1, 2, 3]);
    assert!(returns.iter().all(|ret| *ret < 250.0), "{returns:?}");
}

/// Rewards have their sign turned, so that episodes of some 10 steps are the best.
#[test]
fn searches_that_take_low_returns_for_high_ones_do_not_learn_cartpole() {
    for (algorithm, steps, settings) in LEARN {
        let env = EnvDef::new(Costly::default()).unwrap();
        let returns = learned(algorithm, env, steps / 16, settings, &[1, 2, 3]);
        println!("{algorithm} {settings}: {returns:?}");
        assert!(returns.iter().all(|ret| *ret < 40.0), "{algorithm} {settings}: {returns:?}");
    }
}

const LEARN: [(&str, u64, &str); 5] = [
    ("cem", 640_000, ""),
    ("cma-es", 400_000, ""),
    ("cma-es", 400_000, "separable = true"),
    ("openai-es", 1_600_000, ""),
    ("ars", 400_000, ""),
];
