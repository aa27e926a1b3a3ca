//! RL²'s policies in environments of the host: a trial there equals one on the device, and an adapted policy begins
//! each episode with the memory that the trial left.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::rc::Rc;

use quickstudy_core::algo::Algorithm;
use quickstudy_core::credit::Paths;
use quickstudy_core::env::{ActionSpace, EnvDef, builtin};
use quickstudy_core::host::{Executor, HostPath, IterativeExecutor, MetaSampler, Quota, Samples, Wrapped};
use quickstudy_core::meta::rl2::{Rl2Config, Rl2Net, TrialPolicy, Trials};
use quickstudy_core::meta::{Adaptive, MetaAlgorithm, MetaEvaluator, MetaPolicy, Rl2, Rl2Variant, TestTask};
use quickstudy_core::play::Amount;
use quickstudy_core::policy::{Acting, MemoryConfig, RecurrentConfig};
use quickstudy_core::rng::Key;
use quickstudy_core::train::Evaluator;
use quickstudy_core::{Array, Context, DType, Device, Program, Result, State, Tensor};
use quickstudy_tests::panel::Panel;
use quickstudy_tests::trainings::{training_on, wait};

/// Tasks, environments of each, and episodes of a trial.
const SIZES: [usize; 3] = [3, 2, 2];
const KEYS: [Key; 3] = [[1, 2], [3, 4], [5, 6]];
const TEST_KEYS: [Key; 3] = [[7, 8], [9, 10], [11, 12]];

fn sampler(env: &EnvDef, tasks: &[Vec<f64>], envs_per_task: usize) -> MetaSampler {
    let executor =
        IterativeExecutor::new(tasks.len(), envs_per_task, 0, |_| Ok(Box::new(Wrapped::new(env)) as _)).unwrap();
    let mut sampler = MetaSampler::episodes(Box::new(executor), 1);
    wait(sampler.set_tasks(tasks));
    sampler
}

fn draw_tasks(env: &EnvDef, count: usize) -> Vec<Vec<f64>> {
    (0..count as u32).map(|i| env.sample_task([8, 8], i)).collect()
}

fn play(sampler: &mut MetaSampler, policy: &mut dyn MetaPolicy, episodes: usize, keys: &[Key]) -> Samples {
    sampler.quota = Quota::Episodes(episodes);
    wait(sampler.obtain(policy, keys))
}

fn adapt(policy: Box<dyn MetaPolicy>, samples: &Samples) -> Result<Box<dyn MetaPolicy>> {
    pollster::block_on(policy.adapt(samples))
}

/// An untrained policy on an environment, with a wide last layer so that its memory matters.
struct Subject {
    device: Device,
    env: EnvDef,
    config: Rl2Config,
    net: Rl2Net,
    theta: Array,
    tasks: Vec<Vec<f64>>,
}

/// Arrays by name.
struct Read(Vec<(String, Vec<f64>)>);

impl Read {
    fn get(&self, name: &str) -> &[f64] {
        &self.0.iter().find(|(known, _)| known == name).unwrap().1
    }
    /// The numbers of row `row` of `rows`.
    fn row(&self, name: &str, rows: usize, row: usize) -> &[f64] {
        let all = self.get(name);
        &all[row * (all.len() / rows)..][..all.len() / rows]
    }
}

fn found(name: &str) -> EnvDef {
    if name == "hidden-panel" { Panel::Hidden.env() } else { builtin(name).unwrap() }
}

impl Subject {
    fn new(env: &str, carry_over: bool) -> Subject {
        let (env, device) = (found(env), Device::cpu(1));
        let net = RecurrentConfig::default();
        let net = RecurrentConfig { memory: MemoryConfig { units: 8, ..net.memory }, orthogonal_init: false, ..net };
        let config = Rl2Config { carry_over, net, ..Rl2Config::default() };
        let net = Rl2Net::new(env.spec(), &config);
        let theta = device.array(&[1, net.layout.len()], &net.layout.init([1, 2])).unwrap();
        let tasks = draw_tasks(&env, SIZES[0]);
        Subject { device, env, config, net, theta, tasks }
    }

    fn adaptive(&self) -> Adaptive {
        let rl2 = Rl2::new(Rl2Variant::Ppo, &self.config, self.env.spec()).unwrap();
        Adaptive::new(&self.device, Rc::new(rl2) as Rc<dyn Algorithm>, vec![("theta", self.theta.clone())])
    }

    /// Runs a program with the policy's θ for each task, and reads its outputs.
    fn run(&self, inputs: &[(&str, &Array)], trace: impl FnOnce(&mut Context, &[Tensor])) -> Read {
        let len = self.net.layout.len();
        let mut program = Program::new(&self.device, |cx| {
            let theta = cx.input("theta", &[1, len], DType::F32).broadcast_to(&[SIZES[0], len]);
            trace(cx, &self.net.layout.split(theta));
        })
        .unwrap();
        let inputs: Vec<_> = inputs.iter().copied().chain([("theta", &self.theta)]).collect();
        let out = program.run(&State::new(), &inputs, &[]).unwrap();
        Read(out.iter().map(|(name, a)| (name.to_owned(), wait(self.device.read(a)))).collect())
    }

    /// The trials of equal keys on the device, with rows `[T, M, E]`.
    fn trials(&self) -> Read {
        let ([m, e, episodes], d) = (SIZES, self.tasks[0].len());
        let tasks = (d > 0).then(|| self.device.array(&[m, 1, d], &self.tasks.concat()).unwrap());
        let keys = self.device.array_u32(&[m, 2], KEYS.as_flattened()).unwrap();
        let inputs: Vec<_> = [("key", &keys)].into_iter().chain(tasks.iter().map(|tasks| ("tasks", tasks))).collect();
        self.run(&inputs, |cx, parts| {
            let tasks = (d > 0).then(|| cx.input("tasks", &[m, 1, d], DType::F32).broadcast_to(&[m, e, d]));
            let key = cx.input("key", &[m, 2], DType::U32);
            let key = [key.slice(1, 0, 1), key.slice(1, 1, 2)];
            let (env, net, carry_over) = (&self.env, &self.net, self.config.carry_over);
            let (policy, acting) =
                (TrialPolicy { net, space: &env.spec().action, carry_over, show_time_limit: false }, Acting::of(parts));
            let steps = episodes * env.spec().horizon;
            let trials = Trials::from(
                &policy.play(env, &acting, [m, e], tasks, key).episodes(Amount::Episodes(episodes), steps),
            );
            let xs = trials.paths.obs;
            let t = xs.size(0);
            let whole = net.run(parts, xs).0.log_prob(Paths::rows(trials.paths.action));
            cx.output("logp", whole.reshape(&[m, t, e, 1]).permute(&[1, 0, 2, 3]));
            cx.output("memory", net.policy.cell().run(parts, xs, net.policy.cell().initial(parts, [m, e]), None));
            cx.output("action", trials.paths.action);
            cx.output("limited", trials.limited);
            cx.output("reward", trials.paths.reward);
            cx.output("valid", trials.paths.valid.to_f32());
        })
    }

    fn explore(&self, sampler: &mut MetaSampler) -> (Box<dyn MetaPolicy>, Samples) {
        let mut algorithm = self.adaptive();
        let fleet = sampler.executor().fleet().clone();
        let mut policy = wait(algorithm.exploration_policy(&fleet));
        let samples = play(sampler, &mut *policy, SIZES[2], &KEYS);
        (policy, samples)
    }

    /// The action in the form that the environment gets.
    fn limited(&self, action: &[f64]) -> Vec<f64> {
        match &self.env.spec().action {
            ActionSpace::Discrete { .. } | ActionSpace::MultiDiscrete { .. } => action.to_vec(),
            ActionSpace::Box { dims } => action.iter().zip(dims).map(|(x, dim)| x.clamp(dim.low, dim.high)).collect(),
        }
    }

    /// Action, reward and end in the form that the policy is shown.
    fn shown(&self, action: &[f64], reward: f64, terminated: bool) -> Vec<f64> {
        let one_hot = |(a, n): (&f64, usize)| (0..n).map(|i| f64::from(u8::from(*a == i as f64))).collect::<Vec<_>>();
        let action = match self.env.spec().action.counts() {
            Some(counts) => action.iter().zip(counts).flat_map(one_hot).collect(),
            None => action.to_vec(),
        };
        [action, vec![reward, f64::from(u8::from(terminated))]].concat()
    }
}

/// The paths of each environment in turn.
fn by_env(samples: &Samples) -> Vec<Vec<&HostPath>> {
    let of = |number: usize| {
        samples.tasks[number / SIZES[1]].iter().filter(|path| path.copy == number % SIZES[1]).collect::<Vec<_>>()
    };
    (0..SIZES[0] * SIZES[1]).map(of).collect()
}

/// Episodes that end early, at different steps of each environment; a time limit with a vector for an action; and
/// actions of several choices at once.
const ENVS: [&str; 3] = ["grid-world", "point-robot", "hidden-panel"];

#[test]
fn exploring_on_the_host_is_a_trial_on_the_device() {
    for (env, carry_over) in ENVS.iter().flat_map(|env| [(env, true), (env, false)]) {
        let subject = Subject::new(env, carry_over);
        let (_, samples) = subject.explore(&mut sampler(&subject.env, &subject.tasks, SIZES[1]));
        let device = subject.trials();
        let numbers = SIZES[0] * SIZES[1];
        let (rows, mut lengths) = (device.get("valid").len(), Vec::new());
        for (number, paths) in by_env(&samples).into_iter().enumerate() {
            assert_eq!(paths.len(), SIZES[2]);
            lengths.push(paths.iter().map(|path| path.len()).sum::<usize>());
            let joined =
                |of: fn(&HostPath) -> &[f64]| paths.iter().flat_map(|path| of(path).to_vec()).collect::<Vec<_>>();
            let steps = joined(|path| &path.rewards).len();
            let trial = |name: &str| -> Vec<f64> {
                (0..steps).flat_map(|t| device.row(name, rows, t * numbers + number).to_vec()).collect()
            };
            assert_eq!(trial("valid"), vec![1.0; steps], "{env}");
            assert!((steps..rows / numbers).all(|t| device.get("valid")[t * numbers + number] == 0.0), "{env}");
            assert_eq!(joined(|path| &path.actions), trial("action"), "{env} {carry_over} {number}");
            assert_eq!(joined(|path| &path.rewards), trial("reward"), "{env} {carry_over} {number}");
            assert_eq!(joined(|path| &path.agent_infos), trial("logp"), "{env} {carry_over} {number}");
        }
        lengths.sort_unstable();
        lengths.dedup();
        assert_eq!(lengths.len() > 2, *env == "grid-world", "{lengths:?}");
    }
}

#[test]
fn who_has_adapted_begins_each_episode_with_the_memory_of_the_trial() {
    for (env, carry_over) in ENVS.iter().flat_map(|env| [(env, true), (env, false)]) {
        let subject = Subject::new(env, carry_over);
        let mut sampler = sampler(&subject.env, &subject.tasks, SIZES[1]);
        let (policy, explored) = subject.explore(&mut sampler);
        let mut adapted = adapt(policy, &explored).unwrap();
        let tested = play(&mut sampler, &mut *adapted, 2, &TEST_KEYS);
        assert_ne!(play(&mut sampler, &mut *adapted, 3, &KEYS), tested);
        assert_eq!(play(&mut sampler, &mut *adapted, 2, &TEST_KEYS), tested, "{env}: test episodes changed the policy");

        let (device, numbers) = (subject.trials(), SIZES[0] * SIZES[1]);
        let rows = device.get("valid").len();
        let (o, a) = (subject.env.spec().observation.len(), subject.env.spec().action.dim());
        let (h0, mut lasts): (Vec<_>, Vec<_>) = by_env(&explored)
            .iter()
            .enumerate()
            .map(|(number, paths)| {
                let end = paths.iter().map(|path| path.len()).sum::<usize>() - 1;
                let row = |name: &str| device.row(name, rows, end * numbers + number);
                let ended = paths[paths.len() - 1].terminated;
                (row("memory").to_vec(), subject.shown(row("limited"), row("reward")[0], ended))
            })
            .unzip();
        if !carry_over {
            lasts.iter_mut().for_each(|last| last.fill(0.0));
        }
        let [m, e, _] = SIZES;
        let h0 = subject.device.array(&[m, e, subject.config.net.memory.units], &h0.concat()).unwrap();
        for episode in 0..2 {
            let paths: Vec<&HostPath> = by_env(&tested).iter().map(|paths| paths[episode]).collect();
            let steps = paths.iter().map(|path| path.len()).max().unwrap();
            let (mut xs, mut actions) = (Vec::new(), Vec::new());
            for (t, number) in (0..steps).flat_map(|t| (0..numbers).map(move |number| (t, number))) {
                let path = paths[number];
                // Padding is not read.
                let now = t.min(path.len() - 1);
                let action = |t: usize| &path.actions[t * a..(t + 1) * a];
                xs.extend(&path.observations[now * o..(now + 1) * o]);
                xs.extend(match now {
                    0 => lasts[number].clone(),
                    // A point's actions are within their bounds by the time that the environment gets them.
                    _ => subject.shown(&subject.limited(action(now - 1)), path.rewards[now - 1], false),
                });
                actions.extend(action(now));
            }
            let inputs = subject.net.inputs();
            let xs = subject.device.array(&[steps, m, e, inputs], &xs).unwrap();
            let actions = subject.device.array(&[steps, m, e, a], &actions).unwrap();
            let again = subject.run(&[("xs", &xs), ("h0", &h0), ("actions", &actions)], |cx, parts| {
                let xs = cx.input("xs", &[steps, m, e, inputs], DType::F32);
                let h0 = cx.input("h0", &[m, e, subject.config.net.memory.units], DType::F32);
                let actions = Paths::rows(cx.input("actions", &[steps, m, e, a], DType::F32));
                let logp = subject.net.policy.distributions(parts, xs, h0, None).log_prob(actions);
                cx.output("logp", logp.reshape(&[m, steps, e, 1]).permute(&[1, 0, 2, 3]));
            });
            for (number, path) in paths.iter().enumerate() {
                let logp: Vec<f64> = (0..path.len()).map(|t| again.get("logp")[t * numbers + number]).collect();
                assert_eq!(path.agent_infos, logp, "{env} {carry_over} episode {episode} of {number}");
            }
        }
    }
}

#[test]
fn what_was_not_explored_is_not_adapted_to() {
    let subject = Subject::new("bandit", true);
    let mut sampler = sampler(&subject.env, &subject.tasks, SIZES[1]);
    let (policy, explored) = subject.explore(&mut sampler);
    // Without an episode the memory stays empty: the first test episode begins like a new trial.
    let mut fresh = adapt(policy, &Samples { tasks: vec![Vec::new(); SIZES[0]], ..Samples::default() }).unwrap();
    assert_eq!(play(&mut sampler, &mut *fresh, SIZES[2], &KEYS).tasks[0][0], explored.tasks[0][0]);
    let (policy, _) = subject.explore(&mut sampler);
    let longer = play(&mut sampler, &mut *fresh, SIZES[2] + 1, &KEYS);
    let refused = adapt(policy, &longer).err().unwrap().to_string();
    assert_eq!(refused, "episodes: there are others than those that this policy played last");

    let other = builtin("grid-world").unwrap();
    let executor = IterativeExecutor::new(1, 1, 0, |_| Ok(Box::new(Wrapped::new(&other)) as _)).unwrap();
    let mut algorithm = subject.adaptive();
    let refused = pollster::block_on(algorithm.exploration_policy(executor.fleet())).err().unwrap().to_string();
    assert!(refused.contains("grid-world") && refused.contains("shape"), "{refused}");
}

#[test]
fn a_trained_policy_is_better_after_exploring_and_an_untrained_one_is_not() {
    let (device, env) = (Device::cpu(2), builtin("bandit").unwrap());
    let tasks = draw_tasks(&env, 1000);
    let test_tasks: Vec<TestTask> = tasks.iter().map(|p| TestTask { name: None, parameters: p.clone() }).collect();
    let policy = |steps: u64| {
        let settings = "meta_batch = 64\nepisodes = 2\nunits = 24\nlearning_rate = 5e-3\ngae_lambda = 0.3\n";
        let mut session =
            training_on("rl2-ppo", env.clone()).seeds(&[5]).steps(steps).set(settings).session_on(&device);
        while steps > 1 && !session.done() {
            wait(session.step());
        }
        Evaluator::load(&device, &wait(session.policy_snapshot(0))).unwrap()
    };
    let measure = |policy: &Evaluator| {
        let mut algorithm = policy.meta_algorithm().unwrap();
        let mut first = sampler(&env, &tasks, 1);
        let fleet = first.executor().fleet().clone();
        let mut exploring = wait(algorithm.exploration_policy(&fleet));
        let keys: Vec<Key> = (0..1000).map(|i| [i, 1]).collect();
        let explored = play(&mut first, &mut *exploring, 1, &keys);
        let mean = explored.paths().map(|path| path.discounted_return(1.0)).sum::<f64>() / 1000.0;
        let executor = IterativeExecutor::new(1000, 1, 0, |_| Ok(Box::new(Wrapped::new(&env)) as _)).unwrap();
        let mut evaluator = MetaEvaluator::new(Box::new(executor));
        evaluator.n_exploration_eps = 1;
        let rows = wait(evaluator.evaluate(&mut algorithm, &test_tasks, [3, 4]));
        let get = |name: &str| rows.iter().find(|(n, _)| *n == format!("MetaTest/Average/{name}")).unwrap().1;
        assert_eq!(get("NumEpisodes"), 1000.0);
        (mean, get("AverageReturn"))
    };
    let (before, after) = (measure(&policy(1)), measure(&policy(150_000)));
    println!("untrained {before:?}, trained {after:?}: first episode, and one after it");
    // A pull at random pays a half, and an episode has ten.
    assert!((before.1 - 5.0).abs() < 0.4 && (before.1 - before.0).abs() < 0.4, "{before:?}");
    assert!(after.1 > before.1 + 0.8 && after.1 > after.0 + 0.2, "{after:?} {before:?}");
}
