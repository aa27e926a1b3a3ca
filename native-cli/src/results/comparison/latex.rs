//! A comparison as tables of LaTeX, with the package `booktabs`.

use super::document::{Document, Section};
use crate::statistics::NONE;

/// The text of a file for `\input`.
pub(crate) fn latex(document: &Document) -> String {
    let sections = document.sections.iter().map(section).collect::<Vec<_>>().join("\n");
    format!("% needs \\usepackage{{booktabs}}\n{sections}")
}

fn section(section: &Section) -> String {
    let title = escaped(&section.title);
    let lines: Vec<String> = section.lines.iter().map(|line| escaped(line)).collect();
    if section.head.is_empty() {
        return format!("{{\\raggedright\\paragraph{{{title}.}}\n{}\\par}}\n", lines.join("\\\\\n"));
    }
    let cells = |row: &[String]| format!("{} \\\\\n", row.join(" & "));
    let head: Vec<String> = section.head.iter().map(|name| escaped(name)).collect();
    let columns: Vec<&str> = (0..head.len()).map(|column| alignment(section, column)).collect();
    // Lines that are not stretched; a row's end would be another command there, but the last column is of numbers.
    let cell = |(text, column): (&String, &&str)| match *column {
        LINES => format!("\\raggedright {}", escaped(text)),
        _ => escaped(text),
    };
    let row = |row: &Vec<String>| cells(&row.iter().zip(&columns).map(cell).collect::<Vec<_>>());
    let rows: String = section.rows.iter().map(row).collect();
    let columns = columns.concat();
    let caption: Vec<String> = std::iter::once(title + ".").chain(lines).collect();
    format!(
        "\\begin{{table}}\n\\centering\n\\caption{{{}}}\n\\smallskip\n\\begin{{tabular}}{{{columns}}}\n\\toprule\n\
         {}\\midrule\n{rows}\\bottomrule\n\\end{{tabular}}\n\\end{{table}}\n",
        caption.join(" "),
        cells(&head)
    )
}

/// A column of texts in lines.
const LINES: &str = "p{0.25\\linewidth}";

/// The letter of a column: numbers and intervals stand on the right, and long texts, as of many environments, in lines
/// of a part of the page.
fn alignment(section: &Section, column: usize) -> &'static str {
    const LONG: usize = 30;
    let cells = || section.rows.iter().filter_map(|row| row.get(column)).filter(|cell| !cell.is_empty());
    let is_number = |cell: &String| cell == NONE || cell.trim_start_matches(['[', '-']).starts_with(char::is_numeric);
    if cells().all(is_number) {
        "r"
    } else if cells().any(|cell| cell.chars().count() > LONG) {
        LINES
    } else {
        "l"
    }
}

/// Text in which all signs stand for themselves.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    let mut signs = text.chars().peekable();
    let mut before = ' ';
    while let Some(c) = signs.next() {
        match c {
            // A minus is longer than a hyphen.
            '-' if " [(".contains(before) && signs.peek().is_some_and(char::is_ascii_digit) => out += "$-$",
            '|' => out += "\\textbar{}",
            '\\' => out += "\\textbackslash{}",
            '~' => out += "\\textasciitilde{}",
            '^' => out += "\\textasciicircum{}",
            '<' => out += "\\textless{}",
            '>' => out += "\\textgreater{}",
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => out.extend(['\\', c]),
            // A bracket behind the end of a row would be its argument.
            '[' => out += "{[}",
            '–' => out += "--",
            '·' => out += "\\textperiodcentered{}",
            '±' => out += "\\textpm{}",
            '…' => out += "\\dots{}",
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
        before = c;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_stand_for_themselves() {
        let row = |a: &str, b: &str| vec![a.to_owned(), b.to_owned(), format!("{b}, 2]")];
        let rows = vec![row("a_b & 5 % · x", "[-1"), row("", "–")];
        let head = vec!["experiment", "value", "interval"];
        let section = Section { title: "T".into(), lines: vec!["L".into()], head, rows };
        let plain =
            Section { title: "N".into(), lines: vec!["a~b|c".into(), "1-2 is -1".into()], ..Section::default() };
        let out = latex(&Document { sections: vec![section, plain] });
        assert!(
            out.contains("a\\_b \\& 5 \\% \\textperiodcentered{} x & {[}$-$1 & {[}$-$1, 2] \\\\\n & -- &"),
            "{out}"
        );
        assert!(out.contains("\\caption{T. L}\n\\smallskip\n\\begin{tabular}{lrl}"), "{out}");
        let end = "\n{\\raggedright\\paragraph{N.}\na\\textasciitilde{}b\\textbar{}c\\\\\n1-2 is $-$1\\par}\n";
        assert!(out.ends_with(end), "{out}");
    }

    #[test]
    fn numbers_stand_on_the_right_and_long_lists_in_lines() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let rows = vec![row(["ppo", "-1.50", "cartpole"]), row(["", "–", "cartpole, pendulum, acrobot, bandit"])];
        let section = Section { head: vec!["a", "b", "c"], rows, ..Section::default() };
        assert_eq!([0, 1, 2].map(|column| alignment(&section, column)), ["l", "r", LINES]);
    }
}
