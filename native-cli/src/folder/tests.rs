use super::*;
use crate::files::reading::{read_own_text, read_text};

/// An empty folder that is removed when the test is over.
pub(crate) struct Scratch(PathBuf);

impl std::ops::Deref for Scratch {
    type Target = Path;
    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn scratch(name: &str) -> Scratch {
    let dir = std::env::temp_dir().join(format!("quickstudy-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).unwrap();
    Scratch(dir)
}

#[test]
fn names_are_numbered_when_taken() {
    let dir = scratch("numbered");
    let name = default_name("cartpole", "ppo", 3);
    assert_eq!(name, "cartpole-ppo-s3");
    let a = RunFolder::create_numbered(&dir.join("runs"), &name).unwrap();
    let b = RunFolder::create_numbered(&dir.join("runs"), &name).unwrap();
    assert!(a.path().ends_with("runs/cartpole-ppo-s3"));
    assert!(b.path().ends_with("runs/cartpole-ppo-s3-2"));
}

#[test]
fn a_second_run_in_one_folder_is_refused_and_names_the_first() {
    let scratch = scratch("locked");
    let dir = scratch.join("run");
    let first = RunFolder::create(&dir).unwrap();
    for error in [RunFolder::create(&dir).unwrap_err(), RunFolder::open(&dir).unwrap_err()] {
        assert_eq!(error.code, 2);
        let pid = format!("pid {}", std::process::id());
        assert!(error.message.contains(&pid), "{}", error.message);
    }
    drop(first);
    RunFolder::open(&dir).unwrap();
}

#[test]
fn a_lock_file_left_by_a_dead_process_is_stale() {
    let dir = scratch("stale");
    fs::write(dir.join(file::LOCK), "pid 1\nsince 2020-01-01T00:00:00Z\n").unwrap();
    fs::write(dir.join(".last.safetensors.quickstudy-tmp1"), "half").unwrap();
    let run = RunFolder::open(&dir).unwrap();
    let lock = fs::read_to_string(dir.join(file::LOCK)).unwrap();
    assert!(lock.contains(&std::process::id().to_string()), "{lock}");
    assert_eq!(fs::read_dir(run.path()).unwrap().count(), 1, "stray temporary removed");
}

#[test]
fn a_folder_with_a_run_is_not_overwritten() {
    let dir = scratch("occupied");
    let run = RunFolder::create(&dir).unwrap();
    run.write(file::LAST, b"snapshot").unwrap();
    drop(run);
    let error = RunFolder::create(&dir).unwrap_err();
    assert_eq!(error.code, 2);
    assert!(error.hint.contains("--resume"), "{}", error.hint);
    assert_eq!(read_snapshot(&dir, file::LAST).unwrap(), b"snapshot");
}

#[test]
fn rows_of_a_run_that_lost_its_snapshots_are_not_overwritten() {
    let dir = scratch("bereft");
    for name in [file::CSV, file::JSONL] {
        fs::write(dir.join(name), "time/env_steps\n256\n").unwrap();
        let error = RunFolder::create(&dir).unwrap_err();
        assert_eq!(error.code, 2);
        assert!(error.message.contains(name) && error.hint.contains("--out"), "{error:?}");
        assert_eq!(fs::read(dir.join(name)).unwrap().len(), 19, "untouched");
        // As a run leaves it that was killed before its first snapshot.
        fs::write(dir.join(name), "").unwrap();
        RunFolder::create(&dir).unwrap();
    }
}

#[test]
fn files_beyond_their_limits_are_refused_before_they_are_read() {
    let dir = scratch("sparse");
    let path = dir.join("file");
    let sized = |bytes: u64| fs::File::create(&path).unwrap().set_len(bytes).unwrap();
    sized(2 << 20);
    assert_eq!(read(&path).unwrap().len(), 2 << 20);
    for error in [read_text(&path).unwrap_err(), read_own_text(&path).unwrap_err()] {
        assert_eq!(error.code, 2);
        assert!(error.message.contains("file has 2.1 MB, and at most 1.0 MB are read"), "{error:?}");
    }
    // More than any memory there is, and more than any snapshot.
    sized(1 << 42);
    assert_eq!(read(&path).unwrap_err().code, 2);
    sized(1 << 20);
    assert_eq!(read_text(&path).unwrap().len(), 1 << 20);
}

#[test]
fn a_file_in_the_way_and_missing_folders_are_user_errors() {
    let dir = scratch("inthe way é");
    let path = dir.join("file");
    fs::write(&path, "x").unwrap();
    for error in [
        RunFolder::create(&path).unwrap_err(),
        RunFolder::create(&path.join("below")).unwrap_err(),
        RunFolder::create_numbered(&path, "x").unwrap_err(),
        RunFolder::open(&path).unwrap_err(),
        RunFolder::open(&dir.join("missing")).unwrap_err(),
        read(&dir).unwrap_err(),
        read(&dir.join("missing")).unwrap_err(),
        read_snapshot(&dir, file::LAST).unwrap_err(),
        find_runs(&dir).unwrap_err(),
    ] {
        assert_eq!(error.code, 2, "{}", error.message);
        assert!(error.message.contains("inthe way é"), "{}", error.message);
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), "x");
}

#[test]
#[cfg(unix)]
fn a_lock_that_is_a_link_empties_no_other_file() {
    let dir = scratch("lock-link");
    let target = dir.join("target");
    fs::write(&target, "precious").unwrap();
    for run in ["symbolic", "hard"] {
        let run = dir.join(run);
        fs::create_dir(&run).unwrap();
        if run.ends_with("hard") {
            fs::hard_link(&target, run.join(file::LOCK)).unwrap();
        } else {
            std::os::unix::fs::symlink(&target, run.join(file::LOCK)).unwrap();
        }
        for error in [RunFolder::create(&run).unwrap_err(), RunFolder::open(&run).unwrap_err()] {
            assert_eq!(error.code, 2);
            assert!(error.message.contains("run.lock is a link"), "{}", error.message);
        }
        assert_eq!(fs::read_to_string(&target).unwrap(), "precious");
    }
}

#[test]
#[cfg(unix)]
fn a_run_folder_with_a_link_is_not_written_in() {
    let dir = scratch("planted-links");
    let run = dir.join("run");
    fs::create_dir_all(run.join(file::SEGMENTS)).unwrap();
    fs::create_dir(run.join(file::KEPT)).unwrap();
    fs::create_dir(dir.join("folder")).unwrap();
    let below = ["segments/memory.transitions-0.rows", "snapshots/512.safetensors", "best-512.safetensors"];
    for name in file::ALL.into_iter().chain(below).chain([file::SEGMENTS, file::KEPT]) {
        let path = run.join(name);
        let _ = fs::remove_dir(&path);
        for target in ["file", "missing", "folder"] {
            fs::write(dir.join("file"), "precious").unwrap();
            std::os::unix::fs::symlink(dir.join(target), &path).unwrap();
            for error in [RunFolder::create(&run).unwrap_err(), RunFolder::open(&run).unwrap_err()] {
                assert_eq!(error.code, 2, "{name}");
                assert!(error.message.contains(&format!("{name} is a link")), "{}", error.message);
                assert!(error.hint.contains("move it away"), "{}", error.hint);
            }
            assert_eq!(fs::read(dir.join("file")).unwrap(), b"precious", "{name}");
            assert!(!dir.join("missing").exists() && fs::read_dir(dir.join("folder")).unwrap().count() == 0, "{name}");
            assert!(name == file::LOCK || !run.join(file::LOCK).exists(), "nothing is written before");
            fs::remove_file(&path).unwrap();
        }
    }
    // The folder itself may be a link.
    std::os::unix::fs::symlink(&run, dir.join("linked")).unwrap();
    RunFolder::open(&dir.join("linked")).unwrap();
}

#[test]
fn a_fresh_start_removes_what_a_killed_one_left() {
    let dir = scratch("fresh");
    fs::write(dir.join(".last.safetensors.quickstudy-tmp7"), "half").unwrap();
    let run = RunFolder::create(&dir).unwrap();
    assert_eq!(fs::read_dir(run.path()).unwrap().count(), 1, "the lock alone");
    // Beside numbered runs too, but not where another process is at work.
    let first = RunFolder::create_numbered(&dir.join("runs"), "x").unwrap();
    let stray = dir.join("runs/x/.last.safetensors.quickstudy-tmp7");
    fs::write(&stray, "half").unwrap();
    RunFolder::create_numbered(&dir.join("runs"), "x").unwrap();
    assert!(stray.exists());
    drop(first);
    RunFolder::create_numbered(&dir.join("runs"), "x").unwrap();
    assert!(!stray.exists());
}

#[test]
#[cfg(target_os = "linux")]
fn what_has_no_end_is_not_read_to_its_end() {
    let stop = read_text(Path::new("/dev/zero")).unwrap_err();
    assert!(stop.code == 2 && stop.message.contains("at most 1.0 MB are read"), "{}", stop.message);
    for stop in [read(Path::new("/dev/zero")).unwrap_err(), read_own_text(Path::new("/dev/zero")).unwrap_err()] {
        assert!(stop.code == 2 && stop.message.contains("a device or a pipe, expected a file"), "{}", stop.message);
    }
    let dir = scratch("endless");
    std::os::unix::fs::symlink("/dev/zero", dir.join(file::LAST)).unwrap();
    let stop = read_snapshot(&dir, file::LAST).unwrap_err();
    assert!(stop.code == 2 && stop.message.contains("a device or a pipe"), "{}", stop.message);
}

#[test]
fn folders_in_place_of_files_and_deleted_folders_are_named_as_such() {
    let dir = scratch("taken").join("run");
    let run = RunFolder::create(&dir).unwrap();
    fs::create_dir(dir.join(file::LAST)).unwrap();
    let stop = run.write(file::LAST, b"x").unwrap_err();
    assert!(stop.message.contains("cannot write") && !stop.message.contains("intact"), "{}", stop.message);
    assert!(stop.hint.contains("a folder has taken the place") && !run.resumable(), "{}", stop.hint);
    drop(run);
    let stop = RunFolder::open(&dir).unwrap_err();
    assert!(stop.code == 2 && stop.message.contains("last.safetensors is a folder"), "{}", stop.message);
    fs::remove_dir(dir.join(file::LAST)).unwrap();

    let run = RunFolder::open(&dir).unwrap();
    fs::remove_dir_all(&dir).unwrap();
    for stop in [run.write(file::LAST, b"x").unwrap_err(), run.record_command(&[""]).unwrap_err()] {
        assert!(stop.code == 1 && stop.message.contains("is gone: it was deleted or moved"), "{}", stop.message);
        assert!(!stop.hint.contains("spelling"), "{}", stop.hint);
    }
}

#[test]
fn runs_are_found_in_a_folder_and_in_its_folders() {
    let dir = scratch("find");
    for name in ["b", "a", "c"] {
        fs::create_dir(dir.join(name)).unwrap();
    }
    fs::write(dir.join("a").join(file::CSV), "").unwrap();
    fs::write(dir.join("b").join(file::JSONL), "").unwrap();
    assert_eq!(find_runs(&dir).unwrap(), [dir.join("a"), dir.join("b")]);
    assert_eq!(find_runs(&dir.join("b")).unwrap(), [dir.join("b")]);
    // A run whose metrics were deleted can be resumed all the same, and gets them back.
    fs::write(dir.join("c").join(file::LAST), "").unwrap();
    assert_eq!(find_resumable(&dir).unwrap(), [dir.join("a"), dir.join("b"), dir.join("c")]);
    // Runs in folders of folders are drawn and evaluated; to go on they have to be named more closely.
    let deep = dir.join("d").join("monday").join("e");
    fs::create_dir_all(&deep).unwrap();
    fs::create_dir_all(dir.join(".hidden").join("f")).unwrap();
    for folder in [&deep, &dir.join(".hidden").join("f")] {
        fs::write(folder.join(file::CSV), "").unwrap();
    }
    #[cfg(unix)]
    std::os::unix::fs::symlink(&*dir, dir.join("d").join("back")).unwrap();
    assert_eq!(find_runs(&dir).unwrap(), [dir.join("a"), dir.join("b"), deep.clone()]);
    assert_eq!(find_runs(&dir.join("d")).unwrap().last(), Some(&deep));
    assert_eq!(find_evaluable(&dir).unwrap(), [dir.join("a"), dir.join("b"), dir.join("c"), deep]);
    assert_eq!(find_resumable(&dir).unwrap().len(), 3);
}

#[test]
fn commands_are_recorded_as_a_shell_needs_them() {
    let dir = scratch("command");
    let run = RunFolder::create(&dir).unwrap();
    let words = ["quickstudy", "train", "--out", "my run's", "--set", "gamma=0.9", ""];
    run.record_command(&words).unwrap();
    run.record_command(&["again"]).unwrap();
    assert_eq!(
        fs::read_to_string(dir.join(file::COMMAND)).unwrap(),
        "quickstudy train --out 'my run'\\''s' --set gamma=0.9 ''\nagain\n"
    );
}
