//! `train` with several algorithms and environments: a folder per run with the bytes of a run alone, killed and gone on
//! with by the same command, and what it refuses.

use crate::kills::{done, files};
use crate::{expect_user_error, sandbox};
use quickstudy_tests::process::{Finished, Sandbox, wait_until};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

const STUDY: &str = "train ppo,a2c --env cartpole,acrobot --seed 0..2 --steps 3k --out s --threads 2 --eval-every 1k \
    --eval-episodes 2 --save-every 0 --set hidden=[8] --set envs=4";
const NAMES: [&str; 8] = [
    "acrobot-a2c-s0",
    "acrobot-a2c-s1",
    "acrobot-ppo-s0",
    "acrobot-ppo-s1",
    "cartpole-a2c-s0",
    "cartpole-a2c-s1",
    "cartpole-ppo-s0",
    "cartpole-ppo-s1",
];

/// The files of a run, as far as they do not depend on time and on the commands that made it.
fn of_run(dir: &Sandbox, folder: &str) -> BTreeMap<String, Vec<u8>> {
    let all = files(&dir.join(folder));
    assert!(all.contains_key("/last.safetensors") && all.contains_key("/metrics.csv"), "{folder}: {:?}", all.keys());
    all
}

fn folders(dir: &Sandbox) -> Vec<String> {
    let names = fs::read_dir(dir.join("s")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut found: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
    found.sort();
    found
}

fn lines(finished: &Finished) -> Vec<Value> {
    finished.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn each_run_is_that_of_a_command_of_its_own() {
    let dir = sandbox();
    let study = done(&dir, &format!("{STUDY} --jobs 2"));
    assert!(study.out.contains("8 runs in s; 4 trainings to do, 2 at once"), "{}", study.out);
    assert!(study.out.contains("next: quickstudy compare s"), "{}", study.out);
    let rows: Vec<&str> = study.out.lines().filter(|line| line.contains("2 of 2")).collect();
    assert_eq!(rows.len(), 4, "{}", study.out);
    assert_eq!(folders(&dir), NAMES);
    done(
        &dir,
        "train a2c --env acrobot --seed 1 --steps 3k --out alone --eval-every 1k --eval-episodes 2 --save-every 0 \
         --set hidden=[8] --set envs=4",
    );
    assert!(of_run(&dir, "s/acrobot-a2c-s1") == of_run(&dir, "alone"));
    // Each command can be given again: none asks for what only a parent gives.
    let command = fs::read_to_string(dir.join("s/acrobot-a2c-s1/command.txt")).unwrap();
    assert!(command.contains("train a2c --env acrobot") && !command.contains("--follow-input"), "{command}");
    // What is there is not made again.
    let before: Vec<_> = NAMES.iter().map(|name| fs::read(dir.join("s").join(name).join("version.json"))).collect();
    let again = done(&dir, STUDY);
    assert!(again.out.contains("8 runs in s, 8 of them finished; 0 trainings to do"), "{}", again.out);
    let after: Vec<_> = NAMES.iter().map(|name| fs::read(dir.join("s").join(name).join("version.json"))).collect();
    for (before, after) in before.into_iter().zip(after) {
        assert_eq!(before.unwrap(), after.unwrap());
    }
    // Other seeds are added to those that are there.
    let more = done(&dir, &STUDY.replace("0..2", "0..3"));
    assert!(more.out.contains("12 runs in s, 8 of them finished; 4 trainings to do"), "{}", more.out);
    assert_eq!(folders(&dir).len(), 12);
}

#[cfg(unix)]
#[test]
fn a_study_that_is_killed_goes_on_with_what_is_missing() {
    let dir = sandbox();
    done(&dir, &STUDY.replace("--out s", "--out whole"));
    // Twice on the way: in the first training, and when some runs are there.
    for name in [NAMES[6], NAMES[4]] {
        let mut study = dir.start(&format!("{STUDY} --jobs 1"));
        let snapshot = dir.join("s").join(name).join("metrics.jsonl");
        while !fs::read_to_string(&snapshot).is_ok_and(|rows| !rows.is_empty()) {
            assert!(study.try_wait().unwrap().is_none(), "the study ended before it was killed");
            std::thread::yield_now();
        }
        study.kill().unwrap();
        study.wait().unwrap();
    }
    done(&dir, STUDY);
    assert_eq!(folders(&dir), NAMES);
    for name in NAMES {
        assert!(of_run(&dir, &format!("s/{name}")) == of_run(&dir, &format!("whole/{name}")), "{name}");
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_stops_all_trainings_and_saves_them() {
    let dir = sandbox();
    let study = STUDY.replace("--steps 3k", "--steps 100M");
    let child = dir.command(&format!("{study} --jobs 2")).spawn().unwrap();
    let rows = |name: &str| fs::read(dir.join("s").join(name).join("last.safetensors")).is_ok();
    while !(rows(NAMES[6]) && rows(NAMES[4])) {
        std::thread::yield_now();
    }
    let sent = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let finished = Finished::from(child.wait_with_output().unwrap());
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(finished.out.contains("stopped; the same command continues with what is missing"), "{finished:?}");
    assert_eq!(folders(&dir), NAMES[4..], "the others were not begun");
    let resumed = dir.run(&format!("train --resume s/{} --pause-at 1 --out x", NAMES[6]));
    expect_user_error(&resumed, &["--out"]);
}

#[test]
fn a_training_that_fails_does_not_stop_the_others() {
    let dir = sandbox();
    // A file where the run's folder is to be.
    fs::create_dir(dir.join("s")).unwrap();
    fs::write(dir.join("s/cartpole-ppo-s0"), "").unwrap();
    let finished = dir.run(STUDY);
    assert_eq!(finished.code, Some(2), "{finished:?}");
    for part in ["1 of 4 trainings failed; cartpole · ppo: ", "s/cartpole-ppo-s0 is a file", "the same command"] {
        assert!(finished.err.contains(part), "`{part}` is missing: {finished:?}");
    }
    assert_eq!(finished.out.lines().filter(|line| line.contains("2 of 2")).count(), 3, "{}", finished.out);
}

#[cfg(target_os = "linux")]
#[test]
fn a_training_that_is_killed_says_by_which_signal() {
    let dir = sandbox();
    let study = STUDY.replace("--steps 3k", "--steps 100M");
    let child = dir.command(&format!("{study} --jobs 1")).spawn().unwrap();
    while !dir.join("s").join(NAMES[6]).join("last.safetensors").exists() {
        std::thread::yield_now();
    }
    let of_study = std::process::Command::new("ps").args(["-o", "pid=", "--ppid", &child.id().to_string()]).output();
    let job = String::from_utf8(of_study.unwrap().stdout).unwrap();
    for (signal, id) in [("-KILL", job.trim().to_owned()), ("-INT", child.id().to_string())] {
        assert!(std::process::Command::new("kill").args([signal, &id]).status().unwrap().success(), "{signal} {id}");
    }
    let finished = Finished::from(child.wait_with_output().unwrap());
    // Not what it said last, which is how far it was.
    assert!(finished.err.contains("it ended by signal: 9 (SIGKILL)\n"), "{finished:?}");
}

#[test]
fn lines_of_json_tell_how_far_each_training_is() {
    let dir = sandbox();
    let study = done(&dir, &format!("{STUDY} --json"));
    let lines = lines(&study);
    let of = |kind: &str| lines.iter().filter(|line| line["type"] == kind).collect::<Vec<_>>();
    assert_eq!(of("training").len(), 4);
    assert!(of("progress").iter().all(|line| line["algorithm"].is_string() && line["environment"].is_string()));
    let trained = of("trained");
    let mut folders: Vec<&str> = trained.iter().map(|line| line["folder"].as_str().unwrap()).collect();
    folders.sort_unstable();
    assert_eq!(folders, NAMES.map(|name| format!("s/{name}")));
    assert!(trained.iter().all(|line| line["finished"] == true && line["evaluation"].is_number()), "{trained:?}");
    assert!(study.err.contains("next: quickstudy compare s"), "{}", study.err);
    // One training prints them too.
    let alone = done(&dir, "train cem --env cartpole --steps 2k --json --out r");
    let lines = self::lines(&alone);
    assert_eq!((&lines[0]["type"], &lines[0]["version"]), (&"train".into(), &1.into()));
    assert_eq!(lines.last().unwrap()["type"], "trained");
}

#[test]
fn a_pause_stops_where_it_says_and_changes_nothing() {
    let dir = sandbox();
    let run = "train ppo --env cartpole --steps 3k --set envs=4 --set hidden=[8] --eval-episodes 2";
    done(&dir, &format!("{run} --out whole"));
    let paused = done(&dir, &format!("{run} --out parts --pause-at 1k"));
    assert!(paused.out.contains("stopped at 1 024 steps; continue with"), "{}", paused.out);
    done(&dir, "train --resume parts --pause-at 2k");
    done(&dir, "train --resume parts");
    assert!(of_run(&dir, "whole") == of_run(&dir, "parts"));
}

#[test]
fn mistakes_are_found_before_anything_is_trained() {
    let dir = sandbox();
    let refused = |arguments: &str, parts: &[&str]| {
        expect_user_error(&dir.run(arguments), parts);
        assert!(!dir.join("runs").exists() && !dir.join("s").exists(), "{arguments}");
    };
    refused("train ppo,dqn --env cartpole,pendulum", &["dqn on pendulum: "]);
    refused("train ppo,sacc --env cartpole", &["did you mean `sac`?"]);
    refused("train ppo,ppo --env cartpole", &["the algorithm `ppo` is named twice"]);
    refused("train ppo, --env cartpole", &["has an empty part"]);
    refused("train ppo --env bandit,bandit:arms=5", &["bandit · ppo is there twice"]);
    refused("train ppo,a2c --env cartpole --from x", &["--from: the parameters of one run fit one algorithm"]);
    refused("train ppo,a2c --env cartpole --set gamma=2", &["ppo on cartpole: gamma: 2 is not in 0 to 1"]);
    refused("train ppo,a2c --env cartpole --jobs 0", &["0 is not in 1..=1024"]);
    // A run with other settings is not taken for one that is there.
    done(&dir, "train cem --env cartpole --steps 300 --out s/cartpole-cem-s0");
    let other = dir.run("train cem,nop --env cartpole --steps 300 --set n_samples=9 --out s");
    expect_user_error(&other, &["s/cartpole-cem-s0 holds a run with n_samples = ", ", not n_samples = 9"]);
    let longer = dir.run("train cem,nop --env cartpole --steps 400 --out s");
    expect_user_error(&longer, &["holds a run with steps = 300, not steps = 400", "choose another --out"]);
}

#[test]
fn a_study_that_is_given_twice_at_once_is_refused_by_name() {
    let dir = sandbox();
    let long = "train ppo,a2c --env cartpole --steps 100M --threads 2 --eval-every 0 --set hidden=[8] --out s";
    let sweep = "sweep --algorithm ppo --env cartpole --steps 100M --threads 2 --set hidden=[8] --set gamma=0.9,0.99 \
                 --out w";
    for (command, folder, place) in [(long, "s", "s/cartpole-ppo-s0"), (sweep, "w", "w")] {
        let mut first = dir.start(command);
        let locks = || {
            let files = fs::read_dir(dir.join(folder)).into_iter().flatten().map(|file| file.unwrap().path());
            files.filter(|path| path.extension().is_some_and(|end| end == "lock")).collect::<Vec<_>>()
        };
        let is_held = |path: &PathBuf| fs::read_to_string(path).is_ok_and(|text| text.contains("since"));
        // One for each algorithm of the study.
        let held = || locks().iter().filter(|path| is_held(path)).count() == usize::from(command == long) + 1;
        assert!(wait_until(Duration::from_secs(60), held), "{command}");
        let owner = format!("another process (pid {}, since ", first.id());
        let second = dir.run(command);
        expect_user_error(&second, &[&owner, &format!(" is writing in {place}"), "wait for it, stop it"]);
        // Another study may be at work beside it.
        if command == long {
            done(
                &dir,
                "train ppo --env cartpole --seed 1..3 --jobs 1 --steps 64 --eval-every 0 --set hidden=[8] --out s",
            );
        }
        first.kill().unwrap();
        first.wait().unwrap();
        // A process that it was starting holds the lock until it runs a program of its own.
        let freed = || locks().iter().all(|path| fs::File::open(path).unwrap().try_lock().is_ok());
        assert!(wait_until(Duration::from_secs(10), freed), "{:?}", locks());
    }
}
