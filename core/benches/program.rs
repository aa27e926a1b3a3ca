//! Measures the cost of a program apart from its work: tracing an iteration of PPO, MAML's family and RL²,
//! compiling it for the CPU, and replaying a program of one tiny operation. It also times a loop over rows that ends
//! early, beside the same loop that goes on to its end.
//!
//! `cargo bench -p quickstudy-core --features bench --bench program`. With `-- --table` it prints the least
//! times of the loops and their ratio only.

#[path = "shared/harness.rs"]
mod harness;

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use criterion::Criterion;
use harness::least;
use quickstudy_core::algo::ppo::PpoConfig;
use quickstudy_core::algo::{Ppo, Sac, SacConfig, Training};
use quickstudy_core::meta::{Maml, MamlConfig, Rl2, Rl2Config, Rl2Variant, Variant};
use quickstudy_core::tensor::{Loop, scan, scan_until};
use quickstudy_core::{DType, Device, Program, State, Tensor, env};

fn tracing(c: &mut Criterion) {
    let mut group = c.benchmark_group("tracing");
    group.sample_size(30);
    for name in ["cartpole", "pendulum"] {
        let Ok(env) = env::builtin(name) else { continue };
        let config = PpoConfig::default();
        group.bench_function(format!("trace PPO on {name}"), |b| {
            b.iter(|| Training::trace(&Ppo::new(&config, env.spec())?, &env, 1))
        });
        let device = Device::cpu(1);
        group.bench_function(format!("all of setting up PPO on {name}"), |b| {
            b.iter(|| {
                let ppo = std::rc::Rc::new(Ppo::new(&config, env.spec())?);
                Training::new(&device, ppo, &env, &[0])
            });
        });
    }
    if let Ok(env) = env::builtin("pendulum") {
        let config = SacConfig::default();
        group.bench_function("trace SAC on pendulum", |b| {
            b.iter(|| Training::trace(&Sac::of(&config, env.spec())?, &env, 1))
        });
        let trace = Sac::of(&config, env.spec()).and_then(|sac| Training::trace(&sac, &env, 1)).map(Arc::new);
        let device = Device::cpu(1);
        group.bench_function("compile SAC for the CPU", |b| {
            b.iter(|| trace.as_ref().map(|trace| device.compile(trace.clone()).is_ok()))
        });
    }
    let Ok(env) = env::builtin("point-corner") else { return };
    for variant in [Variant::ProMp, Variant::MamlTrpo] {
        let config = MamlConfig::of(variant);
        let name = format!("trace {} on point-corner", variant.name());
        group.bench_function(name, |b| b.iter(|| Training::trace(&Maml::new(variant, &config, env.spec())?, &env, 1)));
    }
    for variant in Rl2Variant::ALL {
        let config = Rl2Config { episodes: 4, ..Rl2Config::of(variant) };
        let name = format!("trace RL² by {variant:?} on point-corner, trials of 400 steps");
        group.bench_function(name, |b| b.iter(|| Training::trace(&Rl2::new(variant, &config, env.spec())?, &env, 1)));
    }
}

fn replay(c: &mut Criterion) {
    let device = Device::cpu(1);
    let program = Program::new(&device, |cx| {
        let x = cx.state("x", &[1], DType::F32);
        cx.update("x", x + 1.0);
    });
    let (Ok(mut program), Ok(x)) = (program, device.array(&[1], &[0.0])) else { return };
    let mut state = State::new();
    state.insert("x", x);
    c.bench_function("replay of one operation", |b| b.iter(|| program.run(&state, &[], &[])));
}

/// Rows of the loops, their steps, and after how many all rows have ended.
const ROWS: usize = 256;
const STEPS: usize = 500;
const LAST: u32 = 20;

/// A program whose rows go through a network of 4, 16 and 4 units until each has made [`LAST`] steps; with `ends`, its
/// loop ends then.
fn rows(ends: bool) -> impl FnMut() {
    let device = Device::cpu(1);
    let mut program = Program::new(&device, |cx| {
        let (x, w) = (cx.input("x", &[1, ROWS, 4], DType::F32), cx.input("w", &[1, 4, 16], DType::F32));
        let first = [x, Tensor::constant_u32(0).broadcast_to(&[1, ROWS])];
        let step = |c: &[Tensor]| {
            let x = c[0].matmul(w).tanh().matmul_with(w, false, true).tanh();
            (x, c[1] + Tensor::constant_u32(1))
        };
        let last = Tensor::constant_u32(LAST);
        let end = |made: Tensor| made.eq(last);
        let (carry, _) = if ends {
            scan_until(STEPS, &first, &[], |_, c, _| {
                let (x, made) = step(c);
                (Loop { carry: vec![x, made], ys: Vec::new() }, end(made))
            })
        } else {
            scan(STEPS, false, &first, &[], |_, c, _| {
                let ((x, made), ended) = (step(c), end(c[1]));
                let carry = vec![ended.unsqueeze(2).select(c[0], x), ended.select(c[1], made)];
                Loop { carry, ys: Vec::new() }
            })
        };
        cx.output("x", carry[0]);
    })
    .expect("a program");
    let numbers = |n: usize| (0..n).map(|i| ((i * 7919) % 1009) as f32 / 504.5 - 1.0).collect::<Vec<f32>>();
    let x = device.array_f32(&[1, ROWS, 4], &numbers(ROWS * 4)).expect("rows");
    let w = device.array_f32(&[1, 4, 16], &numbers(64)).expect("weights");
    let state = State::new();
    move || {
        black_box(program.run(&state, &[("x", &x), ("w", &w)], &[]).expect("a run"));
    }
}

fn ends(c: &mut Criterion) {
    let mut group = c.benchmark_group(format!("{ROWS} rows that end after {LAST} of {STEPS} steps"));
    group.bench_function("in a loop that ends then", |b| b.iter(rows(true)));
    group.bench_function("in one that goes on", |b| b.iter(rows(false)));
    group.finish();
}

fn table() {
    let [ends, goes_on] = &mut [true, false].map(rows);
    let [ends, goes_on] = least([ends, goes_on], Duration::from_secs(3)).map(|seconds| seconds * 1e6);
    println!("{ROWS} rows that end after {LAST} of {STEPS} steps, in µs");
    println!("a loop that ends then {ends:.1}, one that goes on {goes_on:.1}, ratio {:.3}", ends / goes_on);
}

fn main() {
    let benches = |c: &mut Criterion| {
        tracing(c);
        replay(c);
        ends(c);
    };
    harness::run(benches, |_| table());
}
