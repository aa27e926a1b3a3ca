//! Goes back to a snapshot: cuts newer rows off the metrics files, and mends what is damaged in one file from the
//! others.
//!
//! The three files hold the same rows, and all rows up to a snapshot are on disk before it is. Rows are therefore read
//! side by side, the files' last megabytes only. A row that one file lacks is taken from another, of the events last,
//! which round; where texts differ, the events decide, because they have checksums. A file with damage is written anew
//! and replaced at once. What was written in half when a process was killed is newer than the snapshot and no damage.

use super::columns;
use super::columns::Header;
use super::lost::{Gaps, in_words, put_aside};
use super::rows::{Lines, TextRow};
use super::sides::{Events, Health, Texts};
use super::{SECONDS, begin_events, now};
use crate::files::{atomic, disk};
use crate::folder::file;
use crate::metrics::history::Due;
use crate::metrics::tfevents;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::time::UNIX_EPOCH;

/// Most bytes that are read of each file, from its end. Rows of a day take less by default.
pub(crate) const TAIL: u64 = 32 << 20;

/// Bytes in which a record of events must begin.
const WINDOW: u64 = 1 << 20;

/// The state of the files after [`rewind`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mended {
    /// Columns of the CSV; empty if there is no row yet.
    pub columns: Vec<String>,
    /// Sentences about what was damaged, each with the name of its file.
    pub notes: Vec<String>,
}

/// Cuts rows newer than `env_steps` off the metrics files in `folder` and mends them; `config` is shown in TensorBoard
/// where its file must be made anew. Of each file the last `tail` bytes are looked at.
///
/// # Errors
/// Any IO error. Files are replaced as a whole, so that an error or a kill loses nothing.
pub(crate) fn rewind(folder: &Path, env_steps: u64, config: &str, tail: u64) -> io::Result<Mended> {
    let due = Due::of(folder, env_steps)?;
    let mut files =
        Files { folder, env_steps, config, due, start: Start::default(), columns: Vec::new(), prefer_csv: false };
    let header = Header::read(open(folder, file::CSV, 0)?)?;
    files.columns = header.columns();
    files.start = files.tail(tail)?;
    let mut found = files.compare(&mut |_| Ok(()))?;
    // A snapshot may be older than what was looked at, a file much shorter than the others.
    if files.start != Start::default() && !found.aligned {
        files.start = Start::default();
        found = files.compare(&mut |_| Ok(()))?;
    }
    if !header.is_known() || found.json.foreign > 0 || found.csv.missing == found.rows {
        let reader = |name, at| open(folder, name, at);
        let Start { csv, json, events } = files.start;
        let readers = [reader(file::CSV, csv)?, reader(file::JSONL, json)?, reader(file::EVENTS, events)?];
        let settled = columns::settle(&header, readers)?;
        if settled != header.columns() {
            // A new first line is a new file.
            (files.columns, files.start) = (settled, Start::default());
            found = files.compare(&mut |_| Ok(()))?;
            found.csv.damaged += u64::from(found.rows > 0);
        }
    }
    // Where two texts differ and no event tells, the file that lacks nothing is believed.
    let wants = |health: Health| health.damaged + health.missing > 0;
    if found.undecided > 0 && wants(found.json) && !wants(found.csv) {
        files.prefer_csv = true;
        found = files.compare(&mut |_| Ok(()))?;
    }
    files.apply(&found)
}

/// The offsets at which reading begins in each file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Start {
    csv: u64,
    json: u64,
    events: u64,
}

/// The outcome of a comparison.
#[derive(Debug, Default)]
struct Found {
    csv: Health,
    json: Health,
    events: Health,
    rows: u64,
    /// All files have the first of these rows, so that no earlier one is missing in one of them.
    aligned: bool,
    /// Rows that no file has any more.
    lost: u64,
    /// Rows of which two texts differ, where no event tells which is right.
    undecided: u64,
    /// The first and the last row of each gap between rows that all files lack.
    gaps: Vec<(u64, u64)>,
    /// The last gap reaches to the snapshot.
    cut_short: bool,
}

/// A row that is believed, and its event where that is sound.
struct Believed<'a> {
    row: &'a TextRow,
    event: Option<&'a [u8]>,
    /// Seconds since 1970 at which training began, as far as events tell.
    began: f64,
}

struct Files<'a> {
    folder: &'a Path,
    env_steps: u64,
    config: &'a str,
    due: Due,
    start: Start,
    columns: Vec<String>,
    /// Where the CSV and the JSON lines differ and no event tells which is right, the CSV is believed.
    prefer_csv: bool,
}

impl Files<'_> {
    /// Finds the first line or record in the last `tail` bytes of each file.
    fn tail(&self, tail: u64) -> io::Result<Start> {
        let record = || -> io::Result<u64> {
            let Some((at, reader)) = end_of(self.folder, file::EVENTS, tail)? else { return Ok(0) };
            let mut bytes = Vec::new();
            reader.take(WINDOW).read_to_end(&mut bytes)?;
            Ok(tfevents::find_record(&bytes).map_or(0, |found| at + found as u64))
        };
        Ok(Start {
            csv: line_in(self.folder, file::CSV, tail)?,
            json: line_in(self.folder, file::JSONL, tail)?,
            events: record()?,
        })
    }

    /// Reads the files side by side and hands every row that is believed to `sink`.
    fn compare(&self, sink: &mut dyn FnMut(&Believed<'_>) -> io::Result<()>) -> io::Result<Found> {
        let Start { csv, json, events } = self.start;
        let reader = |name, at| open(self.folder, name, at);
        let mut json = Texts::new(reader(file::JSONL, json)?, json, (&self.columns, false), self.env_steps)?;
        let mut csv = Texts::new(reader(file::CSV, csv)?, csv, (&self.columns, true), self.env_steps)?;
        let mut events = Events::new(reader(file::EVENTS, events)?, events, self.env_steps)?;
        let mut found = Found { aligned: true, ..Found::default() };
        // In the midst of the files, rows are compared from where all have begun.
        if self.start != Start::default() {
            let floor = [json.steps(), csv.steps(), events.steps()].into_iter().flatten().max().unwrap_or(0);
            json.skip_to(floor)?;
            csv.skip_to(floor)?;
            events.skip_to(floor)?;
            found.aligned = [json.steps(), csv.steps(), events.steps()] == [Some(floor); 3];
        }
        let begin = [json.steps(), csv.steps(), events.steps()].into_iter().flatten().min().unwrap_or(0);
        let mut gaps = Gaps::new(&self.due, if self.start == Start::default() { 0 } else { begin });
        let mut began = self.began();
        while let Some(steps) = [json.steps(), csv.steps(), events.steps()].into_iter().flatten().min() {
            let has = |at: Option<u64>| at == Some(steps);
            let (in_json, in_csv, in_events) = (has(json.steps()), has(csv.steps()), has(events.steps()));
            // A row that one text has alone, where the others are sound and go on after it, never was.
            let denied = |other: &Texts<'_>| events.sound() && other.next.is_some() && other.pending == 0;
            if !in_events && (in_json || in_csv) && ((!in_csv && denied(&csv)) || (!in_json && denied(&json))) {
                let side = if in_json { &mut json } else { &mut csv };
                side.health.damaged += 1;
                side.advance()?;
                continue;
            }
            let event = events.next.as_ref().filter(|_| in_events).map(|(_, event)| event.as_slice());
            let both = json.next.as_ref().zip(csv.next.as_ref()).filter(|_| in_json && in_csv);
            let differ = both.is_some_and(|(a, b)| a.cells != b.cells);
            let fits = |row: &TextRow| event.is_some_and(|event| event == event_of(row, event).as_slice());
            let undecided = differ && event.is_none();
            let csv_fits = differ && both.is_some_and(|(a, b)| !fits(a) && fits(b));
            let csv_is_right = csv_fits || (undecided && self.prefer_csv);
            found.undecided += u64::from(undecided);
            // Where only the event is left, its numbers are those of the row to seven digits.
            let from_event = event.filter(|_| !in_json && !in_csv).map(|event| self.row_of(event));
            let row = match &from_event {
                Some(row) => row,
                None if in_json && !csv_is_right => &json.next,
                None => &csv.next,
            };
            if row.is_none() {
                found.lost += 1;
                events.health.damaged += 1;
                events.advance()?;
                continue;
            }
            if let Some(row) = row {
                let seconds = Some(row.value(SECONDS)).filter(|seconds| seconds.is_finite()).unwrap_or(0.0);
                let time = event.and_then(tfevents::wall_time);
                began = time.map_or(began, |time| time - seconds);
                gaps.pass(row);
                sink(&Believed { row, event, began })?;
            }
            found.rows += 1;
            json.health.wrong += u64::from(csv_is_right);
            csv.health.wrong += u64::from(differ && !csv_is_right);
            json.health.missing += u64::from(!in_json);
            csv.health.missing += u64::from(!in_csv);
            events.health.missing += u64::from(!in_events);
            // A damaged line of one file is a row that the other one has, or a row that is lost.
            match (in_json, in_csv) {
                (true, true) => {
                    found.lost += json.pending.min(csv.pending);
                    (json.pending, csv.pending) = (0, 0);
                }
                (in_json, in_csv) => {
                    csv.pending = csv.pending.saturating_sub(u64::from(!in_csv));
                    json.pending = json.pending.saturating_sub(u64::from(!in_json));
                }
            }
            if in_json {
                json.advance()?;
            }
            if in_csv {
                csv.advance()?;
            }
            if in_events {
                events.advance()?;
            }
        }
        found.lost += json.pending.min(csv.pending);
        found.cut_short = gaps.until(self.env_steps.saturating_add(1));
        found.gaps = gaps.ranges;
        (found.json, found.csv, found.events) = (json.health, csv.health, events.health);
        Ok(found)
    }

    /// The row of an event, of which columns stay.
    fn row_of(&self, event: &[u8]) -> Option<TextRow> {
        let mut row = tfevents::row_of(event)?;
        row.cells.retain(|(name, _)| self.columns.contains(name));
        Some(row)
    }

    /// When the run began, in seconds since 1970, as its configuration tells.
    fn began(&self) -> f64 {
        let written = std::fs::metadata(self.folder.join(file::CONFIG)).and_then(|meta| meta.modified()).ok();
        let since = written.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        since.map_or_else(now, |since| since.as_secs_f64())
    }

    /// Cuts files that are whole, writes the others anew, and says so.
    fn apply(self, found: &Found) -> io::Result<Mended> {
        let path = |name: &str| self.folder.join(name);
        let none = found.rows == 0 && found.csv.from == 0;
        let lost = self.lost(found, none);
        let keep = none || lost.is_some();
        // What is kept is kept before anything is written.
        let json = self.trouble(file::JSONL, found.json, none, keep)?;
        let csv = self.trouble(file::CSV, found.csv, none, keep)?;
        let events = self.trouble(file::EVENTS, found.events, none, keep)?;
        if none {
            // The first row will write the first line.
            cut(&path(file::JSONL), 0)?;
            cut(&path(file::CSV), 0)?;
        } else {
            match json {
                None => cut(&path(file::JSONL), found.json.end)?,
                Some(_) => {
                    self.rewrite(file::JSONL, found.json, &mut |out, one| out.write_all(one.row.to_json().as_bytes()))?;
                }
            }
            match csv {
                None => cut(&path(file::CSV), found.csv.end)?,
                Some(_) => self.rewrite_csv(found.csv)?,
            }
        }
        match events {
            None => cut(&path(file::EVENTS), found.events.end)?,
            Some(_) => self.rewrite_events(found.events)?,
        }
        let notes = [json, csv, events, lost].into_iter().flatten().collect();
        let columns = if none { Vec::new() } else { self.columns.clone() };
        Ok(Mended { columns, notes })
    }

    /// Rows that no file has, in a sentence.
    fn lost(&self, found: &Found, none: bool) -> Option<String> {
        let damaged = [found.json, found.csv, found.events].iter().any(|health| !health.whole());
        let folder = self.folder.display();
        // Gaps that were there when all files were whole were said when they were made.
        if !found.gaps.is_empty() && (damaged || found.cut_short) {
            let gaps = in_words(&found.gaps);
            return Some(format!("{folder}: rows {gaps} environment steps are lost: in none of the metrics files"));
        }
        if none && self.env_steps > 0 {
            return Some(format!("{folder}: all rows up to {} environment steps are lost", self.env_steps));
        }
        let rows = if found.lost == 1 { "1 row is".to_owned() } else { format!("{} rows are", found.lost) };
        let [a, b] = [file::JSONL, file::CSV].map(|name| self.folder.join(name));
        let text = format!("{rows} lost: damaged in {}, in {} and in the events", a.display(), b.display());
        (found.lost > 0).then_some(text)
    }

    /// A sentence about what is wrong with a file and becomes of it. With `keep`, what could not be read is copied.
    fn trouble(&self, name: &str, health: Health, none: bool, keep: bool) -> io::Result<Option<String>> {
        let path = self.folder.join(name);
        let is_events = name == file::EVENTS;
        let holds_bytes = std::fs::metadata(&path).is_ok_and(|meta| meta.len() > 0);
        // A snapshot follows at least one row.
        let unread = none && !is_events && holds_bytes && self.env_steps > 0;
        if health.whole() && !unread && (!is_events || health.from > 0) {
            return Ok(None);
        }
        let path = path.display();
        let count = |n: u64, what: &str| if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") };
        let mut text = match health.missing + health.wrong {
            _ if !health.exists && none => format!("{path} is missing: made anew, empty"),
            _ if !health.exists => format!("{path} is missing: made anew from the other metrics files"),
            _ if none => format!("{path} is damaged: no row of this run could be read in it, made anew, empty"),
            0 => format!("{path} is damaged: {} cut out", count(health.damaged.max(1), "part")),
            rows => format!("{path} is damaged: {} mended from the other metrics files", count(rows, "row")),
        };
        if keep && holds_bytes && (health.damaged > 0 || unread) {
            text += &format!("; what it held is kept in {}", put_aside(self.folder, name)?);
        }
        Ok(Some(text))
    }

    /// Writes a file anew: what was before the rows that were looked at, and these rows.
    fn rewrite(&self, name: &str, health: Health, put: &mut Put<'_>) -> io::Result<()> {
        let path = self.folder.join(name);
        atomic::rewrite(&path, &mut |file| {
            let mut out = BufWriter::new(file);
            if health.from > 0 {
                io::copy(&mut File::open(&path)?.take(health.from), &mut out)?;
            }
            self.compare(&mut |one| put(&mut out, one))?;
            out.flush()
        })
    }

    fn rewrite_csv(&self, health: Health) -> io::Result<()> {
        let mut begun = health.from > 0;
        self.rewrite(file::CSV, health, &mut |out, one| {
            if !std::mem::replace(&mut begun, true) {
                out.write_all((self.columns.join(",") + "\n").as_bytes())?;
            }
            out.write_all(one.row.to_csv(&self.columns).as_bytes())
        })
    }

    fn rewrite_events(&self, health: Health) -> io::Result<()> {
        let mut begun = health.from > 0;
        self.rewrite(file::EVENTS, health, &mut |out, one| {
            let mut bytes = Vec::new();
            if !std::mem::replace(&mut begun, true) {
                begin_events(&mut bytes, self.config, one.began);
            }
            match one.event {
                Some(event) => tfevents::record(&mut bytes, event),
                None => {
                    let seconds = Some(one.row.value(SECONDS)).filter(|seconds| seconds.is_finite());
                    tfevents::row(&mut bytes, one.row, one.began + seconds.unwrap_or(0.0));
                }
            }
            out.write_all(&bytes)
        })?;
        if !begun {
            let mut bytes = Vec::new();
            begin_events(&mut bytes, self.config, now());
            atomic::write(&self.folder.join(file::EVENTS), &bytes)?;
        }
        Ok(())
    }
}

/// Writes one row.
type Put<'a> = dyn FnMut(&mut dyn io::Write, &Believed<'_>) -> io::Result<()> + 'a;

/// The event that `row` would have been written as, at the time of `event`.
fn event_of(row: &TextRow, event: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    tfevents::row(&mut bytes, row, tfevents::wall_time(event).unwrap_or(f64::NAN));
    // Without length and checksums.
    bytes.drain(..12);
    bytes.truncate(bytes.len() - 4);
    bytes
}

/// A file of the folder from `at` on; `None` if it is missing.
pub(crate) fn open(folder: &Path, name: &str, at: u64) -> io::Result<Option<BufReader<File>>> {
    match File::open(folder.join(name)) {
        Ok(mut file) => {
            file.seek(SeekFrom::Start(at))?;
            Ok(Some(BufReader::new(file)))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The last `tail` bytes of a file and where they begin; `None` if it has no more than that.
fn end_of(folder: &Path, name: &str, tail: u64) -> io::Result<Option<(u64, BufReader<File>)>> {
    let Some(mut reader) = open(folder, name, 0)? else { return Ok(None) };
    let length = reader.seek(SeekFrom::End(0))?;
    if length <= tail {
        return Ok(None);
    }
    reader.seek(SeekFrom::Start(length - tail))?;
    Ok(Some((length - tail, reader)))
}

/// Finds the first line in the last `tail` bytes of a file.
pub(crate) fn line_in(folder: &Path, name: &str, tail: u64) -> io::Result<u64> {
    let Some((at, reader)) = end_of(folder, name, tail)? else { return Ok(0) };
    let mut lines = Lines::new(reader, at);
    lines.next_line()?;
    Ok(lines.at())
}

fn cut(path: &Path, keep: u64) -> io::Result<()> {
    let file = disk::open(OpenOptions::new().create(true).write(true).truncate(false), path)?;
    disk::set_len(&file, keep)
}
