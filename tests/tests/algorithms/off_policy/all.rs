//! Algorithms that learn from a replay buffer train in programs and on the host alike, alone
//! as well as stacked, and resume exactly.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::rc::Rc;

use quickstudy_core::algo::deterministic::{smoothed, target};
use quickstudy_core::algo::{Algorithm, AlgorithmDef, Training};
use quickstudy_core::env::{EnvDef, builtin};
use quickstudy_core::host::{HostEnv, IterativeExecutor, Wrapped};
use quickstudy_core::train::{ALGORITHMS, Episode, Evaluator, Session, Viewer};
use quickstudy_core::{Device, Program, Result, State, Tensor};
use quickstudy_tests::every::replaying;
use quickstudy_tests::gpu::{Both, both};
use quickstudy_tests::trainings::{finish, gap, restored, snapshots, training};
use toml::Table;

pub(super) fn wait<T>(future: impl Future<Output = Result<T>>) -> T {
    pollster::block_on(future).unwrap()
}

pub(super) fn table(text: &str) -> Table {
    toml::from_str(text).unwrap()
}

pub(super) const SEEDS: [u64; 2] = [0, 1];

/// Algorithms of this kind with the options that change what is played, stored or drawn: small ones.
const OPTIONS: [(&str, &str, &str); 21] = [
    ("dqn", "cartpole", "target_update_interval = 3\nn_step = 3\ntrain_freq = 4\ngradient_steps = 2"),
    (
        "dqn",
        "cartpole",
        "target_update_interval = 3\nprioritised = true\ntrain_freq = 4\ngradient_steps = 2\ndouble = true",
    ),
    ("dqn", "bit-flip:bits=4", "target_update_interval = 3\nhindsight = 0.8\nwarm_up = \"policy\""),
    ("dql", "cartpole", "train_freq = 4\ngradient_steps = 2"),
    ("ddpg", "pendulum", "noise = \"ornstein_uhlenbeck\"\nwarm_up = \"policy\""),
    ("td3", "pendulum", "prioritised = true"),
    ("td3", "pendulum", "policy_delay = 2\ntrain_freq = 2\ngradient_steps = 4"),
    ("td3", "pendulum", "policy_delay = 3\ntrain_freq = 2\ngradient_steps = 2\niteration_steps = 24\nenvs = 2"),
    ("sac", "cartpole", "envs = 2"),
    ("sac", "pendulum", "sde = true\ntrain_freq = 4\ngradient_steps = 4"),
    // Whole episodes.
    (
        "dqn",
        "cartpole:time_limit=20",
        "target_update_interval = 3\nn_step = 3\nenvs = 2\nmin_rollouts = 3\ngradient_steps = 2",
    ),
    (
        "dqn",
        "bit-flip:bits=4",
        "target_update_interval = 3\nhindsight = 0.8\nenvs = 2\nmin_rollouts = 10\nprioritised = true",
    ),
    ("dql", "cartpole:time_limit=20", "target_update_interval = 3\nmin_steps = 20\ngradient_steps = 2"),
    ("ddpg", "pendulum:time_limit=20", "noise = \"ornstein_uhlenbeck\"\nwarm_up = \"policy\"\nmin_rollouts = 2"),
    (
        "td3",
        "pendulum:time_limit=20",
        "policy_delay = 3\ngradient_steps = 2\nprioritised = true\nenvs = 2\nmin_rollouts = 2",
    ),
    ("sac", "pendulum:time_limit=20", "sde = true\nmin_steps = 40\ngradient_steps = 4"),
    // Statistics of observations.
    ("sac", "cartpole", "normalise_observations = true\ntrain_freq = 4\ngradient_steps = 2"),
    ("ddpg", "pendulum", "normalise_observations = true\nwarm_up = \"policy\"\nenvs = 2"),
    (
        "dql",
        "cartpole",
        "normalise_observations = true\nprioritised = true\nn_step = 3\ntrain_freq = 4\ngradient_steps = 2",
    ),
    (
        "td3",
        "pendulum:time_limit=20",
        "normalise_observations = true\npolicy_delay = 3\ngradient_steps = 2\nenvs = 2\nmin_rollouts = 3",
    ),
    ("sac", "pendulum", "target_update_interval = 3\ntrain_freq = 4\ngradient_steps = 2"),
];

/// These, and each algorithm that is not among them.
pub(super) fn all() -> Vec<(&'static str, &'static str, &'static str)> {
    let new = replaying().into_iter().filter(|def| OPTIONS.iter().all(|(name, ..)| *name != def.name));
    let by_default = |def: &'static AlgorithmDef| {
        let fits = |env: &&str| def.fit(&small(""), builtin(env).unwrap().spec()).is_ok();
        (def.name, ["cartpole", "pendulum"].into_iter().find(fits).unwrap(), "")
    };
    OPTIONS.into_iter().chain(new.map(by_default)).collect()
}

pub(super) fn small(options: &str) -> Table {
    let mut all = table("batch_size = 8\nhidden = [8]\nlearning_starts = 40\niteration_steps = 40");
    all.extend(table(options));
    all
}

pub(super) fn fitted(name: &str, env: &EnvDef, settings: &Table, steps: u64) -> Rc<dyn Algorithm> {
    let def = ALGORITHMS.iter().find(|def| def.name == name).unwrap();
    let algorithm = def.fit(settings, env.spec()).unwrap();
    algorithm.for_steps(steps).unwrap().unwrap().into()
}

fn bits(device: &Device, training: &Training) -> Vec<(String, Vec<u32>)> {
    let read = |name: &'static str| {
        let array = training.state().get(name).unwrap();
        let words = match array.dtype() {
            quickstudy_core::DType::F32 => wait(device.read_f32(array)).into_iter().map(f32::to_bits).collect(),
            quickstudy_core::DType::U32 => wait(device.read_u32(array)),
        };
        (name.to_owned(), words)
    };
    training.algorithm().entries(None).into_iter().map(|entry| read(entry.name)).collect()
}

#[test]
fn on_the_host_all_is_the_same() {
    let device = Device::cpu(1);
    for (name, env, options) in all() {
        let (settings, env) = (small(options), builtin(env).unwrap());
        let envs = settings.get("envs").map_or(1, |envs| envs.as_integer().unwrap() as usize);
        let algorithm = || fitted(name, &env, &settings, 160);
        let mut in_program = Training::new(&device, algorithm(), &env, &SEEDS).unwrap();
        let make = |_| -> Result<Box<dyn HostEnv>> { Ok(Box::new(Wrapped::new(&env))) };
        let executor = Box::new(IterativeExecutor::new(SEEDS.len(), envs, 0, make).unwrap());
        let mut on_host = Training::new(&device, algorithm(), executor, &SEEDS).unwrap();
        let first = bits(&device, &in_program);
        for done in 0..4 {
            let rows = [&mut in_program, &mut on_host].map(|training| wait(training.step(done, 4)));
            let [a, b] = rows.map(|row| wait(device.read(&row)));
            // A metric without a value has none in both.
            let same = a.iter().zip(&b).all(|(a, b)| a == b || a.is_nan() && b.is_nan());
            assert!(same, "{name} {options}: metrics of iteration {done}: {a:?} {b:?}");
        }
        let last = bits(&device, &in_program);
        for (((entry, a), (_, b)), (_, first)) in last.iter().zip(&bits(&device, &on_host)).zip(&first) {
            assert!(a == b, "{name} {options}: {entry}");
            if ["theta", "target", "disturbance", "priorities", "obs_mean", "obs_var", "obs_count"]
                .contains(&entry.as_str())
            {
                assert!(a != first, "{name} {options}: {entry} did not change");
            }
        }
    }
}

#[test]
fn a_seed_trains_alone_as_it_does_beside_others() {
    let device = Device::cpu(1);
    for (name, env, options) in all() {
        let (settings, env) = (small(options), builtin(env).unwrap());
        let train = |seeds: &[u64]| {
            let algorithm = fitted(name, &env, &settings, 120);
            let mut training = Training::new(&device, algorithm, &env, seeds).unwrap();
            (0..3).for_each(|done| drop(wait(training.step(done, 3))));
            bits(&device, &training)
        };
        for ((entry, both), (_, alone)) in train(&SEEDS).iter().zip(train(&SEEDS[1..])) {
            assert!(both[both.len() / 2..] == alone, "{name} {options}: {entry}");
        }
    }
}

#[test]
fn sessions_resume_exactly_and_memories_grow_with_longer_runs() {
    let device = Device::cpu(1);
    for (name, env, options) in all() {
        let setup = |steps: u64| training(name, env).seeds(&SEEDS).steps(steps).with(small(options)).setup();
        let end = |session: &mut Session| {
            finish(session);
            snapshots(session)
        };
        // Schedules go by the length of the run, so the shorter one is the longer one cut off.
        let want = end(&mut Session::new(&device, &setup(240)).unwrap());
        let mut first = Session::new(&device, &setup(240)).unwrap();
        wait(first.step());
        wait(first.step());
        first.set_steps(160).unwrap();
        let half = [0, 1].map(|index| wait(first.snapshot(index)));
        let mut longer = restored(None, &half);
        longer.set_steps(240).unwrap();
        assert!(end(&mut longer) == want, "{name} {options}");
    }
}

#[test]
fn trained_policies_play_with_exploration_and_without_on_devices_on_the_host_and_in_viewers() {
    let device = Device::cpu(1);
    for (name, env, options) in all() {
        let mut session = training(name, env).seeds(&SEEDS[..1]).steps(160).with(small(options)).session_on(&device);
        wait(session.step());
        let mut policy = Evaluator::load(&device, &wait(session.snapshot(0))).unwrap();
        let env = builtin(env).unwrap();
        let returns = |episodes: Vec<Episode>| episodes.iter().map(|episode| episode.ret).collect::<Vec<f64>>();
        let played = [true, false].map(|deterministic| {
            let make = |_| -> Result<Box<dyn HostEnv>> { Ok(Box::new(Wrapped::new(&env))) };
            let size = policy.fleet(4).unwrap();
            let executor = Box::new(IterativeExecutor::new(size.tasks, size.envs_per_task, 0, make).unwrap());
            let on_host = returns(wait(policy.play(executor, 7, deterministic)));
            assert!(on_host.len() >= 4 && on_host.iter().all(|x| x.is_finite()), "{name} {options}: {on_host:?}");
            Viewer::new(&policy, 2, 0, deterministic).unwrap().advance().unwrap();
            returns(wait(policy.evaluate(4, 7, deterministic)))
        });
        // Vectors with noise on them always differ; choices may be equal.
        assert!(env.spec().action.choices().is_some() || played[0] != played[1], "{name} {options}: {played:?}");
    }
}

#[test]
fn td3s_policy_and_targets_move_at_each_second_update() {
    let (device, env) = (Device::cpu(1), builtin("pendulum").unwrap());
    for (delay, iteration_steps) in [(2, 2), (1, 1), (3, 3)] {
        let text = format!(
            "hidden = [8]\nbatch_size = 8\nlearning_starts = 6\niteration_steps = {iteration_steps}\n\
             policy_delay = {delay}\ntau = 0.25"
        );
        let algorithm = fitted("td3", &env, &table(&text), 60);
        let of_policy: usize = algorithm
            .layout()
            .slices()
            .filter(|(name, ..)| name.starts_with("policy"))
            .map(|(_, shape, _)| shape.iter().product::<usize>())
            .sum();
        let mut training = Training::new(&device, algorithm, &env, &SEEDS[..1]).unwrap();
        let read = |training: &Training, name: &str| wait(device.read(training.state().get(name).unwrap()));
        let total = 60 / iteration_steps;
        let warm_up = 6u64.div_ceil(iteration_steps);
        (0..warm_up).for_each(|done| drop(wait(training.step(done, total))));
        let mut target = read(&training, "target");
        assert_eq!(target, read(&training, "theta"), "the warm-up learns nothing");
        // Adam's correction tells the number of steps of each network: 1 − β₁ⁿ.
        let steps = |training: &Training, name: &str| {
            let scale = read(training, name)[0];
            ((1.0 - scale).ln() / 0.9f64.ln()).round() as u64
        };
        for done in 0..3 {
            wait(training.step(warm_up + done, total));
            let (now, theta) = (read(&training, "target"), read(&training, "theta"));
            for i in 0..now.len() {
                // Once in this iteration, after all its updates.
                let want = target[i] + 0.25 * (theta[i] - target[i]);
                assert!((now[i] - want).abs() < 1e-6, "{i} of {of_policy}: {} for {want}", now[i]);
            }
            assert_eq!(steps(&training, "adam_scale"), done + 1, "of the policy");
            assert_eq!(steps(&training, "adam_scale_values"), (done + 1) * delay, "of the critics");
            target = now;
        }
    }
}

/// Each kind of network, of noise and of draws, but what the test by default has.
#[test]
#[ignore = "two minutes on a software adapter: scripts/second-tier.sh"]
fn iterations_of_other_settings_on_the_gpu_are_near_those_of_the_cpu() {
    iterations_on_the_gpu(&[0, 2, 3, 4, 8, 9, 20]);
}

/// Priorities of a network of values and of two critics, and statistics of observations.
#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn iterations_on_the_gpu_are_near_those_of_the_cpu() {
    iterations_on_the_gpu(&[1, 5, 16]);
}

fn iterations_on_the_gpu(options: &[usize]) {
    for (name, env, options) in options.iter().map(|i| OPTIONS[*i]) {
        let (mut settings, env) = (small(options), builtin(env).unwrap());
        settings.extend(table("learning_starts = 12\niteration_steps = 12\nenvs = 1"));
        let Both { moved, apart, .. } = both(&format!("{name} on {}", env.spec().name), gap, |device| {
            let algorithm = fitted(name, &env, &settings, 24);
            let mut training = Training::new(device, algorithm, &env, &SEEDS).unwrap();
            let read = |training: &Training| wait(device.read(training.state().get("theta").unwrap()));
            let first = read(&training);
            (0..2).for_each(|done| drop(wait(training.step(done, 2))));
            (first, read(&training), ())
        });
        assert!(moved > 1e-4 && apart <= 0.05 * moved, "{name} {options}: {apart:e} of {moved:e}");
    }
}

#[test]
fn a_final_state_is_worth_nothing_and_a_time_limit_is_none() {
    let device = Device::cpu(1);
    let mut program = Program::new(&device, |cx| {
        let column = |numbers: &[f64]| Tensor::literal_f32(numbers).reshape(&[1, numbers.len(), 1]);
        let y = target(column(&[1.0, 1.0]), column(&[0.0, 1.0]), column(&[10.0, 10.0]), Tensor::constant_f32(0.5));
        cx.output("target", y);
        let action = column(&[0.0, 0.9, -0.9, 0.0]);
        cx.output("smoothed", smoothed(action, column(&[1.0, 10.0, -10.0, -10.0]), [0.2, 0.5]));
    })
    .unwrap();
    let out = program.run(&State::new(), &[], &[]).unwrap();
    let read = |name: &str| wait(device.read(out.get(name).unwrap()));
    assert_eq!(read("target"), [6.0, 1.0]);
    let want = [0.2, 1.0, -1.0, -0.5];
    assert!(read("smoothed").iter().zip(want).all(|(got, want)| (got - want).abs() < 1e-6), "{:?}", read("smoothed"));
}

#[test]
fn what_does_not_fit_is_said_before_training() {
    for (name, env, text, parts) in [
        ("ddpg", "cartpole", "", ["env: ", "discrete"]),
        ("td3", "cartpole", "", ["env: ", "discrete"]),
        ("dql", "pendulum", "", ["env: ", "needs discrete"]),
        ("td3", "pendulum", "policy_delay = 3\niteration_steps = 100", ["iteration_steps: ", "try 102"]),
        ("td3", "pendulum", "hindsight = 0.8", ["hindsight: ", "`pendulum` has no goals"]),
        ("dqn", "bit-flip", "hindsight = 0.8\nn_step = 2", ["n_step: ", "hindsight"]),
        ("dqn", "bit-flip", "hindsight = 1.5", ["hindsight: ", "0 to 1"]),
        ("dqn", "cartpole", "n_step = 0", ["n_step: ", "0 is not in 1"]),
        ("dqn", "cartpole", "priority_exponent = -1.0", ["priority_exponent: ", "0 to 1"]),
        ("ddpg", "pendulum", "noise = \"none\"", ["noise: ", "ornstein_uhlenbeck"]),
        ("sac", "bandit:arms=2", "target_entropy_share = 2.0", ["target_entropy_share: ", "0 to 1"]),
    ] {
        let message = training(name, env).seeds(&[0]).steps(10_000).with(table(text)).refusal();
        assert!(parts.iter().all(|part| message.contains(part)), "{name} on {env}: {message}");
    }
}
