//! Parts of `quickstudy bench` under criterion: environments alone, and iterations of training, on one core. Of
//! environments also their step blocks as programs call them: states, observations and all else through memory, actions
//! given.
//!
//! `cargo bench -p quickstudy --features bench --bench speed`, and after `--` a part of a name, as in `cartpole`.

#![forbid(unsafe_code)]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use quickstudy::internals::{TRAINING_LINES, random_steps};
use quickstudy_core::Device;
use quickstudy_core::backend::cpu::simd::isa::Isa;
use quickstudy_core::env::{Lockstep, Source, builtin, builtin_names};
use quickstudy_core::rng::Threefry;
use quickstudy_core::train::Session;

/// Environments and steps of a run of step blocks.
const COUNT: u32 = 256;
const STEPS: u32 = 500;

fn environments(c: &mut Criterion) {
    for name in builtin_names() {
        let env = builtin(name).expect("a built-in environment");
        let mut group = c.benchmark_group(name);
        for isa in Isa::available() {
            group.throughput(Throughput::Elements(random_steps(&env, isa, [1, 2], Source::Threefry)));
            let mut run = || random_steps(&env, isa, [3, 0], Source::Threefry);
            group.bench_function(format!("{isa}, random steps"), |b| b.iter(&mut run));
            let mut rows = Lockstep::new(&env, isa, COUNT as usize);
            let mut rng = Threefry::new([1, 2]);
            rows.random_actions(|| rng.word());
            rows.reset([0, 0]);
            group.throughput(Throughput::Elements(u64::from(COUNT * STEPS)));
            let mut run = || (0..STEPS).for_each(|t| rows.step([1, t]));
            group.bench_function(format!("{isa}, step blocks"), |b| b.iter(&mut run));
        }
        group.finish();
    }
}

fn training(c: &mut Criterion) {
    let mut group = c.benchmark_group("training");
    for line in TRAINING_LINES {
        let setup = line.setup().expect("settings");
        let mut session = Session::new(&Device::cpu(1), &setup).expect("a session");
        group.sample_size(10).throughput(Throughput::Elements(setup.batch()));
        let name = format!("{} {}, {}", line.of.name, line.env, line.name);
        group.bench_function(name, |b| b.iter(|| session.step_blocking().expect("an iteration")));
    }
    group.finish();
}

criterion_group!(benches, environments, training);
criterion_main!(benches);
