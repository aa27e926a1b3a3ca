//! The count of environment steps has the steps that were made, without any after the end of a rollout or trial.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use quickstudy_core::Device;
use quickstudy_core::train::{Evaluator, Session};
use quickstudy_tests::trainings::{training, value, wait};

const SEEDS: [u64; 2] = [1, 2];

fn session(algorithm: &str, env: &str, text: &str, iterations: u64) -> Session {
    training(algorithm, env).seeds(&SEEDS).set(text).batches(iterations).session_on(&Device::cpu(2))
}

#[test]
fn trials_that_end_early_make_fewer_steps_than_planned() {
    let mut all = session("rl2-ppo", "grid-world", "meta_batch = 8\nepisodes = 3\nunits = 8\nminibatches = 2", 3);
    let mut lengths = [0.0; 2];
    for iteration in 1..=3 {
        let rows = all.step_blocking().unwrap();
        for (seed, row) in rows.iter().enumerate() {
            // Fewer than a hundred episodes have ended, so this is the mean of all.
            lengths[seed] = value(row, "rollout/ep_len_mean") * f64::from(iteration * 8 * 3);
            let made = value(row, "time/env_steps");
            assert!((made - lengths[seed]).abs() < 1e-6, "seed {seed}: {made} steps in episodes of {}", lengths[seed]);
            assert_eq!(all.steps_made(seed) as f64, made);
            let planned = all.setup().fitted().planned(all.iteration());
            assert!(made < planned as f64, "some episodes end early");
        }
        assert_ne!(all.steps_made(0), all.steps_made(1), "each seed has its own count");
    }
    assert!(!all.done(), "it made the planned number of iterations, and fewer steps");
    assert_eq!((all.steps_made(2), all.iteration()), (0, 3));
}

#[test]
fn snapshots_know_the_steps_made_and_resumed_runs_go_on_counting() {
    let device = Device::cpu(2);
    let mut whole = session("promp", "key-door", "meta_batch = 10\nrollouts = 20\nhidden = [4]", 2);
    whole.step_blocking().unwrap();
    let half = [0, 1].map(|seed| wait(whole.snapshot(seed)));
    let mut resumed = Session::restore(&device, &[&half[0], &half[1]]).unwrap();
    let made = |session: &Session| [0, 1].map(|seed| session.steps_made(seed));
    assert_eq!(made(&whole), made(&resumed));
    let policy = Evaluator::load(&device, &half[1]).unwrap();
    assert_eq!(policy.env_steps(), whole.steps_made(1));
    let planned = whole.setup().fitted().planned(1);
    assert!(made(&whole).into_iter().all(|steps| steps > 0 && steps < planned), "{:?}", made(&whole));
    whole.step_blocking().unwrap();
    resumed.step_blocking().unwrap();
    assert_eq!(made(&whole), made(&resumed));
}

#[test]
fn rollouts_through_the_ends_of_episodes_make_all_planned_steps() {
    let mut ppo = session("ppo", "cartpole", "envs = 2\nhorizon = 64\nhidden = [4]\nminibatches = 2", 2);
    ppo.step_blocking().unwrap();
    assert_eq!([ppo.steps_made(0), ppo.steps_made(1)], [ppo.env_steps(); 2]);
}
