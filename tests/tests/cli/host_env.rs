//! Environments of the host through every verb: `quickstudy::cli::main_with` knows them as it knows those of programs.
#![cfg(unix)]

use crate::apart::rows;
use crate::expect_user_error;
use crate::kills::{assert_same, copy, done, files};
use quickstudy_core::rng::{Threefry, key_from_seed};
use quickstudy_tests::crafted::Crafted;
use quickstudy_tests::process::{Finished, Sandbox};
use std::fs;
use std::thread::sleep;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

const PPO: &str = "train ppo --env courier --seed 0..3 --threads 1 --save-every 0 --keep-snapshots all --eval-every 64 \
    --eval-episodes 2 --set hidden=[4] --set envs=2 --set horizon=16 --set minibatches=1 --steps 192";
const CEM: &str = "train cem --env courier --threads 1 --save-every 0 --keep-snapshots all --eval-every 1 \
    --eval-episodes 2 --set n_samples=4 --set episodes=1 --set best_frac=0.5 --steps 600";
const PROMP: &str = "train promp --env courier-hubs --threads 1 --save-every 0 --keep-snapshots all --eval-every 1 \
    --eval-episodes 2 --set hidden=[4] --set meta_batch=2 --set rollouts=2 --steps 1200";
const RL2: &str = "train rl2-ppo --env courier-hubs --threads 1 --save-every 0 --keep-snapshots all --eval-every 1 \
    --eval-episodes 2 --set units=4 --set meta_batch=2 --set minibatches=1 --steps 600";
/// Episodes that end with the first parcel: seeds make other numbers of steps, and end after other iterations.
const APART_CEM: &str = "train cem --env express --seed 0..3 --threads 1 --save-every 0 --keep-snapshots 1000 \
    --eval-every 1000 --eval-episodes 2 --log-every 1 --set n_samples=4 --set episodes=2 --set best_frac=0.5 \
    --steps 3000";
const APART_PPO: &str = "train ppo --env express --seed 0..3 --threads 1 --save-every 0 --keep-snapshots 200 \
    --eval-every 200 --eval-episodes 2 --log-every 1 --set hidden=[4] --set envs=2 --set min_rollouts=2 \
    --set minibatches=1 --steps 400";
/// An environment that cannot save where it is.
const FORGETFUL: &str = "train ppo --env forgetful --threads 1 --save-every 0 --keep-snapshots all --eval-every 0 \
    --set hidden=[4] --set envs=2 --set horizon=16 --set minibatches=1 --steps 96";

/// An empty folder in which the command line with environments of the host runs.
fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_hosts-under-test"))
}

/// Runs a command and its resumes until it is done: how often it was killed. `run` may kill a command, and gets how
/// often it has.
fn killed_until_done(dir: &Sandbox, train: &str, run: &mut dyn FnMut(&str, usize) -> Finished) -> usize {
    let mut kills = 0;
    let mut begun = false;
    for _ in 0..200 {
        let command = if begun { "train --resume parts --save-every 0" } else { train };
        let finished = run(command, kills);
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

/// Trains without an interruption into `whole`. Seeds that end apart have to.
fn uninterrupted(dir: &Sandbox, train: &str) {
    done(dir, &format!("{train} --out whole"));
    if train.contains("--env express") {
        let algorithm = train.split(' ').nth(1).unwrap();
        let rows = |seed: u64| rows(dir, &format!("whole/express-{algorithm}-s{seed}")).len();
        let ends = [0, 1, 2].map(rows);
        let apart = ends[0] != ends[1] && ends[1] != ends[2] && ends[2] != ends[0];
        assert!(apart && ends.iter().all(|iterations| *iterations > 3), "`{train}`: iterations {ends:?}");
    }
}

#[test]
fn runs_that_are_killed_at_random_end_with_the_bytes_of_uninterrupted_ones() {
    for (number, train) in [PPO, CEM, PROMP, RL2, APART_CEM, APART_PPO].into_iter().enumerate() {
        let dir = sandbox();
        uninterrupted(&dir, train);
        let whole = files(&dir.join("whole"));
        let mut kills = 0;
        for attempt in 0..3 {
            let mut dice = Threefry::new([number as u32, attempt]);
            copy(&dir, "nothing", "parts");
            let mut run = |arguments: &str, kills: usize| {
                // Later and later, so that there is a point at which something new is on disk before the process ends.
                let point = 1 + (dice.uniform() * (40 + 10 * kills) as f64) as u64;
                let mut command = dir.command(arguments);
                Finished::from(command.env("QUICKSTUDY_TEST_ABORT_AT", point.to_string()).output().unwrap())
            };
            kills += killed_until_done(&dir, &format!("{train} --out parts"), &mut run);
            assert_same(&dir, "parts", &whole, &format!("after kills of `{train}`, attempt {attempt}"));
        }
        assert!(kills > 2, "`{train}` was killed {kills} times");
    }
}

/// Random delays, whose seed is printed where a test fails. `QUICKSTUDY_TEST_DELAYS` gives it again.
struct Delays {
    seed: u64,
    dice: Threefry,
}

impl Delays {
    fn new() -> Delays {
        let given = std::env::var("QUICKSTUDY_TEST_DELAYS").ok().map(|seed| seed.parse().unwrap());
        let seed = given.unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64);
        Delays { seed, dice: Threefry::new(key_from_seed(seed)) }
    }
}

impl Drop for Delays {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the delays are those of QUICKSTUDY_TEST_DELAYS={}", self.seed);
        }
    }
}

/// A signal comes at any time: between two writes, in the middle of one, and while nothing is written.
#[test]
fn runs_that_get_sigkill_at_any_time_end_with_the_bytes_of_uninterrupted_ones() {
    const ATTEMPTS: usize = 4;
    const KILLS: usize = 3;
    let mut delays = Delays::new();
    for train in [APART_CEM, APART_PPO, PPO] {
        let dir = sandbox();
        let start = Instant::now();
        uninterrupted(&dir, train);
        let time = start.elapsed();
        let whole = files(&dir.join("whole"));
        for attempt in 0..ATTEMPTS {
            copy(&dir, "nothing", "parts");
            let mut run = |arguments: &str, kills: usize| {
                let mut child = dir.command(arguments).spawn().unwrap();
                if kills < KILLS {
                    sleep(time.mul_f64(delays.dice.uniform()));
                    // It may have ended by itself.
                    let _ = child.kill();
                }
                Finished::from(child.wait_with_output().unwrap())
            };
            let kills = killed_until_done(&dir, &format!("{train} --out parts"), &mut run);
            println!("`{train}`, {time:?} without an interruption: attempt {attempt} was killed {kills} times");
            assert_same(&dir, "parts", &whole, &format!("after {kills} kills of `{train}`, attempt {attempt}"));
        }
    }
}

/// Forged episodes in a snapshot whose checksum is right.
#[test]
fn a_forged_snapshot_is_a_users_mistake() {
    let dir = sandbox();
    done(&dir, &format!("{PPO} --out run"));
    let path = dir.join("run/courier-ppo-s1/last.safetensors");
    let mut file = Crafted::read(&fs::read(&path).unwrap());
    let (_, shape, bytes) = file.tensors.get_mut("environment.host").unwrap();
    bytes.pop();
    *shape = vec![bytes.len()];
    fs::write(&path, file.bytes()).unwrap();
    let parts = ["courier-ppo-s1", "the tensor `environment.host` is cut off; resume another snapshot of the run"];
    expect_user_error(&dir.run("train --resume run --steps 400"), &parts);
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
