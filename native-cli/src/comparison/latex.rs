//! A comparison as tables of LaTeX, with the package `booktabs`.

use super::document::{Document, Section};

/// The text of a file for `\input`.
#[must_use]
pub fn latex(document: &Document) -> String {
    let sections = document.sections.iter().map(section).collect::<Vec<_>>().join("\n");
    format!("% needs \\usepackage{{booktabs}}\n{sections}")
}

fn section(section: &Section) -> String {
    let title = escaped(&section.title);
    let lines: String = section.lines.iter().map(|line| format!("{}\\\\\n", escaped(line))).collect();
    if section.head.is_empty() {
        return format!("\\paragraph{{{title}}}\n{lines}");
    }
    let cells = |row: &[String]| format!("{} \\\\\n", row.join(" & "));
    let head: Vec<String> = section.head.iter().map(|name| escaped(name)).collect();
    let rows: String =
        section.rows.iter().map(|row| cells(&row.iter().map(|cell| escaped(cell)).collect::<Vec<_>>())).collect();
    let columns = "l".repeat(section.head.len());
    format!(
        "\\begin{{table}}\n\\centering\n\\caption{{{}}}\n\\begin{{tabular}}{{{columns}}}\n\\toprule\n\
         {}\\midrule\n{rows}\\bottomrule\n\\end{{tabular}}\n\\end{{table}}\n",
        std::iter::once(title + ".")
            .chain(section.lines.iter().map(|line| escaped(line)))
            .collect::<Vec<_>>()
            .join(" "),
        cells(&head)
    )
}

/// Text in which all signs stand for themselves.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
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
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_stand_for_themselves() {
        let rows = vec![vec!["a_b & 5 % · x".to_owned(), "[1, 2]".to_owned()]];
        let section = Section { title: "T".into(), lines: vec!["L".into()], head: vec!["experiment", "value"], rows };
        let plain = Section { title: "N".into(), lines: vec!["a~b".into()], ..Section::default() };
        let out = latex(&Document { sections: vec![section, plain] });
        assert!(out.contains("a\\_b \\& 5 \\% \\textperiodcentered{} x & {[}1, 2] \\\\\n\\bottomrule"), "{out}");
        assert!(out.contains("\\caption{T. L}\n\\begin{tabular}{ll}"), "{out}");
        assert!(out.ends_with("\\paragraph{N}\na\\textasciitilde{}b\\\\\n"), "{out}");
    }
}
