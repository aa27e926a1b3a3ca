//! Ends that nobody asked for: all ranks are killed, one dies, one hangs.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use super::launcher::{Place, signal};
use std::time::{Duration, Instant};

#[test]
fn killed_at_random_a_run_ends_in_the_same_bytes() {
    let place = Place::new();
    let train = "train ppo --env cartpole --steps 40k --set hidden=[16] --save-every 0 --eval-every 8k";
    place.train(2, &format!("{train} --out whole"));
    let mut wait = 300;
    let launched = place.begin(2, &format!("{train} --out killed"));
    launched.wait_for(&place.join("killed/last.safetensors"));
    launched.kill_all();
    for _ in 0..4 {
        let launched = place.begin(2, "train --resume killed --save-every 0");
        std::thread::sleep(Duration::from_millis(wait));
        wait = wait * 7 % 1000 + 200;
        launched.kill_all();
    }
    place.train(2, "train --resume killed --save-every 0");
    for file in ["last.safetensors", "best.safetensors"] {
        assert!(place.read(format!("whole/{file}")) == place.read(format!("killed/{file}")), "{file}");
    }
}

/// Lets a signal end a run of three ranks, in less than ten seconds.
fn ended_by(name: &str, rank: usize) -> Vec<String> {
    let place = Place::new();
    let launched = place.begin(3, "train ppo --env cartpole --steps 1G --save-every 0 --out run");
    launched.wait_for(&place.join("run/last.safetensors"));
    std::thread::sleep(Duration::from_millis(500));
    let begun = Instant::now();
    signal(launched.rank(rank), name);
    let ended = launched.end();
    assert!(ended.code != Some(0) && begun.elapsed() < Duration::from_secs(10), "{ended:?}");
    // The last snapshot is whole.
    place.train(1, "eval run --episodes 2 --last");
    ended.text.lines().map(str::to_owned).collect()
}

#[test]
fn a_rank_that_dies_ends_all() {
    for rank in [0, 2] {
        let lines = ended_by("KILL", rank);
        // The launcher says it.
        let named = lines.iter().filter(|line| line.contains(&format!("process rank {rank} "))).count();
        assert_eq!(named, 1, "{lines:?}");
    }
}

#[test]
fn a_rank_that_hangs_ends_all() {
    for rank in [0, 1] {
        let lines = ended_by("STOP", rank);
        let named = lines.iter().filter(|line| line.starts_with("error: ")).collect::<Vec<_>>();
        let wanted = format!("error: rank {rank} has not answered for 7 s; all ranks end");
        assert!(named.len() == 1 && *named[0] == wanted, "{lines:?}");
    }
}
