//! `quickstudy compare`: algorithms and settings by the scores of their seeds.

use crate::metrics::ENV_STEPS;
use crate::outcome::Stop;
use crate::results::comparison::document::Document;
use crate::results::comparison::format::ReportFormat;
use crate::results::comparison::{Comparison, text};
use crate::results::experiments;
use crate::settings::parse;
use crate::terminal::output::{self, say};
use std::path::{Path, PathBuf};

/// Compares algorithms and settings by the scores of their seeds: mean, median, interquartile mean (IQM) and optimality
/// gap with 95 % stratified bootstrap intervals, probability of improvement, performance profiles and sample
/// efficiency, by the definitions of rliable (Agarwal et al. 2021, arXiv:2108.13264).
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A score is the return of a run's evaluations, or of its training where some runs
of an environment have none, at a budget: the most steps that all runs there
reached. It is the evaluation nearest to the budget, within an iteration or half
the distance between evaluations, or else lies on the line between the two
around it. `plot`, `report`, `sweep` and `train` of several show the same score.
Higher is better. Runs that differ in nothing but the seed are an experiment;
its label is the algorithm, then the settings that tell experiments apart.

Normalised scores are 0 for a random policy and 1 for a published score, whose
origins are printed. An environment without both is left out of them.

Examples:
  quickstudy compare runs                       a table of all that is there
  quickstudy compare runs/* --baseline ppo      who is better than ppo
  quickstudy compare runs/* -o compare.png      intervals, profiles, curves
  quickstudy compare runs/* -o table.tex        or .md, .csv, .json, .svg
  quickstudy compare runs/* --by gamma          an experiment for each gamma
  quickstudy compare runs/* --metric rollout/ep_return_mean
  quickstudy compare runs/* --json | jq .       a JSON object on each line")]
pub(crate) struct CompareArgs {
    /// Run folders, or folders in which they lie, however deep
    #[arg(required = true, value_name = "DIR")]
    pub folders: Vec<PathBuf>,
    /// Experiment over which others are compared, by its label [default: each pair]
    #[arg(long, value_name = "LABEL")]
    pub baseline: Option<String>,
    /// Column of metrics.csv whose value at the budget is the score, higher being better [default: eval/return_mean, or
    /// rollout/ep_return_mean without evaluations]
    #[arg(long, value_name = "NAME")]
    pub metric: Option<String>,
    /// One experiment per environment and value of this setting (or algorithm, seed or folder), whatever else differs;
    /// repeatable
    #[arg(long, value_name = "KEY")]
    pub by: Vec<String>,
    /// Resamples of each interval
    #[arg(long, value_name = "N", default_value = "10000", value_parser = parse::count, allow_negative_numbers = true)]
    pub resamples: u64,
    /// File to write; its extension names the format, and - is standard output
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Format, of standard output without a file
    #[arg(long, value_enum)]
    pub format: Option<ReportFormat>,
    /// Write results to standard output as JSON, an object on each line, as --format json
    #[arg(long, conflicts_with_all = ["format", "out"])]
    pub json: bool,
    /// Write also where a file of a run is
    #[arg(long)]
    pub force: bool,
}

/// Resamples at most: more would take minutes and change no digit that is shown.
const RESAMPLES: u64 = 1_000_000;

/// Runs the verb.
pub(crate) fn run(args: &CompareArgs) -> Result<(), Stop> {
    let out = args.out.as_deref().filter(|path| !output::is_stdout(path));
    let asked = if args.json { Some(ReportFormat::Json) } else { args.format };
    let format = ReportFormat::of(out, asked)?;
    if args.resamples > RESAMPLES {
        return Err(Stop::user(format!("--resamples {}: at most {RESAMPLES}", args.resamples)));
    }
    // Standard output carries the tables for people, unless it is asked for as a file.
    if args.json {
        output::take_json();
    }
    let streamed = out.is_none() && (format != ReportFormat::Text || args.out.is_some());
    output::reserve(streamed.then_some(Path::new("-")))?;
    output::spare_runs(out, args.force)?;
    let (runs, notes) = experiments::collect(&args.folders, ENV_STEPS, args.metric.as_slice())?;
    let all = experiments::group(runs, &args.by)?;
    let (metric, baseline) = (args.metric.as_deref(), args.baseline.as_deref());
    let resamples = usize::try_from(args.resamples).unwrap_or(usize::MAX);
    let comparison = Comparison::new(&all, &args.by, metric, baseline, resamples, notes)?;
    let bytes = format.encode(&comparison)?;
    if streamed {
        output::write(Path::new("-"), &bytes)?;
        comparison.notes.iter().for_each(|note| say(note));
        return Ok(());
    }
    text::text(&Document::of(&comparison)).iter().for_each(|line| say(line));
    if let Some(path) = out {
        output::write(path, &bytes)?;
        output::say_written(path, "");
    }
    Ok(())
}
