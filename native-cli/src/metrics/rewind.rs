//! Goes back to a snapshot: repairs the record of the metrics, cuts rows that are newer, and derives the other files.
//!
//! All rows up to a snapshot are on disk before it is. Of each file the last megabytes are read. One that is not as the
//! rows demand is written anew and replaced at once. What was written in half when a process was killed is newer than
//! the snapshot and no damage.

use super::columns::settle;
use super::history::{Due, in_words};
use super::merge::{Found, Health, Merge, Merged, NAMES};
use super::rows::columns_of;
use super::{SECONDS, begin_events, now, tfevents};
use crate::files::{atomic, disk};
use crate::folder::file;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read as _, Write};
use std::path::Path;

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
    let mut merge = Merge::new(folder, env_steps, settle(folder, &header, tail)?, Due::of(folder, env_steps)?);
    merge.begin_at(tail)?;
    let mut found = merge.compare()?;
    // A snapshot may be older than what was looked at, a file much shorter than the others, its first line a new one.
    if merge.starts != [0; 3] && (!found.aligned || merge.columns != header) {
        (merge.starts, merge.columns) = ([0; 3], settle(folder, &header, u64::MAX)?);
        found = merge.compare()?;
    }
    found.health[1].damaged += u64::from(merge.columns != header && found.rows > 0);
    merge.apply(&found, config)
}

impl Merge<'_> {
    /// Cuts files that are whole, writes the others anew, and says so.
    fn apply(self, found: &Found, config: &str) -> io::Result<Rewound> {
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
                Some(_) => self.rewrite(name, health.from, config)?,
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
    fn rewrite(&self, name: &str, from: u64, config: &str) -> io::Result<()> {
        let path = self.folder.join(name);
        let begin = |began: f64| -> Vec<u8> {
            let mut bytes = Vec::new();
            match name {
                _ if from > 0 => {}
                file::CSV => bytes = (self.columns.join(",") + "\n").into_bytes(),
                file::EVENTS => begin_events(&mut bytes, config, began),
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
            self.each(&mut |Merged { row, event, began }| {
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
