//! Settings of MAML's family and of RL² that change a part of the update: each changes that part and nothing else.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy_core::Device;
use quickstudy_core::train::{Evaluator, MetaTest, Row};
use quickstudy_tests::trainings::{distance, finish, theta, training, value, wait};

const MAML: &str =
    "meta_batch = 3\nrollouts = 4\nhorizon = 12\nhidden = [16]\nlog_std_init = -1.25\nlearn_inner_lr = false\n";
const RL2: &str = "meta_batch = 8\nepisodes = 2\nunits = 12\nlog_std_init = -1.25\n";

/// Trains for some iterations. Returns the parameters before and after, and the metrics.
fn trained(algorithm: &str, env: &str, iterations: u64, settings: &str) -> (Vec<f64>, Vec<f64>, Vec<Row>) {
    let mut session = training(algorithm, env).set(settings).batches(iterations).session();
    let first = theta(&session, 0);
    let rows = finish(&mut session).into_iter().map(|mut rows| rows.remove(0)).collect();
    (first, theta(&session, 0), rows)
}

#[test]
fn a_deviation_that_is_not_learned_stays_as_it_began_and_all_else_moves() {
    for (algorithm, settings) in [
        ("promp", MAML),
        ("maml-vpg", MAML),
        ("maml-trpo", MAML),
        ("e-maml", MAML),
        ("dice-maml", MAML),
        ("rl2-ppo", RL2),
        ("rl2-trpo", RL2),
    ] {
        let stays = |learn_std: bool, more: &str| {
            let settings = format!("{settings}learn_std = {learn_std}\n{more}");
            let (first, last, _) = trained(algorithm, "point-corner", 3, &settings);
            let number = |x: f64| (x + 1.25).abs() < 1e-9;
            let at: Vec<usize> = (0..first.len()).filter(|i| number(first[*i])).collect();
            assert_eq!(at.len(), 2, "{algorithm}: ln σ of two numbers");
            assert!(distance(&first, &last) > 1e-6, "{algorithm} learned nothing");
            at.iter().all(|i| number(last[*i]))
        };
        assert!(stays(false, "") && !stays(true, ""), "{algorithm}");
        if !algorithm.ends_with("trpo") && algorithm != "e-maml" {
            assert!(stays(false, "weight_decay = 1e3\n"), "{algorithm}: what is not learned does not decay");
        }
    }
    for algorithm in ["promp", "rl2-ppo"] {
        let error = training(algorithm, "bandit").set("learn_std = false\n").batches(1).refusal();
        assert!(error.starts_with("learn_std: ") && error.contains("discrete actions"), "{error}");
    }
}

#[test]
fn weight_decay_that_outweighs_all_else_moves_each_parameter_towards_zero() {
    // Adam's first step is the rate in each number, whatever the size of its gradient.
    let once = "epochs = 1\nminibatches = 1\n";
    for (algorithm, settings, once) in
        [("promp", MAML, "outer_steps = 1\n"), ("dice-maml", MAML, ""), ("rl2-ppo", RL2, once)]
    {
        let settings = format!("{settings}{once}max_grad_norm = 0.0\nlearning_rate = 1e-3\n");
        let (first, decayed, _) = trained(algorithm, "point-corner", 1, &format!("{settings}weight_decay = 1e6\n"));
        let (_, plain, _) = trained(algorithm, "point-corner", 1, &settings);
        let large: Vec<usize> = (0..first.len()).filter(|i| first[*i].abs() > 0.05).collect();
        let towards = |last: &[f64]| {
            let step = |i: &&usize| ((first[**i].abs() - last[**i].abs()) - 1e-3).abs() < 1e-5;
            large.iter().filter(step).count() as f64 / large.len() as f64
        };
        assert!(large.len() > 20 && towards(&decayed) == 1.0, "{algorithm}: {}", towards(&decayed));
        assert!(towards(&plain) < 0.8, "{algorithm}: {}", towards(&plain));
    }
}

#[test]
fn passes_end_where_the_loss_has_settled() {
    let settings = format!("{RL2}epochs = 6\nminibatches = 2\n");
    let with = |more: &str| trained("rl2-ppo", "bandit", 2, &format!("{settings}{more}"));
    let (_, all, rows) = with("");
    assert_eq!(value(&rows[1], "train/updates"), 12.0);
    // Changes are never so small, so all passes are made, as without the setting.
    let (_, never, rows) = with("tolerance = 1e-30\n");
    assert_eq!(value(&rows[1], "train/updates"), 12.0);
    assert!(distance(&all, &never) < 1e-5, "{}", distance(&all, &never));
    let (_, _, rows) = with("tolerance = 1e9\n");
    assert_eq!(value(&rows[1], "train/updates"), 2.0, "one pass");
    let (_, once, _) = trained("rl2-ppo", "bandit", 2, &settings.replace("epochs = 6", "epochs = 1"));
    let (_, settled, rows_once) = with("tolerance = 1e9\n");
    assert!(distance(&once, &settled) < 1e-5 && distance(&once, &all) > 1e-3);
    assert!(value(&rows_once[0], "train/grad_norm") > 0.0 && rows.len() == 2);
    let error = training("rl2-ppo", "bandit")
        .set(&format!("{settings}tolerance = 1e-3\ntarget_kl = 0.1\n"))
        .batches(1)
        .resolve();
    assert!(error.unwrap_err().to_string().starts_with("tolerance: "));
}

#[test]
fn the_clip_range_falls_by_its_factor_after_each_iteration() {
    for algorithm in ["promp", "maml-ppo"] {
        let with = |more: &str| trained(algorithm, "point-corner", 3, &format!("{MAML}learning_rate = 1e-2\n{more}"));
        let (_, constant, rows) = with("clip_eps = 0.2\n");
        assert!(rows.iter().flatten().all(|(name, _)| name != "train/clip_eps"));
        let (_, falling, rows) = with("clip_eps = 0.2\nclip_eps_factor = 0.25\n");
        let ranges: Vec<f64> = rows.iter().map(|row| value(row, "train/clip_eps")).collect();
        assert!(ranges.iter().zip([0.2, 0.05, 0.0125]).all(|(a, b)| (a - b).abs() < 1e-9), "{ranges:?}");
        let (_, slowly, _) = with("clip_eps = 0.2\nclip_eps_factor = 0.9999999\n");
        let apart = [distance(&slowly, &constant), distance(&falling, &constant)];
        assert!(apart[0] < 1e-4 && apart[1] > 1e-3, "{algorithm}: {apart:?}");
    }
}

#[test]
fn baselines_are_regularised_as_the_setting_says() {
    for (algorithm, settings) in
        [("promp", MAML.to_owned()), ("rl2-ppo", format!("{RL2}critic = \"linear_feature\"\n"))]
    {
        let with = |more: &str| trained(algorithm, "point-corner", 1, &format!("{settings}{more}")).1;
        let zero = if algorithm == "promp" { "baseline = \"zero\"\n" } else { "critic = \"zero\"\n" };
        let none = trained(
            algorithm,
            "point-corner",
            1,
            &format!("{}{zero}", settings.replace("critic = \"linear_feature\"\n", "")),
        )
        .1;
        let [usual, strong] = ["", "baseline_regularisation = 1e12\n"].map(with);
        assert_eq!(usual, with("baseline_regularisation = 1e-5\n"));
        // The regularisation is so strong that nothing is left of the baseline.
        assert!(distance(&strong, &none) < 1e-3 * distance(&usual, &none), "{algorithm}");
    }
}

#[test]
#[ignore = "half a minute: scripts/second-tier.sh"]
fn the_outer_losses_that_settings_choose_learn_to_adapt() {
    const NAVIGATION: &str = "meta_batch = 16\nrollouts = 10\nhorizon = 50\nlearning_rate = 3e-3\nlog_std_init = -1.2\n\
                              learn_inner_lr = true\nhidden = [32, 32]\n";
    let device = Device::cpu(2);
    // Mean returns after adaptation that a trained policy exceeds and an untrained one does not reach.
    for (algorithm, setting, most, least) in [
        ("maml-vpg", "exploration = true\n", -90.0, -50.0),
        ("dice-maml", "outer_loss = \"log_likelihood\"\n", -78.0, -65.0),
    ] {
        let adapted = |iterations: u64| {
            let settings = format!("{NAVIGATION}{setting}");
            let mut session = training(algorithm, "point-corner").set(&settings).batches(iterations).session();
            finish(&mut session);
            let bytes = wait(session.policy_snapshot(0));
            let policy = Evaluator::load(&device, &bytes).unwrap();
            let adaptation = wait(policy.adapt(MetaTest { seed: 1, ..MetaTest::default() }));
            let mean = |k: usize| adaptation.stages[k].task_means().iter().sum::<f64>() / 40.0;
            (mean(0), mean(1))
        };
        let (untrained, trained) = (adapted(1), adapted(60));
        println!("{algorithm}: untrained {untrained:?}, trained {trained:?}; standing still about -141");
        assert!(untrained.1 < most && trained.1 > least, "{algorithm}: {untrained:?} {trained:?}");
        // Without having seen the task, nothing is known about it.
        assert!(trained.0 < -110.0, "{algorithm}: {trained:?}");
    }
}
