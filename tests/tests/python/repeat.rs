//! Runs repeat, for any number of workers.

use quickstudy_core::host::Stepped;

use crate::{executor, keys, options, place};

/// Steps of environments from the same keys and actions, by so many workers.
fn played(id: &str, envs: usize, steps: u32, workers: usize) -> Option<(Vec<f64>, Vec<Stepped>)> {
    let place = place(id, &options(workers)?).unwrap();
    let mut executor = executor(&place, envs);
    let width = executor.fleet().actions();
    let first = pollster::block_on(executor.reset(&keys(envs, 0))).unwrap();
    let step = |step: u32| {
        let action =
            |i: usize| if place.spec().action.choices().is_some() { ((i as u32 + step) % 2) as f64 } else { 0.3 };
        let actions: Vec<f64> = (0..envs * width).map(action).collect();
        pollster::block_on(executor.step(&actions, &keys(envs, step))).unwrap()
    };
    Some((first, (1..=steps).map(step).collect()))
}

#[test]
fn episodes_do_not_depend_on_the_number_of_workers() {
    for (id, steps) in [("CartPole-v1", 120), ("Pendulum-v1?g=5.0&max_episode_steps=20", 50), ("HalfCheetah-v5", 30)] {
        let Some(one) = played(id, 5, steps, 1) else { return };
        for workers in [2, 5, 9] {
            assert_eq!(played(id, 5, steps, workers).unwrap(), one, "{id}: {workers} workers");
        }
        let ended = one.1.iter().any(|step| (0..5).any(|env| step.ended(env)));
        assert_eq!(ended, !id.starts_with("Half"), "{id}: episodes end, and others begin");
        assert!(one.0 != played(id, 6, 1, 1).unwrap().0, "{id}");
    }
}
