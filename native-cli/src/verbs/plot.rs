//! `quickstudy plot`: learning curves of several runs.

use crate::curve::{self, Plot, Series};
use crate::json::plot::PlotLine;
use crate::json::{VERSION, ends, finite};
use crate::metrics::ENV_STEPS;
use crate::metrics::names::axis_title;
use crate::outcome::Stop;
use crate::pictures::format::Format;
use crate::results::comparison::tasks;
use crate::results::experiments::{self, Experiment};
use crate::results::score::phrase;
use crate::settings::parse;
use crate::statistics;
use crate::statistics::aggregate::Aggregate;
use crate::statistics::band::{self, smooth};
use crate::terminal::json_args::JsonArgs;
use crate::terminal::output::{self, say};
use crate::text::numbers::short_count;
use std::collections::HashSet;
use std::path::PathBuf;
use toml::Value;

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

/// Panels of one picture at most.
const PANELS: usize = 36;

/// Runs the verb.
pub(crate) fn run(args: &PlotArgs) -> Result<(), Stop> {
    let out = output::place(args.out.as_deref(), "curves.svg")?;
    let format = Format::of("--out", &out)?;
    args.json.reserve(args.out.as_deref())?;
    output::spare_runs([&*out], args.force)?;
    let metrics = once(&args.metrics);
    let (mut runs, mut notes) = experiments::collect(&args.folders, &args.x, &metrics)?;
    if let Some(width) = args.smooth {
        let curves = runs.iter_mut().flat_map(|run| &mut run.curves);
        curves.for_each(|(_, points)| *points = smooth(points, width as f64));
    }
    let by = once(&args.by);
    let all = experiments::group(runs, &by)?;
    let lines = lines(&all, &by, &args.labels, &mut notes)?;
    let panels = panels(&all, &metrics, &mut notes)?;
    let (plots, columns) = plots(&lines, &panels, args, &mut notes);
    let [title, subtitle] = head(&all, &plots, args);
    let bytes = curve::draw_panels(&title, &subtitle, &plots, columns)?.encode(format)?;
    output::write(&out, &bytes)?;
    for line in notes.iter().chain(&tables(&plots, &panels, args)) {
        say(line);
    }
    output::say_written(&out, "");
    args.json.write(&PlotLine::Plot {
        version: VERSION,
        path: out.display().to_string(),
        title,
        x: args.x.clone(),
        smooth: args.smooth,
    })?;
    args.json.write_notes(&notes)?;
    for (plot, panel) in plots.iter().zip(&panels) {
        let line = |one| curve_line(panel.env.map(experiments::show), &panel.metric, one);
        plot.series.iter().try_for_each(|one| args.json.write(&line(one)))?;
    }
    Ok(())
}

/// Values in their order, each once.
fn once(values: &[String]) -> Vec<String> {
    let mut named = HashSet::new();
    values.iter().filter(|value| named.insert(value.as_str())).cloned().collect()
}

/// True if lines are over seeds; with `--by` they are over runs that may differ in more.
fn what(args: &PlotArgs) -> &'static str {
    if args.by.is_empty() { "seeds" } else { "runs" }
}

/// An experiment with the label and the number of its lines.
struct Labelled<'a> {
    of: &'a Experiment,
    label: String,
    color: usize,
}

/// Labels and colours: experiments of the same label on different environments share them.
fn lines<'a>(
    all: &'a [Experiment],
    by: &[String],
    given: &[String],
    notes: &mut Vec<String>,
) -> Result<Vec<Labelled<'a>>, Stop> {
    let (labels, hidden) = experiments::labels(all, by);
    // Of labels that are the same on one environment, each is an entry of its own.
    let mut entries: Vec<(&String, usize)> = Vec::new();
    let mut colors = Vec::new();
    for (i, (one, label)) in all.iter().zip(&labels).enumerate() {
        let alike = |(other, known): &(&Experiment, &String)| other.env() == one.env() && *known == label;
        let entry = (label, all.iter().zip(&labels).take(i).filter(alike).count());
        colors.push(entries.iter().position(|known| *known == entry).unwrap_or(entries.len()));
        if colors.last() == Some(&entries.len()) {
            entries.push(entry);
        }
    }
    if given.is_empty() {
        if !hidden.is_empty() {
            let hidden = hidden.join(", ");
            notes.push(format!("note: some lines differ in {hidden} too; --by KEY or --label TEXT says so"));
        }
    } else if given.len() != entries.len() {
        let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        let message = format!("{} for {}", count(given.len(), "label"), count(entries.len(), "line"));
        let own: Vec<&str> = entries.iter().map(|(label, _)| label.as_str()).collect();
        return Err(Stop::user(message).hint(format!("give a --label for each of: {}", own.join("; "))));
    }
    let label = |color: usize| given.get(color).unwrap_or(entries[color].0).clone();
    Ok(all.iter().zip(colors).map(|(of, color)| Labelled { of, label: label(color), color }).collect())
}

/// A panel: an environment, and what is drawn of it.
struct Panel<'a> {
    env: Option<&'a Value>,
    metric: String,
}

/// The panels of all environments; without metrics each shows the returns that all its runs have.
fn panels<'a>(all: &'a [Experiment], metrics: &[String], notes: &mut Vec<String>) -> Result<Vec<Panel<'a>>, Stop> {
    let mut panels = Vec::new();
    let environments = experiments::environments(all);
    for &env in &environments {
        let (default, note) = experiments::returns(all, env, ["drawn", "draws"]);
        notes.extend(note.filter(|_| metrics.is_empty()));
        let default = [default.to_owned()];
        let wanted = if metrics.is_empty() { &default } else { metrics };
        panels.extend(wanted.iter().map(|metric| Panel { env, metric: metric.clone() }));
    }
    if panels.len() > PANELS {
        let message = format!(
            "{} environments and {} metrics would be {} panels, and a picture has {PANELS} at most",
            environments.len(),
            metrics.len().max(1),
            panels.len()
        );
        return Err(Stop::user(message).hint("name fewer folders or metrics"));
    }
    Ok(panels)
}

/// The panels as plots, and in how many columns they are drawn.
fn plots(lines: &[Labelled<'_>], panels: &[Panel<'_>], args: &PlotArgs, notes: &mut Vec<String>) -> (Vec<Plot>, usize) {
    let several = |by: fn(&Panel<'_>) -> String| {
        let mut found = panels.iter().map(by);
        let first = found.next();
        found.any(|one| Some(one) != first)
    };
    let named = |env: Option<&Value>| env.map_or_else(|| "environment not recorded".to_owned(), experiments::show);
    let environments = several(|panel| format!("{:?}", panel.env));
    let metrics = if args.metrics.is_empty() { 1 } else { once(&args.metrics).len() };
    let plot = |panel: &Panel<'_>| Plot {
        title: if environments { named(panel.env) } else { String::new() },
        x_label: axis_title(&args.x),
        log_x: args.log_x,
        y_label: axis_title(&panel.metric),
        series: lines
            .iter()
            .filter(|line| line.of.env() == panel.env)
            .map(|line| Series {
                label: line.label.clone(),
                runs: line.of.runs.iter().map(|run| run.curve(&panel.metric).to_vec()).collect(),
                color: Some(line.color),
                ..Series::default()
            })
            .collect(),
        ..Plot::default()
    };
    // Metrics beside each other where there are some of each environment.
    let columns = match (metrics, panels.len()) {
        (2 | 3, _) if environments => metrics,
        (_, 0..=1) => 1,
        (_, 2..=4) => 2,
        _ => 3,
    };
    let mut plots: Vec<Plot> = panels.iter().map(plot).collect();
    for (plot, panel) in plots.iter_mut().zip(panels) {
        score(plot, lines, panel, args, notes);
    }
    (plots, columns)
}

/// Adds the scores of all lines of a panel, where its axes are those of scores.
fn score(plot: &mut Plot, lines: &[Labelled<'_>], panel: &Panel<'_>, args: &PlotArgs, notes: &mut Vec<String>) {
    let here: Vec<(&Experiment, usize)> =
        lines.iter().map(|line| line.of).filter(|one| one.env() == panel.env).zip(0..).collect();
    let runs = here.iter().flat_map(|(one, _)| &one.runs);
    notes.extend(tasks::without_value(runs, &panel.metric));
    if args.x != ENV_STEPS || args.smooth.is_some() {
        return;
    }
    let default = args.metrics.is_empty();
    let Some(task) = tasks::task(&here, panel.env, (&panel.metric, default), notes) else { return };
    for (one, place) in plot.series.iter_mut().zip(0..) {
        one.score = Some(task.at_budget(place));
    }
}

/// Title and subtitle: what all runs share, and what lines are.
fn head(all: &[Experiment], plots: &[Plot], args: &PlotArgs) -> [String; 2] {
    let (shared, what) = (experiments::shared(all), what(args));
    let most = all.iter().map(|one| one.runs.len()).max().unwrap_or(1);
    let fewest = all.iter().map(|one| one.runs.len()).min().unwrap_or(1);
    let count = if fewest == most { most.to_string() } else { format!("{fewest} to {most}") };
    let mut parts = match most > 1 {
        true => vec![format!("mean over {count} {what}, band: 95 % bootstrap interval of the mean")],
        false => vec![format!("one {}", what.trim_end_matches('s'))],
    };
    if let Some(width) = args.smooth {
        parts.push(format!("smoothed over {}", short_count(width as f64)));
    }
    let mut ends = plots.iter().flat_map(|plot| &plot.series).filter_map(|one| band::end(&one.runs));
    if ends.any(|end| end.first_end.is_some()) {
        parts.push(format!("thin behind the bar, where the first of the {what} ends"));
    }
    [if shared.is_empty() { "Learning curves".into() } else { shared.join(" · ") }, parts.join("; ")]
}

/// For each panel a line per series, with its scores, or its values at its end.
fn tables(plots: &[Plot], panels: &[Panel<'_>], args: &PlotArgs) -> Vec<String> {
    let labels = plots.iter().flat_map(|plot| &plot.series).map(|one| one.label.chars().count());
    let width = labels.max().unwrap_or(0).max(10);
    let what = what(args);
    let last = args.x.rsplit('/').next().filter(|_| args.x != ENV_STEPS).unwrap_or("steps");
    let mut lines = Vec::new();
    for (plot, panel) in plots.iter().zip(panels) {
        let of = if plot.title.is_empty() { String::new() } else { format!("{}: ", plot.title) };
        let smooth =
            args.smooth.map_or_else(String::new, |width| format!(", smoothed over {}", short_count(width as f64)));
        let score = plot.series.iter().find_map(|one| one.score.as_ref());
        lines.push(match score {
            Some(score) => format!("{of}score, {}:", phrase(&panel.metric, score.budget)),
            None => format!("{of}{} at the end of each line{smooth}:", panel.metric),
        });
        lines.push(format!("{:<width$}  {what:>5}  {last:>6}      mean  95 % of the mean           IQM", "experiment"));
        for one in &plot.series {
            lines.push(row(one, width));
        }
        for one in &plot.series {
            if let Some(band::CurveEnd { values, first_end: Some(first), .. }) = band::end(&one.runs) {
                let (label, all, first, left) =
                    (&one.label, band::measured(&one.runs), short_count(first), values.len());
                lines.push(format!(
                    "  {label}: the first of {all} {what} ends at {first}; {left} at the end of the line"
                ));
            }
        }
    }
    lines
}

/// The numbers of a line: those of the picture.
fn row(one: &Series, width: usize) -> String {
    let label = &one.label;
    let found = one.scores().and_then(|scores| {
        let (mean, iqm) = (scores.statistic(Aggregate::Mean)?, scores.statistic(Aggregate::Iqm)?);
        Some((scores.values.len(), short_count(scores.budget), mean, iqm.value))
    });
    let Some((runs, steps, mean, iqm)) = found else {
        return format!("{label:<width$}  {:>5}  {1:>6}  {1:>8}  {1:<22}  {1:>8}", 0, statistics::NONE);
    };
    let interval = statistics::interval_text(mean.interval, 2);
    format!("{label:<width$}  {runs:>5}  {steps:>6}  {:>8.2}  {interval:<22}  {iqm:>8.2}", mean.value)
}

/// The line of JSON of a series.
fn curve_line(environment: Option<String>, metric: &str, series: &Series) -> PlotLine {
    let end = band::end(&series.runs);
    let scores = series.scores().unwrap_or_default();
    let mean = scores.statistic(Aggregate::Mean);
    let [low, high] = ends(mean.and_then(|mean| mean.interval));
    PlotLine::Curve {
        environment,
        metric: metric.to_owned(),
        experiment: series.label.clone(),
        runs: series.runs.len(),
        runs_at_end: end.as_ref().map_or(0, |end| end.values.len()),
        end: end.as_ref().and_then(|end| finite(end.steps)),
        first_end: end.as_ref().and_then(|end| end.first_end),
        budget: series.score.as_ref().map(|score| score.budget),
        mean: mean.and_then(|mean| finite(mean.value)),
        low,
        high,
        iqm: scores.statistic(Aggregate::Iqm).and_then(|iqm| finite(iqm.value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::tests::scratch;
    use crate::folder::{file, find_runs};
    use crate::metrics::EPISODE_RETURN;
    use crate::results::experiments::Run;
    use std::fs;
    use std::path::Path;

    fn make_run(dir: &Path, name: &str, config: &str, last: f64) {
        let dir = dir.join(name);
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join(file::CONFIG), config).unwrap();
        let csv = format!("time/env_steps,{EPISODE_RETURN},train/entropy\n100,1,0.5\n200,{last},0.4\n");
        fs::write(dir.join(file::CSV), csv).unwrap();
    }

    fn args(dir: &Path, metric: &str) -> PlotArgs {
        PlotArgs {
            folders: vec![dir.to_owned()],
            out: Some(dir.join("x.svg")),
            metrics: vec![metric.into()],
            x: ENV_STEPS.into(),
            log_x: false,
            smooth: None,
            by: Vec::new(),
            labels: Vec::new(),
            json: JsonArgs::default(),
            force: false,
        }
    }

    /// The text that `plot` prints about the runs in a folder.
    fn printed(dir: &Path) -> Vec<String> {
        let (args, mut notes) = (args(dir, EPISODE_RETURN), Vec::new());
        let read = |folder: &PathBuf| Run::read(folder, ENV_STEPS, &args.metrics).unwrap();
        let all = experiments::group(find_runs(dir).unwrap().iter().map(read).collect(), &[]).unwrap();
        let lines = lines(&all, &[], &[], &mut notes).unwrap();
        let panels = panels(&all, &args.metrics, &mut notes).unwrap();
        tables(&plots(&lines, &panels, &args, &mut Vec::new()).0, &panels, &args)
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
        for text in [">ppo · cartpole<", "mean over 1 to 4 seeds", ">gamma=0.99<", ">gamma=0.9<", ">training return<"]
        {
            assert!(svg.contains(text), "{text} is missing");
        }
        let lines = printed(&dir);
        assert_eq!(lines.len(), 4);
        assert!(lines[1].contains("mean  95 % of the mean"), "{}", lines[1]);
        // Mean of 10, 11, 12, 13, and its interval; their middle half is 11 and 12. One seed has no interval.
        assert!(lines[2].contains("   11.50  [10.50, 12.50]             11.50"), "{}", lines[2]);
        assert!(lines[3].contains("    1     200      5.00  –                           5.00"), "{}", lines[3]);
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{lines:?}");
        // Labels of the caller's.
        let named = |labels: &[&str]| PlotArgs {
            labels: labels.iter().map(|label| (*label).to_owned()).collect(),
            ..args(&dir, EPISODE_RETURN)
        };
        run(&named(&["far-sighted", "near-sighted"])).unwrap();
        assert!(fs::read_to_string(dir.join("x.svg")).unwrap().contains(">near-sighted<"));
        let error = run(&named(&["one"])).unwrap_err();
        assert_eq!((error.code, error.hint.as_str()), (2, "give a --label for each of: gamma=0.99; gamma=0.9"));
    }

    #[test]
    fn a_picture_has_a_panel_for_each_environment_and_metric_up_to_a_limit() {
        let dir = scratch("plot-panels");
        for i in 0..=PANELS {
            make_run(&dir, &format!("{i}"), &format!("algorithm = \"ppo\"\nenv = \"e{i}\"\nseed = 0\n"), 1.0);
        }
        let error = run(&args(&dir, EPISODE_RETURN)).unwrap_err();
        assert!(error.to_string().starts_with("37 environments and 1 metrics would be 37 panels"), "{error}");
        fs::remove_dir_all(dir.join("0")).unwrap();
        run(&args(&dir, EPISODE_RETURN)).unwrap();
        let svg = fs::read_to_string(dir.join("x.svg")).unwrap();
        assert_eq!((svg.matches(">training return<").count(), svg.matches(">e7<").count()), (PANELS, 1));
    }

    #[test]
    fn wrong_metrics_and_folders_are_user_errors() {
        let dir = scratch("plot-wrong");
        make_run(&dir, "a", "env = \"cartpole\"\n", 1.0);
        let error = run(&args(&dir, "train/entrpy")).unwrap_err();
        assert_eq!((error.code, error.hint.as_str()), (2, "did you mean `train/entropy`?"));
        fs::write(dir.join("a").join(file::CONFIG), "env = [").unwrap();
        assert_eq!(run(&args(&dir, EPISODE_RETURN)).unwrap_err().code, 2);
        fs::remove_file(dir.join("a").join(file::CONFIG)).unwrap();
        run(&args(&dir, EPISODE_RETURN)).unwrap();
    }
}
