//! `quickstudy devices`: what there is to compute on.

use quickstudy_core::backend::cpu::simd::isa::Isa;

use crate::device::{ISA_VARIABLE, isa};
use crate::gpus;
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
    let found = gpus::adapters();
    for (i, adapter) in found.iter().enumerate() {
        say(&format!("gpu:{i:<3} {}", adapter.lines));
    }
    if found.is_empty() {
        say(gpus::missing());
    }
    Ok(())
}
