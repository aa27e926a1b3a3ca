//! Environments of the host through every verb: `quickstudy::cli::main_with` knows them as it knows those of programs.
#![cfg(unix)]

use crate::expect_user_error;
use crate::kills::{assert_same, copy, done, files};
use quickstudy_core::rng::Threefry;
use quickstudy_tests::process::{Finished, Sandbox};

const PPO: &str = "train ppo --env courier --seed 0..3 --threads 1 --save-every 0 --keep-snapshots all --eval-every 64 \
    --eval-episodes 2 --set hidden=[4] --set envs=2 --set horizon=16 --set minibatches=1 --steps 192";
const CEM: &str = "train cem --env courier --threads 1 --save-every 0 --keep-snapshots all --eval-every 1 \
    --eval-episodes 2 --set n_samples=4 --set episodes=1 --set best_frac=0.5 --steps 600";
const PROMP: &str = "train promp --env courier-hubs --threads 1 --save-every 0 --keep-snapshots all --eval-every 1 \
    --eval-episodes 2 --set hidden=[4] --set meta_batch=2 --set rollouts=2 --steps 1200";
const RL2: &str = "train rl2-ppo --env courier-hubs --threads 1 --save-every 0 --keep-snapshots all --eval-every 1 \
    --eval-episodes 2 --set units=4 --set meta_batch=2 --set minibatches=1 --steps 600";
/// An environment that cannot save where it is.
const FORGETFUL: &str = "train ppo --env forgetful --threads 1 --save-every 0 --keep-snapshots all --eval-every 0 \
    --set hidden=[4] --set envs=2 --set horizon=16 --set minibatches=1 --steps 96";

/// An empty folder in which the command line with environments of the host runs.
fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_hosts-under-test"))
}

/// Kills a run, and each of its resumes, at points that `dice` draws, until it is done: how often.
fn killed_until_done(dir: &Sandbox, train: &str, dice: &mut Threefry) -> usize {
    let run = |arguments: &str, point: u64| {
        let mut command = dir.command(arguments);
        Finished::from(command.env("QUICKSTUDY_TEST_ABORT_AT", point.to_string()).output().unwrap())
    };
    let mut kills = 0;
    let mut begun = false;
    for _ in 0..200 {
        // Later and later, so that there is a point at which something new is on disk before the process ends.
        let point = 1 + (dice.uniform() * (40 + 10 * kills) as f64) as u64;
        let command = if begun { "train --resume parts --save-every 0" } else { train };
        let finished = run(command, point);
        match finished.code {
            None => kills += 1,
            Some(0) => return kills,
            Some(_) if begun => {
                // It was killed before there was anything to go on with.
                expect_user_error(&finished, &["start it again"]);
                begun = false;
                continue;
            }
            // It was killed twice before its first snapshot, or had begun.
            Some(_) => expect_user_error(&finished, &["already holds a run"]),
        }
        begun = !files(&dir.join("parts")).is_empty();
    }
    panic!("`{train}` is not done after {kills} kills")
}

#[test]
fn runs_that_are_killed_at_random_end_with_the_bytes_of_uninterrupted_ones() {
    for (number, train) in [PPO, CEM, PROMP, RL2].into_iter().enumerate() {
        let dir = sandbox();
        done(&dir, &format!("{train} --out whole"));
        let whole = files(&dir.join("whole"));
        let mut kills = 0;
        for attempt in 0..3 {
            let mut dice = Threefry::new([number as u32, attempt]);
            copy(&dir, "nothing", "parts");
            kills += killed_until_done(&dir, &format!("{train} --out parts"), &mut dice);
            assert_same(&dir, "parts", &whole, &format!("after kills of `{train}`, attempt {attempt}"));
        }
        assert!(kills > 2, "`{train}` was killed {kills} times");
    }
}

#[test]
fn episodes_that_cannot_be_saved_begin_anew_and_the_command_says_so() {
    let dir = sandbox();
    done(&dir, &format!("{FORGETFUL} --out run"));
    copy(&dir, "run", "a");
    copy(&dir, "run", "b");
    let [a, b] = ["a", "b"].map(|run| done(&dir, &format!("train --resume {run} --steps 192")).out);
    for out in [a, b] {
        assert!(out.contains("note: the environment cannot save where it is in its episodes"), "{out}");
    }
    assert_same(&dir, "b", &files(&dir.join("a")), "two resumes of one snapshot");
    // From a kept snapshot as well.
    for run in ["c", "d"] {
        done(&dir, &format!("train --resume run/snapshots/64.safetensors --steps 128 --out {run}"));
    }
    assert_same(&dir, "d", &files(&dir.join("c")), "two runs that go on from one kept snapshot");
    // One that can save says nothing of the kind.
    done(&dir, &format!("{CEM} --out saves"));
    let out = done(&dir, "train --resume saves --steps 900").out;
    assert!(!out.contains("cannot save"), "{out}");
}

#[test]
fn every_verb_knows_them() {
    let dir = sandbox();
    done(&dir, &format!("{PPO} --out ppo"));
    done(&dir, &format!("{PROMP} --out promp"));
    done(&dir, &format!("{RL2} --out rl2"));
    let out = done(&dir, "list environments").out;
    assert!(out.contains("courier-hubs") && out.contains("hub x, hub y"), "{out}");
    let out = done(&dir, "train ppo --env courier --print-config").out;
    assert!(out.contains("env = \"courier\""), "{out}");
    for run in ["ppo/courier-ppo-s1", "promp", "rl2"] {
        let [first, second] = [0; 2].map(|_| done(&dir, &format!("eval {run} --episodes 3 --threads 1")).out);
        assert!(first.contains("mean_return") && first == second, "{first}");
    }
    for run in ["promp", "rl2"] {
        let out = done(&dir, &format!("adapt {run} --tasks 3 --threads 1")).out;
        assert!(out.contains("before") && out.contains("tasks 3"), "{out}");
        assert!(dir.join(&format!("{run}/adapt.svg")).exists());
    }
    let out = done(&dir, "plot ppo promp rl2 --out all.svg").out;
    assert!(out.contains("wrote all.svg"), "{out}");
    done(&dir, "export ppo/courier-ppo-s0 -o ppo.safetensors");
    let out = done(&dir, "bench environments --env courier --seconds 0.1").out;
    assert!(out.contains("environment of the host, random actions") && out.contains("courier"), "{out}");
}

#[test]
fn what_they_cannot_do_says_so() {
    let dir = sandbox();
    done(&dir, &format!("{PPO} --out ppo"));
    let expect = |arguments: &str, parts: &[&str]| expect_user_error(&dir.run(arguments), parts);
    expect("train ppo --env couriers", &["unknown environment `couriers`, did you mean `courier`?"]);
    expect("train ppo --env courier-hubs", &["`courier-hubs` has many tasks"]);
    expect("train promp --env courier", &["courier"]);
    expect("eval ppo/courier-ppo-s0 --gif out.gif", &["`courier` is played on the host"]);
    expect("adapt ppo/courier-ppo-s0", &["a policy of ppo does not adapt"]);
    expect("bench training --env courier", &["`courier` is played on the host", "bench environments"]);
    expect("bench learning --env courier", &["there is no preset for courier"]);
    // The command line without them.
    let plain = Sandbox::new(env!("CARGO_BIN_EXE_quickstudy-under-test"));
    let run = dir.join("ppo/courier-ppo-s0");
    let resume = plain.run(&format!("train --resume {}", run.display()));
    expect_user_error(&resume, &["made on `courier`, which is not a built-in environment"]);
}
