//! `quickstudy plot`: learning curves of several runs.

use crate::curve::{self, Plot, Series, short_count};
use crate::experiments::{self, Experiment, Run};
use crate::metrics::{ENV_STEPS, SECONDS};
use crate::outcome::Stop;
use crate::output;
use crate::picture_file::Format;
use crate::progress::say;
use crate::run::EPISODE_RETURN;
use crate::run_folder::find_runs;
use crate::stats;
use std::collections::HashSet;
use std::path::PathBuf;

/// Draws learning curves of runs: runs that differ in nothing but the seed share one line, their mean, with a 95 %
/// bootstrap interval.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Two folders of the same settings and seed hold the same run, which counts once:
the longer one, and a note names both. Labels are algorithm and environment,
then the settings that tell lines apart.

Examples:
  quickstudy plot runs/cartpole-ppo-s*           ten seeds: a line, an interval
  quickstudy plot runs/*                         a line for each experiment
  quickstudy plot runs/a runs/b -o compare.png   two settings: two lines
  quickstudy plot runs/* --by gamma              a line for each value of gamma
  quickstudy plot runs/a runs/b --label old --label new
  quickstudy plot runs/a --metric train/entropy  any column of metrics.csv
  quickstudy plot runs/* --x time/seconds        by the time that they took
  quickstudy plot runs/* --log-x                 from thousands to millions")]
pub struct PlotArgs {
    /// Run folders, or folders of run folders
    #[arg(required = true, value_name = "DIR")]
    pub folders: Vec<PathBuf>,
    /// File to write, .svg or .png, - for standard output [default: curves.svg]
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Column of metrics.csv to draw
    #[arg(long, value_name = "NAME", default_value = EPISODE_RETURN)]
    pub metric: String,
    /// Column of metrics.csv to draw it over
    #[arg(long, value_name = "NAME", default_value = ENV_STEPS)]
    pub x: String,
    /// Divide the horizontal axis by powers of ten
    #[arg(long)]
    pub log_x: bool,
    /// One line per environment and value of this setting (or algorithm, seed or folder), whatever else differs;
    /// repeatable
    #[arg(long, value_name = "KEY")]
    pub by: Vec<String>,
    /// Label of a line, instead of its own; one for each line, in their order
    #[arg(long = "label", value_name = "TEXT")]
    pub labels: Vec<String>,
    /// Write also where a file of a run is, such as its curve.svg
    #[arg(long)]
    pub force: bool,
}

/// Runs the verb.
///
/// # Errors
/// [`Stop`] with code 2 if a folder holds no run, no run has the metric or a key, the labels are too few or too many, or
/// the file cannot be written.
pub fn run(args: &PlotArgs) -> anyhow::Result<()> {
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from("curves.svg"));
    let format = Format::of("--out", &out)?;
    output::reserve(args.out.as_deref())?;
    output::spare_runs([&*out], args.force)?;
    let mut folders = Vec::new();
    let mut seen = HashSet::new();
    for folder in &args.folders {
        // However a folder is named, it is there once.
        let new = |found: &PathBuf| seen.insert(found.canonicalize().unwrap_or_else(|_| found.clone()));
        folders.extend(find_runs(folder)?.into_iter().filter(new));
    }
    let runs = folders.iter().map(|folder| Run::read(folder, &args.x, &args.metric)).collect::<Result<Vec<_>, _>>()?;
    let (runs, mut notes) = experiments::unique(runs);
    let mut by = args.by.clone();
    let mut named = HashSet::new();
    by.retain(|key| named.insert(key.clone()));
    let all = experiments::group(runs, &by)?;
    let (mut labels, hidden) = experiments::labels(&all, &by);
    if !args.labels.is_empty() {
        if args.labels.len() != all.len() {
            let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
            let message = format!("{} for {}", count(args.labels.len(), "label"), count(all.len(), "line"));
            return Err(Stop::user(message).hint(format!("give a --label for each of: {}", labels.join("; "))).into());
        }
        labels.clone_from(&args.labels);
    } else if !hidden.is_empty() {
        notes.push(format!("note: some lines differ in {} too; --by KEY or --label TEXT says so", hidden.join(", ")));
    }
    let what = if args.by.is_empty() { "seeds" } else { "runs" };
    let plot = describe(&all, &labels, args, what);
    let bytes = curve::draw(&plot)?.encode(format)?;
    output::write(&out, &bytes)?;
    for line in notes.into_iter().chain(table(&plot.series, args, what)) {
        say(&line);
    }
    output::say_written(&out, "");
    Ok(())
}

/// The plot of experiments: what all share is its title.
fn describe(all: &[Experiment], labels: &[String], args: &PlotArgs, what: &str) -> Plot {
    let shared = experiments::shared(all);
    let most = all.iter().map(|one| one.runs.len()).max().unwrap_or(1);
    let fewest = all.iter().map(|one| one.runs.len()).min().unwrap_or(1);
    let count = if fewest == most { most.to_string() } else { format!("{fewest} to {most}") };
    let series = |(one, label): (&Experiment, &String)| Series {
        label: label.clone(),
        runs: one.runs.iter().map(|run| run.points.clone()).collect(),
        marks: Vec::new(),
    };
    Plot {
        title: if shared.is_empty() { "Learning curves".into() } else { shared.join(" · ") },
        subtitle: if most > 1 {
            format!("mean over {count} {what}, band: 95 % bootstrap interval")
        } else {
            format!("one {}", what.trim_end_matches('s'))
        },
        x_label: match args.x.as_str() {
            ENV_STEPS => "environment steps".into(),
            SECONDS => "seconds".into(),
            other => other.into(),
        },
        log_x: args.log_x,
        y_label: if args.metric == EPISODE_RETURN { "mean episode return".into() } else { args.metric.clone() },
        series: all.iter().zip(labels).map(series).collect(),
    }
}

/// One line per series: runs, steps, and the last values over runs.
fn table(series: &[Series], args: &PlotArgs, what: &str) -> Vec<String> {
    let width = series.iter().map(|s| s.label.chars().count()).max().unwrap_or(0).max(10);
    let last = args.x.rsplit('/').next().filter(|_| args.x != ENV_STEPS).unwrap_or("steps");
    let mut lines = vec![
        format!("last {}:", args.metric),
        format!("{:<width$}  {what:>5}  {last:>6}      mean       IQM  95 % interval", "experiment"),
    ];
    for one in series {
        let ends: Vec<(f64, f64)> = one.runs.iter().filter_map(|run| run.last().copied()).collect();
        let values: Vec<f64> = ends.iter().map(|(_, y)| *y).collect();
        let steps = ends.iter().map(|(x, _)| *x).fold(0.0, f64::max);
        let (low, high) = stats::bootstrap95(&values, stats::iqm);
        lines.push(format!(
            "{:<width$}  {:>5}  {:>6}  {:>8.2}  {:>8.2}  [{low:.2}, {high:.2}]",
            one.label,
            values.len(),
            short_count(steps),
            stats::mean(&values),
            stats::iqm(&values),
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_folder::file;
    use crate::run_folder::tests::scratch;
    use std::fs;
    use std::path::Path;

    fn make_run(dir: &Path, name: &str, config: &str, last: f64) {
        let dir = dir.join(name);
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join(file::CONFIG), config).unwrap();
        let csv = format!("time/env_steps,{EPISODE_RETURN},train/entropy\n100,1,0.5\n200,{last},0.4\n");
        fs::write(dir.join(file::CSV), csv).unwrap();
    }

    fn args(dir: &Path, metric: &str) -> PlotArgs {
        let out = Some(dir.join("x.svg"));
        let (by, labels) = (Vec::new(), Vec::new());
        PlotArgs {
            folders: vec![dir.to_owned()],
            out,
            metric: metric.into(),
            x: ENV_STEPS.into(),
            log_x: false,
            by,
            labels,
            force: false,
        }
    }

    #[test]
    fn seeds_share_a_line_and_labels_say_what_differs() {
        let dir = scratch("plot");
        for seed in 0..4 {
            let config = format!("algorithm = \"ppo\"\nenv = \"cartpole\"\nseed = {seed}\ngamma = 0.99\n");
            make_run(&dir, &format!("a{seed}"), &config, 10.0 + f64::from(seed));
        }
        make_run(&dir, "b", "algorithm = \"ppo\"\nenv = \"cartpole\"\nseed = 0\ngamma = 0.9\n", 5.0);
        run(&args(&dir, EPISODE_RETURN)).unwrap();
        let svg = fs::read_to_string(dir.join("x.svg")).unwrap();
        for text in [">ppo · cartpole<", "mean over 1 to 4 seeds", ">gamma=0.99<", ">gamma=0.9<"] {
            assert!(svg.contains(text), "{text} is missing");
        }
        let read = |folder: &PathBuf| Run::read(folder, ENV_STEPS, EPISODE_RETURN).unwrap();
        let all = experiments::group(find_runs(&dir).unwrap().iter().map(read).collect(), &[]).unwrap();
        let plot = describe(&all, &experiments::labels(&all, &[]).0, &args(&dir, EPISODE_RETURN), "seeds");
        let lines = table(&plot.series, &args(&dir, EPISODE_RETURN), "seeds");
        assert_eq!(lines.len(), 4);
        // Mean of 10, 11, 12, 13; its middle half is 11 and 12.
        assert!(lines[2].contains("11.50     11.50"), "{}", lines[2]);
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{lines:?}");
        // Labels of the caller's.
        let named = |labels: &[&str]| PlotArgs {
            labels: labels.iter().map(|label| (*label).to_owned()).collect(),
            ..args(&dir, EPISODE_RETURN)
        };
        run(&named(&["far-sighted", "near-sighted"])).unwrap();
        assert!(fs::read_to_string(dir.join("x.svg")).unwrap().contains(">near-sighted<"));
        let error = run(&named(&["one"])).unwrap_err();
        let (code, hint) = crate::outcome::code_and_hint(&error);
        assert_eq!((code, hint), (2, "give a --label for each of: gamma=0.99; gamma=0.9"));
    }

    #[test]
    fn wrong_metrics_and_folders_are_user_errors() {
        let dir = scratch("plot-wrong");
        make_run(&dir, "a", "env = \"cartpole\"\n", 1.0);
        let error = run(&args(&dir, "train/entrpy")).unwrap_err();
        let (code, hint) = crate::outcome::code_and_hint(&error);
        assert_eq!((code, hint), (2, "did you mean `train/entropy`?"));
        fs::write(dir.join("a").join(file::CONFIG), "env = [").unwrap();
        assert_eq!(crate::outcome::code_and_hint(&run(&args(&dir, EPISODE_RETURN)).unwrap_err()).0, 2);
        fs::remove_file(dir.join("a").join(file::CONFIG)).unwrap();
        run(&args(&dir, EPISODE_RETURN)).unwrap();
    }
}
