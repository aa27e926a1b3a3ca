//! Opens a GPU for tests, and plans for it.

use quickstudy_core::Device;
use quickstudy_core::program::Trace;
use quickstudy_gpu::{Gpu, GpuOptions, Plan, PlanOptions};

/// Environment variable: `default` asks every GPU for WebGPU's default limits only, as a browser may offer no more, in
/// all tests.
pub const LIMITS: &str = "QUICKSTUDY_GPU_LIMITS";

/// The GPU, a software one included. A test that opens it is ignored where there is none: `cfg(without_gpu)` of
/// `tests/build.rs`.
///
/// # Panics
/// If there is none, or [`LIMITS`] is set to anything but `default`.
#[must_use]
#[allow(clippy::panic, reason = "called by tests only")]
pub fn open(options: &GpuOptions) -> Gpu {
    let mut options = options.clone();
    match std::env::var(LIMITS).as_deref() {
        Err(_) => {}
        Ok("default") => options.default_limits = true,
        Ok(other) => panic!("{LIMITS} is `{other}`; `default` is all that it may be"),
    }
    pollster::block_on(Gpu::open(&options)).unwrap_or_else(|error| panic!("a GPU is required: {error}"))
}

/// Opens the GPU as a device, with all that it offers.
///
/// # Panics
/// As [`open`].
#[must_use]
pub fn device() -> Device {
    Device::new(open(&GpuOptions::default()))
}

/// Plans a program as GPUs do.
///
/// # Panics
/// If it cannot be planned.
#[must_use]
#[allow(clippy::panic, reason = "called by tests only")]
pub fn plan(trace: Trace) -> Plan {
    Plan::new(trace, &PlanOptions::default()).unwrap_or_else(|error| panic!("there is no plan: {error}"))
}

/// The factor by which errors on a GPU may be larger than where every operation rounds correctly: 1 on Mesa's and
/// Chromium's software adapters. WGSL allows quotients to be off by 2.5 units in the last place instead of half a one,
/// and roots by about twice as much.
#[must_use]
pub fn slack(device: &Device) -> f64 {
    let name = &device.caps().name;
    if ["llvmpipe", "SwiftShader"].iter().any(|exact| name.contains(exact)) { 1.0 } else { 10.0 }
}

/// A training on the GPU and on the CPU.
#[derive(Debug)]
pub struct Both<T> {
    /// How far parameters moved on the CPU.
    pub moved: f64,
    /// How far they are apart then.
    pub apart: f64,
    /// Further values that were read of both.
    pub read: [T; 2],
}

/// Trains on the GPU and on the CPU by a function that gives parameters before and after, and what else is compared.
/// `measure` tells how far vectors are apart.
#[must_use]
pub fn both<T>(
    what: &str,
    measure: impl Fn(&[f64], &[f64]) -> f64,
    train: impl Fn(&Device) -> (Vec<f64>, Vec<f64>, T),
) -> Both<T> {
    let ((_, on_gpu, a), (first, on_cpu, b)) = (train(&device()), train(&Device::cpu(1)));
    let (moved, apart) = (measure(&on_cpu, &first), measure(&on_gpu, &on_cpu));
    println!("{what}: parameters moved by {moved:e} and are {apart:e} apart");
    Both { moved, apart, read: [a, b] }
}
