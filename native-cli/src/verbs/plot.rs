//! `quickstudy plot`: learning curves of several runs.

use crate::metrics::ENV_STEPS;
use crate::outcome::Stop;
use crate::pictures::format::Format;
use crate::results::curves::{Curves, CurvesRequest};
use crate::settings::parse;
use crate::terminal::json_args::JsonArgs;
use crate::terminal::output::{self, say};
use std::collections::HashSet;
use std::path::PathBuf;

/// Draws learning curves of runs: runs that differ in nothing but the seed share one line, at each step the mean of the
/// seeds that there are, with its 95 % bootstrap interval.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Each environment has a panel, and each metric. Without --metric these are the
returns of evaluations where all runs of an environment have some, otherwise
those of training. A line is thin behind a bar where its first seed ends. The
number beside it, and in the table that is printed, is its mean score, as by
`compare`: that at the most steps that all runs of the panel reached. Over
another axis, or smoothed, it is the mean of the seeds that are there at the
line's end. The interval is that of the mean. A single seed has none.

Folders of the same settings, the same seed and the same rows of all metrics
hold the same run, which counts once: the longer one, and a note names both.
Labels are the algorithm, then the settings that tell lines apart.

Examples:
  quickstudy plot runs/cartpole-ppo-s*           ten seeds: a line, an interval
  quickstudy plot runs                           a line for each experiment
  quickstudy plot runs/a runs/b -o compare.png   two settings: two lines
  quickstudy plot runs/* --by gamma              a line for each value of gamma
  quickstudy plot runs/a runs/b --label old --label new
  quickstudy plot runs/a --metric train/entropy --metric train/value_loss
  quickstudy plot runs/* --smooth 10k            means of 10,000 steps each
  quickstudy plot runs/* --x time/seconds        by the time that they took
  quickstudy plot runs/* --log-x                 from thousands to millions
  quickstudy plot runs --json | jq .mean         a JSON object on each line")]
pub(crate) struct PlotArgs {
    /// Run folders, or folders in which they lie, however deep
    #[arg(required = true, value_name = "DIR")]
    pub folders: Vec<PathBuf>,
    /// File to write, .svg or .png, - for standard output [default: curves.svg]
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Column of metrics.csv to draw, each in a panel; repeatable [default: eval/return_mean, or rollout/ep_return_mean
    /// without evaluations]
    #[arg(long = "metric", value_name = "NAME")]
    pub metrics: Vec<String>,
    /// Column of metrics.csv to draw it over
    #[arg(long, value_name = "NAME", default_value = ENV_STEPS)]
    pub x: String,
    /// Divide the horizontal axis by powers of ten
    #[arg(long)]
    pub log_x: bool,
    /// Draw the mean of a window of this width around each point, in steps or whatever is along the horizontal axis
    #[arg(long, value_name = "WIDTH", value_parser = parse::count, allow_negative_numbers = true)]
    pub smooth: Option<u64>,
    /// One line per environment and value of this setting (or algorithm, seed or folder), whatever else differs;
    /// repeatable
    #[arg(long, value_name = "KEY")]
    pub by: Vec<String>,
    /// Label of a line, instead of its own; one for each label of the legend, in their order
    #[arg(long = "label", value_name = "TEXT")]
    pub labels: Vec<String>,
    /// Results as lines of JSON
    #[command(flatten)]
    pub json: JsonArgs,
    /// Write also where a file of a run is, such as its curve.svg
    #[arg(long)]
    pub force: bool,
}

/// Runs the verb.
pub(crate) fn run(args: &PlotArgs) -> Result<(), Stop> {
    let out = output::place(args.out.as_deref(), "curves.svg")?;
    let format = Format::of("--out", &out)?;
    args.json.reserve(args.out.as_deref())?;
    output::spare_runs([&*out], args.force)?;
    let request = CurvesRequest {
        metrics: once(&args.metrics),
        x: args.x.clone(),
        log_x: args.log_x,
        smooth: args.smooth,
        by: once(&args.by),
        labels: args.labels.clone(),
    };
    let curves = Curves::read(&args.folders, request)?;
    output::write(&out, &curves.sheet()?.encode(format)?)?;
    curves.notes.iter().chain(&curves.table()).for_each(|line| say(line));
    output::say_written(&out, "");
    args.json.write(&curves.line(&out))?;
    args.json.write_notes(&curves.notes)?;
    curves.series_lines().try_for_each(|line| args.json.write(&line))
}

/// Values in their order, each once.
fn once(values: &[String]) -> Vec<String> {
    let mut named = HashSet::new();
    values.iter().filter(|value| named.insert(value.as_str())).cloned().collect()
}
