//! `quickstudy devices`: what there is to compute on.

use quickstudy_core::backend::cpu::simd::isa::Isa;
use quickstudy_gpu::{AdapterInfo, adapters};

use crate::device::{ISA_VARIABLE, isa};
use crate::outcome::Stop;
use crate::progress::say;

/// Arguments of `quickstudy devices`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  quickstudy devices
  quickstudy train ppo --env cartpole --device gpu:0
  QUICKSTUDY_ISA=avx2 quickstudy train ppo --env cartpole   as without AVX-512")]
pub struct DevicesArgs {}

/// Runs the verb.
///
/// # Errors
/// [`Stop`] with code 2 if `QUICKSTUDY_ISA` names no instruction set of this processor.
pub fn run(_: &DevicesArgs) -> Result<(), Stop> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let (isa, best) = (isa()?, Isa::detect());
    let by = if isa == best { String::new() } else { format!(" as {ISA_VARIABLE} says; the processor has {best}") };
    say(&format!("cpu     {isa}{by} · {cores} core{}", if cores == 1 { "" } else { "s" }));
    let found = pollster::block_on(adapters());
    for (i, adapter) in found.iter().enumerate() {
        say(&format!("gpu:{i:<3} {}", describe(adapter)));
    }
    if found.is_empty() {
        say("no GPU was found: a driver for Vulkan, Metal or DX12 is needed");
    }
    Ok(())
}

fn describe(adapter: &AdapterInfo) -> String {
    let AdapterInfo { name, backend, driver, software, max_tensor_bytes, max_bindings, problem } = adapter;
    let kind = if *software { " · software, for tests only" } else { "" };
    let limits = format!("tensors up to {} MiB, {max_bindings} buffers per kernel", max_tensor_bytes >> 20);
    let problem = problem.as_ref().map_or(String::new(), |p| format!("\n        unusable: {p}"));
    format!("{name} · {backend}{kind}\n        {driver}\n        {limits}{problem}")
}
