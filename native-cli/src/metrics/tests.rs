mod several;

use super::*;
use crate::folder::tests::scratch;
use std::fs;

const ALL: [&str; 3] = [file::CSV, file::JSONL, file::EVENTS];

fn row(i: u64) -> Row {
    let ret = if i < 2 { f64::NAN } else { i as f64 * 1.5 };
    vec![
        (ENV_STEPS.into(), (i * 512) as f64),
        ("rollout/ep_return_mean".into(), ret),
        ("train/policy_loss".into(), f64::from(-0.1_f32) / (i + 1) as f64),
    ]
}

fn write(log: &mut MetricsLog, rows: std::ops::RangeInclusive<u64>) {
    for i in rows {
        log.append(&row(i)).unwrap();
    }
    log.flush().unwrap();
}

#[test]
fn numbers_are_short_and_round_trip() {
    for (value, text) in [
        (512.0, "512"),
        (-3.0, "-3"),
        (f64::from(0.1_f32), "0.1"),
        (0.1, "0.1"),
        (1e-7, "1e-7"),
        (f64::from(3e-8_f32), "3e-8"),
        (2e20, "2e20"),
        (0.0, "0"),
        (-0.0, "0"),
        (f64::NAN, ""),
        (f64::INFINITY, "inf"),
        (16_777_217.0, "16777217"),
        (1.0 / 3.0, "0.3333333333333333"),
    ] {
        assert_eq!(number(value), text);
        // What came from an f32 comes back as that f32, the rest exactly.
        if let Ok(back) = text.parse::<f64>() {
            assert!(back == value || back as f32 == value as f32);
        }
    }
}

#[test]
fn the_three_files_hold_the_same_rows() {
    let dir = scratch("metrics");
    let folder = RunFolder::create(&dir).unwrap();
    let mut log = MetricsLog::create(&folder, "gamma = 0.99").unwrap();
    write(&mut log, 1..=2);
    assert_eq!(
        fs::read_to_string(dir.join(file::CSV)).unwrap(),
        "time/env_steps,rollout/ep_return_mean,train/policy_loss\n512,,-0.05\n1024,3,-0.033333333830038704\n"
    );
    let json = fs::read_to_string(dir.join(file::JSONL)).unwrap();
    let rows: Vec<serde_json::Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows[0].as_object().unwrap().len(), 2, "no key without a value");
    assert_eq!(rows[1][ENV_STEPS], 1024);
    assert_eq!(rows[1]["rollout/ep_return_mean"], 3);
    let events = fs::read(dir.join(file::EVENTS)).unwrap();
    let has = |text: &str| events.windows(text.len()).any(|w| w == text.as_bytes());
    assert!(has("gamma = 0.99") && has("rollout/ep_return_mean"));
}

#[test]
fn later_rows_may_lack_a_column_but_not_add_one() {
    let dir = scratch("metrics-columns");
    let folder = RunFolder::create(&dir).unwrap();
    let mut log = MetricsLog::create(&folder, "").unwrap();
    write(&mut log, 1..=1);
    log.append(&row(2)[..1]).unwrap();
    let error = log.append(&[("train/new".into(), 1.0)]).unwrap_err();
    assert!(error.message.contains("train/new"), "{}", error.message);
    log.flush().unwrap();
    let table = Table::read(&dir).unwrap();
    assert_eq!(table.column(ENV_STEPS).unwrap(), [512.0, 1024.0]);
    assert!(table.column("train/policy_loss").unwrap()[1].is_nan());
    assert_eq!(table.column("nope"), None);
}

#[test]
fn a_file_that_is_none_of_metrics_is_told_from_one_of_a_run_that_has_just_begun() {
    let dir = scratch("metrics-foreign");
    let path = dir.join(file::CSV);
    for text in ["nonsense", "nonsense\n", "a,b\n1,2\n"] {
        fs::write(&path, text).unwrap();
        let error = Table::read(&dir).unwrap_err();
        assert!(error.code == 2 && error.message.contains("is no metrics file of this program"), "{text:?}: {error:?}");
    }
    fs::write(&path, "").unwrap();
    assert_eq!(Table::read(&dir).unwrap(), Table::default());
}

/// Events hold wall times, so they are compared without those 8 bytes per record.
fn without_wall_time(path: &Path) -> Vec<Vec<u8>> {
    let bytes = fs::read(path).unwrap();
    let (mut at, mut out) = (0, Vec::new());
    while at < bytes.len() {
        let length = u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
        out.push(bytes[at + 12 + 9..at + 12 + length].to_vec());
        at += 16 + length;
    }
    out
}

#[test]
fn a_resumed_log_equals_an_uninterrupted_one() {
    let (whole, cut) = (scratch("metrics-whole"), scratch("metrics-cut"));
    let folder = RunFolder::create(&whole).unwrap();
    write(&mut MetricsLog::create(&folder, "c").unwrap(), 1..=20);

    let folder = RunFolder::create(&cut).unwrap();
    write(&mut MetricsLog::create(&folder, "c").unwrap(), 1..=14);
    // Killed while writing: half a row in each text file, half a record of events.
    for name in ALL {
        let mut bytes = fs::read(cut.join(name)).unwrap();
        bytes.truncate(bytes.len() - 5);
        fs::write(cut.join(name), bytes).unwrap();
    }
    let (mut log, notes) = MetricsLog::resume(&folder, 10 * 512, "c").unwrap();
    assert_eq!(notes, [""; 0], "what a killed process leaves is no damage");
    assert_eq!(Table::read(&cut).unwrap().column("rollout/ep_return_mean").unwrap()[9], 15.0);
    write(&mut log, 11..=20);
    for name in [file::CSV, file::JSONL] {
        assert_eq!(fs::read(whole.join(name)).unwrap(), fs::read(cut.join(name)).unwrap());
    }
    assert_eq!(without_wall_time(&whole.join(file::EVENTS)), without_wall_time(&cut.join(file::EVENTS)));
}

/// Bytes of the three files, events without their times.
fn contents(dir: &Path) -> (String, String, Vec<Vec<u8>>) {
    let text = |name: &str| fs::read_to_string(dir.join(name)).unwrap();
    (text(file::CSV), text(file::JSONL), without_wall_time(&dir.join(file::EVENTS)))
}

/// Columns and rows as all verbs read them, which changes nothing.
fn read(dir: &Path) -> String {
    let before = ALL.map(|name| fs::read(dir.join(name)).ok());
    let table = Table::read(dir).unwrap();
    assert!(before == ALL.map(|name| fs::read(dir.join(name)).ok()));
    format!("{:?} {:?}", table.columns, table.rows)
}

type Damage = fn(&mut Vec<u8>);

/// Ways in which a file is damaged, each in its midst or at its end.
const DAMAGES: [(&str, Damage); 7] = [
    ("cut", |bytes| bytes.truncate(bytes.len() / 2)),
    ("zeros", |bytes| {
        let half = bytes.len() / 2;
        bytes[half..half + 40].fill(0);
    }),
    ("a flipped bit", |bytes| {
        let half = bytes.len() / 2;
        bytes[half] ^= 4;
    }),
    ("emptied", Vec::clear),
    ("garbage in between", |bytes| {
        let half = bytes.len() / 2;
        bytes.splice(half..half, *b"\n\xff\xfe,1,2\n");
    }),
    ("the beginning", |bytes| bytes[3..9].fill(b'#')),
    ("a piece cut out", |bytes| {
        let third = bytes.len() / 3;
        bytes.drain(third..third + 300);
    }),
];

#[test]
fn damage_to_one_file_is_mended_from_the_others_and_said() {
    let dir = scratch("metrics-damaged");
    let folder = RunFolder::create(&dir).unwrap();
    write(&mut MetricsLog::create(&folder, "c").unwrap(), 1..=60);
    let (whole, table) = (contents(&dir), read(&dir));
    // With and without the beginning of the files in what is looked at.
    for tail in [rows::TAIL, 3000] {
        let rewound = |steps: u64| rewind::rewind(&dir, steps, "c", tail).unwrap();
        for name in ALL {
            for (what, damage) in DAMAGES {
                // What is far from the end is not looked at, unless a file ends too early.
                if tail < rows::TAIL && !["cut", "emptied"].contains(&what) {
                    continue;
                }
                let mut bytes = fs::read(dir.join(name)).unwrap();
                damage(&mut bytes);
                fs::write(dir.join(name), &bytes).unwrap();
                assert_eq!(read(&dir), table, "{name}, {what}");
                let mended = rewound(60 * 512);
                assert!(contents(&dir) == whole, "{name}, {what}, {tail}: {:?}", mended.notes);
                assert!(!mended.notes.is_empty(), "{name}, {what}: silent");
                assert!(mended.notes.iter().all(|note| note.contains(name)), "{name}, {what}: {:?}", mended.notes);
                assert_eq!(rewound(60 * 512).notes, [""; 0], "{name}, {what}: mended once");
            }
            fs::remove_file(dir.join(name)).unwrap();
            assert_eq!(read(&dir), table, "{name} missing");
            let notes = rewound(60 * 512).notes;
            assert!(notes.len() == 1 && notes[0].contains("is missing"), "{notes:?}");
            assert_eq!(contents(&dir), whole, "{name} missing");
        }
    }
}

/// Random damage to one file: a few bytes overwritten, cut out, put in or moved, or the end cut off.
fn damage_at_random(bytes: &mut Vec<u8>, random: &mut dyn FnMut(usize) -> usize) {
    let at = random(bytes.len());
    let few = (1 + random(200)).min(bytes.len() - at);
    match random(6) {
        0 => bytes[at] ^= 1 << random(8),
        1 => bytes.truncate(at),
        2 => drop(bytes.drain(at..at + few)),
        3 => bytes[at..at + few].fill(random(256) as u8),
        4 => {
            let copy = bytes[at..at + few].to_vec();
            let to = random(bytes.len());
            bytes.splice(to..to, copy);
        }
        _ => {
            let garbage: Vec<u8> = (0..few).map(|_| random(256) as u8).collect();
            bytes.splice(at..at, garbage);
        }
    }
}

#[test]
fn random_damage_to_any_one_file_loses_no_row() {
    let dir = scratch("metrics-random");
    let folder = RunFolder::create(&dir).unwrap();
    // Numbers of seven digits: beyond these, events cannot tell which of two texts is right.
    let mut log = MetricsLog::create(&folder, "c").unwrap();
    for i in 1..=40 {
        let row: Row = row(i).into_iter().map(|(name, value)| (name, f64::from(value as f32))).collect();
        log.append(&row).unwrap();
    }
    log.flush().unwrap();
    let (whole, table) = (contents(&dir), read(&dir));
    let bytes = ALL.map(|name| fs::read(dir.join(name)).unwrap());
    let mut state = 7_u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below.max(1)
    };
    for round in 0..120 {
        for (name, bytes) in ALL.into_iter().zip(&bytes) {
            fs::write(dir.join(name), bytes).unwrap();
        }
        let which = random(3);
        let name = ALL[which];
        let mut damaged = bytes[which].clone();
        damage_at_random(&mut damaged, &mut random);
        fs::write(dir.join(name), &damaged).unwrap();
        // Garbage that reads like a row newer than all others may follow, which a resume cuts.
        assert!(read(&dir).starts_with(table.trim_end_matches(']')), "{round}: read after damage to {name}");
        let notes = rewind::rewind(&dir, 40 * 512, "c", rows::TAIL).unwrap().notes;
        let after = contents(&dir);
        assert!(after.0 == whole.0, "{round}: CSV after damage to {name}: {notes:?}");
        assert!(after.1 == whole.1, "{round}: JSON lines after damage to {name}: {notes:?}");
        // The configuration in the events may be gone, and wall times are guessed.
        let rows = |events: &[Vec<u8>]| events[events.len() - 40..].to_vec();
        assert!(rows(&after.2) == rows(&whole.2), "{round}: events after damage to {name}: {notes:?}");
        assert!(damaged == bytes[which] || !notes.is_empty() || fs::read(dir.join(name)).unwrap() == bytes[which]);
        // Two files at once, and all three: no panic, and what is left is sound.
        for name in ALL.into_iter().take(2 + round % 2) {
            let mut bytes = fs::read(dir.join(name)).unwrap();
            damage_at_random(&mut bytes, &mut random);
            fs::write(dir.join(name), bytes).unwrap();
        }
        let notes = rewind::rewind(&dir, 30 * 512, "c", [rows::TAIL, 2000][round % 2]).unwrap().notes;
        let again = rewind::rewind(&dir, 30 * 512, "c", rows::TAIL).unwrap().notes;
        assert!(round % 2 == 1 || again.is_empty(), "{round}: mended once, {notes:?}, then {again:?}");
        let table = Table::read(&dir).map(|table| table.column(ENV_STEPS).unwrap_or_default());
        assert!(table.is_ok_and(|steps| steps.is_sorted() && steps.iter().all(|s| *s <= 30.0 * 512.0)), "{round}");
    }
}

#[test]
fn a_row_that_no_file_has_is_said_to_be_lost() {
    let dir = scratch("metrics-lost");
    let folder = RunFolder::create(&dir).unwrap();
    write(&mut MetricsLog::create(&folder, "").unwrap(), 1..=9);
    let events = fs::read(dir.join(file::EVENTS)).unwrap();
    for name in [file::CSV, file::JSONL] {
        let text = fs::read_to_string(dir.join(name)).unwrap();
        let damaged: String = text.split_inclusive('\n').map(|l| if l.contains("2560") { "?\n" } else { l }).collect();
        fs::write(dir.join(name), damaged).unwrap();
    }
    // The events have it still, to seven digits.
    let texts = [file::CSV, file::JSONL].map(|name| fs::read(dir.join(name)).unwrap());
    let (_, notes) = MetricsLog::resume(&folder, u64::MAX, "").unwrap();
    assert!(notes.len() == 2 && notes.iter().all(|note| note.contains("1 row mended")), "{notes:?}");
    assert_eq!(Table::read(&dir).unwrap().rows[4][..2], [2560.0, 7.5]);
    // Without them it is gone.
    fs::write(dir.join(file::CSV), &texts[0]).unwrap();
    fs::write(dir.join(file::JSONL), &texts[1]).unwrap();
    fs::write(dir.join(file::EVENTS), &events[..60]).unwrap();
    let (mut log, notes) = MetricsLog::resume(&folder, u64::MAX, "").unwrap();
    assert!(notes.iter().any(|note| note.starts_with("1 row is lost")), "{notes:?}");
    write(&mut log, 10..=10);
    let steps = Table::read(&dir).unwrap().column(ENV_STEPS).unwrap();
    assert_eq!((steps.len(), steps[4], steps[8]), (9, 3072.0, 5120.0));

    // Nothing is left: the run goes on with new files.
    for name in ALL {
        fs::remove_file(dir.join(name)).unwrap();
    }
    let (mut log, _) = MetricsLog::resume(&folder, 100, "").unwrap();
    write(&mut log, 1..=2);
    assert_eq!(Table::read(&dir).unwrap().rows.len(), 2);
}

#[test]
fn of_two_texts_the_one_that_the_events_confirm_is_believed() {
    let dir = scratch("metrics-vote");
    let folder = RunFolder::create(&dir).unwrap();
    write(&mut MetricsLog::create(&folder, "").unwrap(), 1..=9);
    let whole = contents(&dir);
    for (name, from, to) in
        [(file::CSV, ",4.5", ",4.7"), (file::JSONL, ":4.5", ":4.7"), (file::JSONL, ":1536", ":4000")]
    {
        let text = fs::read_to_string(dir.join(name)).unwrap();
        fs::write(dir.join(name), text.replace(from, to)).unwrap();
        let (_, notes) = MetricsLog::resume(&folder, u64::MAX, "").unwrap();
        assert!(!notes.is_empty() && notes.iter().all(|note| note.contains(name)), "{name} {to}: {notes:?}");
        assert_eq!(contents(&dir), whole, "{name} {to}");
    }
}

#[test]
fn a_resume_looks_at_the_ends_of_long_files_only() {
    let dir = scratch("metrics-tail");
    let folder = RunFolder::create(&dir).unwrap();
    write(&mut MetricsLog::create(&folder, "").unwrap(), 1..=2000);
    // What is far from the end is not read, so damage there is neither seen nor spread.
    let mut bytes = fs::read(dir.join(file::CSV)).unwrap();
    bytes[300] = b'?';
    fs::write(dir.join(file::CSV), &bytes).unwrap();
    let mended = rewind::rewind(&dir, 1990 * 512, "", 4000).unwrap();
    assert_eq!((mended.notes.len(), mended.columns.len()), (0, 3));
    let now = fs::read(dir.join(file::CSV)).unwrap();
    assert!(bytes.starts_with(&now) && now.ends_with(b"\n"));
    // Damage at the end of all three is repaired there, and what is before stays.
    let before = contents(&dir);
    for (name, row) in [(file::JSONL, "{\"time/env_steps\":1017344,"), (file::CSV, "\n1016832,")] {
        let text = fs::read_to_string(dir.join(name)).unwrap();
        assert!(text.contains(row));
        fs::write(dir.join(name), text.replacen(row, "\n?", 1)).unwrap();
    }
    let events = fs::read(dir.join(file::EVENTS)).unwrap();
    fs::write(dir.join(file::EVENTS), &events[..events.len() - 200]).unwrap();
    assert_eq!(rewind::rewind(&dir, 1990 * 512, "", 4000).unwrap().notes.len(), 3);
    assert!(contents(&dir) == before);
    // A snapshot older than all that was looked at.
    rewind::rewind(&dir, 10 * 512, "", 4000).unwrap();
    assert_eq!(fs::read_to_string(dir.join(file::JSONL)).unwrap().lines().count(), 10);
}

#[test]
fn a_full_disk_has_a_message_that_says_what_to_do() {
    let dir = scratch("metrics-full");
    let error = cannot_keep(&dir.join(file::CSV), &io::ErrorKind::StorageFull.into(), "");
    assert_eq!(error.code, 1);
    assert!(error.hint.contains("free some space"), "{error:?}");
}

#[test]
#[cfg(unix)]
fn rows_are_not_written_through_a_link_that_appears_during_the_run() {
    for name in ALL {
        let dir = scratch("metrics-link");
        let folder = RunFolder::create(&dir.join("run")).unwrap();
        let mut log = MetricsLog::create(&folder, "").unwrap();
        for target in ["precious", "missing"] {
            fs::write(dir.join("precious"), "whole").unwrap();
            fs::remove_file(folder.join(name)).unwrap();
            std::os::unix::fs::symlink(dir.join(target), folder.join(name)).unwrap();
            log.append(&row(1)).unwrap();
            let error = log.flush().unwrap_err();
            assert!(error.code == 1 && error.message.contains("it is a link"), "{error:?}");
            assert_eq!(fs::read(dir.join("precious")).unwrap(), b"whole");
            assert!(!dir.join("missing").exists());
        }
    }
}
