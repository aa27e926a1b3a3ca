//! TensorBoard event files: scalars, text, and in `hparams` the settings of runs.
//!
//! An event file is a sequence of records `length u64, masked crc of length u32, data, masked crc of data u32` (all
//! little-endian), and each record is a protobuf `Event`. Field numbers are those of TensorBoard's `event.proto`,
//! `summary.proto` and `tensor.proto`; only the handful used here are written.

pub(crate) mod hparams;

use std::io::{self, BufRead, Read as _};

/// The event that begins a file. `wall_time` is in seconds since 1970.
pub(crate) fn begin(out: &mut Vec<u8>, wall_time: f64) {
    let mut event = event(wall_time, 0);
    bytes_field(&mut event, 3, b"brain.Event:2");
    record(out, &event);
}

/// An event with several scalars at `step`.
pub(crate) fn scalars<'a>(step: u64, wall_time: f64, values: impl IntoIterator<Item = (&'a str, f64)>) -> Vec<u8> {
    let mut summary = Vec::new();
    for (tag, value) in values {
        let mut entry = Vec::new();
        bytes_field(&mut entry, 1, tag.as_bytes());
        key(&mut entry, 2, FIXED32);
        #[allow(clippy::cast_possible_truncation)] // the format holds f32
        entry.extend_from_slice(&(value as f32).to_le_bytes());
        bytes_field(&mut summary, 1, &entry);
    }
    let mut event = event(wall_time, step);
    bytes_field(&mut event, 5, &summary);
    event
}

/// Text (markdown) shown in TensorBoard's text tab, at step 0.
pub(crate) fn text(out: &mut Vec<u8>, tag: &str, wall_time: f64, text: &str) {
    let mut plugin = Vec::new();
    bytes_field(&mut plugin, 1, b"text");
    let mut metadata = Vec::new();
    bytes_field(&mut metadata, 1, &plugin);

    let mut tensor = Vec::new();
    key(&mut tensor, 1, VARINT);
    varint(&mut tensor, 7); // DT_STRING
    bytes_field(&mut tensor, 2, &[]); // shape: a scalar
    bytes_field(&mut tensor, 8, text.as_bytes());

    let mut entry = Vec::new();
    bytes_field(&mut entry, 1, tag.as_bytes());
    bytes_field(&mut entry, 8, &tensor);
    bytes_field(&mut entry, 9, &metadata);
    let mut summary = Vec::new();
    bytes_field(&mut summary, 1, &entry);
    let mut event = event(wall_time, 0);
    bytes_field(&mut event, 5, &summary);
    record(out, &event);
}

/// Appends an event as a record with its checksums.
pub(crate) fn record(out: &mut Vec<u8>, data: &[u8]) {
    let length = (data.len() as u64).to_le_bytes();
    out.extend_from_slice(&length);
    out.extend_from_slice(&masked_crc(&length).to_le_bytes());
    out.extend_from_slice(data);
    out.extend_from_slice(&masked_crc(data).to_le_bytes());
}

const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const BYTES: u64 = 2;
const FIXED32: u64 = 5;

fn event(wall_time: f64, step: u64) -> Vec<u8> {
    let mut out = Vec::new();
    key(&mut out, 1, FIXED64);
    out.extend_from_slice(&wall_time.to_le_bytes());
    key(&mut out, 2, VARINT);
    varint(&mut out, step);
    out
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn key(out: &mut Vec<u8>, field: u64, wire_type: u64) {
    varint(out, field << 3 | wire_type);
}

fn bytes_field(out: &mut Vec<u8>, field: u64, bytes: &[u8]) {
    key(out, field, BYTES);
    varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Longest event that is read; a longer one is damage.
const LONGEST: u64 = 1 << 20;

/// Reads records one after the other, in memory for one.
#[derive(Debug)]
pub(crate) struct Records<R> {
    reader: R,
    /// The offset of the next record.
    at: u64,
    /// A record was there and was no sound one; nothing after it is read.
    damaged: bool,
}

impl<R: BufRead> Records<R> {
    /// Reads from `reader`, which stands at `at`.
    pub(crate) fn new(reader: R, at: u64) -> Self {
        Self { reader, at, damaged: false }
    }

    /// The offset after the last record read.
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    /// Tells whether reading ended at a damaged record; one that is cut off by the file's end is none.
    pub(crate) fn damaged(&self) -> bool {
        self.damaged
    }

    /// The next event; `None` at the file's end, at a record that is cut off and at a damaged one.
    pub(crate) fn next_event(&mut self) -> io::Result<Option<Vec<u8>>> {
        if self.damaged {
            return Ok(None);
        }
        let mut head = Vec::with_capacity(12);
        self.reader.by_ref().take(12).read_to_end(&mut head)?;
        let Some((length, crc)) = head.split_first_chunk::<8>().filter(|_| head.len() == 12) else {
            return Ok(None);
        };
        let size = u64::from_le_bytes(*length);
        if crc != masked_crc(length).to_le_bytes() || size > LONGEST {
            self.damaged = true;
            return Ok(None);
        }
        let mut data = Vec::new();
        self.reader.by_ref().take(size + 4).read_to_end(&mut data)?;
        let Some((event, crc)) = data.split_last_chunk::<4>().filter(|_| data.len() as u64 == size + 4) else {
            return Ok(None);
        };
        if *crc != masked_crc(event).to_le_bytes() {
            self.damaged = true;
            return Ok(None);
        }
        self.at += 16 + size;
        data.truncate(data.len() - 4);
        Ok(Some(data))
    }
}

/// Finds the first record in bytes from the midst of a file.
pub(crate) fn find_record(bytes: &[u8]) -> Option<usize> {
    (0..bytes.len().saturating_sub(15)).find(|at| {
        let (length, rest) = bytes[*at..].split_at(8);
        // The checksum of the length alone finds the place; that of the event is looked at when it is read.
        rest[..4] == masked_crc(length).to_le_bytes() && length[3..] == [0; 5]
    })
}

/// The wall time of an event written by this module (field 1 is its first).
pub(crate) fn wall_time(event: &[u8]) -> Option<f64> {
    let value = f64::from_le_bytes(event.get(1..9)?.try_into().ok()?);
    (event[0] == (1 << 3 | FIXED64) as u8 && value.is_finite()).then_some(value)
}

/// The step of an event written by this module (field 2 follows the 9 bytes of field 1).
pub(crate) fn step_of(event: &[u8]) -> Option<u64> {
    let rest = event.get(9..)?;
    if *rest.first()? != 2 << 3 {
        return None;
    }
    take_varint(&mut &rest[1..])
}

/// The names and values of an event that [`scalars`] made.
pub(crate) fn scalars_of(event: &[u8]) -> Option<Vec<(&str, f32)>> {
    let summary = fields(event)?.into_iter().find(|(field, _)| *field == 5)?.1;
    let mut scalars = Vec::new();
    for (_, entry) in fields(summary)? {
        let entry = fields(entry)?;
        let part = |field: u64| entry.iter().find(|(one, _)| *one == field).map(|(_, bytes)| *bytes);
        scalars.push((std::str::from_utf8(part(1)?).ok()?, f32::from_le_bytes(part(2)?.try_into().ok()?)));
    }
    Some(scalars)
}

/// The text of an event that [`text`] made.
pub(crate) fn text_of(event: &[u8]) -> Option<String> {
    let inside = |message, number: u64| fields(message)?.into_iter().find(|(field, _)| *field == number);
    let entry = inside(inside(event, 5)?.1, 1)?.1;
    String::from_utf8(inside(inside(entry, 8)?.1, 8)?.1.to_vec()).ok()
}

/// The fields of a protobuf message, each with its bytes; numbers of variable length have none.
fn fields(mut bytes: &[u8]) -> Option<Vec<(u64, &[u8])>> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let key = take_varint(&mut bytes)?;
        let length = match key & 7 {
            VARINT => {
                take_varint(&mut bytes)?;
                0
            }
            FIXED64 => 8,
            FIXED32 => 4,
            BYTES => usize::try_from(take_varint(&mut bytes)?).ok()?,
            _ => return None,
        };
        let (payload, rest) = bytes.split_at_checked(length)?;
        found.push((key >> 3, payload));
        bytes = rest;
    }
    Some(found)
}

fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for i in 0..10_u32 {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f).checked_shl(7 * i)?;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// The TFRecord mask: rotate right by 15 and add a constant, so that a checksum of checksums is not trivial.
fn masked_crc(bytes: &[u8]) -> u32 {
    crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}

/// CRC-32C (Castagnoli), reflected, one table lookup per byte.
fn crc32c(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0_u32; 256];
        let mut i = 0;
        while i < 256 {
            let mut crc = i as u32;
            let mut bit = 0;
            while bit < 8 {
                crc = if crc & 1 == 1 { crc >> 1 ^ 0x82f6_3b78 } else { crc >> 1 };
                bit += 1;
            }
            table[i] = crc;
            i += 1;
        }
        table
    };
    !bytes.iter().fold(!0, |crc, byte| crc >> 8 ^ TABLE[((crc ^ u32::from(*byte)) & 0xff) as usize])
}

#[cfg(test)]
mod tests;
