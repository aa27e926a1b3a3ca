//! Runs that begin with the parameters of others: `train --from`.

use crate::{expect_user_error, sandbox};
use quickstudy_tests::crafted::Crafted;
use quickstudy_tests::process::Sandbox;
use std::fs;

const SAC: &str = "train sac --env pendulum --threads 1 --eval-every 0 --set hidden=[16] --set batch_size=16 \
    --set learning_starts=200 --set memory_size=2000";

fn snapshot(dir: &Sandbox, path: &str) -> Crafted {
    Crafted::read(&fs::read(dir.join(path)).unwrap())
}

#[test]
fn a_run_begins_with_the_parameters_of_another_and_can_be_made_again() {
    let dir = sandbox();
    assert_eq!(dir.run(&format!("{SAC} --steps 600 --out first")).code, Some(0));
    let warm = format!("{SAC} --steps 300 --seed 7 --set warm_up=policy --from first --out warm");
    let made = dir.run(&warm);
    assert_eq!(made.code, Some(0), "{made:?}");
    assert!(made.out.contains("begins with the parameters of first"), "{made:?}");
    let config = fs::read_to_string(dir.join("warm/config.toml")).unwrap();
    assert!(config.contains("from = [\"first\"]") && config.contains("# --from"), "{config}");
    let again = dir.run("train --config warm/config.toml --threads 1 --out again");
    assert_eq!(again.code, Some(0), "{again:?}");
    let last = |run: &str| fs::read(dir.join(run).join("last.safetensors")).unwrap();
    assert!(last("warm") == last("again"));
    let cold = dir.run(&warm.replace("--from first --out warm", "--out cold"));
    assert_eq!(cold.code, Some(0), "{cold:?}");
    assert!(last("warm") != last("cold"));
    // Two runs of the same settings and seed, but for that: two lines.
    let plot = dir.run("plot warm cold");
    assert!(plot.code == Some(0) && plot.out.contains("from"), "{plot:?}");
    // The folder is needed no more.
    fs::remove_dir_all(dir.join("first")).unwrap();
    let resumed = dir.run("train --resume warm --steps 500 --threads 1");
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
}

#[test]
fn the_configuration_of_each_seed_names_the_run_that_it_begins_with() {
    let dir = sandbox();
    let ppo = "train ppo --env cartpole --threads 1 --eval-every 0 --set hidden=[16]";
    assert_eq!(dir.run(&format!("{ppo} --seed 9..11 --steps 2k --out runs")).code, Some(0));
    let last = |run: &str| fs::read(dir.join(run).join("last.safetensors")).unwrap();
    for (number, from) in [
        "runs",
        "runs/cartpole-ppo-s9 runs/cartpole-ppo-s10",
        "runs/cartpole-ppo-s9/last.safetensors runs/cartpole-ppo-s10",
    ]
    .iter()
    .enumerate()
    {
        let out = format!("warm{number}");
        assert_eq!(dir.run(&format!("{ppo} --seed 9..11 --steps 300 --from {from} --out {out}")).code, Some(0));
        for seed in [9, 10] {
            let run = format!("{out}/cartpole-ppo-s{seed}");
            let config = fs::read_to_string(dir.join(&run).join("config.toml")).unwrap();
            assert!(config.contains(&format!("from = [\"runs/cartpole-ppo-s{seed}")), "{config}");
            let again = dir.run(&format!("train --config {run}/config.toml --threads 1 --out {out}-again{seed}"));
            assert_eq!(again.code, Some(0), "{again:?}");
            assert!(last(&run) == last(&format!("{out}-again{seed}")));
        }
    }
    // One source is for any number of seeds.
    assert_eq!(dir.run(&format!("{ppo} --seed 0..2 --steps 300 --from runs/cartpole-ppo-s9 --out one")).code, Some(0));
    let config = fs::read_to_string(dir.join("one/cartpole-ppo-s1/config.toml")).unwrap();
    assert!(config.contains("from = [\"runs/cartpole-ppo-s9\"]"), "{config}");
}

#[test]
#[cfg(target_os = "linux")]
fn paths_that_are_no_text_are_sources_too() {
    use std::os::unix::ffi::OsStrExt as _;
    let dir = sandbox();
    let ppo = "train ppo --env cartpole --threads 1 --eval-every 0 --set hidden=[16] --steps 300";
    assert_eq!(dir.run(&format!("{ppo} --out first")).code, Some(0));
    fs::rename(dir.join("first"), dir.path().join(std::ffi::OsStr::from_bytes(b"first\xff"))).unwrap();
    let shell = |line: &str| -> quickstudy_tests::process::Finished {
        let mut command = std::process::Command::new("bash");
        command.args(["-c", line]).env("Q", env!("CARGO_BIN_EXE_quickstudy-under-test")).current_dir(dir.path());
        command.output().unwrap().into()
    };
    let made = shell(&format!("\"$Q\" {ppo} --seed 4 --from $'first\\xff' --out warm"));
    assert_eq!(made.code, Some(0), "{made:?}");
    let config = fs::read_to_string(dir.join("warm/config.toml")).unwrap();
    assert!(config.contains("from = [[102, 105, 114, 115, 116, 255]]"), "{config}");
    let again = dir.run("train --config warm/config.toml --threads 1 --out again");
    assert_eq!(again.code, Some(0), "{again:?}");
    let last = |run: &str| fs::read(dir.join(run).join("last.safetensors")).unwrap();
    assert!(last("warm") == last("again"));
}

#[test]
fn seeds_begin_with_the_runs_of_the_same_seeds_or_all_with_one() {
    let dir = sandbox();
    let ppo = "train ppo --env cartpole --threads 1 --eval-every 0 --set hidden=[16]";
    assert_eq!(dir.run(&format!("{ppo} --seed 9..11 --steps 2k --out runs")).code, Some(0));
    // Steps of such size change nothing, so that the run ends with what it began with.
    let still = format!("{ppo} --set learning_rate=1e-30 --steps 300");
    for (arguments, pairs) in [
        ("--seed 9..11 --from runs", vec![("pendant/cartpole-ppo-s9", "s9"), ("pendant/cartpole-ppo-s10", "s10")]),
        (
            "--seed 0..2 --from runs/cartpole-ppo-s10",
            vec![("pendant/cartpole-ppo-s0", "s10"), ("pendant/cartpole-ppo-s1", "s10")],
        ),
        ("--seed 4 --from runs/cartpole-ppo-s9/last.safetensors", vec![("pendant", "s9")]),
    ] {
        let made = dir.run(&format!("{still} {arguments} --out pendant"));
        assert_eq!(made.code, Some(0), "{made:?}");
        for (run, of) in pairs {
            let [got, want] = [format!("{run}/last.safetensors"), format!("runs/cartpole-ppo-{of}/last.safetensors")]
                .map(|path| snapshot(&dir, &path).tensors["policy.1.weight"].clone());
            assert!(got == want, "{arguments}: {run}");
        }
        fs::remove_dir_all(dir.join("pendant")).unwrap();
    }
    for (arguments, parts) in [
        ("--seed 0..3 --from runs", &["from: 2 snapshots for 3 seeds"][..]),
        ("--from nowhere", &["nowhere"]),
        ("--from runs/cartpole-ppo-s9/config.toml", &["config.toml", "no safetensors file"]),
        (
            "--set hidden=[8] --from runs/cartpole-ppo-s9",
            &["s9/last.safetensors", "`policy.", "[16, 4]", "expected", "[8, 4]", "hint:"],
        ),
        ("--set activation=\"relu\" --from runs/cartpole-ppo-s9", &["activation"]),
        ("--set from=3", &["from: expected a path"]),
    ] {
        expect_user_error(&dir.run(&format!("{ppo} --steps 300 {arguments} --out pendant")), parts);
        assert!(!dir.join("pendant").exists(), "{arguments}");
    }
    expect_user_error(&dir.run("train --resume runs --from runs"), &["--from", "--resume"]);
}
