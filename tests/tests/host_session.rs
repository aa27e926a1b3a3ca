//! Sessions whose environments are played on the host, and policies on environments and tasks of the caller's.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy_core::env::{EnvDef, builtin};
use quickstudy_core::host::{Executor, HostEnv, IterativeExecutor, Wrapped};
use quickstudy_core::train::{Episode, Evaluator, Layer, MetaTest, Playground, Session, Setup};
use quickstudy_core::{Device, Result};

fn wait<T>(future: impl Future<Output = Result<T>>) -> T {
    pollster::block_on(future).unwrap()
}

fn executor(env: &EnvDef, setup: &Setup) -> Box<dyn Executor> {
    let [tasks, each, horizon] = setup.fleet();
    let make = |_| -> Result<Box<dyn HostEnv>> { Ok(Box::new(Wrapped::new(env))) };
    Box::new(IterativeExecutor::new(tasks, each, horizon, make).unwrap())
}

fn layer(text: &str) -> [Layer; 1] {
    [Layer { origin: "test".into(), settings: toml::from_str(text).unwrap() }]
}

const PPO: &str = "hidden = [8]\nenvs = 4\nhorizon = 16\nminibatches = 2\nnormalise_observations = true";
const TRPO: &str = "hidden = [8]\nenvs = 4\nhorizon = 16\nminibatches = 2\ncritic_epochs = 2\nnormalise_rewards = true";
const RL2: &str = "units = 8\nmeta_batch = 4\nminibatches = 2";
const PROMP: &str = "hidden = [8]\nmeta_batch = 2\nrollouts = 3\nhorizon = 8";

/// Setups of the same run inside of programs and on the host.
fn pair(algorithm: &str, env: &EnvDef, text: &str) -> [Setup; 2] {
    // On the host no preset applies: write all that matters.
    let of = |playground: Playground| Setup::resolve(algorithm, playground, &[3, 4], Some(1), &layer(text)).unwrap();
    [of(env.clone().into()), of(Playground::Host(env.spec().clone()))]
}

fn policies(session: &Session) -> Vec<Vec<u8>> {
    let all = wait(session.policy_snapshots());
    (0..2).map(|member| all.encode(member).unwrap()).collect()
}

#[test]
fn the_same_run_on_the_host_reports_and_saves_the_same_and_goes_on_from_a_snapshot() {
    let device = Device::cpu(1);
    // Names of presets would make the two differ.
    for (algorithm, env, text) in [
        ("ppo", "grid-world", PPO),
        ("trpo", "grid-world", TRPO),
        ("promp", "point-arena", PROMP),
        ("rl2-ppo", "dark-room", RL2),
    ] {
        let env = builtin(env).unwrap();
        let [inside, outside] = pair(algorithm, &env, text);
        assert_eq!(inside.config, outside.config);
        let mut inside = Session::new(&device, &inside).unwrap();
        let mut session = Session::on_host(&device, &outside, executor(&env, &outside)).unwrap();
        let same = |a: Vec<Vec<(String, f64)>>, b: Vec<Vec<(String, f64)>>| {
            assert_eq!(format!("{a:?}"), format!("{b:?}"), "{algorithm}");
        };
        for _ in 0..2 {
            same(wait(inside.step()), wait(session.step()));
        }
        assert_eq!(policies(&inside), policies(&session), "{algorithm}");
        let saved: Vec<Vec<u8>> = (0..2).map(|member| wait(session.snapshot(member))).collect();
        let bytes: Vec<&[u8]> = saved.iter().map(Vec::as_slice).collect();
        let again =
            Session::restore_on_host(&device, env.spec().clone(), &bytes, |setup| Ok(executor(&env, setup))).unwrap();
        assert_eq!((again.iteration(), again.env_steps()), (2, session.env_steps()));
        assert_eq!(policies(&again), policies(&session));
        let mut again = again;
        let rows = wait(again.step());
        assert!(rows[0].iter().any(|(name, x)| name == "time/iterations" && *x == 3.0), "{rows:?}");
        // Its episodes are in the middle of nothing, so that it cannot go on inside of programs, and says what is missing.
        if ["ppo", "trpo"].contains(&algorithm) {
            let error = Session::restore(&device, &bytes).unwrap_err().to_string();
            assert!(error.contains("`env_state` is missing"), "{error}");
        }
    }
}

#[test]
fn calls_that_need_programs_and_executors_that_do_not_fit_say_so() {
    let device = Device::cpu(1);
    let env = builtin("cartpole").unwrap();
    let host = || Playground::Host(env.spec().clone());
    let [_, setup] = pair("ppo", &env, PPO);
    assert!(Session::new(&device, &setup).unwrap_err().to_string().contains("pass an executor"));
    let mut session = Session::on_host(&device, &setup, executor(&env, &setup)).unwrap();
    assert!(pollster::block_on(session.evaluate(1)).unwrap_err().to_string().contains("pass an executor"));
    let other = Setup::resolve("ppo", host(), &[0], None, &[]).unwrap();
    let error = Session::on_host(&device, &other, executor(&env, &setup)).unwrap_err().to_string();
    assert!(error.starts_with("executor: "), "{error}");
}

#[test]
fn a_policy_plays_environments_of_the_host() {
    let device = Device::cpu(1);
    let env = builtin("cartpole").unwrap();
    let text = "hidden = [16]\nenvs = 8\nhorizon = 64\nminibatches = 4\nlearning_rate = 3e-3";
    let setup = Setup::resolve("ppo", env.clone(), &[0], Some(30_000), &layer(text)).unwrap();
    let mut session = Session::new(&device, &setup).unwrap();
    let before = wait(session.policy_snapshot(0));
    while !session.done() {
        wait(session.step());
    }
    let after = wait(session.policy_snapshot(0));
    let played = |bytes: &[u8], deterministic: bool| -> f64 {
        let host = Playground::Host(env.spec().clone());
        let policy = Evaluator::load_with(&device, Some(host), bytes).unwrap();
        let make = |_| -> Result<Box<dyn HostEnv>> { Ok(Box::new(Wrapped::new(&env))) };
        let executor = Box::new(IterativeExecutor::new(1, 20, 0, make).unwrap());
        let episodes: Vec<Episode> = wait(policy.play(executor, 1, deterministic));
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
        let setup = Setup::resolve(algorithm, builtin(env).unwrap(), &[0], Some(1), &layer(text)).unwrap();
        let mut session = Session::new(&device, &setup).unwrap();
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
