//! Measures PEARL's updates at the sizes of its paper's cheetahs: 16 tasks with 256 transitions each, contexts of
//! 100, networks of three layers of 300 units and an encoder of 200. The environment is a stand-in with as many
//! numbers, since only these matter for an update.
//!
//! `cargo bench -p quickstudy-core --features bench --bench pearl`. With `-- --table [THREADS]` it prints updates and
//! arithmetic per second of five iterations, as `tests/peers/pearl_jax.py` does of a program of the same step.

#[path = "shared/harness.rs"]
mod harness;

use std::rc::Rc;
use std::time::Instant;

use criterion::{Criterion, Throughput};
use quickstudy_core::algo::{Algorithm, Training};
use quickstudy_core::env::{ActionSpace, Dim, Draws, Env, EnvDef, EnvSpec, Mask as _, Real, Step};
use quickstudy_core::meta::{Pearl, PearlConfig};
use quickstudy_core::{Device, Result};

/// Updates of an iteration.
const UPDATES: usize = 20;

quickstudy_core::fields! {
    /// One number.
    struct EnvPlace {
        /// It.
        x,
    }
}

/// An environment with the numbers of a cheetah: 20 observations and 6 actions.
struct StandIn;

impl Env for StandIn {
    type State<R: Real> = EnvPlace<R>;

    fn spec(&self) -> EnvSpec {
        let actions = ActionSpace::continuous(vec![Dim::new("torque", -1.0, 1.0); 6]);
        let task = vec![Dim::new("speed", 0.0, 3.0)];
        EnvSpec::new("stand-in", vec![Dim::unbounded("x"); 20], actions, 200).task(task)
    }

    #[inline(always)]
    fn reset<R: Real>(&self, _: &[R], rng: &mut Draws<R>) -> EnvPlace<R> {
        EnvPlace { x: rng.range(-1.0, 1.0) }
    }

    #[inline(always)]
    fn step<R: Real>(&self, s: EnvPlace<R>, action: &[R], task: &[R], _: &mut Draws<R>) -> Step<R, Self> {
        let x = s.x * R::lit(0.9) + action[0];
        Step { next: EnvPlace { x }, reward: -(x - task[0]).abs(), terminated: R::Mask::splat(false) }
    }

    #[inline(always)]
    fn observe<R: Real>(&self, s: &EnvPlace<R>, _: &[R], out: &mut [R]) {
        out.iter_mut().enumerate().for_each(|(i, out)| *out = s.x * R::lit(i as f64 * 0.1));
    }
}

/// Training past its first visits, and what an iteration computes in GFLOP.
fn training(threads: usize) -> Result<(impl FnMut() -> Result<()>, f64)> {
    let (env, device) = (EnvDef::new(StandIn)?, Device::cpu(threads));
    let config = PearlConfig {
        num_steps_per_epoch: UPDATES,
        num_tasks_sample: 25,
        num_steps_prior: 200,
        num_extra_rl_steps_posterior: 0,
        ..PearlConfig::default()
    };
    let pearl = Pearl::new(&config, env.spec())?;
    let pearl: Rc<dyn Algorithm> = pearl.for_steps(100_000)?.ok_or(quickstudy_core::Error::Interrupted)?.into();
    let gigaflops = Training::trace(&*pearl, &env, 1)?.flops().total() as f64 / 1e9;
    let mut training = Training::new(&device, pearl, &env, &[0])?;
    let mut done = 0;
    let mut step = move || {
        let metrics = pollster::block_on(training.step(done, 100))?;
        done += 1;
        pollster::block_on(device.read(&metrics)).map(|_| ())
    };
    for _ in 0..5 {
        step()?;
    }
    Ok((step, gigaflops))
}

fn updates(c: &mut Criterion) {
    let mut group = c.benchmark_group("PEARL");
    group.sample_size(10).throughput(Throughput::Elements(UPDATES as u64));
    for threads in [1, 2] {
        let Ok((mut step, _)) = training(threads) else { continue };
        group.bench_function(format!("updates, threads: {threads}"), |b| b.iter(&mut step));
    }
}

fn table(threads: usize) -> Result<()> {
    let (mut step, gigaflops) = training(threads)?;
    for _ in 0..5 {
        let start = Instant::now();
        step()?;
        let taken = start.elapsed().as_secs_f64();
        println!("{:.2} updates/s   {:.1} GFLOP/s", UPDATES as f64 / taken, gigaflops / taken);
    }
    Ok(())
}

fn main() {
    harness::run(updates, |threads| table(threads.parse().unwrap_or(1)).expect("updates"));
}
