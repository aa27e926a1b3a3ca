//! Stacked seeds that end after other numbers of iterations, killed, resumed and extended.
#![cfg(unix)]

use crate::kills::{assert_same, copy, done, files, killed};
use crate::{expect_user_error, sandbox};
use quickstudy_tests::process::Sandbox;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Poles that stand longer make more steps.
const TRAIN: &str = "train cma-es --env cartpole --threads 1 --save-every 0 --eval-every 300 --eval-episodes 2 \
    --log-every 1 --set n_samples=8 --set episodes=1 --set hidden=[4] --steps 1500";
const STEPS: u64 = 1500;
const SEEDS: [u64; 3] = [0, 1, 2];

/// A row of the metrics: steps, iterations, and whether it was evaluated.
type Row = (u64, u64, bool);

pub fn rows(dir: &Sandbox, run: &str) -> Vec<Row> {
    let text = fs::read_to_string(dir.join(run).join("metrics.csv")).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names = lines.next().unwrap();
    let column = |name: &str| names.iter().position(|known| *known == name).unwrap();
    let [steps, iterations, evaluated] = ["time/env_steps", "time/iterations", "eval/return_mean"].map(column);
    let row = |line: Vec<&str>| {
        (line[steps].parse().unwrap(), line[iterations].parse().unwrap(), !line[evaluated].is_empty())
    };
    lines.map(row).collect()
}

/// The files of a seed's run, wherever it is.
fn of_seed(dir: &Sandbox, runs: &str, seed: u64) -> BTreeMap<String, Vec<u8>> {
    files(&dir.join(&format!("{runs}/cartpole-cma-es-s{seed}")))
}

/// Each seed is trained and evaluated by its own count.
#[test]
fn each_seed_goes_by_its_own_count() {
    let dir = sandbox();
    let out = done(&dir, &format!("{TRAIN} --seed 0..3 --keep-snapshots 500 --out all")).out;
    let mut ends = Vec::new();
    for seed in SEEDS {
        let run = format!("all/cartpole-cma-es-s{seed}");
        let rows = rows(&dir, &run);
        let mut before = 0;
        for (number, (steps, iterations, evaluated)) in rows.iter().copied().enumerate() {
            assert_eq!(iterations, number as u64 + 1, "{run}: a row for each iteration");
            let last = number + 1 == rows.len();
            assert_eq!(steps >= STEPS, last, "{run} ends with the iteration in which it makes its steps: {steps}");
            assert_eq!(evaluated, last || before / 300 != steps / 300, "{run}: from {before} to {steps}");
            before = steps;
        }
        let passes = |pair: &[Row]| (pair[0].0 / 500 != pair[1].0 / 500).then_some(pair[1].0);
        let kept: Vec<u64> = [&[(0, 0, false)], &rows[..]].concat().windows(2).filter_map(passes).collect();
        let mut names: Vec<u64> = fs::read_dir(dir.join(&run).join("snapshots"))
            .unwrap()
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().parse().unwrap())
            .collect();
        names.sort_unstable();
        assert_eq!(names, kept, "{run}");
        // Alone it is the same run.
        done(&dir, &format!("{TRAIN} --seed {seed} --keep-snapshots 500 --out alone{seed}"));
        assert_same(&dir, &format!("alone{seed}"), &of_seed(&dir, "all", seed), "alone");
        ends.push((before, rows.len()));
    }
    assert!(ends.iter().any(|end| end.1 != ends[0].1), "seeds end after other iterations: {ends:?}");
    let made: u64 = ends.iter().map(|end| end.0).sum();
    let grouped = quickstudy::internals::grouped(made);
    assert!(out.contains(&format!("{grouped} environment steps in")) && out.contains(" / 1 500 steps 100 %"), "{out}");
}

#[test]
fn seeds_that_end_apart_are_killed_resumed_and_extended() {
    let dir = sandbox();
    let train = |out: &str| format!("{TRAIN} --seed 0..3 --out {out}");
    done(&dir, &train("whole"));
    let whole = files(&dir.join("whole"));
    copy(&dir, "whole", "further");
    done(&dir, "train --resume further --steps 2200 --save-every 0");
    let further = files(&dir.join("further"));
    let points = (1..).step_by(7).take_while(|point| {
        let _ = fs::remove_dir_all(dir.join("parts"));
        let killed = killed(&dir, &train("parts"), *point);
        if killed && Path::new(&dir.join("parts/cartpole-cma-es-s2/last.safetensors")).exists() {
            done(&dir, "train --resume parts --save-every 0");
            assert_same(&dir, "parts", &whole, &format!("after a kill at point {point}, resumed"));
        }
        killed
    });
    let last = points.last().unwrap();
    assert!(last > 50, "{last} points");
    // Killed while it is extended: each seed goes on from another iteration.
    let mut extended = 0;
    for point in (1..).step_by(11) {
        copy(&dir, "whole", "parts");
        if !killed(&dir, "train --resume parts --steps 2200 --save-every 0", point) {
            break;
        }
        done(&dir, "train --resume parts --steps 2200 --save-every 0");
        assert_same(&dir, "parts", &further, &format!("after a kill at point {point}, extended"));
        extended += 1;
    }
    assert!(extended > 5, "{extended} points");
}

#[test]
fn steps_that_cannot_be_are_refused_before_anything_is_written() {
    let dir = sandbox();
    done(&dir, &format!("{TRAIN} --seed 0..3 --out all"));
    let before = files(&dir.join("all"));
    let made = rows(&dir, "all/cartpole-cma-es-s1").last().unwrap().0;
    let grouped = quickstudy::internals::grouped;
    let fewer = dir.run("train --resume all/cartpole-cma-es-s1 --steps 1400");
    let said =
        format!("cartpole-cma-es-s1 has made {} environment steps, so it cannot make 1 400 in all", grouped(made));
    expect_user_error(&fewer, &[&said, "--steps counts all steps of a run"]);
    expect_user_error(&dir.run("train --resume all --steps 1400"), &["so it cannot make 1 400 in all"]);
    for (steps, part) in [
        ("0", "a count of at least 1, such as 100k, got `0`"),
        ("-5", "--steps"),
        ("0.5", "got `0.5`"),
        ("1e16", "1e16 is more than 1e15"),
    ] {
        for command in [format!("train --resume all --steps {steps}"), format!("{TRAIN} --out new --steps {steps}")] {
            let command = command.replace("--steps 1500 ", "");
            expect_user_error(&dir.run(&command), &[part]);
        }
    }
    assert!(files(&dir.join("all")) == before && !dir.join("new").exists());
    // What was asked for before is no mistake.
    assert!(done(&dir, "train --resume all --steps 1500").out.contains("is finished"));
}

/// A snapshot of an earlier version, which ended a run by the steps that its iterations were planned to make.
#[test]
fn a_run_that_was_finished_as_planned_goes_on_and_says_so() {
    let dir = sandbox();
    fs::create_dir(dir.join("old")).unwrap();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/snapshots/planned/cem.safetensors");
    fs::copy(golden, dir.join("old/last.safetensors")).unwrap();
    let out = done(&dir, "train --resume old --threads 1 --eval-every 0").out;
    let said = "note: old was finished by what an earlier version planned, and has made 330 of 8 000 environment \
                steps: training continues until they are made";
    assert!(out.contains(said) && out.contains("resuming from step 330 of 8 000"), "{out}");
    assert!(rows(&dir, "old").last().unwrap().0 >= 8000);
    let again = done(&dir, "train --resume old --threads 1").out;
    assert!(again.contains("old is finished: it made ") && !again.contains("earlier version"), "{again}");
}
