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
    let command = "train rl2-ppo --env bandit --set meta_batch=4 --set units=8 --set episodes=65536 --steps 1 \
        --eval-every 0 --memory 50M";
    let refused = dir.run(&format!("{command} --out r"));
    expect_user_error(&refused, &["hint: one of these would do: --set "]);
    let hint = refused.err.lines().find(|line| line.starts_with("hint: ")).unwrap();
    let settings: Vec<&str> = hint.split("--set ").skip(1).map(|part| part.split(' ').next().unwrap()).collect();
    assert!(settings.iter().any(|setting| setting.starts_with("episodes=")), "{hint}");
    let fits = dir.run(&format!("{command} --out r --set {}", settings.last().unwrap()));
    assert_eq!(fits.code, Some(0), "{fits:?}");
}

/// The program within an address space of so many KiB.
#[cfg(target_os = "linux")]
fn limited(dir: &quickstudy_tests::process::Sandbox, kib: u32, arguments: &str) -> quickstudy_tests::process::Finished {
    let script = format!("ulimit -v {kib}; exec {} {arguments}", env!("CARGO_BIN_EXE_quickstudy-under-test"));
    std::process::Command::new("sh").args(["-c", &script]).current_dir(dir.path()).output().unwrap().into()
}

#[cfg(target_os = "linux")]
#[test]
fn results_of_adaptation_that_do_not_fit_are_refused() {
    let dir = sandbox();
    let train =
        "train rl2-ppo --env bandit --steps 1 --set units=2 --set meta_batch=2 --set minibatches=1 --eval-every 0";
    assert_eq!(dir.run(&format!("{train} --threads 1 --out r")).code, Some(0));
    let adapt = |arguments: &str| limited(&dir, 3_000_000, &format!("adapt r --last --threads 1 --out x {arguments}"));
    expect_user_error(&adapt("--tasks 1000000"), &["--tasks: 1000000 is not in 1 to 16384"]);
    let refused = adapt("--tasks 16384 --episodes 200");
    expect_user_error(&refused, &["memory: ", "less is needed with lower tasks, rollouts, episodes"]);
    assert_eq!(adapt("--tasks 100").code, Some(0));
}

#[test]
fn a_snapshot_that_does_not_fit_is_refused() {
    let dir = sandbox();
    let train = "train ppo --env cartpole --steps 1 --set envs=1 --set horizon=8 --set minibatches=1 --set epochs=1 \
                 --set hidden=[512,512] --set orthogonal_init=false --eval-every 0 --threads 1 --out r";
    assert_eq!(dir.run(train).code, Some(0));
    // The file has 6.4 MB, and its policy a sixth of that.
    let refused = dir.run("eval r --last --episodes 2 --threads 1 --memory 5M");
    expect_user_error(&refused, &["last.safetensors: memory: ", "5.0 MB may be taken"]);
    let refused = dir.run("train --resume r --steps 16 --threads 1 --memory 12M");
    expect_user_error(&refused, &["last.safetensors: memory: 12.", "12.0 MB may be taken"]);
    let evaluated = dir.run("eval r --last --episodes 2 --threads 1 --memory 40M");
    assert_eq!(evaluated.code, Some(0), "{evaluated:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn seeds_that_are_saved_side_by_side_fit_or_are_refused() {
    let dir = sandbox();
    let train = "train rl2-ppo --env point-arena --seed 0..3 --steps 1 --threads 1 --eval-every 0 --set units=31 \
                 --set critic=linear_time --set advantage_centre=none --set reset=after --set minibatches=1 \
                 --set epochs=1";
    let at = |kib: u32| limited(&dir, kib, &format!("{train} --out r{kib}"));
    // The program itself takes some 90 MB, and its allocator reserves more as it pleases.
    assert_eq!(at(120_000).code, Some(2));
    for kib in (250_000..650_000).step_by(25_000) {
        let ended = at(kib);
        assert!(matches!(ended.code, Some(0 | 2)), "{kib} KiB: {ended:?}");
    }
    let ended = at(650_000);
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn what_takes_little_fits_into_few_addresses_on_any_number_of_threads() {
    let dir = sandbox();
    let train =
        "train ppo --env cartpole --steps 64 --set hidden=[4] --set envs=2 --set horizon=32 --set minibatches=1";
    assert_eq!(dir.run(&format!("{train} --threads 1 --out r")).code, Some(0));
    for threads in ["", "--threads 1", "--threads 2", "--threads 64"] {
        let ended = limited(&dir, 200_000, &format!("{train} {threads} --out few"));
        assert_eq!(ended.code, Some(0), "{threads}: {ended:?}");
        assert!(ended.out.contains(", 1 thread\n"), "{}", ended.out);
        let last = |run: &str| std::fs::read(dir.join(run).join("last.safetensors")).unwrap();
        assert!(last("few") == last("r"));
        std::fs::remove_dir_all(dir.join("few")).unwrap();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_limit_of_the_sizes_of_files_is_an_error_that_names_the_file() {
    let dir = sandbox();
    let train = "train sac --env pendulum --threads 1 --eval-every 0 --set hidden=[64,64] --set batch_size=8";
    assert_eq!(dir.run(&format!("{train} --steps 300 --out r")).code, Some(0));
    let last = std::fs::read(dir.join("r/last.safetensors")).unwrap();
    // Blocks of 512 bytes.
    let limited = |arguments: &str| -> quickstudy_tests::process::Finished {
        let script = format!("ulimit -f 100; exec {} {arguments}", env!("CARGO_BIN_EXE_quickstudy-under-test"));
        std::process::Command::new("sh").args(["-c", &script]).current_dir(dir.path()).output().unwrap().into()
    };
    let ended = limited("train --resume r --steps 600 --threads 1");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.err.contains("File too large") && ended.err.contains("ulimit -f"), "{}", ended.err);
    assert!(std::fs::read(dir.join("r/last.safetensors")).unwrap() == last);
    let ended = limited("export r -o one.safetensors");
    assert!(ended.code == Some(1) && ended.err.contains("cannot write one.safetensors"), "{ended:?}");
    assert!(!dir.join("one.safetensors").exists());
    assert_eq!(dir.run("train --resume r --steps 600 --threads 1").code, Some(0));
}

#[test]
fn a_horizon_that_stands_for_the_time_limit_is_lowered_by_a_number() {
    let dir = sandbox();
    let command = "train promp --env point-corner --steps 1 --eval-every 0 --set hidden=[8] --memory 10M --out r";
    expect_user_error(&dir.run(command), &["lower meta_batch, rollouts, horizon", "--set horizon="]);
}

#[test]
fn sizes_of_memory_are_checked() {
    let dir = sandbox();
    for size in ["0", "-1", "much", "1e40"] {
        let finished = dir.run(&format!("train ppo --env cartpole --memory {size}"));
        expect_user_error(&finished, &["expected a size such as 8G"]);
    }
}
