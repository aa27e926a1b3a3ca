//! Rows of the metrics' text files, read one at a time in memory that does not depend on the files.

use super::ENV_STEPS;
use std::fmt::Write as _;
use std::io::{self, BufRead, Read as _};

/// Longest line that is read; a longer one is damage and is never held in memory.
const LONGEST: u64 = 1 << 20;
/// The byte order mark of UTF-8.
const MARK: &[u8] = "\u{feff}".as_bytes();
/// Most values of a row of JSON; runs have some dozens.
const MOST: usize = 1000;

/// One row as it is written: names and texts of its values in column order, without those that have none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextRow {
    /// Environment steps.
    pub steps: u64,
    /// Names and numbers.
    pub cells: Vec<(String, String)>,
}

impl TextRow {
    fn of(cells: Vec<(String, String)>) -> Option<Self> {
        let steps = cells.iter().find(|(name, _)| name == ENV_STEPS)?.1.parse::<f64>().ok()?;
        let whole = steps.fract() == 0.0 && (0.0..9e15).contains(&steps);
        whole.then_some(Self { steps: steps as u64, cells })
    }

    /// A line of JSON as [`TextRow::to_json`] writes it.
    #[must_use]
    pub fn from_json(line: &str) -> Option<Self> {
        let inside = line.strip_prefix("{\"")?.strip_suffix('}')?;
        let mut cells = Vec::new();
        for pair in inside.split(",\"") {
            let (name, text) = pair.split_once("\":")?;
            // Two rows that damage made one have a name twice.
            if !is_name(name) || cells.len() == MOST || cells.iter().any(|(other, _)| other == name) {
                return None;
            }
            if text != "null" {
                cells.push((name.to_owned(), is_number(text).then(|| text.to_owned())?));
            }
        }
        Self::of(cells)
    }

    /// A line of a CSV with these columns.
    #[must_use]
    pub fn from_csv(line: &str, columns: &[String]) -> Option<Self> {
        let mut cells = Vec::new();
        let mut texts = line.split(',');
        for name in columns {
            let text = texts.next()?;
            if is_number(text) {
                cells.push((name.clone(), text.to_owned()));
            } else if !text.is_empty() && !is_infinite(text) {
                return None;
            }
        }
        if texts.next().is_some() {
            return None;
        }
        Self::of(cells)
    }

    /// The text of a value; empty if the row has none.
    #[must_use]
    pub fn text(&self, name: &str) -> &str {
        self.cells.iter().find(|(one, _)| one == name).map_or("", |(_, text)| text)
    }

    /// A value; NaN if the row has none.
    #[must_use]
    pub fn value(&self, name: &str) -> f64 {
        self.text(name).parse().unwrap_or(f64::NAN)
    }

    /// The line of a CSV with these columns.
    #[must_use]
    pub fn to_csv(&self, columns: &[String]) -> String {
        let texts: Vec<&str> = columns.iter().map(|name| self.text(name)).collect();
        texts.join(",") + "\n"
    }

    /// The line of JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut line = String::new();
        for (name, text) in &self.cells {
            let _ = write!(line, "{}\"{name}\":{text}", if line.is_empty() { '{' } else { ',' });
        }
        line + "}\n"
    }
}

/// Tells whether `text` can be the name of a column: those of this program have neither quotes nor commas.
#[must_use]
pub(crate) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_graphic() && !['"', ',', '\\'].contains(&c))
}

/// Tells whether `text` is a finite number as this program writes it; Rust reads `inf` and `+1` as numbers too.
fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c == '-' || c.is_ascii_digit()) && text.parse::<f64>().is_ok_and(f64::is_finite)
}

/// Tells whether `text` is an infinite number, written as such or larger than any that there is.
#[must_use]
pub(crate) fn is_infinite(text: &str) -> bool {
    text.parse::<f64>().is_ok_and(f64::is_infinite)
}

/// One line of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    /// Its text without the line's end.
    Text(&'a str),
    /// It is no text, or too long to be a row.
    Damaged,
    /// The file ends within it.
    Torn,
}

/// Reads lines one after the other, in memory for one.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    reader: R,
    at: u64,
    buffer: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    /// Reads from `reader`, which stands at `at`.
    pub(crate) fn new(reader: R, at: u64) -> Self {
        Self { reader, at, buffer: Vec::new() }
    }

    /// The offset after the last line read.
    #[must_use]
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    /// The next line, `None` at the end.
    ///
    /// # Errors
    /// Any IO error.
    pub(crate) fn next_line(&mut self) -> io::Result<Option<Line<'_>>> {
        self.buffer.clear();
        let begins = self.at == 0;
        let mut read = self.reader.by_ref().take(LONGEST).read_until(b'\n', &mut self.buffer)? as u64;
        if read == 0 {
            return Ok(None);
        }
        self.at += read;
        let long = read == LONGEST && self.buffer.last() != Some(&b'\n');
        while self.buffer.last() != Some(&b'\n') {
            self.buffer.clear();
            read = self.reader.by_ref().take(LONGEST).read_until(b'\n', &mut self.buffer)? as u64;
            if read == 0 {
                return Ok(Some(Line::Torn));
            }
            self.at += read;
        }
        self.buffer.pop();
        // Editors and other systems end lines with two characters, and begin files with a mark.
        let line = self.buffer.strip_suffix(b"\r").unwrap_or(&self.buffer);
        let line = if begins { line.strip_prefix(MARK).unwrap_or(line) } else { line };
        let text = std::str::from_utf8(line);
        Ok(Some(text.ok().filter(|_| !long).map_or(Line::Damaged, Line::Text)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_read_back_from_both_texts() {
        let columns: Vec<String> = [ENV_STEPS, "a/b", "c"].map(String::from).to_vec();
        let row = TextRow::from_json(r#"{"time/env_steps":512,"c":-1e-7}"#).unwrap();
        assert_eq!((row.steps, row.value("c"), row.value("a/b").is_nan()), (512, -1e-7, true));
        assert_eq!(row.to_csv(&columns), "512,,-1e-7\n");
        assert_eq!(TextRow::from_csv("512,,-1e-7", &columns).as_ref(), Some(&row));
        assert_eq!(row.to_json(), "{\"time/env_steps\":512,\"c\":-1e-7}\n");
        assert_eq!(TextRow::from_json(r#"{"time/env_steps":512,"c":null}"#).unwrap().cells.len(), 1);
        for line in ["512,1", "512,1,2,3", "512,x,1", "-5,1,1", "1.5,1,1", ",1,1", "512,NaN,1", "512,+1,1", ""] {
            assert_eq!(TextRow::from_csv(line, &columns), None, "{line}");
        }
        for line in [
            r#"{"time/env_steps":5,"c":1,"c":1}"#,
            "",
            "{}",
            "{\"c\":1}",
            "{\"time/env_steps\":\"5\"}",
            "{\"time/env_steps\":5",
            "[5]",
            "null",
        ] {
            assert_eq!(TextRow::from_json(line), None, "{line}");
        }
    }

    #[test]
    fn lines_are_text_damage_or_torn() {
        let mut bytes = b"one\n\xff\n".to_vec();
        bytes.extend(vec![b'x'; 3 << 20]);
        bytes.extend(b"\ntwo\ntorn");
        let mut lines = Lines::new(&bytes[..], 0);
        let mut seen = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            seen.push(match line {
                Line::Text(text) => text.to_owned(),
                other => format!("{other:?}"),
            });
        }
        assert_eq!(seen, ["one", "Damaged", "Damaged", "two", "Torn"]);
        assert_eq!(lines.at(), bytes.len() as u64);
        assert!(lines.buffer.capacity() as u64 <= 2 * LONGEST, "{}", lines.buffer.capacity());
    }
}
