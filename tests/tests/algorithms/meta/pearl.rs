//! PEARL: it learns to infer, in programs and on the host alike, alone as well as stacked, and resumes exactly.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::rc::Rc;

use quickstudy_core::algo::{Algorithm, Training};
use quickstudy_core::env::{EnvDef, builtin};
use quickstudy_core::host::{HostEnv, IterativeExecutor, MetaSampler, Wrapped};
use quickstudy_core::meta::pearl::PearlNets;
use quickstudy_core::meta::{Adaptive, MetaAlgorithm as _, Pearl, PearlConfig, Trial, try_adapting};
use quickstudy_core::rng::{self, streams};
use quickstudy_core::settings::Settings as _;
use quickstudy_core::train::{Adaptation, Evaluator, MetaTest, Session, StageUnit};
use quickstudy_core::{DType, Device, Program, Result, State, Tensor};
use quickstudy_tests::gpu::{Both, both};
use quickstudy_tests::trainings::{finish, gap, restored, snapshots, training, training_on, wait};
use toml::Table;

const SEEDS: [u64; 2] = [4, 1 << 35];

/// Environments with the options that change how transitions are played, stored, drawn or inferred from. Episodes of
/// `navigation` end by themselves, though rarely.
const ALL: [(&str, &str); 6] = [
    ("point-robot", ""),
    (
        "point-robot",
        "num_steps_posterior = 60\nupdate_post_train = 2\nuse_next_obs_in_context = true\ncontext_lr = 1e-3",
    ),
    ("point-robot", "num_steps_posterior = 30\nuse_information_bottleneck = false\nembedding_mini_batch_size = 5"),
    (
        "point-robot",
        "num_steps_posterior = 30\nencoder = \"gru\"\nembedding_mini_batch_size = 5\nupdate_post_train = 2",
    ),
    ("point-robot", "encoder = \"gru\"\nuse_information_bottleneck = false\nnum_tasks_sample = 9"),
    ("point-arena", "num_steps_prior = 150\nnum_steps_posterior = 120\nmemory_size = 2000"),
];

fn small(options: &str) -> Table {
    let base = "train_tasks = 6\nnum_tasks_sample = 4\nnum_initial_steps = 20\nnum_steps_prior = 20\n\
                num_extra_rl_steps_posterior = 20\nnum_steps_per_epoch = 3\nmeta_batch = 3\nbatch_size = 8\n\
                embedding_batch_size = 10\nembedding_mini_batch_size = 10\nlatent_dim = 3\nhidden = [8]\n\
                encoder_hidden_sizes = [7]\nnum_steps_posterior = 0\nencoder = \"mlp\"\nexploration_episodes = 1\n\
                use_next_obs_in_context = false";
    let mut all: Table = toml::from_str(base).unwrap();
    all.extend(toml::from_str::<Table>(options).unwrap());
    all
}

fn fitted(env: &EnvDef, settings: &Table, iterations: u64) -> Rc<dyn Algorithm> {
    let pearl = Pearl::new(&PearlConfig::default().with(settings).unwrap(), env.spec()).unwrap();
    pearl.for_steps(pearl.planned(iterations)).unwrap().unwrap().into()
}

fn bits(device: &Device, training: &Training) -> Vec<(String, Vec<u32>)> {
    let read = |name: &'static str| {
        let array = training.state().get(name).unwrap();
        let words = match array.dtype() {
            DType::F32 => wait(device.read_f32(array)).into_iter().map(f32::to_bits).collect(),
            DType::U32 => wait(device.read_u32(array)),
        };
        (name.to_owned(), words)
    };
    training.algorithm().entries(None).into_iter().map(|entry| read(entry.name)).collect()
}

fn executor(env: &EnvDef, groups: usize) -> Box<IterativeExecutor> {
    let env = env.clone();
    let make = move |_| -> Result<Box<dyn HostEnv>> { Ok(Box::new(Wrapped::new(&env))) };
    Box::new(IterativeExecutor::new(groups, 1, 0, make).unwrap())
}

#[test]
fn on_the_host_all_is_the_same() {
    let device = Device::cpu(2);
    for (env, options) in ALL {
        let (settings, env) = (small(options), builtin(env).unwrap());
        let algorithm = || fitted(&env, &settings, 5);
        let groups = algorithm().fleet(SEEDS.len()).tasks;
        let mut in_program = Training::new(&device, algorithm(), &env, &SEEDS).unwrap();
        let mut on_host = Training::new(&device, algorithm(), executor(&env, groups), &SEEDS).unwrap();
        let first = bits(&device, &in_program);
        for done in 0..5 {
            let rows = [&mut in_program, &mut on_host].map(|training| wait(training.step(done, 5)));
            let [a, b] = rows.map(|row| wait(device.read(&row)));
            let same = a.iter().zip(&b).all(|(a, b)| a == b || a.is_nan() && b.is_nan());
            assert!(same, "{options}: metrics of iteration {done}: {a:?} {b:?}");
        }
        let last = bits(&device, &in_program);
        for (((entry, a), (_, b)), (_, first)) in last.iter().zip(&bits(&device, &on_host)).zip(&first) {
            assert!(a == b, "{options}: {entry}");
            if ["theta", "target", "memory", "memory_filled", "context_filled"].contains(&entry.as_str()) {
                assert!(a != first, "{options}: {entry} did not change");
            }
        }
    }
}

#[test]
fn a_seed_trains_alone_as_it_does_beside_others() {
    let device = Device::cpu(1);
    let half_circle = ("point-half-circle", "dense_rewards = true");
    for (env, options) in ALL.into_iter().chain([half_circle]) {
        let (settings, env) = (small(options), builtin(env).unwrap());
        let train = |seeds: &[u64]| {
            let mut training = Training::new(&device, fitted(&env, &settings, 4), &env, seeds).unwrap();
            (0..4).for_each(|done| drop(wait(training.step(done, 4))));
            bits(&device, &training)
        };
        for ((entry, both), (_, alone)) in train(&SEEDS).iter().zip(train(&SEEDS[1..])) {
            assert!(both[both.len() / 2..] == alone, "{options}: {entry}");
        }
    }
}

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn iterations_on_the_gpu_are_near_those_of_the_cpu() {
    iterations_on_the_gpu(ALL[1]);
}

#[test]
#[ignore = "a minute on a software adapter: scripts/second-tier.sh"]
fn iterations_of_other_settings_on_the_gpu_are_near_those_of_the_cpu() {
    iterations_on_the_gpu(ALL[3]);
}

fn iterations_on_the_gpu((env, options): (&str, &str)) {
    let (settings, env) = (small(options), builtin(env).unwrap());
    let Both { moved, apart, read: [got, want] } = both(options, gap, |device| {
        let mut training = Training::new(device, fitted(&env, &settings, 4), &env, &SEEDS).unwrap();
        let theta = |training: &Training| wait(device.read(training.state().get("theta").unwrap()));
        let first = theta(&training);
        (0..4).for_each(|done| drop(wait(training.step(done, 4))));
        (first, theta(&training), wait(device.read_u32(training.state().get("memory_filled").unwrap())))
    });
    assert_eq!(got, want, "{options}");
    assert!(moved > 1e-3 && apart <= 0.05 * moved, "{options}: {apart:e} of {moved:e}");
}

#[test]
fn sessions_resume_exactly_and_memories_grow_with_longer_runs() {
    let device = Device::cpu(1);
    for (env, options) in ALL {
        let setup = |steps: u64| training("pearl", env).seeds(&SEEDS).steps(steps).with(small(options)).setup();
        let pearl = fitted(&builtin(env).unwrap(), &small(options), 9);
        let [half, whole] = [pearl.planned(4), pearl.planned(8)];
        let end = |session: &mut Session| {
            finish(session);
            snapshots(session)
        };
        let want = end(&mut Session::new(&device, &setup(whole)).unwrap());
        let shorter = end(&mut Session::new(&device, &setup(half)).unwrap());
        let mut longer = restored(None, &shorter);
        longer.set_steps(whole).unwrap();
        assert!(end(&mut longer) == want, "{options}");
    }
}

/// Trains on `point-robot` with these settings, and measures the returns on held-out tasks by episode, `[3]`. With
/// `turned`, all steps go in the wrong direction.
fn learned(settings: &Table, iterations: u64, turned: bool) -> Vec<f64> {
    let (device, env) = (Device::cpu(2), builtin("point-robot").unwrap());
    let config = PearlConfig::default().with(settings).unwrap();
    let mut nets = PearlNets::new(&config, env.spec()).unwrap();
    if turned {
        // The denominator of each step is negative, with its usual size.
        nets.optimiser.eps = -2.0;
    }
    let pearl = Pearl::of(nets, env.spec()).unwrap();
    let pearl: Rc<dyn Algorithm> = pearl.for_steps(pearl.planned(iterations)).unwrap().unwrap().into();
    let mut training = Training::new(&device, pearl.clone(), &env, &SEEDS[..1]).unwrap();
    (0..iterations).for_each(|done| drop(wait(training.step(done, iterations))));
    returns(&device, &*pearl, &env, training.state())
}

/// The mean returns of the first three episodes on 200 held-out tasks.
fn returns(device: &Device, pearl: &dyn Algorithm, env: &EnvDef, state: &State) -> Vec<f64> {
    let trial =
        Trial { tasks: 200, rollouts: 1, rounds: 2, episodes: 1, measured: 1, deterministic: true, last_only: false };
    let mut program = Program::new(device, |cx| {
        let held = pearl.declare_policy(cx, 1);
        let key = [3, 5].map(|word| Tensor::constant_u32(word).broadcast_to(&[1, 1]));
        let tried = try_adapting(pearl, env, &held, key, None, trial);
        let means = tried.stages.iter().map(|steps| steps.reward.sum_all().reshape(&[1]) * (1.0 / 200.0));
        cx.output("means", Tensor::concat(&means.collect::<Vec<_>>(), 0));
    })
    .unwrap();
    let out = program.run(&State::new(), &[("theta", state.get("theta").unwrap())], &[]).unwrap();
    wait(device.read(out.get("means").unwrap()))
}

#[test]
fn it_learns_to_infer_a_goal_and_does_not_when_its_steps_are_turned_around() {
    let settings: Table = toml::from_str(
        "train_tasks = 40\nnum_tasks_sample = 10\nnum_initial_steps = 40\nnum_steps_prior = 40\n\
         num_extra_rl_steps_posterior = 40\nnum_steps_per_epoch = 100\nmeta_batch = 16\nbatch_size = 32\n\
         embedding_batch_size = 40\nembedding_mini_batch_size = 40\nlatent_dim = 3\nhidden = [64, 64]\n\
         encoder_hidden_sizes = [64, 64]\ngamma = 0.9\nreward_scale = 20.0\npolicy_lr = 2e-3\nqf_lr = 2e-3\n\
         vf_lr = 2e-3\ncontext_lr = 2e-3",
    )
    .unwrap();
    let (sound, turned) = (learned(&settings, 44, false), learned(&settings, 44, true));
    println!("{sound:?}, turned around {turned:?}");
    // Staying in the middle earns −15.9, acting at random −22, knowing the goal −5.2.
    assert!(sound[2] > -14.0, "{sound:?}");
    assert!(sound[2] > sound[0] + 2.0, "an inference that helps: {sound:?}");
    // Turned around it runs away, until its actions are no numbers any more.
    assert!(turned[2] < -18.0 || turned[2].is_nan(), "{turned:?}");
}

#[test]
fn its_policy_adapts_the_same_in_a_program_and_on_the_host() {
    let (device, env) = (Device::cpu(1), builtin("point-robot").unwrap());
    for (_, options) in ALL {
        const TASKS: usize = 3;
        let pearl = fitted(&env, &small(options), 5);
        let theta = pearl.layout().first(&device, &[9]).unwrap();
        let tasks: Vec<Vec<f64>> = (0..TASKS as u32).map(|i| env.sample_task([6, 6], i)).collect();
        let key = [7, 11];
        // One episode by the prior, and one by the belief that follows from it.
        let trial = Trial {
            tasks: TASKS,
            rollouts: 1,
            rounds: 1,
            episodes: 1,
            measured: 0,
            deterministic: false,
            last_only: false,
        };
        let mut program = Program::new(&device, |cx| {
            let held = pearl.declare_policy(cx, 1);
            let key = [0, 1].map(|i| Tensor::constant_u32(key[i]).broadcast_to(&[1, 1]));
            let given = cx.input("tasks", &[TASKS, tasks[0].len()], DType::F32);
            let tried = try_adapting(&*pearl, &env, &held, key, Some(given), trial);
            tried.stages.iter().enumerate().for_each(|(k, steps)| cx.output(&k.to_string(), steps.action));
        })
        .unwrap();
        let given = device.array(&[TASKS, tasks[0].len()], &tasks.concat()).unwrap();
        let out = program.run(&State::new(), &[("theta", &theta), ("tasks", &given)], &[]).unwrap();
        let want = ["0", "1"].map(|stage| wait(device.read(out.get(stage).unwrap())));

        let mut sampler = MetaSampler::episodes(executor(&env, TASKS), 1);
        let fleet = sampler.executor().fleet().clone();
        wait(sampler.set_tasks(&tasks));
        let mut adaptive = Adaptive::new(&device, pearl.clone(), vec![("theta", theta)]);
        let mut policy = wait(adaptive.exploration_policy(&fleet));
        let key = rng::fold_in(key, streams::HELD_OUT_EPISODES);
        let (width, steps) = (env.spec().action.dim(), env.spec().horizon);
        let mut changed = false;
        for (k, want) in want.iter().enumerate() {
            let keys: Vec<_> = (0..TASKS as u32).map(|task| rng::fold_in(rng::fold_in(key, k as u32), task)).collect();
            let samples = wait(sampler.obtain(&mut *policy, &keys));
            let mut unadapted = wait(adaptive.exploration_policy(&fleet));
            let prior = wait(sampler.obtain(&mut *unadapted, &keys));
            for (task, (paths, prior)) in samples.tasks.iter().zip(&prior.tasks).enumerate() {
                let of = |t: usize| &want[(t * TASKS + task) * width..][..width];
                let want: Vec<f64> = (0..steps).flat_map(of).copied().collect();
                assert_eq!(paths[0].actions, want, "{options}: stage {k}, task {task}");
                changed |= k == 1 && paths[0].actions != prior[0].actions;
            }
            policy = wait(policy.adapt(&samples));
        }
        assert!(changed, "{options}: with the same random numbers the belief acts otherwise than the prior");
    }
}

#[test]
fn trained_policies_are_tested_in_programs_and_on_the_host() {
    let (device, env) = (Device::cpu(1), builtin("point-robot").unwrap());
    let mut session = training_on("pearl", env.clone()).seeds(&[5]).steps(400).with(small("")).session_on(&device);
    finish(&mut session);
    let policy = Evaluator::load(&device, &wait(session.snapshot(0))).unwrap();
    let test = MetaTest { tasks: 5, episodes: Some(4), deterministic: false, ..MetaTest::default() };
    let in_program = wait(policy.adapt(test));
    assert_eq!((in_program.unit, in_program.stages.len(), in_program.episodes), (StageUnit::Episodes, 4, 4));
    let tasks = policy.test_fleet(&test).unwrap().tasks;
    let on_host = wait(policy.adapt_in(executor(&env, tasks), None, test));
    let returns = |of: &Adaptation| of.stages.iter().map(|one| one.returns.concat()).collect::<Vec<_>>();
    assert_eq!((on_host.unit, on_host.episodes), (in_program.unit, 4));
    for (host, program) in returns(&on_host).iter().flatten().zip(returns(&in_program).iter().flatten()) {
        assert!((host - program).abs() < 1e-3, "{host} {program}");
    }
    assert_eq!(wait(policy.adapt(MetaTest { episodes: None, ..test })).stages.len(), 2);
    let none = pollster::block_on(policy.adapt(MetaTest { episodes: Some(0), ..test })).unwrap_err().to_string();
    assert_eq!(none, "episodes: 0 is too few; give at least 1");
    let many = pollster::block_on(policy.adapt(MetaTest { episodes: Some(1000), ..test })).unwrap_err().to_string();
    assert_eq!(many, "episodes: 1000 is not in 1 to 100");
}

#[test]
fn what_cannot_work_is_refused_in_one_line_that_says_what_to_do() {
    let problem =
        |env: &str, settings: &str, steps: u64| training("pearl", env).seeds(&[0]).steps(steps).set(settings).refusal();
    let robot = |settings: &str| problem("point-robot", settings, 100_000);
    assert_eq!(robot("latent_dim = 0"), "latent_dim: 0 is not in 1 to 1024");
    let single = problem("pendulum", "", 100_000);
    assert_eq!(single, "env: `pendulum` has a single task, so there is nothing to infer; train sac on it");
    let context =
        robot("encoder = \"gru\"\nnum_steps_prior = 40\nembedding_batch_size = 41\nembedding_mini_batch_size = 41");
    assert_eq!(
        context,
        "embedding_batch_size: encoder = \"gru\" reads 41 transitions in order of time, and 40 are collected for a \
         context; lower it to 40, raise num_initial_steps and num_steps_prior to 41, or choose encoder = \"mlp\", \
         which draws with replacement"
    );
    let parts = robot("embedding_batch_size = 10\nembedding_mini_batch_size = 3");
    assert_eq!(parts, "embedding_mini_batch_size: 3 does not divide embedding_batch_size = 10; try 10");
    let short = problem("point-robot", "train_tasks = 100\nnum_initial_steps = 60", 2_000);
    // 100 tasks in passes of 20 (the preset's), 60 steps each: 6,000. 2,000 steps are more than one pass of 1,200 and
    // less than two, and 19 steps for each task are no episode.
    assert_eq!(
        short,
        "train_tasks: first collections come before the first update: 100 visits for 100 tasks, of 60 steps each \
         (num_initial_steps in whole episodes), are 6000 steps, and the run has 2000; lower train_tasks to 20, or make \
         at least 6001 steps"
    );
    let fits =
        |settings: &str| training("pearl", "point-robot").seeds(&[0]).steps(2_000).set(settings).resolve().map(|_| ());
    assert_eq!(fits("train_tasks = 20\nnum_initial_steps = 60"), Ok(()));
    assert!(fits("train_tasks = 21\nnum_initial_steps = 60").is_err());
    let none = robot("num_steps_prior = 0\nnum_steps_posterior = 0");
    assert!(none.starts_with("num_steps_prior: 0 steps, with num_steps_posterior = 0, leave nothing"), "{none}");
    let rows = robot("memory_size = 100");
    assert!(rows.starts_with("memory_size: 100 rows are fewer than the"), "{rows}");
    let choices = problem("bandit", "", 100_000);
    assert!(choices.contains("takes discrete actions"), "{choices}");
    let device = Device::cpu(1);
    let setup = training("pearl", "point-robot").seeds(&[0]).steps(400).with(small("dense_rewards = true")).setup();
    let dense = Session::new(&device, &setup).unwrap_err().to_string();
    assert_eq!(dense, "dense_rewards: `point-robot` has no other reward than the one that it pays; set it to false");
}

#[test]
fn the_spread_of_returns_is_of_the_episodes_that_were_collected() {
    let device = Device::cpu(1);
    let mut session = training("pearl", "point-robot").seeds(&[0]).steps(400).with(small("")).session_on(&device);
    let row = wait(session.step()).remove(0);
    let of = |name: &str| row.iter().find(|(known, _)| *known == format!("rollout/{name}")).unwrap().1;
    assert_eq!(of("episodes"), 4.0);
    // The median of four is the mean of the two in the middle.
    let [mean, median, most, least] = ["mean", "median", "max", "min"].map(|kind| of(&format!("ep_return_{kind}")));
    assert!(((2.0 * median + most + least) / 4.0 - mean).abs() < 1e-4, "{mean} {median} {most} {least}");
    assert!(least < median && median < most && of("ep_return_std") > 0.0, "{mean} {median} {most} {least}");
}
