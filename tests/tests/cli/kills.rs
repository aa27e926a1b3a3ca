//! Runs that are killed at every point at which their folders change: what a user does next leads
//! to the bytes of runs that were left alone.
//!
//! The points are counted by `native-cli/src/files/disk.rs`; a process ends at the one that its environment names. Each
//! test goes through them from the first one on, until the command ends without reaching the next.
#![cfg(unix)]

use crate::sandbox;
use quickstudy_tests::process::{Finished, Sandbox};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Two iterations without a replay buffer, each with a kept snapshot and an evaluation.
const CEM: &str = "train cem --env cartpole --threads 1 --save-every 0 --keep-snapshots all --eval-every 1 \
    --eval-episodes 2 --set n_samples=4 --set episodes=1 --set best_frac=0.5 --steps 150";
/// Two iterations with a replay buffer that is full after the first one.
const DQN: &str = "train dqn --env cartpole --threads 1 --save-every 0 --keep-snapshots all --eval-every 1 \
    --eval-episodes 2 --set hidden=[4] --set memory_size=24 --set batch_size=4 --set learning_starts=8 \
    --set train_freq=8 --set iteration_steps=16 --steps 32";

pub fn done(dir: &Sandbox, arguments: &str) -> Finished {
    let finished = dir.run(arguments);
    assert_eq!(finished.code, Some(0), "{arguments}: {finished:?}");
    finished
}

/// Runs a command that is killed at a point; false if it ends before.
pub fn killed(dir: &Sandbox, arguments: &str, point: usize) -> bool {
    let mut command = dir.command(arguments);
    let output = command.env("QUICKSTUDY_TEST_ABORT_AT", point.to_string()).output().unwrap();
    let finished = Finished::from(output);
    assert!(matches!(finished.code, None | Some(0)), "{arguments} at point {point}: {finished:?}");
    finished.code.is_none()
}

pub fn copy(dir: &Sandbox, from: &str, to: &str) {
    fn all(from: &Path, to: &Path) {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            let to = to.join(entry.file_name());
            match entry.path().is_dir() {
                true => all(&entry.path(), &to),
                false => fs::write(to, fs::read(entry.path()).unwrap()).unwrap(),
            }
        }
    }
    let _ = fs::remove_dir_all(dir.join(to));
    if dir.join(from).exists() {
        all(&dir.join(from), &dir.join(to));
    }
}

/// All files below a folder, none if it is not there, by their paths. Of those that hold times the part
/// without them; of configurations the steps.
pub fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    fn add(files: &mut BTreeMap<String, Vec<u8>>, folder: &Path, path: &str) {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            let path = format!("{path}/{name}");
            if entry.path().is_dir() {
                add(files, &entry.path(), &path);
                continue;
            }
            let bytes = fs::read(entry.path()).unwrap();
            let text = || String::from_utf8(bytes.clone()).unwrap();
            let bytes = match name.as_str() {
                "metrics.csv" => {
                    text().lines().map(|line| line.rsplitn(3, ',').nth(2).unwrap().to_owned() + "\n").collect()
                }
                "metrics.jsonl" => text()
                    .lines()
                    .map(|line| line.split(",\"time/seconds\"").next().unwrap().to_owned() + "\n")
                    .collect(),
                "config.toml" => text()
                    .lines()
                    .find(|line| line.starts_with("steps = "))
                    .unwrap()
                    .split('#')
                    .next()
                    .unwrap()
                    .trim()
                    .to_owned(),
                "events.out.tfevents.quickstudy" | "events.out.tfevents.hparams" => bytes.len().to_string(),
                "command.txt" | "version.json" | "run.lock" | "curve.csv" => String::new(),
                _ => {
                    files.insert(path, bytes);
                    continue;
                }
            };
            files.insert(path, bytes.into_bytes());
        }
    }
    let mut all = BTreeMap::new();
    add(&mut all, folder, "");
    all
}

#[track_caller]
pub fn assert_same(dir: &Sandbox, run: &str, whole: &BTreeMap<String, Vec<u8>>, when: &str) {
    let run = files(&dir.join(run));
    let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&run), names(whole), "{when}");
    for (name, bytes) in whole {
        assert!(run[name] == *bytes, "{name} {when}");
    }
}

/// Gives a command again, in a copy of what the killed one has left. True if it is done as if it was
/// the first; otherwise it names the resume.
fn again(dir: &Sandbox, command: &dyn Fn(&str) -> String, whole: &BTreeMap<String, Vec<u8>>, when: &str) -> bool {
    copy(dir, "parts", "again");
    let again = dir.run(&command("again"));
    if again.code == Some(0) {
        assert_same(dir, "again", whole, &format!("{when}, given again"));
        return true;
    }
    let said = ["already holds a run", "--resume again"].iter().all(|text| again.err.contains(text));
    assert!(again.code == Some(2) && said, "{when}: {again:?}");
    false
}

/// Kills a start at every point. Then it is resumed, and in a copy of what there is started again; one of
/// both has to do, and the other to say so.
fn kill_starts(dir: &Sandbox, train: &str) {
    let command = |out: &str| format!("{train} --out {out}");
    let start = command("parts");
    done(dir, &command("whole"));
    let whole = files(&dir.join("whole"));
    // How often each way was gone.
    let (mut resumed, mut anew, mut restarted, mut refused) = (0, 0, 0, 0);
    for point in 1.. {
        let _ = fs::remove_dir_all(dir.join("parts"));
        if !killed(dir, &start, point) {
            break;
        }
        let when = format!("after a kill of `{start}` at point {point}");
        // Once there is a snapshot it is refused, which is tried a few times.
        let has = |name: &str| files(&dir.join("parts")).keys().any(|path| path.ends_with(name));
        let has_last = has("last.safetensors") && !has("copying.txt");
        let repeated = (!has_last || refused < 3) && again(dir, &command, &whole, &when);
        restarted += u32::from(repeated);
        refused += u32::from(has_last);
        let resume = dir.run("train --resume parts");
        match resume.code {
            Some(0) => {
                resumed += 1;
                anew += u32::from(resume.out.contains("begins anew: it was stopped before its first snapshot"));
                assert_same(dir, "parts", &whole, &format!("{when}, resumed"));
            }
            code => {
                assert!(code == Some(2) && repeated, "{when}: {resume:?}");
                let missing = files(&dir.join("parts")).is_empty();
                assert!(missing || resume.err.contains("hint: start it again"), "{when}: {resume:?}");
                done(dir, &start);
                assert_same(dir, "parts", &whole, &format!("{when}, resumed in vain and started again"));
            }
        }
    }
    assert!(resumed > anew && anew > 0 && restarted > 10 && refused > 10, "{resumed} {anew} {restarted} {refused}");
}

#[test]
fn a_killed_start_goes_on_or_begins_anew() {
    for train in [CEM.to_owned(), format!("{DQN} --seed 1")] {
        kill_starts(&sandbox(), &train);
    }
}

#[test]
fn a_killed_start_of_a_stack_goes_on_or_begins_anew() {
    let dir = sandbox();
    // Each seed begins with the parameters of a run of its own.
    done(
        &dir,
        "train cem --env cartpole --threads 1 --eval-every 0 --set n_samples=4 --set best_frac=0.5 --steps 60 \
         --seed 4..7 --out from",
    );
    kill_starts(&dir, &format!("{CEM} --seed 0..3 --from from"));
}

#[test]
fn a_killed_start_of_a_stack_with_replay_memories_goes_on_or_begins_anew() {
    kill_starts(&sandbox(), &format!("{DQN} --seed 0..2"));
}

/// Kills a resume that makes more steps at every point. Then it is resumed without saying so again.
fn kill_resumes(train: &str, more: &str) {
    let dir = sandbox();
    done(&dir, &format!("{train} --out base"));
    copy(&dir, "base", "whole");
    done(&dir, &format!("train --resume whole --steps {more}"));
    let (base, whole) = (files(&dir.join("base")), files(&dir.join("whole")));
    let resume = format!("train --resume parts --steps {more} --save-every 0");
    let mut forgotten = 0;
    for point in 1.. {
        copy(&dir, "base", "parts");
        if !killed(&dir, &resume, point) {
            break;
        }
        let when = format!("after a kill of `{resume}` at point {point}");
        let asked = files(&dir.join("parts")).into_iter().filter(|(name, _)| name.ends_with("config.toml"));
        let noted = asked.filter(|(name, steps)| base[name] != *steps).count();
        let resumed = done(&dir, "train --resume parts");
        if noted == 0 {
            // Nothing has begun.
            forgotten += 1;
            assert_same(&dir, "parts", &base, &when);
            assert!(resumed.out.contains("is finished"), "{when}: {}", resumed.out);
            done(&dir, &resume);
        }
        assert_same(&dir, "parts", &whole, &when);
    }
    // The lock, and the temporary file of the first configuration.
    let locks = 2 * base.keys().filter(|name| name.ends_with("run.lock")).count();
    assert!(forgotten <= locks + 2, "{forgotten} points before the first configuration");
}

#[test]
fn a_killed_resume_does_not_forget_its_steps() {
    kill_resumes(CEM, "600");
    kill_resumes(&format!("{DQN} --seed 1"), "64");
}

#[test]
fn a_killed_resume_of_a_stack_does_not_forget_its_steps() {
    kill_resumes(&format!("{CEM} --seed 0..3"), "600");
}

#[test]
fn a_killed_resume_of_a_stack_with_replay_memories_does_not_forget_its_steps() {
    kill_resumes(&format!("{DQN} --seed 0..2"), "64");
}

/// Kills a run that goes on from kept snapshots at every point. Then it is resumed, and in a copy of
/// what there is the command is given again.
fn kill_copies(snapshots: &str, more: &str) {
    let dir = sandbox();
    done(&dir, &format!("{DQN} --seed 0..2 --out base"));
    let base = files(&dir.join("base"));
    let command = |out: &str| format!("train --resume {snapshots} --steps {more} --save-every 0 --out {out}");
    done(&dir, &command("whole"));
    let whole = files(&dir.join("whole"));
    assert!(whole.keys().any(|name| name.ends_with("/best.safetensors")), "the best policy goes along");
    let (mut resumed, mut restarted, mut refused) = (0, 0, 0);
    for point in 1.. {
        let _ = fs::remove_dir_all(dir.join("parts"));
        if !killed(&dir, &command("parts"), point) {
            break;
        }
        let when = format!("after a kill of `{}` at point {point}", command("parts"));
        // Once there is a snapshot it is refused, which is tried a few times.
        let has = |name: &str| files(&dir.join("parts")).keys().any(|path| path.ends_with(name));
        let has_last = has("last.safetensors") && !has("copying.txt");
        let repeated = (!has_last || refused < 3) && again(&dir, &command, &whole, &when);
        restarted += u32::from(repeated);
        refused += u32::from(has_last);
        let resume = dir.run("train --resume parts");
        match resume.code {
            Some(0) => {
                resumed += 1;
                assert_same(&dir, "parts", &whole, &format!("{when}, resumed"));
            }
            code => {
                assert!(code == Some(2) && repeated, "{when}: {resume:?}");
                let missing = files(&dir.join("parts")).is_empty();
                let says = |text: &str| resume.err.contains(text);
                let said = says("a copy of base/") && says("give the command that began it again");
                assert!(missing || said || says("hint: start it again"), "{when}: {resume:?}");
                done(&dir, &command("parts"));
                assert_same(&dir, "parts", &whole, &format!("{when}, resumed in vain and begun again"));
            }
        }
    }
    assert!(resumed > 10 && restarted > 10, "{resumed} {restarted}");
    assert!(files(&dir.join("base")) == base, "the run itself stays as it was");
}

#[test]
fn a_killed_copy_of_a_kept_snapshot_goes_on_or_begins_again() {
    kill_copies("base/cartpole-dqn-s0/snapshots/16.safetensors", "48");
}

#[test]
fn killed_copies_of_several_go_on_or_begin_again() {
    kill_copies("base/cartpole-dqn-s0/snapshots/16.safetensors base/cartpole-dqn-s1/snapshots/16.safetensors", "32");
}

#[test]
fn seeds_that_a_kill_left_apart_go_on_in_stacks() {
    let dir = sandbox();
    let train = format!("{DQN} --seed 0..5");
    done(&dir, &format!("{train} --out whole"));
    done(&dir, &format!("{train} --out parts"));
    for seed in [1, 2, 4] {
        let kept = dir.join(&format!("parts/cartpole-dqn-s{seed}"));
        fs::copy(kept.join("snapshots/16.safetensors"), kept.join("last.safetensors")).unwrap();
    }
    for seed in [0, 3] {
        let run = dir.join(&format!("parts/cartpole-dqn-s{seed}"));
        fs::remove_dir_all(&run).unwrap();
        fs::create_dir(&run).unwrap();
        let config = fs::read_to_string(dir.join(&format!("whole/cartpole-dqn-s{seed}/config.toml"))).unwrap();
        fs::write(run.join("config.toml"), config).unwrap();
        fs::write(run.join("run.lock"), "").unwrap();
    }
    let out = done(&dir, "train --resume parts --save-every 0").out;
    assert!(out.contains("dqn · 3 seeds (1 to 4)") && out.contains("dqn · 2 seeds (0 to 3)"), "{out}");
    // Whose segments were those of the last snapshot has others now.
    let ends = |run: &str| {
        let names = |name: &String| {
            name.ends_with("best.safetensors") || name.contains("/snapshots/") || name.ends_with(".csv")
        };
        files(&dir.join(run)).into_iter().filter(|(name, _)| names(name)).collect::<BTreeMap<_, _>>()
    };
    assert!(ends("parts") == ends("whole"));
}

#[test]
fn what_cannot_begin_anew_says_why() {
    let dir = sandbox();
    let expect = |arguments: &str, parts: &[&str]| crate::expect_user_error(&dir.run(arguments), parts);
    done(&dir, &format!("{} --out none", CEM.replace("--keep-snapshots all", "--keep-snapshots none")));
    expect("train --resume none", &["none holds no last.safetensors", "its snapshots are gone, or it kept none"]);
    for name in ["metrics.csv", "metrics.jsonl"] {
        fs::write(dir.join("none").join(name), "").unwrap();
    }
    expect(
        "train --resume none",
        &["none holds no last.safetensors", "it keeps no snapshots and cannot be resumed; start it again"],
    );
    // Nothing is written where no run is.
    fs::create_dir(dir.join("empty")).unwrap();
    expect("train --resume empty", &["empty holds no last.safetensors", "one level off"]);
    assert_eq!(fs::read_dir(dir.join("empty")).unwrap().count(), 0);
    // A folder of runs of which one has not begun.
    fs::create_dir_all(dir.join("all/bare")).unwrap();
    fs::write(dir.join("all/bare/run.lock"), "").unwrap();
    expect("train --resume all", &["all/bare holds no last.safetensors and no config.toml", "start it again"]);
    done(&dir, &format!("{CEM} --out all/run"));
    let out = done(&dir, "train --resume all").out;
    assert!(out.contains("note: all/bare holds no run yet") && out.contains("all/run is finished"), "{out}");
}
