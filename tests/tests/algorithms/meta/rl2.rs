//! RL² end to end: the policy's inputs and memory through a trial, gradients through the memory, stacked seeds,
//! resuming, the GPU, and that it learns to explore where an untrained policy does not.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy_core::credit::Paths;
use quickstudy_core::env::{ActionSpace, Dim, EnvSpec, builtin};
use quickstudy_core::grad::check::check;
use quickstudy_core::meta::rl2::{
    AdvantageCentre, Critic, EntropyMethod, Rl2Config, Rl2Net, TrialBatch, TrialPolicy, Trials, losses,
};
use quickstudy_core::play::Amount;
use quickstudy_core::policy::{Acting, MemoryConfig, RecurrentConfig};
use quickstudy_core::train::{Evaluator, MetaTest, StageUnit};
use quickstudy_core::{DType, Device, Program, State, Tensor};
use quickstudy_tests::gpu::{Both, both};
use quickstudy_tests::trainings::{distance, finish, resumes, snapshot, theta, training, value, wait};

const VARIANTS: [&str; 2] = ["rl2-ppo", "rl2-trpo"];
const SMALL: &str = "meta_batch = 8\nepisodes = 2\nunits = 12\n";

fn units(units: usize) -> RecurrentConfig {
    let config = RecurrentConfig::default();
    RecurrentConfig { memory: MemoryConfig { units, ..config.memory }, ..config }
}

/// Trials of an untrained policy, read back by name, `[T][M][width]` each.
struct Played {
    steps: usize,
    trials: usize,
    arrays: Vec<(String, Vec<f64>)>,
}

impl Played {
    fn new(env: &str, trials: usize, episodes: usize, [carry_over, show_time_limit]: [bool; 2]) -> Played {
        let (env, device) = (builtin(env).unwrap(), Device::cpu(1));
        let net = Rl2Net::new(env.spec(), &Rl2Config { net: units(8), ..Rl2Config::default() });
        let steps = episodes * env.spec().horizon;
        let mut program = Program::new(&device, |cx| {
            let theta = cx.input("theta", &[1, net.layout.len()], DType::F32);
            let key = [3, 4].map(|word| Tensor::constant_u32(word).broadcast_to(&[1, 1]));
            let tasks = (!env.spec().task.is_empty()).then(|| env.trace_tasks(key, Tensor::iota(&[1, trials], 1)));
            let parts = net.layout.split(theta);
            let policy = TrialPolicy { net: &net, space: &env.spec().action, carry_over, show_time_limit };
            let acting = Acting::of(&parts);
            let trials = Trials::from(
                &policy.play(&env, &acting, [1, trials], tasks, key).episodes(Amount::Episodes(episodes), steps),
            );
            let (policy, value) = net.run(&parts, trials.paths.obs);
            let by_rows = Paths::rows;
            cx.output("seen", trials.paths.obs);
            cx.output("action", trials.limited);
            cx.output("reward", trials.paths.reward);
            cx.output("valid", trials.paths.valid.to_f32());
            cx.output("episode", trials.episode.to_f32());
            cx.output("logp", by_rows(trials.logp));
            cx.output("logp again", policy.log_prob(by_rows(trials.paths.action)));
            cx.output("value", by_rows(trials.value));
            cx.output("value again", value);
        })
        .unwrap();
        let theta = device.array(&[1, net.layout.len()], &net.layout.init([1, 2])).unwrap();
        let out = program.run(&State::new(), &[("theta", &theta)], &[]).unwrap();
        let read = |(name, array): (&str, &_)| (name.to_owned(), wait(device.read(array)));
        Played { steps, trials, arrays: out.iter().map(read).collect() }
    }

    fn get(&self, name: &str) -> &[f64] {
        &self.arrays.iter().find(|(known, _)| known == name).unwrap().1
    }

    fn row(&self, name: &str, step: usize, trial: usize) -> &[f64] {
        let all = self.get(name);
        let width = all.len() / self.steps / self.trials;
        &all[(step * self.trials + trial) * width..][..width]
    }
}

#[test]
fn a_trial_shows_the_last_step_and_is_over_after_its_episodes() {
    // Episodes end early (a hole, the goal) or after 100 steps; four actions; and a point, whose action is a vector.
    for (env, choices, trials, episodes) in [("grid-world", Some(4), 12, 3), ("point-robot", None, 2, 2)] {
        for [carry_over, show_time_limit] in [[true, false], [true, true], [false, false], [false, true]] {
            let played = Played::new(env, trials, episodes, [carry_over, show_time_limit]);
            let (mut ends, mut padded) = (0, 0);
            for trial in 0..trials {
                let mut expected_episode = 0.0;
                for step in 0..played.steps {
                    let seen = played.row("seen", step, trial);
                    let width = choices.unwrap_or(2) + 2;
                    let shown = &seen[seen.len() - width..];
                    if played.row("valid", step, trial)[0] == 0.0 {
                        assert_eq!(played.row("reward", step, trial)[0], 0.0);
                        padded += 1;
                        continue;
                    }
                    assert_eq!(played.row("episode", step, trial)[0], expected_episode);
                    let new = step > 0 && played.row("episode", step - 1, trial)[0] < expected_episode;
                    if step == 0 || (new && !carry_over) {
                        assert!(shown.iter().all(|x| *x == 0.0), "{env} step {step}: {shown:?}");
                    } else {
                        let action = played.row("action", step - 1, trial);
                        let action = match choices {
                            Some(n) => (0..n).map(|i| f64::from(u8::from(action[0] == i as f64))).collect(),
                            None => action.to_vec(),
                        };
                        assert_eq!(&shown[..width - 2], action, "{env} step {step}");
                        assert_eq!(shown[width - 2], played.row("reward", step - 1, trial)[0]);
                        // A point's episodes end by the time limit, which is shown if
                        // asked for; those of the grid end before it.
                        let end = f64::from(u8::from(new && (choices.is_some() || show_time_limit)));
                        assert_eq!(shown[width - 1], end, "{env} step {step}");
                    }
                    let over = step + 1 == played.steps || played.row("valid", step + 1, trial)[0] == 0.0;
                    if over || played.row("episode", step + 1, trial)[0] > expected_episode {
                        expected_episode += 1.0;
                        ends += 1;
                    }
                }
                assert_eq!(expected_episode, episodes as f64);
            }
            assert_eq!(ends, trials * episodes);
            assert_eq!(padded > 0, choices.is_some(), "{env}");
        }
    }
}

#[test]
fn the_memory_lasts_from_the_first_step_of_a_trial_to_the_last() {
    // One run over whole trials, as in updates, must equal acting step by step.
    for env in ["key-door", "navigation"] {
        let played = Played::new(env, 3, 3, [true, false]);
        for name in ["logp", "value"] {
            let again = played.get(&format!("{name} again"));
            assert_eq!(played.get(name), again, "{env} {name}");
            assert!(again.iter().any(|x| *x != again[0]), "{env} {name}");
        }
    }
}

#[test]
fn gradients_through_the_memory_are_those_of_differences() {
    let numbers = |n: usize, seed: usize| -> Vec<f64> {
        (0..n).map(|i| 0.6 * (1.7 * i as f64 + 2.3 * seed as f64 + 0.3).sin()).collect()
    };
    let (t, b) = (4, 3);
    for (space, method) in [
        (ActionSpace::discrete(&["a", "b", "c"]), EntropyMethod::Regularized),
        (ActionSpace::continuous(vec![Dim::new("x", -1.0, 1.0); 2]), EntropyMethod::NoEntropy),
    ] {
        let coef = if method == EntropyMethod::NoEntropy { 0.0 } else { 0.1 };
        let config = Rl2Config { net: units(3), entropy_method: method, entropy_coef: coef, ..Rl2Config::default() };
        let spec = EnvSpec::new("e", vec![Dim::unbounded("x")], space.clone(), t);
        let net = Rl2Net::new(&spec, &config);
        let loss = |x: &[Tensor]| {
            let column = |values: Vec<f64>, width: usize| Tensor::literal_f32(&values).reshape(&[1, t * b, width]);
            let action = match space.choices() {
                Some(_) => column((0..t * b).map(|i| (i % 3) as f64).collect(), 1),
                None => column(numbers(t * b * 2, 1), 2),
            };
            let batch = TrialBatch {
                xs: Tensor::literal_f32(&numbers(t * b * net.inputs(), 2)).reshape(&[t, 1, b, net.inputs()]),
                action,
                logp_old: column(numbers(t * b, 3), 1) - 1.5,
                advantage: column(numbers(t * b, 4), 1),
                returns: column(numbers(t * b, 5), 1),
                weight: column((0..t * b).map(|i| f64::from(u8::from(i % 4 != 3)) / 9.0).collect(), 1),
            };
            losses(&net, &config, &net.layout.split(x[0]), &batch, Some(0.2)).total.sum_all()
        };
        let point = [(vec![1, net.layout.len()], numbers(net.layout.len(), 6))];
        check(loss, &point, 1, 1e-6, 1e-7).unwrap();
        check(loss, &point, 2, 1e-5, 1e-6).unwrap();
    }
}

#[test]
fn both_variants_make_finite_iterations_and_seeds_do_not_depend_on_each_other() {
    let device = Device::cpu(2);
    for (algorithm, env) in [("rl2-ppo", "bandit"), ("rl2-ppo", "navigation"), ("rl2-trpo", "tabular-mdp")] {
        let start = |seeds: &[u64]| training(algorithm, env).seeds(seeds).set(SMALL).batches(3).session_on(&device);
        let mut stacked = start(&[1, 2, 3]);
        let first = theta(&stacked, 1);
        for (name, value) in finish(&mut stacked).pop().unwrap().iter().flatten() {
            assert!(value.is_finite() || name.starts_with("eval/"), "{algorithm} {env}: {name} is {value}");
        }
        assert_ne!(theta(&stacked, 1), first, "{algorithm}: nothing was learnt");
        for (index, seed) in [1, 2, 3].into_iter().enumerate() {
            let mut alone = start(&[seed]);
            finish(&mut alone);
            assert!(snapshot(&alone, 0) == snapshot(&stacked, index), "{algorithm}: seed {seed} depends on others");
        }
    }
}

#[test]
fn resumed_training_is_that_without_a_stop() {
    for algorithm in VARIANTS {
        let settings = format!("{SMALL}train_tasks = 5\ncarry_over = false\n");
        resumes(&training(algorithm, "bandit").seeds(&[7]).set(&settings).batches(4), 2, algorithm);
    }
}

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn an_iteration_on_the_gpu_is_that_of_the_cpu() {
    iteration_on_the_gpu("rl2-ppo", |_| 1e-5);
}

#[test]
#[ignore = "half a minute on a software adapter: scripts/second-tier.sh"]
fn an_iteration_of_a_trust_region_on_the_gpu_is_that_of_the_cpu() {
    // Conjugate gradients multiply rounding by the condition of the Hessian.
    iteration_on_the_gpu("rl2-trpo", |moved| 0.5 * moved);
}

fn iteration_on_the_gpu(algorithm: &str, most: impl Fn(f64) -> f64) {
    let Both { moved, apart, .. } = both(algorithm, distance, |device| {
        let mut session = training(algorithm, "bandit").seeds(&[1, 2]).set(SMALL).batches(1).session_on(device);
        let first = theta(&session, 0);
        finish(&mut session);
        (first, theta(&session, 0), ())
    });
    assert!(moved > 0.0 && apart <= most(moved), "{algorithm}: {apart:e}");
}

#[test]
fn rl2_learns_to_explore_a_bandit_and_an_untrained_policy_does_not() {
    learns_to_explore([("rl2-ppo", 150_000, "learning_rate = 5e-3\ngae_lambda = 0.3\n")]);
}

#[test]
#[ignore = "half a minute: scripts/second-tier.sh"]
fn rl2_learns_to_explore_a_bandit_by_trust_regions_and_by_fitted_baselines() {
    learns_to_explore([
        ("rl2-ppo", 400_000, "learning_rate = 5e-3\ngae_lambda = 1.0\ncritic = \"multi_feature\"\n"),
        ("rl2-trpo", 150_000, "max_kl = 0.03\ngae_lambda = 0.3\ncritic = \"linear_time\"\n"),
    ]);
}

fn learns_to_explore<const N: usize>(all: [(&str, u64, &str); N]) {
    let device = Device::cpu(2);
    // At random 5.0, the best index policy 6.66. Without features of time a baseline needs whole returns, which are
    // noisy.
    for (algorithm, steps, more) in all {
        let settings = format!("meta_batch = 128\nepisodes = 1\nunits = 24\n{more}");
        let trained = |steps: u64| {
            let mut session = training(algorithm, "bandit").seeds(&[5]).steps(steps).set(&settings).session_on(&device);
            if steps > 1 {
                finish(&mut session);
            }
            let bytes = wait(session.policy_snapshot(0));
            let policy = Evaluator::load(&device, &bytes).unwrap();
            let test = MetaTest { tasks: 1000, seed: 1, deterministic: false, ..MetaTest::default() };
            let adaptation = wait(policy.adapt(test));
            assert_eq!(adaptation.unit, StageUnit::Steps(1));
            let mean = |k: usize| adaptation.stages[k].task_means().iter().sum::<f64>() / 1000.0;
            ((0..10).map(mean).sum::<f64>(), mean(0), mean(9))
        };
        let (before, after) = (trained(1), trained(steps));
        println!("{algorithm}: untrained {before:?}, trained {after:?}: whole trial, first and last pull");
        assert!(after.0 > 6.0, "{after:?}");
        assert!(before.0 < 5.5, "{before:?}");
        // An unknown task pays a half.
        assert!((after.1 - 0.5).abs() < 0.08 && after.2 > 0.62, "{after:?}");
    }
}

#[test]
fn entropy_in_the_rewards_needs_advantages_as_they_are() {
    let settings = "entropy_method = \"max\"\n";
    let problem = training("rl2-ppo", "bandit").seeds(&[0]).steps(10).set(settings).resolve().unwrap_err();
    assert!(problem.to_string().contains("advantage_centre"), "{problem}");
    let config = Rl2Config { entropy_method: EntropyMethod::Max, ..Rl2Config::default() };
    assert_eq!(config.advantage_centre, AdvantageCentre::All);
    assert_eq!(config.critic, Critic::Gru);
}

/// Updates of an iteration end once the KL is 1.5 times its target, for each seed by itself.
#[test]
fn updates_stop_where_the_policy_has_moved_too_far() {
    let run = |seeds: &[u64], target_kl: f64| {
        let settings =
            format!("{SMALL}epochs = 10\nminibatches = 4\nlearning_rate = 0.01\ntarget_kl = {target_kl:?}\n");
        let mut session = training("rl2-ppo", "bandit").seeds(seeds).steps(6400).set(&settings).session();
        let of = |row: &Vec<(String, f64)>, name: &str| value(row, name);
        let mut updates = vec![Vec::new(); seeds.len()];
        for _ in 0..4 {
            let rows = wait(session.step());
            updates.iter_mut().zip(&rows).for_each(|(all, row)| all.push(of(row, "train/updates")));
        }
        (updates, (0..seeds.len()).map(|seed| theta(&session, seed)).collect::<Vec<_>>())
    };
    let (all, free) = run(&[1, 2, 3], 0.0);
    assert!(all.iter().flatten().all(|n| *n == 40.0), "{all:?}");
    let (some, limited) = run(&[1, 2, 3], 0.01);
    println!("{some:?}");
    assert!(some.iter().flatten().all(|n| *n >= 1.0) && some.iter().flatten().any(|n| *n < 40.0), "{some:?}");
    assert!(some[0] != some[1] || some[1] != some[2], "seeds stop together: {some:?}");
    assert!(free != limited);
    // A seed goes on as if it were alone, independent of the others' stops.
    let (alone, of_one) = run(&[2], 0.01);
    assert_eq!((&alone[0], &of_one[0]), (&some[1], &limited[1]));
    // A limit that is out of reach changes nothing.
    assert_eq!(run(&[1, 2, 3], 1e6), (all, free));
}
