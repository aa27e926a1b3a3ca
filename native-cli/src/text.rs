//! Words and numbers as people read them: on a terminal, in a shell, in tables and pictures.

pub(crate) mod markup;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::aligned;

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
    }
}
