//! Runs as TensorBoard shows them, by its own code: settings and results in the plugin `hparams`.

use std::fs;
use std::process::Command;

use quickstudy_tests::process::Sandbox;
use quickstudy_tests::python::{interpreter, modules};
use serde_json::Value;

/// The answers of the plugin about the runs below a folder.
fn shown(dir: &Sandbox, python: &std::path::Path, folder: &str) -> Value {
    let mut command = Command::new(python);
    let done = command.arg(modules().join("read_hparams.py")).arg(dir.join(folder)).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() && !said.contains("WARNING"), "{said}");
    serde_json::from_slice(&done.stdout).unwrap()
}

#[test]
#[ignore = "needs Python with Gymnasium: scripts/check-python.sh"]
fn tensorboard_lists_settings_and_results_of_runs_of_two_algorithms() {
    let python = interpreter();
    let dir = Sandbox::new(env!("CARGO_BIN_EXE_quickstudy-under-test"));
    let train = |command: &str| {
        let done = dir.run(command);
        assert_eq!(done.code, Some(0), "{done:?}");
    };
    let short = "--env cartpole --steps 2k --threads 1 --set hidden=[8,4] --set envs=4 --eval-episodes 2";
    train(&format!("train ppo {short} --set epochs=1 --set learning_rate=1e-3 --out r/a"));
    train(&format!("train a2c {short} --seed 7 --out r/b"));
    let all = shown(&dir, &python, "r");
    assert_eq!(all["sessions"].as_object().unwrap().keys().collect::<Vec<_>>(), ["a", "b"]);
    let of = |run: &str| all["sessions"][run].clone();
    // Settings of all kinds, those of one algorithm alone among them.
    let (a, b) = (of("a")["settings"].clone(), of("b")["settings"].clone());
    assert_eq!([&a["algorithm"], &b["algorithm"], &a["env"]], ["ppo", "a2c", "cartpole"]);
    assert_eq!((&a["seed"], &b["seed"], &a["learning_rate"]), (&0.0.into(), &7.0.into(), &1e-3.into()));
    assert_eq!((a["hidden"].as_str(), &a["epochs"], b.get("epochs")), (Some("[8, 4]"), &1.0.into(), None));
    let config: toml::Table = fs::read_to_string(dir.join("r/a/config.toml")).unwrap().parse().unwrap();
    assert_eq!(a.as_object().unwrap().len(), config.len(), "{a}");
    assert!(config.iter().any(|(key, value)| value.as_bool() == a[key].as_bool() && value.is_bool()), "{a}");
    assert_eq!(all["settings"]["clip_eps"], "DATA_TYPE_FLOAT64");
    let differ = all["differ"].as_array().unwrap();
    assert!(["algorithm", "seed"].iter().all(|key| differ.contains(&Value::from(*key))), "{differ:?}");
    // The last values of metrics, and the end.
    for run in ["a", "b"] {
        let rows = fs::read_to_string(dir.join("r").join(run).join("metrics.jsonl")).unwrap();
        let last: Value = serde_json::from_str(rows.lines().last().unwrap()).unwrap();
        for metric in ["eval/return_mean", "time/env_steps"] {
            let found = of(run)["metrics"][metric].as_f64().unwrap();
            assert!((found - last[metric].as_f64().unwrap()).abs() < 1e-3, "{metric}: {found} {last}");
        }
        assert_eq!(of(run)["status"], "STATUS_SUCCESS");
        assert!((0.0..60.0).contains(&of(run)["seconds"].as_f64().unwrap()), "{}", of(run));
    }
}
