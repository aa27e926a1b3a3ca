//! Environments alone with random actions: those of programs on one core, those of the host as they are played.

use crate::json::bench::{HostStepping, Stepping};
use crate::outcome::Stop;
use quickstudy_core::backend::cpu::simd::isa::Isa;
use quickstudy_core::env::{ActionSpace, EnvDef, Source};
use quickstudy_core::host::{Chance, Executor, FleetSize, HostPlace};
use quickstudy_core::rng::Threefry;
use std::time::Instant;

/// Makes 256 random steps of each of 4096 environments, and returns their number.
pub fn random_steps(env: &EnvDef, isa: Isa, key: [u32; 2], source: Source) -> u64 {
    env.random_steps(isa, key, 4096, 256, source).steps
}

/// Measures an environment for so many seconds.
pub(crate) fn measure(env: &EnvDef, isa: Isa, seconds: f64) -> Stepping {
    let steps_per_second = speed(env, isa, seconds / 2.0, Source::Threefry);
    let bare = speed(env, isa, seconds / 2.0, Source::Cheap);
    Stepping {
        environment: env.spec().name.clone(),
        isa: isa.to_string(),
        steps_per_second,
        // The time that goes when random numbers cost nothing and every episode starts alike.
        randomness_share: (1.0 - steps_per_second / bare).max(0.0),
    }
}

/// Environment steps per second.
fn speed(env: &EnvDef, isa: Isa, seconds: f64, source: Source) -> f64 {
    random_steps(env, isa, [1, 2], source);
    let start = Instant::now();
    let mut made = 0;
    for key in 0.. {
        made += random_steps(env, isa, [3, key], source);
        if start.elapsed().as_secs_f64() > seconds {
            break;
        }
    }
    made as f64 / start.elapsed().as_secs_f64()
}

/// Mean return of random actions: enough steps that episodes that are still running do not matter.
pub(crate) fn random_return(env: &EnvDef) -> f64 {
    let steps = env.spec().horizon as u32 * 20;
    let done = env.random_steps(Isa::detect(), [5, 6], 256, steps, Source::Threefry);
    done.reward / done.episodes as f64
}

/// Measures the executor of a place for so many seconds.
pub(crate) fn measure_host(place: &HostPlace, envs: usize, seconds: f64) -> Result<HostStepping, Stop> {
    let size = FleetSize { tasks: 1, envs_per_task: envs, horizon: place.spec().horizon };
    let mut executor = place.executor(size)?;
    let steps_per_second = pollster::block_on(speed_of_host(&mut *executor, seconds))?;
    Ok(HostStepping { environment: place.spec().name.clone(), envs, steps_per_second })
}

/// Environment steps per second on one task, all that the executor does included; the first steps are not counted.
async fn speed_of_host(executor: &mut dyn Executor, seconds: f64) -> quickstudy_core::Result<f64> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use quickstudy_core::env::builtin;

    #[test]
    fn a_random_policy_has_the_known_mean_return() {
        // Gymnasium's random policy gives 22.2 ± 0.1 on CartPole-v1.
        let found = random_return(&builtin("cartpole").unwrap());
        assert!((found - 22.2).abs() < 0.4, "{found}");
    }
}
