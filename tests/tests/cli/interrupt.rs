//! Ctrl-C where it has to wait: before training, and in the middle of an iteration that takes minutes.
#![cfg(unix)]

use crate::sandbox;
use quickstudy_tests::process::Finished;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// An iteration of two million updates.
const LONG: &str = "train ppo --env cartpole --steps 1k --threads 2 --out r --set hidden=[8] --set envs=4 \
    --set horizon=32 --set minibatches=1 --set epochs=2000000";

fn interrupt(child: &Child) {
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// Reads lines up to one that is not empty.
fn line(from: &mut impl BufRead) -> String {
    let mut line = String::new();
    while line.trim().is_empty() {
        line.clear();
        assert!(from.read_line(&mut line).unwrap() > 0, "the output has ended");
    }
    line
}

fn rest(mut from: impl Read) -> String {
    let mut text = String::new();
    from.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn a_second_ctrl_c_stops_within_an_iteration_and_keeps_the_last_snapshot() {
    let dir = sandbox();
    // Until the signal comes in the iteration, and not while the first snapshot is written.
    loop {
        let _ = fs::remove_dir_all(dir.join("r"));
        let mut child = dir.command(LONG).spawn().unwrap();
        let mut err = BufReader::new(child.stderr.take().unwrap());
        while !dir.join("r/last.safetensors").exists() {
            assert_eq!(child.try_wait().unwrap(), None);
            std::thread::yield_now();
        }
        let before = fs::read(dir.join("r/last.safetensors")).unwrap();
        interrupt(&child);
        let waiting = line(&mut err);
        if waiting.contains("writing files") {
            child.wait().unwrap();
            continue;
        }
        assert!(
            waiting.starts_with("stopping: waiting for the iteration from step 0 on, which has taken"),
            "{waiting}"
        );
        assert!(waiting.contains("press Ctrl-C again to stop within it"), "{waiting}");
        interrupt(&child);
        let stopping = line(&mut err);
        assert!(stopping.starts_with("stopping within the iteration from step 0 on"), "{stopping}");
        let err = rest(err);
        let finished = Finished::from(child.wait_with_output().unwrap());
        assert_eq!(finished.code, Some(130), "{finished:?} {err}");
        assert!(err.contains("error: stopped within an iteration, which is lost"), "{err}");
        assert!(err.contains("the last snapshot is intact; continue with `quickstudy train --resume r`"), "{err}");
        assert!(fs::read(dir.join("r/last.safetensors")).unwrap() == before, "the last snapshot has changed");
        break;
    }
    let evaluated = dir.run("eval r --last --episodes 1");
    assert_eq!(evaluated.code, Some(0), "{evaluated:?}");
}

#[test]
fn a_training_ends_with_the_program_that_started_it_and_keeps_the_last_snapshot() {
    let dir = sandbox();
    // Also in an iteration that takes minutes, when nobody is there to press a second time.
    let mut child = dir.command(&format!("{LONG} --follow-input")).stdin(Stdio::piped()).spawn().unwrap();
    while !dir.join("r/last.safetensors").exists() {
        assert_eq!(child.try_wait().unwrap(), None);
        std::thread::yield_now();
    }
    std::thread::sleep(Duration::from_millis(500));
    drop(child.stdin.take());
    let begun = Instant::now();
    let status = child.wait().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(20), "it went on for {:?}", begun.elapsed());
    assert_eq!(status.code(), Some(130));
    assert_eq!(dir.run("eval r --last --episodes 1").code, Some(0));
}

#[test]
fn before_training_ctrl_c_ends_at_once_and_leaves_nothing() {
    let dir = sandbox();
    // Drawing orthogonal weights takes minutes.
    let mut child = dir.command("train ppo --env cartpole --set hidden=[4096,4096] --out r").spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let said = line(&mut out);
    assert!(said.starts_with("setting up: ") && !said.contains(" 0.0 s"), "{said}");
    interrupt(&child);
    let finished = Finished::from(child.wait_with_output().unwrap());
    assert_eq!(finished.code, Some(130), "{finished:?}");
    assert!(finished.err.contains("stopped while setting up: nothing was trained"), "{finished:?}");
    assert!(!dir.join("r").exists());
}

#[test]
fn a_study_says_how_long_ago_ctrl_c_was_and_not_when_it_began() {
    let dir = sandbox();
    let study = LONG.replace("ppo", "ppo,ppo2").replace("--out r", "--jobs 2 --out s");
    let mut child = dir.command(&study).spawn().unwrap();
    let (mut out, mut err) =
        (BufReader::new(child.stdout.take().unwrap()), BufReader::new(child.stderr.take().unwrap()));
    let begun = |name: &str| dir.join(&format!("s/cartpole-{name}-s0/last.safetensors")).exists();
    while !begun("ppo") || !begun("ppo2") {
        assert_eq!(child.try_wait().unwrap(), None);
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    std::thread::sleep(std::time::Duration::from_secs(2));
    interrupt(&child);
    let waiting = line(&mut err);
    assert!(waiting.starts_with("stopping: waiting for the iterations that run"), "{waiting}");
    assert!(!waiting.contains("has taken"), "{waiting}");
    let mut said = line(&mut out);
    while !said.starts_with("stopping: ") {
        said = line(&mut out);
    }
    assert!(
        said.starts_with("stopping: 1") && said.contains(" s since Ctrl-C; 2 trainings end their iterations"),
        "{said}"
    );
    interrupt(&child);
    let stopping = line(&mut err);
    assert!(stopping.contains(" s after the first Ctrl-C; press Ctrl-C again"), "{stopping}");
    interrupt(&child);
    child.wait().unwrap();
}

#[test]
fn threads_that_are_handed_over_are_taken_between_iterations_and_change_nothing() {
    let dir = sandbox();
    // Two seeds in one program, each with a replay buffer.
    let train = "train dqn --env cartpole --steps 3k --seed 0..2 --threads 1 --eval-every 0 --log-every 500";
    let mut child = dir.command(&format!("{train} --out handed --follow-input")).stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"++").unwrap();
    let ended = Finished::from(child.wait_with_output().unwrap());
    drop(input);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let alone = dir.run(&format!("{train} --out alone"));
    assert_eq!(alone.code, Some(0), "{alone:?}");
    for seed in 0..2 {
        let folder = |of: &str| dir.join(&format!("{of}/cartpole-dqn-s{seed}"));
        let last = |of: &str| fs::read(folder(of).join("last.safetensors")).unwrap();
        assert!(last("handed") == last("alone"), "seed {seed}");
        let threads = |of: &str| -> u64 {
            let version = fs::read(folder(of).join("version.json")).unwrap();
            let version: serde_json::Value = serde_json::from_slice(&version).unwrap();
            version["threads"].as_u64().unwrap()
        };
        assert_eq!((threads("alone"), threads("handed")), (1, 3));
    }
}
