//! The settings in which experiments differ, and those that they have in common.

use super::compared::Compared;
use super::page::{self, Cell};
use crate::results::experiments::{self, Experiment, show};
use crate::statistics::NONE;
use std::collections::BTreeSet;

/// Keys that come first.
const FIRST: [&str; 2] = ["algorithm", experiments::ENV];

/// A table of settings that differ, and a folded one of those in common.
pub(super) fn section(report: &Compared<'_>) -> String {
    let (differing, common): (Vec<&str>, Vec<&str>) =
        keys(report.all).into_iter().partition(|key| differs(report, key));
    let mut body = String::new();
    if !differing.is_empty() {
        let column = |i: usize| Cell::method(&report.name(i), report.comparison.places[i]);
        let head: Vec<Cell> = std::iter::once(Cell::text("setting")).chain((0..report.all.len()).map(column)).collect();
        let row = |key: &&str| {
            let values = report.all.iter().map(|one| Cell::code(&values(one, key)));
            std::iter::once(Cell::code(key)).chain(values).collect()
        };
        body += &page::table("Settings that differ", &head, &differing.iter().map(row).collect::<Vec<_>>());
    }
    if let (Some(first), false) = (report.all.first(), common.is_empty()) {
        let row = |key: &&str| vec![Cell::code(key), Cell::code(&values(first, key))];
        let head = [Cell::text("setting"), Cell::text("value")];
        let table = page::table("Settings in common", &head, &common.iter().map(row).collect::<Vec<_>>());
        body += &page::folded(&format!("{} settings in common", common.len()), &table);
    }
    page::section("Settings", &body)
}

/// All keys of all runs, by name but for the first ones.
fn keys(all: &[Experiment]) -> Vec<&str> {
    let runs = || all.iter().flat_map(|one| &one.runs);
    let named: BTreeSet<&str> = runs().flat_map(|run| run.config.keys().map(String::as_str)).collect();
    let first = FIRST.into_iter().filter(|key| named.contains(key));
    first.chain(named.iter().copied().filter(|key| !FIRST.contains(key))).collect()
}

fn differs(report: &Compared<'_>, key: &str) -> bool {
    let mut values = report.all.iter().flat_map(|one| &one.runs).map(|run| run.config.get(key));
    let first = values.next();
    values.any(|value| Some(value) != first)
}

/// The values that runs of an experiment have; several where others than this setting tell experiments apart.
fn values(one: &Experiment, key: &str) -> String {
    let mut all: Vec<String> = Vec::new();
    for run in &one.runs {
        let text = run.config.get(key).map_or_else(|| NONE.to_owned(), show);
        if !all.contains(&text) {
            all.push(text);
        }
    }
    all.join(", ")
}
