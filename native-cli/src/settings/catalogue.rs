//! The catalogue: what can be trained, on what and how, as lines of 80 columns.

use crate::outcome::Stop;
use crate::settings::register;
use crate::text::numbers::short_count;
use crate::text::{WIDTH, beside, columns, wrap};
use quickstudy_core::algo::AlgorithmDef;
use quickstudy_core::env::{ActionSpace, Choice, Dim, TIME_LIMIT, builtin_parameters};
use quickstudy_core::train;

/// Longer names of presets have a line of their own.
const LONG_NAME: usize = 36;

/// Algorithms, which learn.
pub(crate) fn algorithms() -> Vec<String> {
    let mut out = vec!["Algorithms".to_owned()];
    let width = register::algorithms().map(|def| def.name.len() + 5).fold(14, usize::max);
    for def in register::algorithms() {
        out.extend(columns(&[(format!("  {}", def.name), width), (def.line.to_owned(), WIDTH - width)]));
    }
    out
}

/// Environments, which are learned.
pub(crate) fn environments() -> Result<Vec<String>, Stop> {
    let row = |cells: [String; 6]| {
        let [name, seen, limit, solved, action, tasks] = cells;
        columns(&[(name, 28), (seen, 5), (limit, 6), (solved, 7), (action, 20), (tasks, 15)])
    };
    let mut out = row(["Environments", "sees", "limit", "solved", "action", "tasks"].map(str::to_owned));
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
    Ok(out)
}

/// Settings that are known to work.
pub(crate) fn presets() -> Result<Vec<String>, Stop> {
    let all = train::presets()?;
    let lengths = all.iter().map(|preset| preset.name.chars().count());
    let width = lengths.filter(|length| *length <= LONG_NAME).max().unwrap_or(0) + 3;
    let row = |name: String, steps: String, origin: String| {
        columns(&[(name, width), (steps, 6), (origin, WIDTH.saturating_sub(width + 6))])
    };
    let mut out = row("Presets".to_owned(), "steps".to_owned(), "origin".to_owned());
    for preset in all {
        let (steps, mut name) = (short_count(preset.steps as f64), format!("  {}", preset.name));
        if preset.name.chars().count() > LONG_NAME {
            out.push(std::mem::take(&mut name));
        }
        out.extend(row(name, steps, preset.origin));
    }
    out.push("those with a version are for Gymnasium's: --env gymnasium:CartPole-v1".to_owned());
    Ok(out)
}

/// The columns of metrics and what they mean.
pub(crate) fn metrics() -> Vec<String> {
    let mut out = vec![format!("{:<28}in metrics.csv, metrics.jsonl and TensorBoard", "Metrics")];
    for (name, meaning) in register::metrics() {
        out.extend(beside(format!("  {name}"), 28, meaning));
    }
    out
}

/// All settings of an algorithm within 80 columns: key, default, what it does, values.
pub(crate) fn settings(def: &AlgorithmDef) -> Vec<String> {
    let defaults = (def.defaults)();
    let title = format!("Settings of {}", def.name);
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
        let mut meaning = wrap(&format!("{:longer$}{}", "", doc.meaning), room + 1, "");
        match meaning.last_mut() {
            Some(line) if line.chars().count() + 1 + range.chars().count() <= room => {
                line.push(' ');
                line.push_str(&range);
            }
            _ => meaning.extend(wrap(&range, room + 1, "")),
        }
        for (i, line) in meaning.iter().enumerate() {
            out.push(if i == 0 { format!("{head}{}", line.trim_start()) } else { format!("{:36}{line}", "") });
        }
    }
    out
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
        let sections = [algorithms(), environments().unwrap(), presets().unwrap()];
        let all = sections.concat().join("\n") + "\n";
        for name in register::environment_names().iter().chain(&register::algorithm_names()) {
            assert!(all.contains(&format!("\n  {name} ")), "{name}: {all}");
        }
        let line = |name: &str| all.lines().find(|line| line.starts_with(&format!("  {name} "))).unwrap().to_owned();
        assert!(line("point-corner").ends_with("goal_x, goal_y"), "{all}");
        let words = |name: &str| line(name).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(words("cartpole"), "cartpole 4 500 475 2: left, right one");
        assert!(line("bandit").ends_with("chance_0 …") && all.contains(" chance_4 (5)\n"), "{all}");
        let others = [register::algorithms().flat_map(settings).collect(), metrics()];
        for line in sections.iter().chain(&others).flatten() {
            assert!(line.chars().count() <= 80, "{} columns: {line}", line.chars().count());
        }
        assert!(all.contains("\n    bandit:arms=5           how many arms there are (as by default)\n"), "{all}");
        for preset in train::presets().unwrap() {
            assert!(all.contains(&preset.name));
        }
        assert!(!sections[2].join("\n").contains("Environments"));
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
        for preset in train::presets().unwrap() {
            let origin = preset.origin;
            let count = |bracket: char| origin.matches(bracket).count();
            assert_eq!(count('('), count(')'), "{}: {origin}", preset.name);
            assert!(!origin.ends_with([':', ',', ';', '(']) && origin.len() > 12, "{}: {origin}", preset.name);
        }
    }
}
