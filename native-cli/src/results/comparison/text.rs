//! A comparison on a terminal.

use super::document::{Document, Section};
use crate::text::columns::aligned;

/// Columns of a terminal, to which lines are wrapped; tables are as wide as they are.
const WIDTH: usize = 80;

/// The lines of a document.
pub(crate) fn text(document: &Document) -> Vec<String> {
    let mut lines = Vec::new();
    for section in &document.sections {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.push(section.title.clone());
        lines.extend(section.lines.iter().flat_map(|line| wrapped(line)));
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

/// A line as several, those behind the first one further to the right.
fn wrapped(line: &str) -> Vec<String> {
    let mut lines = vec!["  ".to_owned()];
    for word in line.split(' ') {
        let last = lines.len() - 1;
        let (length, begun) = (lines[last].chars().count(), !lines[last].trim().is_empty());
        if begun && length + 1 + word.chars().count() > WIDTH {
            lines.push(format!("    {word}"));
        } else {
            lines[last] += if begun { " " } else { "" };
            lines[last] += word;
        }
    }
    lines
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
