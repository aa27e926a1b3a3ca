//! Settings that ask for more memory than there may be taken end with an error that says what to do.

use crate::{expect_user_error, sandbox};

/// Commands that are valid and need more than a gigabyte.
const TOO_LARGE: [&str; 14] = [
    "train rl2-ppo --env bandit --set meta_batch=4 --set units=8192 --set episodes=65536",
    "train rl2-ppo --env bandit:arms=100,pulls=100000 --set meta_batch=64",
    "train rl2-trpo --env bandit:arms=100,pulls=100000 --set meta_batch=64",
    "train ppo --env cartpole --set hidden=[8192,8192]",
    "train trpo --env cartpole --set hidden=[8192,8192]",
    "train ppo --env cartpole --set envs=16777216 --set horizon=1 --set minibatches=16",
    "train trpo --env cartpole --set envs=8192 --set horizon=2048",
    "train ppo --env cartpole --seed 0..4096 --set hidden=[1024,1024]",
    "train promp --env point-corner --set hidden=[4096,4096]",
    "train maml-ppo --env point-corner --set meta_batch=4096 --set rollouts=40",
    "train maml-vpg --env point-corner --set rollouts=4000",
    "train maml-trpo --env point-corner --set hidden=[2048,2048]",
    "train e-maml --env point-corner --set rollouts=4000",
    "train dice-maml --env point-corner --set rollouts=4000",
];

#[test]
fn what_does_not_fit_is_refused_before_a_folder_is_made() {
    let dir = sandbox();
    for command in TOO_LARGE {
        let finished = dir.run(&format!("{command} --memory 1G --steps 1 --out r"));
        expect_user_error(&finished, &["error: memory: ", " are needed, and 1.0 GB may be taken", "; among them "]);
        expect_user_error(&finished, &["less is needed with lower ", "--memory"]);
        assert!(!dir.join("r").exists(), "{command}");
    }
    let evaluation =
        "train rl2-ppo --env bandit:pulls=1000 --set episodes=1 --eval-episodes 1000000 --memory 1G --out r";
    let refused = dir.run(evaluation);
    expect_user_error(&refused, &["memory: ", "less is needed with lower eval_episodes", "lower --eval-episodes"]);
    assert!(!dir.join("r").exists());
}

#[test]
fn each_setting_that_the_hint_names_fits() {
    let dir = sandbox();
    let command = "train rl2-ppo --env bandit --set meta_batch=4 --set units=8 --set episodes=65536 --steps 1 --eval-every 0 --memory 50M";
    let refused = dir.run(&format!("{command} --out r"));
    expect_user_error(&refused, &["hint: one of these would do: --set "]);
    let hint = refused.err.lines().find(|line| line.starts_with("hint: ")).unwrap();
    let settings: Vec<&str> = hint.split("--set ").skip(1).map(|part| part.split(' ').next().unwrap()).collect();
    assert!(settings.iter().any(|setting| setting.starts_with("episodes=")), "{hint}");
    let fits = dir.run(&format!("{command} --out r --set {}", settings.last().unwrap()));
    assert_eq!(fits.code, Some(0), "{fits:?}");
}

#[test]
fn sizes_of_memory_are_checked() {
    let dir = sandbox();
    for size in ["0", "-1", "much", "1e40"] {
        let finished = dir.run(&format!("train ppo --env cartpole --memory {size}"));
        expect_user_error(&finished, &["expected a size such as 8G"]);
    }
}
