//! Time limits in an environment's name: in programs, for tasks, on the host, in snapshots.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use quickstudy_core::Device;
use quickstudy_core::env::builtin;
use quickstudy_core::host::{EnvPlace, FleetSize};
use quickstudy_core::train::{Evaluator, MetaTest, Own, Session, preset};
use quickstudy_tests::hosted::hosted;
use quickstudy_tests::trainings::{training, training_on, wait};

const PPO: &str = "hidden = [8]\nenvs = 2\nhorizon = 40\nminibatches = 2";
const PROMP: &str = "hidden = [8]\nmeta_batch = 2\nrollouts = 3";
const RL2: &str = "units = 8\nmeta_batch = 4\nminibatches = 2\nepisodes = 3";
const PEARL: &str = "hidden = [8]\nencoder_hidden_sizes = [8]\ntrain_tasks = 2\nmeta_batch = 2\nbatch_size = 8\n\
                     num_steps_per_epoch = 1\nnum_initial_steps = 21\nnum_tasks_sample = 2\nnum_steps_prior = 14\n\
                     num_extra_rl_steps_posterior = 0\nembedding_batch_size = 8\nembedding_mini_batch_size = 8";

/// The mean length of the episodes of a run's first iterations.
fn lengths(session: &mut Session) -> f64 {
    let mut rows = Vec::new();
    while !session.done() {
        rows.extend(wait(session.step()));
    }
    let mut lengths = rows.iter().flatten().filter(|(name, x)| name == "rollout/ep_len_mean" && x.is_finite());
    lengths.next_back().unwrap().1
}

#[test]
fn episodes_of_all_families_keep_it_and_snapshots_too() {
    let device = Device::cpu(1);
    for (algorithm, env, text, steps) in [
        ("ppo", "pendulum:time_limit=7", PPO, 80),
        ("promp", "point-momentum:time_limit=7", PROMP, 1),
        ("rl2-ppo", "tabular-mdp:time_limit=7", RL2, 1),
        ("pearl", "point-robot:time_limit=7", PEARL, 80),
    ] {
        let setup = training(algorithm, env).seeds(&[5]).steps(steps).set(text).setup();
        let mut session = Session::new(&device, &setup).unwrap();
        assert_eq!(lengths(&mut session), 7.0, "{algorithm}");
        let bytes = wait(session.snapshot(0));
        let again = Session::restore(&device, &[&bytes]).unwrap();
        assert_eq!(again.setup().env.spec(), setup.env.spec(), "{algorithm}");
        let mut policy = Evaluator::load(&device, &wait(again.policy_snapshot(0))).unwrap();
        assert_eq!((policy.env().spec().name.as_str(), policy.env().spec().horizon), (env, 7));
        let trial = if algorithm == "rl2-ppo" { 3 * 7 } else { 7 };
        assert!(wait(policy.evaluate(3, 0, true)).iter().all(|episode| episode.length == trial), "{algorithm}");
        if algorithm != "ppo" {
            let test = MetaTest { tasks: 2, ..MetaTest::default() };
            let adapted = wait(policy.adapt(test));
            assert_eq!((adapted.horizon, adapted.stages[0].paths[0].len()), (7, 7), "{algorithm}");
        }
    }
}

#[test]
fn environments_of_the_caller_and_of_the_host_have_it_from_the_snapshot() {
    let device = Device::cpu(1);
    let env = builtin("pendulum").unwrap();
    let place = hosted(&env).named("pendulum:time_limit=7").unwrap().unwrap();
    let setup = training_on("ppo", place).seeds(&[5]).steps(80).set(PPO).setup();
    assert_eq!(setup.fleet(), FleetSize { tasks: 1, envs_per_task: 2, horizon: 7 });
    let mut session = Session::new(&device, &setup).unwrap();
    assert_eq!(lengths(&mut session), 7.0);
    let bytes = wait(session.snapshot(0));
    // The environment is the caller's, and the time limit that of the snapshot.
    let again = Session::restore_with(&device, hosted(&env), &[&bytes]).unwrap();
    assert_eq!(again.setup().env.spec().horizon, 7);
    let policy = wait(session.policy_snapshot(0));
    let horizon = |own: Own<'_>| Evaluator::load_with(&device, own, &policy).unwrap().env().spec().horizon;
    let all = [EnvPlace::from(&env)];
    assert_eq!(horizon(Own { environments: &all, ..Own::default() }), 7);
    assert_eq!(horizon(Some(EnvPlace::Device(env)).into()), 7);
    let other = hosted(&builtin("cartpole").unwrap());
    let error = Evaluator::load_with(&device, Some(other), &policy).unwrap_err().to_string();
    assert!(error.contains("made on the environment `pendulum:time_limit=7`, not on `cartpole`"), "{error}");
}

#[test]
fn presets_are_those_of_the_environment_with_its_own_time_limit() {
    let of = |algorithm: &str, env: &str| preset(algorithm, env).unwrap().map(|preset| preset.name);
    assert_eq!(of("ppo", "pendulum:time_limit=100").unwrap(), "ppo-pendulum");
    assert_eq!(of("rl2-ppo", "bandit:arms=10,time_limit=50").unwrap(), "rl2-ppo-bandit:arms=10");
    assert_eq!(of("ppo", "pendulum:length=100"), None);
    let setup = training("ppo", "pendulum:time_limit=100").seeds(&[5]).steps(1).setup();
    assert_eq!(setup.preset.as_deref(), Some("ppo-pendulum"));
}

#[test]
fn a_collection_of_fewer_steps_than_a_time_limit_is_one_whole_episode() {
    // Two tasks with 21 steps each at first, which are two episodes of 15; then 14 steps each by the prior, which are
    // one, and the preset's 40 by the belief, which are three.
    let mut session = training("pearl", "point-robot:time_limit=15").seeds(&[5]).steps(61).set(PEARL).session();
    let mut made = Vec::new();
    while !session.done() {
        wait(session.step());
        made.push(session.steps_made(0));
    }
    assert_eq!(made, [2 * 30, 2 * 30 + 2 * (15 + 45)]);
}

#[test]
fn lengths_that_do_not_fit_are_refused_with_both_settings() {
    let problem = |algorithm: &str, env: &str, text: &str| {
        training(algorithm, env).seeds(&[5]).steps(1_000_000).set(text).refusal()
    };
    let most = problem("pearl", "point-robot", "memory_size = 100");
    assert!(most.starts_with("memory_size: 100 rows are fewer than the ") && most.contains("time_limit"), "{most}");
    for (algorithm, env, key) in [
        ("rl2-ppo", "tabular-mdp:time_limit=4294967295", "meta_batch: "),
        ("promp", "point-corner:time_limit=4294967295", "rollouts: "),
        ("cem", "cartpole:time_limit=4294967295", "n_samples: "),
    ] {
        let problem = problem(algorithm, env, "");
        assert!(
            problem.starts_with(key) && problem.contains("4294967295") && problem.contains("time_limit"),
            "{problem}"
        );
    }
    let whole = problem("ppo", "cartpole:time_limit=4294967295", "min_rollouts = 4");
    assert!(whole.starts_with("min_rollouts: ") && whole.contains("time_limit"), "{whole}");
}
