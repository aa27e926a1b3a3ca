//! A comparison as Markdown.

use super::document::{Document, Section};

/// The text of a Markdown file.
pub(crate) fn markdown(document: &Document) -> String {
    document.sections.iter().map(section).collect::<Vec<_>>().join("\n")
}

fn section(section: &Section) -> String {
    let mut out = format!("## {}\n", escaped(&section.title));
    if !section.lines.is_empty() {
        out += "\n";
        out.extend(section.lines.iter().map(|line| format!("- {}\n", escaped(line))));
    }
    if !section.head.is_empty() {
        out += &format!("\n| {} |\n|{}\n", section.head.join(" | "), "---|".repeat(section.head.len()));
        let row = |row: &Vec<String>| row.iter().map(|cell| escaped(cell)).collect::<Vec<_>>().join(" | ");
        out.extend(section.rows.iter().map(|cells| format!("| {} |\n", row(cells))));
    }
    out
}

/// Text without signs that mean something else in Markdown.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars().map(|c| if c.is_control() { ' ' } else { c }) {
        if "\\|*_`<>[]".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_do_not_break_tables() {
        let rows = vec![vec!["a|b_c".to_owned(), "[1, 2]".to_owned()]];
        let section = Section { title: "T".into(), lines: vec!["x".into()], head: vec!["experiment", "value"], rows };
        assert_eq!(
            markdown(&Document { sections: vec![section] }),
            "## T\n\n- x\n\n| experiment | value |\n|---|---|\n| a\\|b\\_c | \\[1, 2\\] |\n"
        );
    }
}
