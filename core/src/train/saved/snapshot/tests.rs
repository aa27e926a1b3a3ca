//! Tests of snapshots' files.

use super::*;

fn example() -> (Header, Vec<Entry<'static>>) {
    let mut header = Header::new(
        SnapshotKind::Session,
        "ppo",
        "cartpole",
        u64::MAX,
        algorithm("ppo").unwrap().checked(&toml::Table::new()).unwrap(),
    );
    header.steps = 1;
    let entry = |name: &str, dtype, shape: &[usize], bytes: &[u8]| Entry {
        name: name.to_owned(),
        dtype,
        shape: shape.to_vec(),
        bytes: bytes.to_vec().into(),
    };
    (
        header,
        vec![entry("a", Dtype::F32, &[2], &[0, 0, 128, 63, 0, 0, 192, 191]), entry("b", Dtype::U32, &[1, 1], &[7; 4])],
    )
}

#[test]
fn a_file_reads_back_and_has_the_same_bytes_each_time() {
    let (header, entries) = example();
    let bytes = encode(header.clone(), &entries).unwrap();
    assert_eq!(bytes, encode(header.clone(), &entries).unwrap());
    let (read, _, same) = decode(&bytes, &[]).unwrap();
    assert_eq!(same, entries);
    assert_eq!(Header { checksum: String::new(), ..read }, header);
}

#[test]
fn no_damage_goes_unnoticed_or_panics() {
    let (header, entries) = example();
    let bytes = encode(header, &entries).unwrap();
    for cut in 0..bytes.len() {
        assert!(decode(&bytes[..cut], &[]).is_err(), "cut at {cut}");
    }
    let read = |bytes: &[u8]| decode(bytes, &[]).map(|(header, _, entries)| (header, format!("{entries:?}")));
    let original = read(&bytes).unwrap();
    for i in 0..bytes.len() {
        for flip in [1, 32, 255] {
            let mut broken = bytes.clone();
            broken[i] ^= flip;
            // A flip may have no effect, as in a space that pads the header, but never changes what is read.
            let result = read(&broken);
            assert!(result.is_err() || result.unwrap() == original, "byte {i} ^ {flip}");
        }
    }
}

#[test]
fn foreign_and_newer_files_say_what_they_are() {
    let foreign = serialize([("x", TensorView::new(Dtype::F32, vec![1], &[0; 4]).unwrap())], None).unwrap();
    assert!(decode(&foreign, &[]).unwrap_err().to_string().contains("not written by quickstudy"));
    assert!(decode(b"GIF89a", &[]).unwrap_err().to_string().contains("no safetensors file"));
    let (mut header, entries) = example();
    (header.format, header.version) = (99, "9.9.9".to_owned());
    let newer = encode(header, &entries).unwrap();
    assert!(decode(&newer, &[]).unwrap_err().to_string().contains("newer version 9.9.9 (format 99"));
}
