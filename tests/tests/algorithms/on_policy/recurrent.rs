//! Algorithms that learn from their own rollouts, with memories: that they learn from the steps that they played,
//! seeds, resuming, gradients, and that they learn where a policy without a memory does not.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy_core::Device;
use quickstudy_core::algo::{AlgorithmDef, IntoAlgorithm, TRPO, Trpo, TrpoConfig, VPG, Vpg, VpgConfig};
use quickstudy_core::env::builtin;
use quickstudy_core::settings::Settings as _;
use quickstudy_core::train::{Row, Session};
use quickstudy_tests::trainings::{
    finish, mean_returns, stacks_and_resumes, steps, theta, training, training_on, value,
};
use quickstudy_tests::turned::TurnedPolicy;

fn session(algorithm: impl IntoAlgorithm, env: &str, seeds: &[u64], steps: u64, settings: &str) -> Session {
    training(algorithm, env).seeds(seeds).steps(steps).set(settings).session_on(&Device::cpu(0))
}

/// Memories of each kind, with all of their options.
const CELLS: [&str; 4] = [
    "cell = \"gru\"\n",
    "cell = \"gru\"\nreset = \"before\"\nlayer_norm = true\nlearned_start = true\n",
    "cell = \"lstm\"\nlearned_start = true\n",
    "cell = \"rnn\"\nlayer_norm = true\n",
];

const SMALL: &str = "units = 6\nhidden = [8]\nenvs = 4\nhorizon = 24\nminibatches = 1\n";

/// Before its first step, an update finds exactly the log-probabilities by which the actions were drawn: across the
/// starts of episodes, the ends of rollouts, and time limits of episodes that are longer than a rollout.
#[test]
fn what_is_learned_from_is_what_was_played() {
    for cell in CELLS {
        for env in ["cartpole-no-velocities", "pendulum"] {
            let settings = format!("{SMALL}{cell}epochs = 1\nlearning_rate = 0.01\nnormalise_observations = true\n");
            let mut session = session("ppo", env, &[1, 2], 1 << 20, &settings);
            let first = theta(&session, 0);
            for (i, row) in steps(&mut session, 12).iter().flatten().enumerate() {
                // Two programs of the same numbers differ by the rounding of f32 alone.
                assert!(value(row, "train/approx_kl").abs() < 1e-9, "{env}, {cell}row {i}: {row:?}");
                assert_eq!(value(row, "train/clip_frac"), 0.0);
            }
            assert!(first != theta(&session, 0), "{env}, {cell}: nothing was learnt");
        }
    }
}

/// Where all ratios are 1, the surrogate is minus the mean of standardised advantages, which is 0.
#[test]
fn a_trust_region_is_around_what_was_played() {
    for cell in CELLS {
        for env in ["cartpole-no-velocities", "pendulum"] {
            for hessian in ["exact", "one_sided_differences"] {
                let settings = format!(
                    "{SMALL}{cell}critic_epochs = 1\nnormalise_observations = true\ncurvature_share = 0.5\n\
                     hessian = \"{hessian}\"\n"
                );
                // Steps of almost no length.
                let mut still = session("trpo", env, &[1, 2], 1 << 20, &format!("{settings}max_kl = 1e-30\n"));
                for row in steps(&mut still, 8).iter().flatten() {
                    assert!(value(row, "train/policy_loss").abs() < 1e-6, "{env}, {cell}: {row:?}");
                }
                let mut moving = session("trpo", env, &[1, 2], 1 << 20, &settings);
                let rows = steps(&mut moving, 10).concat();
                let kl = |row: &Row| value(row, "train/kl");
                assert!(rows.iter().all(|row| (0.0..=0.01).contains(&kl(row))), "{env}, {cell}: {rows:?}");
                let made = rows.iter().filter(|row| kl(row) > 0.001).count();
                assert!(made >= 14, "{env}, {cell}: {made} of 20 steps were made");
            }
        }
    }
}

#[test]
fn seeds_do_not_depend_on_each_other_and_resumed_training_is_that_without_a_stop() {
    for (algorithm, more) in [
        ("ppo", "epochs = 2\nminibatches = 2\nnormalise_observations = true\nnormalise_rewards = true\n"),
        (
            "ppo",
            "minibatches = 1\ncritic = \"first\"\ncritic_epochs = 2\nlog_details = true\nsde = true\n\
             sde_sample_freq = 4\n",
        ),
        ("a2c", "minibatches = 1\ncritic = \"last\"\ncritic_epochs = 2\nvalue_targets = \"td_lambda\"\n"),
        ("vpg", "minibatches = 1\nnormalise_observations = true\ncritic_epochs = 2\n"),
        ("vpg", "minibatches = 2\nbaseline = \"linear_feature\"\nnormalise_rewards = true\n"),
        ("trpo", "minibatches = 2\ncritic_epochs = 2\nnormalise_observations = true\nnormalise_rewards = true\n"),
        ("trpo", "minibatches = 1\ncurvature_share = 0.5\nsde = true\nsde_sample_freq = 4\n"),
    ] {
        for cell in CELLS {
            let settings = format!("{}{cell}{more}", SMALL.replace("minibatches = 1\n", ""));
            let request = training(algorithm, "pendulum").seeds(&[7, 8]).steps(1 << 20).set(&settings);
            stacks_and_resumes(&request, 5, &format!("{algorithm}, {settings}"));
        }
    }
}

#[test]
fn minibatches_are_of_whole_environments() {
    let problem = |text: &str| {
        let env = builtin("cartpole-no-velocities").unwrap();
        training_on("ppo", env).seeds(&[0]).set(text).refusal()
    };
    let message = problem("cell = \"gru\"\nenvs = 8\nhorizon = 30\nminibatches = 3\n");
    assert_eq!(message, "minibatches: 3 must divide envs (8) where policies remember; try 2, or set minibatch_size");
    assert!(problem("cell = \"gr\"").contains("gru"), "{}", problem("cell = \"gr\""));
}

/// The mean return of each seed's deterministic policy, in ascending order.
fn sorted_returns(session: &mut Session) -> Vec<f64> {
    let mut means = mean_returns(session, 50);
    means.sort_by(f64::total_cmp);
    means
}

static TURNED_VPG: AlgorithmDef = AlgorithmDef {
    name: "turned-vpg",
    configure: |settings, spec| Ok(Box::new(TurnedPolicy(Vpg::new(&VpgConfig::default().with(settings)?, spec)?))),
    ..VPG
};

static TURNED_TRPO: AlgorithmDef = AlgorithmDef {
    name: "turned-trpo",
    configure: |settings, spec| Ok(Box::new(TurnedPolicy(Trpo::new(&TrpoConfig::default().with(settings)?, spec)?))),
    ..TRPO
};

/// Returns of three seeds in order, of policies that do not see the speed of the pole's fall: they can only balance it
/// for long by remembering earlier angles.
fn without_velocities(algorithm: &'static AlgorithmDef, cell: &str, budget: u64, more: &str) -> Vec<f64> {
    let settings = format!("{more}cell = \"{cell}\"\n");
    let mut session = session(algorithm, "cartpole-no-velocities", &[0, 1, 2], budget, &settings);
    finish(&mut session);
    let returns = sorted_returns(&mut session);
    println!("{}, {cell}: {returns:?}", algorithm.name);
    returns
}

/// Checks that policies with a memory balance, and that those without one and those of the turned update do not.
fn only_memories_balance([algorithm, turned]: [&'static AlgorithmDef; 2], budget: u64, more: &str) {
    let more = &format!("{more}units = 16\nhidden = [16]\n");
    let returns = without_velocities(algorithm, "gru", budget, more);
    assert!(returns[1] > 150.0, "{}, {more}: {returns:?}", algorithm.name);
    for (fails, cell) in [(algorithm, "none"), (turned, "gru")] {
        let returns = without_velocities(fails, cell, budget, more);
        assert!(returns[2] < 100.0, "{}, {cell}, {more}: {returns:?}", fails.name);
    }
}

#[test]
fn memories_of_ppo_balance_a_pole_whose_speed_is_not_seen_and_policies_without_one_do_not() {
    // Half the passes of the preset with steps of twice the size, on rollouts twice as wide: that takes less time.
    let settings = "envs = 16\nepochs = 10\nlearning_rate = 0.002\nunits = 16\nhidden = [32]\n";
    let returns = |cell| without_velocities("ppo".definition().unwrap(), cell, 40_000, settings);
    for cell in ["gru", "lstm"] {
        let returns = returns(cell);
        assert!(returns[1] > 150.0, "{cell}: {returns:?}");
    }
    let returns = returns("none");
    assert!(returns[2] < 100.0, "{returns:?}");
}

#[test]
#[ignore = "a minute: scripts/second-tier.sh"]
fn memories_of_trpo_balance_a_pole_whose_speed_is_not_seen() {
    let settings = "envs = 8\nhorizon = 128\nminibatches = 4\ncurvature_share = 0.25\n";
    only_memories_balance([&TRPO, &TURNED_TRPO], 60_000, settings);
}

#[test]
#[ignore = "a minute: scripts/second-tier.sh"]
fn memories_of_vpg_balance_a_pole_whose_speed_is_not_seen() {
    for settings in ["learning_rate_schedule = \"linear\"\n", "baseline = \"linear_feature\"\nhorizon = 250\n"] {
        only_memories_balance([&VPG, &TURNED_VPG], 120_000, settings);
    }
}
