//! Speed of the CPU kernels on values in the first-level cache, per instruction set.
//!
//! `cargo bench -p quickstudy-core --features bench --bench kernels` runs them under criterion. With `-- --table` it
//! prints instead the best of many short runs, which is steadier on a shared machine, and each matrix kernel's share of
//! the multiply-add peak measured in the same minute.

#[path = "shared/harness.rs"]
mod harness;
#[path = "shared/kernels.rs"]
mod kernels;

use criterion::{Criterion, Throughput};
use harness::least;
use kernels::{Call, flops, layer, of_each, of_each_two, product, values, weight_gradient};
use quickstudy_core::backend::cpu::simd::aligned::AlignedVec;
use quickstudy_core::backend::cpu::simd::elementwise::{BinaryOp, Operand, UnaryOp, threefry};
use quickstudy_core::backend::cpu::simd::isa::Isa;
use quickstudy_core::backend::cpu::simd::peak::peak;
use quickstudy_core::backend::cpu::simd::reduce::{Reduction, accumulate_rows, reduce, reduce_outer};
use quickstudy_core::backend::cpu::{Cpu, CpuOptions};
use quickstudy_core::grad::grad;
use quickstudy_core::{DType, Device, Program, State, Tensor};
use std::hint::black_box;
use std::time::Duration;

/// Lanes of a tile.
const R: usize = 64;
/// Width of the layers.
const H: usize = 64;

/// One thing to time: what it does per call, counted in floating-point operations or elements.
struct Case {
    name: String,
    isa: Isa,
    work: u64,
    unit: &'static str,
    run: Call,
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for isa in Isa::available() {
        let mut add = |name: &str, work: u64, unit, run: Call| {
            cases.push(Case { name: name.into(), isa, work, unit, run });
        };
        let flops = peak(isa, 1000);
        add("peak", flops, "FLOP", Box::new(move || _ = peak(isa, 1000)));
        matrix_cases(isa, &mut add);
        elementwise_cases(isa, &mut add);
        activation_cases(isa, &mut add);
    }
    cases
}

type Add<'a> = &'a mut dyn FnMut(&str, u64, &'static str, Call);

fn matrix_cases(isa: Isa, add: Add<'_>) {
    for r in [16, 32, 48, 64] {
        add(&format!("dense 64x64 R={r}"), flops(H, H, r), "FLOP", layer(isa, H, H, r, false, false));
    }
    add("dense 64x64 transposed weights", flops(H, H, R), "FLOP", layer(isa, H, H, R, true, false));
    add("dense 64x64 tanh", flops(H, H, R), "FLOP", layer(isa, H, H, R, false, true));
    add("dense 4x64", flops(4, H, R), "FLOP", layer(isa, 4, H, R, false, false));
    add("dense 64x2", flops(H, 2, R), "FLOP", layer(isa, H, 2, R, false, false));
    add("dense 256x256", flops(256, 256, R), "FLOP", layer(isa, 256, 256, R, false, false));
    for (k, n) in [(H, H), (4, H), (H, 2), (H, 1), (256, 256)] {
        add(&format!("outer {k}x{n}"), flops(k, n, R), "FLOP", weight_gradient(isa, k, n, R));
    }
    for size in [64, 256, 512] {
        add(&format!("gemm {size}"), flops(size, size, size), "FLOP", product(isa, size));
    }
}

fn elementwise_cases(isa: Isa, add: Add<'_>) {
    let ops = [UnaryOp::Tanh, UnaryOp::Exp, UnaryOp::Log, UnaryOp::Sin, UnaryOp::Cos, UnaryOp::Floor, UnaryOp::Recip];
    for (op, len) in ops.map(|op| (op, 4096)).into_iter().chain([(UnaryOp::Tanh, 64), (UnaryOp::Tanh, 1024)]) {
        add(&format!("{op:?} {len}").to_lowercase(), len as u64, "elem", of_each(isa, op, len));
    }
    for (op, len) in [(BinaryOp::Add, 64), (BinaryOp::Add, 1024), (BinaryOp::Lt, 1024), (BinaryOp::MulU, 1024)] {
        add(&format!("{op:?} {len}").to_lowercase(), len as u64, "elem", of_each_two(isa, op, len));
    }
    let (c, mut x0, mut x1) = (values(1024), AlignedVec::zeroed(1024), AlignedVec::zeroed(1024));
    let run = Box::new(move || {
        let operands = [Operand::Splat(1.0), Operand::Splat(2.0), Operand::Slice(black_box(&c)), Operand::Splat(0.0)];
        threefry(isa, &mut x0, &mut x1, operands);
    });
    add("threefry 1024", 2048, "elem", run);
    let x = values(1024);
    add("sum 1024", 1024, "elem", Box::new(move || _ = black_box(reduce(isa, Reduction::Sum, black_box(&x)))));
    let (x, mut y) = (values(H * R), AlignedVec::zeroed(R));
    let run = Box::new(move || reduce_outer(isa, Reduction::Sum, &mut y, black_box(&x), H, R));
    add("sum over M of [64][64]", (H * R) as u64, "elem", run);
    let (x, mut acc) = (values(H * R), AlignedVec::zeroed(H * 16));
    let run = Box::new(move || accumulate_rows(isa, Reduction::Sum, &mut acc, black_box(&x), R, 0..R));
    add("accumulate rows of [64][64]", (H * R) as u64, "elem", run);
}

/// Two hidden layers of 64 and an output, as programs run them: products with what follows them. 4 rows are a rollout.
fn activation_cases(isa: Isa, add: Add<'_>) {
    type Activation = fn(Tensor) -> Tensor;
    let activations: [(&str, Activation); 5] = [
        ("no activation", |x| x),
        ("tanh", Tensor::tanh),
        ("relu", |x| x.max(Tensor::constant_f32(0.0))),
        ("sigmoid", Tensor::sigmoid),
        ("softplus", Tensor::softplus),
    ];
    let device = Device::new(Cpu::new(CpuOptions { isa, threads: 1, ..CpuOptions::default() }));
    let shapes = [[1, H, H], [1, 1, H], [1, H, H], [1, 1, H], [1, H, 1]];
    for (rows, back) in [(4, false), (1024, false), (1024, true)] {
        for (name, activation) in activations {
            let program = Program::new(&device, |cx| {
                let x = cx.input("x", &[1, rows, H], DType::F32);
                let names = ["w1", "b1", "w2", "b2", "w3"];
                let [w1, b1, w2, b2, w3] = std::array::from_fn(|i| cx.input(names[i], &shapes[i], DType::F32));
                let hidden = activation(activation(x.matmul(w1) + b1).matmul(w2) + b2);
                let loss = hidden.matmul(w3).square().mean(&[0, 1, 2]);
                let gradients = if back { grad(loss, &[w1, b1, w2, b2, w3]) } else { Vec::new() };
                [loss].into_iter().chain(gradients).enumerate().for_each(|(i, y)| cx.output(&i.to_string(), y));
            });
            let array = |shape: &[usize; 3]| {
                let numbers: Vec<f64> = values(shape.iter().product()).iter().map(|x| f64::from(*x) * 0.5).collect();
                device.array(shape, &numbers)
            };
            let inputs: Result<Vec<_>, _> = [[1, rows, H]].iter().chain(&shapes).map(array).collect();
            let (Ok(mut program), Ok(inputs)) = (program, inputs) else { continue };
            let run = move || {
                let named: Vec<_> = ["x", "w1", "b1", "w2", "b2", "w3"].into_iter().zip(&inputs).collect();
                _ = black_box(program.run(&State::new(), &named, &[]));
            };
            let work = 2 * rows * (2 * H * H + H) * if back { 3 } else { 1 };
            let way = if back { "and back" } else { "forward" };
            add(&format!("layers of {rows} rows {way}, {name}"), work as u64, "FLOP", Box::new(run));
        }
    }
}

fn table(filter: &str) {
    let mut peak = f64::NAN;
    for mut case in cases() {
        if case.name != "peak" && !format!("{}/{}", case.isa, case.name).contains(filter) {
            continue;
        }
        let [seconds] = least([&mut *case.run], Duration::from_millis(150));
        let rate = case.work as f64 / seconds * 1e-9;
        if case.name == "peak" {
            peak = rate;
        }
        let share = if case.unit == "FLOP" { format!("{:5.1} % of peak", rate / peak * 100.0) } else { String::new() };
        println!(
            "{:9} {:32} {:9.1} ns {:8.2} G{}/s {share}",
            case.isa.to_string(),
            case.name,
            seconds * 1e9,
            rate,
            case.unit
        );
    }
}

fn benches(c: &mut Criterion) {
    for mut case in cases() {
        let mut group = c.benchmark_group(case.isa.to_string());
        group.throughput(Throughput::Elements(case.work));
        group.bench_function(&case.name, |bencher| bencher.iter(&mut case.run));
        group.finish();
    }
}

fn main() {
    harness::run(benches, table);
}
