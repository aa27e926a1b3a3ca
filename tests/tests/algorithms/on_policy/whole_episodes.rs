//! Rollouts of whole episodes: that there are as many as asked for, that padding is not learned from, seeds, resuming,
//! environments of the host, and that algorithms learn by them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::rc::Rc;

use quickstudy_core::algo::{Algorithm, Metrics, Ppo, PpoConfig, Training};
use quickstudy_core::env::cartpole::CartPole;
use quickstudy_core::env::{Draws, Env, EnvDef, EnvSpec, Real, Step, builtin};
use quickstudy_core::host::{Chance, HostEnv, IterativeExecutor, TaskPerEpisode, Transition, Wrapped};
use quickstudy_core::settings::Settings as _;
use quickstudy_core::train::Session;
use quickstudy_core::{Device, Result};
use quickstudy_tests::costly::Costly;
use quickstudy_tests::gpu::{Both, both};
use quickstudy_tests::trainings::{
    distance, finish, mean_returns, stacks_and_resumes, steps, theta, training, training_on, value, wait,
};

const SMALL: &str = "hidden = [8]\nenvs = 4\nminibatches = 2\n";

fn session(algorithm: &str, env: &str, seeds: &[u64], settings: &str) -> Session {
    let setup = training(algorithm, env).seeds(seeds).steps(1 << 20).set(settings).setup();
    Session::new(&Device::cpu(0), &setup).unwrap()
}

/// Iterations play whole episodes only, at least as many as asked for, and count the steps of these and no others.
#[test]
fn an_iteration_has_as_many_episodes_and_steps_as_asked_for() {
    for algorithm in ["ppo", "ppo2", "a2c", "vpg", "trpo"] {
        for (rollouts, least) in [(6, 0), (0, 300), (6, 300), (24, 300)] {
            let settings = format!("{SMALL}min_rollouts = {rollouts}\nmin_steps = {least}\n");
            let mut session = session(algorithm, "cartpole", &[1, 2], &settings);
            let mut made = 0.0;
            for row in steps(&mut session, 3).iter().map(|rows| &rows[1]) {
                let all = value(row, "time/env_steps");
                // Returns are lengths, and the mean is over the latest hundred episodes: fewer have ended in the first
                // iteration.
                if made == 0.0 {
                    let episodes = all / value(row, "rollout/ep_len_mean");
                    assert!((episodes - episodes.round()).abs() < 1e-6, "{algorithm}: {episodes} episodes");
                    assert!(episodes.round() >= f64::from(rollouts), "{algorithm}: {episodes} of {rollouts} episodes");
                }
                assert!(all - made >= f64::from(least), "{algorithm}: {} of {least} steps", all - made);
                made = all;
            }
            let planned = session.setup().fitted().planned(session.iteration());
            assert!(made < planned as f64, "poles fall before the time limit");
        }
    }
}

/// Before its first step, an update finds exactly the log-probabilities by which the actions of valid steps were drawn.
#[test]
fn what_is_learned_from_is_what_was_played() {
    for cell in ["", "cell = \"gru\"\nunits = 6\n", "cell = \"lstm\"\nunits = 6\nlearned_start = true\n"] {
        let settings = format!(
            "{}minibatches = 1\nepochs = 1\nmin_rollouts = 6\nlearning_rate = 0.01\nnormalise_observations = true\n\
             {cell}",
            SMALL.replace("minibatches = 2\n", "")
        );
        let mut session = session("ppo", "cartpole", &[1, 2], &settings);
        let first = theta(&session, 0);
        for row in steps(&mut session, 5).iter().flatten() {
            assert!(value(row, "train/approx_kl").abs() < 1e-9, "{cell}{row:?}");
            assert_eq!(value(row, "train/clip_frac"), 0.0);
        }
        assert!(first != theta(&session, 0), "{cell}: nothing was learnt");
    }
}

#[test]
fn seeds_do_not_depend_on_each_other_and_resumed_training_is_that_without_a_stop() {
    for (algorithm, more) in [
        ("ppo", "normalise_observations = true\nnormalise_rewards = true\nadvantage_scope = \"running\"\nepochs = 2\n"),
        ("ppo2", "cell = \"gru\"\nunits = 6\nadvantage_scope = \"rollout\"\n"),
        ("a2c", "critic = \"first\"\ncritic_epochs = 2\nlog_details = true\nnormalise_advantages = true\n"),
        ("vpg", "critic = \"last\"\nbaseline = \"linear_feature\"\n"),
        ("vpg", "baseline = \"linear_time\"\ncell = \"gru\"\nunits = 6\n"),
        ("trpo", "curvature_share = 0.5\n"),
        ("trpo", "curvature_share = 0.5\ncell = \"lstm\"\nunits = 6\n"),
        ("svpg", "num_particles = 2\n"),
        ("svpg", "num_particles = 2\nparticle = \"trpo\"\ncell = \"gru\"\nunits = 6\nlearned_start = true\n"),
    ] {
        let settings = format!("{SMALL}min_rollouts = 5\nmin_steps = 60\n{more}");
        let request = training(algorithm, "cartpole").seeds(&[7, 8]).steps(1 << 20).set(&settings);
        stacks_and_resumes(&request, 2, algorithm);
    }
}

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn iterations_on_the_gpu_are_near_those_of_the_cpu() {
    iterations_on_the_gpu("");
}

#[test]
#[ignore = "half a minute on a software adapter: scripts/second-tier.sh"]
fn iterations_with_memories_on_the_gpu_are_near_those_of_the_cpu() {
    iterations_on_the_gpu("cell = \"gru\"\nunits = 6\n");
}

fn iterations_on_the_gpu(cell: &str) {
    // A rule whose steps do not grow where gradients are small, so that rounding does not show.
    let settings =
        format!("{SMALL}min_rollouts = 6\nmin_steps = 60\nepochs = 2\noptimiser = \"sgd\"\nmomentum = 0\n{cell}");
    let Both { moved, apart, read: [made, expected] } = both(cell, distance, |device| {
        let mut session = training("ppo", "cartpole").seeds(&[1, 2]).steps(1 << 20).set(&settings).session_on(device);
        let first = theta(&session, 0);
        let rows = steps(&mut session, 1);
        (first, theta(&session, 0), value(&rows[0][0], "time/env_steps"))
    });
    assert_eq!(made, expected, "{cell}");
    assert!(moved > 0.0 && apart <= 0.05 * moved, "{cell}: {apart:e}");
}

/// The host plays the episodes of the program, also on task distributions, where each episode has its own task.
#[test]
fn the_host_trains_the_same_parameters() {
    let (device, seeds) = (Device::cpu(2), [5, 1 << 33]);
    for (algorithm, name) in
        [("ppo", "cartpole"), ("trpo", "pendulum"), ("a2c", "bandit"), ("ppo", "point-corner"), ("svpg", "bandit")]
    {
        let env = builtin(name).unwrap();
        let settings = format!("{SMALL}min_rollouts = 10\nmin_steps = 50\nsde = false\n");
        let setup = training_on(algorithm, env.clone()).seeds(&seeds).steps(1 << 20).set(&settings).setup();
        let fitted: Rc<dyn Algorithm> = setup.fitted().clone();
        let mut inside = Training::new(&device, fitted.clone(), &env, &seeds).unwrap();
        let many = !env.spec().task.is_empty();
        let make = |_| -> Result<Box<dyn HostEnv>> {
            match many {
                true => Ok(Box::new(TaskPerEpisode::new(Wrapped::new(&env)))),
                false => Ok(Box::new(Wrapped::new(&env))),
            }
        };
        let size = fitted.fleet(seeds.len());
        let executor = Box::new(IterativeExecutor::new(size.tasks, size.envs_per_task, 0, make).unwrap());
        let mut outside = Training::new(&device, fitted, executor, &seeds).unwrap();
        for done in 0..3 {
            // Programs and the host may have different room, with places in which no episode ended.
            let metrics = |training: &mut Training| {
                let metrics = wait(training.step(done, 3));
                let numbers = wait(device.read(&metrics));
                let names = training.metric_names(done).len();
                let of_seed = |row: &[f64]| {
                    let (columns, returns) = row.split_at(names);
                    let ended = returns[..returns.len() / 2].iter().filter(|x| **x != Metrics::NONE);
                    columns.iter().chain(ended).copied().collect::<Vec<f64>>()
                };
                numbers.chunks(numbers.len() / seeds.len()).map(of_seed).collect::<Vec<_>>()
            };
            assert_eq!(metrics(&mut inside), metrics(&mut outside), "{algorithm} on {name}");
        }
        let words = |training: &Training| {
            let theta = training.state.get("theta").unwrap();
            wait(device.read_f32(theta)).into_iter().map(f32::to_bits).collect::<Vec<_>>()
        };
        assert!(words(&inside) == words(&outside), "{algorithm} on {name}");
    }
}

/// A CartPole that ends its episodes or cuts them off by itself, long before the time limit of its spec.
struct Impatient {
    cart: Wrapped,
    steps: usize,
    ends: bool,
}

impl HostEnv for Impatient {
    fn spec(&self) -> &EnvSpec {
        self.cart.spec()
    }

    fn reset(&mut self, chance: Chance) -> Result<Vec<f64>> {
        self.steps = 0;
        self.cart.reset(chance)
    }

    fn step(&mut self, action: &[f64], chance: Chance) -> Result<Transition> {
        self.steps += 1;
        let step = self.cart.step(action, chance)?;
        let over = self.steps == LIMIT && !step.terminated;
        Ok(Transition { truncated: over && !self.ends, terminated: step.terminated || over && self.ends, ..step })
    }
}

const LIMIT: usize = 7;

/// Environments of the host may cut off many episodes within a time limit. The end of each is valued by its own last
/// observation, as at the time limit itself.
#[test]
fn episodes_that_the_host_cuts_off_are_valued_each_by_its_own_last_observation() {
    let (device, builtin) = (Device::cpu(1), builtin("cartpole").unwrap());
    for cell in ["", "cell = \"gru\"\nunits = 6\n"] {
        let train = |limit: usize, cut: Option<bool>| {
            let spec = EnvSpec { horizon: limit, ..builtin.spec().clone() };
            let settings = format!(
                "hidden = [8]\nenvs = 4\nminibatches = 1\nepochs = 1\nmin_rollouts = 12\noptimiser = \"sgd\"\n\
                 momentum = 0\nlearning_rate = 0.1\nvalue_coef = 1\nmax_grad_norm = 0\n{cell}"
            );
            let config = PpoConfig::default().with(&toml::from_str(&settings).unwrap()).unwrap();
            let ppo: Rc<dyn Algorithm> = Rc::new(Ppo::new(&config, &spec).unwrap());
            let make = |_| -> Result<Box<dyn HostEnv>> {
                let cart = Wrapped::new(&EnvDef::new(Limited(limit))?);
                Ok(match cut {
                    None => Box::new(cart),
                    Some(ends) => Box::new(Impatient { cart, steps: 0, ends }),
                })
            };
            let executor = Box::new(IterativeExecutor::new(1, 4, 0, make).unwrap());
            let mut training = Training::new(&device, ppo, executor, &[3]).unwrap();
            for done in 0..2 {
                wait(training.step(done, 1 << 20));
            }
            wait(device.read(training.state.get("theta").unwrap()))
        };
        let by_limit = train(LIMIT, None);
        let off = |other: Vec<f64>| by_limit.iter().zip(&other).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        let [cut, ended] = [false, true].map(|ends| off(train(500, Some(ends))));
        assert!(cut < 1e-4 && ended > 1e-2, "{cell}: {cut} {ended}");
    }
}

/// A CartPole with another time limit.
#[derive(Clone, Debug)]
struct Limited(usize);

impl Env for Limited {
    type State<R: Real> = <CartPole as Env>::State<R>;

    fn spec(&self) -> EnvSpec {
        EnvSpec { horizon: self.0, ..CartPole::default().spec() }
    }

    fn reset<R: Real>(&self, task: &[R], rng: &mut Draws<R>) -> Self::State<R> {
        CartPole::default().reset(task, rng)
    }

    fn step<R: Real>(&self, s: Self::State<R>, action: &[R], task: &[R], rng: &mut Draws<R>) -> Step<R, Self> {
        let Step { next, reward, terminated } = CartPole::default().step(s, action, task, rng);
        Step { next, reward, terminated }
    }

    fn observe<R: Real>(&self, s: &Self::State<R>, task: &[R], out: &mut [R]) {
        CartPole::default().observe(s, task, out);
    }
}

/// The mean return of each seed's deterministic policy, in ascending order.
fn learned(algorithm: &str, env: EnvDef, settings: &str, budget: u64) -> Vec<f64> {
    let mut session =
        training_on(algorithm, env).seeds(&[0, 1, 2]).steps(budget).set(settings).session_on(&Device::cpu(0));
    finish(&mut session);
    let mut means = mean_returns(&mut session, 50);
    means.sort_by(f64::total_cmp);
    println!("{algorithm}: {means:?}");
    means
}

/// Minibatches of a size hold so many of the steps that were played, and the last one of a pass what is left.
#[test]
fn minibatches_of_a_size_fit_any_number_of_steps() {
    let settings = "hidden = [8]\nenvs = 4\nmin_rollouts = 6\nminibatch_size = 32\nepochs = 2\ncritic = \"last\"\n\
                    critic_epochs = 3\ncritic_minibatch_size = 50\n";
    let mut session = session("ppo", "cartpole", &[1, 2], settings);
    let mut made = [0.0; 2];
    for rows in steps(&mut session, 3) {
        for (row, made) in rows.iter().zip(&mut made) {
            let new = value(row, "time/env_steps") - *made;
            let parts = |size: f64| (new / size).ceil();
            assert_eq!(value(row, "train/updates"), 2.0 * parts(32.0) + 3.0 * parts(50.0), "{new} steps");
            *made += new;
        }
    }
}

/// A policy that acts at random balances for some 22 steps. Where each step costs, learners end their episodes soon.
#[test]
#[ignore = "a quarter of a minute: scripts/second-tier.sh"]
fn whole_episodes_teach_to_balance_and_where_steps_cost_to_fall() {
    let settings =
        "envs = 4\nmin_rollouts = 8\nlearning_rate_schedule = \"constant\"\nclip_eps_schedule = \"constant\"";
    whole_episodes_teach("ppo", settings, [40_000, 3_000]);
}

#[test]
#[ignore = "half a minute: scripts/second-tier.sh"]
fn whole_episodes_teach_a_policy_gradient_to_balance_and_where_steps_cost_to_fall() {
    whole_episodes_teach("vpg", "min_steps = 2000", [60_000, 30_000]);
}

fn whole_episodes_teach(algorithm: &str, settings: &str, [budget, costly]: [u64; 2]) {
    let means = learned(algorithm, builtin("cartpole").unwrap(), settings, budget);
    assert!(means[1] >= 150.0, "{algorithm}: {means:?}");
    let means = learned(algorithm, EnvDef::new(Costly::default()).unwrap(), settings, costly);
    assert!(means.iter().all(|mean| (-60.0..0.0).contains(mean)), "{algorithm}: {means:?}");
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let problem = |env: &str, settings: &str| training("ppo", env).seeds(&[0]).set(settings).refusal();
    let sde = problem("pendulum", "min_rollouts = 4\nsde = true\nsde_sample_freq = 4\nhorizon = 8");
    assert!(sde.contains("min_rollouts") && sde.contains("sde"), "{sde}");
    let many = problem("cartpole", "min_steps = 16777216\nenvs = 2");
    assert!(many.contains("min_steps"), "{many}");
    // The setting `horizon`, for rollouts that are not of whole episodes, is not used.
    let fits = |settings: &str| training("a2c", "cartpole").seeds(&[0]).set(settings).resolve();
    fits("horizon = 5\nenvs = 1\nminibatches = 5\nnormalise_advantages = true\nmin_steps = 2000").unwrap();
    fits("horizon = 20\nsde_sample_freq = 10\nmin_rollouts = 4\nsde = false\nenvs = 1\nminibatches = 1").unwrap();
}

/// Minibatches may have no valid step: they leave the networks as they are, whatever memory the optimiser has.
#[test]
fn minibatches_without_a_step_that_counts_make_no_update() {
    let settings = "hidden = [8]\nenvs = 1\nminibatches = 64\nmin_rollouts = 1\nepochs = 1\n";
    let mut session = session("ppo", "cartpole", &[1], settings);
    let mut made = 0.0;
    for row in steps(&mut session, 4).iter().flatten() {
        // One episode has fewer than 64 steps, and as many minibatches have a step.
        let all = value(row, "time/env_steps");
        assert_eq!(value(row, "train/updates"), all - made, "{row:?}");
        made = all;
        assert!(value(row, "train/entropy") > 0.3, "entropy is averaged over those alone: {row:?}");
    }
    assert!(made < 4.0 * 64.0, "{made} steps");
}
