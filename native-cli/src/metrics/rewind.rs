//! Goes back to a snapshot: repairs the record of the metrics, cuts rows that are newer, and derives the other files.
//!
//! The JSON lines are the record; all rows up to a snapshot are on disk before it is. The three files are read side by
//! side by environment steps, their last megabytes only. A row that the record lacks, or of which its line is broken,
//! is taken from the CSV, or else from the events, which round. As events have checksums, they also tell where a broken
//! line reads like a row. A file that is not as the rows demand is written anew and replaced at once. What was written
//! in half when a process was killed is newer than the snapshot and no damage.

use super::columns::settle;
use super::gaps::{Gaps, in_words};
use super::rows::{RowFormat, Rows, TextRow, columns_of, tail_start};
use super::{SECONDS, begin_events, now};
use crate::files::{atomic, disk};
use crate::folder::file;
use crate::metrics::history::Due;
use crate::metrics::tfevents;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read as _, Write};
use std::path::Path;
use std::time::UNIX_EPOCH;

/// Most bytes that are read of each file, from its end. Rows of a day take less by default.
pub(crate) const TAIL: u64 = 32 << 20;

/// The files, the record first.
const NAMES: [&str; 3] = [file::JSONL, file::CSV, file::EVENTS];
const FORMATS: [RowFormat<'_>; 3] = [RowFormat::Json, RowFormat::Csv(&[]), RowFormat::Events];

/// The state of the files after [`rewind`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rewound {
    /// Columns of the CSV; empty if there is no row yet.
    pub columns: Vec<String>,
    /// Sentences about what was damaged, each with the name of its file.
    pub notes: Vec<String>,
}

/// Cuts rows newer than `env_steps` off the metrics files in `folder` and repairs them; `config` is shown in
/// TensorBoard where its file must be made anew. Of each file the last `tail` bytes are looked at.
pub(crate) fn rewind(folder: &Path, env_steps: u64, config: &str, tail: u64) -> io::Result<Rewound> {
    let header = columns_of(&folder.join(file::CSV))?;
    let due = Due::of(folder, env_steps)?;
    let columns = settle(folder, &header, tail)?;
    let mut files = Files { folder, env_steps, config, due, starts: [0; 3], columns, csv_is_whole: false };
    for ((start, name), format) in files.starts.iter_mut().zip(NAMES).zip(FORMATS) {
        *start = tail_start(&folder.join(name), format, tail)?;
    }
    let mut found = files.merge(&mut |_| Ok(()))?;
    // A snapshot may be older than what was looked at, a file much shorter than the others, its first line a new one.
    if files.starts != [0; 3] && (!found.aligned || files.columns != header) {
        (files.starts, files.columns) = ([0; 3], settle(folder, &header, u64::MAX)?);
        found = files.merge(&mut |_| Ok(()))?;
    }
    // A line of a record with damage may read like a row.
    let has_all = |health: Health| health.damaged + health.missing == 0;
    if has_all(found.health[1]) && !has_all(found.health[0]) {
        files.csv_is_whole = true;
        found = files.merge(&mut |_| Ok(()))?;
    }
    found.health[1].damaged += u64::from(files.columns != header && found.rows > 0);
    files.apply(&found)
}

/// The state of one file.
#[derive(Clone, Copy, Debug, Default)]
struct Health {
    /// Lines or records that are no rows.
    damaged: u64,
    /// Rows that it should have.
    missing: u64,
    /// Rows that it has otherwise.
    wrong: u64,
    /// The offset before the first row that was looked at.
    from: u64,
    /// The offset after its last row.
    end: u64,
    exists: bool,
}

impl Health {
    fn is_whole(self) -> bool {
        self.exists && self.damaged + self.missing + self.wrong == 0
    }
}

/// One of the files, read row by row up to the snapshot.
struct Side<'a> {
    rows: Rows<'a>,
    files: &'a Files<'a>,
    /// Steps of the last row.
    last: Option<u64>,
    /// The next row that is sound and not newer than the snapshot.
    next: Option<TextRow>,
    /// Damaged lines since the last row that both texts have.
    pending: u64,
    health: Health,
}

impl<'a> Side<'a> {
    fn open(files: &'a Files<'a>, name: &str, format: RowFormat<'a>, start: u64) -> io::Result<Self> {
        let rows = Rows::open(&files.folder.join(name), format, start)?;
        let health = Health { from: rows.from, end: rows.at, exists: rows.exists(), ..Health::default() };
        let mut side = Self { rows, files, last: None, next: None, pending: 0, health };
        side.advance()?;
        Ok(side)
    }

    fn steps(&self) -> Option<u64> {
        self.next.as_ref().map(|row| row.steps)
    }

    /// Goes to the next row.
    fn advance(&mut self) -> io::Result<()> {
        if self.next.take().is_some() {
            self.health.end = self.rows.at;
        }
        let mut damaged = 0;
        while let Some(row) = self.rows.next().transpose()? {
            // What begins the events are several rows at step 0.
            let later = self.last.is_none_or(|last| row.steps > last || row.steps + last == 0);
            if later && row.cells.iter().all(|(name, _)| self.files.columns.contains(name)) {
                self.last = Some(row.steps);
                self.next = Some(row).filter(|row| row.steps <= self.files.env_steps);
                break;
            }
            damaged += 1;
        }
        damaged += std::mem::take(&mut self.rows.damaged);
        (self.health.damaged, self.pending) = (self.health.damaged + damaged, self.pending + damaged);
        Ok(())
    }

    /// Leaves out rows before `steps`; what is wrong among them does not count.
    fn skip_to(&mut self, steps: u64) -> io::Result<()> {
        while self.steps().is_some_and(|at| at < steps) {
            self.advance()?;
        }
        self.health.from = self.health.end;
        if self.next.is_some() {
            (self.health.damaged, self.pending) = (0, 0);
        }
        Ok(())
    }

    /// Tells whether the file had a sound record before the next row, and has had no other.
    fn is_sound(&self) -> bool {
        self.health.damaged == 0 && self.next.is_some() && self.health.end > self.rows.from
    }
}

/// The outcome of a comparison.
#[derive(Debug, Default)]
struct Found {
    /// The state of each file, in the order of [`NAMES`].
    health: [Health; 3],
    rows: u64,
    /// All files have the first of these rows, so that no earlier one is missing in one of them.
    aligned: bool,
    /// Rows that no file has any more.
    lost: u64,
    /// The first and the last row of each gap between rows that all files lack.
    gaps: Vec<(u64, u64)>,
    /// The last gap reaches to the snapshot.
    cut_short: bool,
}

/// A row of the run, and its event where that is sound.
struct Merged<'a> {
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
    /// The offsets at which reading begins in each file.
    starts: [u64; 3],
    columns: Vec<String>,
    /// The record has damage and the CSV has none: where they differ and no event tells, the CSV is believed.
    csv_is_whole: bool,
}

impl Files<'_> {
    /// Reads the files side by side and hands every row to `sink`.
    fn merge(&self, sink: &mut dyn FnMut(&Merged<'_>) -> io::Result<()>) -> io::Result<Found> {
        let mut sides = [
            Side::open(self, file::JSONL, RowFormat::Json, self.starts[0])?,
            Side::open(self, file::CSV, RowFormat::Csv(&self.columns), self.starts[1])?,
            Side::open(self, file::EVENTS, RowFormat::Events, self.starts[2])?,
        ];
        sides[2].skip_to(1)?;
        let mut found = Found { aligned: true, ..Found::default() };
        let mut gaps = Gaps::new(&self.due, 0);
        // In the midst of the files, rows are compared from where all have begun.
        if self.starts != [0; 3] {
            let floor = sides.iter().filter_map(Side::steps).max().unwrap_or(0);
            sides.iter_mut().try_for_each(|side| side.skip_to(floor))?;
            found.aligned = sides.iter().all(|side| side.steps() == Some(floor));
            gaps = Gaps::new(&self.due, floor);
        }
        let mut began = self.began();
        while let Some(steps) = sides.iter().filter_map(Side::steps).min() {
            let rows = sides.each_ref().map(|side| side.next.as_ref().filter(|row| row.steps == steps));
            let [in_json, in_csv, in_events] = rows.map(|row| row.is_some());
            // A row that one text has alone, where the events are sound before and after it, never was.
            if !in_events && in_json != in_csv && sides[2].is_sound() {
                let side = &mut sides[usize::from(in_csv)];
                side.health.damaged += 1;
                side.advance()?;
                continue;
            }
            let event = in_events.then_some(sides[2].rows.event.as_slice());
            let time = event.and_then(tfevents::wall_time);
            let confirms = |row: &TextRow| time.is_some_and(|time| Some(row.to_event(time).as_slice()) == event);
            let is_broken =
                |json: &TextRow, csv: &TextRow| json != csv && !confirms(json) && (confirms(csv) || self.csv_is_whole);
            let row = match rows {
                [Some(json), Some(csv), _] if is_broken(json, csv) => csv,
                [Some(row), ..] | [None, Some(row), _] | [None, None, Some(row)] => row,
                [None, None, None] => break,
            };
            let seconds = Some(row.value(SECONDS)).filter(|seconds| seconds.is_finite()).unwrap_or(0.0);
            began = time.map_or(began, |time| time - seconds);
            gaps.pass(row);
            sink(&Merged { row, event, began })?;
            found.rows += 1;
            let wrong = [rows[0], rows[1], None].map(|own| own.is_some_and(|own| own != row));
            let both = in_json && in_csv;
            if both {
                // A damaged line of one text is a row that the other one has, or a row that is lost.
                found.lost += sides[0].pending.min(sides[1].pending);
            }
            for ((side, has), wrong) in sides.iter_mut().zip([in_json, in_csv, in_events]).zip(wrong) {
                side.health.missing += u64::from(!has);
                side.health.wrong += u64::from(wrong);
                side.pending = if both { 0 } else { side.pending.saturating_sub(u64::from(!has)) };
                if has {
                    side.advance()?;
                }
            }
        }
        found.lost += sides[0].pending.min(sides[1].pending);
        found.cut_short = gaps.until(self.env_steps.saturating_add(1));
        found.gaps = gaps.ranges;
        found.health = sides.map(|side| side.health);
        Ok(found)
    }

    /// When the run began, in seconds since 1970, as its configuration tells.
    fn began(&self) -> f64 {
        let written = fs::metadata(self.folder.join(file::CONFIG)).and_then(|meta| meta.modified()).ok();
        let since = written.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        since.map_or_else(now, |since| since.as_secs_f64())
    }

    /// Cuts files that are whole, writes the others anew, and says so.
    fn apply(self, found: &Found) -> io::Result<Rewound> {
        let none = found.rows == 0 && found.health[1].from == 0;
        let lost = self.lost(found, none);
        let keep = none || lost.is_some();
        // What is kept is kept before anything is written.
        let mut notes = Vec::new();
        for (name, health) in NAMES.into_iter().zip(found.health) {
            notes.push(self.trouble(name, health, none, keep)?);
        }
        for ((name, health), note) in NAMES.into_iter().zip(found.health).zip(&notes) {
            match note {
                // The first row will write the first line.
                _ if none && name != file::EVENTS => cut(&self.folder.join(name), 0)?,
                None => cut(&self.folder.join(name), health.end)?,
                Some(_) => self.rewrite(name, health.from)?,
            }
        }
        let notes = notes.into_iter().flatten().chain(lost).collect();
        Ok(Rewound { columns: if none { Vec::new() } else { self.columns }, notes })
    }

    /// Rows that no file has, in a sentence.
    fn lost(&self, found: &Found, none: bool) -> Option<String> {
        let damaged = found.health.iter().any(|health| !health.is_whole());
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
        let holds_bytes = fs::metadata(&path).is_ok_and(|meta| meta.len() > 0);
        // A snapshot follows at least one row.
        let unread = none && !is_events && holds_bytes && self.env_steps > 0;
        if health.is_whole() && !unread && (!is_events || health.from > 0) {
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

    /// Writes a file anew: what was before the rows that were looked at, which is up to `from`, and these rows.
    fn rewrite(&self, name: &str, from: u64) -> io::Result<()> {
        let path = self.folder.join(name);
        let begin = |began: f64| -> Vec<u8> {
            let mut bytes = Vec::new();
            match name {
                _ if from > 0 => {}
                file::CSV => bytes = (self.columns.join(",") + "\n").into_bytes(),
                file::EVENTS => begin_events(&mut bytes, self.config, began),
                _ => {}
            }
            bytes
        };
        atomic::rewrite(&path, &mut |file| {
            let mut out = BufWriter::new(file);
            if from > 0 {
                io::copy(&mut File::open(&path)?.take(from), &mut out)?;
            }
            let mut begun = false;
            self.merge(&mut |Merged { row, event, began }| {
                if !std::mem::replace(&mut begun, true) {
                    out.write_all(&begin(*began))?;
                }
                match (name, event) {
                    (file::JSONL, _) => out.write_all(row.to_json().as_bytes()),
                    (file::CSV, _) => out.write_all(row.to_csv(&self.columns).as_bytes()),
                    (_, event) => {
                        let seconds = Some(row.value(SECONDS)).filter(|seconds| seconds.is_finite());
                        let made = || row.to_event(began + seconds.unwrap_or(0.0));
                        let mut bytes = Vec::new();
                        tfevents::record(&mut bytes, &event.map_or_else(made, <[u8]>::to_vec));
                        out.write_all(&bytes)
                    }
                }
            })?;
            if !begun {
                out.write_all(&begin(now()))?;
            }
            out.flush()
        })
    }
}

/// Copies a file beside itself; the name of the copy, which replaces no other.
fn put_aside(folder: &Path, name: &str) -> io::Result<String> {
    let names = (1..100).map(|k| if k == 1 { format!("{name}.damaged") } else { format!("{name}.damaged-{k}") });
    let free = |aside: &String| fs::symlink_metadata(folder.join(aside)).is_err();
    let aside = names
        .into_iter()
        .find(free)
        .ok_or_else(|| io::Error::other(format!("there are 99 damaged copies of {name} already; move them away")))?;
    let mut from = File::open(folder.join(name))?;
    atomic::rewrite(&folder.join(&aside), &mut |to| io::copy(&mut from, to).map(|_| ()))?;
    Ok(aside)
}

fn cut(path: &Path, keep: u64) -> io::Result<()> {
    let file = disk::open(OpenOptions::new().create(true).write(true).truncate(false), path)?;
    disk::set_len(&file, keep)
}
