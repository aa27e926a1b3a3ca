//! Training on environments of the host gives the parameters that programs on the device give, bit for bit.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Waker};

use quickstudy_core::algo::on_policy::PolicyGradient;
use quickstudy_core::algo::{
    Algorithm, OnPolicy, OnPolicyLearner, Ppo, PpoConfig, Sampling, Training, TrpoConfig, VpgBaseline, VpgConfig,
};
use quickstudy_core::backend::LocalFuture;
use quickstudy_core::env::{EnvDef, EnvSpec, builtin};
use quickstudy_core::host::{
    Chance, Executor, Fleet, HostEnv, IterativeExecutor, ParallelExecutor, Stepped, Transition, Wrapped,
};
use quickstudy_core::learn::EntropyMethod;
use quickstudy_core::meta::rl2::Critic;
use quickstudy_core::meta::{Maml, MamlConfig, Rl2, Rl2Config, Rl2Variant, Variant};
use quickstudy_core::optim::AdamConfig;
use quickstudy_core::policy::{GaussianConfig, MemoryConfig, MemoryKind, NetConfig, RecurrentConfig};
use quickstudy_core::rng::Key;
use quickstudy_core::{Device, Result};
use quickstudy_tests::toy_env::{Fault, ToyEnv};
use quickstudy_tests::trainings::wait;

fn net(width: usize) -> NetConfig {
    NetConfig::hidden(vec![width])
}

fn units(units: usize) -> RecurrentConfig {
    let config = RecurrentConfig::default();
    RecurrentConfig { memory: MemoryConfig { units, ..config.memory }, ..config }
}

fn memory(cell: MemoryKind) -> MemoryConfig {
    MemoryConfig { cell, units: 6, learned_start: true, layer_norm: true, ..MemoryConfig::default() }
}

fn tiny_ppo() -> PpoConfig {
    let sampling = Sampling { envs: 2, horizon: 8, minibatches: 2, ..Sampling::default() };
    PpoConfig { sampling, net: net(8), ..PpoConfig::default() }
}

fn config(variant: Variant) -> MamlConfig {
    MamlConfig {
        meta_batch: 3,
        rollouts: 4,
        horizon: 12,
        net: NetConfig { gaussian: GaussianConfig { log_std_init: -1.2, ..GaussianConfig::default() }, ..net(16) },
        ..MamlConfig::of(variant)
    }
}

const PARAMETERS: [&str; 4] = ["theta", "adam_m", "adam_v", "adam_scale"];

/// The metrics of each of some iterations, then arrays of the state.
fn train(device: &Device, training: &mut Training, iterations: u64, names: &[&str]) -> Vec<Vec<u32>> {
    let bits = |x: Vec<f32>| x.into_iter().map(f32::to_bits).collect::<Vec<u32>>();
    let mut seen: Vec<Vec<u32>> = (0..iterations)
        .map(|done| {
            let metrics = wait(training.step(done, iterations));
            bits(wait(device.read_f32(&metrics)))
        })
        .collect();
    for name in names {
        seen.push(bits(wait(device.read_f32(training.state.get(name).unwrap()))));
    }
    seen
}

fn in_programs(device: &Device, env: &EnvDef, algorithm: impl Algorithm + 'static, seeds: &[u64]) -> Training {
    Training::new(device, Rc::new(algorithm), env, seeds).unwrap()
}

/// Trains the algorithm that `algorithm` makes for the executor's environments.
fn on_host<A: Algorithm + 'static>(
    device: &Device,
    executor: Box<dyn Executor>,
    algorithm: impl FnOnce(&EnvSpec) -> Result<A>,
    seeds: &[u64],
) -> Result<Training> {
    let algorithm = algorithm(&executor.fleet().spec)?;
    Training::new(device, Rc::new(algorithm), executor, seeds)
}

fn executor(env: &EnvDef, config: &MamlConfig, seeds: usize, parallel: bool) -> Box<dyn Executor> {
    let make = |_| -> Result<Box<dyn HostEnv>> { Ok(Box::new(Wrapped::new(env))) };
    let (tasks, horizon) = (seeds * config.meta_batch, config.steps(env.spec().horizon));
    match parallel {
        true => Box::new(ParallelExecutor::new(tasks, config.rollouts, horizon, 2, make).unwrap()),
        false => Box::new(IterativeExecutor::new(tasks, config.rollouts, horizon, make).unwrap()),
    }
}

#[test]
fn mamls_family_trains_the_same_parameters_on_host_and_device() {
    let device = Device::cpu(2);
    let seeds = [5, 1 << 40];
    let pool = MamlConfig {
        inner_steps: 2,
        learn_inner_lr: true,
        train_tasks: 4,
        target_inner_kl: 1e-4,
        ..config(Variant::ProMp)
    };
    let mut cases = vec![("point-corner", Variant::ProMp, pool)];
    cases.extend(Variant::ALL.map(|variant| ("point-corner", variant, config(variant))));
    // Episodes that end early, and choices.
    cases.push(("point-arena", Variant::ProMp, config(Variant::ProMp)));
    cases.push(("key-door", Variant::EMaml, config(Variant::EMaml)));
    for (i, (name, variant, config)) in cases.into_iter().enumerate() {
        let env = builtin(name).unwrap();
        let maml = |spec: &EnvSpec| Maml::new(variant, &config, spec);
        let mut on_device = in_programs(&device, &env, maml(env.spec()).unwrap(), &seeds);
        let first = wait(device.read_f32(on_device.state().get("theta").unwrap()));
        let want = train(&device, &mut on_device, 3, &PARAMETERS);
        assert_ne!(want[3], first.into_iter().map(f32::to_bits).collect::<Vec<u32>>(), "nothing was learnt");
        let executor = executor(&env, &config, seeds.len(), i % 2 == 0);
        let mut on_host = on_host(&device, executor, maml, &seeds).unwrap();
        let got = train(&device, &mut on_host, 3, &PARAMETERS);
        for (what, (got, want)) in got.iter().zip(&want).enumerate() {
            assert!(got == want, "{name}, {variant:?}: array {what}\n{got:?}\n{want:?}");
        }
        let steps = 3 * seeds.len() * config.batch(env.spec().horizon);
        assert!(on_host.env_steps() <= steps as u64, "{} of {steps} steps", on_host.env_steps());
    }
}

#[test]
fn training_on_an_environment_of_ones_own_changes_its_parameters_and_reports_its_faults() {
    let device = Device::cpu(1);
    let config = MamlConfig { horizon: 6, ..config(Variant::ProMp) };
    let toys = |fault: Option<Fault>| -> Box<dyn Executor> {
        Box::new(IterativeExecutor::new(3, 4, 6, |_| Ok(Box::new(ToyEnv::failing(fault)))).unwrap())
    };
    let maml = |spec: &EnvSpec| Maml::new(Variant::ProMp, &config, spec);
    let mut training = on_host(&device, toys(None), maml, &[1]).unwrap();
    let theta = |training: &Training| wait(device.read_f32(training.state().get("theta").unwrap()));
    let first = theta(&training);
    let metrics = wait(training.step(0, 1));
    assert!(wait(device.read(&metrics)).iter().all(|x| x.is_finite()));
    assert_ne!(theta(&training), first);
    let mut training = on_host(&device, toys(Some(Fault::Panic)), maml, &[1]).unwrap();
    let error = pollster::block_on(training.step(0, 1)).unwrap_err().to_string();
    assert_eq!(error, "environment toy: number 0 (copy 0 of task 0), step: panicked: out of cheese");
    let refused = on_host(&device, toys(None), maml, &[1, 2]).unwrap_err().to_string();
    assert_eq!(
        refused,
        "executor: the executor plays 3 tasks on 4 environments each for at most 6 steps; 2 seeds with these settings \
         need 6, 4 and 6"
    );
}

/// Trains built-in environments in programs and on the host, and compares all results.
fn compare<C: OnPolicy + 'static>(cases: impl IntoIterator<Item = (&'static str, C)>) {
    let device = Device::cpu(2);
    let seeds = [3, 1 << 33];
    for (i, (name, config)) in cases.into_iter().enumerate() {
        let env = builtin(name).unwrap();
        let Sampling { envs, horizon, .. } = *config.parts().sampling;
        let learner = |spec: &EnvSpec| OnPolicyLearner::new(&config, spec);
        let mut on_device = in_programs(&device, &env, learner(env.spec()).unwrap(), &seeds);
        let first = wait(device.read_f32(on_device.state.get("theta").unwrap()));
        let mut names = vec!["theta", "adam_m", "adam_v", "adam_scale", "ep_return", "obs"];
        let statistics = ["obs_mean", "obs_var", "reward_mean", "reward_var", "discounted", "baseline_weights"];
        names.extend(statistics.into_iter().filter(|name| on_device.state.get(name).is_ok()));
        let want = train(&device, &mut on_device, 4, &names);
        assert_ne!(want[4], first.into_iter().map(f32::to_bits).collect::<Vec<u32>>(), "nothing was learnt");
        let make = |_| -> Result<Box<dyn HostEnv>> { Ok(Box::new(Wrapped::new(&env))) };
        let executor: Box<dyn Executor> = match i % 2 {
            0 => Box::new(IterativeExecutor::new(2, envs, 0, make).unwrap()),
            _ => Box::new(ParallelExecutor::new(2, envs, 0, 0, make).unwrap()),
        };
        let mut on_host = on_host(&device, executor, learner, &seeds).unwrap();
        let got = train(&device, &mut on_host, 4, &names);
        for (what, (got, want)) in got.iter().zip(&want).enumerate() {
            assert!(got == want, "{name}, case {i}: array {what}\n{got:?}\n{want:?}");
        }
        assert_eq!(on_host.env_steps(), 4 * (2 * envs * horizon) as u64);
        let episodes: f32 = want[..4].iter().map(|row| f32::from_bits(row[0])).sum();
        assert!(episodes > 0.0, "{name}, case {i}: no episode ended");
    }
}

#[test]
fn ppo_trains_the_same_parameters_on_host_and_device() {
    let small = |envs, horizon| Sampling { envs, horizon, ..Sampling::default() };
    let normalised = Sampling { normalise_observations: true, normalise_rewards: true, ..small(3, 64) };
    let cases = [
        // Poles that fall.
        ("cartpole", small(4, 40)),
        // Time limits within a rollout, several of them in the second.
        ("pendulum", normalised),
        ("pendulum", small(1, 512)),
        ("pendulum", Sampling { sde: true, sde_sample_freq: 4, ..normalised }),
        ("pendulum", Sampling { sde: true, sde_sample_freq: 0, ..small(3, 64) }),
    ];
    compare(
        cases.map(|(env, sampling)| (env, PpoConfig { epochs: 2, sampling, net: net(16), ..PpoConfig::default() })),
    );
}

#[test]
fn ppo_with_a_memory_trains_the_same_parameters_on_host_and_device() {
    let sampling = Sampling { envs: 4, horizon: 40, minibatches: 2, ..Sampling::default() };
    let normalised = Sampling { normalise_observations: true, normalise_rewards: true, horizon: 120, ..sampling };
    let cases = [
        ("cartpole", sampling, MemoryKind::Gru),
        ("pendulum", normalised, MemoryKind::Lstm),
        ("pendulum", Sampling { sde: true, sde_sample_freq: 4, ..normalised }, MemoryKind::Gru),
    ];
    compare(cases.map(|(env, sampling, cell)| {
        (env, PpoConfig { epochs: 2, sampling, net: net(8), memory: memory(cell), ..PpoConfig::default() })
    }));
}

#[test]
fn trpo_trains_the_same_parameters_on_host_and_device() {
    let small = Sampling { envs: 3, horizon: 64, ..Sampling::default() };
    let normalised = Sampling { normalise_observations: true, normalise_rewards: true, ..small };
    let cases = [("cartpole", small), ("pendulum", normalised)];
    compare(cases.map(|(env, sampling)| {
        (env, TrpoConfig { critic_epochs: 2, sampling, net: net(16), ..TrpoConfig::default() })
    }));
    let (halves, curvature_share) = (Sampling { envs: 4, horizon: 110, minibatches: 2, ..normalised }, 0.5);
    compare([("cartpole", MemoryKind::Gru), ("pendulum", MemoryKind::Lstm)].map(|(env, cell)| {
        let sampling = halves;
        (env, TrpoConfig { curvature_share, sampling, net: net(8), memory: memory(cell), ..TrpoConfig::default() })
    }));
}

#[test]
fn vpg_with_fitted_baselines_and_memories_trains_the_same_parameters_on_host_and_device() {
    let small = Sampling { envs: 3, horizon: 60, ..VpgConfig::default().sampling };
    let normalised = Sampling { normalise_observations: true, normalise_rewards: true, ..small };
    let cases = [
        ("cartpole", VpgBaseline::LinearFeature, small, MemoryKind::None),
        ("pendulum", VpgBaseline::LinearFeature, normalised, MemoryKind::None),
        ("pendulum", VpgBaseline::LinearTime, normalised, MemoryKind::None),
        ("cartpole", VpgBaseline::MultiFeature, small, MemoryKind::None),
        ("cartpole", VpgBaseline::LinearFeature, small, MemoryKind::Gru),
        ("pendulum", VpgBaseline::Network, normalised, MemoryKind::Lstm),
    ];
    compare(cases.map(|(env, baseline, sampling, cell)| {
        let config = VpgConfig { memory: memory(cell), ..VpgConfig::default() };
        let gradient = PolicyGradient { entropy_coef: 0.1, normalise_advantages: false, ..config.gradient };
        (env, VpgConfig { baseline, entropy_method: EntropyMethod::Max, gradient, sampling, net: net(8), ..config })
    }));
}

#[test]
fn rl2_trains_the_same_parameters_on_host_and_device() {
    let device = Device::cpu(2);
    let seeds = [5, 1 << 40];
    let small =
        |variant| Rl2Config { meta_batch: 6, minibatches: 2, epochs: 2, net: units(8), ..Rl2Config::of(variant) };
    let (ppo, trpo) = (small(Rl2Variant::Ppo), small(Rl2Variant::Trpo));
    let of_lstm = MemoryConfig { cell: MemoryKind::Lstm, learned_start: true, layer_norm: true, ..ppo.net.memory };
    let lstm = RecurrentConfig { memory: of_lstm, ..ppo.net.clone() };
    // Environments without chance; episodes that end early, and so trials of different lengths; choices; no tasks.
    let cases = [
        ("point-arena", Rl2Variant::Ppo, ppo.clone()),
        ("point-arena", Rl2Variant::Trpo, trpo.clone()),
        ("point-arena", Rl2Variant::Ppo, Rl2Config { carry_over: false, episodes: 3, train_tasks: 8, ..ppo.clone() }),
        ("dark-room", Rl2Variant::Ppo, Rl2Config { critic: Critic::LinearTime, ..ppo.clone() }),
        ("dark-room", Rl2Variant::Ppo, Rl2Config { critic: Critic::Separate, net: lstm, ..ppo.clone() }),
        ("grid-world", Rl2Variant::Ppo, ppo),
        ("grid-world", Rl2Variant::Trpo, trpo),
    ];
    for (i, (name, variant, config)) in cases.into_iter().enumerate() {
        let env = builtin(name).unwrap();
        let rl2 = |spec: &EnvSpec| Rl2::new(variant, &config, spec);
        let mut on_device = in_programs(&device, &env, rl2(env.spec()).unwrap(), &seeds);
        let first = wait(device.read_f32(on_device.state.get("theta").unwrap()));
        let want = train(&device, &mut on_device, 3, &PARAMETERS);
        assert_ne!(want[3], first.into_iter().map(f32::to_bits).collect::<Vec<u32>>(), "nothing was learnt");
        let make = |_| -> Result<Box<dyn HostEnv>> { Ok(Box::new(Wrapped::new(&env))) };
        let executor: Box<dyn Executor> = match i % 2 {
            0 => Box::new(IterativeExecutor::new(12, 1, 0, make).unwrap()),
            _ => Box::new(ParallelExecutor::new(12, 1, 0, 2, make).unwrap()),
        };
        let mut on_host = on_host(&device, executor, rl2, &seeds).unwrap();
        let got = train(&device, &mut on_host, 3, &PARAMETERS);
        for (what, (got, want)) in got.iter().zip(&want).enumerate() {
            assert!(got == want, "{name}, {variant:?}: array {what}\n{got:?}\n{want:?}");
        }
        let steps = (3 * seeds.len() * config.batch(env.spec().horizon)) as u64;
        let lengths =
            want[..3].iter().flat_map(|rows| rows.chunks(rows.len() / seeds.len())).map(|row| f32::from_bits(row[2]));
        let valid = lengths.sum::<f32>() as u64;
        assert!((valid..=steps).contains(&on_host.env_steps()) && valid > 0, "{} steps", on_host.env_steps());
    }
}

#[test]
fn rl2_trains_on_after_an_environment_failed_as_if_it_had_not() {
    /// An environment that fails once, in the middle of the second iteration.
    struct Once(Wrapped, Arc<AtomicU32>);
    impl HostEnv for Once {
        fn spec(&self) -> &EnvSpec {
            self.0.spec()
        }
        fn info(&self) -> &[String] {
            self.0.info()
        }
        fn sample_task(&self, chance: Chance) -> Result<Vec<f64>> {
            self.0.sample_task(chance)
        }
        fn set_task(&mut self, task: &[f64]) -> Result<()> {
            self.0.set_task(task)
        }
        fn reset(&mut self, chance: Chance) -> Result<Vec<f64>> {
            self.0.reset(chance)
        }
        fn step(&mut self, action: &[f64], chance: Chance) -> Result<Transition> {
            assert!(self.1.fetch_add(1, Ordering::Relaxed) != 200, "the server went away");
            self.0.step(action, chance)
        }
    }
    let device = Device::cpu(1);
    let env = builtin("dark-room:size=5").unwrap();
    let config = Rl2Config { meta_batch: 4, minibatches: 2, net: units(8), ..Rl2Config::of(Rl2Variant::Ppo) };
    let run = |calls: u32| {
        let calls = Arc::new(AtomicU32::new(calls));
        let make = |_| -> Result<Box<dyn HostEnv>> { Ok(Box::new(Once(Wrapped::new(&env), calls.clone()))) };
        let executor = Box::new(IterativeExecutor::new(4, 1, 0, make).unwrap());
        let rl2 = |spec: &EnvSpec| Rl2::new(Rl2Variant::Ppo, &config, spec);
        let mut training = on_host(&device, executor, rl2, &[1]).unwrap();
        let mut errors = Vec::new();
        for done in 0..3 {
            while let Err(error) = pollster::block_on(training.step(done, 3)) {
                errors.push(error.to_string());
                assert!(errors.len() < 5, "it does not recover: {errors:?}");
            }
        }
        (errors, wait(device.read_f32(training.state().get("theta").unwrap())))
    };
    let ((errors, theta), (none, same)) = (run(0), run(1 << 30));
    assert!(errors.len() == 1 && errors[0].contains("the server went away") && none.is_empty(), "{errors:?}");
    assert_eq!(theta, same);
}

#[test]
fn rl2_needs_an_executor_that_fits_and_tells_what_an_environment_did() {
    let device = Device::cpu(1);
    let config = Rl2Config { meta_batch: 4, minibatches: 2, net: units(8), ..Rl2Config::of(Rl2Variant::Ppo) };
    let toys = |tasks, fault: Option<Fault>| -> Box<dyn Executor> {
        Box::new(IterativeExecutor::new(tasks, 1, 0, |_| Ok(Box::new(ToyEnv::failing(fault)))).unwrap())
    };
    let train = |executor| on_host(&device, executor, |spec| Rl2::new(Rl2Variant::Ppo, &config, spec), &[1]);
    let refused = train(toys(3, None)).unwrap_err().to_string();
    assert!(refused.starts_with("executor: the executor plays 3 tasks on 1 environments each"), "{refused}");
    let error = pollster::block_on(train(toys(4, Some(Fault::Panic))).unwrap().step(0, 1)).unwrap_err().to_string();
    assert_eq!(error, "environment toy: number 0 (copy 0 of task 0), step: panicked: out of cheese");
}

/// A bandit draws different numbers on the host than in a program, and is learnt just as well.
#[test]
fn rl2_learns_to_explore_a_bandit_on_the_host() {
    let device = Device::cpu(2);
    let env = builtin("bandit:arms=3,pulls=10").unwrap();
    let adam = AdamConfig { learning_rate: 3e-3, ..AdamConfig::default() };
    let config = Rl2Config { meta_batch: 64, episodes: 1, net: units(16), adam, ..Rl2Config::of(Rl2Variant::Ppo) };
    let make = |_| -> Result<Box<dyn HostEnv>> { Ok(Box::new(Wrapped::new(&env))) };
    let executor = Box::new(IterativeExecutor::new(64, 1, 0, make).unwrap());
    let mut training = on_host(&device, executor, |spec| Rl2::new(Rl2Variant::Ppo, &config, spec), &[0]).unwrap();
    let column = training.metric_names(0).iter().position(|name| name == "meta/trial_return").unwrap();
    let returns: Vec<f32> = (0..150)
        .map(|done| {
            let metrics = wait(training.step(done, 150));
            wait(device.read_f32(&metrics))[column]
        })
        .collect();
    let mean = |part: &[f32]| part.iter().sum::<f32>() / part.len() as f32;
    // Arms at random pay 5 in the mean; equal settings come to 6.0 in programs.
    let (untrained, trained) = (mean(&returns[..5]), mean(&returns[120..]));
    assert!(untrained < 5.4 && trained > 5.7, "{untrained}, then {trained}");
}

#[test]
fn ppo_goes_on_after_an_environment_failed() {
    let device = Device::cpu(1);
    let config = tiny_ppo();
    // An environment that fails once, in the third rollout.
    struct Once(Wrapped, u32);
    impl HostEnv for Once {
        fn spec(&self) -> &EnvSpec {
            self.0.spec()
        }
        fn info(&self) -> &[String] {
            self.0.info()
        }
        fn reset(&mut self, chance: Chance) -> Result<Vec<f64>> {
            self.0.reset(chance)
        }
        fn step(&mut self, action: &[f64], chance: Chance) -> Result<Transition> {
            self.1 += 1;
            assert!(self.1 != 20, "the server went away");
            self.0.step(action, chance)
        }
    }
    let env = builtin("pendulum").unwrap();
    let make = |_| -> Result<Box<dyn HostEnv>> { Ok(Box::new(Once(Wrapped::new(&env), 0))) };
    let executor = IterativeExecutor::new(1, 2, 0, make).unwrap();
    let ppo = |spec: &EnvSpec| Ppo::new(&config, spec);
    let mut training = on_host(&device, Box::new(executor), ppo, &[1]).unwrap();
    let steps = |training: &Training| wait(device.read_u32(training.state.get("env_steps").unwrap()));
    for done in 0..2 {
        wait(training.step(done, 9));
    }
    assert_eq!(steps(&training), [16, 16]);
    let error = pollster::block_on(training.step(2, 9)).unwrap_err().to_string();
    assert_eq!(error, "environment pendulum: number 0 (copy 0 of task 0), step: panicked: the server went away");
    // The other environment comes to its twentieth step as well.
    let error = pollster::block_on(training.step(2, 9)).unwrap_err().to_string();
    assert!(error.contains("number 1 (copy 1 of task 0)"), "{error}");
    wait(training.step(2, 9));
    assert_eq!(steps(&training), [8, 8]);
    let tasks = IterativeExecutor::new(1, 2, 0, |_| Ok(Box::new(ToyEnv::default()))).unwrap();
    let refused = on_host(&device, Box::new(tasks), ppo, &[1]).unwrap_err().to_string();
    assert!(refused.starts_with("env: `toy` has many tasks") && refused.contains("TaskPerEpisode"), "{refused}");
}

/// An executor that answers only when asked a second time, as one behind a promise does.
struct Later(IterativeExecutor);

fn later<'a, T: 'a>(answer: LocalFuture<'a, T>) -> LocalFuture<'a, T> {
    let mut asked = false;
    let wait = std::future::poll_fn(move |cx| {
        if std::mem::replace(&mut asked, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    });
    Box::pin(async move {
        wait.await;
        answer.await
    })
}

impl Executor for Later {
    fn fleet(&self) -> &Fleet {
        self.0.fleet()
    }
    fn sample_tasks<'a>(&'a mut self, chances: &'a [Chance]) -> LocalFuture<'a, Result<Vec<Vec<f64>>>> {
        later(self.0.sample_tasks(chances))
    }
    fn set_tasks<'a>(&'a mut self, tasks: &'a [Vec<f64>]) -> LocalFuture<'a, Result<()>> {
        later(self.0.set_tasks(tasks))
    }
    fn reset<'a>(&'a mut self, keys: &'a [Key]) -> LocalFuture<'a, Result<Vec<f64>>> {
        later(self.0.reset(keys))
    }
    fn step<'a>(&'a mut self, actions: &'a [f64], keys: &'a [Key]) -> LocalFuture<'a, Result<Stepped>> {
        later(self.0.step(actions, keys))
    }
}

#[test]
fn environments_may_answer_later() {
    let device = Device::cpu(1);
    let seeds = [3];
    let run = |wrap: &dyn Fn(IterativeExecutor) -> Box<dyn Executor>| {
        let of = |name: &str, tasks, envs, horizon| {
            let env = builtin(name).unwrap();
            let make = |_| -> Result<Box<dyn HostEnv>> { Ok(Box::new(Wrapped::new(&env))) };
            wrap(IterativeExecutor::new(tasks, envs, horizon, make).unwrap())
        };
        let ppo = tiny_ppo();
        let mut ppo = on_host(&device, of("cartpole", 1, 2, 0), |spec| Ppo::new(&ppo, spec), &seeds).unwrap();
        let maml = config(Variant::ProMp);
        let fit = |spec: &EnvSpec| Maml::new(Variant::ProMp, &maml, spec);
        let mut maml = on_host(&device, of("point-corner", 3, 4, 12), fit, &seeds).unwrap();
        [train(&device, &mut ppo, 2, &PARAMETERS), train(&device, &mut maml, 2, &PARAMETERS)]
    };
    assert!(run(&|executor| Box::new(executor)) == run(&|executor| Box::new(Later(executor))));
    let mut executor = Later(IterativeExecutor::new(1, 1, 3, |_| Ok(Box::new(ToyEnv::default()))).unwrap());
    let mut answer = executor.reset(&[[0, 0]]);
    let mut cx = Context::from_waker(Waker::noop());
    assert!(answer.as_mut().poll(&mut cx).is_pending() && answer.as_mut().poll(&mut cx).is_ready());
}
