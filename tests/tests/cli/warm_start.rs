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
