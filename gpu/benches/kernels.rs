//! Speed of the two products that training of a network spends its time on: a layer of a large batch, and that
//! layer's weight gradient. Says so and ends where there is no GPU.
//!
//! `cargo bench -p quickstudy-gpu`: a run of each is as many replays as criterion asks for, and one read at the end;
//! the throughput "elements" are floating-point operations.

#![forbid(unsafe_code)]

use std::time::Instant;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use quickstudy_core::program::{Context, Program, State};
use quickstudy_core::{DType, Device, Result};
use quickstudy_gpu::{Gpu, GpuOptions};

/// Rows of the batch.
const BATCH: usize = 131_072;
/// Width of the layer.
const WIDTH: usize = 64;

/// `c = a·b`, or the gradient `aᵀ·b` of all rows.
fn product(cx: &mut Context, gradient: bool) {
    let a = cx.input("a", &[1, BATCH, WIDTH], DType::F32);
    let shape = if gradient { [1, BATCH, WIDTH] } else { [1, WIDTH, WIDTH] };
    let b = cx.input("b", &shape, DType::F32);
    _ = cx.state("c", &if gradient { [1, WIDTH, WIDTH] } else { [1, BATCH, WIDTH] }, DType::F32);
    cx.update("c", a.matmul_with(b, gradient, false));
}

fn bench(c: &mut Criterion, device: &Device, tiled: &str, gradient: bool) -> Result<()> {
    let mut program = Program::new(device, |cx| product(cx, gradient))?;
    let values = |len: usize| -> Vec<f32> { (0..len).map(|i| ((i * 7919) % 1000) as f32 * 1e-3 - 0.5).collect() };
    let array = |rows: usize| device.array_f32(&[1, rows, WIDTH], &values(rows * WIDTH));
    let (a, b) = (array(BATCH)?, array(if gradient { BATCH } else { WIDTH })?);
    let mut state = State::new();
    state.insert("c", array(if gradient { WIDTH } else { BATCH })?);
    let scalar = device.array_f32(&[1], &[0.0])?;
    let mut group = c.benchmark_group(if gradient { "weight gradient" } else { "layer" });
    group.throughput(Throughput::Elements((2 * BATCH * WIDTH * WIDTH) as u64));
    group.sample_size(10);
    let mut failed = Ok(());
    group.bench_function(tiled, |bench| {
        bench.iter_custom(|n| {
            let mut run = || -> Result<()> {
                (0..n).try_for_each(|_| program.run(&state, &[("a", &a), ("b", &b)], &[]).map(|_| ()))?;
                // Comes after all replays.
                pollster::block_on(device.read_f32(&scalar)).map(|_| ())
            };
            let start = Instant::now();
            if let Err(e) = run() {
                failed = Err(e);
            }
            start.elapsed()
        });
    });
    failed
}

fn products(c: &mut Criterion) {
    for tiled in [false, true] {
        let options = GpuOptions { tiled: Some(tiled), ..GpuOptions::default() };
        let device = match pollster::block_on(Gpu::device(&options)) {
            Ok(device) => device,
            Err(e) => return println!("skipped: {e}"),
        };
        let name = format!("{} on {}", if tiled { "workgroup memory" } else { "registers" }, device.caps().name);
        for gradient in [false, true] {
            if let Err(e) = bench(c, &device, &name, gradient) {
                println!("{name}: {e}");
            }
        }
    }
}

criterion_group!(benches, products);
criterion_main!(benches);
