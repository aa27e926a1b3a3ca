//! Episodes after adaptation, as evaluations and meta-tests measure them, and their success.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use quickstudy_core::Device;
use quickstudy_core::env::builtin;
use quickstudy_core::host::{HostEnv, IterativeExecutor, Wrapped};
use quickstudy_core::meta::{AVERAGE, EpisodeOutcome, MetaEvaluator, Performance, TestTask};
use quickstudy_core::train::{Adaptation, Evaluator, Layer, MetaTest, Session, Setup};

fn policy(algorithm: &str, env: &str, text: &str) -> Evaluator {
    let device = Device::cpu(2);
    let layer = Layer { origin: "test".into(), settings: toml::from_str(text).unwrap() };
    let setup = Setup::resolve(algorithm, builtin(env).unwrap(), &[3], Some(1), &[layer]).unwrap();
    let session = Session::new(&device, &setup).unwrap();
    Evaluator::load(&device, &pollster::block_on(session.policy_snapshot(0)).unwrap()).unwrap()
}

#[test]
fn the_episode_after_gradient_steps_is_the_one_that_is_evaluated() {
    let small = "meta_batch = 2\nrollouts = 2\nhidden = [4]\ngamma = 0.9";
    let episodes = pollster::block_on(policy("promp", "key-door", small).evaluate(200, 1, false)).unwrap();
    let (mut successes, mut ends) = (0, 0);
    for episode in &episodes {
        let adapted = episode.adapted.unwrap();
        assert_eq!((adapted.ret, adapted.terminated), (episode.ret, episode.terminated));
        assert_eq!(adapted.success, Some(episode.terminated), "an opened door ends the episode");
        assert!(adapted.discounted <= adapted.ret && (adapted.ret == 0.0) == (adapted.discounted == 0.0));
        successes += u32::from(adapted.success == Some(true));
        ends += u32::from(episode.ret > 0.0);
    }
    assert!(successes > 0 && ends > 10, "{successes} of 200, rewards in {ends}");
    let unknown = pollster::block_on(policy("promp", "point-corner", small).evaluate(2, 1, false)).unwrap();
    assert!(unknown.iter().all(|episode| episode.adapted.unwrap().success.is_none()));
}

#[test]
fn the_last_episode_of_a_trial_is_measured_where_a_memory_adapts() {
    let small = "meta_batch = 2\nminibatches = 1\nepisodes = 3\nunits = 4\ngamma = 0.5";
    let episodes = pollster::block_on(policy("rl2-ppo", "dark-room", small).evaluate(300, 1, false)).unwrap();
    let adapted: Vec<EpisodeOutcome> = episodes.iter().map(|episode| episode.adapted.unwrap()).collect();
    for (whole, last) in episodes.iter().zip(&adapted) {
        assert!(last.ret <= whole.ret && last.success == Some(last.ret > 0.0));
        assert!(last.discounted <= 2.0, "at most 1 + 1/2 + …");
    }
    let of = |i: usize| (episodes[i].ret, adapted[i].ret);
    assert!((0..300).any(|i| of(i).0 > of(i).1), "other episodes are paid too");
    let performance = Performance::of(7, &adapted);
    assert!(performance.success_rate > 0.0 && performance.success_rate < 0.5, "{performance:?}");
}

#[test]
fn built_in_environments_report_success_on_the_host() {
    let env = builtin("key-door").unwrap();
    let make = |_| -> quickstudy_core::Result<Box<dyn HostEnv>> { Ok(Box::new(Wrapped::new(&env))) };
    let mut evaluator = MetaEvaluator::new(Box::new(IterativeExecutor::new(60, 1, 0, make).unwrap()));
    evaluator.n_exploration_eps = 1;
    let tasks: Vec<TestTask> =
        (0..60).map(|i| TestTask { name: None, parameters: env.sample_task([4, 4], i) }).collect();
    let policy = policy("rl2-ppo", "key-door", "meta_batch = 2\nminibatches = 1\nunits = 4");
    let rows = pollster::block_on(evaluator.evaluate(&mut policy.meta_algorithm().unwrap(), &tasks, [1, 2])).unwrap();
    let get = |name: &str| rows.iter().find(|(known, _)| *known == format!("MetaTest/{AVERAGE}/{name}")).unwrap().1;
    assert_eq!(get("SuccessRate"), get("TerminationRate"));
    assert!(get("SuccessRate") < 1.0);
}

#[test]
fn stages_of_adaptation_know_the_outcomes_of_their_episodes() {
    let gradients = "meta_batch = 2\nrollouts = 2\nhidden = [4]\ngamma = 0.9";
    let memory = "meta_batch = 2\nminibatches = 1\nepisodes = 3\nunits = 4\ngamma = 0.9";
    for (algorithm, settings, stages) in [("promp", gradients, 2), ("rl2-ppo", memory, 3)] {
        let policy = policy(algorithm, "dark-room", settings);
        let test = MetaTest { tasks: 30, rollouts: Some(2), deterministic: false, ..MetaTest::default() };
        let in_program = pollster::block_on(policy.adapt(test)).unwrap();
        let env = builtin("dark-room").unwrap();
        let make = |_| -> quickstudy_core::Result<Box<dyn HostEnv>> { Ok(Box::new(Wrapped::new(&env))) };
        let [tasks, each, _] = policy.test_fleet(&test).unwrap();
        let executor = Box::new(IterativeExecutor::new(tasks, each, 0, make).unwrap());
        let on_host = pollster::block_on(policy.adapt_in(executor, None, test)).unwrap();
        for adaptation in [&in_program, &on_host] {
            assert_eq!(adaptation.stages.len(), stages);
            for stage in &adaptation.stages {
                let returns: Vec<f64> = stage.outcomes.iter().map(|outcome| outcome.ret).collect();
                assert_eq!(returns, stage.returns.concat(), "{algorithm}");
                assert!(stage.outcomes.iter().all(|one| one.success == Some(one.ret > 0.0) && !one.terminated));
                let performance = stage.performance(4);
                assert_eq!((performance.iteration, performance.episodes), (4, 60));
                assert!(performance.success_rate < 0.9, "{performance:?}");
            }
        }
        let discounted =
            |of: &Adaptation| of.stages.iter().map(|one| one.performance(0).discounted_return).sum::<f64>();
        let both = [discounted(&in_program), discounted(&on_host)];
        // Trials draw other numbers on the host.
        assert!(algorithm == "rl2-ppo" || (both[0] - both[1]).abs() < 1e-4, "{algorithm}: {both:?}");
        assert!(both.iter().all(|sum| *sum > 0.0), "nobody was paid");
    }
}
