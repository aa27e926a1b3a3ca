//! Episodes after adaptation and their success, as evaluations and meta-tests measure them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use quickstudy_core::env::builtin;
use quickstudy_core::host::{HostEnv, IterativeExecutor, Wrapped};
use quickstudy_core::meta::{AVERAGE, EpisodeOutcome, MetaEvaluator, Performance, TestSizes, TestTask};
use quickstudy_core::play::{Amount, Keys, Play};
use quickstudy_core::policy::How;
use quickstudy_core::train::{Adaptation, Evaluator, MetaTest, Session};
use quickstudy_core::{Device, Program, State, Tensor};
use quickstudy_tests::trainings::{training, training_on};

fn policy(algorithm: &str, env: &str, text: &str) -> Evaluator {
    let device = Device::cpu(2);
    let session = training(algorithm, env).steps(1).set(text).session_on(&device);
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
        let size = policy.test_fleet(&test).unwrap();
        let executor = Box::new(IterativeExecutor::new(size.tasks, size.envs_per_task, 0, make).unwrap());
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
        // Trials draw different numbers on the host.
        assert!(algorithm == "rl2-ppo" || (both[0] - both[1]).abs() < 1e-4, "{algorithm}: {both:?}");
        assert!(both.iter().all(|sum| *sum > 0.0), "nobody was paid");
    }
}

const TEN: TestSizes = TestSizes { n_exploration_eps: 10, n_test_episodes: 10, n_test_tasks: 5 };

const GRADIENTS: &str = "meta_batch = 2\nrollouts = 2\nhidden = [4]";
const MEMORY: &str = "meta_batch = 2\nminibatches = 1\nepisodes = 3\nunits = 4";
const BELIEF: &str = "hidden = [8]\nencoder_hidden_sizes = [8]\ntrain_tasks = 2\nmeta_batch = 2\nbatch_size = 8\n\
                      num_steps_per_epoch = 1\nnum_initial_steps = 20\nnum_tasks_sample = 2\nnum_steps_prior = 20\n\
                      embedding_batch_size = 8\nembedding_mini_batch_size = 8";

/// A barely trained policy for each way to adapt.
fn each_way() -> [Evaluator; 3] {
    [("promp", "dark-room", GRADIENTS), ("rl2-ppo", "dark-room", MEMORY), ("pearl", "point-robot", BELIEF)].map(
        |(algorithm, env, text)| {
            let device = Device::cpu(2);
            let mut session = training(algorithm, env).steps(400).set(text).session_on(&device);
            let trained = pollster::block_on(session.evaluate(TEN)).unwrap();
            assert_eq!((trained.len(), trained[0].len()), (1, 50), "{algorithm}");
            Evaluator::load(&device, &pollster::block_on(session.policy_snapshot(0)).unwrap()).unwrap()
        },
    )
}

#[test]
fn ten_episodes_of_exploration_and_ten_that_measure_on_five_tasks_are_a_meta_test_of_all_families() {
    for mut policy in each_way() {
        let name = policy.algorithm().to_owned();
        let episodes = pollster::block_on(policy.evaluate(TEN, 1, false)).unwrap();
        assert_eq!(episodes.len(), 50, "{name}");
        assert!(episodes.iter().all(|one| one.length == 20 && !one.terminated && one.adapted.unwrap().ret == one.ret));
        let inside = Performance::of(0, &episodes.iter().map(|one| one.adapted.unwrap()).collect::<Vec<_>>());
        assert_eq!(inside.episodes, 50, "{name}");
        // The host measures about equally, on the tasks of enough groups to compare means.
        let env = policy.env().device().unwrap().clone();
        let make = |_| -> quickstudy_core::Result<Box<dyn HostEnv>> { Ok(Box::new(Wrapped::new(&env))) };
        let test = MetaTest { tasks: 60, seed: 5, ..MetaTest::default() };
        let tasks = pollster::block_on(policy.adapt(MetaTest { rollouts: Some(1), ..test })).unwrap().tasks;
        let mut evaluator = MetaEvaluator::new(Box::new(IterativeExecutor::new(60, 1, 0, make).unwrap()));
        (evaluator.n_exploration_eps, evaluator.n_test_episodes) = (3, 4);
        let given: Vec<TestTask> = tasks
            .iter()
            .map(|task| TestTask { name: None, parameters: task.iter().map(|x| f64::from(*x)).collect() })
            .collect();
        let rows =
            pollster::block_on(evaluator.evaluate(&mut policy.meta_algorithm().unwrap(), &given, [1, 2])).unwrap();
        let get = |name: &str| rows.iter().find(|(known, _)| *known == format!("MetaTest/Average/{name}")).unwrap().1;
        let sizes = TestSizes { n_exploration_eps: 3, n_test_episodes: 4, n_test_tasks: 60 };
        let episodes = pollster::block_on(policy.evaluate(sizes, 5, false)).unwrap();
        let inside = Performance::of(0, &episodes.iter().map(|one| one.adapted.unwrap()).collect::<Vec<_>>());
        assert_eq!(get("NumEpisodes"), inside.episodes as f64);
        // Episodes of one task vary, so 60 of them count; both sides draw them.
        let error = (2.0 * inside.std.powi(2) / 60.0).sqrt();
        let (host, device) = (get("AverageReturn"), inside.mean);
        assert!((host - device).abs() < 4.0 * error, "{name}: {host} on the host, {device} on the device, ± {error}");
    }
}

#[test]
fn episodes_after_exploration_begin_with_the_same_memory() {
    let [mut gradients, mut memory, _] = each_way();
    let sizes = TestSizes { n_exploration_eps: 2, n_test_episodes: 6, n_test_tasks: 40 };
    let alike = |policy: &mut Evaluator, deterministic| {
        let episodes = pollster::block_on(policy.evaluate(sizes, 3, deterministic)).unwrap();
        episodes.chunks(6).all(|of_task| of_task.iter().all(|one| one.ret == of_task[0].ret))
    };
    // The room has no chance: only a memory or a draw could make the episodes of a task differ.
    assert!(alike(&mut memory, true) && alike(&mut gradients, true));
    assert!(!alike(&mut memory, false));
    let none = TestSizes { n_exploration_eps: 0, ..sizes };
    let error = pollster::block_on(memory.evaluate(none, 3, true)).unwrap_err().to_string();
    assert_eq!(error, "n_exploration_eps: 0 is not in 1 to 16384");
    let mut ppo = policy("ppo", "cartpole", "hidden = [4]\nenvs = 1\nhorizon = 8\nminibatches = 1");
    let error = pollster::block_on(ppo.evaluate(sizes, 3, true)).unwrap_err().to_string();
    assert!(error.starts_with("n_test_tasks: the algorithm does not adapt"), "{error}");
}

#[test]
fn a_memory_after_whole_episodes_is_the_one_that_a_trial_leaves() {
    let device = Device::cpu(1);
    let env = builtin("dark-room").unwrap();
    let setup = training_on("rl2-ppo", env.clone()).steps(1).set(MEMORY).setup();
    let session = Session::new(&device, &setup).unwrap();
    let theta = pollster::block_on(session.parameters(0)).unwrap();
    let mut widths = Vec::new();
    let mut program = Program::new(&device, |cx| {
        let held = setup.fitted().declare_policy(cx, 1);
        let (policy, acting) = (setup.fitted().policy(), setup.fitted().start(&held, 1));
        let keys = Keys::of([7, 9].map(|word| Tensor::constant_u32(word).broadcast_to(&[1, 1])));
        let play =
            Play { env: &env, policy: &*policy, acting: &acting, how: How::Explore, rows: [1, 4], tasks: None, keys };
        let trial = play.episodes(Amount::Episodes(3), 60).next.memory;
        let first = play.episodes(Amount::Episodes(3), 20).next.memory;
        // More steps than the episodes take change nothing.
        let remembered = play.remembered(3, 100);
        for (name, x) in remembered.iter() {
            widths.push(name);
            cx.output(name, (x.to_f32() - trial.get(name).to_f32()).abs().max_keep(2).sum_all());
            let moved = (x.to_f32() - first.get(name).to_f32()).abs().max_keep(2).sum_all();
            cx.output(&format!("{name} moved"), moved);
        }
    })
    .unwrap();
    let theta = device.array_f32(&[1, theta.len()], &theta).unwrap();
    let out = program.run(&State::new(), &[("theta", &theta)], &[]).unwrap();
    let read = |name: &str| pollster::block_on(device.read(out.get(name).unwrap())).unwrap()[0];
    assert!(!widths.is_empty() && widths.iter().all(|name| read(name) == 0.0));
    assert!(widths.iter().any(|name| read(&format!("{name} moved")) > 0.0));
}
