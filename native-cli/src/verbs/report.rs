//! `quickstudy report`: runs on one page.

use crate::metrics::ENV_STEPS;
use crate::outcome::Stop;
use crate::pictures::format::expect_extension;
use crate::results::experiments;
use crate::results::report::ReportPage;
use crate::terminal::output::{self, say};
use quickstudy_core::in_bytes;
use std::path::PathBuf;

/// Writes one page about runs, which needs no other file and loads nothing: learning curves, the statistics of
/// `compare`, settings that differ and those in common, pictures of episodes, versions, and the commands that repeat
/// it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Runs that differ in nothing but the seed are an experiment, as for `plot` and
`compare`; scores are taken at a budget, the most steps that all runs of an environment
reached. The page works in light and dark, on phones and on paper, and has no
script. Pictures are of the first episode that the run with the median score
plays by its best policy.

Examples:
  quickstudy report runs                        a page of all that is there
  quickstudy report runs/* -o ablation.html --by gamma
  quickstudy report runs/* --baseline ppo --title 'PPO against A2C'
  quickstudy report runs/* --metric rollout/ep_return_mean")]
pub(crate) struct ReportArgs {
    /// Run folders, or folders in which they lie, however deep
    #[arg(required = true, value_name = "DIR")]
    pub folders: Vec<PathBuf>,
    /// File to write, .html, - for standard output [default: report.html]
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Heading of the page [default: experiments and environments]
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// Experiment over which others are compared, by its label [default: each pair]
    #[arg(long, value_name = "LABEL")]
    pub baseline: Option<String>,
    /// Column of metrics.csv that is drawn, and whose value at the budget is the score [default: eval/return_mean, or
    /// rollout/ep_return_mean without evaluations]
    #[arg(long, value_name = "NAME")]
    pub metric: Option<String>,
    /// One experiment per environment and value of this setting (or algorithm, seed or folder), whatever else differs;
    /// repeatable
    #[arg(long, value_name = "KEY")]
    pub by: Vec<String>,
    /// Leave out pictures, for which policies are loaded and play
    #[arg(long)]
    pub no_pictures: bool,
    /// Write also where a file of a run is
    #[arg(long)]
    pub force: bool,
}

/// Runs the verb.
pub(crate) fn run(args: &ReportArgs) -> Result<(), Stop> {
    let out = output::place(args.out.as_deref(), "report.html")?;
    expect_extension("--out", &out, "a report", &["html", "htm"])?;
    output::reserve(args.out.as_deref())?;
    output::spare_runs([&*out], args.force)?;
    let (runs, notes) = experiments::collect(&args.folders, ENV_STEPS, args.metric.as_slice())?;
    let all = experiments::group(runs, &args.by)?;
    let mut report = ReportPage::new(&all, &args.by, args.metric.as_deref(), args.baseline.as_deref(), notes)?;
    if !args.no_pictures {
        report.add_pictures();
    }
    let page = report.page(args.title.as_deref());
    output::write(&out, page.as_bytes())?;
    report.notes().iter().for_each(|note| say(note));
    output::say_written(&out, &format!(" ({})", in_bytes(page.len() as u64)));
    Ok(())
}
