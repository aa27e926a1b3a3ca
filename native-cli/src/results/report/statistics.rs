//! The statistics of `compare`, as tables of a page.

use super::compared::Compared;
use super::page;
use super::page::Cell;
use crate::results::comparison::document::{Document, Section};
use crate::statistics::aggregate::Aggregate;
use crate::text::quote::markup;

/// Columns of numbers.
const NUMBERS: [&str; 4] = ["seeds", "value", "probability", "95 % interval of it"];

/// A table for each suite and one of improvements, notes, and lines about the origin of scores.
pub(super) fn section(report: &Compared<'_>, document: &Document) -> String {
    let Some((environments, parts)) = document.sections.split_first() else { return String::new() };
    let shown: String = parts.iter().map(|part| shown(report, part)).collect();
    let origins = page::folded("Scores and where they come from", &list(&environments.lines));
    page::section("Statistics", &(shown + &origins))
}

fn list(lines: &[String]) -> String {
    let items: String = lines.iter().map(|line| format!("<li>{}</li>\n", markup(line))).collect();
    if items.is_empty() { items } else { format!("<ul>\n{items}</ul>\n") }
}

/// A part of the comparison: aggregates at once, what else there is of a suite folded.
fn shown(report: &Compared<'_>, part: &Section) -> String {
    let list = list(&part.lines);
    if part.head.is_empty() {
        return format!("<div class=\"note\"><h3>{}</h3>\n{list}</div>\n", markup(&part.title));
    }
    let first = part.rows.iter().position(|row| part.head[0] == "statistic" && is_further(&row[0]));
    let (main, further) = part.rows.split_at(first.unwrap_or(part.rows.len()));
    let main = table(report, &part.title, &part.head, main) + &list;
    match further {
        [] => main,
        rows => {
            let table = table(report, "Shares of runs above scores, and IQM on the way", &part.head, rows);
            main + &page::folded("Performance profile and sample efficiency", &table)
        }
    }
}

/// True for a statistic that is none of the aggregates; an empty name repeats the one above.
fn is_further(name: &str) -> bool {
    let all = [Aggregate::Iqm, Aggregate::Mean, Aggregate::Median, Aggregate::RunMedian, Aggregate::OptimalityGap];
    !name.is_empty() && all.iter().all(|one| one.title() != name)
}

fn table(report: &Compared<'_>, title: &str, head: &[&str], rows: &[Vec<String>]) -> String {
    let cell = |head: &str, text: &str| match head {
        head if NUMBERS.contains(&head) => Cell::number(text),
        "experiment" | "over" => match report.comparison.methods.iter().position(|label| label == text) {
            Some(method) => Cell::method(text, method),
            None => Cell::text(text),
        },
        _ => Cell::text(text),
    };
    let heads: Vec<Cell> =
        head.iter().map(|name| if NUMBERS.contains(name) { Cell::number(name) } else { Cell::text(name) }).collect();
    let row = |row: &Vec<String>| head.iter().zip(row).map(|(head, text)| cell(head, text)).collect();
    page::table(title, &heads, &rows.iter().map(row).collect::<Vec<_>>())
}
