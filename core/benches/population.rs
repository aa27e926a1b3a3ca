//! Measures how fast candidates are played: 1,024 of them × 4 episodes of CartPole by linear policies, which is an
//! iteration of CEM.
//!
//! `cargo bench -p quickstudy-core --features bench --bench population`. With `-- --table [THREADS]` it
//! prints environment steps per second of each of twelve iterations from the first on: at first poles fall
//! early, at last all episodes have 500 steps.

#[path = "shared/harness.rs"]
mod harness;

use std::rc::Rc;
use std::time::Instant;

use criterion::{Criterion, Throughput};
use quickstudy_core::algo::cem::{Cem, CemConfig};
use quickstudy_core::algo::{Algorithm, Metrics, Training};
use quickstudy_core::env::builtin;
use quickstudy_core::{Device, Result};

/// Training of 1,024 candidates, and a function that makes an iteration and gives its environment steps.
fn training(threads: usize) -> Result<impl FnMut() -> Result<f64>> {
    let (env, device) = (builtin("cartpole")?, Device::cpu(threads));
    let mut config = CemConfig { best_frac: 0.125, extra_decay_time: 5.0, ..CemConfig::default() };
    (config.population.n_samples, config.population.episodes) = (1024, 4);
    let algorithm: Rc<dyn Algorithm> = Rc::new(Cem::new(&config, env.spec())?);
    let mut training = Training::new(&device, algorithm, &env, &[0])?;
    let steps = training.metric_names(0).iter().position(|name| name == Metrics::STEPS).unwrap_or(0);
    let mut done = 0;
    Ok(move || {
        let metrics = pollster::block_on(training.step(done, 1000))?;
        done += 1;
        Ok(pollster::block_on(device.read(&metrics))?[steps])
    })
}

fn table(threads: usize) -> Result<()> {
    let mut iteration = training(threads)?;
    for number in 1..=12 {
        let start = Instant::now();
        let steps = iteration()?;
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "iteration {number:2}: {steps:9} steps in {:6.1} ms: {:.1} M steps/s",
            1e3 * seconds,
            1e-6 * steps / seconds
        );
    }
    Ok(())
}

fn play(c: &mut Criterion) {
    let mut group = c.benchmark_group("population");
    for threads in [1, 2] {
        let Ok(mut iteration) = training(threads) else { continue };
        let steps = (0..12).filter_map(|_| iteration().ok()).last().unwrap_or_default();
        group.throughput(Throughput::Elements(steps as u64));
        group.sample_size(20).bench_function(format!("1024 x 4, {threads} threads"), |b| b.iter(&mut iteration));
    }
    group.finish();
}

fn main() {
    harness::run(play, |threads| table(threads.parse().unwrap_or(2)).expect("iterations"));
}
