//! Segments: the rows of replay buffers, outside of the snapshots that name them.
//!
//! A [ring](crate::algo::StateEntry::ring) gets a row for each environment step, so that the number of steps made says
//! which rows it holds. These lie one after the other in segments of limited length, to which a snapshot adds the rows
//! that are new since the previous one. For each segment the snapshot names the first row, the number of rows, and
//! their checksum; bytes behind these rows belong to no snapshot.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::wrong::wrong;
use crate::backend::room;
use crate::{Error, Result};

/// The most bytes of a segment.
const SEGMENT_BYTES: u64 = 64 << 20;
/// The least number of segments of a full ring. They are deleted one by one, when all of their rows are overwritten.
const SEGMENTS: u64 = 8;

/// A checksum of 32-bit numbers: FNV-1a with 64 bits, which takes each number at once. It is written as 16 hexadecimal
/// digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
struct Checksum(u64);

impl Checksum {
    const EMPTY: Checksum = Checksum(0xcbf2_9ce4_8422_2325);

    fn over(self, words: &[u32]) -> Checksum {
        Checksum(words.iter().fold(self.0, |hash, word| (hash ^ u64::from(*word)).wrapping_mul(0x0100_0000_01b3)))
    }
}

impl From<Checksum> for String {
    fn from(checksum: Checksum) -> String {
        format!("{:016x}", checksum.0)
    }
}

impl TryFrom<String> for Checksum {
    type Error = String;

    fn try_from(digits: String) -> std::result::Result<Checksum, String> {
        let hexadecimal = digits.len() == 16 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        let number = u64::from_str_radix(&digits, 16).ok().filter(|_| hexadecimal);
        number.map(Checksum).ok_or_else(|| format!("`{digits}` are no 16 hexadecimal digits"))
    }
}

/// A segment: rows that lie one after the other in a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Segment {
    /// The number of the segment's first row among all that were ever added, from 0.
    first: u64,
    rows: u64,
    checksum: Checksum,
}

impl Segment {
    fn end(&self) -> u64 {
        self.first.saturating_add(self.rows)
    }
}

/// A ring of rows as a snapshot names it, with the segments that hold its rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ring {
    /// The name of its tensor in a snapshot of one file.
    pub(in crate::train) tensor: String,
    /// R, the number of rows, then the sizes of one row.
    pub(in crate::train) shape: Vec<usize>,
    /// The number of rows that were ever added; row p of them lies at p mod R.
    pub(in crate::train) added: u64,
    segments: Vec<Segment>,
}

/// Rows that follow each other both in a segment and in the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::train) struct Stretch {
    /// The number of the segment in its ring.
    segment: usize,
    first: u64,
    rows: u64,
}

impl Stretch {
    pub(in crate::train) fn rows(&self) -> u64 {
        self.rows
    }
}

/// A function that reads a number of bytes from the beginning of a segment, by its name.
pub type ReadSegment<'a> = &'a dyn Fn(&str, u64) -> Result<Vec<u8>>;

impl Ring {
    /// Makes a ring without segments.
    pub(in crate::train) fn new(tensor: String, shape: &[usize]) -> Ring {
        Ring { tensor, shape: shape.to_vec(), added: 0, segments: Vec::new() }
    }

    /// The names of the segments, which are fit for files, and the number of bytes that count in each.
    pub fn files(&self) -> impl Iterator<Item = (String, u64)> {
        self.segments.iter().map(|segment| (self.name(segment), segment.rows.saturating_mul(4 * self.width())))
    }

    /// Tells whether a segment of this ring could have this name.
    pub fn names(&self, name: &str) -> bool {
        let number = name.strip_prefix(&*self.tensor).and_then(|name| name.strip_prefix('-')?.strip_suffix(".rows"));
        number.is_some_and(|digits| digits.parse::<u64>().is_ok_and(|first| first.to_string() == digits))
    }

    fn name(&self, segment: &Segment) -> String {
        format!("{}-{}.rows", self.tensor, segment.first)
    }

    fn rows(&self) -> u64 {
        self.shape.first().map_or(1, |rows| *rows as u64).max(1)
    }

    /// The count of numbers in a row.
    fn width(&self) -> u64 {
        self.shape.iter().skip(1).map(|size| *size as u64).fold(1, u64::saturating_mul)
    }

    /// The rows that are held, by their numbers among all that were ever added.
    fn held(&self) -> Range<u64> {
        self.added - self.added.min(self.rows())..self.added
    }

    /// The most rows of a segment.
    fn most(&self) -> u64 {
        (SEGMENT_BYTES / (4 * self.width()).max(1)).min(self.rows().div_ceil(SEGMENTS)).max(1)
    }

    /// The most bytes of a ring of this shape that are in memory at once.
    pub(in crate::train) fn bytes_at_once(shape: &[usize]) -> u64 {
        let ring = Ring::new(String::new(), shape);
        ring.most().saturating_mul(4 * ring.width())
    }

    /// The row of the ring that is written next, after `added` rows: R stands for the first row.
    pub(in crate::train) fn next(rows: usize, added: u64) -> u64 {
        if added == 0 { 0 } else { (added - 1) % (rows as u64).max(1) + 1 }
    }

    /// Advances the ring to `added` rows in all. Gives the stretches that are to be put into segments, in order.
    /// Segments whose rows are all overwritten are dropped.
    pub(in crate::train) fn advance(&mut self, shape: &[usize], added: u64) -> Result<Vec<Stretch>> {
        if self.added > added || self.shape.get(1..) != shape.get(1..) {
            return Err(Error::Program(format!("the segments of `{}` are not of this training", self.tensor)));
        }
        (self.shape, self.added) = (shape.to_vec(), added);
        let (held, most, rows) = (self.held(), self.most(), self.rows());
        self.segments.retain(|segment| segment.end() > held.start);
        let mut first = self.segments.last().map_or(held.start, Segment::end);
        let mut stretches = Vec::new();
        while first < added {
            // Segments begin at the same rows whenever snapshots are made.
            if first.is_multiple_of(most) || self.segments.is_empty() {
                self.segments.push(Segment { first, rows: 0, checksum: Checksum::EMPTY });
            }
            let rows = (most - first % most).min(added - first).min(rows - first % rows);
            stretches.push(Stretch { segment: self.segments.len() - 1, first, rows });
            first += rows;
        }
        Ok(stretches)
    }

    /// The elements of the ring that a stretch covers.
    pub(in crate::train) fn elements(&self, stretch: Stretch) -> Range<usize> {
        let first = stretch.first % self.rows() * self.width();
        first as usize..(first + stretch.rows * self.width()) as usize
    }

    /// Adds a stretch to its segment. Gives the segment's name, and the byte at which its numbers begin.
    pub(in crate::train) fn put(&mut self, stretch: Stretch, words: &[u32]) -> Result<(String, u64)> {
        let offset = self.segments.get(stretch.segment).map_or(0, |segment| segment.rows) * 4 * self.width();
        let missing = || Error::Program("a segment is missing".to_owned());
        let segment = self.segments.get_mut(stretch.segment).ok_or_else(missing)?;
        segment.rows += stretch.rows;
        segment.checksum = segment.checksum.over(words);
        let segment = segment.clone();
        Ok((self.name(&segment), offset))
    }

    /// Checks that the ring is that of a state after `added` rows: a tensor of this shape, all of whose rows are in
    /// segments.
    pub(in crate::train) fn check(&self, shape: &[usize], added: u64) -> Result<()> {
        let Ring { tensor, .. } = self;
        if self.shape != shape {
            return Err(wrong(format!("the tensor `{tensor}` is {:?} in segments, expected {shape:?}", self.shape)));
        }
        if self.added != added {
            return Err(wrong(format!("`{tensor}` had {} rows, and {added} steps were made", self.added)));
        }
        let held = self.held();
        let follow = self.segments.windows(2).all(|pair| match pair {
            [one, next] => one.end() == next.first,
            _ => true,
        });
        let sized = self.segments.iter().all(|segment| (1..=self.rows()).contains(&segment.rows));
        let ends = self.segments.first().map_or(held.end, |segment| segment.first) <= held.start
            && self.segments.last().map_or(0, Segment::end) == held.end;
        if follow && sized && ends {
            return Ok(());
        }
        Err(wrong(format!("the segments of `{tensor}` do not hold its rows {held:?}")))
    }

    /// Reads all rows that are held, segment by segment. `put` takes numbers, and the element of the ring at which they
    /// begin. With `finite`, numbers must be finite floating-point ones.
    pub(in crate::train) fn read(
        &self,
        finite: bool,
        read: ReadSegment<'_>,
        put: &mut dyn FnMut(usize, &[u32]) -> Result<()>,
    ) -> Result<()> {
        let (held, width) = (self.held(), self.width());
        for (segment, (name, bytes)) in self.segments.iter().zip(self.files()) {
            let read = read(&name, bytes)?;
            if read.len() as u64 != bytes {
                return Err(wrong(format!("the segment {name} has {} bytes, expected {bytes}", read.len())));
            }
            let mut words: Vec<u32> = room(read.len() / 4)?;
            words.extend(read.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)));
            drop(read);
            if Checksum::EMPTY.over(&words) != segment.checksum {
                return Err(wrong(format!("the segment {name} is damaged: its rows do not fit their checksum")));
            }
            if let Some(at) = words.iter().position(|word| finite && !f32::from_bits(*word).is_finite()) {
                let (row, number) = (segment.first + at as u64 / width.max(1), f32::from_bits(words[at]));
                return Err(wrong(format!("the segment {name} holds {number} in row {row}, which cannot be")));
            }
            let mut first = segment.first.max(held.start);
            while first < segment.end() {
                let rows = (segment.end() - first).min(self.rows() - first % self.rows());
                let at = ((first - segment.first) * width) as usize;
                put((first % self.rows() * width) as usize, &words[at..at + (rows * width) as usize])?;
                first += rows;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
