//! Soft Actor-Critic: it learns, in programs and on the host alike, remembers the right transitions, and resumes
//! exactly.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::rc::Rc;

use quickstudy_core::algo::off_policy::{OffPolicyLearner, Replay};
use quickstudy_core::algo::sac::{SacConfig, SacNets};
use quickstudy_core::algo::{Algorithm, Metrics, Training};
use quickstudy_core::env::{EnvSpec, builtin};
use quickstudy_core::host::{HostEnv, IterativeExecutor, Wrapped};
use quickstudy_core::learn::PolyakConfig;
use quickstudy_core::optim::AdamConfig;
use quickstudy_core::policy::LayersConfig;
use quickstudy_core::replay::Transitions;
use quickstudy_core::train::{Evaluator, Session};
use quickstudy_core::{Device, Result};
use quickstudy_tests::gpu::{Both, both};
use quickstudy_tests::trainings::{finish, gap, restored, snapshots, training, wait};
use quickstudy_tests::turned::Turned;

fn config() -> SacConfig {
    let base = SacConfig::default();
    SacConfig {
        adam: AdamConfig { learning_rate: 2e-3, ..base.adam },
        replay: Replay { gamma: 0.98, batch_size: 128, learning_starts: 200, iteration_steps: 200, ..base.replay },
        polyak: PolyakConfig { tau: 0.01 },
        net: LayersConfig { hidden: vec![64, 64], ..base.net },
        ..base
    }
}

fn fitted(spec: &EnvSpec, config: &SacConfig, turned: bool, steps: u64) -> Rc<dyn Algorithm> {
    let nets = SacNets::new(config, spec).unwrap();
    let algorithm: Box<dyn Algorithm> = match turned {
        true => Box::new(OffPolicyLearner::new(Turned(nets), spec).unwrap()),
        false => Box::new(OffPolicyLearner::new(nets, spec).unwrap()),
    };
    algorithm.for_steps(steps).unwrap().unwrap().into()
}

const SEEDS: [u64; 2] = [0, 1];

/// The returns of each seed's iterations, which are episodes of Pendulum.
fn train(device: &Device, training: &mut Training, range: std::ops::Range<u64>, total: u64) -> [Vec<f64>; 2] {
    let mut returns = [Vec::new(), Vec::new()];
    for done in range {
        let column = training.metric_names(done).iter().position(|name| name == Metrics::RETURN_SUM).unwrap();
        let metrics = wait(training.step(done, total));
        let metrics = wait(device.read(&metrics));
        let width = metrics.len() / SEEDS.len();
        returns.iter_mut().zip(metrics.chunks(width)).for_each(|(returns, row)| returns.push(row[column]));
    }
    returns
}

fn bits(device: &Device, training: &Training, name: &str) -> Vec<u32> {
    wait(device.read_f32(training.state().get(name).unwrap())).into_iter().map(f32::to_bits).collect()
}

#[test]
fn sac_learns_pendulum_and_does_not_when_its_gradient_is_turned_around() {
    let device = Device::cpu(2);
    let env = builtin("pendulum").unwrap();
    let late = |turned: bool, episodes: usize| {
        let sac = fitted(env.spec(), &config(), turned, 200 * episodes as u64);
        let mut training = Training::new(&device, sac, &env, &SEEDS).unwrap();
        train(&device, &mut training, 0..episodes as u64, episodes as u64)
            .map(|returns| returns[episodes - 10..].iter().sum::<f64>() / 10.0)
    };
    // A policy that draws at random comes to −1200.
    let (trained, turned) = (late(false, 30), late(true, 30));
    println!("{trained:?}, turned around {turned:?}");
    assert!(trained.iter().all(|mean| *mean > -400.0), "{trained:?}");
    assert!(turned.iter().all(|mean| *mean < -700.0), "{turned:?}");
}

#[test]
fn sac_is_the_same_with_environments_of_the_host() {
    let device = Device::cpu(1);
    let env = builtin("pendulum").unwrap();
    for (train_freq, gradient_steps, envs) in [(1, 1, 1), (4, 2, 3)] {
        let small = Replay { train_freq, gradient_steps, envs, batch_size: 16, ..config().replay };
        let config = SacConfig { replay: small, ..config() };
        let sac = || fitted(env.spec(), &config, false, 3 * 200 * envs as u64);
        let mut in_program = Training::new(&device, sac(), &env, &SEEDS).unwrap();
        let make = |_| -> Result<Box<dyn HostEnv>> { Ok(Box::new(Wrapped::new(&env))) };
        let executor = Box::new(IterativeExecutor::new(SEEDS.len(), envs, 0, make).unwrap());
        let mut on_host = Training::new(&device, sac(), executor, &SEEDS).unwrap();
        assert_eq!(train(&device, &mut in_program, 0..3, 3), train(&device, &mut on_host, 0..3, 3));
        for name in ["theta", "target", "adam_v", "memory"] {
            assert!(bits(&device, &in_program, name) == bits(&device, &on_host, name), "{name}, {envs} environments");
        }
    }
}

#[test]
fn a_seed_trains_alone_as_it_does_beside_others() {
    let device = Device::cpu(1);
    let env = builtin("pendulum").unwrap();
    let small = SacConfig { replay: Replay { batch_size: 16, ..config().replay }, ..config() };
    let sac = || fitted(env.spec(), &small, false, 600);
    let mut both = Training::new(&device, sac(), &env, &SEEDS).unwrap();
    let mut alone = Training::new(&device, sac(), &env, &SEEDS[1..]).unwrap();
    for done in 0..3 {
        wait(both.step(done, 3));
        wait(alone.step(done, 3));
    }
    for name in ["theta", "target", "memory"] {
        let (both, alone) = (bits(&device, &both, name), bits(&device, &alone, name));
        assert!(both[both.len() / 2..] == alone, "{name}");
    }
}

#[test]
fn the_memory_holds_what_followed_also_where_time_limits_cut_off() {
    let device = Device::cpu(1);
    let env = builtin("pendulum").unwrap();
    let small = Replay { batch_size: 4, iteration_steps: 100, learning_starts: 100, ..config().replay };
    let sac = fitted(env.spec(), &SacConfig { replay: small, ..config() }, false, 300);
    let mut training = Training::new(&device, sac, &env, &SEEDS[..1]).unwrap();
    for done in 0..3 {
        wait(training.step(done, 3));
    }
    let memory = wait(device.read(training.state().get("memory").unwrap()));
    let width = Transitions::width(3, 1);
    let rows: Vec<&[f64]> = memory.chunks(width).collect();
    assert_eq!(rows.len(), 300);
    for (t, pair) in rows.windows(2).enumerate() {
        let (next, obs) = (&pair[0][4..7], &pair[1][..3]);
        // At the limit of 200 steps another episode begins, whose first observation is not the next observation.
        assert_eq!(next == obs, t != 199, "step {t}");
    }
    for row in &rows {
        let (cos, sin, speed) = (row[4], row[5], row[6]);
        assert!((cos.hypot(sin) - 1.0).abs() < 1e-5 && speed.abs() <= 8.0);
        // Turned by the new speed, dt = 0.05.
        let turned = row[1].atan2(row[0]) + 0.05 * speed;
        assert!((cos - turned.cos()).abs() < 1e-4 && (sin - turned.sin()).abs() < 1e-4);
        assert!(row[3].abs() <= 1.0 && row[7] <= 0.0 && row[8] == 0.0, "{row:?}");
    }
}

#[test]
fn targets_follow_the_critics_by_tau() {
    let device = Device::cpu(1);
    let env = builtin("pendulum").unwrap();
    let small = Replay { batch_size: 8, iteration_steps: 1, learning_starts: 1, ..config().replay };
    let config = SacConfig { replay: small, polyak: PolyakConfig { tau: 0.25 }, ..config() };
    let sac = fitted(env.spec(), &config, false, 9);
    let values = |name: &str, part: &str| {
        let layout = sac.layout();
        let names: Vec<bool> =
            layout.slices().flat_map(|(name, shape, _)| vec![name.starts_with(part); shape.iter().product()]).collect();
        (name.to_owned(), names)
    };
    let mut training = Training::new(&device, sac.clone(), &env, &SEEDS[..1]).unwrap();
    let read = |training: &Training, name: &str| wait(device.read(training.state().get(name).unwrap()));
    let (_, is_value) = values("theta", "value");
    let critics = |training: &Training| -> Vec<f64> {
        read(training, "theta").into_iter().zip(&is_value).filter_map(|(x, is)| is.then_some(x)).collect()
    };
    assert_eq!(read(&training, "target"), critics(&training), "targets begin as copies");
    wait(training.step(0, 9));
    assert_eq!(read(&training, "target"), critics(&training), "the warm-up learns nothing");
    let before = read(&training, "target");
    wait(training.step(1, 9));
    let (after, critics) = (read(&training, "target"), critics(&training));
    assert_ne!(before, after);
    for i in 0..after.len() {
        let want = before[i] + 0.25 * (critics[i] - before[i]);
        assert!((after[i] - want).abs() < 1e-6, "{i}: {} for {want}", after[i]);
    }
}

const SMALL: &str = "batch_size = 16\nhidden = [8]\nlearning_starts = 100";

#[test]
fn a_session_resumes_exactly_and_its_memory_grows_with_a_longer_run() {
    let device = Device::cpu(1);
    let end = |session: &mut Session| {
        finish(session);
        snapshots(session)
    };
    let mut whole = training("sac", "pendulum").seeds(&SEEDS).steps(800).set(SMALL).session_on(&device);
    let want = end(&mut whole);

    let mut first = training("sac", "pendulum").seeds(&SEEDS).steps(400).set(SMALL).session_on(&device);
    wait(first.step());
    let begun = snapshots(&first);
    // In the middle of the warm-up, in training, and at the end, where the memory is full.
    let half = end(&mut first);
    for snapshots in [&begun, &half] {
        let mut longer = restored(None, snapshots);
        longer.set_steps(800).unwrap();
        assert!(end(&mut longer) == want);
    }
    first.set_steps(800).unwrap();
    assert!(end(&mut first) == want);
    // A run cannot be asked for fewer steps than it has made.
    let fewer = first.set_steps(100).unwrap_err().to_string();
    assert_eq!(fewer, "steps: 800 are made already, so 100 in all cannot be");
    assert!(end(&mut first) == want);

    let policy = wait(whole.policy_snapshot(0));
    let episodes = wait(Evaluator::load(&device, &policy).unwrap().evaluate(3, 1, true));
    assert!(episodes.iter().all(|episode| episode.ret < 0.0 && episode.length == 200));
}

#[test]
fn what_does_not_fit_is_said_before_training() {
    let problem = |env: &str, steps: u64, text: &str| {
        let setup = training("sac", env).seeds(&[0]).steps(steps).set(text).resolve();
        setup.unwrap_err().to_string()
    };
    for (env, steps, text, parts) in [
        ("pendulum", 100, "learning_starts = 100", ["learning_starts: 100 steps", "a run of 100"]),
        ("pendulum", 200, "learning_starts = 150", ["learning_starts: 150 steps", "planned to make 100"]),
        ("pendulum", 1000, "memory_size = 100\nbatch_size = 256", ["batch_size: 256", "memory_size = 100"]),
        ("pendulum", 1000, "memory_size = 0", ["memory_size: ", "0 is not in 1"]),
        ("pendulum", 1000, "tau = 0.0", ["tau: ", "0 is not above 0"]),
        ("pendulum", 1000, "tau = 1.5", ["tau: ", "at most 1"]),
        (
            "pendulum",
            1000,
            "train_freq = 3\niteration_steps = 100",
            ["iteration_steps: ", "does not divide 100; try 102"],
        ),
        ("cartpole", 1000, "sde = true", ["sde: ", "discrete actions"]),
    ] {
        let message = problem(env, steps, text);
        assert!(parts.iter().all(|part| message.contains(part)), "{message}");
    }
    // A memory of half a billion numbers and its copies do not fit into a gigabyte.
    let setup = training("sac", "pendulum").seeds(&[0]).steps(16_000_000).set("memory_size = 16000000").resolve();
    let need = Session::memory(&Device::cpu(1), &setup.unwrap()).unwrap();
    assert!(need > 4 * 9 * 16_000_000, "{need}");
}

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn an_iteration_on_the_gpu_is_near_that_of_the_cpu() {
    let env = builtin("pendulum").unwrap();
    let small = Replay { batch_size: 16, iteration_steps: 20, learning_starts: 20, ..config().replay };
    let config = SacConfig { replay: small, net: LayersConfig { hidden: vec![16], ..config().net }, ..config() };
    let Both { moved, apart, read: [memory, same] } = both("sac", gap, |device| {
        let sac = fitted(env.spec(), &config, false, 40);
        let mut training = Training::new(device, sac, &env, &SEEDS).unwrap();
        let read = |training: &Training, name: &str| wait(device.read(training.state().get(name).unwrap()));
        let first = read(&training, "theta");
        (0..2).for_each(|done| drop(wait(training.step(done, 2))));
        (first, read(&training, "theta"), read(&training, "memory"))
    });
    assert!(moved > 1e-3 && apart <= 0.05 * moved, "{apart:e} of {moved:e}");
    assert!(memory.iter().zip(&same).all(|(a, b)| (a - b).abs() < 1e-2 * (1.0 + b.abs())));
}

#[test]
fn targets_step_after_so_many_updates() {
    let (device, env) = (Device::cpu(1), builtin("pendulum").unwrap());
    for (tau, gradient_steps) in [(1.0, 1), (0.5, 1), (1.0, 2)] {
        let small = Replay { iteration_steps: 1, gradient_steps, learning_starts: 4, batch_size: 4, ..config().replay };
        let config = SacConfig {
            replay: small,
            polyak: PolyakConfig { tau },
            target_update_interval: 4,
            net: LayersConfig { hidden: vec![8], ..config().net },
            ..config()
        };
        let sac = fitted(env.spec(), &config, false, 24);
        let mut training = Training::new(&device, sac, &env, &SEEDS[..1]).unwrap();
        let read = |training: &Training, name: &str| wait(device.read(training.state().get(name).unwrap()));
        (0..4).for_each(|done| drop(wait(training.step(done, 24))));
        let mut target = read(&training, "target");
        // The policy's parameters come first in θ, then those of the critics, and ln α is the last number.
        let width = target.len();
        let critics = |training: &Training| {
            let theta = read(training, "theta");
            theta[theta.len() - 1 - width..theta.len() - 1].to_vec()
        };
        assert_eq!(target, critics(&training), "the warm-up learns nothing");
        for pass in 1..=9 {
            wait(training.step(3 + pass, 24));
            let (now, learned) = (read(&training, "target"), critics(&training));
            let want: Vec<f64> = match (pass as usize * gradient_steps) % 4 {
                0 => target.iter().zip(&learned).map(|(old, new)| old + tau * (new - old)).collect(),
                _ => target.clone(),
            };
            assert!(now.iter().zip(&want).all(|(now, want)| (now - want).abs() < 1e-6), "after {pass} passes");
            assert_ne!(target, learned);
            target = now;
        }
    }
}
