//! `quickstudy export`: a run as one file, or its policy as an ONNX model.

use crate::folder;
use crate::onnx::model;
use crate::outcome::{EXISTS, Stop};
use crate::pictures::format::{check_place, expect_extension};
use crate::results::policies::TrainedPolicy;
use crate::terminal::output::{self, say};
use crate::training::joined_snapshot;
use quickstudy_core::algo::Family;
use quickstudy_core::{Device, in_bytes};
use std::path::PathBuf;

/// Writes the last snapshot of a run as one file, with its replay buffer in it: everything needed to resume. Or writes
/// its policy as an ONNX model, which acts in other programs.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
In the folder of a run, the rows of a replay buffer lie in segments/, beside the
last.safetensors that names them. An exported file holds all of it: it can be
moved, is read by the npm package (train({ snapshot })), and resumes as the
last.safetensors of another folder. The same training gives the same bytes.

As .onnx it is the policy that eval plays, with the normaliser of observations
and the bounds of actions in it: from `obs` [batch, n] to `action`, its
deterministic action. Policies that remember have `memory_in` and `memory_out`.
docs/onnx.md shows how to run it in Python and in JavaScript.

Examples:
  quickstudy export runs/pendulum-sac-s0 -o pendulum.safetensors
  mkdir new
  quickstudy export runs/pendulum-sac-s0 -o new/last.safetensors
  quickstudy train --resume new
  quickstudy export runs/cartpole-ppo-s0 -o cartpole.onnx
  quickstudy export runs/cartpole-ppo-s0 --last --format onnx -o policy.bin")]
pub(crate) struct ExportArgs {
    /// Run folder; a run that is training may be exported too. A model may be that of a snapshot file
    #[arg(value_name = "RUN")]
    pub folder: PathBuf,
    /// File to write, .safetensors or .onnx, - for standard output
    #[arg(short, long, value_name = "FILE")]
    pub out: PathBuf,
    /// Format of FILE [default: what its extension says, or safetensors]
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub format: Option<ExportFormat>,
    /// The model is the policy at the end of training
    #[arg(long, conflicts_with = "best")]
    pub last: bool,
    /// The model is the policy with the best evaluation during training [default where there is one]
    #[arg(long)]
    pub best: bool,
    /// The model is this particle of a policy that has some, from 0 [default: the best one]
    #[arg(long, value_name = "I", allow_negative_numbers = true)]
    pub particle: Option<usize>,
    /// Replace FILE if there is one
    #[arg(long)]
    pub force: bool,
}

/// The formats of exported files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ExportFormat {
    /// Everything that training changes, to go on from
    Safetensors,
    /// The policy, as a model that acts in other programs
    Onnx,
}

/// Runs the verb.
pub(crate) fn run(args: &ExportArgs) -> Result<(), Stop> {
    let format = format(args)?;
    output::reserve([&*args.out])?;
    if args.out.is_file() && !args.force && !output::is_stdout(&args.out) {
        let message = format!("{} is there already", args.out.display());
        return Err(Stop { kind: EXISTS, ..Stop::user(message).hint("--force replaces it") });
    }
    output::spare_runs([&*args.out], args.force)?;
    let bytes = match format {
        ExportFormat::Safetensors => joined_snapshot::read(&args.folder)?,
        ExportFormat::Onnx => modelled(args)?,
    };
    output::write(&args.out, &bytes)?;
    output::say_written(&args.out, &format!(" ({})", in_bytes(bytes.len() as u64)));
    Ok(())
}

/// The format that is asked for, by name or by the file's extension.
fn format(args: &ExportArgs) -> Result<ExportFormat, Stop> {
    let format = match args.format {
        Some(format) => {
            check_place(&args.out)?;
            format
        }
        None => match expect_extension("--out", &args.out, "a run", &["safetensors", "onnx"])?.as_deref() {
            Some("onnx") => ExportFormat::Onnx,
            _ => ExportFormat::Safetensors,
        },
    };
    let flags = [("--last", args.last), ("--best", args.best), ("--particle", args.particle.is_some())];
    match flags.into_iter().find(|(_, given)| *given && format == ExportFormat::Safetensors) {
        Some((flag, _)) => {
            Err(Stop::user(format!("{flag} chooses the policy of a model, and a snapshot has everything"))
                .hint("write an .onnx file, or add `--format onnx`"))
        }
        None => Ok(format),
    }
}

/// The policy as a model.
fn modelled(args: &ExportArgs) -> Result<Vec<u8>, Stop> {
    let path = folder::policy(&args.folder, args.last, args.best)?;
    let policy = TrainedPolicy::load(&Device::cpu(1), &path, false)?.choose(args.particle)?;
    let networks = pollster::block_on(policy.evaluator.networks());
    let networks = networks.map_err(|error| Stop::from(error).about(path.display()))?;
    match policy.evaluator.family() {
        Family::Gradients => say("note: the model is the policy before it adapts to a task; `adapt` takes gradients"),
        Family::Inference => say("note: the model reads z, which stands for the task: infer it, or give zeros"),
        Family::SingleTask | Family::Memory => {}
    }
    Ok(model::bytes(&policy.evaluator, &networks))
}
