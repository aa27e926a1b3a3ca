//! Speed of the built-in environments stepping alone with random actions, per instruction set, on one core.
//!
//! `cargo bench -p quickstudy-core --features bench --bench env` runs them under criterion. With `-- --table` it prints
//! instead the best of many short runs, which is steadier on a shared machine, and the share of time that randomness
//! takes: the same steps with actions from a shift register and episodes that all start alike.

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput};
use quickstudy_core::backend::cpu::simd::isa::Isa;
use quickstudy_core::env::{EnvDef, Lockstep, RandomSteps, Source, builtin, builtin_names};

/// Environments and steps of one short run.
const COUNT: u32 = 256;
const STEPS: u32 = 500;

fn run(env: &EnvDef, isa: Isa, seed: u32, from: Source) -> RandomSteps {
    black_box(env.random_steps(isa, [seed, 0], COUNT, STEPS, from))
}

/// Millions of steps per second, the best of many short runs.
fn best(mut run: impl FnMut(u32) -> u64) -> f64 {
    let (begin, mut best) = (Instant::now(), 0.0_f64);
    let mut seed = 0;
    while begin.elapsed() < Duration::from_millis(700) {
        seed += 1;
        let start = Instant::now();
        let steps = run(seed);
        best = best.max(steps as f64 / start.elapsed().as_secs_f64() / 1e6);
    }
    best
}

/// Step blocks as programs call them: states, observations and all else through memory, actions given.
fn blocks(env: &EnvDef, isa: Isa) -> f64 {
    let mut rows = Lockstep::new(env, isa, COUNT as usize);
    let mut rng = quickstudy_core::rng::Threefry::new([1, 2]);
    rows.random_actions(|| rng.word());
    rows.reset([0, 0]);
    best(|seed| {
        for t in 0..STEPS {
            rows.step([seed, t]);
        }
        u64::from(COUNT * STEPS)
    })
}

fn table() {
    println!("{:<26}{:<10}{:>12}{:>12}{:>12}{:>12}", "M steps/s", "", "threefry", "cheap", "randomness", "blocks");
    for name in builtin_names() {
        let Ok(env) = builtin(name) else { continue };
        for isa in Isa::available() {
            let drawn = best(|seed| run(&env, isa, seed, Source::Threefry).steps);
            let cheap = best(|seed| run(&env, isa, seed, Source::Cheap).steps);
            let share = 100.0 * (1.0 - drawn / cheap);
            let blocks = blocks(&env, isa);
            println!(
                "{name:<26}{isa:<10}{drawn:>12.1}{cheap:>12.1}{share:>11.0}%{blocks:>12.1}",
                isa = isa.to_string()
            );
        }
    }
}

fn main() {
    if std::env::args().any(|a| a == "--table") {
        return table();
    }
    let mut criterion = Criterion::default().configure_from_args();
    for name in builtin_names() {
        let Ok(env) = builtin(name) else { continue };
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Elements(u64::from(COUNT * STEPS)));
        for isa in Isa::available() {
            group.bench_function(isa.to_string(), |b| b.iter(|| run(&env, isa, 1, Source::Threefry)));
        }
        group.finish();
    }
    criterion.final_summary();
}
