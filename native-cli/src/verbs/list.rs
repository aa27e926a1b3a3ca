//! `quickstudy list`: what can be trained, and on what.

use crate::json::VERSION;
use crate::json::list::ListLine;
use crate::json::schema::schema;
use crate::outcome::Stop;
use crate::settings::register;
use crate::terminal::json_args::JsonArgs;
use crate::terminal::output::{self, say};
use crate::text::numbers::short_count;
use crate::text::program;
use clap::ValueEnum as _;
use quickstudy_core::algo::AlgorithmDef;
use quickstudy_core::env::{ActionSpace, Choice, Dim, TIME_LIMIT, builtin_parameters};
use quickstudy_core::train::presets;
use std::path::Path;

/// Arguments of `quickstudy list`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  quickstudy list
  quickstudy list presets
  quickstudy list settings                             every key for --set
  quickstudy list settings promp                       those of one algorithm
  quickstudy list environments --json | jq -r .name    their names alone
  quickstudy train ppo --env cartpole --print-config   every setting, its origin")]
pub(crate) struct ListArgs {
    /// Only this part
    #[arg(value_enum)]
    pub part: Option<ListPart>,
    /// Only the settings of this algorithm
    #[arg(
        value_name = "ALGORITHM",
        value_parser = clap::builder::PossibleValuesParser::new(register::algorithm_names()),
        hide_possible_values = true
    )]
    pub algorithm: Option<String>,
    /// Print the JSON Schema of the lines that --json writes, by verb
    #[arg(long, conflicts_with_all = ["part", "json"])]
    pub json_schema: bool,
    /// Results as lines of JSON
    #[command(flatten)]
    pub json: JsonArgs,
}

/// Parts of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ListPart {
    /// Algorithms, which learn.
    #[value(help = "What can learn", alias = "algos")]
    Algorithms,
    /// Environments, which are learned.
    #[value(help = "What can be learned", alias = "envs")]
    Environments,
    /// Settings that are known to work
    Presets,
    /// Every key for --set: default, values, meaning
    Settings,
    /// The columns of metrics.csv and what they mean
    Metrics,
}

/// Runs the verb.
pub(crate) fn run(args: &ListArgs) -> Result<(), Stop> {
    args.json.reserve([])?;
    if args.json_schema {
        return output::write(Path::new("-"), format!("{:#}\n", schema()).as_bytes());
    }
    let found = match (&args.algorithm, args.part) {
        (None, part) => lines(part)?,
        (Some(algorithm), Some(ListPart::Settings)) => settings(algorithm)?,
        (Some(algorithm), _) => {
            let hint = format!("`quickstudy list settings {algorithm}` lists its settings");
            return Err(Stop::user("only settings are listed by algorithm").hint(hint));
        }
    };
    if args.json.json {
        return results(args)?.iter().try_for_each(|line| args.json.write(line));
    }
    for line in found {
        say(&line);
    }
    Ok(())
}

/// The asked part, without one all of what is listed then, as lines of JSON.
fn results(args: &ListArgs) -> Result<Vec<ListLine>, Stop> {
    let parts = args.part.map_or(FIRST.to_vec(), |part| vec![part]);
    let name = |part: &ListPart| part.to_possible_value().map(|value| value.get_name().to_owned());
    let mut lines = vec![ListLine::List { version: VERSION, parts: parts.iter().filter_map(name).collect() }];
    for part in parts {
        match part {
            ListPart::Algorithms => lines.extend(register::algorithms().map(ListLine::algorithm)),
            ListPart::Environments => {
                for name in register::environment_names() {
                    let (env, parameters) = (register::environment(name)?, builtin_parameters(name));
                    lines.push(ListLine::environment(name, env.spec(), &parameters));
                }
            }
            ListPart::Presets => {
                lines.extend(presets()?.into_iter().map(ListLine::preset));
            }
            ListPart::Settings => {
                let asked = |def: &&AlgorithmDef| args.algorithm.as_ref().is_none_or(|name| def.name == name);
                lines.extend(register::algorithms().filter(asked).flat_map(ListLine::settings));
            }
            ListPart::Metrics => {
                let line = |(name, meaning): (&str, &str)| ListLine::Metric {
                    name: name.to_owned(),
                    meaning: meaning.to_owned(),
                };
                lines.extend(register::metrics().map(line));
            }
        }
    }
    Ok(lines)
}

/// The parts that are listed where none is named.
const FIRST: [ListPart; 3] = [ListPart::Algorithms, ListPart::Environments, ListPart::Presets];

/// The asked part; without one what can be trained, on what, and where the other parts are.
fn lines(part: Option<ListPart>) -> Result<Vec<String>, Stop> {
    if let Some(part) = part {
        return section(part);
    }
    let mut out = Vec::new();
    for part in FIRST {
        out.extend(section(part)?);
        out.push(String::new());
    }
    let name = program::name();
    out.push(format!("`{name} list settings` explains every key, `{name} list metrics` every"));
    out.push("column of metrics.csv.".to_owned());
    Ok(out)
}

fn section(part: ListPart) -> Result<Vec<String>, Stop> {
    let mut out = Vec::new();
    match part {
        ListPart::Algorithms => {
            out.push("Algorithms".to_owned());
            let width = register::algorithms().map(|def| def.name.len() + 5).fold(14, usize::max);
            for def in register::algorithms() {
                out.extend(columns(&[(format!("  {}", def.name), width), (def.line.to_owned(), WIDTH - width)]));
            }
        }
        ListPart::Environments => {
            let row = |cells: [String; 6]| {
                let [name, seen, limit, solved, action, tasks] = cells;
                columns(&[(name, 28), (seen, 5), (limit, 6), (solved, 7), (action, 20), (tasks, 15)])
            };
            out.extend(row(["Environments", "sees", "limit", "solved", "action", "tasks"].map(str::to_owned)));
            for name in register::environment_names() {
                let env = register::environment(name)?;
                let spec = env.spec();
                out.extend(row([
                    format!("  {name}"),
                    spec.observation.len().to_string(),
                    spec.horizon.to_string(),
                    spec.solved_at.map_or("–".to_owned(), |ret| ret.to_string()),
                    action(&spec.action),
                    tasks(&spec.task),
                ]));
                // What all of them take is said once, below.
                let own = builtin_parameters(name).into_iter().filter(|p| p.name != TIME_LIMIT);
                for p in own {
                    let default = format!("    {name}:{}={}", p.name, p.default);
                    let meaning = format!("{} (as by default)", p.meaning);
                    out.extend(beside(default, 28, &meaning));
                }
            }
            out.push("all take another limit behind the name: pendulum:time_limit=100".to_owned());
            out.push("sees: numbers observed; limit: steps of an episode; solved: at this mean return".to_owned());
        }
        ListPart::Presets => {
            let all = presets()?;
            let lengths = all.iter().map(|preset| preset.name.chars().count());
            let width = lengths.filter(|length| *length <= LONG_NAME).max().unwrap_or(0) + 3;
            let row = |name: String, steps: String, origin: String| {
                columns(&[(name, width), (steps, 6), (origin, WIDTH.saturating_sub(width + 6))])
            };
            out.extend(row("Presets".to_owned(), "steps".to_owned(), "origin".to_owned()));
            for preset in all {
                let (steps, mut name) = (short_count(preset.steps as f64), format!("  {}", preset.name));
                if preset.name.chars().count() > LONG_NAME {
                    out.push(std::mem::take(&mut name));
                }
                out.extend(row(name, steps, preset.origin));
            }
            out.push("those with a version are for Gymnasium's: --env gymnasium:CartPole-v1".to_owned());
        }
        ListPart::Settings => {
            for def in register::algorithms() {
                out.extend(settings(def.name)?);
            }
        }
        ListPart::Metrics => {
            out.push(format!("{:<28}in metrics.csv, metrics.jsonl and TensorBoard", "Metrics"));
            for (name, meaning) in register::metrics() {
                out.extend(beside(format!("  {name}"), 28, meaning));
            }
        }
    }
    Ok(out)
}

/// Longer names of presets have a line of their own.
const LONG_NAME: usize = 36;

/// Columns of what is listed.
const WIDTH: usize = 80;

/// Lines of a name and its meaning beside it; a name that is too long has a line of its own.
fn beside(name: String, width: usize, meaning: &str) -> Vec<String> {
    let (mut out, name) = if name.len() < width { (vec![], name) } else { (vec![name], String::new()) };
    out.extend(columns(&[(name, width), (meaning.to_owned(), WIDTH - width)]));
    out
}

/// Lines of a row of cells, each wrapped at blanks within its width; what has no blank may be longer.
fn columns(cells: &[(String, usize)]) -> Vec<String> {
    let wrapped: Vec<Vec<String>> = cells.iter().map(|(text, width)| wrap(text, *width)).collect();
    let rows = wrapped.iter().map(Vec::len).max().unwrap_or(0);
    let line = |row: usize| {
        let cell = |(lines, (_, width)): (&Vec<String>, &(String, usize))| {
            format!("{:<width$}", lines.get(row).map_or("", String::as_str))
        };
        wrapped.iter().zip(cells).map(cell).collect::<String>().trim_end().to_owned()
    };
    (0..rows).map(line).collect()
}

/// A text in lines that leave a blank at their end within `width`; blanks at its beginning stay.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let indent: String = text.chars().take_while(|c| *c == ' ').collect();
    let mut lines = vec![indent];
    let mut empty = true;
    for word in text.split_whitespace() {
        let last = lines.last().map_or(0, |line| line.chars().count());
        if !empty && last + 1 + word.chars().count() >= width {
            lines.push(String::new());
            empty = true;
        }
        if let Some(line) = lines.last_mut() {
            if !empty {
                line.push(' ');
            }
            line.push_str(word);
        }
        empty = false;
    }
    lines
}

/// All settings of an algorithm within 80 columns: key, default, what it does, values.
pub(crate) fn settings(algorithm: &str) -> Result<Vec<String>, Stop> {
    let def = register::algorithm(algorithm)?;
    let defaults = (def.defaults)();
    let title = format!("Settings of {algorithm}");
    let mut out = vec![format!("{title:<26}{:<10}for --set and --config", "default")];
    for doc in def.settings() {
        let default = defaults
            .get(doc.key)
            .map_or("–".to_owned(), |value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        // Its values stay together where they fit into a line.
        let range = format!("[{}]", doc.range);
        let room = WIDTH - 36;
        let head = format!("  {:<23} {default:<9} ", doc.key);
        let longer = head.chars().count().saturating_sub(WIDTH - room);
        let mut meaning = wrap(&format!("{:longer$}{}", "", doc.meaning), room + 1);
        match meaning.last_mut() {
            Some(line) if line.chars().count() + 1 + range.chars().count() <= room => {
                line.push(' ');
                line.push_str(&range);
            }
            _ => meaning.extend(wrap(&range, room + 1)),
        }
        for (i, line) in meaning.iter().enumerate() {
            out.push(if i == 0 { format!("{head}{}", line.trim_start()) } else { format!("{:36}{line}", "") });
        }
    }
    Ok(out)
}

fn action(space: &ActionSpace) -> String {
    match space {
        ActionSpace::Discrete { names } => {
            let all = format!("{}: {}", names.len(), names.join(", "));
            match &names[..] {
                [first, .., last] if all.len() > 34 => format!("{}: {first} … {last}", names.len()),
                _ => all,
            }
        }
        ActionSpace::Box { dims } => {
            let same = |a: &&Dim, b: &&Dim| (a.low, a.high) == (b.low, b.high);
            let dims: Vec<&Dim> = dims.iter().collect();
            let ranges = dims.chunk_by(same).map(|dims| {
                let names: Vec<&str> = dims.iter().map(|dim| dim.name.as_str()).collect();
                format!("{} in {} to {}", names.join(", "), dims[0].low, dims[0].high)
            });
            ranges.collect::<Vec<_>>().join(", ")
        }
        ActionSpace::MultiDiscrete { choices } => {
            let one = |Choice { name, names }: &Choice| format!("{name} of {}: {}", names.len(), names.join(", "));
            let short = |Choice { name, names }: &Choice| format!("{name} of {}", names.len());
            let (all, few) = (choices.iter().map(one).collect::<Vec<_>>().join("; "), &choices[..]);
            match few {
                _ if all.len() <= 34 => all,
                [first, .., last] if few.len() > 4 => format!("{}: {} … {}", few.len(), short(first), short(last)),
                _ => few.iter().map(short).collect::<Vec<_>>().join(", "),
            }
        }
    }
}

/// The parameters that tell the tasks of an environment apart.
fn tasks(task: &[Dim]) -> String {
    let name = |d: &Dim| d.name.clone();
    match task {
        [] => "one".to_owned(),
        [first, .., last] if task.len() > 4 => {
            // A word that is wider than the column would stand out of it.
            let last = if last.name.len() > 15 { String::new() } else { format!("{} ", last.name) };
            format!("{} … {last}({})", first.name, task.len())
        }
        few => few.iter().map(name).collect::<Vec<_>>().join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_listed_and_described() {
        let all = lines(None).unwrap().join("\n");
        for name in register::environment_names().iter().chain(&register::algorithm_names()) {
            assert!(all.contains(&format!("\n  {name} ")), "{name}: {all}");
        }
        let line = |name: &str| all.lines().find(|line| line.starts_with(&format!("  {name} "))).unwrap().to_owned();
        assert!(line("point-corner").ends_with("goal_x, goal_y"), "{all}");
        let words = |name: &str| line(name).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(words("cartpole"), "cartpole 4 500 475 2: left, right one");
        assert!(line("bandit").ends_with("chance_0 …") && all.contains(" chance_4 (5)\n"), "{all}");
        for part in
            [ListPart::Algorithms, ListPart::Environments, ListPart::Presets, ListPart::Settings, ListPart::Metrics]
        {
            for line in section(part).unwrap() {
                assert!(line.chars().count() <= 80, "{} columns: {line}", line.chars().count());
            }
        }
        assert!(all.contains("\n    bandit:arms=5           how many arms there are (as by default)\n"), "{all}");
        for preset in presets().unwrap() {
            assert!(all.contains(&preset.name));
        }
        assert_eq!(wrap("  a bcd ef", 8), ["  a bcd", "ef"]);
        assert!(!lines(Some(ListPart::Presets)).unwrap().join("\n").contains("Environments"));
    }

    #[test]
    fn several_choices_at_once_are_listed_as_far_as_they_fit() {
        let choice = |name: &&'static str| Choice::new(*name, &["off", "on"]);
        let line = |names: &[&'static str]| action(&ActionSpace::multi_discrete(names.iter().map(choice).collect()));
        assert_eq!(line(&["lamp"]), "lamp of 2: off, on");
        assert_eq!(line(&["a", "b"]), "a of 2: off, on; b of 2: off, on");
        assert_eq!(line(&["lamp", "fan", "bell"]), "lamp of 2, fan of 2, bell of 2");
        assert_eq!(line(&["a", "b", "c", "d", "e"]), "5: a of 2 … e of 2");
    }

    #[test]
    fn each_preset_says_where_its_numbers_are_from() {
        for preset in presets().unwrap() {
            let origin = preset.origin;
            let count = |bracket: char| origin.matches(bracket).count();
            assert_eq!(count('('), count(')'), "{}: {origin}", preset.name);
            assert!(!origin.ends_with([':', ',', ';', '(']) && origin.len() > 12, "{}: {origin}", preset.name);
        }
    }
}
