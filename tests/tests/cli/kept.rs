//! Snapshots that are kept beside the last one, and runs that go on from them in folders of their own.

use crate::{expect_user_error, sandbox};
use quickstudy_tests::process::Sandbox;
use std::fs;

/// Evaluations at 1024, 2048, … steps, the best of which is that at 2048.
const SHORT: &str = "train ppo --env cartpole --steps 5k --threads 1 --eval-every 1024 --eval-episodes 5 --set envs=4 \
    --set horizon=64 --set hidden=[16] --set learning_rate=3e-3 --seed 3";

fn done(dir: &Sandbox, arguments: &str) -> String {
    let finished = dir.run(arguments);
    assert_eq!(finished.code, Some(0), "{arguments}: {finished:?}");
    finished.out
}

/// Environment steps of the kept snapshots of a run, in order.
fn kept(dir: &Sandbox, run: &str) -> Vec<u64> {
    let entries = fs::read_dir(dir.join(run).join("snapshots")).into_iter().flatten();
    let number = |name: String| name.strip_suffix(".safetensors").unwrap().parse().unwrap();
    let mut all: Vec<u64> = entries.map(|e| number(e.unwrap().file_name().into_string().unwrap())).collect();
    all.sort_unstable();
    all
}

fn bytes(dir: &Sandbox, path: &str) -> Vec<u8> {
    fs::read(dir.join(path)).unwrap()
}

/// Rows of the CSV without the clock's columns, which are the last two.
fn rows(dir: &Sandbox, run: &str) -> Vec<String> {
    let text = fs::read_to_string(dir.join(run).join("metrics.csv")).unwrap();
    text.lines().map(|line| line.rsplitn(3, ',').nth(2).unwrap().to_owned()).collect()
}

#[test]
fn a_run_goes_on_from_any_kept_snapshot_to_the_same_end_and_loses_nothing() {
    let dir = sandbox();
    done(&dir, &format!("{SHORT} --out plain"));
    done(&dir, &format!("{SHORT} --keep-snapshots 1500 --out whole"));
    // Iterations have 256 steps; the first behind 1500, 3000 and 4500.
    assert_eq!((kept(&dir, "plain"), kept(&dir, "whole")), (vec![], vec![1536, 3072, 4608]));
    assert_eq!(bytes(&dir, "plain/last.safetensors"), bytes(&dir, "whole/last.safetensors"), "keeping changes nothing");
    let files = ["last.safetensors", "best.safetensors", "metrics.csv", "curve.csv", "command.txt"];
    let before = files.map(|name| bytes(&dir, &format!("whole/{name}")));
    let out = done(&dir, "train --resume whole/snapshots/1536.safetensors --threads 2");
    assert!(out.contains("whole/snapshots/1536.safetensors resumes in whole-from-1536"), "{out}");
    done(&dir, "train --resume whole/snapshots/3072.safetensors --out third");
    assert_eq!(files.map(|name| bytes(&dir, &format!("whole/{name}"))), before, "the run stays as it was");
    for (run, later) in [("whole-from-1536", vec![3072, 4608]), ("third", vec![4608])] {
        for name in ["last.safetensors", "best.safetensors", "curve.svg"] {
            assert!(bytes(&dir, &format!("whole/{name}")) == bytes(&dir, &format!("{run}/{name}")), "{name} of {run}");
        }
        assert_eq!(rows(&dir, run), rows(&dir, "whole"), "{run}");
        assert_eq!(kept(&dir, run), later, "a run that goes on keeps its snapshots as before");
    }
    // The best policy goes along exactly where it is not from later.
    let table = rows(&dir, "whole");
    let column = table[0].split(',').position(|name| name == "eval/return_mean").unwrap();
    let evaluations = table[1..].iter().filter_map(|row| {
        let cells: Vec<&str> = row.split(',').collect();
        Some((cells[column].parse::<f64>().ok()?, cells[0].parse::<u64>().unwrap()))
    });
    let (_, best_at) = evaluations.fold((f64::NEG_INFINITY, 0), |best, one| if one.0 > best.0 { one } else { best });
    assert!((1537..=4608).contains(&best_at), "{best_at}: choose other settings");
    for (from, copied) in [(1536, false), (4608, true)] {
        let go_on = format!(
            "train --resume whole/snapshots/{from}.safetensors --steps {} --eval-every 0 --out best-{from}",
            from + 256
        );
        done(&dir, &go_on);
        let best = dir.join(&format!("best-{from}/best.safetensors"));
        assert_eq!(best.exists(), copied, "{from}");
        assert!(!copied || fs::read(best).unwrap() == before[1]);
    }
    done(&dir, "eval whole/snapshots/3072.safetensors --episodes 1");
    done(
        &dir,
        "train ppo --env cartpole --from whole/snapshots/3072.safetensors --steps 256 --set envs=4 --set horizon=64 \
         --set hidden=[16] --out from",
    );
}

#[test]
fn seeds_and_replay_memories_go_on_from_kept_snapshots() {
    let dir = sandbox();
    let train = "train sac --env pendulum --threads 1 --eval-every 0 --set memory_size=500 --set hidden=[8] \
        --set batch_size=8 --set learning_starts=200 --set train_freq=5 --seed 0..2 --steps 2k --keep-snapshots 1k";
    done(&dir, &format!("{train} --out whole"));
    let runs = ["whole/pendulum-sac-s0", "whole/pendulum-sac-s1"];
    assert_eq!(runs.map(|run| kept(&dir, run)), [vec![1000, 2000], vec![1000, 2000]]);
    // Its rows have been overwritten twice since, and its segments are gone.
    let paths = runs.map(|run| format!("{run}/snapshots/1000.safetensors"));
    done(&dir, &format!("train --resume {} --eval-every 0 --out parts", paths.join(" ")));
    for seed in ["s0", "s1"] {
        let new = format!("parts/pendulum-sac-{seed}-from-1000");
        for run in [format!("whole/pendulum-sac-{seed}"), new] {
            done(&dir, &format!("export {run} -o {}.safetensors", run.replace('/', "_")));
        }
        let file = |run: &str| {
            bytes(
                &dir,
                &format!("{run}_pendulum-sac-{seed}{}.safetensors", if run == "parts" { "-from-1000" } else { "" }),
            )
        };
        assert!(file("whole") == file("parts"), "{seed}");
    }
}

#[test]
fn all_none_and_wrong_ones() {
    let dir = sandbox();
    let out = done(&dir, &format!("{SHORT} --keep-snapshots none --out none"));
    assert!(out.contains("no snapshot is kept"), "{out}");
    let files = ["last.safetensors", "best.safetensors", "snapshots"];
    assert!(files.iter().all(|name| !dir.join("none").join(name).exists()) && rows(&dir, "none").len() > 10);
    expect_user_error(&dir.run("train --resume none"), &["none holds no last.safetensors"]);
    expect_user_error(
        &dir.run(&format!("{SHORT} --out none")),
        &["none/metrics.csv holds rows of a run that has no snapshot"],
    );

    done(&dir, &format!("{SHORT} --set keep_snapshots=all --out all"));
    assert_eq!(kept(&dir, "all"), (1..=20).map(|i| 256 * i).collect::<Vec<u64>>());
    assert!(fs::read_to_string(dir.join("all/config.toml")).unwrap().contains("keep_snapshots = \"all\""));
    let wrong: [(&str, &[&str]); 7] = [
        ("train --resume all --out b", &["all resumes where it is", "--out"]),
        ("train --resume all --steps 9k --keep-snapshots none", &["none", "last snapshot"]),
        ("train --resume all/snapshots/257.safetensors", &["all/snapshots/257.safetensors"]),
        ("train --resume all/best.safetensors", &["all/best.safetensors is no kept snapshot of a run"]),
        ("train --resume all/snapshots/512.safetensors --out all", &["all already holds a run"]),
        ("train --resume all/snapshots/512.safetensors --set gamma=0.5", &["gamma"]),
        ("train ppo --env cartpole --keep-snapshots some", &["last, all, none"]),
    ];
    for (arguments, parts) in wrong {
        expect_user_error(&dir.run(arguments), parts);
    }
    fs::write(dir.join("all/snapshots/512.safetensors"), b"damaged").unwrap();
    expect_user_error(&dir.run("train --resume all/snapshots/512.safetensors"), &["all/snapshots/512.safetensors"]);
    assert!(!dir.join("all-from-512").exists() && !dir.join("b").exists(), "no folder is left of what did not begin");
    let out = done(&dir, "train --resume all/snapshots/5120.safetensors");
    assert!(out.contains("all/snapshots/5120.safetensors is finished"), "{out}");
    done(&dir, "train --resume all/snapshots/5120.safetensors --steps 6k --keep-snapshots last --out more");
    assert_eq!(kept(&dir, "more"), Vec::<u64>::new());
    assert!(fs::read_to_string(dir.join("more/config.toml")).unwrap().contains("keep_snapshots = \"last\""));
}
