//! Snapshots that somebody made up: intact files whose content cannot be.

use std::fs;

use quickstudy_tests::crafted::Crafted;

use crate::{expect_user_error, sandbox};

#[test]
fn crafted_snapshots_are_refused_and_do_not_reach_the_terminal() {
    let dir = sandbox();
    let small =
        "train ppo --env cartpole --steps 64 --threads 1 --set hidden=[4] --set envs=2 --set horizon=32 --out r";
    assert_eq!(dir.run(small).code, Some(0));
    let path = dir.join("r/last.safetensors");
    let file = Crafted::read(&fs::read(&path).unwrap());
    let evil = r"\u001b]0;pwned\u0007\u001b[2J\nerror: all is well";
    for (crafted, part) in [
        (file.number("policy.0.weight", 3, f64::NAN), "`policy.0.weight` holds NaN at [0, 3]"),
        (file.number("optimiser.first_moment.value.1.bias", 0, f64::INFINITY), "`optimiser.first_moment.value.1.bias`"),
        (file.number("environment.state", 5, f64::NEG_INFINITY), "`environment.state` holds -inf at [1, 1]"),
        (file.number("environment.episode_return", 1, f64::NAN), "`environment.episode_return` holds NaN at [1, 0]"),
        (file.number("finished_episodes", 1, f64::NAN), "`finished_episodes` holds NaN"),
        (file.header("\"steps\":64", "\"steps\":18446744073709551615"), "steps"),
        (file.header("\"iteration\":1", "\"iteration\":18446744073709551615"), "iteration"),
        (file.header("\"env\":\"cartpole\"", &format!("\"env\":\"{evil}\"")), "pwned"),
        (file.header("\"algorithm\":\"ppo\"", &format!("\"algorithm\":\"{evil}\"")), "pwned"),
        (file.header("\"format\":6", "\"format\":7"), "update quickstudy"),
    ] {
        fs::write(&path, crafted.bytes()).unwrap();
        for arguments in ["train --resume r --steps 128", "eval r --last --episodes 1"] {
            let finished = dir.run(arguments);
            expect_user_error(&finished, &["last.safetensors", part]);
            let said = finished.err + &finished.out;
            assert!(!said.contains(|c: char| c.is_control() && c != '\n'), "{said:?}");
            assert!(!said.contains("\nerror: all is well"), "{said:?}");
        }
    }
    // Of training alone: more episodes than steps, steps than a run can have, a sum that no f32 is.
    for (index, number) in [(0, 1e300), (1, -1e300), (2, 1e300)] {
        fs::write(&path, file.number("finished_episodes", index, number).bytes()).unwrap();
        let finished = dir.run("train --resume r --steps 128");
        expect_user_error(&finished, &["last.safetensors", "`finished_episodes` holds [", "which cannot be"]);
    }
    fs::write(&path, file.bytes()).unwrap();
    assert_eq!(dir.run("train --resume r --steps 128").code, Some(0));
}

#[test]
fn a_policy_that_acts_with_nan_is_exit_code_3() {
    let dir = sandbox();
    for train in [
        "ppo --env cartpole --set hidden=[4] --set envs=2 --set horizon=32",
        "promp --env point-corner --set hidden=[4] --set meta_batch=2 --set rollouts=2",
    ] {
        assert_eq!(dir.run(&format!("train {train} --steps 64 --threads 1 --out r --eval-episodes 2")).code, Some(0));
        let file = Crafted::read(&fs::read(dir.join("r/last.safetensors")).unwrap());
        // Four units that are near 1, times finite numbers whose sum is not.
        let file = file.filled(&[("policy.0.bias", 10.0), ("policy.1.weight", 3e38)]);
        fs::write(dir.join("r/last.safetensors"), file.bytes()).unwrap();
        for verb in
            ["eval r --last --episodes 2", "eval r --last --episodes 2 --stochastic", "adapt r --last --tasks 2"]
        {
            if verb.starts_with("adapt") && train.starts_with("ppo") {
                continue;
            }
            let finished = dir.run(verb);
            assert_eq!(finished.code, Some(3), "{verb}: {finished:?}");
            assert!(finished.err.contains("the policy acts with NaN"), "{}", finished.err);
            assert!(!finished.out.contains("mean_return"), "{}", finished.out);
        }
        fs::remove_dir_all(dir.join("r")).unwrap();
    }
}
