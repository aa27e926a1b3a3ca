use super::*;
use crate::folder::tests::scratch;
use std::fs;
use std::path::Path;

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
    let mut bytes = Vec::new();
    begin(&mut bytes, 1.5);
    text(&mut bytes, "config", 2.0, "gamma = 0.99");
    record(&mut bytes, &scalars(300, 2.5, [("train/policy_loss", -0.25), ("time/sps", 1e5)]));
    fs::write(&path, bytes).unwrap();

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
fn records_are_read_one_by_one_up_to_what_is_damaged_or_cut_off() {
    let mut bytes = Vec::new();
    (0..20).for_each(|i| record(&mut bytes, &scalars(i * 512, 1.0, [("a", i as f64)])));
    let read = |bytes: &[u8]| {
        let mut records = Records::new(bytes, 0);
        let mut steps = Vec::new();
        while let Some(event) = records.next_event().unwrap() {
            steps.push(step_of(&event).unwrap());
            assert_eq!(wall_time(&event), Some(1.0));
        }
        (steps.len(), records.damaged(), records.at())
    };
    let size = bytes.len() as u64;
    assert_eq!(read(&bytes), (20, false, size));
    let (count, damaged, at) = read(&bytes[..bytes.len() - 3]);
    assert_eq!((count, damaged), (19, false), "cut off by the file's end");
    assert!(at < size);
    // A flipped bit ends what can be trusted, and so does a length beyond reason.
    let mut flipped = bytes.clone();
    flipped[bytes.len() / 2] ^= 1;
    let (count, damaged, _) = read(&flipped);
    assert!(damaged && (8..12).contains(&count), "{count}");
    let mut long = u64::MAX.to_le_bytes().to_vec();
    long.extend(masked_crc(&long).to_le_bytes());
    assert_eq!(read(&long), (0, true, 0));
    // In the midst of a file the next record is found.
    let second = read(&bytes[..bytes.len() - 3]).2 as usize;
    assert_eq!(find_record(&bytes[second - 5..]), Some(5));
    assert_eq!((find_record(&bytes[second + 1..]), find_record(&[])), (None, None));
}

#[test]
fn settings_and_the_end_are_written_as_protobuf_writes_them() {
    // SerializeToString of the messages that TensorBoard 2.21.0 makes of these (plugin_data_pb2, summary_pb2,
    // metadata.create_summary_metadata, metadata.NULL_TENSOR), the settings in order of their names.
    let start = [
        &b"\nu\n\x1c_hparams_/session_start_infoB\x06\x08\x01\x12\x02\x12\x00JM\nK\n\x07hparams\x12@\x1a>"[..],
        b"\n\x0e\n\x01a\x12\t\x11\x00\x00\x00\x00\x00\x00\xe0?",
        b"\n\x07\n\x01b\x12\x02 \x01",
        b"\n\n\n\x01c\x12\x05\x1a\x03[8]",
        b"\n\x0e\n\x01d\x12\t\x11\x00\x00\x00\x00\x00\x00\x08@",
        b")\x00\x00\x00\x00\x00\x00\xf8?",
    ];
    let end = b"\n@\n\x1a_hparams_/session_end_infoB\x06\x08\x01\x12\x02\x12\x00J\x1a\n\x18\n\x07hparams\x12\r\"\x0b\
        \x08\x01\x11\x00\x00\x00\x00\x00\x00\x04@";
    let dir = scratch("hparams");
    let mut bytes = Vec::new();
    hparams::session_start(&mut bytes, 1.5, &toml::from_str("a = 0.5\nb = true\nc = [8]\nd = 3").unwrap());
    hparams::session_end(&mut bytes, 2.5);
    fs::write(dir.join("events"), bytes).unwrap();
    let events: Vec<_> = records(&dir.join("events")).iter().map(|record| fields(record)).collect();
    assert_eq!([&events[0][2], &events[1][2]], [&(5, 2, start.concat()), &(5, 2, end.to_vec())]);
    assert_eq!(events[1][0], (1, 1, 2.5_f64.to_le_bytes().to_vec()));
}
