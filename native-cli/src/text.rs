//! Words and numbers as people read them: on a terminal, in a shell, in tables and pictures.

pub(crate) mod numbers;
pub(crate) mod program;
pub(crate) mod quote;

use std::borrow::Cow;

/// The text on one line, without characters that steer a terminal or cannot be seen: names of files, settings or
/// snapshots may hold any, which are shown and not obeyed.
pub(crate) fn one_line(text: &str) -> Cow<'_, str> {
    if !text.contains(is_no_letter) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_no_letter(c) { safe.extend(c.escape_unicode()) } else { safe.push(c) }
    }
    Cow::Owned(safe)
}

/// Tells whether a character steers terminals or cannot be seen.
pub(crate) fn is_no_letter(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// The lines of a table, with two spaces between columns. The columns of which `right` is true end at the right, the
/// others begin at the left.
pub(crate) fn aligned(rows: &[Vec<String>], right: impl Fn(usize) -> bool) -> Vec<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|text| text.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let cell = |(column, text): (usize, &String)| match right(column) {
        true => format!("{text:>width$}", width = widths[column]),
        false => format!("{text:<width$}", width = widths[column]),
    };
    let line = |row: &Vec<String>| row.iter().enumerate().map(cell).collect::<Vec<_>>().join("  ");
    rows.iter().map(|row| line(row).trim_end().to_owned()).collect()
}

/// Columns of a terminal.
pub(crate) const WIDTH: usize = 80;

/// Lines of a name and its meaning beside it; a name that is too long has a line of its own.
pub(crate) fn beside(name: String, width: usize, meaning: &str) -> Vec<String> {
    let (mut out, name) = if name.len() < width { (vec![], name) } else { (vec![name], String::new()) };
    out.extend(columns(&[(name, width), (meaning.to_owned(), WIDTH - width)]));
    out
}

/// Lines of a row of cells, each wrapped at blanks within its width; what has no blank may be longer.
pub(crate) fn columns(cells: &[(String, usize)]) -> Vec<String> {
    let wrapped: Vec<Vec<String>> = cells.iter().map(|(text, width)| wrap(text, *width, "")).collect();
    let rows = wrapped.iter().map(Vec::len).max().unwrap_or(0);
    let line = |row: usize| {
        let cell = |(lines, (_, width)): (&Vec<String>, &(String, usize))| {
            format!("{:<width$}", lines.get(row).map_or("", String::as_str))
        };
        wrapped.iter().zip(cells).map(cell).collect::<String>().trim_end().to_owned()
    };
    (0..rows).map(line).collect()
}

/// A text in lines that leave a blank at their end within `width`, those behind the first one with this indent; blanks
/// at its beginning stay.
pub(crate) fn wrap(text: &str, width: usize, indent: &str) -> Vec<String> {
    let mut lines: Vec<String> = vec![text.chars().take_while(|c| *c == ' ').collect()];
    let mut empty = true;
    for word in text.split_whitespace() {
        let last = lines.last().map_or(0, |line| line.chars().count());
        if !empty && last + 1 + word.chars().count() >= width {
            lines.push(indent.to_owned());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_steer_a_terminal() {
        assert_eq!(one_line("plain – ünïcode"), "plain – ünïcode");
        assert_eq!(one_line("\u{1b}[31mred\r\u{202e}"), "\\u{1b}[31mred\\u{d}\\u{202e}");
        assert_eq!(one_line("a\nerror: b"), "a\\u{a}error: b");
    }

    #[test]
    fn columns_are_as_wide_as_their_longest_text() {
        let row = |texts: [&str; 3]| texts.map(str::to_owned).to_vec();
        let lines =
            aligned(&[row(["a", "bc", "1"]), row(["γδε", "f", "10"]), row(["g", "h", ""])], |column| column == 2);
        assert_eq!(lines, ["a    bc   1", "γδε  f   10", "g    h"]);
        assert!(aligned(&[], |_| false).is_empty());
        assert_eq!(wrap("  a bcd ef", 8, ""), ["  a bcd", "ef"]);
    }
}
