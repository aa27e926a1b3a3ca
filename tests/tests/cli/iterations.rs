//! Runs that are as long as `--iterations` says: counted in their metrics, gone on with, in studies and sweeps.

use crate::kills::done;
use crate::{expect_user_error, sandbox};
use quickstudy_tests::process::Sandbox;
use serde_json::Value;
use std::fs;

/// Iterations of whole episodes, which end early: they make fewer steps than planned.
const RUN: &str = "train ppo --env cartpole --threads 1 --out r --log-every 1 --eval-episodes 2 --set hidden=[4] \
    --set envs=2 --set min_rollouts=4 --set epochs=1";

/// A column of the metrics of a run.
fn column(dir: &Sandbox, run: &str, name: &str) -> Vec<f64> {
    let rows = fs::read_to_string(dir.join(run).join("metrics.csv")).unwrap();
    let mut lines = rows.lines();
    let at = lines.next().unwrap().split(',').position(|column| column == name).unwrap();
    lines.map(|line| line.split(',').nth(at).unwrap().parse().unwrap()).collect()
}

#[test]
fn a_run_makes_so_many_iterations_and_goes_on_to_more() {
    let dir = sandbox();
    let made = done(&dir, &format!("{RUN} --iterations 5 --json"));
    assert_eq!(column(&dir, "r", "time/iterations"), [1.0, 2.0, 3.0, 4.0, 5.0]);
    let steps = *column(&dir, "r", "time/env_steps").last().unwrap();
    // Four episodes of up to 500 steps are planned.
    assert!(steps < 5.0 * 2000.0, "{steps}");
    let lines: Vec<Value> = made.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |kind: &str| lines.iter().rfind(|line| line["type"] == kind).unwrap();
    assert_eq!((&of("trained")["finished"], of("trained")["steps"].as_f64()), (&Value::Bool(true), Some(steps)));
    assert_eq!(of("progress")["total"].as_f64(), Some(steps), "the last progress is all of it");
    let config = fs::read_to_string(dir.join("r/config.toml")).unwrap();
    assert!(config.contains("iterations = 5 ") && !config.contains("\nsteps = "), "{config}");

    // The configuration makes the same run again, and a length of the command takes the place of the file's.
    done(&dir, "train --config r/config.toml --threads 1 --out again");
    let same =
        |file: &str| fs::read(dir.join("r").join(file)).unwrap() == fs::read(dir.join("again").join(file)).unwrap();
    assert!(same("last.safetensors"));
    done(&dir, "train --config r/config.toml --threads 1 --out by-steps --steps 20");
    assert_eq!(column(&dir, "by-steps", "time/iterations"), [1.0]);
    let config = fs::read_to_string(dir.join("by-steps/config.toml")).unwrap();
    assert!(config.contains("\nsteps = 20 ") && !config.contains("\niterations = "), "{config}");

    let finished = done(&dir, "train --resume r --threads 1");
    assert!(finished.out.contains("it made 5 of 5 iterations; go further with a larger --iterations"), "{finished:?}");
    let refused = dir.run("train --resume r --threads 1 --iterations 3");
    expect_user_error(&refused, &["r has made 5 iterations, so it cannot make 3 in all", "--iterations counts all"]);
    done(&dir, "train --resume r --threads 1 --iterations 8");
    assert_eq!(column(&dir, "r", "time/iterations"), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    let config = fs::read_to_string(dir.join("r/config.toml")).unwrap();
    assert!(config.contains("iterations = 8  # --iterations\n") && !config.contains("\nsteps = "), "{config}");
    // By steps from there on.
    let more = *column(&dir, "r", "time/env_steps").last().unwrap() + 1.0;
    done(&dir, &format!("train --resume r --threads 1 --steps {more}"));
    assert_eq!(column(&dir, "r", "time/iterations").len(), 9);
    let config = fs::read_to_string(dir.join("r/config.toml")).unwrap();
    assert!(
        config.contains(&format!("steps = {more}  # --steps\n")) && !config.contains("\niterations = "),
        "{config}"
    );
}

#[test]
fn two_lengths_and_none_are_refused() {
    let dir = sandbox();
    fs::write(dir.join("both.toml"), "iterations = 5\nsteps = 100\n").unwrap();
    for (more, parts) in [
        ("--iterations 5 --steps 100", &["--iterations", "cannot be used with", "--steps"][..]),
        ("--set iterations=5 --set steps=100", &["--set iterations: 5 are asked for beside steps = 100", "leave"]),
        ("--config both.toml", &["both.toml: iterations: 5 are asked for beside steps = 100"]),
        ("--iterations 0", &["--iterations"]),
        ("--iterations 1e15", &["iterations: ", "at most", "fit"]),
    ] {
        expect_user_error(&dir.run(&format!("{RUN} {more}")), parts);
    }
    assert!(!dir.join("r").exists());
    expect_user_error(
        &dir.run("train sac --env pendulum --iterations 1 --set learning_starts=50"),
        &["learning_starts: ", "1 iterations are planned to make 100 steps"],
    );
}

#[test]
fn studies_and_sweeps_count_iterations_too() {
    let dir = sandbox();
    let study = "train ppo,a2c --env cartpole --seed 0..2 --iterations 3 --log-every 1 --out s --eval-every 0 \
        --set hidden=[4] --set envs=2 --set min_rollouts=2 --save-every 0";
    done(&dir, study);
    for run in ["cartpole-ppo-s0", "cartpole-a2c-s1"] {
        assert_eq!(column(&dir, &format!("s/{run}"), "time/iterations"), [1.0, 2.0, 3.0], "{run}");
    }
    // All is there.
    let before = fs::read(dir.join("s/cartpole-ppo-s0/last.safetensors")).unwrap();
    done(&dir, study);
    assert!(fs::read(dir.join("s/cartpole-ppo-s0/last.safetensors")).unwrap() == before);

    let file = "algorithm = \"ppo\"\nenv = \"cartpole\"\niterations = 9\nhidden = [4]\nenvs = 2\nmin_rollouts = 2\n\
        eval_every = 0\nlog_every = 1\n[grid]\nepochs = [1, 2]\n";
    fs::write(dir.join("sweep.toml"), file).unwrap();
    done(&dir, "sweep sweep.toml --iterations 4 --threads 1 --out w");
    for trial in ["t00", "t01"] {
        assert_eq!(column(&dir, &format!("w/{trial}/cartpole-ppo-s0"), "time/iterations").len(), 4, "{trial}");
    }
}
