//! `sweep`: trials are runs of their own, halving drops the worse ones, killed sweeps end in the same bytes, and
//! mistakes are named.

use crate::kills::{done, files};
use crate::{expect_user_error, sandbox};
use quickstudy_tests::process::Sandbox;
use serde_json::Value;
use std::fs;

/// Four trials, of which two go on after 512 steps.
const FILE: &str = "algorithm = \"ppo\"\nenv = \"cartpole\"\nseed = \"0..2\"\nsteps = \"2k\"\nhidden = [8]\nenvs = 4\n\
    horizon = 32\nminibatches = 2\neval_episodes = 2\n[grid]\n\
    learning_rate = [1e-2, 1e-5]\nepochs = [1, 4]\n[halving]\neta = 2\n\
    first_steps = 512\n";
const SWEEP: &str = "sweep sweep.toml --save-every 0 --threads 2";

fn with_file(text: &str) -> Sandbox {
    let dir = sandbox();
    fs::write(dir.join("sweep.toml"), text).unwrap();
    dir
}

fn steps(dir: &Sandbox, run: &str) -> f64 {
    let rows = fs::read_to_string(dir.join(run).join("metrics.csv")).unwrap();
    let mut lines = rows.lines();
    let column = lines.next().unwrap().split(',').position(|name| name == "time/env_steps").unwrap();
    lines.next_back().unwrap().split(',').nth(column).unwrap().parse().unwrap()
}

#[test]
fn the_worse_trials_end_at_their_rung_and_the_better_ones_are_runs_of_their_own() {
    let dir = with_file(FILE);
    let sweep = done(&dir, SWEEP);
    for part in ["4 trials with 8 runs in runs/sweep", "rung 1 of 3: 4 trials up to 512 steps", "rung 2 of 3: 2 trials"]
    {
        assert!(sweep.out.contains(part), "`{part}` is missing: {}", sweep.out);
    }
    let trials = ["t00", "t01", "t02", "t03"].map(|trial| steps(&dir, &format!("runs/sweep/{trial}/cartpole-ppo-s1")));
    let ended = |least: f64, most: f64| trials.iter().filter(|steps| (least..most).contains(*steps)).count();
    assert_eq!((ended(512.0, 1024.0), ended(1024.0, 2000.0), ended(2000.0, 2200.0)), (2, 1, 1), "{trials:?}");
    let rows = fs::read_to_string(dir.join("runs/sweep/trials.csv")).unwrap();
    assert!(
        rows.starts_with("trial,epochs,learning_rate,steps,seeds,eval/return_mean,low,high,failed\nt00,1,0.01,"),
        "{rows}"
    );
    assert_eq!(rows.lines().count(), 5);
    assert!(fs::read_to_string(dir.join("runs/sweep/sweep.svg")).unwrap().contains("4 of 4 trials have a score"));
    // The one that went to the end is the run that `train` makes in one go.
    let best = trials.iter().position(|steps| *steps >= 2000.0).unwrap();
    let cells: Vec<&str> = rows.lines().nth(1 + best).unwrap().split(',').collect();
    done(
        &dir,
        &format!(
            "train ppo --env cartpole --seed 1 --steps 2k --set hidden=[8] --set envs=4 --set horizon=32 --set \
             minibatches=2 --eval-episodes 2 --eval-every 512 --set epochs={} --set learning_rate={} --out alone \
             --save-every 0",
            cells[1], cells[2]
        ),
    );
    let mut sweep = files(&dir.join(&format!("runs/sweep/t0{best}/cartpole-ppo-s1")));
    let mut alone = files(&dir.join("alone"));
    assert!(alone.contains_key("/last.safetensors"));
    // One event per start is a longer file.
    for files in [&mut sweep, &mut alone] {
        files.remove("/events.out.tfevents.quickstudy");
    }
    assert!(sweep == alone);
    // The other verbs read what is there.
    let compared = done(&dir, "compare runs/sweep --by epochs --resamples 50");
    assert!(compared.out.contains("epochs=4"), "{}", compared.out);
}

#[cfg(unix)]
#[test]
fn a_sweep_that_is_killed_ends_in_the_same_bytes() {
    let dir = with_file(FILE);
    done(&dir, &format!("{SWEEP} --out whole"));
    for name in ["s/t01", "s/t03"] {
        let mut sweep = dir.start(&format!("{SWEEP} --out s --jobs 1"));
        let rows = dir.join(name).join("cartpole-ppo-s0/metrics.jsonl");
        while !fs::read_to_string(&rows).is_ok_and(|rows| !rows.is_empty()) {
            assert!(sweep.try_wait().unwrap().is_none(), "the sweep ended before it was killed");
            std::thread::yield_now();
        }
        sweep.kill().unwrap();
        sweep.wait().unwrap();
    }
    done(&dir, &format!("{SWEEP} --out s"));
    let of = |folder: &str| {
        let mut all = files(&dir.join(folder));
        all.retain(|name, _| !name.contains("tfevents"));
        all
    };
    let (killed, whole) = (of("s"), of("whole"));
    assert!(whole.contains_key("/trials.csv") && whole.contains_key("/t03/cartpole-ppo-s1/last.safetensors"));
    assert_eq!(killed.keys().collect::<Vec<_>>(), whole.keys().collect::<Vec<_>>());
    for (name, bytes) in &whole {
        assert!(killed[name] == *bytes, "{name}");
    }
}

/// Trials that differ in numbers alone are rows of one program, which goes on after a kill.
#[cfg(unix)]
#[test]
fn stacked_trials_end_in_the_bytes_of_trials_apart() {
    let text =
        FILE.replace("epochs = [1, 4]", "gamma = [0.9, 1.0]").replace("[halving]\neta = 2\nfirst_steps = 512", "");
    let dir = with_file(&text);
    done(&dir, &format!("{SWEEP} --out apart --apart"));
    let mut killed = dir.start(&format!("{SWEEP} --out stacked --jobs 1"));
    let rows = dir.join("stacked/t03/cartpole-ppo-s1/metrics.jsonl");
    while !fs::read_to_string(&rows).is_ok_and(|rows| !rows.is_empty()) {
        assert!(killed.try_wait().unwrap().is_none(), "the sweep ended before it was killed");
        std::thread::yield_now();
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    done(&dir, &format!("{SWEEP} --out stacked --jobs 1"));
    let command = |run: &str| fs::read_to_string(dir.join(run).join("command.txt")).unwrap();
    let (stacked, apart) = (command("stacked/t03/cartpole-ppo-s1"), command("apart/t03/cartpole-ppo-s1"));
    assert!(stacked.contains("t00/cartpole-ppo-s0") && stacked.contains("--stack-trials"), "{stacked}");
    assert!(!apart.contains("--stack-trials"), "{apart}");
    let of = |folder: &str| {
        let mut all = files(&dir.join(folder));
        all.retain(|name, _| !name.contains("tfevents"));
        all
    };
    let (stacked, apart) = (of("stacked"), of("apart"));
    assert!(apart.contains_key("/t03/cartpole-ppo-s1/last.safetensors"));
    assert_eq!(stacked.keys().collect::<Vec<_>>(), apart.keys().collect::<Vec<_>>());
    for (name, bytes) in &apart {
        assert!(stacked[name] == *bytes, "{name}");
    }
}

#[test]
fn settings_with_commas_are_tried_and_lines_of_json_tell_the_scores() {
    let dir = sandbox();
    let sweep = "sweep --algorithm cem --env cartpole --steps 600 --set n_samples=4,8 --set best_frac=0.5";
    let listed = done(&dir, &format!("{sweep} --list"));
    assert_eq!(listed.out, "t00  n_samples=4\nt01  n_samples=8\n");
    assert!(!dir.join("runs").exists());
    let swept = done(&dir, &format!("{sweep} --json --metric rollout/ep_return_mean"));
    let lines: Vec<Value> = swept.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let trials: Vec<&Value> = lines.iter().filter(|line| line["type"] == "trial").collect();
    assert_eq!((trials.len(), &lines[0]["type"], lines.len()), (2, &"sweep".into(), 3), "{lines:?}");
    let score = |at: usize| trials[at]["score"].as_f64().unwrap();
    assert!(score(0) >= score(1), "the best is first: {trials:?}");
    assert!(trials.iter().all(|trial| trial["settings"]["n_samples"].is_i64() && trial["low"].is_null()));
    let again = done(&dir, sweep);
    assert!(again.out.contains("2 trials with 2 runs, 2 of them finished in runs/sweep"), "{}", again.out);
}

#[test]
fn a_trial_whose_values_become_infinite_is_the_worst_and_the_sweep_goes_on() {
    let dir = sandbox();
    let swept = done(
        &dir,
        "sweep --algorithm ppo --env pendulum --steps 2k --set learning_rate=1e30,1e-3 --set max_grad_norm=0 --jobs 1 \
         --set hidden=[8] --set envs=4 --set horizon=32 --set eval_episodes=2",
    );
    assert!(swept.out.contains("2 trials failed together, and continue one by one"), "{}", swept.out);
    let rows = fs::read_to_string(dir.join("runs/sweep/trials.csv")).unwrap();
    let rows: Vec<&str> = rows.lines().collect();
    assert!(rows[1].starts_with("t00,") && rows[1].contains(",,,,\"non-finite value: "), "{rows:?}");
    assert!(
        rows[2].starts_with("t01,0.001,2048,1,-") && rows[2].ends_with(','),
        "it trained, and did not fail: {rows:?}"
    );
    let lines: Vec<&str> = swept.out.lines().collect();
    let place = |name: &str| lines.iter().rposition(|line| line.trim_start().starts_with(name)).unwrap();
    assert!(place("t01 ") < place("t00 "), "the best is first: {}", swept.out);
}

#[test]
fn mistakes_are_found_before_anything_is_trained() {
    let refused = |text: &str, more: &str, parts: &[&str]| {
        let dir = with_file(text);
        expect_user_error(&dir.run(&format!("sweep sweep.toml {more}")), parts);
        assert!(!dir.join("runs").exists(), "{text}");
    };
    let head = "algorithm = \"ppo\"\nenv = \"cartpole\"\n";
    refused("[grid]\ngamma = [0.9]\n", "", &["a sweep needs an algorithm and an environment", "--algorithm"]);
    refused(&format!("{head}gama = 0.9\n[grid]\nepochs = [1]\n"), "", &["unknown key `gama`, did you mean `gamma`?"]);
    refused(&format!("{head}[grid]\nepoch = [1, 2]\n"), "", &["trial t00 (epoch=1)", "did you mean `epochs`?"]);
    refused(
        &format!("{head}[grid]\ngamma = [0.9, 2.0]\n"),
        "",
        &["trial t01 (gamma=2.0)", "gamma: 2 is not in 0 to 1"],
    );
    let range = format!("{head}[random]\ntrials = 2\ngamma = {{ low = 0.9, high = 0.8 }}\n");
    refused(&range, "", &["sweep.toml: [random] gamma: the range is the wrong way round: low = 0.9"]);
    refused(&format!("{head}[grids]\n"), "", &["sweep.toml: unknown table [grids], did you mean [grid]?"]);
    refused(&format!("{head}[grid]\nepochs = [1, 2]\n"), "--metric eval", &["there is no metric `eval`"]);
    refused(&format!("{head}[grid]\nepochs = [1, 2]\n"), "--algorithm ppo,a2c", &["one algorithm and one environment"]);
    let halved =
        format!("{head}steps = \"2k\"\neval_every = 300\n[grid]\nepochs = [1, 2]\n[halving]\nfirst_steps = 500\n");
    refused(&halved, "", &["eval_every = 300: a rung of [halving] ends after 500 steps with no evaluation"]);
    let ten = "[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]";
    let keys = ["gamma", "gae_lambda", "clip_eps", "learning_rate", "entropy_coef", "value_coef", "adam_eps"];
    let grid: String = keys.iter().map(|key| format!("{key} = {ten}\n")).collect();
    refused(&format!("{head}[grid]\n{grid}"), "--list", &["sweep.toml: each value", "10 000 000 trials", "10 000"]);
    let dir = sandbox();
    expect_user_error(&dir.run("sweep nothing.toml"), &["nothing.toml"]);
}
