use super::*;
use crate::run_folder::tests::scratch;
use std::fs;

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
    let table = Table::read(&dir.join(file::CSV)).unwrap();
    assert_eq!(table.column(ENV_STEPS).unwrap(), [512.0, 1024.0]);
    assert!(table.column("train/policy_loss").unwrap()[1].is_nan());
    assert_eq!(table.column("nope"), None);
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
    for name in [file::CSV, file::JSONL, file::EVENTS] {
        let mut bytes = fs::read(cut.join(name)).unwrap();
        bytes.truncate(bytes.len() - 5);
        fs::write(cut.join(name), bytes).unwrap();
    }
    let (mut log, kept) = MetricsLog::resume(&folder, 10 * 512, "c").unwrap();
    assert_eq!(kept.rows.len(), 10);
    assert_eq!(kept.column("rollout/ep_return_mean").unwrap()[9], 15.0);
    write(&mut log, 11..=20);
    for name in [file::CSV, file::JSONL] {
        assert_eq!(fs::read(whole.join(name)).unwrap(), fs::read(cut.join(name)).unwrap());
    }
    assert_eq!(without_wall_time(&whole.join(file::EVENTS)), without_wall_time(&cut.join(file::EVENTS)));
}

#[test]
fn a_damaged_or_missing_file_loses_only_what_is_damaged() {
    let dir = scratch("metrics-damaged");
    let folder = RunFolder::create(&dir).unwrap();
    write(&mut MetricsLog::create(&folder, "").unwrap(), 1..=5);
    // A block of zeros, as some file systems leave after a power cut, and bytes that are no UTF-8.
    let mut bytes = fs::read(dir.join(file::CSV)).unwrap();
    bytes.extend([0; 40]);
    bytes.extend(b"\n\xff\xfe,1,2\n");
    fs::write(dir.join(file::CSV), bytes).unwrap();
    fs::remove_file(dir.join(file::JSONL)).unwrap();
    fs::remove_file(dir.join(file::EVENTS)).unwrap();
    let (mut log, kept) = MetricsLog::resume(&folder, u64::MAX, "").unwrap();
    assert_eq!(kept.rows.len(), 5);
    write(&mut log, 6..=6);
    assert_eq!(Table::read(&dir.join(file::CSV)).unwrap().rows.len(), 6);
    assert_eq!(fs::read_to_string(dir.join(file::JSONL)).unwrap().lines().count(), 1);

    fs::remove_file(dir.join(file::CSV)).unwrap();
    let (_, kept) = MetricsLog::resume(&folder, 100, "").unwrap();
    assert_eq!(kept, Table::default());
    fs::write(dir.join("other.csv"), "a,b\n1,2\n").unwrap();
    assert_eq!(Table::read(&dir.join("other.csv")).unwrap_err().code, 2);
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_a_failure_that_says_so() {
    let dir = scratch("metrics-full");
    let folder = RunFolder::create(&dir).unwrap();
    let mut log = MetricsLog::create(&folder, "").unwrap();
    log.csv = BufWriter::new(OpenOptions::new().write(true).open("/dev/full").unwrap());
    log.append(&row(1)).unwrap();
    let error = log.flush().unwrap_err();
    assert_eq!(error.code, 1);
    assert!(error.hint.contains("free some space"), "{error:?}");
}
