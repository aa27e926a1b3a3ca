//! How fast environments of the host are.

use std::time::Instant;

use quickstudy_core::env::ActionSpace;
use quickstudy_core::host::{Chance, Executor, FleetSize, HostPlace};
use quickstudy_core::rng::Threefry;

use crate::outcome::Stop;
use crate::terminal::output::say;
use crate::text::numbers::short_count;

/// Prints and returns the steps per second that the executor of a place makes; prints the time of a step of all its
/// environments.
pub(super) fn environments(place: &HostPlace, envs: usize, seconds: f64) -> Result<f64, Stop> {
    let name = &place.spec().name;
    say("");
    say(&format!("{:<50}{:>12}{:>16}", "environment of the host, random actions", "steps/s", "µs, all of them"));
    let size = FleetSize { tasks: 1, envs_per_task: envs, horizon: place.spec().horizon };
    let mut executor = place.executor(size)?;
    let speed = pollster::block_on(stepping(&mut *executor, seconds))?;
    let all = 1e6 * envs as f64 / speed;
    say(&format!("{:<50}{:>12}{all:>16.1}", format!("{name}, {envs} side by side"), short_count(speed)));
    Ok(speed)
}

/// Environment steps per second on one task, all that the executor does included; the first steps are not counted.
async fn stepping(executor: &mut dyn Executor, seconds: f64) -> quickstudy_core::Result<f64> {
    let fleet = executor.fleet().clone();
    if !fleet.spec.task.is_empty() {
        let tasks = executor.sample_tasks(&[Chance { key: [1, 2], element: 0 }]).await?;
        executor.set_tasks(&tasks).await?;
    }
    executor.reset(&[[3, 4]]).await?;
    let mut dice = Threefry::new([5, 6]);
    let mut actions = vec![0.0; fleet.num_envs() * fleet.actions()];
    let (mut start, mut made) = (Instant::now(), 0);
    for step in 0.. {
        draw(&fleet.spec.action, &mut dice, &mut actions);
        executor.step(&actions, &[[7, step]]).await?;
        made += fleet.num_envs();
        if step == 0 {
            (start, made) = (Instant::now(), 0);
        } else if start.elapsed().as_secs_f64() > seconds {
            break;
        }
    }
    Ok(made as f64 / start.elapsed().as_secs_f64())
}

/// Actions anywhere in their space.
fn draw(space: &ActionSpace, dice: &mut Threefry, actions: &mut [f64]) {
    match space {
        ActionSpace::Discrete { .. } | ActionSpace::MultiDiscrete { .. } => {
            let counts = space.counts().unwrap_or_default();
            let all = actions.iter_mut().zip(counts.iter().cycle());
            all.for_each(|(action, count)| *action = (dice.uniform() * *count as f64).floor());
        }
        ActionSpace::Box { dims } => {
            let all = actions.iter_mut().zip(dims.iter().cycle());
            all.for_each(|(action, dim)| {
                let number = dim.low + (dim.high - dim.low) * dice.uniform();
                *action = if dim.whole { number.round() } else { number };
            });
        }
    }
}
