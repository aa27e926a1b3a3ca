//! Follows the advice of errors, and checks that it leads on.

use crate::{expect_user_error, sandbox};
use quickstudy_core::env::builtin_names;
use quickstudy_core::train::ALGORITHMS;
use quickstudy_tests::process::{Finished, Sandbox};
use std::fs;

/// Defaults and presets give way to what is set, and a choice of the user's own is refused.
#[test]
fn what_a_user_sets_is_not_refused_because_of_a_default() {
    let dir = sandbox();
    for (run, line) in [
        ("trpo --env cartpole-no-velocities --set cell=gru", "minibatches = 1 "),
        ("ppo2 --env cartpole-no-velocities --set cell=gru", "minibatches = 8 "),
        ("ppo --env hopper --set horizon=100", "minibatches = 25 "),
    ] {
        let shown = dir.run(&format!("train {run} --print-config"));
        assert_eq!(shown.code, Some(0), "{shown:?}");
        let minibatches = shown.out.lines().find(|shown| shown.starts_with("minibatches = "));
        assert!(minibatches.is_some_and(|m| m.starts_with(line) && m.ends_with(", suited to the others")), "{shown:?}");
        expect_user_error(
            &dir.run(&format!("train {run} --set minibatches=7 --print-config")),
            &["minibatches: 7 must"],
        );
    }
}

/// An error and its hint reach standard error in one piece: a launcher joins the lines of all ranks there. A socket of
/// messages keeps what is written apart.
#[test]
#[cfg(unix)]
fn what_another_process_writes_comes_between_no_line_and_its_end() {
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixDatagram;
    let (written, read) = UnixDatagram::pair().unwrap();
    let failed = sandbox().command("train ppo --env cartpol").stderr(OwnedFd::from(written)).status().unwrap();
    assert_eq!(failed.code(), Some(2));
    let mut piece = [0; 1000];
    let length = read.recv(&mut piece).unwrap();
    let text = str::from_utf8(&piece[..length]).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(text.ends_with('\n') && lines.len() == 2, "{text}");
    assert!(lines[0].starts_with("error: ") && lines[1].starts_with("hint: "), "{text}");
}

/// The text between backticks in the advice of an error: in its hint, or after `did you mean`.
fn advice(failed: &Finished) -> Vec<String> {
    let lines = failed.err.lines().filter_map(|line| match line.split_once("did you mean ") {
        Some((_, advice)) => Some(advice),
        None => line.trim_start().strip_prefix("hint: "),
    });
    lines.flat_map(|line| line.split('`').skip(1).step_by(2)).map(str::to_owned).collect()
}

/// The command that advice makes of `arguments`, in which `wrong` was wrong.
fn advised(arguments: &str, wrong: &str, advice: &str) -> String {
    match advice.strip_prefix("quickstudy ") {
        Some(whole) => whole.to_owned(),
        None => {
            assert!(arguments.contains(wrong), "{arguments}");
            arguments.replacen(wrong, advice, 1)
        }
    }
}

/// Does all that an error advises; the work itself is left out where it is long.
#[track_caller]
fn try_advice(dir: &Sandbox, arguments: &str, wrong: &str) {
    let failed = dir.run(arguments);
    assert_eq!(failed.code, Some(2), "{arguments}: {failed:?}");
    let all = advice(&failed);
    assert!(!all.is_empty(), "{arguments}: no advice: {}", failed.err);
    for advice in all {
        let mut next = advised(arguments, wrong, &advice);
        if next.starts_with("train ") && !next.contains("--resume") {
            next += " --print-config";
        }
        let done = dir.run(&next);
        assert_eq!(done.code, Some(0), "`{arguments}` advises `{advice}`: `{next}` gives {done:?}");
    }
}

#[test]
fn advice_about_names_and_values_works() {
    let dir = sandbox();
    for (arguments, wrong) in [
        ("train", ""),
        ("train pp --env cartpole", "pp"),
        ("train PPO --env cartpole", "PPO"),
        ("train ppo --env cartpol", "cartpol"),
        ("train ppo --env CartPole-v1", "CartPole-v1"),
        ("train ppo --env somewhere", ""),
        ("train ppo cartpole", "cartpole"),
        ("train rl2-ppo --env bandit:arm=10", "arm"),
        ("train ppo --env cartpole --set clip_esp=0.1", "clip_esp"),
        ("train ppo --env cartpole --set something=0.1", ""),
        ("train ppo --env cartpole --set hidden=64,64", "hidden=64,64"),
        ("train ppo --env cartpole --learning-rate 0.001", "--learning-rate 0.001"),
        ("train ppo --env cartpole --learning-rate=0.001", "--learning-rate=0.001"),
        ("train ppo --env cartpole --clip-esp 0.1", "--clip-esp 0.1"),
        ("train ppo --env cartpole --hidden 64,64", "--hidden 64,64"),
        ("train --normalise_rewards true ppo --env cartpole", "--normalise_rewards true"),
        ("train ppo --env cartpole --cell", "--cell"),
        ("train ppo --env cartpole --set lr=0.001", "lr"),
        ("train sac --env pendulum --set buffer_size=1000", "buffer_size"),
        ("train ppo --env cartpole --lr 0.001", "--lr 0.001"),
        ("train ppo --env cartpole --total-timesteps 1000", "--total-timesteps"),
        ("list presets ppo", ""),
        ("bench training --device gpu:99", ""),
    ] {
        try_advice(&dir, arguments, wrong);
    }
    assert!(!dir.join("runs").exists());
}

/// Each alias leads to a setting of an algorithm, or to a flag of `train`.
#[test]
fn words_of_other_libraries_lead_to_names_that_are_here() {
    let help = sandbox().run("train --help").out;
    let is_setting = |name: &str| ALGORITHMS.iter().any(|def| def.settings().any(|doc| doc.key == name));
    for (theirs, ours) in quickstudy_core::ALIASES {
        for name in *ours {
            assert!(is_setting(name) || help.contains(&format!("--{name} ")), "{theirs}: there is no {name}");
        }
    }
}

#[test]
fn a_note_names_the_setting_for_bounds_far_from_one_once() {
    let dir = sandbox();
    let notes = |command: &str| {
        let done = dir.run(&format!("train {command} --steps 200 --eval-every 0 --set hidden=[4]"));
        assert_eq!(done.code, Some(0), "{command}: {done:?}");
        done.out.lines().filter(|line| line.starts_with("note: ") && line.contains("scale_actions")).count()
    };
    let ppo = "ppo --env mass-spring --seed 0,1 --set envs=2 --set horizon=8 --set minibatches=1";
    assert_eq!(notes(ppo), 1, "of two seeds");
    assert_eq!(notes(&format!("{ppo} --set scale_actions=true")), 0);
    assert_eq!(notes("sac --env mass-spring --set learning_starts=100"), 0, "SAC squashes its actions");
}

#[test]
fn what_takes_one_value_is_not_advised_a_list() {
    let dir = sandbox();
    for wrong in ["gamma=0.9,0.98", "gamma=(0.9,0.98)", "gamma=[0.9,", "activation=tanh,relu", "steps=1k,2k"] {
        let refused = dir.run(&format!("train ppo --env cartpole --set {wrong}"));
        let (key, value) = wrong.split_once('=').unwrap();
        expect_user_error(&refused, &[&format!("{key} takes one value; train once with each, got `{value}`")]);
        assert!(!refused.err.contains("did you mean"), "{}", refused.err);
    }
    let unknown = dir.run("train ppo --env cartpole --set gama=0.9,0.98");
    expect_user_error(&unknown, &["unknown key `gama`, did you mean `gamma`?"]);
    assert_eq!(dir.run("train ppo --env cartpole --set seed=0,1 --print-config").code, Some(0));
    // A flag that looks like a setting of nobody, and one that looks like a flag.
    for (wrong, says) in [("--frobnicate 1", "unexpected argument"), ("--step 10k", "'--steps'")] {
        let refused = dir.run(&format!("train ppo --env cartpole {wrong}"));
        expect_user_error(&refused, &[says]);
        assert!(!refused.err.contains("--set"), "{}", refused.err);
    }
}

/// Names between two words of a text.
fn names<'a>(text: &'a str, after: &str, before: &str) -> Vec<&'a str> {
    let all = text.split_once(after).unwrap_or_else(|| panic!("`{after}` is missing: {text}")).1;
    let all = all.lines().next().unwrap_or_default();
    all.split_once(before).map_or(all, |(all, _)| all).split(", ").collect()
}

#[test]
fn refusals_of_an_environment_list_what_fits() {
    let dir = sandbox();
    let taken = |algorithm: &str, env: &str, more: &str| {
        dir.run(&format!("train {algorithm} --env {env} {more} --print-config")).code == Some(0)
    };
    let environments = builtin_names();
    for (algorithm, env) in [("dqn", "pendulum"), ("maml-ppo", "cartpole")] {
        let refused = dir.run(&format!("train {algorithm} --env {env}"));
        expect_user_error(&refused, &[&format!("error: env: `{env}` ")]);
        let listed = names(&refused.err, &format!("hint: {algorithm} takes "), "; ");
        let fitting: Vec<&str> = environments.iter().copied().filter(|env| taken(algorithm, env, "")).collect();
        assert_eq!(listed, fitting);
        let listed = names(&refused.err, &format!("; {env} is for "), "; ");
        let fitting: Vec<&str> =
            ALGORITHMS.iter().map(|def| def.name).filter(|algorithm| taken(algorithm, env, "")).collect();
        assert_eq!(listed, fitting);
    }
    // Settings that an environment has nothing for.
    for (algorithm, env, key, value) in [("ppo", "cartpole", "sde", "true"), ("sac", "pendulum", "hindsight", "0.8")] {
        let refused = dir.run(&format!("train {algorithm} --env {env} --set {key}={value}"));
        expect_user_error(&refused, &[&format!("error: {key}: "), &format!("`{env}`")]);
        let listed = names(&refused.err, &format!("hint: {algorithm} with {key} = {value} takes "), "; ");
        for env in listed {
            assert!(taken(algorithm, env, &format!("--set {key}={value}")), "{env}: {}", refused.err);
        }
    }
    let refused = dir.run("bench learning --algorithm dqn --env pendulum");
    expect_user_error(&refused, &["there is no preset of dqn for pendulum", "list presets"]);
    // What has nothing to do with the environment lists none.
    let refused = dir.run("train ppo --env cartpole --set minibatches=7");
    assert!(!refused.err.contains("takes"), "{}", refused.err);
}

#[test]
fn evaluations_beyond_the_memory_are_refused_before_training() {
    let dir = sandbox();
    let train =
        "train promp --env point-corner --steps 1000 --set meta_batch=3 --set rollouts=4 --set hidden=[8] --out r";
    let refused = dir.run(&format!("{train} --memory 2G --eval-episodes 1000000"));
    expect_user_error(&refused, &["an evaluation of 1000000 episodes", "hint: lower --eval-episodes", "eval_episodes"]);
    assert!(!dir.join("r").exists());
    assert_eq!(dir.run(&format!("{train} --memory 2G --eval-episodes 100")).code, Some(0));
}

#[test]
fn advice_about_runs_and_files_works() {
    let dir = sandbox();
    let train = "train ppo --env cartpole --steps 2k --threads 1 --set hidden=[8] --set epochs=1 --out r";
    assert_eq!(dir.run(train).code, Some(0));
    try_advice(&dir, train, "");
    try_advice(&dir, "plot r --out x.jpg", "--out x.jpg");
    try_advice(&dir, "plot r --metric train/entrpy", "train/entrpy");
    try_advice(&dir, "plot r --by gama", "gama");
    try_advice(&dir, "eval r --episodes 2 --gif x.mp4", "--gif x.mp4");
    try_advice(&dir, "eval r --episodes 2 --csv x.json", "--csv x.json");
    for name in ["x.svg", "x.gif", "x.csv"] {
        assert!(dir.join(name).exists(), "{name}");
    }
    for name in ["x.jpg", "x.mp4", "x.json"] {
        assert!(!dir.join(name).exists(), "{name}");
    }
}

#[test]
fn what_cannot_be_evaluated_is_refused_before_training() {
    let dir = sandbox();
    let train = "train ppo --env cartpole --steps 2k --threads 1 --set hidden=[8] --set epochs=1";
    for flag in ["--eval-episodes 2000000", "--set eval_episodes=2M", "--config eval.toml"] {
        fs::write(dir.join("eval.toml"), "eval_episodes = 2000000").unwrap();
        let refused = dir.run(&format!("{train} {flag} --out big"));
        expect_user_error(&refused, &["at most 1048576 episodes", &flag.split(['=', ' ']).nth(1).unwrap()[..4]]);
        assert!(!refused.err.contains("--resume") && refused.out.is_empty(), "{refused:?}");
        assert!(!dir.join("big").exists(), "{flag} made a folder");
    }
    assert_eq!(dir.run(&format!("{train} --out r")).code, Some(0));
    let config = fs::read_to_string(dir.join("r/config.toml")).unwrap();
    let refused = dir.run("train --resume r --steps 4k --eval-episodes 2000000");
    expect_user_error(&refused, &["--eval-episodes", "at most 1048576 episodes"]);
    assert_eq!(fs::read_to_string(dir.join("r/config.toml")).unwrap(), config);
    // A configuration of an older version may say so.
    let old = config.replace("eval_episodes = 20", "eval_episodes = 2000000");
    fs::write(dir.join("r/config.toml"), &old).unwrap();
    expect_user_error(&dir.run("train --resume r --steps 4k"), &["r/config.toml", "eval_episodes", "at most 1048576"]);
    assert_eq!(fs::read_to_string(dir.join("r/config.toml")).unwrap(), old);
    expect_user_error(&dir.run("eval r --episodes 2000000"), &["--episodes", "at most 1048576"]);
    expect_user_error(&dir.run("bench learning --episodes 2000000"), &["--episodes", "at most 1048576"]);
}
