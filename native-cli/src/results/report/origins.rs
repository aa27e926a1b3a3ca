//! Where runs come from: their commands and configurations, the versions that made them, and their scores.

use super::compared::Compared;
use super::page;
use super::page::Cell;
use crate::files::reading;
use crate::folder::file;
use crate::metrics::number;
use crate::results::comparison::task::Measured;
use crate::results::experiments::{Run, show};
use crate::statistics::NONE;
use crate::text::numbers::{plural, short_count};
use crate::text::quote::markup;
use std::path::Path;

/// Letters of a file that are shown at most.
const LONGEST: usize = 20_000;
/// Letters of a commit's name that are shown.
const COMMIT: usize = 10;

/// Commands and a configuration of each experiment, folded.
pub(super) fn repeating(report: &Compared<'_>) -> String {
    let experiment = |(i, one): (usize, &crate::results::experiments::Experiment)| {
        let mut commands: Vec<String> = Vec::new();
        for line in one.runs.iter().filter_map(|run| text(&run.folder, file::COMMAND)).flat_map(lines) {
            if !commands.contains(&line) {
                commands.push(line);
            }
        }
        let commands = match commands.is_empty() {
            true => missing(file::COMMAND),
            false => code(file::COMMAND, &commands.join("\n")),
        };
        let config = one.runs.first().and_then(|run| Some((run, text(&run.folder, file::CONFIG)?)));
        let config = config.map_or_else(
            || missing(file::CONFIG),
            |(run, config)| code(&format!("{} of {}", file::CONFIG, run.folder.display()), config.trim_end()),
        );
        page::folded(&format!("{} · {}", report.name(i), plural(one.runs.len(), "run")), &(commands + &config))
    };
    page::section("To repeat it", &report.all.iter().enumerate().map(experiment).collect::<String>())
}

fn lines(text: String) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

fn code(title: &str, text: &str) -> String {
    format!("<h4>{}</h4>\n<pre tabindex=\"0\">{}</pre>\n", markup(title), markup(text))
}

fn missing(name: &str) -> String {
    format!("<p class=\"none\">There is no {name}.</p>\n")
}

/// A text of a run folder, if it can be read; what is too long for a page is cut.
fn text(folder: &Path, name: &str) -> Option<String> {
    let bytes = reading::read_own_text(&folder.join(name)).ok()?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => Some(format!("{}\n… the rest is left out here", &text[..end])),
        None => Some(text),
    }
}

/// Versions and scores of all runs: one table, folded, after a line about the versions.
pub(super) fn runs(report: &Compared<'_>) -> String {
    let mut versions: Vec<String> = Vec::new();
    let mut rows = Vec::new();
    for (i, one) in report.all.iter().enumerate() {
        for run in &one.runs {
            let version = Version::of(run);
            if !versions.contains(&version.program) {
                versions.push(version.program.clone());
            }
            let score = |found: &Measured| (short_count(found.steps), number(found.score));
            let (steps, score) = measured(report, run).map_or_else(|| (NONE.to_owned(), NONE.to_owned()), score);
            let seed = run.seed.as_ref().map_or_else(|| NONE.to_owned(), show);
            rows.push(vec![
                Cell::code(&run.folder.display().to_string()),
                Cell::method(&report.name(i), report.comparison.places[i]),
                Cell::number(&seed),
                Cell::number(&short_count(run.length)),
                Cell::number(&steps),
                Cell::number(&score),
                Cell::text(&version.program),
                Cell::text(&version.machine),
                Cell::text(&version.started),
            ]);
        }
    }
    let head = [
        Cell::text("run"),
        Cell::text("experiment"),
        Cell::number("seed"),
        Cell::number("steps"),
        Cell::number("compared at"),
        Cell::number("score"),
        Cell::text("version"),
        Cell::text("machine"),
        Cell::text("started"),
    ];
    let made = match &versions[..] {
        [one] => format!("All runs were made by {one}."),
        all => format!("Runs were made by {} versions: {}.", all.len(), all.join("; ")),
    };
    let table = page::table("Runs with their scores and versions", &head, &rows);
    let body = format!("<p>{}</p>\n{}", markup(&made), page::folded(&format!("{} runs", rows.len()), &table));
    page::section("Runs and versions", &body)
}

fn measured<'a>(report: &'a Compared<'_>, run: &Run) -> Option<&'a Measured> {
    let all = report.comparison.tasks.iter().flat_map(|task| task.runs.iter().flatten());
    all.into_iter().find(|measured| measured.folder == run.folder)
}

/// The content of `version.json` in words.
struct Version {
    program: String,
    machine: String,
    started: String,
}

impl Version {
    fn of(run: &Run) -> Self {
        let json = reading::read_own_text(&run.folder.join(file::VERSION)).ok();
        let json: Option<serde_json::Value> = json.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let get = |key: &str| Some(json.as_ref()?.get(key)?.as_str()?.chars().take(200).collect::<String>());
        let none = || "a version that is not recorded".to_owned();
        let program = get("quickstudy").map_or_else(none, |version| match get("commit") {
            Some(commit) => {
                let modified = if commit.ends_with("-modified") { ", modified" } else { "" };
                format!("quickstudy {version} ({}{modified})", commit.chars().take(COMMIT).collect::<String>())
            }
            None => format!("quickstudy {version}"),
        });
        let parts = [get("device"), get("os"), get("arch")];
        let machine = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
        let machine = if machine.is_empty() { NONE.to_owned() } else { machine };
        Self { program, machine, started: get("started").unwrap_or_else(|| NONE.to_owned()) }
    }
}
