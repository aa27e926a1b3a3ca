//! Sessions whose environments are played on the host, and policies on a caller's own environments and tasks.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::rc::Rc;

use quickstudy_core::algo::Training;
use quickstudy_core::env::{EnvDef, EnvSpec, builtin};
use quickstudy_core::host::{
    Chance, EnvPlace, FleetSize, HostEnv, IterativeExecutor, ParallelExecutor, Transition, Wrapped,
};
use quickstudy_core::train::{
    ALGORITHMS, AdaptationStage, Episode, Evaluator, MetaTest, PathStep, Session, Setup, StageUnit, Viewer,
};
use quickstudy_core::{DType, Device, Result, State};
use quickstudy_tests::hosted::hosted;
use quickstudy_tests::trainings::{finish, restored, snapshots, training, training_on, wait};

const PPO: &str = "hidden = [8]\nenvs = 4\nhorizon = 16\nminibatches = 2\nnormalise_observations = true";
const TRPO: &str = "hidden = [8]\nenvs = 4\nhorizon = 16\nminibatches = 2\ncritic_epochs = 2\nnormalise_rewards = true";
const RL2: &str = "units = 8\nmeta_batch = 4\nminibatches = 2";
const PROMP: &str = "hidden = [8]\nmeta_batch = 2\nrollouts = 3\nhorizon = 8";

/// Setups of one run inside of programs and on the host.
fn pair(algorithm: &str, env: &EnvDef, text: &str) -> [Setup; 2] {
    // No preset holds on the host, so all that matters is written out.
    let of = |place: EnvPlace| training_on(algorithm, place).seeds(&[3, 4]).steps(1).set(text).setup();
    [of(env.clone().into()), of(hosted(env))]
}

fn policies(session: &Session) -> Vec<Vec<u8>> {
    let all = wait(session.policy_snapshots());
    (0..2).map(|index| wait(all.encode(index))).collect()
}

#[test]
fn the_same_run_on_the_host_reports_and_saves_the_same_and_goes_on_from_a_snapshot() {
    let device = Device::cpu(1);
    // Environments without presets, which would make the two differ.
    for (algorithm, env, text) in [
        ("ppo", "grid-world", PPO),
        ("trpo", "grid-world", TRPO),
        ("promp", "point-arena", PROMP),
        ("rl2-ppo", "dark-room", RL2),
    ] {
        let env = builtin(env).unwrap();
        let [inside, outside] = pair(algorithm, &env, text);
        assert_eq!(inside.table(), outside.table());
        let mut inside = Session::new(&device, &inside).unwrap();
        let mut session = Session::new(&device, &outside).unwrap();
        let same = |a: Vec<Vec<(String, f64)>>, b: Vec<Vec<(String, f64)>>| {
            assert_eq!(format!("{a:?}"), format!("{b:?}"), "{algorithm}");
        };
        for _ in 0..2 {
            same(wait(inside.step()), wait(session.step()));
        }
        assert_eq!(policies(&inside), policies(&session), "{algorithm}");
        let saved = snapshots(&session);
        let again = restored(hosted(&env), &saved);
        assert_eq!((again.iteration(), again.env_steps()), (2, session.env_steps()));
        assert_eq!(policies(&again), policies(&session));
        // It goes on in the episodes that were saved, and then saves equal bytes to those of a run that never
        // stopped, also before its first iteration.
        assert!(!again.begins_anew());
        let mut again = again;
        assert_eq!(wait(again.snapshot(1)), saved[1], "{algorithm}");
        for _ in 0..2 {
            same(wait(session.step()), wait(again.step()));
        }
        for index in 0..2 {
            assert!(wait(session.snapshot(index)) == wait(again.snapshot(index)), "{algorithm}");
        }
        // The host's episodes cannot go on inside of programs, and the error says what is missing.
        if ["ppo", "trpo"].contains(&algorithm) {
            let files: Vec<&[u8]> = saved.iter().map(Vec::as_slice).collect();
            let error = Session::restore(&device, &files).unwrap_err().to_string();
            assert!(error.contains("`environment.state` is missing"), "{error}");
        }
    }
}

/// An environment that cannot save its state.
struct Forgetful(Wrapped);

impl HostEnv for Forgetful {
    fn spec(&self) -> &EnvSpec {
        self.0.spec()
    }
    fn reset(&mut self, chance: Chance) -> Result<Vec<f64>> {
        self.0.reset(chance)
    }
    fn step(&mut self, action: &[f64], chance: Chance) -> Result<Transition> {
        Ok(Transition { info: Vec::new(), ..self.0.step(action, chance)? })
    }
}

#[test]
fn two_resumes_of_one_snapshot_are_alike_where_environments_cannot_save() {
    let device = Device::cpu(1);
    let env = builtin("cartpole").unwrap();
    let inner = env.clone();
    let place = EnvPlace::of_envs(move |_| Ok(Box::new(Forgetful(Wrapped::new(&inner))))).unwrap();
    let mut session = training_on("ppo", place.clone()).seeds(&[3, 4]).steps(1000).set(PPO).session_on(&device);
    wait(session.step());
    let saved = snapshots(&session);
    let [a, b] = [0; 2].map(|_| {
        let mut again = restored(place.clone(), &saved);
        assert!(again.begins_anew());
        wait(again.step());
        assert!(!again.begins_anew());
        [0, 1].map(|index| wait(again.snapshot(index)))
    });
    assert!(a == b);
    wait(session.step());
    assert!(wait(session.snapshot(0)) != a[0], "new episodes are others");
}

#[test]
fn environments_on_threads_save_and_go_on_as_those_one_after_the_other() {
    let device = Device::cpu(1);
    let env = builtin("pendulum").unwrap();
    let on_threads = {
        let env = env.clone();
        EnvPlace::host(env.spec().clone(), move |FleetSize { tasks, envs_per_task, horizon }| {
            let make = |_| -> Result<Box<dyn HostEnv>> { Ok(Box::new(Wrapped::new(&env))) };
            Ok(Box::new(ParallelExecutor::new(tasks, envs_per_task, horizon, 3, make)?))
        })
    };
    let mut session = training_on("ppo", hosted(&env)).seeds(&[3, 4]).steps(1000).set(PPO).session_on(&device);
    wait(session.step());
    let saved = snapshots(&session);
    let mut again = restored(on_threads, &saved);
    wait(session.step());
    wait(again.step());
    assert!(wait(session.snapshot(0)) == wait(again.snapshot(0)));
}

#[test]
fn episodes_after_a_resume_begin_without_the_noise_of_those_before() {
    let device = Device::cpu(1);
    let env = builtin("pendulum").unwrap();
    let text = "hidden = [8]\nbatch_size = 8\nlearning_starts = 40\niteration_steps = 40\nenvs = 2\n\
                warm_up = \"policy\"\nnoise = \"ornstein_uhlenbeck\"";
    let settings = toml::from_str(text).unwrap();
    let def = ALGORITHMS.iter().find(|def| def.name == "ddpg").unwrap();
    let fitted = || Rc::from(def.fit(&settings, env.spec()).unwrap().for_steps(400).unwrap().unwrap());
    let make = |_| -> Result<Box<dyn HostEnv>> { Ok(Box::new(Wrapped::new(&env))) };
    let executor = || Box::new(IterativeExecutor::new(1, 2, 0, make).unwrap());
    let mut training = Training::new(&device, fitted(), executor(), &[3]).unwrap();
    wait(training.step(0, 5));
    wait(training.step(1, 5));
    let noise = training.state().get("disturbance").unwrap();
    assert!(wait(device.read(noise)).iter().all(|x| *x != 0.0), "there is noise that could be kept");
    // Going on from a present state, and from one that has never had noise.
    let [after, want] = [false, true].map(|fresh| {
        // Passes change state in place, so each run has its own.
        let mut state = State::new();
        for (name, array) in training.state().iter() {
            let copy = match array.dtype() {
                DType::F32 => device.array(&array.shape, &wait(device.read(array))),
                DType::U32 => device.array_u32(&array.shape, &wait(device.read_u32(array))),
            };
            state.insert(name, copy.unwrap());
        }
        if fresh {
            state.insert("disturbance", device.zeros(&noise.shape, noise.dtype()).unwrap());
        }
        let mut training = Training::resume(&device, fitted(), executor(), &[3], state).unwrap();
        wait(training.step(2, 5));
        ["memory", "disturbance", "theta"].map(|name| wait(device.read(training.state().get(name).unwrap())))
    });
    assert!(after == want);
}

#[test]
fn calls_that_need_programs_and_executors_that_do_not_fit_say_so() {
    let device = Device::cpu(1);
    let env = builtin("cartpole").unwrap();
    let make = |_| -> Result<Box<dyn HostEnv>> { Ok(Box::new(Wrapped::new(&env))) };
    let executor = |each| Box::new(IterativeExecutor::new(2, each, 0, make).unwrap());
    let resolve = |place: EnvPlace| training_on("ppo", place).seeds(&[3, 4]).steps(1).set(PPO).setup();
    let error = Session::new(&device, &resolve(executor(3).into())).unwrap_err().to_string();
    assert!(error.starts_with("executor: the executor plays 2 tasks on 3 environments each"), "{error}");
    // An executor that was made beforehand plays once.
    let setup = resolve(executor(4).into());
    let mut session = Session::new(&device, &setup).unwrap();
    let error = pollster::block_on(session.evaluate(1)).unwrap_err().to_string();
    assert!(error.starts_with("executor: the only one is taken"), "{error}");
    let other = builtin("pendulum").unwrap();
    let wrong =
        EnvPlace::host(env.spec().clone(), move |size| hosted(&other).executor(size).map(|executor| executor.unwrap()));
    let error = Session::new(&device, &resolve(wrong)).unwrap_err().to_string();
    assert!(error.starts_with("executor: the executor plays `pendulum`, whose spaces are not"), "{error}");
    let policy = Evaluator::load_with(&device, hosted(&env), &wait(session.policy_snapshot(0))).unwrap();
    let error = Viewer::new(&policy, 1, 0, true).unwrap_err().to_string();
    assert!(error.contains("`cartpole` is played on the host"), "{error}");
}

#[test]
fn a_policy_plays_environments_of_the_host() {
    let device = Device::cpu(1);
    let env = builtin("cartpole").unwrap();
    let text = "hidden = [16]\nenvs = 8\nhorizon = 64\nminibatches = 4\nlearning_rate = 3e-3";
    let mut session = training_on("ppo", env.clone()).seeds(&[0]).steps(30_000).set(text).session_on(&device);
    let before = wait(session.policy_snapshot(0));
    finish(&mut session);
    let after = wait(session.policy_snapshot(0));
    let played = |bytes: &[u8], deterministic: bool| -> f64 {
        let mut policy = Evaluator::load_with(&device, hosted(&env), bytes).unwrap();
        let episodes: Vec<Episode> = wait(policy.evaluate(20, 1, deterministic));
        assert_eq!(episodes.len(), 20);
        assert!(episodes.iter().all(|e| e.ret == f64::from(e.length) && e.terminated == (e.length < 500)));
        episodes.iter().map(|e| e.ret).sum::<f64>() / 20.0
    };
    let (untrained, trained) = (played(&before, false), played(&after, true));
    assert!(untrained < 60.0 && trained > 200.0, "{untrained} {trained}");
    assert!(played(&after, false) > untrained);
}

#[test]
fn tasks_of_ones_own_are_adapted_to_as_those_that_were_drawn() {
    let device = Device::cpu(1);
    for (algorithm, env, text) in
        [("promp", "navigation", PROMP), ("rl2-ppo", "bandit", "units = 8\nmeta_batch = 4\nminibatches = 1")]
    {
        let mut session = training(algorithm, env).seeds(&[0]).steps(1).set(text).session_on(&device);
        wait(session.step());
        let policy = Evaluator::load(&device, &wait(session.policy_snapshot(0))).unwrap();
        let test = MetaTest { tasks: 3, seed: 9, ..MetaTest::default() };
        let drawn = wait(policy.adapt(test));
        let given = wait(policy.adapt_to(&drawn.tasks, test));
        assert_eq!(drawn, given, "{algorithm}");
        // Each path's rewards are the first rollout's return.
        for stage in &given.stages {
            for (path, returns) in stage.paths.iter().zip(&stage.returns) {
                let sum: f64 = path.iter().map(|step| step.reward).sum();
                assert!((sum - returns[0]).abs() <= 1e-4 * (1.0 + sum.abs()), "{algorithm}: {sum} {returns:?}");
                assert!(path.iter().all(|step| step.action.len() == policy.env().spec().action.dim()));
            }
        }
        let other: Vec<Vec<f32>> = drawn.tasks.iter().map(|task| task.iter().map(|x| 0.5 * x).collect()).collect();
        let elsewhere = wait(policy.adapt_to(&other, test));
        assert_eq!(elsewhere.tasks, other);
        assert_ne!(elsewhere.stages, drawn.stages, "{algorithm}");
        for wrong in [vec![vec![0.5]], vec![vec![f32::NAN; other[0].len()]]] {
            let error = pollster::block_on(policy.adapt_to(&wrong, test)).unwrap_err().to_string();
            assert!(error.contains("is no task of"), "{error}");
        }
    }
}

#[test]
fn a_policy_adapts_to_the_same_returns_on_the_host() {
    let device = Device::cpu(1);
    let env = builtin("point-arena").unwrap();
    let mut session = training_on("promp", env.clone()).seeds(&[7]).steps(1).set(PROMP).session_on(&device);
    wait(session.step());
    let bytes = wait(session.policy_snapshot(0));
    let inside = Evaluator::load(&device, &bytes).unwrap();
    let mut outside = Evaluator::load_with(&device, hosted(&env), &bytes).unwrap();
    let test = MetaTest { tasks: 3, inner_steps: Some(2), seed: 5, deterministic: false, ..MetaTest::default() };
    let want = wait(inside.adapt(test));
    let got = wait(outside.adapt(test));
    assert_eq!(got.stages.len(), 3);
    assert_eq!((&got.tasks, got.unit, got.horizon), (&want.tasks, want.unit, want.horizon));
    for (got, want) in got.stages.iter().zip(&want.stages) {
        for (a, b) in got.returns.iter().flatten().zip(want.returns.iter().flatten()) {
            assert!((a - b).abs() <= 1e-5 * b.abs().max(1.0), "{a} instead of {b}");
        }
        for (got, want) in got.paths.iter().zip(&want.paths) {
            let pairs =
                |path: &[PathStep]| path.iter().map(|step| (step.action.clone(), step.reward)).collect::<Vec<_>>();
            assert_eq!(pairs(got), pairs(want));
        }
    }
    // One episode after adaptation on each of several tasks.
    let fleet = outside.fleet(4).unwrap();
    assert_eq!(fleet, FleetSize { tasks: 4, envs_per_task: 3, horizon: 8 });
    let played = wait(outside.evaluate(4, 5, false));
    let adapted = wait(outside.adapt(MetaTest { tasks: 4, inner_steps: None, ..test }));
    let last = &adapted.stages.last().unwrap().returns;
    assert_eq!(played.iter().map(|e| e.ret).collect::<Vec<_>>(), last.iter().map(|r| r[0]).collect::<Vec<_>>());
    let error = pollster::block_on(outside.evaluate(4, 5, true)).unwrap_err().to_string();
    assert!(error.starts_with("deterministic: policies draw"), "{error}");
    // On tasks that the caller gives.
    let tasks = vec![vec![0.5, 0.25], vec![-0.5, 0.0]];
    let two = MetaTest { tasks: 2, ..test };
    let given = wait(outside.adapt_to(&tasks, test));
    let narrow: Vec<Vec<f32>> = tasks.iter().map(|task| task.iter().map(|x| *x as f32).collect()).collect();
    let (mut got, want) =
        (given.stages[2].paths.clone(), wait(inside.adapt_to(&narrow, test)).stages.swap_remove(2).paths);
    // The observation is the place and the distance from the goal.
    got.iter_mut().flatten().for_each(|step| step.state.truncate(2));
    assert_eq!(got, want);
    // Invalid tasks are refused.
    for tasks in [vec![vec![0.5]], vec![vec![0.5, f64::NAN]]] {
        let error = pollster::block_on(outside.adapt_to(&tasks, test)).unwrap_err().to_string();
        assert!(error.starts_with("tasks: [0.5") && error.contains("is no task of `point-arena`"), "{error}");
    }
    let many = MetaTest { tasks: 1 << 14, rollouts: Some(1 << 14), ..test };
    assert!(outside.test_fleet(&many).unwrap_err().to_string().contains("are more than"));
    let refused = |test: MetaTest| outside.test_fleet(&test).unwrap_err().to_string();
    assert!(refused(MetaTest { deterministic: true, ..test }).starts_with("deterministic: policies draw"));
    assert!(refused(MetaTest { tasks: 0, ..test }).starts_with("tasks: 0 is not in 1"));
    let executor = hosted(&env).executor(outside.test_fleet(&two).unwrap()).unwrap().unwrap();
    let error = pollster::block_on(outside.adapt_in(executor, None, test)).unwrap_err().to_string();
    assert!(error.starts_with("executor: it plays [2, 3, 8]"), "{error}");
}

#[test]
fn a_memory_adapts_on_the_host() {
    let device = Device::cpu(2);
    let env = builtin("bandit:arms=3,pulls=20").unwrap();
    let text = "units = 16\nmeta_batch = 64\nepisodes = 1\nlearning_rate = 3e-3";
    let mut session = training_on("rl2-ppo", env.clone()).seeds(&[0]).steps(200_000).set(text).session_on(&device);
    let untrained = wait(session.policy_snapshot(0));
    finish(&mut session);
    let trained = wait(session.policy_snapshot(0));
    let arms = vec![vec![0.1, 0.9, 0.1]; 100];
    let last = |bytes: &[u8]| {
        let policy = Evaluator::load_with(&device, hosted(&env), bytes).unwrap();
        let test = MetaTest { tasks: 100, deterministic: false, ..MetaTest::default() };
        let adaptation = wait(policy.adapt_to(&arms, test));
        assert_eq!((adaptation.unit, adaptation.stages.len()), (StageUnit::Steps(1), 20));
        let pull = |stage: &AdaptationStage| stage.task_means().iter().sum::<f64>() / 100.0;
        [pull(&adaptation.stages[0]), adaptation.stages[15..].iter().map(pull).sum::<f64>() / 5.0]
    };
    let ([_, never], [first, after]) = (last(&untrained), last(&trained));
    // One of three arms pays: 0.37 at random.
    assert!(never < 0.5 && after > 0.6 && after > first + 0.15, "{never} untrained, {first}, then {after}");
}
