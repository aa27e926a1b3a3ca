//! VPG with fitted baselines and with entropy in its rewards: that it learns where a random policy and one that learns
//! from costs do not, how well baselines predict, seeds, resuming, and warm starts.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy_core::Device;
use quickstudy_core::env::EnvDef;
use quickstudy_core::train::{Evaluator, Session};
use quickstudy_tests::costly::Costly;
use quickstudy_tests::trainings::{
    mean_returns, snapshot, stacks_and_resumes, steps, theta, training, training_on, value, wait,
};

const FITTED: [&str; 3] = ["linear_feature", "linear_time", "multi_feature"];
const SMALL: &str = "hidden = [8]\nenvs = 4\nhorizon = 16\nminibatches = 1\n";
const MAX: &str = "entropy_method = \"max\"\nnormalise_advantages = false\n";

fn session(env: &str, seeds: &[u64], steps: u64, settings: &str) -> Session {
    training("vpg", env).seeds(seeds).steps(steps).set(settings).session_on(&Device::cpu(0))
}

/// The mean return of each seed's deterministic policy, in ascending order.
fn learned(mut session: Session) -> Vec<f64> {
    while !session.done() {
        for row in session.step_blocking().unwrap() {
            assert!(row.iter().all(|(name, x)| x.is_finite() || name.starts_with("rollout/")), "{row:?}");
            assert_eq!(value(&row, "train/non_finite"), 0.0);
        }
    }
    let mut means = mean_returns(&mut session, 50);
    means.sort_by(f64::total_cmp);
    means
}

/// The bars and the number of steps are those of VPG with its value network in `policy_gradient.rs`.
#[test]
fn vpg_learns_cartpole_by_fitted_baselines_and_with_entropy_in_its_rewards() {
    let (bar, budget) = (150.0, 80_000);
    let with_entropy = format!("baseline = \"linear_feature\"\nentropy_coef = 0.01\n{MAX}");
    let fitted = FITTED.map(|word| format!("baseline = \"{word}\"\n"));
    for settings in fitted.iter().chain([&with_entropy]) {
        let learner = session("cartpole", &[0, 1, 2], budget, settings);
        let first = wait(learner.policy_snapshot(0));
        let mut random = Evaluator::load(&Device::cpu(0), &first).unwrap();
        let drawn = wait(random.evaluate(100, 0, false));
        assert!(drawn.iter().map(|e| e.ret).sum::<f64>() / 100.0 < 40.0);
        let returns = learned(learner);
        println!("{settings}{returns:?}");
        assert!(returns[1] >= bar, "{settings}{returns:?}");
        // Policies that learn from costs of steps end their episodes soon.
        let env = EnvDef::new(Costly::default()).unwrap();
        let returns =
            learned(training_on("vpg", env).seeds(&[0, 1, 2]).steps(budget).set(settings).session_on(&Device::cpu(0)));
        println!("turned around: {returns:?}");
        assert!(returns.iter().all(|ret| (-40.0..0.0).contains(ret)), "{settings}{returns:?}");
    }
}

/// Rewards of the pendulum depend on its state: features of observations predict returns, a mere
/// clock predicts less, and 0 predicts nothing.
#[test]
fn baselines_explain_returns_of_later_rollouts_by_what_their_features_say() {
    let explained = |word: &str, horizon: usize| {
        let settings = format!(
            "baseline = \"{word}\"\nhidden = [8]\nenvs = 32\nhorizon = {horizon}\ngamma = 0.9\nlearning_rate = 1e-9\n"
        );
        let mut session = session("pendulum", &[3], 1 << 20, &settings);
        let rows = steps(&mut session, 8);
        rows.iter().map(|row| value(&row[0], "train/explained_variance")).collect::<Vec<f64>>()
    };
    let [feature, time, multi] = FITTED.map(|word| explained(word, 200));
    let zero = explained("zero", 200);
    println!("{feature:?}\n{time:?}\n{multi:?}\n{zero:?}");
    assert!(zero.iter().all(|x| x.abs() < 1e-6), "{zero:?}");
    for explained in [&feature, &multi] {
        assert!(explained[0].abs() < 1e-6, "it has not been fitted yet: {explained:?}");
        assert!(explained[1..].iter().all(|x| *x > 0.5), "{explained:?}");
    }
    // In rollouts of half an episode, the clock of one is not that of the next, and cubes of
    // time would lead beyond all that was seen.
    let halves = explained("linear_feature", 100);
    assert!(halves.iter().all(|x| *x > -20.0), "{halves:?}");
    assert!(time[1..].iter().zip(&feature[1..]).all(|(time, feature)| time + 0.2 < *feature), "{time:?} {feature:?}");
}

/// The value network is of no use beside a fitted baseline, and its metrics are not logged.
#[test]
fn only_the_policy_makes_steps_beside_a_fitted_baseline() {
    for word in FITTED.into_iter().chain(["zero"]) {
        let run = |more: &str| {
            let mut session = session("pendulum", &[1], 4096, &format!("{SMALL}baseline = \"{word}\"\n{more}"));
            let rows = steps(&mut session, 3);
            (theta(&session, 0), rows)
        };
        let (plain, rows) = run("");
        let names: Vec<&str> = rows[2][0].iter().map(|(name, _)| name.as_str()).collect();
        for name in ["train/value_loss", "train/critic_grad_norm", "train/critic_learning_rate"] {
            assert!(!names.contains(&name), "{word}: {names:?}");
        }
        assert!(names.contains(&"train/explained_variance"), "{names:?}");
        assert_eq!(plain, run("critic_learning_rate = 0.5\ncritic_epochs = 3\ncritic_max_grad_norm = 0.1").0, "{word}");
        let other = run("baseline_regularisation = 100.0").0;
        assert_eq!(plain == other, word == "zero", "{word}");
        assert_ne!(plain, run("value_targets = \"td_lambda\"\nvalue_lambda = 0.1\ngae_lambda = 0.9").0, "{word}");
    }
}

#[test]
fn entropy_is_in_rewards_or_in_the_objective_or_in_none() {
    let run = |more: &str| {
        let mut session = session("pendulum", &[1], 4096, &format!("{SMALL}normalise_advantages = false\n{more}"));
        steps(&mut session, 3);
        theta(&session, 0)
    };
    let none = run("entropy_coef = 0.0");
    assert_eq!(none, run("entropy_coef = 0.0\nentropy_method = \"no_entropy\""));
    assert_eq!(none, run("entropy_coef = 0.0\nentropy_method = \"max\""));
    let [term, reward] =
        ["regularized", "max"].map(|word| run(&format!("entropy_coef = 0.1\nentropy_method = \"{word}\"")));
    assert!(none != term && none != reward && term != reward);
}

/// An entropy that counts a hundred times as much as a step leaves only the aim to stay undecided for long.
#[test]
fn rewarded_entropy_keeps_a_policy_alive_whose_steps_cost() {
    let settings = format!("baseline = \"linear_feature\"\nentropy_coef = 100.0\n{MAX}max_grad_norm = 0.5\n");
    let costly = || EnvDef::new(Costly::default()).unwrap();
    let returns = learned(
        training_on("vpg", costly()).seeds(&[0, 1, 2]).steps(80_000).set(&settings).session_on(&Device::cpu(0)),
    );
    println!("{returns:?}");
    // A step costs 1, so longer episodes pay more.
    assert!(returns[1] < -100.0, "{returns:?}");
}

#[test]
fn seeds_do_not_depend_on_each_other_and_resumed_training_is_that_without_a_stop() {
    for word in FITTED.into_iter().chain(["zero"]) {
        for more in ["advantage_scope = \"running\"\n", "entropy_coef = 0.1\nnormalise_rewards = true\n"] {
            let settings = match more.contains("entropy") {
                true => format!("{SMALL}baseline = \"{word}\"\n{MAX}{more}"),
                false => format!("{SMALL}baseline = \"{word}\"\n{more}"),
            };
            let request = training("vpg", "cartpole").seeds(&[7, 8]).steps(1 << 20).set(&settings);
            stacks_and_resumes(&request, 5, &settings);
        }
    }
}

/// A run begins with the weights of another one, but not with those of a value network where there is
/// none, nor with those of other features.
#[test]
fn weights_go_where_the_parameters_go() {
    let small = "hidden = [8]\nenvs = 4\nhorizon = 200\nminibatches = 1\n";
    let of = |word: &str| session("pendulum", &[1], 1 << 20, &format!("{small}baseline = \"{word}\"\n"));
    let mut source = of("linear_feature");
    steps(&mut source, 4);
    let file = snapshot(&source, 0);
    let first = |word: &str, file: &[u8]| {
        let mut session = of(word);
        session.start_from(None, &[file]).unwrap();
        value(&steps(&mut session, 1)[0][0], "train/explained_variance")
    };
    assert!(first("linear_feature", &file) != 0.0);
    let mut network = of("network");
    steps(&mut network, 1);
    assert_eq!(first("linear_feature", &snapshot(&network, 0)), 0.0);
    let message = of("linear_time").start_from(None, &[&file]).unwrap_err().to_string();
    assert!(message.contains("baseline.weights"), "{message}");
    println!("{message}");
}
