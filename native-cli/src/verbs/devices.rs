//! `quickstudy devices`: what there is to compute on.

use quickstudy_core::backend::cpu::simd::isa::Isa;

use crate::json::devices::DevicesLine;
use crate::json::{VERSION, note_line};
use crate::machine::device::{ISA_VARIABLE, isa};
use crate::machine::gpus;
use crate::outcome::Stop;
use crate::terminal::json_args::JsonArgs;
use crate::terminal::output::{say, say_text};
use crate::text::numbers::plural;

/// Arguments of `quickstudy devices`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  quickstudy devices
  quickstudy devices --json                  a JSON object on each line
  quickstudy train ppo --env cartpole --device gpu:0
  QUICKSTUDY_ISA=avx2 quickstudy train ppo --env cartpole   as without AVX-512")]
pub(crate) struct DevicesArgs {
    /// Results as lines of JSON
    #[command(flatten)]
    pub json: JsonArgs,
}

/// Runs the verb.
pub(crate) fn run(args: &DevicesArgs) -> Result<(), Stop> {
    let json = args.json;
    json.reserve([])?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let (isa, best) = (isa()?, Isa::detect());
    let by = if isa == best { String::new() } else { format!(" as {ISA_VARIABLE} says; the processor has {best}") };
    say(&format!("cpu     {isa}{by} · {}", plural(cores, "core")));
    let found = gpus::adapters();
    json.write(&DevicesLine::Devices { version: VERSION, gpus: found.len() })?;
    let [device, isa, best_isa] = ["cpu".to_owned(), isa.to_string(), best.to_string()];
    json.write(&DevicesLine::Cpu { device, isa, best_isa, cores })?;
    for (i, adapter) in found.iter().enumerate() {
        say_text(&format!("gpu:{i:<3} {}", adapter.lines));
        json.write(&DevicesLine::Gpu {
            device: format!("gpu:{i}"),
            name: adapter.name.clone(),
            backend: adapter.backend.clone(),
            driver: adapter.driver.clone(),
            software: adapter.software,
            max_tensor_bytes: adapter.max_tensor_bytes,
            max_bindings: adapter.max_bindings,
            problem: adapter.problem.clone(),
        })?;
    }
    if found.is_empty() {
        say(gpus::missing());
        json.write(&note_line(gpus::missing()))?;
    }
    Ok(())
}
