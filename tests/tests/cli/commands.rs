//! Each verb's output, the files that it writes, and its exit code.

use crate::{expect_user_error, sandbox};
use quickstudy_tests::process::{Finished, Sandbox};
use std::fs;

/// A short run of a small network.
const SHORT: &str = "train ppo --env cartpole --steps 4k --threads 1 --set hidden=[16] --set epochs=2";

#[test]
fn help_is_complete_with_examples() {
    let dir = sandbox();
    let top = dir.run("--help");
    assert_eq!(top.code, Some(0));
    for verb in ["train", "eval", "adapt", "plot", "list", "bench"] {
        assert!(top.out.contains(&format!("\n  {verb} ")), "{verb} is missing: {}", top.out);
        let help = dir.run(&format!("{verb} --help"));
        assert_eq!(help.code, Some(0));
        assert!(help.out.contains("Usage: quickstudy "), "{}", help.out);
        assert!(help.out.contains("Examples:\n  quickstudy "), "{}", help.out);
    }
    let train = dir.run("train --help").out;
    for flag in [
        "--env",
        "--seed",
        "--device",
        "--threads",
        "--config",
        "--set",
        "--steps",
        "--out",
        "--resume",
        "--from",
        "gamma=0.9",
    ] {
        assert!(train.contains(flag), "{flag} is missing: {train}");
    }
    let eval = dir.run("eval --help").out;
    for flag in ["--episodes", "--seed", "--stochastic", "--last", "--best", "--csv", "--gif"] {
        assert!(eval.contains(flag), "{flag} is missing: {eval}");
    }
    assert!(dir.run("--version").out.starts_with("quickstudy 0."));
}

#[test]
fn wrong_names_and_values_are_exit_code_2_with_a_suggestion() {
    let dir = sandbox();
    for (arguments, parts) in [
        ("", &["Usage"][..]),
        ("trian", &["train"]),
        ("train", &["algorithm"]),
        ("train ppo", &["--env"]),
        ("train pp --env cartpole", &["`pp`", "did you mean `ppo`"]),
        ("train ppo --env cartpol", &["`cartpol`", "did you mean `cartpole`"]),
        ("train ppo --env CartPole-v1", &["did you mean `cartpole`"]),
        ("train ppo --env somewhere", &["`somewhere`", "`quickstudy list`"]),
        ("train PPO --env cartpole", &["did you mean `ppo`"]),
        ("train ppo --env bandit:arm=10", &["`arm`", "did you mean `arms`"]),
        ("train ppo --env bandit:arms=1", &["expected a whole number in 2 to 100"]),
        ("train ppo --env cartpole:length=2", &["`cartpole` has no parameter `length`", "time_limit"]),
        ("train ppo --env cartpole:time_limit=0", &["time_limit=0", "1 to 4294967295"]),
        ("train ppo --env cartpole:time_limit=long", &["time_limit=long", "a whole number"]),
        ("train ppo cartpole", &["--env cartpole"]),
        ("train ppo --env cartpole --seed -1", &["0..10"]),
        ("train ppo --env cartpole --steps -5", &["100k"]),
        ("train ppo --env cartpole --set hidden=64", &["hidden", "[64,64]"]),
        ("train ppo --env cartpole --set hidden=64,64", &["did you mean `hidden=[64,64]`?"]),
        ("train ppo --env cartpole --set hidden=[64, 64]", &["without blanks", "[64,64]"]),
        ("train ppo --env cartpole --set epochs=2.5", &["epochs", "whole number"]),
        ("train ppo --env cartpole --threads all", &["1 to 1024"]),
        ("train ppo --env cartpole --save-every -1", &["save-every"]),
        ("bench --threads -1", &["1 to 1024"]),
        ("eval runs --seed x", &["whole number"]),
        ("train ppo --env cartpole --set clip_esp=0.1", &["clip_esp", "did you mean `clip_eps`"]),
        ("train ppo --env cartpole --set gamma=1.5", &["gamma", "1.5"]),
        ("train ppo --env cartpole --set gamma=high", &["gamma"]),
        ("train ppo --env cartpole --set gamma", &["gamma"]),
        ("train ppo --env cartpole --set minibatches=7", &["minibatches", "try"]),
        ("train promp --env point-corner --set inner_loss=dice", &["inner_loss: promp weighs", "train dice-maml"]),
        ("train e-maml --env point-corner --set inner_loss=dice", &["inner_loss: e-maml weighs", "train dice-maml"]),
        ("train ppo --env cartpole --steps many", &["100k"]),
        ("train ppo --env cartpole --seed 5..2", &["empty"]),
        ("train ppo --env cartpole --seed one", &["0..10"]),
        ("train ppo --env cartpole --device gpu7", &["gpu7"]),
        ("bench training --device gpu:x", &["gpu:x", "gpu:N"]),
        ("bench training --device gpu:99", &["no GPU", "--device cpu"]),
        ("bench training --predict", &["--predict is for training on a GPU", "--device gpu --predict"]),
        ("bench training --device auto --predict", &["--predict is for training on a GPU"]),
        ("bench learning --device gpu --predict", &["bench training --device gpu --predict"]),
        ("bench --device gpu --predict", &["bench training --device gpu --predict"]),
        ("bench training --device gpu --kernels", &["--predict"]),
        ("train ppo --env cartpole --threads 0", &["threads"]),
        ("train ppo --env cartpole --config missing.toml", &["missing.toml"]),
        ("train ppo --env cartpole --stepz 3", &["--steps"]),
        ("train --resume missing", &["missing"]),
        ("eval missing", &["missing"]),
        ("eval", &["DIR"]),
        ("plot missing", &["missing"]),
        ("list algos2", &["algos2"]),
        ("list presets ppo", &["`quickstudy list settings ppo`"]),
    ] {
        expect_user_error(&dir.run(arguments), parts);
        assert!(!dir.join("runs").exists(), "`{arguments}` made a folder");
    }
}

#[test]
fn bench_measures_training_in_columns_that_its_help_explains() {
    let dir = sandbox();
    let help = dir.run("bench --help").out;
    let done = dir.run("bench training --env pendulum --seconds 0.01 --threads 1");
    assert_eq!(done.code, Some(0), "{done:?}");
    let lines: Vec<&str> = done.out.lines().collect();
    assert!(lines[0].ends_with("ms") && lines[0].contains(", 1 thread, opened in "), "{}", done.out);
    let head = lines.iter().position(|line| line.starts_with("with updates")).unwrap();
    for column in ["steps/s", "GFLOP/s", "of peak", "dispatches", "host µs", "set-up", "first"] {
        assert!(lines[head].contains(column) && help.contains(&format!("\n  {column} ")), "{column}: {help}");
    }
    let row: Vec<&str> =
        lines[head + 1].strip_prefix("ppo pendulum, 4 envs × 1024").unwrap().split_whitespace().collect();
    // The CPU has no dispatches. Shares and times are a number and a unit.
    assert!(row[1..3].iter().all(|number| number.parse::<f64>().unwrap() > 0.0), "{row:?}");
    assert_eq!((&row[3..6], row.len()), (&["%", "-", "-"][..], 10), "{row:?}");
    // Each line is followed by its settings; RLtools' own are there beside those of the preset.
    assert!(lines[head + 2].starts_with("  envs=4 horizon=1024 epochs=2 "), "{}", done.out);
    assert!(done.out.contains("activation=\"relu\" sde=false max_grad_norm=0.0"), "{}", done.out);
    assert!(lines.iter().all(|line| line.chars().count() <= 100), "{}", done.out);
}

#[test]
fn bench_predicts_times_on_graphics_cards_in_columns_that_its_help_explains() {
    let dir = sandbox();
    let help = dir.run("bench --help").out;
    let done = dir.run("bench training --device gpu --env cartpole --predict --kernels");
    assert_eq!(done.code, Some(0), "{done:?}");
    let lines: Vec<&str> = done.out.lines().collect();
    for column in ["dispatches", "≤ 2 groups", "longest loop"] {
        assert!(lines[0].contains(column) && help.contains(&format!("\n  {column}")), "{column}: {help}");
    }
    assert!(lines[0].ends_with("H100    laptop  Chromium"), "{}", lines[0]);
    let numbers = |line: &str| -> Vec<f64> { line.split_whitespace().filter_map(|word| word.parse().ok()).collect() };
    let row = numbers(lines[1].strip_prefix("ppo cartpole, 4 envs × 128").unwrap());
    let [dispatches, share, loop_, h100, laptop, chromium] = row[..] else { panic!("{}", lines[1]) };
    assert!(dispatches >= 3.0 && share <= 100.0 && loop_ >= 128.0, "{}", lines[1]);
    assert!(laptop < chromium && h100 > 0.0, "{}", lines[1]);
    // Its kernels follow, the longest first, and take that time together.
    let head = lines.iter().position(|line| line.contains("µs each")).unwrap();
    let kernels: Vec<Vec<f64>> =
        lines[head + 1..].iter().take_while(|line| line.starts_with(' ')).map(|line| numbers(line)).collect();
    assert!(kernels.is_sorted_by(|a, b| a[4] >= b[4]), "{}", done.out);
    assert_eq!(kernels.iter().map(|kernel| kernel[0]).sum::<f64>(), dispatches);
    // Each time is rounded.
    let all: f64 = kernels.iter().map(|kernel| kernel[4]).sum();
    assert!((all - h100).abs() < 0.005 * (kernels.len() + 1) as f64, "{all}, {h100}");
    assert!(lines[head + 1].contains("core/src/"), "{}", lines[head + 1]);
}

#[test]
fn a_run_folder_holds_what_was_promised() {
    let dir = sandbox();
    let done = dir.run(SHORT);
    assert_eq!(done.code, Some(0), "{done:?}");
    let run = dir.join("runs/cartpole-ppo-s0");
    for name in [
        "config.toml",
        "command.txt",
        "version.json",
        "metrics.csv",
        "metrics.jsonl",
        "events.out.tfevents.quickstudy",
        "events.out.tfevents.hparams",
        "last.safetensors",
        "best.safetensors",
        "curve.svg",
    ] {
        assert!(fs::metadata(run.join(name)).unwrap().len() > 0, "{name}");
    }
    assert!(done.out.contains("runs/cartpole-ppo-s0"), "{}", done.out);
    assert!(done.out.contains("steps/s"), "plain progress lines without a terminal: {}", done.out);
    assert!(!done.out.contains('\x1b') && !done.err.contains('\x1b'), "no colours without a terminal");
    // The best of noisy evaluations says so, and the last one stands beside it.
    let ended = done.out.lines().find(|line| line.starts_with("  return ")).unwrap_or_default();
    assert!(ended.contains(" · evaluations of 20 episodes: last ") && ended.contains(", best "), "{}", done.out);
    let version = fs::read_to_string(run.join("version.json")).unwrap();
    let version: serde_json::Value = serde_json::from_str(&version).unwrap();
    assert!(version["started"].as_str().unwrap().starts_with("20"), "{version}");
    assert!(version.get("commit").is_some() && version.get("commit_date").is_some(), "{version}");
    let command = fs::read_to_string(run.join("command.txt")).unwrap();
    assert!(command.ends_with((SHORT.replace("hidden=[16]", "'hidden=[16]'") + "\n").as_str()), "{command}");
    let csv = fs::read_to_string(run.join("metrics.csv")).unwrap();
    for column in ["time/env_steps", "rollout/ep_return_mean", "train/policy_loss", "eval/return_mean", "time/sps"] {
        assert!(csv.lines().next().unwrap().split(',').any(|c| c == column), "{column}");
    }
    let metrics = dir.run("list metrics").out;
    let listed: Vec<&str> = metrics.lines().skip(1).map(|l| l.split_whitespace().next().unwrap()).collect();
    let columns: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    // Other algorithms have columns of their own in between.
    let mine: Vec<&str> = listed.iter().copied().filter(|name| columns.contains(name)).collect();
    assert_eq!(columns, mine, "every column is explained");
    assert_eq!(csv.lines().count(), fs::read_to_string(run.join("metrics.jsonl")).unwrap().lines().count() + 1);
    // A second run takes the next name.
    assert_eq!(dir.run(SHORT).code, Some(0));
    assert!(dir.join("runs/cartpole-ppo-s0-2/last.safetensors").exists());
}

/// A CSV without its wall-clock columns, which are the last two.
fn csv_without_clock(text: &str) -> Vec<&str> {
    text.lines().map(|line| line.rsplitn(3, ',').nth(2).unwrap()).collect()
}

#[test]
fn the_resolved_configuration_makes_the_same_run_again() {
    let dir = sandbox();
    let first = dir.run(&format!("{SHORT} --seed 5 --set gamma=0.9 --set learning_rate=1e-3 --out a"));
    assert_eq!(first.code, Some(0), "{first:?}");
    let again = dir.run("train --config a/config.toml --out b");
    assert_eq!(again.code, Some(0), "{again:?}");
    let read = |name: &str| fs::read_to_string(dir.join(name)).unwrap();
    assert_eq!(csv_without_clock(&read("a/metrics.csv")), csv_without_clock(&read("b/metrics.csv")));
    assert_eq!(fs::read(dir.join("a/last.safetensors")).unwrap(), fs::read(dir.join("b/last.safetensors")).unwrap());
    let config = read("b/config.toml");
    assert!(config.contains("gamma = 0.9 ") && config.contains("seed = 5 "), "{config}");
    // --set is above the file, a flag above both.
    let shown = dir.run("train --config a/config.toml --set gamma=0.8 --steps 8k --print-config").out;
    assert!(shown.contains("gamma = 0.8 ") && shown.contains("steps = 8000 "), "{shown}");
    assert!(shown.contains("# --set") && shown.contains("# --steps"), "{shown}");
    assert!(!dir.join("runs").exists());
}

#[test]
fn seeds_train_in_sibling_folders_and_equal_single_runs() {
    let dir = sandbox();
    assert_eq!(dir.run(&format!("{SHORT} --seed 0..3")).code, Some(0));
    assert_eq!(dir.run(&format!("{SHORT} --seed 1 --out alone")).code, Some(0));
    let last = |name: &str| fs::read(dir.join(name).join("last.safetensors")).unwrap();
    assert_eq!(last("runs/cartpole-ppo-s1"), last("alone"));
    assert_ne!(last("runs/cartpole-ppo-s1"), last("runs/cartpole-ppo-s2"));
    let plot = dir.run("plot runs");
    assert_eq!(plot.code, Some(0), "{plot:?}");
    assert!(plot.out.contains("    3 "), "three seeds in one line: {}", plot.out);
    assert!(fs::read_to_string(dir.join("curves.svg")).unwrap().contains("mean over 3 seeds"));
}

#[test]
fn occupied_unwritable_and_damaged_paths_are_user_errors_and_lose_nothing() {
    let dir = sandbox();
    assert_eq!(dir.run(&format!("{SHORT} --out r")).code, Some(0));
    let last = fs::read(dir.join("r/last.safetensors")).unwrap();
    expect_user_error(&dir.run(&format!("{SHORT} --out r")), &["already holds a run", "--resume"]);
    fs::write(dir.join("file"), "x").unwrap();
    expect_user_error(&dir.run(&format!("{SHORT} --out file")), &["file"]);
    expect_user_error(&dir.run(&format!("{SHORT} --out file/below")), &["file"]);
    if cfg!(target_os = "linux") {
        expect_user_error(&dir.run(&format!("{SHORT} --out /proc/quickstudy")), &["/proc/quickstudy"]);
    }

    let path = dir.join("r/last.safetensors");
    let foreign = {
        let header = br#"{"weight":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#;
        [&(header.len() as u64).to_le_bytes()[..], header, &[0; 4]].concat()
    };
    let mut flipped = last.clone();
    flipped[12] ^= 0xff;
    let cases: [(&str, &[u8]); 6] = [
        ("empty", b""),
        ("cut", &last[..last.len() / 2]),
        ("one byte short", &last[..last.len() - 1]),
        ("text", b"this is no snapshot at all, whatever its name says"),
        ("flipped", &flipped),
        ("foreign", &foreign),
    ];
    for (name, bytes) in cases {
        fs::write(&path, bytes).unwrap();
        for arguments in ["train --resume r", "eval r --last"] {
            let finished = dir.run(arguments);
            assert_eq!(finished.code, Some(2), "{name}: {finished:?}");
            assert!(finished.err.contains("last.safetensors"), "{name}: {}", finished.err);
        }
        assert_eq!(fs::read(&path).unwrap(), bytes, "{name}: left as it was");
    }
    // The other snapshot is still there, and the rows of the metrics too.
    assert_eq!(dir.run("eval r --best --episodes 1").code, Some(0));
    fs::write(&path, &last).unwrap();
    let again = dir.run("train --resume r");
    assert_eq!(again.code, Some(0), "{again:?}");
    assert_eq!(fs::read(&path).unwrap(), last);
}

#[test]
#[cfg(unix)]
fn a_disk_that_takes_no_more_is_a_failure_and_the_snapshot_survives() {
    use std::process::Command;
    let dir = sandbox();
    // A limit on file sizes with its signal ignored makes writes fail as on a full disk, without mounting one.
    let script = format!(
        "trap '' XFSZ; ulimit -f 80; exec {} train ppo --env cartpole --steps 10M --save-every 0 --out r \
         --set hidden=[8] --set envs=2 --set horizon=8 --set epochs=1",
        env!("CARGO_BIN_EXE_quickstudy-under-test")
    );
    let output = Command::new("sh").args(["-c", &script]).current_dir(dir.path()).output().unwrap();
    let finished = Finished::from(output);
    assert_eq!(finished.code, Some(1), "{finished:?}");
    assert!(finished.err.contains("cannot write"), "{}", finished.err);
    assert!(finished.err.contains("continue with `quickstudy train --resume r`"), "{}", finished.err);
    let evaluated = dir.run("eval r --last --episodes 1");
    assert_eq!(evaluated.code, Some(0), "{evaluated:?}");
}

/// The lines that a terminal of `columns` columns shows while `arguments` run, without colours; `None` without the
/// tools for that.
#[cfg(target_os = "linux")]
fn on_a_terminal(dir: &Sandbox, columns: u32, arguments: &str) -> Option<Vec<String>> {
    use std::process::Command;
    let program = env!("CARGO_BIN_EXE_quickstudy-under-test");
    let script = format!("stty cols {columns} rows 24 && exec {program} {arguments}");
    let run = Command::new("script").args(["-qec", &script, "/dev/null"]).current_dir(dir.path()).output().ok()?;
    assert!(run.status.success(), "{run:?}");
    let mut text = String::new();
    let all = String::from_utf8_lossy(&run.stdout).into_owned();
    let mut rest = all.chars();
    while let Some(c) = rest.next() {
        match c {
            // Each control sequence ends with a letter; those that move the cursor begin a new line here.
            '\x1b' => {
                let end = rest.find(char::is_ascii_alphabetic);
                if end != Some('m') {
                    text.push('\n');
                }
            }
            '\r' => text.push('\n'),
            c => text.push(c),
        }
    }
    Some(text.lines().map(|line| line.trim_end().to_owned()).filter(|line| !line.is_empty()).collect())
}

#[test]
#[cfg(target_os = "linux")]
fn the_bar_fits_the_terminal_and_shows_return_speed_and_time_left() {
    for columns in [80, 120, 40] {
        let dir = sandbox();
        let arguments = "train ppo --env cartpole --steps 60k --threads 1 --set hidden=[16] --set epochs=2 --out r";
        let Some(lines) = on_a_terminal(&dir, columns, arguments) else {
            println!("skipped: there is no `script`");
            return;
        };
        let is_bar = |line: &&String| line.contains(" %  return ") && !line.contains(" steps 100 %");
        let bars: Vec<&String> = lines.iter().filter(is_bar).collect();
        assert!(!bars.is_empty(), "{lines:?}");
        for bar in &bars {
            assert!(bar.chars().count() <= columns as usize, "{columns} columns: {bar}");
            assert!(bar.contains('─') || bar.contains('━'), "{bar}");
        }
        if columns >= 80 {
            let complete = |bar: &&&String| ["return", "steps/s", " left"].iter().all(|part| bar.contains(part));
            assert!(bars.iter().any(|bar| complete(&bar)), "{bars:?}");
        }
        // What it ended with stays on the terminal.
        let end = lines.iter().position(|line| line.contains("100 %  return ") && !line.contains('━'));
        assert!(end.is_some_and(|end| lines[end].starts_with(char::is_numeric)), "{lines:?}");
    }
}

#[test]
#[cfg(unix)]
fn a_snapshot_that_does_not_fit_leaves_the_one_before() {
    use std::process::Command;
    let dir = sandbox();
    assert_eq!(dir.run("train ppo --env cartpole --steps 1k --threads 1 --set hidden=[256] --out r").code, Some(0));
    let last = fs::read(dir.join("r/last.safetensors")).unwrap();
    // Room for the metrics, but not for half of a snapshot: the write fails in its midst.
    assert!(last.len() > 40_000 && fs::metadata(dir.join("r/events.out.tfevents.quickstudy")).unwrap().len() < 12_000);
    let program = env!("CARGO_BIN_EXE_quickstudy-under-test");
    let script = format!("trap '' XFSZ; ulimit -f 32; exec {program} train --resume r --steps 4k --save-every 0");
    let output = Command::new("sh").args(["-c", &script]).current_dir(dir.path()).output().unwrap();
    let finished = Finished::from(output);
    assert_eq!(finished.code, Some(1), "{finished:?}");
    for part in ["cannot write r/last.safetensors", "the previous file is intact", "train --resume r"] {
        assert!(finished.err.contains(part), "{}", finished.err);
    }
    assert!(fs::read(dir.join("r/last.safetensors")).unwrap() == last);
    let names = fs::read_dir(dir.join("r")).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned());
    assert_eq!(names.filter(|name| name.contains("tmp")).count(), 0, "no half-written file stays");
    assert_eq!(dir.run("train --resume r --steps 4k").code, Some(0));
}

#[test]
fn lost_numbers_are_exit_code_3_and_debug_names_where_they_began() {
    let dir = sandbox();
    let lost = dir.run(&format!("{SHORT} --set learning_rate=1e30 --save-every 0 --out r"));
    assert_eq!(lost.code, Some(3), "{lost:?}");
    assert!(lost.err.contains("learning_rate"), "{}", lost.err);
    assert!(lost.err.contains("`quickstudy train --resume r --debug`"), "{}", lost.err);
    let named = dir.run("train --resume r --debug");
    assert_eq!(named.code, Some(3), "{named:?}");
    assert!(named.err.contains("from finite operands"), "{}", named.err);
    // The state before the first update that failed is kept.
    assert_eq!(dir.run("eval r --last --episodes 1").code, Some(0));
}

#[test]
fn the_list_names_what_exists() {
    let dir = sandbox();
    let all = dir.run("list");
    assert_eq!(all.code, Some(0));
    for name in ["ppo", "cartpole", "pendulum", "acrobot", "mountain-car", "mountain-car-continuous"] {
        assert!(all.out.contains(name), "{name} is missing: {}", all.out);
    }
    assert_eq!(dir.run("list algorithms").code, Some(0));
    assert!(!dir.run("list algorithms").out.contains("acrobot"));
}
