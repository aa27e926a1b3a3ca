//! Meta-testing under garage's names: numbers by hand, and MAML's family on a built-in environment.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::cell::RefCell;
use std::rc::Rc;

use quickstudy_core::algo::{Algorithm, Course, Held, Learned, Training};
use quickstudy_core::backend::LocalFuture;
use quickstudy_core::credit::Paths;
use quickstudy_core::env::{ActionSpace, Dim, EnvSpec, builtin};
use quickstudy_core::host::{
    Acted, Actor, Chance, Executor, Fleet, HostEnv, IterativeExecutor, ParallelExecutor, Samples, Transition, Wrapped,
};
use quickstudy_core::meta::{
    Adaptive, Maml, MamlConfig, MetaAlgorithm, MetaEvaluator, MetaPolicy, TestSizes, TestTask, Variant, try_exploring,
};
use quickstudy_core::policy::{Acting, GaussianConfig, NetConfig, Policy};
use quickstudy_core::rng::Key;
use quickstudy_core::{Device, Program, Result, Tensor};
use quickstudy_tests::trainings::training_on;

const NAMES: [&str; 9] = [
    "Iteration",
    "NumEpisodes",
    "AverageDiscountedReturn",
    "AverageReturn",
    "StdReturn",
    "MaxReturn",
    "MinReturn",
    "TerminationRate",
    "SuccessRate",
];

/// An environment with x₀ = 0 and x' = x + a. The reward is x', and an episode ends in success at the task's goal.
struct Walk {
    spec: EnvSpec,
    info: Vec<String>,
    goal: f64,
    x: f64,
}

impl Walk {
    fn boxed() -> Box<dyn HostEnv> {
        let action = ActionSpace::continuous(vec![Dim::new("speed", -1.0, 1.0)]);
        let spec = EnvSpec::new("walk", vec![Dim::unbounded("x")], action, 3).task(vec![Dim::new("goal", 0.0, 9.0)]);
        Box::new(Walk { spec, info: vec!["energy".into(), "success".into()], goal: 0.0, x: 0.0 })
    }
}

impl HostEnv for Walk {
    fn spec(&self) -> &EnvSpec {
        &self.spec
    }
    fn info(&self) -> &[String] {
        &self.info
    }
    fn set_task(&mut self, task: &[f64]) -> Result<()> {
        self.goal = task[0];
        Ok(())
    }
    fn reset(&mut self, _chance: Chance) -> Result<Vec<f64>> {
        self.x = 0.0;
        Ok(vec![0.0])
    }
    fn step(&mut self, action: &[f64], _chance: Chance) -> Result<Transition> {
        self.x += action[0];
        let there = self.x == self.goal;
        Ok(Transition {
            observation: vec![self.x],
            reward: self.x,
            terminated: there,
            truncated: false,
            info: vec![action[0], f64::from(u8::from(there))],
        })
    }
}

const TOO_FEW: &str = "n_exploration_eps: 1 episodes are fewer than the 2 rounds in which the policy adapts, each \
                       after at least one; give at least 2";

type Log = Rc<RefCell<Vec<String>>>;

/// A policy of constant speed, which doubles with each adaptation.
struct Speed(f64, Log);

impl Actor for Speed {
    fn begin(&mut self, keys: &[Key]) -> Result<()> {
        self.1.borrow_mut().push(format!("play {} with {} keys", self.0, keys.len()));
        Ok(())
    }
    fn act<'a>(&'a mut self, observations: &'a [f64], _step: u32) -> LocalFuture<'a, Result<Acted>> {
        let drawn = vec![self.0; observations.len()];
        Box::pin(async move { Ok(Acted { played: drawn.clone(), drawn, info: Vec::new() }) })
    }
}

impl MetaPolicy for Speed {
    fn adapt<'a>(self: Box<Self>, episodes: &'a Samples) -> LocalFuture<'a, Result<Box<dyn MetaPolicy>>> {
        let counts: Vec<usize> = episodes.tasks.iter().map(Vec::len).collect();
        assert!(episodes.paths().all(|path| path.actions.iter().all(|a| *a == self.0)));
        self.1.borrow_mut().push(format!("adapt to {counts:?} episodes"));
        Box::pin(async move { Ok(Box::new(Speed(2.0 * self.0, self.1)) as Box<dyn MetaPolicy>) })
    }
}

struct Doubling(Log);

impl MetaAlgorithm for Doubling {
    fn discount(&self) -> f64 {
        0.5
    }
    fn rounds(&self) -> usize {
        2
    }
    fn exploration_policy<'a>(&'a mut self, _fleet: &'a Fleet) -> LocalFuture<'a, Result<Box<dyn MetaPolicy>>> {
        Box::pin(async move { Ok(Box::new(Speed(0.25, self.0.clone())) as Box<dyn MetaPolicy>) })
    }
}

fn tasks(goals: &[(Option<&str>, f64)]) -> Vec<TestTask> {
    goals.iter().map(|(name, goal)| TestTask { name: name.map(str::to_owned), parameters: vec![*goal] }).collect()
}

#[test]
fn results_are_those_of_test_episodes_by_task_and_in_all() {
    let log = Log::default();
    let executor = IterativeExecutor::new(3, 1, 0, |_| Ok(Walk::boxed())).unwrap();
    let mut evaluator = MetaEvaluator::new(Box::new(executor));
    // Five episodes of exploration in two rounds.
    (evaluator.n_exploration_eps, evaluator.n_test_episodes) = (5, 2);
    let tasks = tasks(&[(Some("near"), 1.0), (None, 9.0), (Some("near"), 1.0)]);
    // After two rounds the speed is 1: x is 1, at the goal, or 1, 2, 3 and cut off.
    let near = [2.0 * 2.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0];
    let far = [2.0, 1.0 + 0.5 * 2.0 + 0.25 * 3.0, 6.0, 0.0, 6.0, 6.0, 0.0, 0.0];
    let std = ((2.0 * (5.0_f64 / 3.0).powi(2) + (10.0_f64 / 3.0).powi(2)) / 3.0).sqrt();
    let all = [6.0, 4.75 / 3.0, 8.0 / 3.0, std, 6.0, 1.0, 2.0 / 3.0, 2.0 / 3.0];
    for iteration in 0..2 {
        let rows = pollster::block_on(evaluator.evaluate(&mut Doubling(log.clone()), &tasks, [1, iteration])).unwrap();
        let mut rows = rows.into_iter();
        for (task, want) in [("near", near), ("__unnamed_task__", far), ("Average", all)] {
            let want = [&[f64::from(iteration)][..], &want].concat();
            for (name, want) in NAMES.iter().zip(want) {
                let (got, value) = rows.next().unwrap();
                assert_eq!(got, format!("MetaTest/{task}/{name}"));
                assert!((value - want).abs() < 1e-12, "{got}: {value}, expected {want}");
            }
        }
        assert_eq!(rows.next(), None);
    }
    let once = [
        "play 0.25 with 3 keys",
        "adapt to [3, 3, 3] episodes",
        "play 0.5 with 3 keys",
        "adapt to [2, 2, 2] episodes",
        "play 1 with 3 keys",
    ];
    assert_eq!(*log.borrow(), [once, once].concat());
}

/// A policy of MAML's family that notes how many episodes it adapts to.
#[derive(Debug)]
struct Counting(Maml, RefCell<Vec<usize>>);

impl Learned for Counting {
    fn policy(&self) -> Box<dyn Policy + '_> {
        self.0.policy()
    }
    fn course(&self) -> Course {
        self.0.course()
    }
    fn start(&self, held: &Held, tasks: usize) -> Acting {
        self.0.start(held, tasks)
    }
    fn adapt(&self, held: &Held, acting: &Acting, seen: &Paths) -> Acting {
        self.1.borrow_mut().push(seen.reward.size(2));
        self.0.adapt(held, acting, seen)
    }
}

#[test]
fn programs_divide_episodes_of_exploration_over_rounds_and_refuse_fewer() {
    let (device, env) = (Device::cpu(1), builtin("point-corner").unwrap());
    let config = MamlConfig { horizon: 5, inner_steps: 2, ..MamlConfig::of(Variant::ProMp) };
    let make = || Maml::new(Variant::ProMp, &config, env.spec()).unwrap();
    let counting = Counting(make(), RefCell::default());
    let sizes = |n_exploration_eps| TestSizes { n_exploration_eps, n_test_episodes: 3, n_test_tasks: 2 };
    drop(Program::new(&device, |cx| {
        let held = (&counting.0 as &dyn Algorithm).declare_policy(cx, 1);
        let key = [3, 5].map(|word| Tensor::constant_u32(word).broadcast_to(&[1, 1]));
        let tried = try_exploring(&counting, &env, &held, key, (sizes(5), true));
        // One row for each of the three test episodes of two tasks.
        cx.output("returns", tried.stages[0].paths().path_returns().reshape(&[6]));
    }));
    assert_eq!(*counting.1.borrow(), [3, 2]);
    let text = "hidden = [4]\nmeta_batch = 2\nrollouts = 2\ninner_steps = 2";
    let mut session = training_on("promp", env).steps(1).set(text).session_on(&device);
    assert_eq!(pollster::block_on(session.evaluate(sizes(1))).unwrap_err().to_string(), TOO_FEW);
    assert_eq!(pollster::block_on(session.evaluate(sizes(2))).unwrap()[0].len(), 6);
}

#[test]
fn names_that_were_asked_for_always_have_results() {
    let executor = IterativeExecutor::new(1, 1, 0, |_| Ok(Walk::boxed())).unwrap();
    let mut evaluator = MetaEvaluator::new(Box::new(executor));
    evaluator.test_task_names = vec!["far".into(), "near".into()];
    evaluator.prefix = "Held".into();
    let near = tasks(&[(Some("near"), 1.0)]);
    let rows = pollster::block_on(evaluator.evaluate(&mut Doubling(Log::default()), &near, [0, 0])).unwrap();
    let names: Vec<String> = ["far", "near", "Average"]
        .iter()
        .flat_map(|task| NAMES.iter().map(move |name| format!("Held/{task}/{name}")))
        .collect();
    assert_eq!(rows.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>(), names);
    assert_eq!((rows[0].1, rows[1].1), (0.0, 0.0));
    assert!(rows[2..9].iter().all(|(_, value)| value.is_nan()), "{rows:?}");
    assert!(rows[9..].iter().all(|(_, value)| value.is_finite()), "{rows:?}");
    let refused = pollster::block_on(evaluator.evaluate(&mut Doubling(Log::default()), &[], [0, 0]));
    assert_eq!(refused.unwrap_err().to_string(), "tasks: 0 were given to an executor of 1; give as many");
    evaluator.n_exploration_eps = 1;
    let refused = pollster::block_on(evaluator.evaluate(&mut Doubling(Log::default()), &near, [0, 0]));
    assert_eq!(refused.unwrap_err().to_string(), TOO_FEW);
    evaluator.n_test_episodes = 0;
    let refused = pollster::block_on(evaluator.evaluate(&mut Doubling(Log::default()), &near, [0, 0]));
    assert_eq!(refused.unwrap_err().to_string(), "n_test_episodes: 0 episodes show nothing; give at least 1");
}

#[test]
fn mamls_family_is_tested_on_held_out_tasks_of_a_built_in_environment() {
    let (device, env) = (Device::cpu(1), builtin("point-corner").unwrap());
    let config = MamlConfig {
        horizon: 15,
        inner_steps: 2,
        learn_inner_lr: true,
        net: NetConfig {
            gaussian: GaussianConfig { log_std_init: -1.0, ..GaussianConfig::default() },
            ..NetConfig::hidden(vec![16])
        },
        ..MamlConfig::of(Variant::ProMp)
    };
    let maml = Maml::new(Variant::ProMp, &config, env.spec()).unwrap();
    let training = Training::new(&device, Rc::new(maml), &env, &[3]).unwrap();
    let theta = training.state.get("theta").unwrap().clone();
    let tasks: Vec<TestTask> =
        (0..4).map(|i| TestTask { name: None, parameters: env.sample_task([8, 8], i) }).collect();
    let evaluate = |learn_inner_lr: bool, inner_lr: f64, threads: bool| {
        // Learned step sizes are a part of θ, and fixed ones are not.
        let config = MamlConfig { learn_inner_lr, inner_lr, ..config.clone() };
        let parameters = pollster::block_on(device.read(&theta)).unwrap();
        let len = if config.learn_inner_lr { parameters.len() } else { parameters.len() / 2 };
        let theta = device.array(&[1, len], &parameters[..len]).unwrap();
        let make = |_| -> Result<Box<dyn HostEnv>> { Ok(Box::new(Wrapped::new(&env))) };
        let executor: Box<dyn Executor> = match threads {
            true => Box::new(ParallelExecutor::new(4, 1, 15, 0, make).unwrap()),
            false => Box::new(IterativeExecutor::new(4, 1, 15, make).unwrap()),
        };
        let mut evaluator = MetaEvaluator::new(executor);
        let algorithm = Rc::new(Maml::new(Variant::ProMp, &config, env.spec()).unwrap());
        let mut algorithm = Adaptive::new(&device, algorithm, vec![("theta", theta)]);
        let mut rows = pollster::block_on(evaluator.evaluate(&mut algorithm, &tasks, [5, 6])).unwrap();
        assert!(rows.iter().all(|(name, x)| x.is_finite() != name.ends_with("SuccessRate")), "{rows:?}");
        rows.retain(|(name, _)| name.starts_with("MetaTest/Average/") && !name.ends_with("SuccessRate"));
        rows
    };
    let rows = evaluate(true, 0.1, false);
    let [mean, max, min] = [3, 5, 6].map(|i| rows[i].1);
    assert!(max > mean && mean > min, "{rows:?}");
    assert_eq!(rows[1].1, 4.0);
    // γ < 1 and rewards below 0.
    assert!(rows[2].1 > mean, "{rows:?}");
    assert_eq!(rows, evaluate(true, 0.1, true));
    // Learned step sizes are all 0.1 at first; those of 1e-9 do not adapt.
    assert_eq!(rows, evaluate(false, 0.1, false));
    assert_ne!(rows, evaluate(false, 1e-9, false));
}
