//! A2C, VPG and PPO2 end to end: that they learn where a random policy does not, that policy and value function step
//! apart where the settings ask for it, seeds, and resuming.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy_core::Device;
use quickstudy_core::algo::{A2cConfig, ActorCritic};
use quickstudy_core::env::{EnvDef, builtin};
use quickstudy_core::settings::Settings as _;
use quickstudy_core::train::{Evaluator, Session};
use quickstudy_tests::costly::Costly;
use quickstudy_tests::trainings::{
    finish, mean_returns, stacks_and_resumes, steps, theta, training, training_on, value, wait,
};

const ALL: [&str; 3] = ["a2c", "vpg", "ppo2"];
const SMALL: &str = "hidden = [8]\nenvs = 4\nhorizon = 16\nminibatches = 1\n";

fn session(algorithm: &str, env: &str, seeds: &[u64], steps: u64, settings: &str) -> Session {
    training(algorithm, env).seeds(seeds).steps(steps).set(settings).session_on(&Device::cpu(0))
}

/// Policies that learn from costs of steps end their episodes soon: within some 10 steps,
/// where a policy that acts at random takes 22.
#[test]
fn none_learns_cartpole_when_its_rewards_are_turned_around() {
    for (algorithm, budget) in [("a2c", 150_000), ("vpg", 80_000), ("ppo2", 60_000)] {
        let env = EnvDef::new(Costly::default()).unwrap();
        let mut learner = training_on(algorithm, env).seeds(&[0, 1, 2]).steps(budget).session_on(&Device::cpu(0));
        finish(&mut learner);
        let returns = mean_returns(&mut learner, 50);
        println!("{algorithm}: {returns:?}");
        assert!(returns.iter().all(|ret| (-40.0..0.0).contains(ret)), "{algorithm}: {returns:?}");
    }
}

#[test]
fn each_learns_cartpole_and_a_random_policy_does_not() {
    let bar = 150.0;
    for (algorithm, budget) in [("a2c", 150_000), ("vpg", 80_000), ("ppo2", 60_000)] {
        let mut learner = session(algorithm, "cartpole", &[0, 1, 2], budget, "");
        let bytes = wait(learner.policy_snapshot(0));
        let mut random = Evaluator::load(&Device::cpu(0), &bytes).unwrap();
        let drawn = wait(random.evaluate(100, 0, false));
        assert!(drawn.iter().map(|e| e.ret).sum::<f64>() / 100.0 < 40.0);
        while !learner.done() {
            for row in wait(learner.step()) {
                assert!(row.iter().all(|(name, x)| x.is_finite() || name.starts_with("rollout/")), "{row:?}");
            }
        }
        let mut returns = mean_returns(&mut learner, 50);
        returns.sort_by(f64::total_cmp);
        println!("{algorithm}: {returns:?}");
        assert!(returns[1] >= bar, "{algorithm}: {returns:?}");
    }
}

/// The entropy of one normal number is ½ ln 2πe + ln σ.
#[test]
fn no_policy_explores_by_less_than_the_lowest_deviation() {
    let floor = 0.5;
    let least = 0.5 * (1.0 + std::f64::consts::TAU.ln()) + f64::ln(floor);
    for algorithm in ["a2c", "vpg", "ppo", "ppo2", "svpg", "trpo"] {
        let lowest = |more: &str| {
            let step = if algorithm == "trpo" { "max_kl = 0.1" } else { "learning_rate = 0.03\nentropy_coef = 0.0" };
            // σ begins at 0.502.
            let settings = format!("{SMALL}sde = false\nlog_std_init = -0.69\n{step}\n{more}");
            let mut learner = session(algorithm, "pendulum", &[1, 2, 3], 10_000, &settings);
            let rows = steps(&mut learner, 12);
            rows.iter().flatten().map(|row| value(row, "train/entropy")).fold(f64::INFINITY, f64::min)
        };
        let [free, limited] = ["", "min_std = 0.5"].map(lowest);
        println!("{algorithm}: {free} {limited} {least}");
        assert!(free < least - 0.01 && limited > least - 1e-5, "{algorithm}: {free} {limited} {least}");
    }
}

/// Tells for policy and value network whether an iteration moves them.
fn moved(settings: &str) -> [bool; 2] {
    let text = format!("hidden = [8]\nenvs = 4\nhorizon = 16\n{settings}");
    let config = A2cConfig::default().with(&toml::from_str(&text).unwrap()).unwrap();
    let net = ActorCritic::new(builtin("pendulum").unwrap().spec(), &config.net, &config.sampling);
    let mut learner = session("a2c", "pendulum", &[1], 2000, &text);
    // The second iteration begins with the optimiser's memory of the first.
    steps(&mut learner, 1);
    let before = theta(&learner, 0);
    steps(&mut learner, 1);
    let after = theta(&learner, 0);
    [false, true].map(|of_value| {
        net.layout.slices().filter(|(name, ..)| name.starts_with("value") == of_value).any(|(_, shape, at)| {
            (at..at + shape.iter().product::<usize>()).any(|i| (before[i] - after[i]).abs() > 1e-9)
        })
    })
}

#[test]
fn networks_that_step_apart_leave_each_other_alone() {
    assert_eq!(moved(""), [true, true]);
    for order in ["first", "last"] {
        for rule in ["adam", "rms_prop", "sgd"] {
            let with = |more: &str| moved(&format!("critic = \"{order}\"\noptimiser = \"{rule}\"\n{more}"));
            assert_eq!(with("critic_learning_rate = 1e-3"), [true, true], "{order} {rule}");
            assert_eq!(with("critic_learning_rate = 1e-30"), [true, false], "{order} {rule}");
            assert_eq!(with("learning_rate = 1e-30\ncritic_learning_rate = 1e-3"), [false, true], "{order} {rule}");
        }
    }
}

/// A value function that is fitted first changes the advantages, and one that is fitted last does not.
#[test]
fn the_policy_follows_advantages_of_the_new_values_only_if_the_critic_is_first() {
    let policy = |settings: &str| {
        let text = format!("hidden = [8]\nenvs = 4\nhorizon = 16\noptimiser = \"sgd\"\nmomentum = 0\n{settings}");
        let config = A2cConfig::default().with(&toml::from_str(&text).unwrap()).unwrap();
        let net = ActorCritic::new(builtin("pendulum").unwrap().spec(), &config.net, &config.sampling);
        let mut learner = session("a2c", "pendulum", &[1], 2000, &text);
        steps(&mut learner, 1);
        let (all, mut own) = (theta(&learner, 0), Vec::new());
        for (name, shape, at) in net.layout.slices() {
            if name.starts_with("policy") {
                own.extend_from_slice(&all[at..at + shape.iter().product::<usize>()]);
            }
        }
        own
    };
    let rates = ["critic_learning_rate = 1e-30", "critic_learning_rate = 1e-3"];
    let [idle, fitted] = rates.map(|rate| policy(&format!("critic = \"first\"\n{rate}")));
    assert_ne!(idle, fitted, "advantages are those of the old values");
    let [still, later] = rates.map(|rate| policy(&format!("critic = \"last\"\n{rate}")));
    assert_eq!(still, later);
    assert_eq!(still, idle);
}

#[test]
fn targets_and_scopes_change_training_and_details_are_logged() {
    let run = |settings: &str| {
        let text = format!("hidden = [8]\nenvs = 4\nhorizon = 32\nnormalise_advantages = true\n{settings}");
        let mut learner = session("a2c", "pendulum", &[1], 2000, &text);
        let rows = steps(&mut learner, 2);
        (theta(&learner, 0), rows[1][0].clone())
    };
    let (plain, row) = run("minibatches = 2");
    for name in ["loss_before", "loss_after", "std", "policy_grad_norm", "critic_grad_norm"] {
        assert!(value(&row, &format!("train/{name}")).is_finite());
    }
    let parts = ["policy_grad_norm", "critic_grad_norm"].map(|name| value(&row, &format!("train/{name}")));
    assert!(parts[0].hypot(parts[1]) <= value(&row, "train/grad_norm") * 1.2, "{row:?}");
    assert!(value(&row, "train/loss_after") != value(&row, "train/loss_before"));
    for other in ["rollout", "running"] {
        assert_ne!(run(&format!("minibatches = 2\nadvantage_scope = \"{other}\"")).0, plain, "{other}");
    }
    let [gae, own, empirical] = ["gae", "td_lambda", "empirical"]
        .map(|targets| run(&format!("gae_lambda = 0.9\nvalue_lambda = 0.9\nvalue_targets = \"{targets}\"")).0);
    assert_eq!(gae, own, "TD(λ) by the λ of the advantages is advantage + value");
    assert_ne!(gae, empirical);
    assert_eq!(empirical, run("gae_lambda = 0.9\nvalue_targets = \"td_lambda\"\nvalue_lambda = 1").0);
}

#[test]
fn seeds_do_not_depend_on_each_other_and_resumed_training_is_that_without_a_stop() {
    for algorithm in ALL {
        for critic in ["joint", "first", "last"] {
            let settings = format!(
                "hidden = [8]\nenvs = 4\nhorizon = 16\nminibatches = 1\nnormalise_advantages = true\n\
                 critic = \"{critic}\"\ncritic_epochs = 2\nadvantage_scope = \"running\"\noptimiser = \"sgd\"\n"
            );
            let request = training(algorithm, "pendulum").seeds(&[7, 8]).steps(4096).set(&settings);
            stacks_and_resumes(&request, 2, &format!("{algorithm} {critic}"));
        }
    }
}
