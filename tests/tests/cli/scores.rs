//! The score of a run at a budget: all verbs show the same one, and say which it is.

use crate::compare::make_run;
use crate::kills::done;
use crate::sandbox;
use quickstudy_tests::process::Sandbox;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;

/// Iterations of 256 steps of one algorithm, and of 20 of the other.
const STUDY: &str = "train ppo,a2c --env cartpole --seed 0..2 --steps 1400 --out s --threads 2 --eval-every 200 \
    --eval-episodes 3 --save-every 0 --set hidden=[8] --set envs=4";

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The budget, and for each experiment its mean score with the interval, as text of two digits.
fn compared(dir: &Sandbox, folder: &str) -> (f64, BTreeMap<String, [String; 2]>) {
    let all = lines(&done(dir, &format!("compare {folder} --json")).out);
    let budget = all.iter().find(|line| line["type"] == "environment").unwrap()["steps"].as_f64().unwrap();
    let is_mean = |line: &&Value| line["type"] == "aggregate" && line["statistic"] == "mean" && line["scale"] == "raw";
    let text = |line: &Value| {
        let [value, low, high] = ["value", "low", "high"].map(|key| line[key].as_f64().unwrap());
        (line["experiment"].as_str().unwrap().to_owned(), [format!("{value:.2}"), format!("[{low:.2}, {high:.2}]")])
    };
    (budget, all.iter().filter(is_mean).map(text).collect())
}

/// The line of a table that has all of these cells.
#[track_caller]
fn expect_row(out: &str, cells: &[&str]) {
    let found = out.lines().any(|line| cells.iter().all(|cell| line.contains(cell)));
    assert!(found, "no line has {cells:?}: {out}");
}

#[test]
fn all_verbs_show_the_same_scores_of_an_unfinished_study() {
    let dir = sandbox();
    // One algorithm is finished, the other one was stopped on its way.
    done(&dir, &STUDY.replace("ppo,a2c", "a2c"));
    done(&dir, &format!("{} --pause-at 700", STUDY.replace("ppo,a2c", "ppo")));
    let (budget, scores) = compared(&dir, "s");
    assert_eq!((budget, scores.len()), (640.0, 2), "{scores:?}");
    let phrase = "eval/return_mean at a budget of 640 steps";
    let text = done(&dir, "compare s").out;
    let plot = done(&dir, "plot s -o x.svg").out;
    let page = {
        done(&dir, "report s -o report.html --no-pictures");
        fs::read_to_string(dir.join("report.html")).unwrap()
    };
    for (verb, out) in [("compare", &text), ("plot", &plot), ("report", &page)] {
        assert!(out.contains(phrase), "{verb}: {out}");
    }
    for (label, [mean, interval]) in &scores {
        expect_row(&text, &[label, "2", mean, interval]);
        expect_row(&plot, &[label, "2", "640", mean, interval]);
        expect_row(&page, &[mean, interval]);
        let svg = fs::read_to_string(dir.join("x.svg")).unwrap();
        let drawn = svg.lines().filter_map(|line| line.strip_suffix("</text>")?.rsplit('>').next()?.parse().ok());
        let mean: f64 = mean.parse().unwrap();
        assert!(drawn.into_iter().any(|number: f64| (number - mean).abs() <= 0.051), "{mean}: {svg}");
    }
    let curves = lines(&done(&dir, "plot s --json -o x.svg").out);
    let mut curves = curves.iter().filter(|line| line["type"] == "curve");
    assert!(curves.all(|line| {
        line["budget"] == 640.0
            && format!("{:.2}", line["mean"].as_f64().unwrap()) == scores[line["experiment"].as_str().unwrap()][0]
    }));
    // The best snapshot may be another one, and the verb that plays it says so.
    let played = done(&dir, "eval s --episodes 2").out;
    assert!(played.contains("note: the best snapshot plays") && played.contains("compare"), "{played}");
    let last = done(&dir, "eval s --episodes 2 --last").out;
    assert!(!last.contains("best snapshot"), "{last}");
    // The study prints its table once it is at its end.
    let study = done(&dir, STUDY).out;
    let (budget, scores) = compared(&dir, "s");
    assert!(budget > 1300.0 && study.contains("eval/return_mean at a budget of 1.4k steps"), "{budget}: {study}");
    for (label, [mean, interval]) in &scores {
        expect_row(&study, &["cartpole", label, mean, interval]);
    }
}

#[test]
fn the_table_of_a_sweep_has_the_scores_of_compare() {
    let dir = sandbox();
    let sweep = done(
        &dir,
        "sweep --algorithm ppo --env cartpole --seed 0..2 --steps 600 --set epochs=1,4 --set hidden=[8] --set envs=4 \
         --set eval_every=200 --set eval_episodes=3 --threads 2 --out s",
    );
    let (budget, scores) = compared(&dir, "s");
    let phrase = format!("score: eval/return_mean at a budget of {budget} steps");
    assert!(sweep.out.contains(&phrase), "`{phrase}` is missing: {}", sweep.out);
    for (label, [mean, interval]) in &scores {
        let trial = if label.ends_with("=1") { "t00" } else { "t01" };
        expect_row(&sweep.out, &[trial, mean, interval]);
    }
    assert_eq!(scores.len(), 2, "{scores:?}");
}

#[test]
fn an_evaluation_behind_the_budget_counts_and_a_gap_is_bridged() {
    let dir = sandbox();
    let config = |algorithm: &str| format!("algorithm = \"{algorithm}\"\nenv = \"pendulum\"\nseed = 0\n");
    let every = |steps: u32, count: u32| -> Vec<(f64, f64)> {
        (1..=count).map(|i| (f64::from(i * steps), f64::from(i * steps))).collect()
    };
    // 14,336 is further than 2 % from 14,000, and nearer than 12,288.
    make_run(&dir, "r/ppo", &config("ppo"), &every(2048, 7));
    make_run(&dir, "r/sac", &config("sac"), &every(2000, 7));
    // Nothing was measured from 12,000 to 16,000.
    let mut gap = every(1000, 16);
    gap.retain(|(steps, _)| !(12_500.0..15_500.0).contains(steps));
    make_run(&dir, "r/td3", &config("td3"), &gap);
    let out = done(&dir, "compare r --json").out;
    let all = lines(&out);
    let score = |name: &str| {
        let run = all.iter().find(|line| line["type"] == "run" && line["experiment"] == name).unwrap();
        (run["steps"].as_f64().unwrap(), run["score"].as_f64().unwrap())
    };
    assert_eq!(score("ppo"), (14_336.0, 14_336.0));
    assert_eq!(score("sac"), (14_000.0, 14_000.0));
    assert_eq!(score("td3"), (14_000.0, 14_000.0), "on the line from 12,000 to 16,000");
}
