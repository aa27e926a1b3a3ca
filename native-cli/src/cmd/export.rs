//! `quickstudy export`: a run as one file.

use crate::known;
use crate::outcome::Stop;
use crate::output;
use crate::picture_file::expect_extension;
use crate::run_folder::{self, file};
use crate::segments;
use quickstudy_core::in_bytes;
use quickstudy_core::train::{self, Saved};
use std::path::PathBuf;

/// Writes the last snapshot of a run as one file, with its replay memory in it: everything needed to go on.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
In the folder of a run, the rows of a replay memory lie in segments/, beside the
last.safetensors that names them. An exported file holds all of it: it can be
moved, is read by the npm package (train({ snapshot })), and goes on as the
last.safetensors of another folder. The same training gives the same bytes.

Examples:
  quickstudy export runs/pendulum-sac-s0 -o pendulum.safetensors
  mkdir new
  quickstudy export runs/pendulum-sac-s0 -o new/last.safetensors
  quickstudy train --resume new")]
pub struct ExportArgs {
    /// Run folder; a run that is training may be exported too
    #[arg(value_name = "RUN")]
    pub folder: PathBuf,
    /// File to write, .safetensors, - for standard output
    #[arg(short, long, value_name = "FILE")]
    pub out: PathBuf,
    /// Replace FILE if there is one
    #[arg(long)]
    pub force: bool,
}

/// Runs the verb.
///
/// # Errors
/// [`Stop`] with code 2 if there is no run in the folder, its snapshot or a segment cannot be read,
/// or the file is there or cannot be written.
pub fn run(args: &ExportArgs) -> Result<(), Stop> {
    expect_extension("--out", &args.out, "a snapshot", &["safetensors"])?;
    output::reserve([&*args.out])?;
    if args.out.is_file() && !args.force && !output::is_stdout(&args.out) {
        let message = format!("{} is there already", args.out.display());
        return Err(Stop::user(message).hint("--force replaces it"));
    }
    output::spare_runs([&*args.out], args.force)?;
    let bytes = exported(args)?;
    output::write(&args.out, &bytes)?;
    output::say_written(&args.out, &format!(" ({})", in_bytes(bytes.len() as u64)));
    Ok(())
}

fn exported(args: &ExportArgs) -> Result<Vec<u8>, Stop> {
    /// Snapshots of a run that goes on may follow each other quickly.
    const TRIES: usize = 20;
    let mut tries = 0;
    loop {
        let file = run_folder::read_snapshot(&args.folder, file::LAST)?;
        let read = |name: &str, bytes: u64| segments::read(&args.folder, name, bytes);
        let error = match train::joined(known::own(), Saved::in_parts(&file, &read)) {
            Ok(bytes) => return Ok(bytes),
            Err(error) => error,
        };
        // A run that goes on deletes segments once another snapshot has taken the place of this one.
        tries += 1;
        if tries < TRIES && run_folder::read_snapshot(&args.folder, file::LAST)? != file {
            continue;
        }
        let stop = Stop::from(error);
        let message = format!("{}: {}", args.folder.join(file::LAST).display(), stop.message);
        return Err(Stop { message, ..stop });
    }
}
