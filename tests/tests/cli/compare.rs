//! `compare`: its statistics beside rliable's, its formats, and what it says of runs that cannot be compared.

use crate::{expect_user_error, sandbox};
use quickstudy::internals::REFERENCES;
use quickstudy_tests::golden;
use quickstudy_tests::process::{Finished, Sandbox};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;

/// A run folder with these values of `eval/return_mean`.
pub fn make_run(dir: &Sandbox, name: &str, config: &str, points: &[(f64, f64)]) {
    fs::create_dir_all(dir.join(name)).unwrap();
    fs::write(dir.join(name).join("config.toml"), config).unwrap();
    fs::write(dir.join(name).join("run.lock"), "").unwrap();
    let rows: String = points.iter().map(|(steps, score)| format!("{steps},{score}\n")).collect();
    fs::write(dir.join(name).join("metrics.csv"), format!("time/env_steps,eval/return_mean\n{rows}")).unwrap();
}

fn config(algorithm: &str, env: &str, seed: usize) -> String {
    format!("algorithm = \"{algorithm}\"\nenv = \"{env}\"\nseed = {seed}\n")
}

/// Runs of two algorithms on CartPole, four seeds of the first and three of the second.
fn two_methods(dir: &Sandbox) {
    for seed in 0..4 {
        let last = 100.0 + 100.0 * seed as f64;
        let points = [(1000.0, 20.0), (2000.0, last), (3000.0, last)];
        make_run(dir, &format!("r/ppo-{seed}"), &config("ppo", "cartpole", seed), &points);
    }
    for seed in 0..3 {
        let points = [(1000.0, 30.0), (2000.0, 150.0), (3000.0, 350.0)];
        make_run(dir, &format!("r/trpo-{seed}"), &config("trpo", "cartpole", seed), &points);
    }
}

#[track_caller]
fn done(finished: Finished) -> Finished {
    assert_eq!(finished.code, Some(0), "{finished:?}");
    finished
}

fn lines(out: &str) -> Vec<Value> {
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The numbers of lines of JSON by the names that `scripts/check-rliable.py` gives them: value, low and high.
fn by_name(lines: &[Value]) -> BTreeMap<String, [Value; 3]> {
    let mut found = BTreeMap::new();
    let mut frames: BTreeMap<String, usize> = BTreeMap::new();
    for line in lines {
        let text = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
        let (method, statistic) = (text("experiment"), text("statistic"));
        let single = line["environments"].as_array().filter(|all| all.len() == 1);
        let name = match (line["type"].as_str().unwrap(), single) {
            ("improvement", _) => format!("{method} improvement {}", text("over")),
            ("aggregate", Some(env)) => format!("{method} {} {statistic}", env[0].as_str().unwrap()),
            ("aggregate", None) => format!("{method} {statistic}"),
            ("profile", None) => format!("{method} {statistic} {:?}", line["at"].as_f64().unwrap()),
            ("efficiency", None) => {
                let frame = frames.entry(method.clone()).or_default();
                *frame += 1;
                format!("{method} efficiency {}", *frame - 1)
            }
            _ => continue,
        };
        found.insert(name, ["value", "low", "high"].map(|key| line[key].clone()));
    }
    found
}

#[test]
fn statistics_of_real_runs_are_those_of_rliable() {
    let dir = sandbox();
    let runs = golden::load("rliable_runs.json");
    let points = |run: &Value| -> Vec<(f64, f64)> {
        golden::items(run).iter().map(|p| (golden::number(&p[0]), golden::number(&p[1]))).collect()
    };
    for env in ["cartpole", "pendulum"] {
        let all = ["ppo", "a2c"].iter().flat_map(|method| golden::items(&runs[env][*method]));
        let budget = all.map(|run| points(run).last().unwrap().0).fold(f64::INFINITY, f64::min);
        for method in ["ppo", "a2c"] {
            for (seed, run) in golden::items(&runs[env][method]).iter().enumerate() {
                // The statistics that are kept are of the last values until half of the budget and until all of it.
                let last = |steps: f64| points(run).into_iter().rev().find(|(x, _)| *x <= steps).unwrap().1;
                let points = [budget / 2.0, budget].map(|steps| (steps, last(steps)));
                make_run(&dir, &format!("r/{method}-{env}-{seed}"), &config(method, env, seed), &points);
            }
        }
    }
    const RESAMPLES: f64 = 20_000.0;
    let out = done(dir.run(&format!("compare r --json --baseline a2c --resamples {RESAMPLES}"))).out;
    let (ours, written) = (by_name(&lines(&out)), golden::load("rliable.json"));
    let theirs = written["statistics"].as_object().unwrap();
    assert!(theirs.len() > 50, "{}", theirs.len());
    let resamples = golden::number(&written["resamples"]);
    for (name, numbers) in theirs {
        let numbers = golden::numbers(numbers);
        let mine = ours.get(name).unwrap_or_else(|| panic!("{name} is missing: {:?}", ours.keys()));
        let close = |mine: &Value, other: f64, most: f64| {
            let mine = mine.as_f64().unwrap();
            let most = most + 1e-12 * other.abs().max(1.0);
            assert!((mine - other).abs() <= most, "{name}: {mine}, by rliable {other} ± {most}");
        };
        close(&mine[0], numbers[0], 0.0);
        // The share of mean scores has no interval.
        for (mine, i) in mine[1..].iter().zip(1..).filter(|_| numbers.len() == 5) {
            // The deviation is that of intervals of 2,000 resamples; of more it falls with the root of their number.
            let deviation = numbers[i + 2] * (2000.0 / resamples + 2000.0 / RESAMPLES).sqrt();
            close(mine, numbers[i], 5.0 * deviation);
        }
    }
}

#[test]
fn the_terminal_has_a_table_for_normalised_and_for_raw_scores() {
    let dir = sandbox();
    two_methods(&dir);
    make_run(&dir, "r/point", &config("ppo", "point", 0), &[(3000.0, -5.0)]);
    let out = done(dir.run("compare r")).out;
    for part in [
        "8 runs of 2 experiments on 2 environments",
        "cartpole: eval/return_mean at a budget of 3k steps",
        "cartpole: 0 is 22.3 (BENCHMARKS.md",
        "cartpole: 1 is 500 (rl-baselines3-zoo",
        "Normalised scores over cartpole",
        "optimality gap ppo",
        "95 % interval of it",
        "IQM after",
        "no random and reference scores are known of point: left out of normalised scores",
        "a single seed on an environment",
    ] {
        // Lines are wrapped, and cells of tables are blanks apart.
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words(&out).contains(&words(part)), "`{part}` is missing: {out}");
    }
    assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
    // Of 100, 200, 300, 400 one is cut at each end; the other method's are all 350.
    let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
    let raw = words.rsplit("cartpole: eval/return_mean at a budget of 3k steps").next().unwrap();
    assert!(raw.contains("IQM ppo 4 250.00 [100.00, 400.00] trpo 3 350.00 [350.00, 350.00] mean"), "{out}");
    assert!(words.contains("IQM ppo 1 -5.00 – mean ppo 1 -5.00 –"), "{out}");
    // 350 is above three of four.
    assert!(raw.contains("ppo trpo cartpole 0.250 [0.000, 0.750]"), "{out}");
    // Only one is compared with a baseline, and always with the same numbers.
    let over = done(dir.run("compare r --baseline ppo")).out;
    assert!(over.contains("trpo        ppo   cartpole        0.750  ["), "{over}");
    assert!(!over.contains("ppo         trpo"), "{over}");
    assert_eq!(done(dir.run("compare r --baseline ppo")).out, over);
}

#[test]
fn runs_of_other_lengths_are_compared_where_all_have_been() {
    let dir = sandbox();
    two_methods(&dir);
    make_run(&dir, "r/trpo-3", &config("trpo", "cartpole", 3), &[(1000.0, 40.0), (2000.0, 250.0)]);
    make_run(&dir, "r/trpo-4", &config("trpo", "cartpole", 4), &[]);
    let out = done(dir.run("compare r --json")).out;
    let all = lines(&out);
    let of = |kind: &str| all.iter().filter(|line| line["type"] == kind).cloned().collect::<Vec<_>>();
    let notes: String = of("note").iter().map(|note| format!("{}\n", note["text"].as_str().unwrap())).collect();
    assert!(
        notes.contains(
            "runs on cartpole end at 2k to 3k steps and are compared at 2k, which all reached; r/trpo-3 ends \
                        first"
        ),
        "{notes}"
    );
    assert!(notes.contains("r/trpo-4 has no value of eval/return_mean and does not count"), "{notes}");
    let scores: Vec<f64> = of("run").iter().map(|run| run["score"].as_f64().unwrap()).collect();
    assert_eq!(scores, [100.0, 200.0, 300.0, 400.0, 150.0, 150.0, 150.0, 250.0]);
    assert_eq!(of("environment")[0]["steps"], 2000.0);
    assert_eq!(of("comparison")[0]["experiments"], serde_json::json!(["ppo", "trpo"]));
    let gap = of("aggregate").into_iter().find(|line| line["statistic"] == "optimality_gap").unwrap();
    // (500 - 250) / (500 - 22.3)
    assert!((gap["value"].as_f64().unwrap() - 250.0 / 477.7).abs() < 1e-12, "{gap}");
}

#[test]
fn each_format_has_the_numbers() {
    let dir = sandbox();
    two_methods(&dir);
    for (file, parts) in [
        ("x.md", vec!["| IQM | ppo | 4 | 250.00 | \\[", "## Probability of improvement"]),
        ("x.csv", vec!["kind,scale,", "aggregate,raw,cartpole,ppo,,iqm,,4,250,", "improvement,raw,cartpole,ppo,trpo,"]),
        ("x.tex", vec!["\\toprule", "IQM & ppo & 4 & 250.00 & {[}", "\\bottomrule"]),
        ("x.svg", vec!["<svg", ">share of runs above τ<", ">IQM, evaluation return<", ">ppo &gt; trpo<"]),
        ("x.json", vec!["{\"", "\"type\":\"comparison\""]),
        ("x.txt", vec!["Normalised scores over cartpole"]),
    ] {
        let finished = done(dir.run(&format!("compare r -o {file}")));
        assert!(finished.out.contains(&format!("wrote {file}")), "{finished:?}");
        let text = fs::read_to_string(dir.join(file)).unwrap();
        for part in parts {
            assert!(text.contains(part), "`{part}` is missing in {file}: {text}");
        }
    }
    let written = done(dir.run("compare r -o x.png"));
    assert!(fs::read(dir.join("x.png")).unwrap().starts_with(b"\x89PNG"), "{written:?}");
    // Standard output has nothing but the file.
    let csv = done(dir.run("compare r --format csv"));
    assert_eq!(csv.out, fs::read_to_string(dir.join("x.csv")).unwrap());
    let json = done(dir.run("compare r --json")).out;
    assert_eq!(json, fs::read_to_string(dir.join("x.json")).unwrap());
    assert_eq!(done(dir.run("compare r -o - --format json")).out, json);
}

#[test]
fn what_cannot_be_compared_is_named() {
    let dir = sandbox();
    two_methods(&dir);
    fs::create_dir_all(dir.join("empty")).unwrap();
    make_run(&dir, "begun", &config("ppo", "cartpole", 0), &[]);
    for (command, parts) in [
        ("compare", vec!["<DIR>"]),
        ("compare empty", vec!["empty holds no run (metrics.jsonl, metrics.csv)"]),
        ("compare nowhere", vec!["nowhere"]),
        ("compare begun", vec!["no run has a return", "hint: wait for"]),
        (
            "compare r --baseline dqn",
            vec!["--baseline dqn: no experiment is called that", "experiments are: ppo; trpo"],
        ),
        (
            "compare r --metric eval/return_men",
            vec!["has no metric `eval/return_men`", "did you mean `eval/return_mean`?"],
        ),
        ("compare r --by gama", vec!["--by gama: no run has this setting"]),
        ("compare r -o x.pdf", vec![".md or .csv", "not as .pdf"]),
        ("compare r -o x", vec!["its name says no format"]),
        ("compare r -o x.md --format csv", vec!["different formats"]),
        ("compare r -o none/x.md", vec!["cannot write none/x.md"]),
        ("compare r -o r/ppo-0/metrics.csv", vec!["a file of a run"]),
        ("compare r --resamples 0", vec!["resamples"]),
        ("compare r --resamples 2M", vec!["at most 1000000"]),
        ("compare r --json --format csv", vec!["--json", "--format"]),
    ] {
        expect_user_error(&dir.run(command), &parts);
    }
}

#[test]
fn who_lacks_an_environment_is_left_out_of_what_is_over_all() {
    let dir = sandbox();
    two_methods(&dir);
    for seed in 0..2 {
        let points = [(1000.0, -1000.0), (2000.0, -200.0 - seed as f64)];
        make_run(&dir, &format!("r/pendulum-{seed}"), &config("ppo", "pendulum", seed), &points);
    }
    let out = done(dir.run("compare r")).out;
    let text = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("trpo has no runs on pendulum and is left out of scores normalised over all"), "{out}");
    assert!(text.contains("Normalised scores over pendulum, cartpole"), "{out}");
    assert!(text.contains("where environments have different numbers of seeds"), "{out}");
    assert!(text.contains("ppo 2+4"), "{out}");
}

#[test]
fn random_scores_are_those_of_the_benchmarks() {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../BENCHMARKS.md")).unwrap().replace('−', "-");
    for known in REFERENCES {
        let name = known.names[1].trim_start_matches("gymnasium:").split('-').next().unwrap();
        let row = page.lines().find(|line| line.contains(&format!(" {name} |"))).unwrap();
        assert!(row.contains(&format!("| {:.1} |", known.random)), "{name}: {row}");
    }
}

#[test]
fn returns_without_a_mean_are_refused() {
    let dir = sandbox();
    for (seed, value) in [1e308, -1e308, 1e308].into_iter().enumerate() {
        make_run(&dir, &format!("r/{seed}"), &config("ppo", "cartpole", seed), &[(100.0, 1.0), (200.0, value)]);
    }
    for command in ["compare r", "compare r --json", "report r"] {
        let refused = dir.run(command);
        expect_user_error(&refused, &["r/0 has eval/return_mean = 1e308 at 200", "hint: leave that run out"]);
        assert!(!refused.out.contains("inf") && !refused.out.contains("NaN"), "{refused:?}");
    }
    expect_user_error(&dir.run("plot r"), &["1e308 cannot be drawn", "hint: leave that run out"]);
    assert!(!dir.join("curves.svg").exists() && !dir.join("report.html").exists());
}
