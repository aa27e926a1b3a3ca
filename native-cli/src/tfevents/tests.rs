use super::*;
use crate::run_folder::tests::scratch;
use std::fs;

/// A decoder of its own, by the definitions of protobuf and TFRecord: fields as `(number, wire type, payload)`.
fn fields(mut bytes: &[u8]) -> Vec<(u64, u64, Vec<u8>)> {
    fn take_varint(bytes: &mut &[u8]) -> u64 {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = bytes[0];
            *bytes = &bytes[1..];
            value += u64::from(byte % 128) << shift;
            shift += 7;
            if byte < 128 {
                return value;
            }
        }
    }
    let mut out = Vec::new();
    while !bytes.is_empty() {
        let key = take_varint(&mut bytes);
        let length = match key % 8 {
            0 => {
                let value = take_varint(&mut bytes);
                out.push((key / 8, 0, value.to_le_bytes().to_vec()));
                continue;
            }
            1 => 8,
            2 => take_varint(&mut bytes) as usize,
            5 => 4,
            other => panic!("wire type {other}"),
        };
        out.push((key / 8, key % 8, bytes[..length].to_vec()));
        bytes = &bytes[length..];
    }
    out
}

/// Bitwise CRC-32C, without a table.
fn slow_crc(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0x82f6_3b78 * (crc & 1));
        }
    }
    !crc
}

fn records(path: &Path) -> Vec<Vec<u8>> {
    let bytes = fs::read(path).unwrap();
    let mut rest = &bytes[..];
    let mut out = Vec::new();
    let masked = |b: &[u8]| {
        let crc = slow_crc(b);
        crc.rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes()
    };
    while !rest.is_empty() {
        let length = u64::from_le_bytes(rest[..8].try_into().unwrap()) as usize;
        assert_eq!(rest[8..12], masked(&rest[..8]));
        let data = &rest[12..12 + length];
        assert_eq!(rest[12 + length..16 + length], masked(data));
        out.push(data.to_vec());
        rest = &rest[16 + length..];
    }
    out
}

#[test]
fn crc32c_has_the_published_check_values() {
    // RFC 3720 appendix B.4, and the check value of the CRC catalogue.
    assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
    assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
}

#[test]
fn an_independent_decoder_reads_what_was_written() {
    let dir = scratch("tfevents");
    let path = dir.join("events");
    let mut writer = EventWriter::create(&path, 1.5).unwrap();
    writer.text("config", 2.0, "gamma = 0.99").unwrap();
    writer.scalars(300, 2.5, [("train/policy_loss", -0.25), ("time/sps", 1e5)]).unwrap();
    writer.flush().unwrap();

    let events: Vec<_> = records(&path).iter().map(|r| fields(r)).collect();
    assert_eq!(events.len(), 3);
    assert_eq!(events[0][0], (1, 1, 1.5_f64.to_le_bytes().to_vec()));
    assert_eq!(events[0][2], (3, 2, b"brain.Event:2".to_vec()));

    let value = fields(&fields(&events[1][2].2)[0].2);
    assert_eq!(value[0], (1, 2, b"config".to_vec()));
    let tensor = fields(&value[1].2);
    assert_eq!((value[1].0, tensor[0].0, tensor[0].2[0]), (8, 1, 7));
    assert_eq!(tensor[2], (8, 2, b"gamma = 0.99".to_vec()));
    let plugin = fields(&fields(&value[2].2)[0].2);
    assert_eq!((value[2].0, plugin[0].2.as_slice()), (9, &b"text"[..]));

    assert_eq!(events[2][1], (2, 0, 300_u64.to_le_bytes().to_vec()));
    assert_eq!(events[2][2].0, 5);
    let scalars: Vec<_> = fields(&events[2][2].2).iter().map(|v| fields(&v.2)).collect();
    assert_eq!(scalars[0][0].2, b"train/policy_loss");
    assert_eq!(scalars[0][1], (2, 5, (-0.25_f32).to_le_bytes().to_vec()));
    assert_eq!(scalars[1][1].2, 1e5_f32.to_le_bytes());
}

#[test]
fn resuming_cuts_newer_and_damaged_records_and_continues_identically() {
    let dir = scratch("tfevents-resume");
    let write = |writer: &mut EventWriter, steps: std::ops::Range<u64>| {
        for i in steps {
            writer.scalars(i * 512, 1.0, [("a", i as f64)]).unwrap();
        }
        writer.flush().unwrap();
    };
    let (whole, cut) = (dir.join("whole"), dir.join("cut"));
    write(&mut EventWriter::create(&whole, 0.0).unwrap(), 0..20);
    write(&mut EventWriter::create(&cut, 0.0).unwrap(), 0..15);
    // A process died in the middle of a record, which had grown beyond the snapshot at step 10 * 512.
    let mut bytes = fs::read(&cut).unwrap();
    bytes.truncate(bytes.len() - 3);
    fs::write(&cut, bytes).unwrap();
    write(&mut EventWriter::resume(&cut, 10 * 512).unwrap(), 11..20);
    assert_eq!(fs::read(&whole).unwrap(), fs::read(&cut).unwrap());

    // A flipped bit ends what can be trusted.
    let mut bytes = fs::read(&whole).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&cut, bytes).unwrap();
    EventWriter::resume(&cut, u64::MAX).unwrap();
    let kept = records(&cut).len();
    assert!((8..13).contains(&kept), "{kept}");
    assert!(EventWriter::resume(&dir.join("none"), 0).is_err());
}
