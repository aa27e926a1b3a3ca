//! Rows of the metrics files, read one at a time in memory that does not depend on the files.

use super::{ENV_STEPS, number};
use crate::metrics::tfevents::{self, Records};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::Path;

/// Longest line that is read; a longer one is damage and is never held in memory.
const LONGEST: u64 = 1 << 20;
/// The byte order mark of UTF-8.
const MARK: &[u8] = "\u{feff}".as_bytes();
/// Most values of a row of JSON; runs have some dozens.
const MOST: usize = 1000;
/// Most bytes that a resume reads of each file, from its end. Rows of a day take less by default.
pub(crate) const TAIL: u64 = 32 << 20;
/// Bytes in which a record of events must begin.
const WINDOW: u64 = 1 << 20;

/// One row as it is written: names and texts of its values in column order, without those that have none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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

    /// An event as [`TextRow::to_event`] makes it, to the precision of its format.
    pub fn from_event(event: &[u8]) -> Option<Self> {
        let steps = tfevents::step_of(event)?;
        let scalars = tfevents::scalars_of(event)?.into_iter().filter(|(_, value)| value.is_finite());
        let cell = |(name, value): (&str, f32)| {
            let text = if name == ENV_STEPS { steps.to_string() } else { number(f64::from(value)) };
            is_name(name).then(|| (name.to_owned(), text))
        };
        Self::of(scalars.map(cell).collect::<Option<_>>()?)
    }

    /// The text of a value; empty if the row has none.
    pub fn text(&self, name: &str) -> &str {
        self.cells.iter().find(|(one, _)| one == name).map_or("", |(_, text)| text)
    }

    /// A value; NaN if the row has none.
    pub fn value(&self, name: &str) -> f64 {
        self.text(name).parse().unwrap_or(f64::NAN)
    }

    /// The line of a CSV with these columns.
    pub fn to_csv(&self, columns: &[String]) -> String {
        // Cells are in the order of columns, as a rule.
        let mut cells = self.cells.iter().peekable();
        let mut text =
            |name: &str| cells.next_if(|cell| cell.0 == name).map_or_else(|| self.text(name), |cell| &cell.1);
        let texts: Vec<&str> = columns.iter().map(|name| text(name)).collect();
        texts.join(",") + "\n"
    }

    /// The line of JSON.
    pub fn to_json(&self) -> String {
        let mut line = String::new();
        for (name, text) in &self.cells {
            let _ = write!(line, "{}\"{name}\":{text}", if line.is_empty() { '{' } else { ',' });
        }
        line + "}\n"
    }

    /// The event of TensorBoard.
    pub fn to_event(&self, wall_time: f64) -> Vec<u8> {
        let value = |(name, text): &'_ (String, String)| Some((name.clone(), text.parse::<f64>().ok()?));
        let values: Vec<(String, f64)> = self.cells.iter().filter_map(value).collect();
        tfevents::scalars(self.steps, wall_time, values.iter().map(|(name, value)| (name.as_str(), *value)))
    }
}

/// Tells whether `text` can be the name of a column: those of this program have neither quotes nor commas.
pub(crate) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_graphic() && !['"', ',', '\\'].contains(&c))
}

/// Tells whether `text` is a finite number as this program writes it; Rust reads `inf` and `+1` as numbers too.
fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c == '-' || c.is_ascii_digit()) && text.parse::<f64>().is_ok_and(f64::is_finite)
}

/// Tells whether `text` is an infinite number, written as such or too large for a finite one.
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
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    /// The next line, `None` at the end.
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

/// The format of a metrics file.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RowFormat<'a> {
    /// Lines of JSON, which are the record.
    Json,
    /// A CSV with these columns below its first line.
    Csv(&'a [String]),
    /// Events of TensorBoard.
    Events,
}

#[derive(Debug)]
enum RowSource<'a> {
    Text(Lines<BufReader<File>>, Option<&'a [String]>),
    Events(Records<BufReader<File>>),
}

/// The rows of a metrics file; none if it is missing. What is no row is left out and counted.
#[derive(Debug)]
pub(crate) struct Rows<'a> {
    source: Option<RowSource<'a>>,
    /// The offset at which reading began.
    pub from: u64,
    /// The offset after the last whole line or record.
    pub at: u64,
    /// Lines or records that are no rows. Records after a damaged one are not read.
    pub damaged: u64,
    /// Infinite numbers in rows of a CSV, which count as none.
    pub infinite: u64,
    /// The last event. Those that begin a file are rows at step 0 without values.
    pub event: Vec<u8>,
}

impl<'a> Rows<'a> {
    /// Reads the file at `path` from the offset `from` on.
    pub(crate) fn open(path: &Path, format: RowFormat<'a>, from: u64) -> io::Result<Self> {
        let mut at = from;
        let source = match (open(path, from)?, format) {
            (None, _) => None,
            (Some(reader), RowFormat::Events) => Some(RowSource::Events(Records::new(reader, from))),
            (Some(reader), RowFormat::Json) => Some(RowSource::Text(Lines::new(reader, from), None)),
            (Some(reader), RowFormat::Csv(columns)) => {
                let mut lines = Lines::new(reader, from);
                if from == 0 {
                    lines.next_line()?;
                    at = lines.at();
                }
                Some(RowSource::Text(lines, Some(columns)))
            }
        };
        Ok(Self { source, from, at, damaged: 0, infinite: 0, event: Vec::new() })
    }

    /// Reads what begins in the last `tail` bytes of the file at `path`.
    pub(crate) fn tail(path: &Path, format: RowFormat<'a>, tail: u64) -> io::Result<Self> {
        Self::open(path, format, tail_start(path, format, tail)?)
    }

    /// Tells whether there is such a file.
    pub(crate) fn exists(&self) -> bool {
        self.source.is_some()
    }

    fn read(&mut self) -> io::Result<Option<TextRow>> {
        loop {
            let row = match &mut self.source {
                None => return Ok(None),
                Some(RowSource::Events(records)) => {
                    let Some(event) = records.next_event()? else {
                        self.damaged += u64::from(records.damaged());
                        return Ok(None);
                    };
                    self.at = records.at();
                    self.event = event;
                    match tfevents::step_of(&self.event) {
                        Some(0) => Some(TextRow::default()),
                        _ => TextRow::from_event(&self.event),
                    }
                }
                Some(RowSource::Text(lines, columns)) => {
                    let row = match (lines.next_line()?, columns) {
                        (None | Some(Line::Torn), _) => return Ok(None),
                        (Some(Line::Damaged), _) => None,
                        (Some(Line::Text(text)), None) => TextRow::from_json(text),
                        (Some(Line::Text(text)), Some(columns)) => {
                            let row = TextRow::from_csv(text, columns);
                            let infinite = text.split(',').filter(|cell| row.is_some() && is_infinite(cell));
                            self.infinite += infinite.count() as u64;
                            row
                        }
                    };
                    self.at = lines.at();
                    row
                }
            };
            match row {
                Some(row) => return Ok(Some(row)),
                None => self.damaged += 1,
            }
        }
    }
}

impl Iterator for Rows<'_> {
    type Item = io::Result<TextRow>;

    fn next(&mut self) -> Option<io::Result<TextRow>> {
        self.read().transpose()
    }
}

/// The offset of the first line or record in the last `tail` bytes of a file; 0 if it has no more than that.
pub(crate) fn tail_start(path: &Path, format: RowFormat<'_>, tail: u64) -> io::Result<u64> {
    let start = fs::metadata(path).map_or(0, |meta| meta.len().saturating_sub(tail));
    let Some(reader) = open(path, start)?.filter(|_| start > 0) else { return Ok(0) };
    if let RowFormat::Events = format {
        let mut bytes = Vec::new();
        reader.take(WINDOW).read_to_end(&mut bytes)?;
        return Ok(tfevents::find_record(&bytes).map_or(0, |found| start + found as u64));
    }
    let mut lines = Lines::new(reader, start);
    lines.next_line()?;
    Ok(lines.at())
}

/// The names in the first line of a CSV; none if that is no text.
pub(crate) fn columns_of(path: &Path) -> io::Result<Vec<String>> {
    let Some(reader) = open(path, 0)? else { return Ok(Vec::new()) };
    Ok(match Lines::new(reader, 0).next_line()? {
        Some(Line::Text(line)) => line.split(',').map(str::to_owned).collect(),
        _ => Vec::new(),
    })
}

/// A file from the offset `at` on; `None` if it is missing.
pub(crate) fn open(path: &Path, at: u64) -> io::Result<Option<BufReader<File>>> {
    match File::open(path) {
        Ok(mut file) => {
            file.seek(SeekFrom::Start(at))?;
            Ok(Some(BufReader::new(file)))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
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
    fn rows_are_read_back_from_events_to_the_precision_of_the_format() {
        let row =
            TextRow::from_json(r#"{"time/env_steps":16777217,"a/b":0.1,"c":-3e-8,"d":0.3333333333333333}"#).unwrap();
        let event = row.to_event(1.0);
        let back = TextRow::from_event(&event).unwrap();
        assert_eq!(
            (back.steps, back.text(ENV_STEPS), back.text("a/b"), back.text("c")),
            (16_777_217, "16777217", "0.1", "-3e-8")
        );
        assert_eq!(back.text("d"), "0.33333334");
        // Bytes of any kind are an answer or none.
        (0..event.len()).for_each(|end| assert!(TextRow::from_event(&event[..end]).is_none(), "{end}"));
        for at in 0..event.len() {
            let mut flipped = event.clone();
            flipped[at] ^= 0x55;
            let _ = TextRow::from_event(&flipped);
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
