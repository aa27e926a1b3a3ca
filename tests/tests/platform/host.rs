//! Environments on the host: samplers against recorded paths, and the same episodes as programs on the device.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy_core::backend::LocalFuture;
use quickstudy_core::credit::{Baseline, Paths, Processed, Processor};
use quickstudy_core::env::{EnvDef, EnvSpec, builtin};
use quickstudy_core::host::{
    Acted, Actor, BlockShape, Chance, Executor, HostEnv, IterativeExecutor, MetaSampler, Padded, ParallelExecutor,
    Sampler, Samples, Transition, Wrapped,
};
use quickstudy_core::nn::Layout;
use quickstudy_core::play::{ActorSpec, Amount, Keys, Play, PolicyActor, row_keys};
use quickstudy_core::policy::{Acting, GaussianConfig, How, LayersConfig, NetConfig, PolicyNet};
use quickstudy_core::rng::{Key, fold_in, key_from_seed};
use quickstudy_core::{DType, Device, Program, Result, State};
use quickstudy_tests::golden::{items, load, number, numbers};
use quickstudy_tests::toy_env::ToyEnv;
use quickstudy_tests::trainings::wait;
use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;

/// a = s₁/2 + 1/4, which it also reports as the mean.
struct ToyPolicy([String; 1]);

impl ToyPolicy {
    fn new() -> ToyPolicy {
        ToyPolicy(["mean".to_owned()])
    }
}

impl Actor for ToyPolicy {
    fn info(&self) -> &[String] {
        &self.0
    }

    fn act<'a>(&'a mut self, observations: &'a [f64], _step: u32) -> LocalFuture<'a, Result<Acted>> {
        let drawn: Vec<f64> = observations.chunks(2).map(|s| 0.5 * s[1] + 0.25).collect();
        Box::pin(async move { Ok(Acted { played: drawn.clone(), info: drawn.clone(), drawn }) })
    }
}

fn toys(tasks: usize, envs: usize, horizon: usize) -> [Box<dyn Executor>; 2] {
    let make = |_| -> Result<Box<dyn HostEnv>> { Ok(Box::new(ToyEnv::default())) };
    [
        Box::new(IterativeExecutor::new(tasks, envs, horizon, make).unwrap()),
        Box::new(ParallelExecutor::new(tasks, envs, horizon, 0, make).unwrap()),
    ]
}

#[test]
fn golden_meta_sampler_collects_the_recorded_paths() {
    let file = &load("promp_executor.json")["meta_sampler"];
    let [rollouts, count, horizon] =
        ["rollouts_per_meta_task", "meta_batch_size", "max_path_length"].map(|key| number(&file[key]) as usize);
    let tasks: Vec<Vec<f64>> = numbers(&file["tasks"]).into_iter().map(|task| vec![task]).collect();
    let keys = vec![[0, 0]; count];
    for executor in toys(count, rollouts, horizon) {
        let mut sampler = MetaSampler::new(executor, rollouts);
        wait(sampler.set_tasks(&tasks));
        let samples = wait(sampler.obtain(&mut ToyPolicy::new(), &keys));
        assert_eq!(samples.tasks.len(), file["paths"].as_object().unwrap().len());
        for (task, paths) in samples.tasks.iter().enumerate() {
            let recorded = items(&file["paths"][task.to_string()]);
            assert_eq!(paths.len(), recorded.len());
            for (path, recorded) in paths.iter().zip(recorded) {
                assert_eq!(path.observations, numbers(&recorded["observations"]));
                assert_eq!(path.actions, numbers(&recorded["actions"]));
                assert_eq!(path.rewards, numbers(&recorded["rewards"]));
                assert_eq!(path.env_infos, numbers(&recorded["env_infos"]["e"]));
                assert_eq!(path.agent_infos, numbers(&recorded["agent_infos"]["mean"]));
                // Its last state, which the original's paths lack.
                assert_eq!(path.last_observation, path.env_infos[path.env_infos.len() - 2..]);
            }
        }
        // The original counts what was asked for; here, every step that an environment made counts.
        let whole: u64 = samples.paths().map(|path| path.len() as u64).sum();
        assert!(whole >= number(&file["total_samples_target"]) as u64);
        assert_eq!(samples.env_steps, whole + samples.dropped);
        assert_eq!(sampler.env_steps(), samples.env_steps);
        wait(sampler.obtain(&mut ToyPolicy::new(), &keys));
        assert_eq!(sampler.env_steps(), 2 * samples.env_steps);
    }
}

#[test]
fn a_sampler_of_one_task_collects_as_many_episodes_as_its_batch_size() {
    for executor in toys(1, 3, 2) {
        let mut sampler = Sampler::new(executor, 7).unwrap();
        let samples = wait(sampler.obtain(&mut ToyPolicy::new(), [0, 0]));
        // Episodes of 2 steps, three at a time: 3 + 2 + 2 of them count, and the third ones of two environments do not.
        let copies: Vec<usize> = samples.tasks[0].iter().map(|path| path.copy).collect();
        assert_eq!(copies, [0, 0, 0, 1, 1, 2, 2]);
        assert!(samples.paths().all(|path| path.len() == 2 && path.terminated));
        assert_eq!((samples.env_steps, samples.dropped, sampler.env_steps()), (18, 4, 18));
    }
    // Fewer episodes than environments: the last environments play for nothing.
    let [executor, _] = toys(1, 3, 2);
    let samples = wait(Sampler::new(executor, 2).unwrap().obtain(&mut ToyPolicy::new(), [0, 0]));
    assert_eq!((samples.tasks[0].len(), samples.dropped), (2, 2));

    let [several, one] = [toys(2, 1, 2), toys(1, 1, 2)].map(|[executor, _]| executor);
    let refused = |executor, batch_size| Sampler::new(executor, batch_size).map(|_| ()).unwrap_err().to_string();
    assert_eq!(refused(several, 7), "tasks: a sampler plays one task, and the executor has 2");
    assert_eq!(refused(one, 0), "batch_size: 0 is not 1 or more; it counts episodes");
}

/// A policy and its parameters, the same for each of `tasks` tasks.
struct Example {
    device: Device,
    net: PolicyNet,
    layout: Layout,
    theta: Vec<f64>,
    env: EnvDef,
    tasks: Vec<Vec<f64>>,
    key: Key,
}

const TASKS: usize = 3;
const ROLLOUTS: usize = 5;

impl Example {
    fn new(name: &str) -> Example {
        let env = builtin(name).unwrap();
        let mut layout = Layout::new();
        let config = NetConfig {
            layers: LayersConfig { hidden: vec![16], orthogonal_init: false, ..LayersConfig::default() },
            gaussian: GaussianConfig { log_std_init: -0.5, ..GaussianConfig::default() },
        };
        let net = PolicyNet::new(&mut layout, env.spec(), &config);
        let key = key_from_seed(11);
        let theta: Vec<f64> = (0..TASKS as u64).flat_map(|task| layout.init(key_from_seed(task))).collect();
        let tasks = (0..TASKS as u32).map(|i| env.sample_task::<f32>([3, 4], i));
        let tasks = tasks.map(|task| task.into_iter().map(f64::from).collect()).collect();
        Example { device: Device::cpu(2), net, layout, theta, env, tasks, key }
    }

    fn theta(&self) -> quickstudy_core::Array {
        self.device.array(&[TASKS, self.layout.len()], &self.theta).unwrap()
    }

    /// Observations, actions, rewards and whether steps are valid, as one program on the device collects them.
    fn on_device(&self, steps: usize) -> [Vec<f64>; 4] {
        let width = self.env.spec().task.len();
        let mut program = Program::new(&self.device, |cx| {
            let parts = self.layout.split(cx.input("theta", &[TASKS, self.layout.len()], DType::F32));
            let key = cx.input("key", &[1, 2], DType::U32);
            let key = row_keys([key.slice(1, 0, 1), key.slice(1, 1, 2)], TASKS);
            let tasks = (width > 0).then(|| cx.input("tasks", &[TASKS, width], DType::F32));
            let (env, policy, acting) = (&self.env, &self.net, &Acting::of(&parts));
            let (how, rows, keys) = (How::Explore, [TASKS, ROLLOUTS], Keys::of(key));
            let play = Play { env, policy, acting, how, rows, tasks, keys };
            outputs(cx, &play.episodes(Amount::Episodes(1), steps).steps.paths());
        })
        .unwrap();
        let key = self.device.array_u32(&[1, 2], &self.key).unwrap();
        let theta = self.theta();
        let tasks = (width > 0).then(|| self.device.array(&[TASKS, width], &self.tasks.concat()).unwrap());
        let mut inputs = vec![("key", &key), ("theta", &theta)];
        inputs.extend(tasks.iter().map(|tasks| ("tasks", tasks)));
        read(&self.device, &program.run(&State::new(), &inputs, &[]).unwrap())
    }

    fn on_host(&self, executor: Box<dyn Executor>) -> Samples {
        let shapes: Vec<Vec<usize>> = self.layout.slices().map(|(_, shape, _)| shape.to_vec()).collect();
        let fleet = executor.fleet();
        let sizes = [fleet.tasks, fleet.envs_per_task, fleet.observations(), fleet.actions()];
        let spec = ActorSpec { policy: &self.net, sizes, how: How::Explore, lasting: false, info: &[] };
        let mut actor = PolicyActor::new(&self.device, spec, &|cx| {
            let one = |(i, shape): (usize, &Vec<usize>)| {
                cx.input(&i.to_string(), &[&[TASKS], &shape[..]].concat(), DType::F32)
            };
            Acting::of(&shapes.iter().enumerate().map(one).collect::<Vec<_>>())
        })
        .unwrap();
        let mut split = Program::new(&self.device, |cx| {
            let parts = self.layout.split(cx.input("theta", &[TASKS, self.layout.len()], DType::F32));
            parts.iter().enumerate().for_each(|(i, part)| cx.output(&i.to_string(), *part));
        })
        .unwrap();
        let out = split.run(&State::new(), &[("theta", &self.theta())], &[]).unwrap();
        let keys: Vec<Key> = (0..TASKS as u32).map(|task| fold_in(self.key, task)).collect();
        actor.set_acting(out.iter().map(|(name, array)| (name.to_owned(), array.clone())).collect());
        let mut sampler = MetaSampler::episodes(executor, 1);
        wait(sampler.set_tasks(&self.tasks));
        wait(sampler.obtain(&mut actor, &keys))
    }
}

fn outputs(cx: &mut quickstudy_core::Context, paths: &Paths) {
    let valid = paths.valid;
    // After an episode's end, a program goes on with the next one, and lists of paths have nothing.
    for (name, x) in [("obs", paths.obs), ("action", paths.action), ("reward", paths.reward), ("valid", valid.to_f32())]
    {
        cx.output(name, valid.select(x, quickstudy_core::Tensor::constant_f32(0.0)));
    }
}

fn read(device: &Device, out: &quickstudy_core::program::Outputs) -> [Vec<f64>; 4] {
    ["obs", "action", "reward", "valid"].map(|name| wait(device.read(out.get(name).unwrap())))
}

/// A block of the host's paths, as a program on the device sees it.
fn packed(device: &Device, samples: &Samples, shape: BlockShape) -> [Vec<f64>; 4] {
    let mut program = Program::new(device, |cx| {
        let paths = shape.declare(cx, "host ");
        outputs(cx, &paths);
    })
    .unwrap();
    let arrays = Padded::with_shape(&samples.tasks, shape).unwrap().upload(device, "host ").unwrap();
    let inputs: Vec<_> = arrays.inputs().collect();
    read(device, &program.run(&State::new(), &inputs, &[]).unwrap())
}

#[test]
fn built_in_environments_play_the_same_episodes_on_host_and_device_bit_for_bit() {
    for (name, horizon) in [
        ("point-corner", 30),
        ("point-arena", 25),
        ("point-walls", 20),
        ("bandit", 10),
        ("tabular-mdp", 10),
        ("dark-room", 40),
        ("cartpole", 120),
        ("pendulum", 40),
    ] {
        let example = Example::new(name);
        let make = |_| -> Result<Box<dyn HostEnv>> { Ok(Box::new(Wrapped::new(&example.env))) };
        let executors: [Box<dyn Executor>; 2] = [
            Box::new(IterativeExecutor::new(TASKS, ROLLOUTS, horizon, make).unwrap()),
            Box::new(ParallelExecutor::new(TASKS, ROLLOUTS, horizon, 2, make).unwrap()),
        ];
        for executor in executors {
            let shape = BlockShape::of(executor.fleet());
            assert_eq!(shape.steps, horizon.min(example.env.spec().horizon));
            let device = example.on_device(shape.steps);
            let samples = example.on_host(executor);
            assert!(samples.tasks.iter().all(|paths| paths.len() == ROLLOUTS), "{name}");
            let host = packed(&example.device, &samples, shape);
            for ((device, host), what) in device.iter().zip(&host).zip(["obs", "action", "reward", "valid"]) {
                assert!(device == host, "{name}: {what}\n{device:?}\n{host:?}");
            }
            assert!(host[1].iter().any(|x| *x != 0.0) && host[2].iter().any(|x| *x != 0.0), "{name}");
        }
    }
}

#[test]
fn episodes_that_do_not_fit_a_block_are_refused() {
    let [executor, _] = toys(1, 2, 4);
    let shape = BlockShape::of(executor.fleet());
    let mut sampler = MetaSampler::new(executor, 2);
    let samples = wait(sampler.obtain(&mut ToyPolicy::new(), &[[0, 0]]));
    let refused = |shape| Padded::with_shape(&samples.tasks, shape).unwrap_err().to_string();
    assert_eq!(refused(shape), "program: task 0 has 4 episodes, expected 1 to 2");
    assert_eq!(
        refused(BlockShape { paths: 9, steps: 1, ..shape }),
        "program: episode 0 of task 0 has 2 steps with 4 and 2 numbers, expected 1 to 1 steps with 2 and 1 numbers each"
    );
    assert_eq!(refused(BlockShape { tasks: 2, ..shape }), "program: episodes of 1 tasks do not fill a block of 2");
    assert_eq!(
        refused(BlockShape { paths: 9, agent_infos: 3, ..shape }),
        "program: episode 0 of task 0 has 2 steps with 2 numbers of agent_infos, expected 3 numbers each, or a block \
         without them (agent_infos: 0)"
    );
}

#[test]
fn golden_packed_episodes_are_processed_with_all_that_was_reported() {
    let file = &load("promp_executor.json")["meta_sampler"];
    let [rollouts, count, horizon] =
        ["rollouts_per_meta_task", "meta_batch_size", "max_path_length"].map(|key| number(&file[key]) as usize);
    let tasks: Vec<Vec<f64>> = numbers(&file["tasks"]).into_iter().map(|task| vec![task]).collect();
    let [executor, _] = toys(count, rollouts, horizon);
    let fleet = executor.fleet().clone();
    let mut sampler = MetaSampler::new(executor, rollouts);
    wait(sampler.set_tasks(&tasks));
    let samples = wait(sampler.obtain(&mut ToyPolicy::new(), &vec![[0, 0]; count]));
    let padded = Padded::new(&samples, &fleet).unwrap();
    let shape = padded.shape;
    assert_eq!((shape.env_infos, shape.agent_infos), (2, 1));
    let device = Device::cpu(1);
    let mut program = Program::new(&device, |cx| {
        let Processed { paths, returns, advantages } =
            Processor { baseline: Baseline::Zero, ..Processor::default() }.process(&shape.declare(cx, ""));
        let named = [
            ("observations", Some(paths.obs)),
            ("actions", Some(paths.action)),
            ("rewards", Some(paths.reward)),
            ("env_infos", paths.env_infos),
            ("agent_infos", paths.agent_infos),
            ("returns", Some(returns)),
            ("advantages", Some(advantages)),
        ];
        named.into_iter().for_each(|(name, x)| cx.output(name, x.unwrap()));
    })
    .unwrap();
    let arrays = padded.upload(&device, "").unwrap();
    let out = program.run(&State::new(), &arrays.inputs().collect::<Vec<_>>(), &[]).unwrap();
    let got = |name: &str| wait(device.read(out.get(name).unwrap()));
    for (k, n, path) in (0..count).flat_map(|k| {
        let recorded = items(&file["paths"][k.to_string()]);
        recorded.iter().enumerate().map(move |(n, path)| (k, n, path))
    }) {
        let rewards = numbers(&path["rewards"]);
        let mut sums = vec![0.0; rewards.len()];
        (0..rewards.len()).rev().for_each(|t| sums[t] = rewards[t] + 0.99 * sums.get(t + 1).unwrap_or(&0.0));
        let expected = [
            ("observations", numbers(&path["observations"])),
            ("actions", numbers(&path["actions"])),
            ("rewards", rewards.clone()),
            ("env_infos", numbers(&path["env_infos"]["e"])),
            ("agent_infos", numbers(&path["agent_infos"]["mean"])),
            ("returns", sums.clone()),
            ("advantages", sums),
        ];
        for (name, expected) in expected {
            let (all, width) = (got(name), expected.len() / rewards.len());
            for t in 0..horizon {
                let at = ((t * count + k) * shape.paths + n) * width;
                // Padding is 0.
                let expected = expected.get(t * width..(t + 1) * width).map_or(vec![0.0; width], <[f64]>::to_vec);
                let close = all[at..at + width].iter().zip(&expected).all(|(x, y)| (x - y).abs() < 1e-5);
                assert!(close, "{name} of step {t} of path {n} of task {k}: {:?}, {expected:?}", &all[at..at + width]);
            }
        }
    }
}

/// A built-in environment that notes on which thread it steps.
struct Noted {
    env: Wrapped,
    threads: Arc<Mutex<HashSet<ThreadId>>>,
}

impl HostEnv for Noted {
    fn spec(&self) -> &EnvSpec {
        self.env.spec()
    }

    fn info(&self) -> &[String] {
        self.env.info()
    }

    fn reset(&mut self, chance: Chance) -> Result<Vec<f64>> {
        self.env.reset(chance)
    }

    fn step(&mut self, action: &[f64], chance: Chance) -> Result<Transition> {
        self.threads.lock().unwrap().insert(std::thread::current().id());
        self.env.step(action, chance)
    }
}

#[test]
fn threads_divide_the_environments_of_one_task_and_change_no_trajectory() {
    let env = builtin("cartpole").unwrap();
    // 60 steps with automatic resets; actions by number of environment and step.
    let played = |executor: &mut dyn Executor| {
        let mut all = vec![wait(executor.reset(&[[1, 2]]))];
        for t in 0..60_u32 {
            let actions: Vec<f64> = (0..16_u32).map(|n| f64::from((n * 7 + t) % 3 % 2)).collect();
            let stepped = wait(executor.step(&actions, &[[3, t]]));
            all.extend([stepped.observations, stepped.last_observations, stepped.rewards]);
        }
        all
    };
    let mut one = IterativeExecutor::new(1, 16, 0, |_| Ok(Box::new(Wrapped::new(&env)))).unwrap();
    let expected = played(&mut one);
    for count in [1, 2, 3, 5, 16, 40] {
        let threads = Arc::new(Mutex::new(HashSet::new()));
        let make = |_| -> Result<Box<dyn HostEnv>> {
            Ok(Box::new(Noted { env: Wrapped::new(&env), threads: threads.clone() }))
        };
        let mut executor = ParallelExecutor::new(1, 16, 0, count, make).unwrap();
        assert!(played(&mut executor) == expected, "{count} threads");
        assert_eq!(threads.lock().unwrap().len(), count.min(16));
    }
}
