//! Time to change and to read rows of a small and of a large memory on a GPU, and the bytes that its dispatches write
//! for it. Says so and ends where there is no GPU.
//!
//! `cargo bench -p quickstudy-gpu --features bench --bench memory`. With `-- --table` it prints instead the least time
//! of many runs and the ratio of the large memory to the small one. A step is some dispatches, whose fixed costs are in
//! both. Where a buffer is too small for a million rows, as many are taken as fit.

#![forbid(unsafe_code)]

#[path = "../../core/benches/shared/memory.rs"]
mod memory;

use quickstudy_core::Device;
use quickstudy_gpu::{Gpu, GpuOptions};

fn main() {
    let gpu = match pollster::block_on(Gpu::open(&GpuOptions::default())) {
        Ok(gpu) => gpu,
        Err(e) => return println!("skipped: {e}"),
    };
    let fit = gpu.device_limits().binding_bytes as usize / (4 * memory::WIDTH);
    memory::run(&Device::new(gpu), memory::SIZES.map(|rows| rows.min(fit)));
}
