//! The table and the picture that `plot` makes of runs that differ in length, environment or metric.

use crate::sandbox;
use quickstudy_tests::process::Sandbox;
use std::fs;

/// A run folder with these columns of metrics beside environment steps, 1000 apart.
fn make_run(dir: &Sandbox, name: &str, config: &str, columns: &[(&str, &[f64])]) {
    fs::create_dir_all(dir.join(name)).unwrap();
    fs::write(dir.join(name).join("config.toml"), config).unwrap();
    let head: String = columns.iter().map(|(name, _)| format!(",{name}")).collect();
    let cell = |value: &f64| if value.is_nan() { String::new() } else { value.to_string() };
    let rows = (0..columns[0].1.len()).map(|i| {
        let cells: String = columns.iter().map(|(_, values)| format!(",{}", cell(&values[i]))).collect();
        format!("{}{cells}\n", 1000 * (i + 1))
    });
    let csv: String = std::iter::once(format!("time/env_steps{head}\n")).chain(rows).collect();
    fs::write(dir.join(name).join("metrics.csv"), csv).unwrap();
}

fn config(env: &str, seed: u32, steps: u32) -> String {
    format!("algorithm = \"ppo\"\nenv = \"{env}\"\nseed = {seed}\nsteps = {steps}\n")
}

const TRAINING: &str = "rollout/ep_return_mean";
const EVALUATION: &str = "eval/return_mean";

/// Prints what `plot` does with these arguments, and its picture.
fn plot(dir: &Sandbox, arguments: &str) -> (String, String) {
    let done = dir.run(&format!("plot {arguments} -o x.svg"));
    assert_eq!(done.code, Some(0), "{done:?}");
    (done.out, fs::read_to_string(dir.join("x.svg")).unwrap())
}

fn row(out: &str, label: &str) -> Vec<String> {
    let line = out.lines().find(|line| line.starts_with(&format!("{label} ")));
    let line = line.unwrap_or_else(|| panic!("{label} is missing: {out}"));
    line[label.len()..].split_whitespace().map(str::to_owned).collect()
}

#[test]
fn saturated_runs_of_other_numbers_all_count() {
    let dir = sandbox();
    let full = [500.0; 4];
    make_run(
        &dir,
        "a",
        &config("cartpole", 0, 4000),
        &[(TRAINING, &full), ("train/value_loss", &[4.0, 3.0, 2.0, 1.0])],
    );
    make_run(
        &dir,
        "b",
        &config("cartpole", 0, 8000),
        &[(TRAINING, &full), ("train/value_loss", &[4.0, 3.5, 2.5, 1.5])],
    );
    make_run(&dir, "copy", &config("cartpole", 0, 4000), &[(TRAINING, &full[..2]), ("train/value_loss", &[4.0, 3.0])]);
    let (out, svg) = plot(&dir, "a b copy");
    assert!(out.contains("note: a and copy hold the same run with seed 0: a counts, which is longer"), "{out}");
    assert_eq!(out.matches("note: ").count(), 1, "{out}");
    assert!(svg.contains(">steps=4000<") && svg.contains(">steps=8000<"), "{svg}");
    // So it is whichever metric is drawn.
    let (loss, _) = plot(&dir, "a b copy --metric train/value_loss");
    assert_eq!((row(&loss, "steps=4000")[0].as_str(), row(&loss, "steps=8000")[0].as_str()), ("1", "1"), "{loss}");
    make_run(&dir, "device", &config("cartpole", 0, 4000), &[(TRAINING, &full), ("train/value_loss", &[4.0; 4])]);
    let (both, _) = plot(&dir, "a device");
    assert_eq!(row(&both, "ppo · cartpole")[0], "2", "{both}");
    assert!(both.contains("note: a and device have the same settings and seed 0, and not the same numbers"), "{both}");
}

#[test]
fn table_and_picture_end_with_the_same_number() {
    let dir = sandbox();
    make_run(&dir, "r/0", &config("pendulum", 0, 4000), &[(TRAINING, &[10.0, 20.0, 30.0, 110.6])]);
    make_run(&dir, "r/1", &config("pendulum", 1, 4000), &[(TRAINING, &[10.0, 70.74])]);
    let (out, svg) = plot(&dir, "r");
    // The score is that after 2k steps, which both reached. The mean of both last numbers, 90.67, is none of any step.
    assert_eq!(row(&out, "ppo · pendulum"), ["2", "2k", "45.37", "[20.00,", "70.74]", "45.37"], "{out}");
    assert!(out.contains("ppo · pendulum: the first of 2 seeds ends at 2k; 1 at the end of the line"), "{out}");
    assert!(out.contains("95 % of the mean"), "{out}");
    assert!(svg.contains(">45.37<") && !svg.contains("90.67") && !out.contains("90.67"), "{svg}");
    assert!(svg.contains("thin behind the bar, where the first of the seeds ends"), "{svg}");
    // As long as each other: the mean, and its interval.
    make_run(&dir, "r/1", &config("pendulum", 1, 4000), &[(TRAINING, &[10.0, 20.0, 70.0, 70.74])]);
    let (out, svg) = plot(&dir, "r");
    assert_eq!(row(&out, "ppo · pendulum"), ["2", "4k", "90.67", "[70.74,", "110.60]", "90.67"], "{out}");
    assert!(svg.contains(">90.67<") && !svg.contains("thin behind"), "{svg}");
    let (logarithmic, _) = plot(&dir, "r --log-x");
    assert_eq!(row(&logarithmic, "ppo · pendulum"), row(&out, "ppo · pendulum"));
}

#[test]
fn each_environment_has_a_panel_and_lines_keep_their_colour() {
    let dir = sandbox();
    for seed in 0..2 {
        make_run(&dir, &format!("runs/cart/{seed}"), &config("cartpole", seed, 4000), &[(TRAINING, &[20.0, 500.0])]);
    }
    let trpo = config("pendulum", 0, 4000).replace("ppo", "trpo");
    make_run(&dir, "runs/old/deep/trpo", &trpo, &[(TRAINING, &[-900.0, -200.0])]);
    make_run(&dir, "runs/pendulum", &config("pendulum", 0, 4000), &[(TRAINING, &[-1000.0, -300.0])]);
    let (out, svg) = plot(&dir, "runs");
    for part in [">cartpole<", ">pendulum<", ">Learning curves<"] {
        assert_eq!(svg.matches(part).count(), 1, "{part}: {svg}");
    }
    for part in [">ppo<", ">trpo<"] {
        assert_eq!(svg.matches(part).count(), 1, "one legend: {part}");
    }
    for title in [">training return<", ">environment steps<"] {
        assert_eq!(svg.matches(title).count(), 2, "each panel names its axes: {title}");
    }
    // PPO's lines on both and its sign in the legend.
    assert_eq!(svg.matches("stroke=\"#0072b2\"").count(), 3, "{svg}");
    assert!(out.contains("cartpole: score, rollout/ep_return_mean at a budget of 2k steps:"), "{out}");
    assert!(out.contains("pendulum: score, rollout/ep_return_mean at a budget of 2k steps:"), "{out}");
}

#[test]
fn evaluations_are_drawn_where_there_are_some_and_metrics_are_asked_for_several_times() {
    let dir = sandbox();
    let none = f64::NAN;
    let columns: [(&str, &[f64]); 3] = [
        (TRAINING, &[20.0, 100.0, 300.0, 400.0]),
        (EVALUATION, &[none, 150.0, none, 480.0]),
        ("train/value_loss", &[9.0, 3.0, 6.0, 1.0]),
    ];
    make_run(&dir, "a", &config("cartpole", 0, 4000), &columns);
    let (out, svg) = plot(&dir, "a");
    assert!(svg.contains(">evaluation return<") && svg.contains(">480.0<"), "{svg}");
    assert_eq!(row(&out, "ppo · cartpole")[2], "480.00", "{out}");
    let (out, svg) =
        plot(&dir, "a --metric train/value_loss --metric rollout/ep_return_mean --metric train/value_loss");
    assert_eq!((svg.matches(">value loss<").count(), svg.matches(">training return<").count()), (1, 1), "{svg}");
    for metric in ["train/value_loss", "rollout/ep_return_mean"] {
        assert!(out.contains(&format!("score, {metric} at a budget of 4k steps:")), "{out}");
    }
    // Means of 3000 steps: the last one is that of the last two rows.
    let (out, svg) = plot(&dir, "a --metric train/value_loss --smooth 3k");
    assert_eq!(row(&out, "ppo · cartpole")[2], "3.50", "{out}");
    assert!(svg.contains("smoothed over 3k") && out.contains("smoothed over 3k"), "{svg}");
    // A run without evaluations cannot be beside one that has them.
    make_run(&dir, "b", &config("cartpole", 1, 4000), &[(TRAINING, &[20.0, 100.0, 300.0, 500.0])]);
    let (out, svg) = plot(&dir, "a b");
    assert!(
        svg.contains(">training return<") && out.contains("note: 1 of 2 runs on cartpole have evaluations"),
        "{out}"
    );
}

#[test]
fn scores_stand_where_the_first_line_ends() {
    let dir = sandbox();
    make_run(&dir, "a", &config("cartpole", 0, 4000), &[(TRAINING, &[20.0, 100.0, 300.0, 400.0])]);
    let short = config("cartpole", 0, 2000).replace("ppo", "a2c");
    make_run(&dir, "b", &short, &[(TRAINING, &[30.0, 200.0])]);
    let (out, svg) = plot(&dir, "a b");
    assert_eq!((row(&out, "ppo")[2].as_str(), row(&out, "a2c")[2].as_str()), ("100.00", "200.00"), "{out}");
    let across = |text: &str| -> f32 {
        let line = svg.lines().find(|line| line.contains(&format!(">{text}</text>"))).unwrap();
        line.split("x=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap()
    };
    assert!((across("100.0") - across("200.0")).abs() < 2.0 && !svg.contains(">400.0<"), "{svg}");
}
