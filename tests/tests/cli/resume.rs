//! Resuming, with real processes: killed, interrupted and continued runs end with the same bytes.
#![cfg(unix)]

use crate::sandbox;
use quickstudy::internals::grouped;
use quickstudy_tests::process::{Finished, Sandbox, wait_until};
use std::fs;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(60);
/// Two seeds of a small network, with many snapshots.
const RUN: &str = "train ppo --env cartpole --seed 0..2 --steps 300k --save-every 0.02 --threads 1 \
    --set hidden=[16] --set epochs=2 --set envs=16";
/// A run that does not end by itself, with a snapshot after each iteration.
const ENDLESS: &str = "train ppo --env cartpole --steps 100M --save-every 0 --threads 1 --out r \
    --set hidden=[16] --set epochs=2";

#[test]
fn what_training_writes_can_be_read_at_both_ends_of_rms_decay() {
    let dir = sandbox();
    for (algorithm, more) in [
        ("ppo", "--set optimiser=rms_prop --set horizon=32"),
        ("a2c", "--set optimiser=rms_prop"),
        // Without a mean of squares, steps are as long as gradients over ε, and these two have no longest gradient.
        (
            "ppo2",
            "--set optimiser=rms_prop --set horizon=32 --set critic=last --set learning_rate=1e-6 \
             --set critic_learning_rate=1e-6",
        ),
        ("vpg", "--set optimiser=rms_prop --set horizon=32 --set learning_rate=1e-6 --set critic_learning_rate=1e-6"),
        ("svpg", "--set optimiser=rms_prop --set num_particles=2 --set horizon=32"),
        ("dql", "--set learning_starts=100 --set iteration_steps=100 --set train_freq=50"),
    ] {
        for decay in ["0", "1"] {
            let train = format!("train {algorithm} --env cartpole --steps 600 --threads 1 --set hidden=[4] {more}");
            let made = dir.run(&format!("{train} --set rms_decay={decay} --eval-episodes 2 --out r"));
            assert_eq!(made.code, Some(0), "{algorithm} {decay}: {made:?}");
            for command in
                ["train --resume r --steps 1200 --threads 1", "eval r --last --episodes 2", "eval r --episodes 2"]
            {
                let read = dir.run(command);
                assert_eq!(read.code, Some(0), "{algorithm} {decay} {command}: {read:?}");
            }
            fs::remove_dir_all(dir.join("r")).unwrap();
        }
    }
}

fn steps(dir: &Sandbox, run: &str) -> u64 {
    let text = fs::read_to_string(dir.join(run).join("metrics.csv")).unwrap_or_default();
    let complete = text.rsplit_once('\n').map_or("", |(rows, _)| rows);
    complete.lines().last().and_then(|l| l.split(',').next()?.parse().ok()).unwrap_or(0)
}

/// Starts a run and waits until it has made at least `at_least` steps.
fn start(dir: &Sandbox, arguments: &str, run: &str, at_least: u64) -> Child {
    let mut child = dir.start(arguments);
    let arrived = wait_until(LIMIT, || steps(dir, run) >= at_least);
    assert!(arrived, "{run} made {} steps", steps(dir, run));
    assert_eq!(child.try_wait().unwrap(), None, "the run must not be over before it is stopped");
    child
}

/// Files that must be equal byte by byte, and metrics that must be equal except for the clock.
fn assert_equal_runs(dir: &Sandbox, a: &str, b: &str) {
    for name in ["last.safetensors", "best.safetensors", "curve.svg"] {
        let read = |run: &str| fs::read(dir.join(run).join(name)).unwrap();
        assert!(read(a) == read(b), "{name} of {a} and {b}");
    }
    let csv = |run: &str| fs::read_to_string(dir.join(run).join("metrics.csv")).unwrap();
    let strip = |text: &str| -> Vec<String> {
        text.lines().map(|line| line.rsplitn(3, ',').nth(2).unwrap().to_owned()).collect()
    };
    assert_eq!(strip(&csv(a)), strip(&csv(b)));
    let json = |run: &str| {
        let text = fs::read_to_string(dir.join(run).join("metrics.jsonl")).unwrap();
        let rows = text.lines().map(|line| {
            let mut row: serde_json::Map<String, serde_json::Value> = serde_json::from_str(line).unwrap();
            row.remove("time/seconds").unwrap();
            row.remove("time/sps").unwrap();
            row
        });
        rows.collect::<Vec<_>>()
    };
    assert_eq!(json(a), json(b));
    for name in ["events.out.tfevents.quickstudy", "events.out.tfevents.hparams"] {
        let size = |run: &str| fs::metadata(dir.join(run).join(name)).unwrap().len();
        assert_eq!(size(a), size(b), "{name} of {a} and {b}");
    }
}

fn resumed(dir: &Sandbox, arguments: &str) -> Finished {
    let finished = dir.run(arguments);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    finished
}

#[test]
fn runs_say_what_they_begin_with() {
    let dir = sandbox();
    let small = "--threads 1 --eval-every 0 --set hidden=[8] --set epochs=1 --set envs=16";
    let said = |arguments: &str| {
        let done = dir.run(arguments);
        assert_eq!(done.code, Some(0), "{done:?}");
        done.out
    };
    let out = said(&format!("train ppo --env cartpole --seed 0..2 --steps 2k --out r {small}"));
    assert!(out.contains("\npreset ppo-cartpole: ") && !out.contains("no preset"), "{out}");
    let out = said(&format!("train ppo --env grid-world --steps 1 --out other {small}"));
    let none = "no preset of ppo is for grid-world: what nobody sets has the defaults of ppo";
    assert!(out.lines().any(|line| line == none), "{out}");

    let made = steps(&dir, "r/cartpole-ppo-s0");
    let from = format!("resuming from step {} of {}", grouped(made), grouped(6000));
    let out = said("train --resume r --steps 6k --threads 1 --eval-every 0");
    assert!(out.lines().any(|line| line == from), "`{from}` is missing: {out}");
}

#[test]
fn a_killed_and_resumed_run_equals_an_uninterrupted_one() {
    let dir = sandbox();
    assert_eq!(dir.run(&format!("{RUN} --out whole")).code, Some(0));
    let mut child = start(&dir, &format!("{RUN} --out parts"), "parts/cartpole-ppo-s1", 20_000);
    child.kill().unwrap();
    child.wait().unwrap();
    // One folder of the stacked run alone, on another number of threads; then the other.
    resumed(&dir, "train --resume parts/cartpole-ppo-s1 --threads 2");
    resumed(&dir, "train ppo --env cartpole --steps 300k --resume parts/cartpole-ppo-s0");
    for seed in ["s0", "s1"] {
        assert_equal_runs(&dir, &format!("whole/cartpole-ppo-{seed}"), &format!("parts/cartpole-ppo-{seed}"));
    }
}

#[test]
fn ctrl_c_saves_and_says_how_to_continue() {
    let dir = sandbox();
    assert_eq!(dir.run(&format!("{RUN} --out whole")).code, Some(0));
    let mut command = dir.command(&format!("{RUN} --out parts"));
    let child = command.spawn().unwrap();
    // Rows reach the file every half second or so; the first row is enough to know that it trains.
    assert!(wait_until(LIMIT, || dir.join("parts/cartpole-ppo-s1/last.safetensors").exists()));
    std::thread::sleep(Duration::from_millis(30));
    let signal = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(signal.success());
    let finished = Finished::from(child.wait_with_output().unwrap());
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let hint = "quickstudy train --resume parts/cartpole-ppo-s0 parts/cartpole-ppo-s1";
    assert!(finished.out.contains(hint), "{}", finished.out);
    resumed(&dir, &hint["quickstudy ".len()..]);
    for seed in ["s0", "s1"] {
        assert_equal_runs(&dir, &format!("whole/cartpole-ppo-{seed}"), &format!("parts/cartpole-ppo-{seed}"));
    }
}

#[test]
fn two_processes_never_write_in_one_folder() {
    let dir = sandbox();
    let mut child = start(&dir, ENDLESS, "r", 1);
    for arguments in ["train --resume r", "train ppo --env cartpole --out r"] {
        let second = dir.run(arguments);
        assert_eq!(second.code, Some(2), "{second:?}");
        assert!(second.err.contains(&format!("pid {}", child.id())), "{}", second.err);
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // The dead process holds nothing.
    let evaluated = dir.run("eval r --last --episodes 1");
    assert_eq!(evaluated.code, Some(0), "{evaluated:?}");
    let mut child = start(&dir, "train --resume r", "r", 1);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn fifty_kills_at_random_moments_leave_a_loadable_last() {
    let dir = sandbox();
    // How long it takes to train a little on this machine, so that the kills come before, in and after that.
    let began = Instant::now();
    let mut child = start(&dir, ENDLESS, "r", 1);
    let usual = began.elapsed();
    child.kill().unwrap();
    child.wait().unwrap();
    let mut state = 0x1234_5678_u64;
    let mut furthest = steps(&dir, "r");
    let mut trained = 0;
    for kill in 0..50 {
        let resume = dir.join("r/last.safetensors").exists();
        let mut child = dir.start(if resume { "train --resume r --threads 1 --save-every 0" } else { ENDLESS });
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let random = (state >> 40) as f64 / (1 << 24) as f64;
        if kill % 2 == 0 {
            // At any moment since the start, of which how much is spent before the first snapshot depends on the
            // machine.
            std::thread::sleep(usual.mul_f64(random * 3.0));
        } else {
            // At any moment among later snapshots, one after each iteration.
            assert!(wait_until(LIMIT, || dir.join("r/last.safetensors").exists() && steps(&dir, "r") > furthest));
            std::thread::sleep(Duration::from_millis(30).mul_f64(random));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        if dir.join("r/last.safetensors").exists() {
            let evaluated = dir.run("eval r --last --episodes 1");
            assert_eq!(evaluated.code, Some(0), "after kill {kill}: {evaluated:?}");
            let now = steps(&dir, "r");
            trained += u32::from(now > furthest);
            furthest = furthest.max(now);
        }
    }
    assert!(trained >= 25, "only {trained} of 50 kills came after new snapshots were written");
    let strays = |dir: &std::path::Path| {
        fs::read_dir(dir).unwrap().filter(|e| e.as_ref().unwrap().file_name().to_string_lossy().contains("tmp")).count()
    };
    let mut child = start(&dir, "train --resume r --threads 1", "r", furthest + 1);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(strays(&dir.join("r")) <= 1, "left by this kill at most");
}

#[test]
fn another_instruction_set_goes_on_and_says_that_it_is_not_exact() {
    let dir = sandbox();
    let short = "train ppo --env cartpole --steps 4k --threads 1 --set hidden=[16] --set epochs=2 --out r";
    resumed(&dir, short);
    let same = resumed(&dir, "train --resume r --steps 6k");
    assert!(!same.out.contains("not bit for bit"), "{}", same.out);
    // What a run leaves that was made on a processor with other instructions.
    let path = dir.join("r/version.json");
    let mut version: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let here = version["device"].as_str().unwrap().to_owned();
    version["device"] = "cpu (RVV)".into();
    fs::write(&path, version.to_string()).unwrap();
    let other = resumed(&dir, "train --resume r --steps 8k");
    let note = format!("was trained on cpu (RVV) and continues on {here}: not bit for bit what it would have been");
    assert!(other.out.contains(&note), "{}", other.out);
    assert!(steps(&dir, "r") >= 8000);
    let again = resumed(&dir, "train --resume r --steps 10k");
    assert!(!again.out.contains("not bit for bit"), "said once: {}", again.out);
}
