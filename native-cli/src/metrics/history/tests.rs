use super::*;
use crate::folder::RunFolder;
use crate::folder::tests::scratch;
use crate::metrics::{ENV_STEPS, MetricsLog};
use std::fs;

fn row(steps: u64, evaluated: bool) -> Vec<(String, f64)> {
    let ret = (steps as f64 / 1e4).sin();
    vec![
        (ENV_STEPS.into(), steps as f64),
        (EPISODE_RETURN.into(), if steps < 1000 { f64::NAN } else { ret }),
        (EVAL_RETURN.into(), if evaluated { -ret } else { f64::NAN }),
        (SECONDS.into(), steps as f64 / 100.0),
    ]
}

#[test]
fn a_day_of_rows_is_far_below_a_hundred_megabytes() {
    // CartPole with its preset makes 47,000 steps a second on a core, and a row takes 1,160 bytes in all three formats.
    let rows = |batch: u64, total: u64, every: u64| {
        let mut count = 0_u64;
        let mut at = 0;
        while at < total {
            count += u64::from(is_due(at, at + batch, every));
            at += batch;
        }
        count
    };
    assert!(rows(256, 47_000 * 86_400 / 8, 0) * 1160 < 20_000_000);
    assert_eq!(rows(256, 256_000, 0), 1000, "each of the first thousand iterations");
    assert_eq!(rows(2048, 1 << 20, 0), 512);
    assert_eq!(rows(250, 1_000_000, 1), 4000, "every iteration");
    assert_eq!(rows(250, 1_000_000, 100_000), 1 + 10);
    // Any number of steps: a doubling adds a thousand rows.
    let due =
        |k: u32| (0..4096).filter(|i| is_due((1 << k) + (i << (k - 12)), (1 << k) + ((i + 1) << (k - 12)), 0)).count();
    assert!((20..50).all(|k| due(k) <= 1024));
}

#[test]
fn points_of_a_curve_are_bounded_and_do_not_depend_on_interruptions() {
    let rows = |from: u64, to: u64| (from..to).map(|i| (i + 1) * 250).filter(|steps| is_due(steps - 250, *steps, 1));
    let of = |steps: u64| {
        let cells = row(steps, steps.is_multiple_of(5000)).into_iter().filter(|(_, value)| value.is_finite());
        TextRow { steps, cells: cells.map(|(name, value)| (name, number(value))).collect() }
    };
    let mut whole = History::default();
    rows(0, 50_000).for_each(|steps| whole.push(&of(steps)));
    assert!((1000..=2001).contains(&whole.returns().len()), "{}", whole.returns().len());
    assert_eq!(whole.returns().last().unwrap().0, 12_500_000.0);
    assert!((1000..=2001).contains(&whole.evaluations().len()));
    assert!(whole.returns().is_sorted_by(|a, b| a.0 < b.0));
    assert!(whole.to_csv().len() < 200_000);
    // Read back in between, at any moment, the end is the same.
    let mut parts = History::default();
    for part in [0..1, 1..300, 300..7000, 7000..50_000] {
        rows(part.start, part.end).for_each(|steps| parts.push(&of(steps)));
        parts = History::from_csv(&parts.to_csv()).unwrap();
    }
    assert_eq!(parts, whole);
    let best = rows(0, 50_000).filter(|s| s.is_multiple_of(5000)).map(|s| -(s as f64 / 1e4).sin() as f32);
    assert_eq!(whole.best(), best.fold(f32::NEG_INFINITY, f32::max));
}

#[test]
fn a_history_is_loaded_from_its_file_and_newer_rows_or_from_all_rows() {
    let dir = scratch("history");
    let folder = RunFolder::create(&dir).unwrap();
    let mut log = MetricsLog::create(&folder, "").unwrap();
    let mut history = History::default();
    for i in 1..=40 {
        history.push(&log.append(&row(i * 250, i % 5 == 0)).unwrap());
        if i == 30 {
            folder.write_unsynced(file::HISTORY, history.to_csv().as_bytes()).unwrap();
        }
    }
    log.flush().unwrap();
    let load = || History::load(&dir, 10_000).unwrap();
    assert_eq!(load(), history);
    // Rows that the file knows already are not read: without them the history is the same.
    let text = fs::read_to_string(dir.join(file::JSONL)).unwrap();
    let later: String = text.split_inclusive('\n').skip(29).collect();
    fs::write(dir.join(file::JSONL), later).unwrap();
    assert_eq!(load(), history);
    fs::write(dir.join(file::JSONL), text).unwrap();
    // Missing, damaged, or newer than the snapshot: all rows are read.
    let kept = fs::read_to_string(dir.join(file::HISTORY)).unwrap();
    let newer = kept.replace("seconds,7500,", "seconds,20000,");
    assert_ne!(newer, kept);
    for damaged in ["", "what\n", &kept[..kept.len() - 20], &kept.replace("return", "retrun"), &newer] {
        fs::write(dir.join(file::HISTORY), damaged).unwrap();
        assert_eq!(load(), history, "{damaged}");
    }
}
