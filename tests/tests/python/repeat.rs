//! Runs repeat, for any number of workers.

use quickstudy_bridge::Recipe;
use quickstudy_core::host::{FleetSize, Stepped};

use crate::{executor, keys, options, place};

/// Steps of environments from the same keys and actions, by so many workers.
fn played(id: &str, envs: usize, steps: u32, workers: usize) -> (Vec<f64>, Vec<Stepped>) {
    let place = place(id, &options(workers)).unwrap();
    let mut executor = executor(&place, envs);
    let width = executor.fleet().actions();
    let first = pollster::block_on(executor.reset(&keys(envs, 0))).unwrap();
    let step = |step: u32| {
        let action =
            |i: usize| if place.spec().action.choices().is_some() { ((i as u32 + step) % 2) as f64 } else { 0.3 };
        let actions: Vec<f64> = (0..envs * width).map(action).collect();
        pollster::block_on(executor.step(&actions, &keys(envs, step))).unwrap()
    };
    (first, (1..=steps).map(step).collect())
}

#[test]
#[ignore = "needs Python with Gymnasium: scripts/check-python.sh"]
fn episodes_do_not_depend_on_the_number_of_workers() {
    for (id, steps) in [("CartPole-v1", 120), ("Pendulum-v1?g=5.0&max_episode_steps=20", 50), ("HalfCheetah-v5", 30)] {
        let one = played(id, 5, steps, 1);
        for workers in [2, 5, 9] {
            assert_eq!(played(id, 5, steps, workers), one, "{id}: {workers} workers");
        }
        let ended = one.1.iter().any(|step| (0..5).any(|env| step.ended(env)));
        assert_eq!(ended, !id.starts_with("Half"), "{id}: episodes end, and others begin");
        assert!(one.0 != played(id, 6, 1, 1).0, "{id}");
    }
}

#[test]
#[ignore = "needs Python with Gymnasium: scripts/check-python.sh"]
fn environments_that_share_their_arrays_see_their_own_observations_and_pictures() {
    const ENVS: usize = 4;
    // What is rewarded is the bit that was seen. Episodes end after 20 steps, and others begin.
    let seen = |own: &str, workers| played(&format!("Shared-v0?own={own}"), ENVS, 45, workers);
    let alone = seen("True", 1);
    for workers in [1, 2, 4] {
        assert_eq!(seen("False", workers), alone, "{workers} workers");
    }
    let different = |step: &Stepped| step.observations.iter().any(|seen| *seen != step.observations[0]);
    assert!(alone.1.iter().filter(|step| different(step)).count() > 20);
    let recipe = Recipe::parse("gymnasium:python.envs_under_test:Shared-v0", &options(1)).unwrap();
    let spec = place("Shared-v0", &options(1)).unwrap().spec().clone();
    let size = FleetSize { tasks: ENVS, envs_per_task: 1, horizon: spec.horizon };
    let (mut executor, frames) = recipe.recording(&spec, size).unwrap();
    let mut bits = vec![pollster::block_on(executor.reset(&keys(ENVS, 0))).unwrap()];
    for step in 1..10 {
        bits.push(pollster::block_on(executor.step(&[0.0; ENVS], &keys(ENVS, step))).unwrap().observations);
    }
    for (env, frames) in frames.borrow().iter().enumerate() {
        let drawn: Vec<f64> = frames.iter().map(|(picture, _)| f64::from(picture.pixels[0]) / 200.0).collect();
        assert_eq!(drawn, bits.iter().map(|step| step[env]).collect::<Vec<_>>(), "{env}");
    }
}
