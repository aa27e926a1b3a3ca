//! The cases that `scripts/bench-wasm.sh` times: kernels, and training with PPO, as exported functions of a WebAssembly
//! module without imports. The caller has the clock.

#![allow(unsafe_code, reason = "exported names")]

use quickstudy_core::backend::cpu::simd::aligned::AlignedVec;
use quickstudy_core::backend::cpu::simd::dense::{DenseDims, Epilogue, Outer, dense, dense_accumulate_outer};
use quickstudy_core::backend::cpu::simd::elementwise::{BinaryOp, Operand, UnaryOp, binary, unary};
use quickstudy_core::backend::cpu::simd::gemm::{GemmDims, gemm};
use quickstudy_core::backend::cpu::simd::isa::Isa;
use quickstudy_core::backend::cpu::simd::strided::Strided;
use quickstudy_core::env::builtin;
use quickstudy_core::train::{Layer, Session, Setup};
use quickstudy_core::{Device, Error, Result};
use std::cell::RefCell;
use std::hint::black_box;

/// One thing to time.
struct Case {
    name: String,
    /// The work of one call: floating-point operations, elements, or environment steps.
    work: f64,
    run: Box<dyn FnMut()>,
}

thread_local! {
    static CASES: RefCell<Vec<Case>> = const { RefCell::new(Vec::new()) };
}

/// Prepares all cases and returns their number.
#[unsafe(no_mangle)]
pub extern "C" fn prepare() -> usize {
    let mut cases = kernels();
    // Settings of `quickstudy bench training`.
    for (env, envs, horizon, epochs, minibatches) in [
        ("cartpole", 64, 32, 4, 4),
        ("cartpole", 4, 128, 4, 4),
        ("cartpole", 2048, 32, 4, 4),
        ("pendulum", 4, 1024, 2, 16),
    ] {
        let settings = format!("envs = {envs}\nhorizon = {horizon}\nepochs = {epochs}\nminibatches = {minibatches}");
        cases.push(or_trap(training(env, &settings, format!("ppo {env} {envs} x {horizon}, steps"))));
    }
    CASES.with_borrow_mut(|all| {
        *all = cases;
        all.len()
    })
}

/// Address of the name of case `i`, UTF-8.
#[unsafe(no_mangle)]
pub extern "C" fn name(i: usize) -> *const u8 {
    CASES.with_borrow(|all| all[i].name.as_ptr())
}

/// Bytes of that name.
#[unsafe(no_mangle)]
pub extern "C" fn name_len(i: usize) -> usize {
    CASES.with_borrow(|all| all[i].name.len())
}

/// The work of one run of case `i`, in the unit that its name ends with.
#[unsafe(no_mangle)]
pub extern "C" fn work(i: usize) -> f64 {
    CASES.with_borrow(|all| all[i].work)
}

/// Runs case `i` so many times.
#[unsafe(no_mangle)]
pub extern "C" fn run(i: usize, times: usize) {
    CASES.with_borrow_mut(|all| (0..times).for_each(|_| (all[i].run)()));
}

/// A failure ends the module.
fn or_trap<T>(result: Result<T>) -> T {
    result.unwrap_or_else(|_| std::process::abort())
}

fn training(env: &str, settings: &str, name: String) -> Result<Case> {
    let settings = settings.parse().map_err(|error| Error::config("bench", format!("{error}")))?;
    let layer = Layer { origin: "bench".to_owned(), settings };
    let setup = Setup::resolve("ppo", builtin(env)?, &[0], Some(u64::MAX >> 20), &[layer])?;
    let mut session = Session::new(&Device::cpu(1), &setup)?;
    let run = Box::new(move || {
        or_trap(pollster::block_on(session.step()));
    });
    Ok(Case { name, work: setup.batch() as f64, run })
}

fn values(len: usize) -> AlignedVec {
    let values: Vec<f32> = (0..len).map(|i| ((i * 7919) % 1000) as f32 * 1e-3 - 0.5).collect();
    AlignedVec::from(&values[..])
}

fn kernels() -> Vec<Case> {
    let isa = Isa::detect();
    let flops = |k: usize, n: usize, r: usize| 2.0 * (k * n * r) as f64;
    let mut cases = Vec::new();
    let mut add = |name: String, work: f64, run: Box<dyn FnMut()>| cases.push(Case { name, work, run });
    for (k, n, lanes, back, tanh) in [
        (64, 64, 64, false, false),
        (64, 64, 128, false, false),
        (64, 64, 128, true, false),
        (64, 64, 128, false, true),
        (4, 64, 128, false, false),
    ] {
        let (a, w, bias, mut out) = (values(k * lanes), values(k * n), values(n), AlignedVec::zeroed(n * lanes));
        let (row, col) = if back { (1, k) } else { (n, 1) };
        let what = if back {
            " transposed"
        } else if tanh {
            " with tanh"
        } else {
            ""
        };
        let after = move || if tanh { Epilogue::Tanh } else { Epilogue::Linear };
        let run = move || {
            let (w, bias) = (Strided { values: black_box(&w), row, col }, Strided { values: &bias, row: 1, col: 0 });
            dense(isa, &mut out, black_box(&a), w, Some(bias), DenseDims { k, n, r: lanes }, after());
        };
        add(format!("dense {k}x{n} of {lanes} rows{what}, FLOP"), flops(k, n, lanes), Box::new(run));
    }
    for (k, n) in [(64, 64), (4, 64)] {
        let (a, g, mut dw, mut scratch) = (values(k * 128), values(n * 128), values(k * n), Vec::new());
        let run = move || {
            let outer = Outer { a: black_box(&a), g: &g, k, n, stride: 128, rows: 128 };
            dense_accumulate_outer(isa, &mut dw, n, outer, &mut scratch);
        };
        add(format!("weight gradient {k}x{n} of 128 rows, FLOP"), flops(k, n, 128), Box::new(run));
    }
    let size = 512;
    let (a, b, mut c, mut scratch) = (values(size * size), values(size * size), values(size * size), Vec::new());
    let run = move || {
        let (a, b) = (Strided { values: black_box(&a), row: size, col: 1 }, Strided { values: &b, row: size, col: 1 });
        gemm(isa, &mut c, size, a, b, GemmDims { m: size, k: size, n: size, over_rows: false }, &mut scratch);
    };
    add(format!("product {size}x{size}x{size}, FLOP"), flops(size, size, size), Box::new(run));
    let len = 4096;
    for op in [UnaryOp::Tanh, UnaryOp::Exp, UnaryOp::Log, UnaryOp::Sin, UnaryOp::Recip] {
        let (x, mut y) = (values(len), AlignedVec::zeroed(len));
        let run = move || unary(isa, op, &mut y, Operand::Slice(black_box(&x)));
        add(format!("{op:?}, elements").to_lowercase(), len as f64, Box::new(run));
    }
    let (a, b, mut y) = (values(len), values(len), AlignedVec::zeroed(len));
    let run = move || binary(isa, BinaryOp::Mul, &mut y, Operand::Slice(black_box(&a)), Operand::Slice(&b));
    add("multiplication, elements".to_owned(), len as f64, Box::new(run));
    cases
}
