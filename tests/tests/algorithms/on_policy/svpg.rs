//! SVPG end to end: one particle is the plain algorithm, particles learn and stay apart, seeds, resuming, and
//! the choice of the particle that is played.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::rc::Rc;

use quickstudy_core::algo::svpg::{Particles, Stein, SvpgConfig};
use quickstudy_core::algo::{Algorithm, AlgorithmDef, IntoAlgorithm, SVPG, Training};
use quickstudy_core::env::builtin;
use quickstudy_core::host::{HostEnv, IterativeExecutor, Wrapped};
use quickstudy_core::learn::Turn;
use quickstudy_core::settings::Settings as _;
use quickstudy_core::train::{Evaluator, Session};
use quickstudy_core::{Device, Result, Tensor};
use quickstudy_tests::crafted::Crafted;
use quickstudy_tests::trainings::{
    mean_returns, snapshot, stacks_and_resumes, steps, theta, training, training_on, value, wait,
};

fn session(algorithm: impl IntoAlgorithm, env: &str, seeds: &[u64], steps: u64, settings: &str) -> Session {
    training(algorithm, env).seeds(seeds).steps(steps).set(settings).session_on(&Device::cpu(0))
}

const SMALL: &str = "hidden = [8]\nenvs = 4\nhorizon = 16\n";

/// Recurrent units, which no preset has.
const MEMORY: &str = "cell = \"gru\"\nunits = 5\nreset = \"before\"\nlayer_norm = true\nlearned_start = true\n";

#[test]
fn one_particle_is_the_plain_algorithm_bit_for_bit() {
    // All settings in which the presets differ are given.
    let sampled = "minibatches = 2\nnormalise_observations = true\nnormalise_rewards = true\nlearning_rate = 1e-3\n\
                   learning_rate_schedule = \"linear\"\nnormalise_advantages = true\ngae_lambda = 0.95\ngamma = 0.97\n";
    let descended =
        "optimiser = \"adam\"\nentropy_coef = 0.01\nvalue_coef = 0.5\nlog_details = true\nmax_grad_norm = 0.5\n";
    let a2c = format!("{sampled}{descended}");
    let vpg = format!("{a2c}critic = \"last\"\ncritic_epochs = 2\ncritic_learning_rate = 3e-3\n");
    let clipped = "epochs = 3\nvalue_clip = false\nclip_eps = 0.1\nclip_eps_schedule = \"linear\"\n";
    let ppo = format!("{a2c}{clipped}");
    let trusted = "critic_epochs = 3\nmax_kl = 0.02\ncurvature_share = 0.5\ncg_iterations = 7\ndamping = 0.01\n";
    let trpo = format!("{sampled}{trusted}");
    for (plain, particle, shared, of_particle) in [
        ("a2c", "a2c", a2c, ""),
        ("vpg", "a2c", vpg, ""),
        ("ppo", "ppo", ppo, ""),
        ("trpo", "trpo", trpo, "optimiser = \"adam\"\nadam_eps = 1e-5\n"),
    ] {
        let explored = "sde = true\nsde_sample_freq = 4\nlog_std_init = -2.0\northogonal_init = false\n";
        for (env, more) in [("cartpole", ""), ("pendulum", explored), ("cartpole", MEMORY)] {
            let settings = format!("{SMALL}{shared}{more}");
            let mut alone = session(plain, env, &[3, 4], 4096, &settings);
            let of_one = format!("{settings}{of_particle}num_particles = 1\nparticle = \"{particle}\"\n");
            let mut particles = session("svpg", env, &[3, 4], 4096, &of_one);
            let first = theta(&alone, 0);
            let (rows, others) = (steps(&mut alone, 5), steps(&mut particles, 5));
            assert!(theta(&alone, 0) != first, "{plain} on {env}: nothing was learnt");
            for seed in 0..2 {
                let bits = |s: &Session| theta(s, seed).iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                assert!(bits(&alone) == bits(&particles), "{plain} on {env} with {more}");
            }
            for (row, other) in rows.iter().flatten().zip(others.iter().flatten()) {
                for (name, x) in row.iter().filter(|(name, _)| !name.starts_with("time/")) {
                    assert_eq!(x.to_bits(), value(other, name).to_bits(), "{plain} on {env} with {more}: {name}");
                }
            }
        }
    }
}

#[test]
fn seeds_do_not_depend_on_each_other_and_resumed_training_is_that_without_a_stop() {
    let remembering = format!("particle = \"trpo\"\nminibatches = 2\ncurvature_share = 0.5\n{MEMORY}");
    for more in [
        "",
        "particle = \"ppo\"\nepochs = 2\n",
        "critic = \"last\"\ncritic_epochs = 2\n",
        "particle = \"trpo\"\noptimiser = \"adam\"\nsde = true\nsde_sample_freq = 4\n",
        &remembering,
        MEMORY,
        "particle = \"ppo\"\nepochs = 2\ncell = \"lstm\"\nunits = 5\n",
    ] {
        let settings =
            format!("{SMALL}{more}num_particles = 3\nnormalise_observations = true\nnormalise_rewards = true\n");
        let request = training("svpg", "pendulum").seeds(&[7, 8]).steps(1 << 20).set(&settings);
        stacks_and_resumes(&request, 2, more);
    }
}

#[test]
fn the_host_trains_the_same_parameters() {
    let (device, seeds) = (Device::cpu(2), [3, 1 << 33]);
    for (name, more) in [
        ("cartpole", "cell = \"gru\"\nunits = 5\nlearned_start = true\n"),
        ("pendulum", "particle = \"ppo\"\ncell = \"lstm\"\nunits = 5\n"),
        ("cartpole", "particle = \"trpo\"\ncurvature_share = 0.5\n"),
        ("pendulum", "particle = \"trpo\"\ncell = \"gru\"\nunits = 5\n"),
    ] {
        let env = builtin(name).unwrap();
        let settings = format!("{more}num_particles = 3\nenvs = 2\nhorizon = 110\nminibatches = 2\nhidden = [8]\n");
        let setup = training_on("svpg", env.clone()).seeds(&seeds).steps(1 << 20).set(&settings).setup();
        let fitted: Rc<dyn Algorithm> = setup.fitted().clone();
        let mut inside = Training::new(&device, fitted.clone(), &env, &seeds).unwrap();
        let make = |_| -> Result<Box<dyn HostEnv>> { Ok(Box::new(Wrapped::new(&env))) };
        let size = fitted.fleet(seeds.len());
        let executor = Box::new(IterativeExecutor::new(size.tasks, size.envs_per_task, 0, make).unwrap());
        let mut outside = Training::new(&device, fitted, executor, &seeds).unwrap();
        let theta = |training: &Training| {
            let theta = wait(device.read_f32(training.state.get("theta").unwrap()));
            theta.into_iter().map(f32::to_bits).collect::<Vec<_>>()
        };
        let first = theta(&inside);
        for done in 0..4 {
            let metrics = |training: &mut Training| {
                let metrics = wait(training.step(done, 4));
                let metrics = wait(device.read_f32(&metrics));
                metrics.into_iter().map(f32::to_bits).collect::<Vec<_>>()
            };
            assert!(metrics(&mut inside) == metrics(&mut outside), "{name}, {more}");
        }
        assert!(theta(&inside) == theta(&outside) && theta(&inside) != first, "{name}, {more}");
    }
}

#[test]
fn particles_stay_farther_apart_as_the_temperature_rises() {
    let remembering = format!("particle = \"trpo\"\n{MEMORY}");
    for (more, iterations) in [("", 150), ("particle = \"trpo\"\n", 60), (&remembering, 40)] {
        let distance = |temperature: f64| {
            let settings =
                format!("{SMALL}{more}num_particles = 4\nlearning_rate = 3e-3\ntemperature = {temperature:?}\n");
            let mut learner = session("svpg", "cartpole", &[0, 1], 1_000_000, &settings);
            let rows = steps(&mut learner, iterations);
            rows.last().unwrap().iter().map(|row| value(row, "particles/distance")).sum::<f64>() / 2.0
        };
        let distances = [0.1, 3.0, 100.0].map(distance);
        println!("{more}{distances:?}");
        assert!(distances[0] * 1.05 < distances[1] && distances[1] < distances[2], "{more}{distances:?}");
    }
}

/// At any temperature, the KL of each particle's step is limited, and most steps are made.
#[test]
fn hot_particles_of_trpo_keep_to_the_trust_region_and_most_of_their_steps_are_made() {
    for more in ["", MEMORY] {
        for temperature in [0.1, 10.0, 1000.0] {
            let settings = format!(
                "{SMALL}{more}particle = \"trpo\"\nnum_particles = 3\ntemperature = {temperature:?}\nmax_kl = 0.01\n"
            );
            let mut learner = session("svpg", "cartpole", &[0, 1], 1 << 20, &settings);
            let rows = steps(&mut learner, 20).concat();
            // Means over the particles of a seed.
            let kl: Vec<f64> = rows.iter().map(|row| value(row, "train/kl")).collect();
            let made = rows.iter().map(|row| value(row, "train/step_scale")).filter(|scale| *scale > 0.2).count();
            println!("temperature {temperature}: {made} of {} steps", rows.len());
            assert!(kl.iter().all(|kl| (0.0..=0.01).contains(kl)), "{more}temperature {temperature}: {kl:?}");
            assert!(made * 10 >= rows.len() * 8, "{more}temperature {temperature}: {made} of {} steps", rows.len());
            assert!(rows.iter().all(|row| value(row, "train/non_finite") == 0.0));
        }
    }
}

#[test]
fn what_particles_of_trpo_have_no_place_for_is_refused_by_name() {
    let problem = |text: &str| {
        let text = format!("particle = \"trpo\"\n{text}");
        training("svpg", "cartpole").seeds(&[0]).set(&text).refusal()
    };
    for (key, value, answer) in [
        ("entropy_coef", "0.1", "have no entropy in their loss; set it to 0"),
        ("critic", "\"first\"", "fit the value function last; set it to \"last\""),
        ("critic_learning_rate", "1e-3", "fit it by learning_rate; set it to 0"),
        ("value_targets", "\"empirical\"", "fit values to \"gae\"; set it to that"),
        ("advantage_scope", "\"running\"", "standardise advantages over each rollout; set it to \"rollout\""),
    ] {
        assert_eq!(problem(&format!("{key} = {value}\n")), format!("{key}: particles of trpo {answer}"));
    }
    assert!(problem("max_kl = 0.0\n").starts_with("max_kl: 0 is not above 0"));
    assert!(problem("cell = \"gru\"\nenvs = 8\nminibatches = 5\nhorizon = 5\n").contains("must divide envs (8)"));
}

/// Stein's direction with the wrong sign.
#[derive(Debug)]
struct Reversed(Stein);

impl Turn for Reversed {
    fn turn(&self, theta: Tensor, gradient: Tensor) -> Tensor {
        -self.0.turn(theta, gradient)
    }

    fn own_weight(&self) -> f64 {
        self.0.own_weight()
    }
}

static REVERSED: AlgorithmDef = AlgorithmDef {
    name: "reversed-svpg",
    configure: |settings, spec| {
        let config = SvpgConfig::default().with(settings)?;
        let particles = Particles::new(&config, config.num_particles, config.temperature, spec)?;
        let turn = Rc::new(Reversed(particles.stein().clone()));
        Ok(Box::new(particles.turned_by(turn)))
    },
    ..SVPG
};

/// The mean returns of three seeds' policies, in ascending order.
fn learned(def: &'static AlgorithmDef, env: &str, steps_of_each: u64, settings: &str) -> Vec<f64> {
    let mut learner = session(def, env, &[0, 1, 2], steps_of_each, settings);
    while !learner.done() {
        steps(&mut learner, 1);
    }
    let mut means = mean_returns(&mut learner, 50);
    means.sort_by(f64::total_cmp);
    println!("{} on {env}: {means:?}", def.name);
    means
}

const OF_A2C: &str = "num_particles = 2\ntemperature = 1.0\n";

#[test]
fn it_learns_cartpole() {
    assert!(learned(&SVPG, "cartpole", 250_000, OF_A2C)[1] >= 150.0);
}

/// Apart from the test that it learns, so that both are run at once: each takes long.
#[test]
fn by_the_opposite_direction_it_does_not_learn_cartpole() {
    assert!(learned(&REVERSED, "cartpole", 250_000, OF_A2C)[1] <= 60.0);
}

const OF_TRPO: &str = "particle = \"trpo\"\noptimiser = \"adam\"\nlearning_rate = 1e-3\n\
                       num_particles = 4\ntemperature = 1.0\n\
                       normalise_advantages = true\nenvs = 4\nhorizon = 256\nminibatches = 4\ngae_lambda = 0.95\n";

#[test]
#[ignore = "half a minute: scripts/second-tier.sh"]
fn particles_of_trpo_learn_cartpole_and_by_the_opposite_direction_they_do_not() {
    assert!(learned(&SVPG, "cartpole", 100_000, OF_TRPO)[1] >= 150.0);
    assert!(learned(&REVERSED, "cartpole", 100_000, OF_TRPO)[1] <= 60.0);
}

/// A policy that does not see the speed of the pole's fall has to remember earlier angles.
#[test]
#[ignore = "two minutes: scripts/second-tier.sh"]
fn particles_with_memories_balance_a_pole_whose_speed_is_not_seen() {
    let sizes = "particle = \"trpo\"\noptimiser = \"adam\"\nlearning_rate = 1e-3\nnum_particles = 2\n\
                 temperature = 1.0\nnormalise_advantages = true\nenvs = 8\nhorizon = 128\nminibatches = 4\n\
                 gae_lambda = 0.95\ncurvature_share = 0.25\nunits = 16\nhidden = [16]\n";
    let settings = |cell: &str| format!("{sizes}cell = \"{cell}\"\n");
    let learned = |def, cell: &str| learned(def, "cartpole-no-velocities", 110_000, &settings(cell));
    assert!(learned(&SVPG, "gru")[1] >= 150.0);
    assert!(learned(&SVPG, "none")[2] < 100.0);
    assert!(learned(&REVERSED, "gru")[2] < 100.0);
}

/// Snapshots name the layers of each particle like those of its algorithm, recurrent units too, and can be read again.
#[test]
fn snapshots_name_the_layers_of_particles_with_memories() {
    for (cell, gates) in [("gru", "policy.gru.reset.recurrent.weight"), ("lstm", "policy.lstm.forget.recurrent.weight")]
    {
        let own = "units = 5\nlearned_start = true\nnormalise_observations = false\nsde = false\n";
        let settings = format!("{SMALL}cell = \"{cell}\"\n{own}");
        let mut plain = session("a2c", "pendulum", &[5], 1 << 20, &settings);
        let mut particles = session("svpg", "pendulum", &[5], 1 << 20, &format!("{settings}num_particles = 3\n"));
        steps(&mut plain, 2);
        steps(&mut particles, 2);
        let file = |session: &Session| Crafted::read(&snapshot(session, 0));
        let (plain, particles) = (file(&plain), file(&particles));
        assert!(plain.tensors.contains_key(gates), "{:?}", plain.tensors.keys());
        for (name, (_, own, _)) in &plain.tensors {
            let shape = |name: &str| particles.tensors.get(name).map(|(_, shape, _)| shape.clone());
            if ["policy.", "value."].iter().any(|network| name.starts_with(network)) {
                for i in 0..3 {
                    assert_eq!(shape(&format!("particle.{i}.{name}")), Some(own.clone()), "{name}");
                }
            }
            if name.ends_with("_memory") {
                let [rows, width] = own[..] else { panic!("{name}") };
                assert_eq!(shape(name), Some(vec![3 * rows, width]), "{name}");
            }
        }
        assert!(particles.tensors.contains_key("environment.policy_memory"));
    }
}

/// The particle with the highest mean return is played, wherever the file has its parameters.
/// A return of 0 would be one that CartPole cannot have and others can.
#[test]
fn before_an_episode_has_ended_there_is_no_best_return() {
    // An episode of Pendulum has 200 steps.
    let settings = "hidden = [4]\nenvs = 2\nhorizon = 100\nnum_particles = 2\n";
    let rows = steps(&mut session("svpg", "pendulum", &[0], 1200, settings), 3);
    let best: Vec<f64> = rows.iter().map(|rows| value(&rows[0], "particles/return_best")).collect();
    assert!(best[0].is_nan() && best[1..].iter().all(|best| *best < -100.0), "{best:?}");
}

#[test]
fn the_best_particle_is_played() {
    let mut learner = session("svpg", "pendulum", &[5], 1 << 20, &format!("{SMALL}num_particles = 3\n"));
    steps(&mut learner, 3);
    let file = Crafted::read(&wait(learner.policy_snapshot(0)));
    let file = file.filled(&[("particles.episodes", 9.0), ("particles.returns", -900.0)]);
    let played = |file: &Crafted, best: usize| {
        let bytes = file.number("particles.returns", best, -800.0).bytes();
        let mut policy = Evaluator::load(&Device::cpu(1), &bytes).unwrap();
        let episodes = wait(policy.evaluate(20, 0, true));
        episodes.iter().map(|episode| episode.ret).collect::<Vec<_>>()
    };
    let all = [0, 1, 2].map(|best| played(&file, best));
    assert!(all[0] != all[1] && all[1] != all[2] && all[0] != all[2], "particles play alike");
    let renamed = |name: &String| match name.split_once("particle.") {
        Some(("", rest)) if rest.starts_with("0.") => format!("particle.2.{}", &rest[2..]),
        Some(("", rest)) if rest.starts_with("2.") => format!("particle.0.{}", &rest[2..]),
        _ => name.clone(),
    };
    let tensors = file.tensors.iter().map(|(name, tensor)| (renamed(name), tensor.clone())).collect();
    let exchanged = Crafted { tensors, ..file.clone() };
    assert!([2, 1, 0].map(|best| played(&exchanged, best)) == all);
    // The mean over no episodes does not exist, and so is not the best.
    assert!(played(&file.number("particles.episodes", 1, 0.0).number("particles.returns", 2, -850.0), 1) == all[2]);
}

/// Each particle plays alone, and the chosen one is the one whose parameters are in its place.
#[test]
fn each_particle_can_be_played() {
    for more in ["", MEMORY] {
        let mut learner = session("svpg", "pendulum", &[5], 1 << 20, &format!("{SMALL}{more}num_particles = 3\n"));
        steps(&mut learner, 3);
        let file = Crafted::read(&wait(learner.policy_snapshot(0)));
        let file = file.filled(&[("particles.episodes", 9.0), ("particles.returns", -900.0)]);
        let returns = |policy: &mut Evaluator| {
            let episodes = wait(policy.evaluate(20, 0, true));
            episodes.iter().map(|episode| episode.ret).collect::<Vec<_>>()
        };
        for i in 0..3 {
            let best = file.number("particles.returns", i, -800.0).bytes();
            let mut best = Evaluator::load(&Device::cpu(1), &best).unwrap();
            // Another particle is the best in this file.
            let other = file.number("particles.returns", (i + 1) % 3, -800.0).bytes();
            let mut chosen = Evaluator::load(&Device::cpu(1), &other).unwrap();
            let (own, others) = (returns(&mut best), returns(&mut chosen));
            chosen.choose_particle(i).unwrap();
            assert_eq!((chosen.particles(), returns(&mut chosen)), (3, own.clone()));
            assert_ne!(own, others);
            let recorded = wait(chosen.trajectory(0, true));
            let recorded: f64 = recorded.rewards.iter().map(|reward| f64::from(*reward)).sum();
            assert!((recorded - own[0]).abs() < 1e-2, "{recorded} {}", own[0]);
        }
    }
    let policy = |algorithm: &str, settings: &str| {
        let learner = session(algorithm, "cartpole", &[5], 1 << 20, settings);
        Evaluator::load(&Device::cpu(1), &wait(learner.policy_snapshot(0))).unwrap()
    };
    let refused = |mut policy: Evaluator, i: usize| policy.choose_particle(i).unwrap_err().to_string();
    let of = |n: usize| policy("svpg", &format!("{SMALL}num_particles = {n}\n"));
    assert_eq!(refused(of(3), 3), "particle: there is no number 3; this policy of svpg has the particles 0 to 2");
    assert_eq!(refused(of(1), 1), "particle: there is no number 1; the only particle of this policy is 0");
    assert_eq!(refused(policy("a2c", SMALL), 0), "particle: a policy of a2c has no particles");
    of(1).choose_particle(0).unwrap();
}
