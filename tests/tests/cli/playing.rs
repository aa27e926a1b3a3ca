//! The verbs that play trained policies: their tables and result lines, and the files that they write.

use crate::{expect_user_error, sandbox};
use std::fs;

/// A short run of a small network.
const SHORT: &str = "train ppo --env cartpole --steps 4k --threads 1 --set hidden=[16] --set epochs=2";

#[test]
fn evaluation_ends_with_its_result_line() {
    let dir = sandbox();
    assert_eq!(dir.run(&format!("{SHORT} --out r")).code, Some(0));
    let arguments = "eval r --episodes 7 --seed 3 --csv out.csv --gif out.gif";
    let first = dir.run(arguments);
    assert_eq!(first.code, Some(0), "{first:?}");
    let line = first.out.lines().last().unwrap().to_owned();
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!([words[0], words[2], words[4], words[5]], ["mean_return", "stderr", "episodes", "7"], "{line}");
    let mean: f64 = words[1].parse().unwrap();
    let csv = fs::read_to_string(dir.join("out.csv")).unwrap();
    let returns: Vec<f64> = csv.lines().skip(1).map(|l| l.split(',').nth(1).unwrap().parse().unwrap()).collect();
    assert_eq!(returns.len(), 7);
    assert!((returns.iter().sum::<f64>() / 7.0 - mean).abs() < 1e-3 * mean.abs(), "{csv}");
    assert!(fs::read(dir.join("out.gif")).unwrap().starts_with(b"GIF89a"));
    // Deterministic with a seed; another seed has other first states; evaluation changes nothing.
    let last = fs::read(dir.join("r/last.safetensors")).unwrap();
    assert_eq!(dir.run(arguments).out, first.out);
    assert_ne!(dir.run("eval r --episodes 7 --seed 4 --stochastic --last").out.lines().last(), Some(line.as_str()));
    assert_eq!(fs::read(dir.join("r/last.safetensors")).unwrap(), last);
    expect_user_error(&dir.run("eval r --csv no/such/folder/x.csv"), &["no/such/folder"]);
    // One episode has no standard error; its recording is as long as --fps says.
    let one = dir.run("eval r --episodes 1 --gif one.gif --fps 50");
    assert!(one.out.lines().last().unwrap().ends_with(" stderr – episodes 1"), "{}", one.out);
    let several = dir.run("eval r --episodes 3 --gif several.gif");
    assert!(several.out.contains("(3 episodes, "), "{}", several.out);
    assert!(fs::metadata(dir.join("several.gif")).unwrap().len() > fs::metadata(dir.join("one.gif")).unwrap().len());
    expect_user_error(&dir.run("eval r --fps 20"), &["--gif"]);
    expect_user_error(&dir.run("eval r --gif x.gif --fps 0"), &["--fps", "1..=50"]);
}

#[test]
fn several_runs_are_evaluated_one_by_one_and_together() {
    let dir = sandbox();
    assert_eq!(dir.run(&format!("{SHORT} --seed 0..3 --out runs")).code, Some(0));
    let alone = dir.run("eval runs/cartpole-ppo-s1 --episodes 5").out;
    // A folder named twice counts once.
    let all = dir.run("eval runs/cartpole-ppo-s0 runs runs/cartpole-ppo-s1/ --episodes 5 --csv all.csv");
    assert_eq!(all.code, Some(0), "{all:?}");
    let lines: Vec<&str> = all.out.lines().filter(|line| line.starts_with("mean_return ")).collect();
    assert_eq!(lines.len(), 3 + 1, "{}", all.out);
    let of_one = alone.lines().last().unwrap();
    assert_eq!(lines[1], format!("{of_one} runs/cartpole-ppo-s1/best.safetensors"), "{}", all.out);
    let number = |line: &str, k: usize| line.split(' ').nth(k).unwrap().parse::<f64>().unwrap();
    let mean = lines[..3].iter().map(|line| number(line, 1)).sum::<f64>() / 3.0;
    assert!((number(lines[3], 1) - mean).abs() < 1e-3, "{}", all.out);
    assert!(lines[3].ends_with(" episodes 15 runs 3") && all.out.ends_with(&format!("{}\n", lines[3])), "{}", all.out);
    let csv = fs::read_to_string(dir.join("all.csv")).unwrap();
    assert!(csv.starts_with("run,episode,return,length,end\n\"runs/cartpole-ppo-s0/best.safetensors\",0,"), "{csv}");
    assert_eq!(csv.lines().count(), 1 + 15);
    expect_user_error(&dir.run("eval runs --gif a.gif"), &["--gif records one run"]);
    // A name that is wrong is found before anything is evaluated.
    let wrong = dir.run("eval runs/cartpole-ppo-s0 runs/cartpole-ppo-s7");
    expect_user_error(&wrong, &["runs/cartpole-ppo-s7"]);
    assert!(wrong.out.is_empty(), "{}", wrong.out);
}

#[test]
fn adaptation_ends_with_its_result_line_and_draws() {
    let dir = sandbox();
    let short = "train promp --env point-corner --steps 1000 --out r --set meta_batch=3 --set rollouts=4 \
                 --set horizon=10 --set hidden=[16]";
    assert_eq!(dir.run(short).code, Some(0));
    let arguments = "adapt r --tasks 5 --inner-steps 2 --seed 3";
    let first = dir.run(arguments);
    assert_eq!(first.code, Some(0), "{first:?}");
    let words: Vec<&str> = first.out.lines().last().unwrap().split_whitespace().collect();
    assert_eq!([words[0], words[2], words[4], words[5]], ["before", "after", "tasks", "5"], "{words:?}");
    let (before, after): (f64, f64) = (words[1].parse().unwrap(), words[3].parse().unwrap());
    let csv = fs::read_to_string(dir.join("r/adapt.csv")).unwrap();
    let mean = |stage: &str| {
        let rows = csv.lines().skip(1).map(|l| l.split(',').collect::<Vec<_>>()).filter(|r| r[1] == stage);
        let returns: Vec<f64> = rows.map(|r| r[3].parse().unwrap()).collect();
        assert_eq!(returns.len(), 5 * 4);
        returns.iter().sum::<f64>() / 20.0
    };
    assert!((mean("0") - before).abs() < 1e-2 && (mean("2") - after).abs() < 1e-2, "{csv}");
    for name in ["adapt.svg", "paths.svg"] {
        let svg = fs::read_to_string(dir.join("r").join(name)).unwrap();
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n") && !svg.contains("NaN"), "{name}");
    }
    assert_eq!(dir.run(arguments).out, first.out, "the same seed gives the same tasks");
    // Steps of each task's first rollout, whose rewards are the return in the other table.
    assert!(!dir.join("r/steps.csv").exists());
    assert_eq!(dir.run(&format!("{arguments} --steps")).code, Some(0));
    let steps = fs::read_to_string(dir.join("r/steps.csv")).unwrap();
    let rows: Vec<Vec<&str>> = steps.lines().skip(1).map(|l| l.split(',').collect()).collect();
    assert_eq!(rows.len(), 5 * 3 * 10);
    let rewards =
        rows.iter().filter(|row| row[..2] == ["4", "1"]).map(|row| row[row.len() - 1].parse::<f64>().unwrap());
    let first_rollout = csv.lines().find_map(|l| l.strip_prefix("4,1,0,")).unwrap();
    let whole: f64 = first_rollout.split(',').next().unwrap().parse().unwrap();
    assert!((rewards.sum::<f64>() - whole).abs() < 1e-3, "{steps}");
    assert_eq!(dir.run("eval r --episodes 3 --gif out.gif").code, Some(0));
    // What does not adapt says so.
    assert_eq!(dir.run(&format!("{SHORT} --out plain")).code, Some(0));
    expect_user_error(&dir.run("adapt plain"), &["does not adapt", "evaluate"]);
    expect_user_error(&dir.run("adapt r --tasks 0"), &["tasks"]);
    expect_user_error(&dir.run("adapt nowhere"), &["nowhere"]);
    expect_user_error(&dir.run("train promp --env cartpole"), &["single task"]);
}

#[test]
fn trials_are_shown_part_by_part_beside_what_needs_no_training() {
    let dir = sandbox();
    let train = |env: &str, episodes: usize, out: &str| {
        let line = format!(
            "train rl2-ppo --env {env} --steps 500 --out {out} --set meta_batch=4 --set minibatches=2 --set units=8 \
             --set episodes={episodes}"
        );
        assert_eq!(dir.run(&line).code, Some(0));
    };
    train("bandit", 1, "b");
    let bandit = dir.run("adapt b --tasks 300 --stochastic");
    assert_eq!(bandit.code, Some(0), "{bandit:?}");
    let value = |text: &str, what: &str| -> f64 {
        let line = text.lines().find(|l| l.contains(what)).unwrap_or_else(|| panic!("{what}: {text}"));
        line.split_whitespace().skip_while(|w| *w != "return").nth(1).unwrap().parse().unwrap()
    };
    let parts: f64 = (1..=10).map(|k| value(&bandit.out, &format!("to step {k} "))).sum();
    assert!((parts - value(&bandit.out, "whole trial")).abs() < 0.06, "{}", bandit.out);
    let [random, index, best] =
        ["pulling at random", "the finite-horizon index", "knowing the best arm"].map(|c| value(&bandit.out, c));
    assert!((4.7..5.3).contains(&random) && (6.3..7.0).contains(&index) && (8.0..8.7).contains(&best), "{bandit:?}");
    assert!(bandit.out.lines().last().unwrap().starts_with("before 0."), "{}", bandit.out);

    train("point-robot", 2, "p");
    let point = dir.run("adapt p --tasks 6 --episodes 3");
    assert!(value(&point.out, "episode 3") < 0.0, "{}", point.out);
    assert!(value(&point.out, "standing still") < value(&point.out, "knowing the goal"), "{}", point.out);
    for name in ["adapt.svg", "paths.svg"] {
        let svg = fs::read_to_string(dir.join("p").join(name)).unwrap();
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n") && !svg.contains("NaN"), "{name}");
    }
    assert_eq!(dir.run("eval p --episodes 3 --gif out.gif").code, Some(0));
    expect_user_error(&dir.run("adapt p --inner-steps 2"), &["its memory", "--episodes"]);
    expect_user_error(&dir.run("adapt p --episodes 0"), &["episodes"]);
    expect_user_error(&dir.run("adapt p --tasks 100000000"), &["tasks"]);
}

#[test]
fn a_meta_test_in_ones_own_sizes_is_an_evaluation_and_a_verb() {
    let dir = sandbox();
    let small = "--steps 2k --threads 1 --set meta_batch=2 --set rollouts=2 --set hidden=[8] --out r";
    let sizes = "--n-exploration-eps 10 --n-test-episodes 10 --n-test-tasks 5";
    let trained = dir.run(&format!("train promp --env point-arena:time_limit=20 {small} {sizes}"));
    assert_eq!(trained.code, Some(0), "{}", trained.err);
    let config = fs::read_to_string(dir.join("r/config.toml")).unwrap();
    for line in
        ["n_exploration_eps = 10", "n_test_episodes = 10", "n_test_tasks = 5", "env = \"point-arena:time_limit=20\""]
    {
        assert!(config.contains(line), "{line}: {config}");
    }
    let metrics = fs::read_to_string(dir.join("r/metrics.csv")).unwrap();
    let columns: Vec<&str> = metrics.lines().next().unwrap().split(',').collect();
    let of = |name: &str| {
        let at = columns.iter().position(|column| *column == format!("MetaTest/Average/{name}")).unwrap();
        let last = metrics.lines().rfind(|line| !line.split(',').nth(at).unwrap().is_empty()).unwrap();
        last.split(',').nth(at).unwrap().parse::<f64>().unwrap()
    };
    assert_eq!(of("NumEpisodes"), 50.0);
    assert!((0.0..=1.0).contains(&of("SuccessRate")), "the arena says it");
    // The run goes on as its configuration says, and flags win.
    let resumed = dir.run("train --resume r --steps 4k --threads 1 --n-test-tasks 3");
    assert_eq!(resumed.code, Some(0), "{}", resumed.err);
    assert!(fs::read_to_string(dir.join("r/config.toml")).unwrap().contains("n_test_tasks = 3"));

    let tested = dir.run(&format!("adapt r --last --threads 1 {sizes}"));
    assert_eq!(tested.code, Some(0), "{}", tested.err);
    let line = tested.out.lines().find(|line| line.starts_with("MetaTest/Average/NumEpisodes")).unwrap();
    assert!(line.ends_with(" 50"), "{line}");
    assert!(
        tested.out.lines().last().unwrap().starts_with("after ") && tested.out.ends_with("tasks 5\n"),
        "{}",
        tested.out
    );
    assert_eq!(fs::read_to_string(dir.join("r/meta_test.csv")).unwrap().lines().count(), 51);
    expect_user_error(&dir.run("adapt r --n-test-tasks 5 --inner-steps 2"), &["--inner-steps", "meta-test"]);
    expect_user_error(&dir.run("adapt r --n-test-tasks 100k"), &["--n-test-tasks: 100000 is not in 1 to 16384"]);
    expect_user_error(&dir.run("adapt r --n-test-episodes 0"), &["--n-test-episodes"]);
    expect_user_error(
        &dir.run("train ppo --env cartpole --n-test-tasks 5 --out p"),
        &["n_test_tasks: a policy of ppo does not adapt", "--eval-episodes"],
    );
    expect_user_error(
        &dir.run("train ppo --env cartpole --set n_test_episodes=5 --out p"),
        &["n_test_episodes: a policy of ppo does not adapt"],
    );
    let few = dir.run("train promp --env point-corner --set inner_steps=3 --n-exploration-eps 2 --out p");
    expect_user_error(&few, &["error: n_exploration_eps: 2 episodes are fewer than the 3 rounds", "give at least 3"]);
    assert!(!few.err.contains("lower --n-exploration-eps"), "{}", few.err);
    expect_user_error(
        &dir.run("train pearl --env point-robot --steps 20k --out p"),
        &["train_tasks: ", "are 80000 steps, and the run has 20000; lower train_tasks to 480, or make at least 80001"],
    );
}
