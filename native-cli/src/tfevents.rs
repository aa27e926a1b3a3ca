//! TensorBoard event files: scalars and text.
//!
//! An event file is a sequence of records `length u64, masked crc of length u32, data, masked crc of data u32` (all
//! little-endian), and each record is a protobuf `Event`. Field numbers are those of TensorBoard's `event.proto`,
//! `summary.proto` and `tensor.proto`; only the handful used here are written.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

/// Appends events to a file.
#[derive(Debug)]
pub struct EventWriter {
    file: BufWriter<File>,
}

impl EventWriter {
    /// Starts a new file, replacing an old one. `wall_time` is in seconds since 1970.
    ///
    /// # Errors
    /// Any IO error.
    pub fn create(path: &Path, wall_time: f64) -> io::Result<Self> {
        let mut writer = Self { file: BufWriter::new(File::create(path)?) };
        let mut event = event(wall_time, 0);
        bytes_field(&mut event, 3, b"brain.Event:2");
        writer.record(&event)?;
        Ok(writer)
    }

    /// Continues a file after cutting off every record newer than `step` and anything damaged.
    ///
    /// # Errors
    /// Any IO error; `NotFound` if there is no file.
    pub fn resume(path: &Path, step: u64) -> io::Result<Self> {
        let mut file = OpenOptions::new().read(true).write(true).open(path)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let mut keep = 0;
        for (data, end) in Records::new(&bytes) {
            if step_of(data).is_none_or(|s| s > step) {
                break;
            }
            keep = end;
        }
        file.set_len(keep as u64)?;
        file.seek(SeekFrom::End(0))?;
        Ok(Self { file: BufWriter::new(file) })
    }

    /// One event with several scalars at `step`.
    ///
    /// # Errors
    /// Any IO error.
    pub fn scalars<'a>(
        &mut self,
        step: u64,
        wall_time: f64,
        values: impl IntoIterator<Item = (&'a str, f64)>,
    ) -> io::Result<()> {
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
        self.record(&event)
    }

    /// Text (markdown) shown in TensorBoard's text tab, at step 0.
    ///
    /// # Errors
    /// Any IO error.
    pub fn text(&mut self, tag: &str, wall_time: f64, text: &str) -> io::Result<()> {
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
        self.record(&event)
    }

    /// Hands buffered records to the operating system.
    ///
    /// # Errors
    /// Any IO error.
    pub fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }

    /// Flushes and waits until the records are on disk.
    ///
    /// # Errors
    /// Any IO error.
    pub fn sync(&mut self) -> io::Result<()> {
        self.file.flush()?;
        self.file.get_ref().sync_data()
    }

    fn record(&mut self, data: &[u8]) -> io::Result<()> {
        let length = (data.len() as u64).to_le_bytes();
        self.file.write_all(&length)?;
        self.file.write_all(&masked_crc(&length).to_le_bytes())?;
        self.file.write_all(data)?;
        self.file.write_all(&masked_crc(data).to_le_bytes())
    }
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

/// Complete, undamaged records from the front of a file: `(data, offset after the record)`.
struct Records<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Records<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = (&'a [u8], usize);

    fn next(&mut self) -> Option<Self::Item> {
        let u32_at = |at: usize| -> Option<u32> {
            let raw = self.bytes.get(at..at.checked_add(4)?)?;
            Some(u32::from_le_bytes(raw.try_into().ok()?))
        };
        let start = self.at.checked_add(12)?;
        let head: &[u8] = self.bytes.get(self.at..self.at + 8)?;
        let length = usize::try_from(u64::from_le_bytes(head.try_into().ok()?)).ok()?;
        let end = start.checked_add(length)?;
        let data = self.bytes.get(start..end)?;
        if u32_at(self.at + 8)? != masked_crc(head) || u32_at(end)? != masked_crc(data) {
            return None;
        }
        self.at = end + 4;
        Some((data, self.at))
    }
}

/// The step of an event written by this module (field 2 follows the 9 bytes of field 1).
fn step_of(event: &[u8]) -> Option<u64> {
    let rest = event.get(9..)?;
    if *rest.first()? != 2 << 3 {
        return None;
    }
    let mut value = 0_u64;
    for (i, byte) in rest[1..].iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f).checked_shl(7 * i as u32)?;
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
