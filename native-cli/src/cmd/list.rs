//! `quickstudy list`: what can be trained, and on what.

use crate::curve::short_count;
use crate::outcome::Stop;
use crate::progress::say;
use quickstudy_core::env::{ActionSpace, Dim, builtin, builtin_names, builtin_parameters};
use quickstudy_core::train::{ALGORITHMS, METRIC_DOCS, Setup, algorithm_doc, presets, setting_docs};

/// Arguments of `quickstudy list`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  quickstudy list
  quickstudy list presets
  quickstudy list settings                             every key for --set
  quickstudy train ppo --env cartpole --print-config   every setting and its origin")]
pub struct Args {
    /// Only this part
    #[arg(value_enum)]
    pub part: Option<Part>,
}

/// Parts of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Part {
    /// What can learn
    #[value(alias = "algos")]
    Algorithms,
    /// What can be learned
    #[value(alias = "envs")]
    Environments,
    /// Settings that are known to work
    Presets,
    /// Every key for --set: default, values, meaning
    Settings,
    /// The columns of metrics.csv and what they mean
    Metrics,
}

/// Runs the verb.
///
/// # Errors
/// Never with the built-in environments and presets; a test lists them all.
pub fn run(args: &Args) -> anyhow::Result<()> {
    for line in lines(args.part)? {
        say(&line);
    }
    Ok(())
}

/// The asked part; without one what can be trained, on what, and where the other parts are.
fn lines(part: Option<Part>) -> Result<Vec<String>, Stop> {
    if let Some(part) = part {
        return section(part);
    }
    let mut out = Vec::new();
    for part in [Part::Algorithms, Part::Environments, Part::Presets] {
        out.extend(section(part)?);
        out.push(String::new());
    }
    out.push("`quickstudy list settings` and `quickstudy list metrics` explain every key and every column.".to_owned());
    Ok(out)
}

fn section(part: Part) -> Result<Vec<String>, Stop> {
    let mut out = Vec::new();
    match part {
        Part::Algorithms => {
            out.push("Algorithms".to_owned());
            out.extend(ALGORITHMS.iter().map(|name| format!("  {name:<26}{}", algorithm_doc(name))));
        }
        Part::Environments => {
            out.push(format!(
                "{:<28}{:<13}{:<42}{:<12}{:<11}tasks",
                "Environments", "observation", "action", "time limit", "solved at"
            ));
            for name in builtin_names() {
                let env = builtin(name)?;
                let spec = env.spec();
                let solved = spec.solved_at.map_or("–".to_owned(), |ret| ret.to_string());
                out.push(format!(
                    "  {name:<26}{:<13}{:<41} {:<12}{solved:<11}{}",
                    format!("{} numbers", spec.observation.len()),
                    action(&spec.action),
                    spec.horizon,
                    tasks(&spec.task)
                ));
                out.extend(builtin_parameters(name).iter().map(|p| {
                    let default = format!("{name}:{}={}", p.name, p.default);
                    format!("    {default:<24}{} (as by default)", p.meaning)
                }));
            }
        }
        Part::Presets => {
            let all = presets()?;
            let width = all.iter().map(|preset| preset.name.chars().count()).max().unwrap_or(0) + 2;
            out.push(format!("{:<w$}{:<7}origin", "Presets", "steps", w = width + 2));
            for preset in all {
                let (name, steps) = (&preset.name, short_count(preset.steps as f64));
                out.push(format!("  {name:<width$}{steps:<7}{}", origin(preset.text)));
            }
        }
        Part::Settings => {
            for algorithm in ALGORITHMS {
                out.extend(settings(algorithm)?);
            }
        }
        Part::Metrics => {
            out.push(format!("{:<28}in metrics.csv, metrics.jsonl and TensorBoard", "Metrics"));
            out.extend(METRIC_DOCS.iter().map(|(name, meaning)| format!("  {name:<26}{meaning}")));
        }
    }
    Ok(out)
}

/// All settings of an algorithm within 80 columns: key, default, what it does, values.
pub(crate) fn settings(algorithm: &str) -> Result<Vec<String>, Stop> {
    let defaults = Setup::defaults(algorithm)?;
    let title = format!("Settings of {algorithm}");
    let mut out = vec![format!("{title:<26}{:<10}for --set and --config", "default")];
    for doc in setting_docs(algorithm)? {
        let default = defaults
            .iter()
            .find(|s| s.key == doc.key)
            .map_or("–".to_owned(), |s| s.value.as_str().map_or_else(|| s.value.to_string(), str::to_owned));
        let mut line = format!("  {:<24}{default:<9}", doc.key);
        for word in doc.meaning.split(' ').chain([format!("[{}]", doc.range).as_str()]) {
            if line.chars().count() + 1 + word.chars().count() > 80 {
                out.push(std::mem::replace(&mut line, " ".repeat(35)));
            }
            line.push(' ');
            line.push_str(word);
        }
        out.push(line);
    }
    Ok(out)
}

/// The first sentence of a preset's leading comment, without what it is about.
pub(crate) fn origin(text: &str) -> String {
    let comment: Vec<&str> = text.lines().map_while(|line| line.strip_prefix('#')).map(str::trim).collect();
    let comment = comment.join(" ");
    let about = comment.split_once(": ").map_or(comment.as_str(), |(_, rest)| rest);
    about.split(". ").next().unwrap_or(about).trim_end_matches('.').to_owned()
}

fn action(space: &ActionSpace) -> String {
    match space {
        ActionSpace::Discrete { names } => {
            let all = format!("one of {}: {}", names.len(), names.join(", "));
            match &names[..] {
                [first, .., last] if all.len() > 41 => format!("one of {}: {first} … {last}", names.len()),
                _ => all,
            }
        }
        ActionSpace::Box { dims } => {
            let ranges: Vec<String> = dims.iter().map(|d| format!("{} in {} to {}", d.name, d.low, d.high)).collect();
            ranges.join(", ")
        }
    }
}

/// What tells the tasks of an environment apart.
fn tasks(task: &[Dim]) -> String {
    let name = |d: &Dim| d.name.clone();
    match task {
        [] => "one".to_owned(),
        [first, .., last] if task.len() > 4 => format!("{} … {} ({} numbers)", first.name, last.name, task.len()),
        few => few.iter().map(name).collect::<Vec<_>>().join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_listed_and_described() {
        let all = lines(None).unwrap().join("\n");
        for name in builtin_names().iter().chain(&ALGORITHMS) {
            assert!(all.contains(&format!("\n  {name} ")), "{name}: {all}");
        }
        let line = |name: &str| all.lines().find(|line| line.starts_with(&format!("  {name} "))).unwrap().to_owned();
        assert!(line("point-corner").ends_with("goal_x, goal_y"), "{all}");
        assert!(line("cartpole").ends_with("475        one"), "{all}");
        assert!(line("bandit").ends_with("chance_0 … chance_4 (5 numbers)"), "{all}");
        assert!(all.contains("\n    bandit:arms=5           how many arms there are (as by default)\n"), "{all}");
        assert!(ALGORITHMS.iter().all(|name| !algorithm_doc(name).is_empty()));
        for preset in presets().unwrap() {
            assert!(all.contains(&preset.name));
        }
        let text = "# PPO on X: the zoo (a.yml,\n# tuned). More.\nsteps = 1  # x\n";
        assert_eq!(origin(text), "the zoo (a.yml, tuned)");
        assert!(!lines(Some(Part::Presets)).unwrap().join("\n").contains("Environments"));
    }
}
