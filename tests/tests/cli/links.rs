//! Symbolic links in folders that somebody sent: nothing is written through them.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use quickstudy_tests::process::Sandbox;

use crate::{expect_user_error, sandbox};

const SHORT: &str = "train ppo --env cartpole --steps 64 --threads 1 --eval-every 0 --set hidden=[4] --set envs=2 \
                     --set horizon=32";

/// Every file below a folder, with its bytes.
fn files(folder: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        match entry.file_type().unwrap().is_dir() {
            true => found.extend(files(&entry.path())),
            false => found.push((entry.path(), fs::read(entry.path()).unwrap_or_default())),
        }
    }
    found.sort();
    found
}

/// Runs a command that is refused because of a link, and changes nothing.
#[track_caller]
fn expect_refused(dir: &Sandbox, command: &str, link: &str) {
    let before = files(dir.path());
    expect_user_error(&dir.run(command), &[&format!("{link} is a link"), "hint: move it away"]);
    assert!(files(dir.path()) == before, "{command}");
}

#[test]
fn a_resume_writes_through_no_link() {
    let dir = sandbox();
    assert_eq!(dir.run(&format!("{SHORT} --out other")).code, Some(0));
    assert_eq!(dir.run(&format!("{SHORT} --out r")).code, Some(0));
    fs::write(dir.join("precious"), "whole").unwrap();
    for name in [
        "config.toml",
        "command.txt",
        "version.json",
        "metrics.csv",
        "metrics.jsonl",
        "events.out.tfevents.quickstudy",
        "events.out.tfevents.hparams",
        "last.safetensors",
        "curve.svg",
        "curve.csv",
        "run.lock",
        "best.safetensors",
        "best-64.safetensors",
        "copying.txt",
        "segments",
        "snapshots",
    ] {
        let (place, aside) = (dir.join("r").join(name), dir.join("aside"));
        let own = place.exists();
        if own {
            fs::rename(&place, &aside).unwrap();
        }
        // A file with the right bytes, another one, none.
        for target in ["aside", "precious", "missing"] {
            symlink(dir.join(target), &place).unwrap();
            // The other run is not written in before.
            expect_refused(&dir, "train --resume other r --steps 128", &format!("r/{name}"));
            fs::remove_file(&place).unwrap();
        }
        if own {
            fs::rename(&aside, &place).unwrap();
        }
    }
    // The run folder itself may be a link, and what is above it.
    symlink("r", dir.join("linked")).unwrap();
    symlink(".", dir.join("above")).unwrap();
    assert_eq!(dir.run("train --resume above/linked --steps 128").code, Some(0));
    assert!(fs::symlink_metadata(dir.join("linked")).unwrap().is_symlink());
    // One of a folder that was named was not named itself.
    fs::create_dir(dir.join("all")).unwrap();
    symlink("../r", dir.join("all/r")).unwrap();
    expect_refused(&dir, "train --resume all --steps 256", "all/r");
}

#[test]
fn a_new_run_writes_through_no_link() {
    let dir = sandbox();
    fs::create_dir_all(dir.join("r")).unwrap();
    symlink(dir.join("missing"), dir.join("r/command.txt")).unwrap();
    expect_refused(&dir, &format!("{SHORT} --out r"), "r/command.txt");
    fs::remove_file(dir.join("r/command.txt")).unwrap();
    fs::create_dir(dir.join("elsewhere")).unwrap();
    symlink("../elsewhere", dir.join("r/cartpole-ppo-s1")).unwrap();
    expect_refused(&dir, &format!("{SHORT} --seed 0..2 --out r"), "r/cartpole-ppo-s1");
}

#[test]
fn studies_and_sweeps_write_through_no_link() {
    let dir = sandbox();
    fs::create_dir(dir.join("elsewhere")).unwrap();
    fs::create_dir_all(dir.join("s/cartpole-a2c-s0")).unwrap();
    let study = SHORT.replace("ppo", "ppo,a2c") + " --set envs=2 --out s";
    symlink("../elsewhere", dir.join("s/cartpole-ppo-s0")).unwrap();
    expect_refused(&dir, &study, "s/cartpole-ppo-s0");
    fs::remove_file(dir.join("s/cartpole-ppo-s0")).unwrap();
    symlink(dir.join("missing"), dir.join("s/cartpole-a2c-s0/curve.svg")).unwrap();
    expect_refused(&dir, &study, "s/cartpole-a2c-s0/curve.svg");
    let sweep = "sweep --algorithm ppo --env cartpole --steps 64 --set hidden=[4] --set gamma=0.9,0.99 --out w";
    fs::create_dir_all(dir.join("w/t01/cartpole-ppo-s0")).unwrap();
    for name in ["trials.csv", "sweep.svg", "sweep.toml", "t00", "t01/cartpole-ppo-s0/metrics.csv"] {
        symlink(dir.join("missing"), dir.join("w").join(name)).unwrap();
        expect_refused(&dir, sweep, &format!("w/{name}"));
        fs::remove_file(dir.join("w").join(name)).unwrap();
    }
}

#[test]
fn results_are_not_written_through_links_that_nobody_named() {
    let dir = sandbox();
    let promp = "train promp --env point-corner --steps 1 --set meta_batch=2 --set rollouts=2 --set hidden=[4] --out m";
    assert_eq!(dir.run(promp).code, Some(0));
    fs::write(dir.join("precious"), "whole").unwrap();
    for (name, command) in [
        ("m/adapt.csv", "adapt m --tasks 2"),
        ("m/adapt.svg", "adapt m --tasks 2"),
        ("m/paths.svg", "adapt m --tasks 2"),
        ("m/mine.svg", "plot m -o m/mine.svg"),
        ("m/mine.svg", "plot m --force -o m/mine.svg"),
        ("m/mine.html", "report m -o m/mine.html"),
        ("m/mine.csv", "eval m --csv m/mine.csv"),
        ("m/mine.safetensors", "export m --force -o m/mine.safetensors"),
        ("m/mine.csv", "compare m -o m/mine.csv"),
        ("curves.svg", "plot m"),
        ("report.html", "report m"),
    ] {
        for target in ["precious", "missing"] {
            symlink(dir.join(target), dir.join(name)).unwrap();
            expect_refused(&dir, command, name);
            fs::remove_file(dir.join(name)).unwrap();
        }
    }
    // Links that a user names outside of a run are the user's.
    symlink("picture.svg", dir.join("link.svg")).unwrap();
    assert_eq!(dir.run("plot m -o link.svg").code, Some(0));
    assert!(dir.join("picture.svg").is_file() && fs::symlink_metadata(dir.join("link.svg")).unwrap().is_symlink());
}
