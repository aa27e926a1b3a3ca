//! Damage to several files at once, where none of them has all that was there.

use super::*;
use crate::folder::tests::Scratch;
use crate::metrics::history::History;

/// A run of `rows` rows like those of training, with its configuration.
fn run(name: &str, rows: u64) -> (Scratch, RunFolder) {
    let dir = scratch(name);
    let folder = RunFolder::create(&dir).unwrap();
    fs::write(dir.join(file::CONFIG), "log_every = 0\n").unwrap();
    write_trained(&mut MetricsLog::create(&folder, "c").unwrap(), 1..=rows);
    (dir, folder)
}

fn trained(i: u64) -> Row {
    let mut row = row(i);
    row.insert(1, ("time/iterations".into(), i as f64));
    row.push(("eval/return_mean".into(), if i.is_multiple_of(10) { i as f64 } else { f64::NAN }));
    row
}

fn write_trained(log: &mut MetricsLog, rows: std::ops::RangeInclusive<u64>) {
    rows.for_each(|i| drop(log.append(&trained(i)).unwrap()));
    log.flush().unwrap();
}

fn edit(path: &Path, change: impl FnOnce(&str) -> String) {
    let text = fs::read_to_string(path).unwrap();
    let changed = change(&text);
    assert_ne!(changed, text, "nothing was changed");
    fs::write(path, changed).unwrap();
}

/// Notes of a resume, each once.
fn notes(dir: &Path, steps: u64) -> Vec<String> {
    let notes = rewind::rewind(dir, steps, "c", rows::TAIL).unwrap().notes;
    assert_eq!(rewind::rewind(dir, steps, "c", rows::TAIL).unwrap().notes, [""; 0], "after {notes:?}");
    notes
}

#[test]
fn a_name_of_one_row_is_damage_to_that_row_and_no_column() {
    let (dir, _folder) = run("several-names", 60);
    let whole = contents(&dir);
    let (json, events) = (dir.join(file::JSONL), dir.join(file::EVENTS));
    let line = |text: &str, number: usize| text.match_indices('\n').nth(number).unwrap().0;
    let from =
        |text: &str, number: usize, name: &str| line(text, number) + text[line(text, number)..].find(name).unwrap();
    type Edit<'a> = &'a dyn Fn(&str) -> String;
    let letter: Edit<'_> = &|text| {
        let at = from(text, 40, "policy_loss");
        text[..at].to_owned() + "policy_lozz" + &text[at + 11..]
    };
    // Two rows become one, with a name that is none, or with names twice.
    let merged: Edit<'_> =
        &|text| text[..from(text, 40, "policy_loss")].to_owned() + &text[from(text, 41, "iterations")..];
    let doubled: Edit<'_> =
        &|text| text[..from(text, 40, "policy_loss")].to_owned() + &text[from(text, 41, "policy_loss")..];
    for (i, change) in [letter, merged, doubled].into_iter().enumerate() {
        // The events sound, missing, and damaged before that row.
        for damage in 0..3 {
            edit(&json, change);
            let mut bytes = fs::read(&events).unwrap();
            let third = bytes.len() / 3;
            bytes[third..third + 200].fill(0);
            match damage {
                0 => {}
                1 => fs::remove_file(&events).unwrap(),
                _ => fs::write(&events, &bytes).unwrap(),
            }
            let notes = notes(&dir, 60 * 512);
            assert!(notes.iter().all(|note| !note.contains(file::CSV)), "{i} {damage}: {notes:?}");
            assert!(notes[0].contains(file::JSONL) && notes[0].contains("mended"), "{i} {damage}: {notes:?}");
            assert!(contents(&dir) == whole, "{i} {damage}: {notes:?}");
        }
    }
    // All rows: the first line of the CSV has only names that the program gives.
    fs::remove_file(&events).unwrap();
    edit(&json, |text| text.replace("policy_loss", "policy_lozz"));
    notes(&dir, 60 * 512);
    assert!(contents(&dir) == whole);
}

#[test]
fn a_damaged_first_line_loses_no_row() {
    let (dir, _folder) = run("several-header", 60);
    let whole = contents(&dir);
    let csv = dir.join(file::CSV);
    for (old, new) in
        [("time/env_steps", "xtime/env_steps"), ("policy_loss", "policy_lozz"), ("return_mean", "return_moan")]
    {
        // With both of the other files, either, and none.
        for missing in [&ALL[..0], &ALL[1..2], &ALL[2..], &ALL[1..]] {
            edit(&csv, |text| text.replacen(old, new, 1));
            missing.iter().for_each(|name| fs::remove_file(dir.join(name)).unwrap());
            let notes = notes(&dir, 60 * 512);
            assert!(notes.iter().any(|note| note.contains(file::CSV)), "{new} {missing:?}: {notes:?}");
            assert!(contents(&dir) == whole, "{new} {missing:?}: {notes:?}");
        }
    }
}

#[test]
fn what_cannot_be_read_is_kept_aside_and_said() {
    let (dir, _folder) = run("several-garbage", 60);
    let garbage: Vec<u8> = (0..9000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    for round in ["", "-2"] {
        ALL.iter().for_each(|name| fs::write(dir.join(name), &garbage).unwrap());
        let notes = notes_of_loss(&dir);
        for (name, note) in [file::JSONL, file::CSV, file::EVENTS].iter().zip(&notes) {
            let kept = format!("{name}.damaged{round}");
            assert!(note.contains("made anew, empty") && note.ends_with(&format!("is kept in {kept}")), "{notes:?}");
            assert!(fs::read(dir.join(kept)).unwrap() == garbage);
        }
    }
    ALL.iter().for_each(|name| fs::remove_file(dir.join(name)).unwrap());
    let said = notes_of_loss(&dir);
    assert!(said[..3].iter().all(|note| note.ends_with("is missing: made anew, empty")), "{said:?}");
    // A run that was stopped after its first snapshot has no row yet, and one that is newer is cut.
    let (dir, _folder) = run("several-first", 1);
    assert_eq!(notes(&dir, 0), [""; 0]);
    assert!(!dir.join("metrics.csv.damaged").exists());
}

/// Notes of a resume that finds no row: one of each file, and one that all rows are lost.
fn notes_of_loss(dir: &Path) -> Vec<String> {
    let notes = rewind::rewind(dir, 60 * 512, "c", rows::TAIL).unwrap().notes;
    assert_eq!(notes.len(), 4, "{notes:?}");
    assert!(notes[3].ends_with("all rows up to 30720 environment steps are lost"), "{notes:?}");
    for name in [file::CSV, file::JSONL] {
        assert_eq!(fs::read(dir.join(name)).unwrap().len(), 0);
    }
    notes
}

#[test]
fn rows_that_no_file_has_are_told_by_their_steps() {
    // Known by the rule, and by the points of the curve where there is no configuration.
    for by_curve in [false, true] {
        let (dir, folder) = run("several-gaps", 60);
        if by_curve {
            let curve = History::load(&dir, 60 * 512).unwrap();
            fs::write(dir.join(file::HISTORY), curve.to_csv()).unwrap();
            fs::remove_file(dir.join(file::CONFIG)).unwrap();
        }
        for name in [file::CSV, file::JSONL] {
            let lines =
                |text: &str| text.split_inclusive('\n').enumerate().map(|(i, line)| (i, line.to_owned())).collect();
            edit(&dir.join(name), |text| {
                let lines: Vec<(usize, String)> = lines(text);
                let header = usize::from(name == file::CSV);
                let kept = lines.into_iter().filter(|(i, _)| !(29 + header..40 + header).contains(i));
                kept.map(|(_, line)| line).collect()
            });
        }
        fs::remove_file(dir.join(file::EVENTS)).unwrap();
        let said = notes(&dir, 60 * 512);
        let lost = "rows from 15360 to 20480 environment steps are lost: in none of the metrics files";
        assert!(said.len() == 2 && said[1].ends_with(lost), "{said:?}");
        // The ends of all three.
        for name in ALL {
            let bytes = fs::read(dir.join(name)).unwrap();
            fs::write(dir.join(name), &bytes[..bytes.len() / 3]).unwrap();
        }
        let said = rewind::rewind(&dir, 60 * 512, "c", rows::TAIL).unwrap().notes;
        let last = Table::read(&dir).unwrap().column(ENV_STEPS).unwrap().last().copied().unwrap() as u64;
        let lost =
            format!("rows from {} to 30720 environment steps are lost: in none of the metrics files", last + 512);
        assert!(last < 14848 && said.last().unwrap().ends_with(&lost), "{last}: {said:?}");
        // Rows from the snapshot on; what was said is not said again.
        write_trained(&mut MetricsLog::resume(&folder, 60 * 512, "c").unwrap().0, 61..=70);
        assert_eq!(notes(&dir, 70 * 512), [""; 0]);
    }
}

#[test]
fn a_column_that_no_row_had_yet_is_added_after_a_resume() {
    let (dir, folder) = run("several-columns", 9);
    fs::remove_file(dir.join(file::CSV)).unwrap();
    let (mut log, _) = MetricsLog::resume(&folder, 9 * 512, "c").unwrap();
    write_trained(&mut log, 10..=12);
    assert!(log.append(&[("train/new".into(), 1.0)]).is_err(), "once only");
    let table = Table::read(&dir).unwrap();
    assert_eq!((table.rows.len(), &table.notes), (12, &Vec::new()));
    assert_eq!(table.columns, trained(1).into_iter().map(|(name, _)| name).collect::<Vec<_>>());
    assert_eq!(table.column("eval/return_mean").unwrap()[9], 10.0);
    assert_eq!(notes(&dir, 12 * 512), [""; 0]);
}

#[test]
fn rows_from_before_two_files_began_anew_stay() {
    for text in [file::CSV, file::JSONL] {
        let (dir, folder) = run("several-anew", 9);
        let (mut log, _) = MetricsLog::resume(&folder, 9 * 512, "c").unwrap();
        write_trained(&mut log, 10..=20);
        let whole = contents(&dir);
        let (mut log, _) = MetricsLog::resume(&folder, 9 * 512, "c").unwrap();
        [text, file::EVENTS].iter().for_each(|name| fs::remove_file(dir.join(name)).unwrap());
        write_trained(&mut log, 10..=20);
        let notes = notes(&dir, 20 * 512);
        assert!(notes.len() == 2 && notes.iter().all(|note| note.contains("9 rows mended")), "{text}: {notes:?}");
        assert!(contents(&dir) == whole, "{text}");
    }
}

#[test]
fn a_csv_of_fewer_columns_takes_no_value_from_the_record() {
    let (dir, _folder) = run("several-fewer", 20);
    let whole = contents(&dir);
    edit(&dir.join(file::CSV), |text| {
        text.lines().map(|line| line.rsplit_once(',').unwrap().0.to_owned() + "\n").collect()
    });
    fs::remove_file(dir.join(file::EVENTS)).unwrap();
    let notes = notes(&dir, 20 * 512);
    assert!(notes[0].contains(file::CSV), "{notes:?}");
    assert!(contents(&dir) == whole);
}
