//! Run folders whose files are of several runs: they are told of before anything is written.

use std::fs;
use std::path::Path;

use crate::{expect_user_error, sandbox};

const TRAIN: &str = "train ppo --env cartpole --steps 512 --threads 1 --eval-every 0 --set hidden=[4] --set envs=2 \
                     --set horizon=32 --save-every 0";

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

fn files(folder: &Path) -> Vec<(std::ffi::OsString, Vec<u8>)> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let mut found: Vec<_> = entries.map(|entry| (entry.file_name(), fs::read(entry.path()).unwrap())).collect();
    found.sort();
    found
}

#[test]
fn files_of_another_run_are_named_before_anything_is_written() {
    let dir = sandbox();
    assert_eq!(dir.run(&format!("{TRAIN} --out a")).code, Some(0));
    assert_eq!(dir.run(&format!("{TRAIN} --seed 7 --set gamma=0.5 --out b")).code, Some(0));
    let config = fs::read_to_string(dir.join("a/config.toml")).unwrap();
    let edited = |from: &str, to: &str| {
        assert!(config.contains(from), "{from}: {config}");
        Some(config.replacen(from, to, 1))
    };
    let metrics = ["metrics.csv", "metrics.jsonl", "events.out.tfevents.quickstudy"];
    let cases: [(&[&str], Option<String>, &[&str]); 9] = [
        (&["last.safetensors"], None, &["config.toml", "gamma = 0.98", "gamma = 0.5", "seed = 0", "seed = 7"]),
        (&["config.toml"], None, &["config.toml", "gamma = 0.5", "seed = 7"]),
        (&metrics, None, &["events.out.tfevents.quickstudy", "gamma = 0.5", "seed = 7"]),
        (&["metrics.csv"], None, &["metrics.csv is of another run than the other metrics"]),
        (&["metrics.jsonl"], None, &["metrics.", "is of another run than the other metrics"]),
        (&[], edited("gamma = 0.98", "gamma = 0.97"), &["config.toml", "gamma = 0.97", "gamma = 0.98"]),
        (&[], edited("seed = 0", "seed = 1"), &["config.toml", "seed = 1", "seed = 0"]),
        (&[], edited("env = \"cartpole\"", "env = \"acrobot\""), &["env = \"acrobot\"", "env = \"cartpole\""]),
        (&[], edited("algorithm = \"ppo\"", "algorithm = \"a2c\""), &["algorithm = \"a2c\"", "algorithm = \"ppo\""]),
    ];
    for (number, (others, text, parts)) in cases.into_iter().enumerate() {
        let name = format!("case{number}");
        let run = dir.join(&name);
        copy(&dir.join("a"), &run);
        for other in others {
            fs::copy(dir.join("b").join(other), run.join(other)).unwrap();
        }
        if let Some(text) = text {
            fs::write(run.join("config.toml"), text).unwrap();
        }
        let before = files(&run);
        let refused = dir.run(&format!("train --resume {name} --steps 1024"));
        expect_user_error(&refused, parts);
        assert!(refused.err.contains("hint: put the run's own file back"), "{}", refused.err);
        assert!(files(&run) == before, "{name}");
    }
    // Labels are those of what was trained.
    fs::write(dir.join("case5/metrics.csv"), fs::read(dir.join("a/metrics.csv")).unwrap()).unwrap();
    let compared = dir.run("compare case5 b --metric rollout/ep_return_mean");
    assert_eq!(compared.code, Some(0), "{compared:?}");
    assert!(compared.out.contains("gamma=0.98") && !compared.out.contains("gamma=0.97 "), "{compared:?}");
    assert!(compared.out.contains("case5/config.toml has gamma = 0.97, and last.safetensors gamma = 0.98"));
}

#[test]
fn runs_go_on_whose_files_are_ahead_behind_or_of_other_words() {
    let dir = sandbox();
    let train = TRAIN.replace("cartpole", "cartpole:time_limit=500");
    assert_eq!(dir.run(&format!("{train} --out r --keep-snapshots 128")).code, Some(0));
    // Metrics ahead of the snapshot, as after a kill.
    fs::copy(dir.join("r/snapshots/256.safetensors"), dir.join("r/last.safetensors")).unwrap();
    assert_eq!(dir.run("train --resume r").code, Some(0));
    // Behind it.
    for name in ["metrics.csv", "metrics.jsonl"] {
        let text = fs::read_to_string(dir.join("r").join(name)).unwrap();
        fs::write(dir.join("r").join(name), text.lines().take(3).map(|line| format!("{line}\n")).collect::<String>())
            .unwrap();
    }
    assert_eq!(dir.run("train --resume r --steps 640").code, Some(0));
    // Without one of them, and with numbers written in another way.
    let config = fs::read_to_string(dir.join("r/config.toml")).unwrap();
    fs::write(dir.join("r/config.toml"), config.replace("gamma = 0.98", "gamma = 98e-2")).unwrap();
    fs::remove_file(dir.join("r/events.out.tfevents.quickstudy")).unwrap();
    assert_eq!(dir.run("train --resume r --steps 768 --set gamma=0.98").code, Some(0));
    fs::remove_file(dir.join("r/config.toml")).unwrap();
    assert_eq!(dir.run("train --resume r --steps 896").code, Some(0));
    assert_eq!(dir.run(&format!("{TRAIN} --seed 3 --from r --out warm")).code, Some(0));
    assert_eq!(dir.run("train --resume warm --steps 640").code, Some(0));
}
