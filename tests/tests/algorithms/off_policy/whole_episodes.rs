//! Replay buffers of whole episodes hold the valid steps and no others, and algorithms learn from them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::rc::Rc;
use std::sync::Arc;

use pollster::block_on as wait;
use quickstudy_core::algo::off_policy::{OffPolicy, OffPolicyLearner};
use quickstudy_core::algo::{Algorithm, DqnConfig, Metrics, Training, dqn};
use quickstudy_core::env::{EnvDef, builtin};
use quickstudy_core::host::{HostEnv, IterativeExecutor, TaskPerEpisode, Wrapped};
use quickstudy_core::settings::Settings as _;
use quickstudy_core::train::Session;
use quickstudy_core::{Device, Result};
use quickstudy_tests::gpu::{Both, both};
use quickstudy_tests::trainings::{distance, theta, training, value};
use quickstudy_tests::turned::Turned;

use super::noted::{Note, Noted, Notes};

const SEEDS: [u64; 2] = [5, 1 << 33];
const SMALL: &str = "hidden = [8]\nbatch_size = 8\nlearning_starts = 60\n";

/// The steps of an environment's whole episodes, until there are enough episodes and steps.
fn counted(notes: &[Note], episodes: usize, steps: usize) -> &[Note] {
    let mut ended = 0;
    for (at, note) in notes.iter().enumerate() {
        ended += usize::from(note.ended);
        if note.ended && ended >= episodes && at + 1 >= steps {
            return &notes[..=at];
        }
    }
    panic!("{ended} episodes in {} steps", notes.len());
}

/// The ring of a memory has all valid steps, in order of iterations and then of environments, also after a round.
#[test]
fn a_memory_has_all_steps_that_count_in_their_order() {
    let device = Device::cpu(1);
    for (settings, envs, [episodes, steps], least) in [
        // In the warm-up, each environment has a share of 60 steps.
        ("min_rollouts = 4\nenvs = 3\nn_step = 2\nmemory_size = 250", 3, [2, 0], 20),
        ("min_steps = 50\nenvs = 1\nn_step = 3\nmemory_size = 10000\nprioritised = true", 1, [0, 50], 60),
        ("min_rollouts = 1\nmin_steps = 90\nenvs = 2\nn_step = 2\nmemory_size = 233", 2, [1, 45], 30),
    ] {
        let env = builtin("cartpole:time_limit=30").unwrap();
        let setup = training("dqn", "cartpole:time_limit=30")
            .seeds(&SEEDS)
            .steps(2000)
            .set(&format!("{SMALL}{settings}"))
            .setup();
        let fitted = setup.fitted().clone();
        let notes: Vec<Notes> = (0..2 * envs).map(|_| Arc::default()).collect();
        let mut made = notes.iter();
        let make = |_| -> Result<Box<dyn HostEnv>> {
            let notes = made.next().unwrap().clone();
            Ok(Box::new(Noted::new(&env, notes)))
        };
        let executor = Box::new(IterativeExecutor::new(2, envs, 0, make).unwrap());
        let mut training = Training::new(&device, fitted.clone(), executor, &SEEDS).unwrap();
        notes.iter().for_each(|notes| notes.lock().unwrap().clear());
        let mut expected: [Vec<Vec<f32>>; 2] = [Vec::new(), Vec::new()];
        let warm_up = (0..).find(|done| fitted.stage(*done) == 1).unwrap();
        for done in 0..12 {
            let row = wait(training.step(done, 12)).unwrap();
            let metrics = wait(device.read(&row)).unwrap();
            let column = training.metric_names(done).iter().position(|name| name == Metrics::STEPS).unwrap();
            for (seed, rows) in expected.iter_mut().enumerate() {
                let before = rows.len();
                for notes in &notes[seed * envs..(seed + 1) * envs] {
                    let mut notes = notes.lock().unwrap();
                    let least = if done < warm_up { steps.max(least) } else { steps };
                    rows.extend(counted(&notes, episodes, least).iter().map(|note| note.row.clone()));
                    notes.clear();
                }
                let made = metrics[seed * (metrics.len() / 2) + column];
                assert_eq!(made, (rows.len() - before) as f64, "{settings}: iteration {done}");
            }
            assert!(done + 1 != warm_up || expected.iter().all(|rows| rows.len() >= 60), "the warm-up is long enough");
            let read = |name: &str| wait(device.read(training.state().get(name).unwrap())).unwrap();
            let count = |name: &str| wait(device.read_u32(training.state().get(name).unwrap())).unwrap();
            let (rows, [next, filled]) = (read("memory"), ["memory_next", "memory_filled"].map(count));
            let [_, all, width] = training.state().get("memory").unwrap().shape[..] else { panic!("three axes") };
            for (seed, expected) in expected.iter().enumerate() {
                assert_eq!(filled[seed] as usize, expected.len().min(all), "{settings}");
                assert_eq!(next[seed] as usize, (expected.len() - 1) % all + 1, "{settings}");
                for (number, row) in expected.iter().enumerate().skip(expected.len().saturating_sub(all)) {
                    let at = (seed * all + number % all) * width;
                    let held: Vec<f32> = rows[at..at + width].iter().map(|x| *x as f32).collect();
                    assert_eq!(held, *row, "{settings}: row {number} of seed {seed} after {} iterations", done + 1);
                }
            }
        }
        let rounds = expected[0].len() as f64 / training.state().get("memory").unwrap().shape[1] as f64;
        assert!(settings.contains("10000") || rounds > 1.5, "{settings}: {rounds} rounds");
    }
}

#[test]
fn an_iteration_has_as_many_episodes_and_steps_as_asked_for() {
    for (algorithm, env) in
        [("dqn", "cartpole"), ("dql", "cartpole"), ("sac", "cartpole"), ("td3", "pendulum"), ("ddpg", "pendulum")]
    {
        for (rollouts, least) in [(6, 0), (0, 100), (6, 100)] {
            let settings = format!(
                "{SMALL}envs = 2\nmin_rollouts = {rollouts}\nmin_steps = {least}\ntrain_freq = 7\niteration_steps = 3\n\
                 warm_up = \"policy\"\n"
            );
            let setup =
                training(algorithm, &format!("{env}:time_limit=50")).seeds(&[1, 2]).steps(4000).set(&settings).setup();
            let mut session = Session::new(&Device::cpu(1), &setup).unwrap();
            let mut made = 0.0;
            for iteration in 1..5 {
                let row = session.step_blocking().unwrap().swap_remove(1);
                let all = value(&row, "time/env_steps");
                assert!(all - made >= f64::from(least), "{algorithm}: {} of {least} steps", all - made);
                let limits = [iteration, setup.fitted().most(iteration)].map(|x| x as f64);
                assert!((limits[0]..=limits[1]).contains(&all), "{algorithm}: {all} in {limits:?}");
                if iteration == 1 {
                    let episodes = all / value(&row, "rollout/ep_len_mean");
                    assert!((episodes - episodes.round()).abs() < 1e-6 && episodes.round() >= f64::from(rollouts));
                    assert!(all >= 60.0, "{algorithm}: the warm-up is {all} steps");
                }
                let filled = wait(session.snapshot(1)).unwrap();
                let tensors = safetensors_u32(&filled, "memory.filled");
                assert_eq!(f64::from(tensors), all, "{algorithm}");
                made = all;
            }
        }
    }
}

/// The first number of a snapshot's tensor.
fn safetensors_u32(file: &[u8], name: &str) -> u32 {
    let bytes = &quickstudy_tests::crafted::Crafted::read(file).tensors[name].2;
    u32::from_le_bytes(bytes[..4].try_into().unwrap())
}

/// On task distributions, each episode has its own task.
#[test]
fn tasks_are_those_of_episodes_on_the_host_too() {
    let device = Device::cpu(1);
    for (algorithm, name) in [("sac", "point-corner"), ("dqn", "bandit"), ("td3", "point-corner")] {
        let env = builtin(name).unwrap();
        let settings = format!("{SMALL}envs = 3\nmin_rollouts = 5\ngradient_steps = 3\n");
        let setup = training(algorithm, name).seeds(&SEEDS).steps(2000).set(&settings).setup();
        let fitted: Rc<dyn Algorithm> = setup.fitted().clone();
        let mut inside = Training::new(&device, fitted.clone(), &env, &SEEDS).unwrap();
        let make = |_| -> Result<Box<dyn HostEnv>> { Ok(Box::new(TaskPerEpisode::new(Wrapped::new(&env)))) };
        let executor = Box::new(IterativeExecutor::new(2, 3, 0, make).unwrap());
        let mut outside = Training::new(&device, fitted, executor, &SEEDS).unwrap();
        for done in 0..4 {
            let metrics = |training: &mut Training| {
                let metrics = wait(training.step(done, 4)).unwrap();
                wait(device.read(&metrics)).unwrap()
            };
            assert_eq!(metrics(&mut inside), metrics(&mut outside), "{algorithm} on {name}");
        }
        for entry in ["theta", "memory"] {
            let words = |training: &Training| {
                let array = training.state.get(entry).unwrap();
                wait(device.read_f32(array)).unwrap().into_iter().map(f32::to_bits).collect::<Vec<_>>()
            };
            assert!(words(&inside) == words(&outside), "{algorithm} on {name}: {entry}");
        }
    }
}

/// Updates with and without a step of the policy alternate across the ends of iterations.
#[test]
fn td3s_policy_moves_at_each_second_update_of_the_run() {
    let (device, env) = (Device::cpu(1), builtin("pendulum:time_limit=5").unwrap());
    for (delay, updates) in [(2, 1), (2, 3), (3, 1), (3, 2), (2, 2), (1, 1)] {
        let text = format!(
            "hidden = [8]\nbatch_size = 8\nlearning_starts = 12\nmin_rollouts = 1\npolicy_delay = {delay}\n\
             gradient_steps = {updates}"
        );
        let setup = training("td3", "pendulum:time_limit=5").seeds(&SEEDS[..1]).steps(200).set(&text).setup();
        let fitted = setup.fitted().clone();
        let warm_up = (0..).find(|done| fitted.stage(*done) == 1).unwrap();
        assert_eq!(warm_up, 3, "twelve steps in episodes of five");
        let mut training = Training::new(&device, fitted, &env, &SEEDS[..1]).unwrap();
        // Adam's correction tells the number of steps of each network: 1 − β₁ⁿ.
        let steps = |training: &Training, name: &str| {
            let scale = wait(device.read(training.state().get(name).unwrap())).unwrap()[0];
            ((1.0 - scale).ln() / 0.9f64.ln()).round() as u64
        };
        for done in 0..warm_up + 7 {
            wait(training.step(done, 40)).unwrap();
            let all = (done + 1).saturating_sub(warm_up) * updates;
            assert_eq!(steps(&training, "adam_scale_values"), all, "of the critics");
            assert_eq!(steps(&training, "adam_scale"), all / delay, "of the policy, {delay} {updates}");
        }
    }
}

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn iterations_on_the_gpu_are_near_those_of_the_cpu() {
    for (algorithm, env, more) in [
        ("dqn", "cartpole:time_limit=12", "n_step = 3\nprioritised = true\ntarget_update_interval = 2"),
        ("ddpg", "pendulum:time_limit=12", "noise = \"ornstein_uhlenbeck\"\nwarm_up = \"policy\""),
        ("sac", "pendulum:time_limit=12", "sde = true"),
        // Iterations have room for 64 steps in each environment, and not for 200.
        ("dqn", "cartpole:time_limit=100", "warm_up = \"policy\""),
    ] {
        let settings = format!(
            "hidden = [8]\nbatch_size = 8\nlearning_starts = 12\nmin_rollouts = 3\nenvs = 2\ngradient_steps = 3\n{more}"
        );
        let Both { moved, apart, read: [made, expected] } =
            both(&format!("{algorithm} on {env}"), distance, |device| {
                let mut session = training(algorithm, env).seeds(&[1, 2]).steps(3000).set(&settings).session_on(device);
                let first = theta(&session, 0);
                (0..2).for_each(|_| drop(session.step_blocking().unwrap()));
                (first, theta(&session, 0), session.steps_made(0))
            });
        assert_eq!(made, expected, "{algorithm}");
        assert!(moved > 1e-4 && apart <= 0.05 * moved, "{algorithm}: {apart:e} of {moved:e}");
    }
}

/// The mean return of each seed's episodes that ended in the last iterations.
fn late<C: OffPolicy>(networks: C, env: &EnvDef, iterations: u64, last: u64) -> [f64; 2] {
    let device = Device::cpu(2);
    let learner: Rc<dyn Algorithm> =
        OffPolicyLearner::new(networks, env.spec()).unwrap().for_steps(200 * iterations).unwrap().unwrap().into();
    let mut training = Training::new(&device, learner, env, &SEEDS).unwrap();
    let mut sums = [[0.0; 2]; 2];
    for done in 0..iterations {
        let column = |name: &str| training.metric_names(done).iter().position(|known| known == name).unwrap();
        let [episodes, returns] = [Metrics::EPISODES, Metrics::RETURN_SUM].map(column);
        let row = wait(training.step(done, iterations)).unwrap();
        let metrics = wait(device.read(&row)).unwrap();
        for (sum, row) in sums.iter_mut().zip(metrics.chunks(metrics.len() / 2)).filter(|_| done + last >= iterations) {
            *sum = [sum[0] + row[episodes], sum[1] + row[returns]];
        }
    }
    sums.map(|[episodes, returns]| returns / episodes)
}

/// Even draws come to a return of 22.
#[test]
fn dqn_learns_cartpole_by_whole_episodes_and_does_not_when_its_gradient_is_turned_around() {
    let env = builtin("cartpole:time_limit=200").unwrap();
    let settings = "batch_size = 64\nlearning_starts = 1000\nmemory_size = 20000\nhidden = [64, 64]\n\
                    learning_rate = 1e-3\ntarget_update_interval = 100\nexploration_fraction = 0.3\nmin_rollouts = 1\n\
                    gradient_steps = 30";
    let config = DqnConfig::default().with(&toml::from_str(settings).unwrap()).unwrap();
    let networks = || dqn::networks(&config, env.spec()).unwrap();
    let learned = late(networks(), &env, 250, 50);
    let turned = late(Turned(networks()), &env, 250, 50);
    println!("{learned:?}, turned around {turned:?}");
    assert!(learned.iter().all(|mean| *mean > 70.0), "{learned:?}");
    assert!(turned.iter().all(|mean| *mean < 40.0), "{turned:?}");
}

#[test]
fn memory_is_taken_for_the_longest_episodes() {
    let rows = |steps: u64, settings: &str| {
        let setup = training("sac", "pendulum").seeds(&[0]).steps(steps).set(&format!("{SMALL}{settings}")).setup();
        let entries = setup.fitted().entries(None);
        entries.iter().find(|entry| entry.name == "memory").unwrap().shape[0]
    };
    // A run ends with the iteration in which its steps are made.
    assert_eq!(rows(1000, "min_rollouts = 2"), 999 + 400);
    assert_eq!(rows(1000, "min_steps = 201\nenvs = 1"), 999 + 400);
    assert_eq!(rows(1000, "min_rollouts = 2\nmemory_size = 600"), 600);
    assert_eq!(rows(1000, "iteration_steps = 300"), 1200);
    let device = Device::cpu(1);
    let bytes = |algorithm: &str, settings: &str| {
        let env = if algorithm == "dqn" { "cartpole" } else { "pendulum" };
        let setup = training(algorithm, env)
            .seeds(&SEEDS)
            .steps(40_000)
            .set(&format!("{SMALL}memory_size = 40000\n{settings}"))
            .setup();
        Session::memory(&device, &setup).unwrap()
    };
    for algorithm in ["dqn", "sac"] {
        for (more, less) in [
            ("min_rollouts = 32\nenvs = 4", "min_rollouts = 16\nenvs = 4"),
            ("min_steps = 16000\nenvs = 4", "min_steps = 8000\nenvs = 4"),
            ("min_rollouts = 16\nenvs = 16", "min_rollouts = 8\nenvs = 8"),
        ] {
            let [more, less] = [more, less].map(|settings| bytes(algorithm, settings));
            assert!(less < more, "{algorithm}: {less} bytes with half, {more} before");
        }
        let setup = training(algorithm, if algorithm == "dqn" { "cartpole" } else { "pendulum" })
            .seeds(&[0])
            .steps(40_000)
            .set("min_rollouts = 4\nmin_steps = 9")
            .setup();
        let named = setup.memory_settings();
        assert!(["min_rollouts", "min_steps"].iter().all(|key| named.contains(key)), "{named:?}");
    }
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let problem = |algorithm: &str, env: &str, settings: &str| {
        training(algorithm, env).seeds(&[0]).steps(10_000).set(settings).refusal()
    };
    for (algorithm, env, settings, parts) in [
        ("dqn", "cartpole", "min_rollouts = 16777216", &["min_rollouts: ", "more than the 16777216", "time_limit"][..]),
        ("dqn", "cartpole", "min_steps = 16777216\nenvs = 2", &["min_steps: ", "lower it, envs or time_limit"]),
        (
            "sac",
            "pendulum",
            "min_rollouts = 4\nmemory_size = 700",
            &["memory_size: ", "700 are fewer than the 800", "lower min_rollouts"],
        ),
        ("sac", "pendulum", "min_steps = 600\nmemory_size = 700", &["memory_size: ", "799", "lower min_steps"]),
        (
            "sac",
            "pendulum",
            "min_rollouts = 2\nlearning_starts = 399\nmemory_size = 500",
            &["memory_size: ", "598", "lower learning_starts"],
        ),
        ("dql", "cartpole", "min_rollouts = 8\nlearning_starts = 10000", &["learning_starts: ", "lower it"]),
        ("td3", "pendulum", "min_rollouts = 1\nbatch_size = 600\nmemory_size = 500", &["batch_size: ", "lower it"]),
        ("ddpg", "pendulum", "min_rollouts = -1", &["min_rollouts: "]),
        ("ddpg", "pendulum", "min_steps = 1.5", &["min_steps: "]),
    ] {
        let message = problem(algorithm, env, settings);
        assert!(parts.iter().all(|part| message.contains(part)), "{algorithm} {settings}: {message}");
    }
    // Other settings that count steps are not used.
    training("td3", "pendulum")
        .seeds(&[0])
        .steps(10_000)
        .set("learning_starts = 0\nmin_rollouts = 1\ntrain_freq = 7\niteration_steps = 3\npolicy_delay = 3")
        .resolve()
        .unwrap();
}
