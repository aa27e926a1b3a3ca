//! `quickstudy plot`: learning curves of several runs.

use crate::curve::{self, Plot, Series, short_count};
use crate::metrics::Table;
use crate::outcome::Stop;
use crate::output;
use crate::progress::say;
use crate::run::{EPISODE_RETURN, points};
use crate::run_folder::{self, file, find_runs};
use crate::stats;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Draws learning curves of runs: runs that differ in nothing but the seed share one line, their mean, with a 95 %
/// bootstrap interval.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  quickstudy plot runs/cartpole-ppo-s*           ten seeds: one line, an interval
  quickstudy plot runs/a runs/b -o compare.svg   two settings: two lines
  quickstudy plot runs/a --metric train/entropy  any column of metrics.csv")]
pub struct Args {
    /// Run folders, or folders of run folders
    #[arg(required = true, value_name = "DIR")]
    pub folders: Vec<PathBuf>,
    /// File to write, - for standard output [default: curves.svg]
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Column of metrics.csv to draw
    #[arg(long, value_name = "NAME", default_value = EPISODE_RETURN)]
    pub metric: String,
}

/// Runs the verb.
///
/// # Errors
/// [`Stop`] with code 2 if a folder holds no run, no run has the metric, or the file cannot be written.
pub fn run(args: &Args) -> anyhow::Result<()> {
    output::reserve(args.out.as_deref())?;
    let mut folders = Vec::new();
    for folder in &args.folders {
        for found in find_runs(folder)? {
            if !folders.contains(&found) {
                folders.push(found);
            }
        }
    }
    let groups = group(&folders, &args.metric)?;
    let plot = describe(&groups, &args.metric);
    let svg = curve::svg(&plot)?;
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from("curves.svg"));
    output::write(&out, svg.as_bytes())?;
    for line in table(&plot.series, &args.metric) {
        say(&line);
    }
    output::say_written(&out, "");
    Ok(())
}

/// Runs that differ only in their seed.
struct Group {
    /// Resolved configuration without the seed.
    config: toml::Table,
    runs: Vec<Vec<(f64, f64)>>,
}

fn group(folders: &[PathBuf], metric: &str) -> Result<Vec<Group>, Stop> {
    let mut groups: Vec<Group> = Vec::new();
    for folder in folders {
        let table = Table::read(&folder.join(file::CSV))?;
        if table.damaged > 0 {
            let path = folder.join(file::CSV);
            say(&format!(
                "note: {} has {} damaged lines, left out; a resume mends them",
                path.display(),
                table.damaged
            ));
        }
        if !table.columns.is_empty() && table.column(metric).is_none() {
            let known = table.columns.iter().map(String::as_str);
            let near = quickstudy_core::closest(metric, known);
            let hint = near.map_or_else(
                || format!("it has: {}", table.columns.join(", ")),
                |near| format!("did you mean `{near}`?"),
            );
            return Err(Stop::user(format!("{} has no metric `{metric}`", folder.display())).hint(hint));
        }
        let config = read_config(folder)?;
        let run = points(&table, metric);
        match groups.iter_mut().find(|group| group.config == config) {
            Some(group) => group.runs.push(run),
            None => groups.push(Group { config, runs: vec![run] }),
        }
    }
    Ok(groups)
}

/// A run's configuration without its seed; a run without one is an experiment of its own, named by its folder.
fn read_config(folder: &Path) -> Result<toml::Table, Stop> {
    let path = folder.join(file::CONFIG);
    if !path.exists() {
        let name = folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned();
        return Ok(toml::Table::from_iter([("folder".to_owned(), name.into())]));
    }
    let bytes = run_folder::read(&path)?;
    let mut config: toml::Table = toml::from_str(&String::from_utf8_lossy(&bytes))
        .map_err(|error| Stop::user(format!("{} is no TOML: {}", path.display(), error.message())))?;
    config.remove("seed");
    Ok(config)
}

/// Labels name what tells the groups apart; what they share goes into the title.
fn describe(groups: &[Group], metric: &str) -> Plot {
    let keys: BTreeSet<&String> = groups.iter().flat_map(|group| group.config.keys()).collect();
    let differs = |key: &str| groups.iter().any(|group| group.config.get(key) != groups[0].config.get(key));
    let show = |group: &Group, key: &str| {
        group
            .config
            .get(key)
            .map_or_else(|| "–".to_owned(), |value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    };
    let names = ["algorithm", "env", "folder"];
    let label = |group: &Group| {
        let mut parts: Vec<String> = names
            .iter()
            .filter(|key| group.config.contains_key(**key) && (differs(key) || **key != "env"))
            .map(|key| show(group, key))
            .collect();
        for key in &keys {
            if differs(key) && !names.contains(&key.as_str()) {
                parts.push(format!("{key}={}", show(group, key)));
            }
        }
        parts.join(" ")
    };
    let shared: Vec<String> = ["env", "algorithm"]
        .iter()
        .filter(|key| !differs(key) && groups[0].config.contains_key(**key))
        .map(|key| show(&groups[0], key))
        .collect();
    let most = groups.iter().map(|group| group.runs.len()).max().unwrap_or(1);
    let fewest = groups.iter().map(|group| group.runs.len()).min().unwrap_or(1);
    let seeds = if fewest == most { most.to_string() } else { format!("{fewest} to {most}") };
    let is_return = metric == EPISODE_RETURN;
    Plot {
        title: if shared.is_empty() { "Learning curves".into() } else { shared.join(" · ") },
        subtitle: if most > 1 {
            format!("mean over {seeds} seeds, band: 95 % bootstrap interval")
        } else {
            "one seed".into()
        },
        y_label: if is_return { "mean episode return".into() } else { metric.into() },
        series: groups
            .iter()
            .map(|group| Series { label: label(group), runs: group.runs.clone(), marks: Vec::new() })
            .collect(),
    }
}

/// One line per series: seeds, steps, and the last values over seeds.
fn table(series: &[Series], metric: &str) -> Vec<String> {
    let width = series.iter().map(|s| s.label.chars().count()).max().unwrap_or(0).max(10);
    let mut lines = vec![format!(
        "{:<width$}  seeds   steps        mean         IQM  95 % interval of the IQM   (last {metric})",
        "experiment"
    )];
    for one in series {
        let ends: Vec<(f64, f64)> = one.runs.iter().filter_map(|run| run.last().copied()).collect();
        let values: Vec<f64> = ends.iter().map(|(_, y)| *y).collect();
        let steps = ends.iter().map(|(x, _)| *x).fold(0.0, f64::max);
        let (low, high) = stats::bootstrap95(&values, stats::iqm);
        lines.push(format!(
            "{:<width$}  {:>5}  {:>6}  {:>10.2}  {:>10.2}  [{low:.2}, {high:.2}]",
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
    use crate::run_folder::tests::scratch;
    use std::fs;

    fn make_run(dir: &Path, name: &str, config: &str, last: f64) {
        let dir = dir.join(name);
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join(file::CONFIG), config).unwrap();
        let csv = format!("time/env_steps,{EPISODE_RETURN},train/entropy\n100,1,0.5\n200,{last},0.4\n");
        fs::write(dir.join(file::CSV), csv).unwrap();
    }

    fn args(dir: &Path, metric: &str) -> Args {
        Args { folders: vec![dir.to_owned()], out: Some(dir.join("x.svg")), metric: metric.into() }
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
        for text in ["cartpole · ppo", "mean over 1 to 4 seeds", "ppo gamma=0.99", "ppo gamma=0.9\n"] {
            assert!(svg.contains(text), "{text} is missing");
        }
        let groups = group(&find_runs(&dir).unwrap(), EPISODE_RETURN).unwrap();
        let lines = table(&describe(&groups, EPISODE_RETURN).series, EPISODE_RETURN);
        assert_eq!(lines.len(), 3);
        // Mean of 10, 11, 12, 13; its middle half is 11 and 12.
        assert!(lines[1].contains("11.50       11.50"), "{}", lines[1]);
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
