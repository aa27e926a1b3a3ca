//! The cases that `scripts/bench-wasm.sh` times: kernels, and training with PPO, as exported functions of a WebAssembly
//! module without imports. The caller has the clock.

#![allow(unsafe_code, reason = "exported names")]

#[path = "../benches/shared/kernels.rs"]
mod kernels;

use kernels::{Call, flops, layer, of_each, of_each_two, product, weight_gradient};
use quickstudy_core::backend::cpu::simd::elementwise::{BinaryOp, UnaryOp};
use quickstudy_core::backend::cpu::simd::isa::Isa;
use quickstudy_core::env::builtin;
use quickstudy_core::train::{Layer, Session, Setup};
use quickstudy_core::{Device, Error, Result};
use std::cell::RefCell;

/// One thing to time.
struct Case {
    name: String,
    /// The work of one call: floating-point operations, elements, or environment steps.
    work: f64,
    run: Call,
}

thread_local! {
    static CASES: RefCell<Vec<Case>> = const { RefCell::new(Vec::new()) };
}

/// Prepares all cases and returns their number.
#[unsafe(no_mangle)]
pub extern "C" fn prepare() -> usize {
    let mut cases = kernel_cases();
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

fn kernel_cases() -> Vec<Case> {
    let isa = Isa::detect();
    let mut cases = Vec::new();
    let mut add = |name: String, work: u64, run: Call| cases.push(Case { name, work: work as f64, run });
    for (k, n, rows, transposed, tanh, what) in [
        (64, 64, 64, false, false, ""),
        (64, 64, 128, false, false, ""),
        (64, 64, 128, true, false, " transposed"),
        (64, 64, 128, false, true, " with tanh"),
        (4, 64, 128, false, false, ""),
    ] {
        let name = format!("dense {k}x{n} of {rows} rows{what}, FLOP");
        add(name, flops(k, n, rows), layer(isa, k, n, rows, transposed, tanh));
    }
    for (k, n) in [(64, 64), (4, 64)] {
        let name = format!("weight gradient {k}x{n} of 128 rows, FLOP");
        add(name, flops(k, n, 128), weight_gradient(isa, k, n, 128));
    }
    add("product 512x512x512, FLOP".to_owned(), flops(512, 512, 512), product(isa, 512));
    for op in [UnaryOp::Tanh, UnaryOp::Exp, UnaryOp::Log, UnaryOp::Sin, UnaryOp::Recip] {
        add(format!("{op:?}, elements").to_lowercase(), 4096, of_each(isa, op, 4096));
    }
    add("multiplication, elements".to_owned(), 4096, of_each_two(isa, BinaryOp::Mul, 4096));
    cases
}
