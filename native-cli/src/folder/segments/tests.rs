use super::*;
use crate::folder::tests::scratch;
use crate::settings::register;
use quickstudy_core::train::{Layer, Saved, Session, Setup, joined};
use quickstudy_core::{Device, env};
use std::io::Write as _;

/// A session with a replay buffer of 40 rows, five in a segment, of which an iteration adds ten.
fn session() -> Session {
    let text = "memory_size = 40\nbatch_size = 4\nhidden = [2]\nlearning_starts = 1\niteration_steps = 10";
    let layer = Layer { origin: "test".into(), settings: toml::from_str(text).unwrap() };
    let setup = Setup::resolve("sac", env::builtin("pendulum").unwrap(), &[0], Some(200), &[layer]).unwrap();
    Session::new(&Device::cpu(1), &setup).unwrap()
}

fn step(session: &mut Session) {
    pollster::block_on(session.step()).unwrap();
}

/// All but the last step of a snapshot: the file, which is not in its place yet.
fn append(session: &Session, segments: &mut SegmentFolder) -> Vec<u8> {
    let all = pollster::block_on(session.snapshots()).unwrap();
    let mut part = all.parts(0, segments.saved()).unwrap();
    while let Some(rows) = pollster::block_on(part.rows()).unwrap() {
        segments.append(&rows).unwrap();
    }
    let (file, rings) = pollster::block_on(part.encode()).unwrap();
    segments.expect(rings);
    segments.sync().unwrap();
    file
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder.join(file::SEGMENTS)).unwrap();
    let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn exported(folder: &Path, file: &[u8]) -> quickstudy_core::Result<Vec<u8>> {
    joined(register::own(), Saved::in_parts(file, &|name, bytes| read(folder, name, bytes)))
}

#[test]
fn the_snapshot_in_place_finds_its_rows_at_every_moment() {
    let dir = scratch("segments-moments");
    let mut session = session();
    let mut segments = SegmentFolder::new(&dir, &[]);
    let (mut place, mut want) = (append(&session, &mut segments), None);
    assert!(!dir.join(file::SEGMENTS).exists(), "no rows, no folder");
    segments.keep().unwrap();
    for iteration in 0..9 {
        step(&mut session);
        let next = append(&session, &mut segments);
        if let Some(want) = &want {
            // As if the process died before the new file took its place.
            assert!(exported(&dir, &place).unwrap() == *want, "after {iteration} iterations");
        }
        place = next;
        assert!(exported(&dir, &place).is_ok());
        segments.keep().unwrap();
        want = Some(pollster::block_on(session.snapshot(0)).unwrap());
        assert!(exported(&dir, &place).unwrap() == *want.as_ref().unwrap());
        // Of 40 rows, ten of which are new, five each.
        assert_eq!(names(&dir).len(), (2 * (iteration + 1)).min(8));
    }
    assert_eq!(names(&dir)[0], "memory.transitions-50.rows");
}

#[test]
fn what_a_dead_process_left_is_cut_off_or_deleted() {
    let dir = scratch("segments-torn");
    let mut session = session();
    let mut segments = SegmentFolder::new(&dir, &[]);
    step(&mut session);
    append(&session, &mut segments);
    segments.keep().unwrap();
    let saved = segments.saved().to_vec();
    let place = dir.join(file::SEGMENTS);
    for (name, bytes) in [
        ("memory.transitions-5.rows", "half a row"),
        ("memory.transitions-10.rows", "rows of a snapshot that never was"),
        ("memory.transitions-999.rows", "more of them"),
        ("notes-of-mine.rows", "not a segment"),
        ("notes-3.rows", "nor this"),
        ("memory.transitions-007.rows", "nor this"),
    ] {
        let mut file = OpenOptions::new().append(true).create(true).open(place.join(name)).unwrap();
        file.write_all(bytes.as_bytes()).unwrap();
    }
    let mut own =
        vec!["memory.transitions-007.rows".to_owned(), "notes-3.rows".to_owned(), "notes-of-mine.rows".to_owned()];
    #[cfg(unix)]
    {
        let [link, pipe] = [777, 778].map(|first| format!("memory.transitions-{first}.rows"));
        std::os::unix::fs::symlink("/nowhere", place.join(&link)).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(place.join(&pipe)).status().unwrap().success());
        own.extend([link, pipe]);
    }
    let mut segments = SegmentFolder::new(&dir, &saved);
    step(&mut session);
    let file = append(&session, &mut segments);
    segments.keep().unwrap();
    assert!(exported(&dir, &file).unwrap() == pollster::block_on(session.snapshot(0)).unwrap());
    let rows = |first: usize| format!("memory.transitions-{first}.rows");
    let mut expected = [vec![rows(0), rows(10), rows(15), rows(5)], own].concat();
    expected.sort();
    assert_eq!(names(&dir), expected);
}

#[test]
fn rows_that_somebody_deleted_are_told_of_before_a_snapshot_that_needs_them_takes_its_place() {
    let dir = scratch("segments-deleted");
    let mut session = session();
    let mut segments = SegmentFolder::new(&dir, &[]);
    step(&mut session);
    append(&session, &mut segments);
    segments.keep().unwrap();
    assert!(segments.whole());
    // The next rows begin with a segment of their own.
    fs::remove_dir_all(dir.join(file::SEGMENTS)).unwrap();
    step(&mut session);
    let all = pollster::block_on(session.snapshots()).unwrap();
    let mut part = all.parts(0, segments.saved()).unwrap();
    while let Some(rows) = pollster::block_on(part.rows()).unwrap() {
        segments.append(&rows).unwrap();
    }
    segments.expect(pollster::block_on(part.encode()).unwrap().1);
    let stop = segments.sync().unwrap_err();
    assert_eq!(stop.code, 1);
    assert!(stop.message.contains("memory.transitions-0.rows is gone"), "{}", stop.message);
    assert!(!stop.message.contains("intact") && !segments.whole(), "{}", stop.message);
}

#[test]
fn damage_names_the_file() {
    let dir = scratch("segments-damage");
    let mut session = session();
    let mut segments = SegmentFolder::new(&dir, &[]);
    step(&mut session);
    let place = append(&session, &mut segments);
    segments.keep().unwrap();
    let path = dir.join("segments/memory.transitions-5.rows");
    let whole = fs::read(&path).unwrap();
    let problem = |bytes: Option<&[u8]>| {
        match bytes {
            Some(bytes) => fs::write(&path, bytes).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
        exported(&dir, &place).unwrap_err().to_string()
    };
    let mut changed = whole.clone();
    changed[17] ^= 4;
    assert!(problem(Some(&changed)).contains("memory.transitions-5.rows is damaged"));
    let cut = problem(Some(&whole[..60]));
    assert!(cut.contains("segments/memory.transitions-5.rows: it has 60 bytes of the 180"), "{cut}");
    assert!(problem(None).contains("segments/memory.transitions-5.rows: "));
    fs::create_dir(&path).unwrap();
    assert!(exported(&dir, &place).unwrap_err().to_string().contains("it is no file"));
    // A run that goes on does not write behind what is lost, nor through a link.
    fs::remove_dir(&path).unwrap();
    fs::write(&path, &whole).unwrap();
    step(&mut session);
    let first = dir.join("segments/memory.transitions-10.rows");
    #[cfg(unix)]
    std::os::unix::fs::symlink("../victim", &first).unwrap();
    #[cfg(not(unix))]
    fs::create_dir(&first).unwrap();
    let all = pollster::block_on(session.snapshots()).unwrap();
    let mut part = all.parts(0, segments.saved()).unwrap();
    let rows = pollster::block_on(part.rows()).unwrap().unwrap();
    let stop = segments.append(&rows).unwrap_err();
    assert!(stop.code == 1 && stop.message.contains("transitions-10.rows: a link"), "{stop}");
    assert!(!dir.join("victim").exists());
    let behind = SegmentRows { segment: "memory.transitions-5.rows".to_owned(), offset: 180, ..rows };
    fs::write(&path, &whole[..60]).unwrap();
    let stop = segments.append(&behind).unwrap_err();
    assert!(stop.message.contains("memory.transitions-5.rows was cut"), "{stop}");
}
