//! Replay buffers in run folders: killed runs end with the same bytes, segments that are damaged are
//! named, and a run is exported as one file.

use std::fs;
use std::process::Child;
use std::time::{Duration, Instant};

use crate::{expect_user_error, sandbox};
use pollster::block_on;
use quickstudy_core::Device;
use quickstudy_core::train::Session;
use quickstudy_tests::process::{Sandbox, wait_until};

const LIMIT: Duration = Duration::from_secs(60);

/// A memory of 1000 rows that goes round many times, in segments of 125.
const SETTINGS: &str = "train sac --env pendulum --threads 1 --save-every 0 --eval-every 0 --set memory_size=1000 \
    --set hidden=[8] --set batch_size=8 --set learning_starts=200 --set train_freq=5";

fn done(dir: &Sandbox, arguments: &str) -> String {
    let finished = dir.run(arguments);
    assert_eq!(finished.code, Some(0), "{arguments}: {finished:?}");
    finished.out
}

fn exported(dir: &Sandbox, run: &str) -> Vec<u8> {
    done(dir, &format!("export {run} -o {run}.safetensors --force"));
    fs::read(dir.join(&format!("{run}.safetensors"))).unwrap()
}

fn segments(dir: &Sandbox, run: &str) -> Vec<String> {
    let entries = fs::read_dir(dir.join(run).join("segments")).unwrap();
    let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Kills a run so many times at random moments, and resumes it until it is done: it ends with the bytes of one that was
/// left alone.
fn kill(kills: usize, steps: usize) {
    let dir = sandbox();
    let train = format!("{SETTINGS} --steps {steps}");
    let began = Instant::now();
    done(&dir, &format!("{train} --out whole"));
    let mut usual = began.elapsed();
    let want = exported(&dir, "whole");
    let mut random = 0x9e37_79b9_u64;
    // Kills, and those that came after new snapshots.
    let (mut killed, mut trained, mut attempts) = (0, 0, 1);
    let mut before = Vec::new();
    let mut end = |mut child: Child, longest: Duration| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(longest.mul_f64((random >> 40) as f64 / (1 << 24) as f64));
        let over = child.try_wait().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        over
    };
    while killed < kills {
        let resumable = dir.join("parts/last.safetensors").exists();
        let child = dir.start(&if resumable {
            "train --resume parts --threads 1 --save-every 0".to_owned()
        } else {
            format!("{train} --out parts")
        });
        // Twice a kill's share of the run: all come before its end, as a rule.
        if end(child, usual.mul_f64(2.0 / kills as f64) + Duration::from_millis(40)).is_none() {
            killed += 1;
        } else if killed >= kills * 3 / 4 {
            break;
        } else {
            // The machine was busier when the whole run was timed: once more, with shorter lives.
            assert!(attempts < 5, "the run was over after {killed} kills");
            std::fs::remove_dir_all(dir.join("parts")).unwrap();
            (killed, trained, attempts) = (0, 0, attempts + 1);
            before.clear();
            usual /= 2;
            continue;
        }
        if dir.join("parts/last.safetensors").exists() {
            let now = exported(&dir, "parts");
            trained += u32::from(now != before);
            before = now;
        }
    }
    assert!(trained as usize >= kills / 3, "only {trained} of {killed} kills came after new snapshots were written");
    done(&dir, "train --resume parts --threads 1");
    assert!(exported(&dir, "parts") == want, "after {killed} kills");
    assert_eq!(segments(&dir, "parts"), segments(&dir, "whole"));
}

#[test]
fn a_run_with_a_replay_memory_that_is_killed_ends_with_the_same_bytes() {
    kill(6, 12_000);
}

#[test]
#[ignore = "a few of them are killed in the test before; `cargo test -p quickstudy-tests --test cli -- --ignored \
    a_hundred_kills`"]
fn a_hundred_kills_at_random_moments_end_with_the_same_bytes() {
    kill(100, 100_000);
}

#[test]
fn each_seed_of_a_stack_has_segments_of_its_own_and_goes_on_alone_or_further() {
    let dir = sandbox();
    let train = SETTINGS.replace("--save-every 0", "--save-every 0.01");
    done(&dir, &format!("{train} --seed 0..2 --steps 3k --out whole"));
    // The memory is as large as the run, and grows with it.
    done(&dir, &format!("{train} --seed 0..2 --steps 600 --out parts"));
    assert_eq!(segments(&dir, "parts/pendulum-sac-s0").len(), 8);
    done(&dir, "train --resume parts/pendulum-sac-s1 --steps 900 --threads 2 --save-every 0 --eval-every 0");
    done(&dir, "train --resume parts/pendulum-sac-s0 --steps 900 --threads 1 --save-every 100 --eval-every 0");
    done(&dir, "train --resume parts --steps 3k --threads 1 --save-every 0.05 --eval-every 0");
    let mut all = Vec::new();
    for seed in ["s0", "s1"] {
        let whole = exported(&dir, &format!("whole/pendulum-sac-{seed}"));
        assert!(whole == exported(&dir, &format!("parts/pendulum-sac-{seed}")), "{seed}");
        all.push(whole);
    }
    // A file that is exported is a snapshot as the library and the npm package restore it, and goes on in a folder of
    // its own.
    let session = Session::restore(&Device::cpu(1), &[&all[0], &all[1]]).unwrap();
    assert!(session.done() && block_on(session.snapshot(1)).unwrap() == all[1]);
    fs::create_dir(dir.join("on")).unwrap();
    fs::write(dir.join("on/last.safetensors"), &all[1]).unwrap();
    done(&dir, "train --resume on --steps 3500 --threads 1 --eval-every 0");
    done(&dir, "train --resume whole/pendulum-sac-s1 --steps 3500 --threads 1 --eval-every 0");
    assert!(exported(&dir, "on") == exported(&dir, "whole/pendulum-sac-s1"));
    done(&dir, "eval on.safetensors --episodes 1");
    done(&dir, "eval on --last --episodes 1");
}

#[test]
fn damaged_and_missing_segments_are_named_and_torn_ends_are_not_read() {
    let dir = sandbox();
    done(&dir, &format!("{SETTINGS} --steps 2k --out r"));
    let want = exported(&dir, "r");
    let names = segments(&dir, "r");
    assert_eq!((names.len(), names[0].as_str()), (8, "memory.transitions-1000.rows"));
    let path = dir.join("r/segments").join(&names[3]);
    let whole = fs::read(&path).unwrap();
    for (bytes, part) in [(&whole[..whole.len() - 1], "it has 4499 bytes"), (&[0; 4500], "is damaged")] {
        fs::write(&path, bytes).unwrap();
        for arguments in ["export r -o x.safetensors", "train --resume r --steps 3k"] {
            expect_user_error(&dir.run(arguments), &["last.safetensors", &names[3], part]);
        }
    }
    fs::remove_file(&path).unwrap();
    expect_user_error(&dir.run("export r -o x.safetensors"), &["r/last.safetensors", &names[3]]);
    assert!(!dir.join("x.safetensors").exists());
    // What follows the rows that the snapshot names.
    fs::write(&path, [&whole[..], b"torn"].concat()).unwrap();
    assert!(exported(&dir, "r") == want);
    done(&dir, "train --resume r --steps 3k --threads 1 --eval-every 0");
    assert!(!path.exists(), "all of its rows are overwritten");
    fs::remove_dir_all(dir.join("r/segments")).unwrap();
    fs::write(dir.join("r/segments"), "").unwrap();
    expect_user_error(&dir.run("train --resume r --steps 4k"), &["r/segments is no folder"]);
}

#[test]
fn export_says_what_it_cannot_do() {
    let dir = sandbox();
    done(
        &dir,
        "train ppo --env cartpole --steps 512 --eval-every 0 --set hidden=[4] --set envs=2 --set horizon=8 --out r",
    );
    let last = fs::read(dir.join("r/last.safetensors")).unwrap();
    // Without a replay buffer the file is all of it.
    assert!(exported(&dir, "r") == last);
    expect_user_error(&dir.run("export r -o r.safetensors"), &["r.safetensors is there already", "--force"]);
    expect_user_error(&dir.run("export r"), &["--out"]);
    expect_user_error(&dir.run("export nothing -o x.safetensors"), &["nothing"]);
    expect_user_error(&dir.run("export r.safetensors -o x.safetensors"), &["r.safetensors is a file", "run folder"]);
    expect_user_error(&dir.run("export . -o x.safetensors"), &["holds no last.safetensors"]);
    expect_user_error(&dir.run("export r -o x.png"), &["x.safetensors"]);
    expect_user_error(&dir.run("export r -o nowhere/x.safetensors"), &["cannot write nowhere/x.safetensors"]);
    fs::write(dir.join("r/last.safetensors"), &last[..last.len() - 1]).unwrap();
    expect_user_error(&dir.run("export r -o x.safetensors"), &["r/last.safetensors", "damaged"]);
    fs::write(dir.join("r/last.safetensors"), &last).unwrap();
    let out = dir.command("export r -o -").output().unwrap();
    assert!(out.status.success() && out.stdout == last);
    assert!(!dir.join("x.safetensors").exists());
}

#[test]
fn a_run_that_trains_is_exported_from_a_snapshot_that_is_whole() {
    let dir = sandbox();
    let mut child = dir.start(&format!("{SETTINGS} --steps 100M --out r"));
    assert!(wait_until(LIMIT, || dir.join("r/segments").exists()));
    let files: Vec<Vec<u8>> = (0..10).map(|_| exported(&dir, "r")).collect();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(files.first() != files.last(), "it went on");
    for file in files {
        Session::restore(&Device::cpu(1), &[&file]).unwrap();
    }
}

#[test]
#[cfg(unix)]
fn segments_that_are_deleted_during_training_are_told_of() {
    let dir = sandbox();
    let mut command = dir.command(&format!("{SETTINGS} --steps 1M --out r"));
    let child = command.spawn().unwrap();
    assert!(wait_until(LIMIT, || dir.join("r/segments/memory.transitions-125.rows").exists()));
    // The run may add a file while they are being deleted.
    let gone = wait_until(LIMIT, || {
        let _ = fs::remove_dir_all(dir.join("r/segments"));
        !dir.join("r/segments").exists()
    });
    assert!(gone);
    let ended: quickstudy_tests::process::Finished = child.wait_with_output().unwrap().into();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.err.contains("is gone") && ended.err.contains("the last snapshot needs it"), "{}", ended.err);
    assert!(!ended.err.contains("intact") && !ended.err.contains("continue with"), "{}", ended.err);
}
