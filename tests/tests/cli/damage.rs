//! Run folders of which several files are damaged or gone at once.

use std::fs;

use quickstudy_tests::process::Sandbox;

use crate::watch::Watcher;
use crate::{expect_user_error, sandbox};

const SHORT: &str = "train ppo --env cartpole --steps 4k --threads 1 --set hidden=[8] --set epochs=1 --set envs=4";
/// A run of the sweep in `r`.
const RUN: &str = "r/t01/cartpole-ppo-s0";
const METRICS: [&str; 3] = ["metrics.csv", "metrics.jsonl", "events.out.tfevents.quickstudy"];

/// Resumes the run `r`, which is finished, and returns the notes about its files.
#[track_caller]
fn notes(dir: &Sandbox) -> Vec<String> {
    let resumed = dir.run("train --resume r");
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    resumed.out.lines().filter_map(|line| line.strip_prefix("note: r")).map(str::to_owned).collect()
}

#[test]
fn a_csv_that_is_sound_stays_and_one_that_is_not_is_never_emptied_in_silence() {
    let dir = sandbox();
    assert_eq!(dir.run(&format!("{SHORT} --out r")).code, Some(0));
    let path = |name: &str| dir.join("r").join(name);
    let csv = fs::read(path(METRICS[0])).unwrap();
    // A letter of one row of the JSON lines.
    let json = fs::read_to_string(path(METRICS[1])).unwrap();
    let (head, tail) = json.split_at(json.len() / 2);
    fs::write(path(METRICS[1]), head.to_owned() + &tail.replacen("train/entropy", "train/entropz", 1)).unwrap();
    fs::remove_file(path(METRICS[2])).unwrap();
    let said = notes(&dir);
    assert!(said.len() == 2 && said[0].starts_with("/metrics.jsonl is damaged: 1 row mended"), "{said:?}");
    assert!(fs::read(path(METRICS[0])).unwrap() == csv && fs::read_to_string(path(METRICS[1])).unwrap() == json);
    // A letter of the first line, where the rows are in no other file.
    METRICS[1..].iter().for_each(|name| fs::remove_file(path(name)).unwrap());
    fs::write(path(METRICS[0]), [b"x", csv.as_slice()].concat()).unwrap();
    let said = notes(&dir);
    assert!(said.iter().any(|note| note.starts_with("/metrics.csv is damaged: ")), "{said:?}");
    assert!(fs::read(path(METRICS[0])).unwrap() == csv && fs::read_to_string(path(METRICS[1])).unwrap() == json);
    // The ends of all three.
    for name in METRICS {
        let bytes = fs::read(path(name)).unwrap();
        fs::write(path(name), &bytes[..bytes.len() / 2]).unwrap();
    }
    let said = notes(&dir);
    let lost = said.last().unwrap();
    assert!(lost.starts_with(": rows from ") && lost.contains(" environment steps are lost"), "{said:?}");
    // Nothing that could be read.
    METRICS.iter().for_each(|name| fs::write(path(name), [b'?'; 5000]).unwrap());
    let said = notes(&dir);
    assert!(
        said[1].contains("what it held is kept in metrics.csv.damaged") && said[3].contains("are lost"),
        "{said:?}"
    );
    assert_eq!(fs::read(path("metrics.csv.damaged")).unwrap(), [b'?'; 5000]);
}

#[test]
fn rows_that_were_never_asked_for_are_not_missed() {
    let dir = sandbox();
    assert_eq!(dir.run(&format!("{SHORT} --log-every 1k --out r")).code, Some(0));
    for name in ["curve.csv", METRICS[2]] {
        fs::remove_file(dir.join("r").join(name)).unwrap();
    }
    let resumed = dir.run("train --resume r --steps 6k --log-every 1");
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    assert!(resumed.out.contains("made anew") && !resumed.out.contains("are lost"), "{}", resumed.out);
    let config = fs::read_to_string(dir.join("r/config.toml")).unwrap();
    assert!(config.contains("log_every = 1 "), "{config}");
    fs::remove_file(dir.join("r").join(METRICS[2])).unwrap();
    let said = notes(&dir);
    assert!(said.len() == 1 && said[0].contains("made anew"), "{said:?}");
}

#[test]
fn a_run_whose_csv_was_lost_before_its_first_evaluation_goes_on() {
    let dir = sandbox();
    assert_eq!(dir.run(&format!("{SHORT} --eval-every 0 --out r")).code, Some(0));
    fs::remove_file(dir.join("r/metrics.csv")).unwrap();
    let resumed = dir.run("train --resume r --steps 6k");
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    let csv = fs::read_to_string(dir.join("r/metrics.csv")).unwrap();
    assert!(csv.starts_with("time/env_steps,") && csv.lines().next().unwrap().contains(",eval/return_mean,"), "{csv}");
    let json = fs::read_to_string(dir.join("r/metrics.jsonl")).unwrap();
    assert_eq!(csv.lines().count(), 1 + json.lines().count());
}

#[test]
fn rows_of_a_run_without_snapshots_are_not_overwritten() {
    let dir = sandbox();
    let train = format!("{SHORT} --out r");
    assert_eq!(dir.run(&train).code, Some(0));
    let csv = fs::read(dir.join("r/metrics.csv")).unwrap();
    for name in ["last.safetensors", "best.safetensors"] {
        fs::remove_file(dir.join("r").join(name)).unwrap();
    }
    expect_user_error(&dir.run(&train), &["r/metrics.csv holds rows of a run", "hint: ", "--out"]);
    assert!(fs::read(dir.join("r/metrics.csv")).unwrap() == csv);
}

/// A file of a run's metrics as damage leaves it; none where it is gone.
type Damage = fn(&[u8]) -> Option<Vec<u8>>;

#[test]
fn verbs_read_all_rows_whichever_of_the_files_is_damaged() {
    let dir = sandbox();
    let sweep = "algorithm = \"ppo\"\nenv = \"cartpole\"\nseed = \"0..2\"\nsteps = \"2k\"\nhidden = [8]\nenvs = 4\n\
                 epochs = 1\neval_every = 500\neval_episodes = 2\n[grid]\ngamma = [0.9, 1.0]\n";
    fs::write(dir.join("sweep.toml"), sweep).unwrap();
    let shown = || {
        let verbs = ["sweep sweep.toml --out r", "plot r", "compare r --resamples 50", "report r --no-pictures"];
        let mut shown = verbs.map(|command| {
            let done = dir.run(command);
            assert_eq!(done.code, Some(0), "{command}: {done:?}");
            let is_note = |line: &&str| line.starts_with("note: ") && line.contains(" damaged lines, left out; ");
            done.out.lines().filter(|line| !is_note(line)).map(|line| format!("{line}\n")).collect::<String>()
        });
        shown[1] += &fs::read_to_string(dir.join("curves.svg")).unwrap();
        shown[3] += &fs::read_to_string(dir.join("report.html")).unwrap();
        let watched = Watcher::start(&dir, RUN).json("run");
        (shown, watched["columns"].to_string(), watched["last"].to_string())
    };
    // The first of them trains, too.
    shown();
    let whole = shown();
    let damages: [(&str, Damage); 4] = [
        ("gone", |_| None),
        ("ends in the midst of a row", |bytes| Some(bytes[..bytes.len() / 2].to_vec())),
        ("has a line of garbage", |bytes| {
            let line = bytes.len() / 2 + bytes[bytes.len() / 2..].iter().position(|byte| *byte == b'\n').unwrap_or(0);
            Some([&bytes[..=line], b"garbage,1,2\n", &bytes[line + 1..]].concat())
        }),
        ("is overwritten in its midst", |bytes| {
            let mut bytes = bytes.to_vec();
            bytes[300..420].fill(b'#');
            Some(bytes)
        }),
    ];
    for name in METRICS {
        let path = dir.join(RUN).join(name);
        let bytes = fs::read(&path).unwrap();
        for (what, damage) in damages {
            match damage(&bytes) {
                Some(damaged) => fs::write(&path, damaged).unwrap(),
                None => fs::remove_file(&path).unwrap(),
            }
            let damaged = fs::read(&path).ok();
            assert_eq!(shown(), whole, "{name} {what}");
            assert!(fs::read(&path).ok() == damaged, "{name} {what}: changed");
        }
        fs::write(&path, bytes).unwrap();
    }
}
