//! SVPG end to end: one particle is the plain algorithm, particles learn and stay apart, seeds, resuming, and who is played.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::rc::Rc;

use quickstudy_core::algo::svpg::{Particles, Stein, SvpgConfig};
use quickstudy_core::algo::{AlgorithmDef, IntoAlgorithm, SVPG};
use quickstudy_core::env::builtin;
use quickstudy_core::learn::Turn;
use quickstudy_core::settings::Settings as _;
use quickstudy_core::train::{Evaluator, Layer, Row, Session, Setup};
use quickstudy_core::{Device, Tensor};
use quickstudy_tests::crafted::Crafted;
use quickstudy_tests::gpu::theta;

fn session(algorithm: impl IntoAlgorithm, env: &str, seeds: &[u64], steps: u64, settings: &str) -> Session {
    let layer = Layer { origin: "test".into(), settings: toml::from_str(settings).unwrap() };
    let setup = Setup::resolve(algorithm, builtin(env).unwrap(), seeds, Some(steps), &[layer]).unwrap();
    Session::new(&Device::cpu(0), &setup).unwrap()
}

fn steps(session: &mut Session, n: usize) -> Vec<Vec<Row>> {
    (0..n).map(|_| pollster::block_on(session.step()).unwrap()).collect()
}

fn value(row: &Row, name: &str) -> f64 {
    row.iter().find(|(n, _)| n == name).unwrap_or_else(|| panic!("no {name} in {row:?}")).1
}

fn bytes(session: &Session, index: usize) -> Vec<u8> {
    pollster::block_on(session.snapshot(index)).unwrap()
}

const SMALL: &str = "hidden = [8]\nenvs = 4\nhorizon = 16\n";

#[test]
fn one_particle_is_the_plain_algorithm_bit_for_bit() {
    let shared = "minibatches = 2\nnormalise_observations = true\nnormalise_rewards = true\nlearning_rate = 1e-3\n\
                  learning_rate_schedule = \"linear\"\noptimiser = \"adam\"\nentropy_coef = 0.01\nvalue_coef = 0.5\n\
                  normalise_advantages = true\nlog_details = true\ngae_lambda = 0.95\ngamma = 0.97\nmax_grad_norm = 0.5\n";
    for (plain, more) in
        [("a2c", ""), ("ppo", "epochs = 3\nvalue_clip = false\nclip_eps = 0.1\nclip_eps_schedule = \"linear\"\n")]
    {
        // All that the presets of the three differ in is set.
        let explored = "sde = true\nsde_sample_freq = 4\nlog_std_init = -2.0\northogonal_init = false\n";
        for (env, of_env) in [("cartpole", ""), ("pendulum", explored)] {
            let settings = format!("{SMALL}{shared}{more}{of_env}");
            let mut alone = session(plain, env, &[3, 4], 4096, &settings);
            let of_one = format!("{settings}num_particles = 1\nparticle = \"{plain}\"\n");
            let mut particles = session("svpg", env, &[3, 4], 4096, &of_one);
            let (rows, more) = (steps(&mut alone, 5), steps(&mut particles, 5));
            for seed in 0..2 {
                let bits = |s: &Session| theta(s, seed).iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                assert!(bits(&alone) == bits(&particles), "{plain} on {env}");
            }
            for (row, more) in rows.iter().flatten().zip(more.iter().flatten()) {
                for (name, x) in row.iter().filter(|(name, _)| !name.starts_with("time/")) {
                    assert_eq!(x.to_bits(), value(more, name).to_bits(), "{plain} on {env}: {name}");
                }
            }
        }
    }
}

#[test]
fn seeds_do_not_depend_on_each_other_and_resumed_training_is_that_without_a_stop() {
    for more in ["", "particle = \"ppo\"\nepochs = 2\n", "critic = \"last\"\ncritic_epochs = 2\n"] {
        let settings =
            format!("{SMALL}{more}num_particles = 3\nnormalise_observations = true\nnormalise_rewards = true\n");
        let mut stacked = session("svpg", "pendulum", &[7, 8], 4096, &settings);
        steps(&mut stacked, 4);
        let mut alone = session("svpg", "pendulum", &[8], 4096, &settings);
        steps(&mut alone, 2);
        let mut resumed = Session::restore(&Device::cpu(1), &[&bytes(&alone, 0)]).unwrap();
        steps(&mut alone, 2);
        steps(&mut resumed, 2);
        assert!(bytes(&alone, 0) == bytes(&stacked, 1), "{more}: seed 8 depends on others");
        assert!(bytes(&alone, 0) == bytes(&resumed, 0), "{more}: resuming changes training");
    }
}

#[test]
fn particles_stay_farther_apart_as_the_temperature_rises() {
    let distance = |temperature: f64| {
        let settings = format!("{SMALL}num_particles = 4\nlearning_rate = 3e-3\ntemperature = {temperature:?}\n");
        let mut learner = session("svpg", "cartpole", &[0, 1], 1_000_000, &settings);
        let rows = steps(&mut learner, 150);
        rows.last().unwrap().iter().map(|row| value(row, "particles/distance")).sum::<f64>() / 2.0
    };
    let distances = [0.1, 3.0, 100.0].map(distance);
    println!("{distances:?}");
    assert!(distances[0] * 1.05 < distances[1] && distances[1] < distances[2], "{distances:?}");
}

/// Stein's direction with the wrong sign.
#[derive(Debug)]
struct Reversed(Stein);

impl Turn for Reversed {
    fn turn(&self, theta: Tensor, gradient: Tensor) -> Tensor {
        -self.0.turn(theta, gradient)
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

#[test]
fn it_learns_cartpole_and_by_the_opposite_direction_it_does_not() {
    let settings = "num_particles = 4\ntemperature = 1.0\n";
    let learned = |def: &'static AlgorithmDef| {
        let mut learner = session(def, "cartpole", &[0, 1, 2], 400_000, settings);
        while !learner.done() {
            steps(&mut learner, 1);
        }
        let all = pollster::block_on(learner.evaluate(50)).unwrap();
        let mut means: Vec<f64> = all.iter().map(|e| e.iter().map(|e| e.ret).sum::<f64>() / 50.0).collect();
        means.sort_by(f64::total_cmp);
        println!("{}: {means:?}", def.name);
        means
    };
    assert!(learned(&SVPG)[1] >= 150.0);
    assert!(learned(&REVERSED)[1] <= 60.0);
}

/// Files that differ in who has the highest mean return, and in whose parameters are where.
#[test]
fn the_best_particle_is_played() {
    let mut learner = session("svpg", "pendulum", &[5], 1 << 20, &format!("{SMALL}num_particles = 3\n"));
    steps(&mut learner, 3);
    let file = Crafted::read(&pollster::block_on(learner.policy_snapshot(0)).unwrap());
    let file = file.filled(&[("particles.episodes", 9.0), ("particles.returns", -900.0)]);
    let played = |file: &Crafted, best: usize| {
        let bytes = file.number("particles.returns", best, -800.0).bytes();
        let mut policy = Evaluator::load(&Device::cpu(1), &bytes).unwrap();
        let episodes = pollster::block_on(policy.evaluate(20, 0, true)).unwrap();
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
    // A mean of no episodes is none.
    assert!(played(&file.number("particles.episodes", 1, 0.0).number("particles.returns", 2, -850.0), 1) == all[2]);
}
