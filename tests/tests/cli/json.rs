//! `--json`: what each verb writes to standard output, by the schema that `list --json-schema` prints.

use crate::{expect_user_error, sandbox};
use quickstudy_tests::json_schema::JsonSchema;
use quickstudy_tests::process::Sandbox;
use serde_json::Value;
use std::collections::BTreeMap;

const SHORT: &str = "train ppo --env cartpole --steps 2k --threads 1 --set hidden=[8] --set epochs=1 --set envs=4";

/// The objects on the lines of standard output, each valid and known to the verb.
#[track_caller]
fn valid(dir: &Sandbox, verb: &str, out: &str) -> Vec<Value> {
    let schema = JsonSchema::of_lines(dir);
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for line in &lines {
        assert_eq!(schema.check(verb, line), Ok(()), "{verb}: {line}");
    }
    assert!(lines.first().is_some_and(|first| first["version"] == 1), "{verb}: {out}");
    assert!(lines[1..].iter().all(|line| line.get("version").is_none()), "{verb}: {out}");
    lines
}

/// The lines of a command that works. Lines for people are on standard error, the same as without the flag.
#[track_caller]
fn lines(dir: &Sandbox, command: &str) -> Vec<Value> {
    let done = dir.run(&format!("{command} --json"));
    assert_eq!(done.code, Some(0), "{done:?}");
    valid(dir, command.split(' ').next().unwrap(), &done.out)
}

fn types(lines: &[Value]) -> BTreeMap<&str, usize> {
    let mut found = BTreeMap::new();
    lines.iter().for_each(|line| *found.entry(line["type"].as_str().unwrap()).or_default() += 1);
    found
}

#[track_caller]
fn expect_types(lines: &[Value], expected: &[(&str, usize)]) {
    assert_eq!(types(lines), expected.iter().copied().collect(), "{lines:?}");
}

fn of<'a>(lines: &'a [Value], kind: &str) -> Vec<&'a Value> {
    lines.iter().filter(|line| line["type"] == kind).collect()
}

#[test]
fn evaluations_and_curves_say_the_numbers_that_people_see() {
    let dir = sandbox();
    assert_eq!(dir.run(&format!("{SHORT} --seed 0..2")).code, Some(0));
    let one = "eval runs/cartpole-ppo-s0 --episodes 7";
    let found = lines(&dir, one);
    expect_types(&found, &[("evaluation", 1), ("note", 1), ("policy", 1)]);
    let (people, policy) = (dir.run(one), of(&found, "policy")[0]);
    let said = format!(
        "mean_return {:.4} stderr {:.4} episodes 7",
        policy["return_mean"].as_f64().unwrap(),
        policy["return_stderr"].as_f64().unwrap()
    );
    assert_eq!(people.out.lines().last(), Some(said.as_str()));
    assert_eq!(dir.run(&format!("{one} --json")).err, people.out, "lines for people are those without the flag");

    let found = lines(&dir, "eval runs --episodes 1 --csv e.csv");
    expect_types(&found, &[("evaluation", 1), ("note", 1), ("policy", 2), ("file", 1), ("summary", 1)]);
    assert_eq!(of(&found, "policy")[0]["return_stderr"], Value::Null, "a single episode has no error");
    assert_eq!(of(&found, "summary")[0]["count"], 2);
    let found = lines(&dir, "eval runs/cartpole-ppo-s0 --episodes 21 --gif e.gif");
    expect_types(&found, &[("evaluation", 1), ("policy", 1), ("file", 1), ("note", 2)]);

    let found = lines(&dir, "plot runs -o c.svg");
    expect_types(&found, &[("plot", 1), ("curve", 1)]);
    let curve = of(&found, "curve")[0];
    assert_eq!((&curve["runs"], &curve["environment"]), (&2.into(), &"cartpole".into()));
    let found = lines(&dir, "plot runs/cartpole-ppo-s1");
    assert_eq!(of(&found, "curve")[0]["low"], Value::Null, "a single run has no interval");
    let found = lines(&dir, "compare runs --resamples 100");
    assert!(types(&found)["aggregate"] > 3 && types(&found)["run"] == 2, "{found:?}");

    expect_user_error(&dir.run("eval runs --json --csv -"), &["--json writes to standard output", "a name"]);
    expect_user_error(&dir.run("plot runs --json -o -"), &["--json writes to standard output"]);
    let failed = dir.run("eval nowhere --json");
    expect_user_error(&failed, &["nowhere"]);
    let error: Value = serde_json::from_str(&failed.out).unwrap();
    assert_eq!(JsonSchema::of_lines(&dir).check("eval", &error), Ok(()));
    assert_eq!((error["type"].as_str(), error["kind"].as_str()), (Some("error"), Some("config")));
    assert!(failed.err.contains(error["message"].as_str().unwrap()), "{failed:?}");
    let failed = dir.run("bench training --env cartpol --json");
    assert_eq!(serde_json::from_str::<Value>(failed.out.lines().last().unwrap()).unwrap()["kind"], "unknown");
}

#[test]
fn adaptation_has_a_line_for_each_stage_and_the_last_one_is_the_result() {
    let dir = sandbox();
    let train = "train promp --env point-corner --steps 1000 --out r --set meta_batch=3 --set rollouts=4 \
                 --set horizon=10 --set hidden=[8]";
    assert_eq!(dir.run(train).code, Some(0));
    let found = lines(&dir, "adapt r --tasks 5 --inner-steps 2 --steps");
    expect_types(&found, &[("adaptation", 1), ("file", 4), ("stage", 3), ("control", 2), ("result", 1)]);
    let (stages, result) = (of(&found, "stage"), &found[found.len() - 1]);
    assert_eq!((&stages[0]["return_mean"], &stages[2]["return_mean"]), (&result["before"], &result["after"]));
    assert_eq!((stages[1]["name"].as_str(), &result["tasks"]), (Some("step 1"), &5.into()));
    let found = lines(&dir, "adapt r --n-exploration-eps 2 --n-test-episodes 2 --n-test-tasks 2");
    assert!(types(&found)["measure"] > 4 && found[0]["type"] == "meta_test", "{found:?}");
    let success = of(&found, "measure").into_iter().find(|line| line["name"] == "MetaTest/Average/SuccessRate");
    assert_eq!(success.unwrap()["value"], Value::Null, "the environment tells no success");

    let train = "train rl2-ppo --env bandit --steps 500 --out b --set meta_batch=4 --set minibatches=2 --set units=8";
    assert_eq!(dir.run(train).code, Some(0));
    let found = lines(&dir, "adapt b --tasks 3");
    assert_eq!((types(&found)["trial"], found[0]["unit"].as_str()), (1, Some("steps")));
    assert!(types(&found)["control"] > 2, "{found:?}");
}

#[test]
fn trainings_and_sweeps_tell_how_far_they_are() {
    let dir = sandbox();
    let short = SHORT.strip_prefix("train ppo").unwrap();
    let found = lines(&dir, &format!("{SHORT} --seed 0..2 --out one"));
    let kinds = types(&found);
    assert_eq!((kinds["train"], kinds["training"], kinds["trained"]), (1, 1, 2), "{found:?}");
    assert!(kinds["progress"] > 0 && of(&found, "progress")[0]["algorithm"].is_null(), "{found:?}");
    let found = lines(&dir, &format!("train ppo,a2c {} --out two", short.replace("--set epochs=1", "")));
    assert_eq!((types(&found)["training"], types(&found)["trained"]), (2, 2), "{found:?}");
    let sweep = "sweep --algorithm ppo --env cartpole --steps 1k --set hidden=[8] --set envs=2,4";
    for command in [format!("{sweep} --list"), sweep.to_owned()] {
        let found = lines(&dir, &command);
        expect_types(&found, &[("sweep", 1), ("trial", 2)]);
        assert_eq!(of(&found, "trial")[0]["score"].is_null(), command.ends_with("--list"), "{found:?}");
    }
}

#[test]
fn lists_name_what_there_is() {
    let dir = sandbox();
    let found = lines(&dir, "list");
    assert_eq!(found[0]["parts"], serde_json::json!(["algorithms", "environments", "presets"]));
    for (part, kind, name) in [
        ("algorithms", "algorithm", "ppo"),
        ("environments", "environment", "bandit"),
        ("presets", "preset", "ppo-cartpole"),
        ("metrics", "metric", "eval/return_mean"),
    ] {
        let found = lines(&dir, &format!("list {part}"));
        assert_eq!(types(&found).len(), 2, "{part}");
        assert!(of(&found, kind).iter().any(|line| line["name"] == name), "{part}: {found:?}");
    }
    let found = lines(&dir, "list settings ppo");
    let gamma = of(&found, "setting").into_iter().find(|line| line["key"] == "gamma").unwrap();
    assert_eq!((gamma["algorithm"].as_str(), &gamma["default"]), (Some("ppo"), &0.99.into()));
    assert!(lines(&dir, "list settings").len() > 5 * found.len());
    let found = lines(&dir, "list environments");
    let bandit = found.iter().find(|line| line["name"] == "bandit").unwrap();
    assert_eq!((bandit["action"]["kind"].as_str(), &bandit["task"][0]["high"]), (Some("discrete"), &1.0.into()));
}

#[test]
fn machines_are_described_and_measured() {
    let dir = sandbox();
    let found = lines(&dir, "devices");
    assert!(types(&found)["cpu"] == 1 && found[0]["gpus"] == of(&found, "gpu").len(), "{found:?}");
    let found = lines(&dir, "bench environments --env cartpole --seconds 0.01 --threads 1");
    assert!(of(&found, "stepping").iter().all(|line| line["steps_per_second"].as_f64() > Some(1e3)), "{found:?}");
    let found = lines(&dir, "bench training --env pendulum --seconds 0.01 --threads 1");
    let line = of(&found, "training")[0];
    assert_eq!((&line["settings"]["horizon"], &line["dispatches"]), (&1024.into(), &Value::Null));
    let found = lines(&dir, "bench training --env cartpole --device gpu --predict --kernels");
    let line = of(&found, "prediction")[0];
    let counts: Vec<_> = line["parts"].as_array().unwrap().iter().map(|part| &part["count"]).collect();
    assert_eq!((line["cards"][0]["card"].as_str(), counts[0]), (Some("H100"), &line["dispatches"]));
    assert!(of(&found, "predicted_kernel").len() > of(&found, "prediction").len(), "{found:?}");
    let found = lines(&dir, "bench learning --env cartpole --algorithm cem --seed 0 --episodes 2 --threads 2");
    let line = of(&found, "learning")[0];
    assert_eq!((line["preset"].as_str(), &line["low"]), (Some("cem-cartpole"), &Value::Null));

    // Where there is no Python, there is the error alone.
    let checked = dir.run("python check --json");
    if checked.out.lines().count() > 1 {
        let found = valid(&dir, "python", &checked.out);
        assert_eq!(checked.code, Some(if found.iter().any(|line| line["ready"] == true) { 0 } else { 2 }));
        assert_eq!(of(&found, "package").len(), 6);
    }
}

#[cfg(unix)]
#[test]
fn environments_of_the_host_are_measured_as_lines_too() {
    let dir = Sandbox::new(env!("CARGO_BIN_EXE_hosts-under-test"));
    let found = lines(&dir, "bench --env courier --seconds 0.01 --envs 3 --threads 1");
    expect_types(&found, &[("benchmark", 1), ("host_stepping", 1), ("note", 1)]);
    assert_eq!(found[1]["envs"], 3);
}
