//! A comparison on a terminal.

use super::document::{Document, Section};
use crate::text::{WIDTH, aligned, wrap};

/// The lines of a document.
pub(crate) fn text(document: &Document) -> Vec<String> {
    let mut lines = Vec::new();
    for section in &document.sections {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.push(section.title.clone());
        lines.extend(section.lines.iter().flat_map(|line| wrap(&format!("  {line}"), WIDTH + 1, "    ")));
        lines.extend(table(section));
    }
    lines
}

fn table(section: &Section) -> Vec<String> {
    let head: Vec<String> = section.head.iter().map(|name| (*name).to_owned()).collect();
    if head.is_empty() {
        return Vec::new();
    }
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(section.rows.iter().cloned()).collect();
    let numbers = ["seeds", "value", "probability"];
    let lines = aligned(&rows, |column| numbers.contains(&section.head[column]));
    lines.into_iter().map(|line| format!("  {line}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_aligned_and_lines_wrapped() {
        let section = Section {
            title: "t".to_owned(),
            lines: vec!["word ".repeat(30).trim_end().to_owned()],
            head: vec!["experiment", "value"],
            rows: vec![vec!["ppo γ".to_owned(), "1.50".to_owned()], vec![String::new(), "-10.25".to_owned()]],
        };
        let lines = text(&Document { sections: vec![section.clone(), section] });
        assert!(lines.iter().all(|line| line.chars().count() <= WIDTH), "{lines:?}");
        assert_eq!(lines[3..6], ["  experiment   value", "  ppo γ         1.50", "              -10.25"]);
        assert_eq!((lines[1].len(), lines[6].as_str()), (76, ""));
        assert!(lines[2].starts_with("    word"));
    }
}
