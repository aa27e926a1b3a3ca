//! Crash-safe file replacement: a reader sees the old bytes or the new bytes, never a mixture.
//!
//! The steps are: a temporary file in the same folder (rename needs one file system), write everything, sync the
//! file (or the rename may land before the data), rename, sync the folder (or the rename itself may be lost).

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

const MARK: &str = ".quickstudy-tmp";

fn temp_path(path: &Path) -> io::Result<PathBuf> {
    let name =
        path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path has no file name"))?;
    let mut temp = std::ffi::OsString::from(".");
    temp.push(name);
    temp.push(format!("{MARK}{}", std::process::id()));
    Ok(path.with_file_name(temp))
}

/// Replaces `path` by `bytes`; when it returns `Ok`, they survive a power cut.
///
/// # Errors
/// Any IO error (full disk, read-only or missing folder). The old file is then untouched and the temporary file is
/// removed.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace(path, bytes, true)?;
    sync_folder(path)
}

/// Replaces `path` by `bytes` at once for every reader, without waiting for the disk: for what can be made again.
///
/// # Errors
/// As [`write()`].
pub fn write_unsynced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace(path, bytes, false)
}

fn replace(path: &Path, bytes: &[u8], sync: bool) -> io::Result<()> {
    let temp = temp_path(path)?;
    let result = (|| {
        let mut file = File::create(&temp)?;
        file.write_all(bytes)?;
        if sync {
            file.sync_all()?;
        }
        drop(file);
        fs::rename(&temp, path)
    })();
    if result.is_err() {
        let _ = fs::remove_file(&temp);
    }
    result
}

#[cfg(unix)]
fn sync_folder(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}

// Elsewhere a folder cannot be opened for syncing; the rename itself is journalled.
#[cfg(not(unix))]
#[allow(clippy::unnecessary_wraps)]
fn sync_folder(_path: &Path) -> io::Result<()> {
    Ok(())
}

/// Removes temporary files that a killed process left in `folder`; returns how many.
///
/// Call it only while holding the folder's lock, so that no live writer loses its file.
///
/// # Errors
/// If the folder cannot be listed or a stray file cannot be removed.
pub fn clean(folder: &Path) -> io::Result<usize> {
    let mut removed = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with('.') && name.contains(MARK) {
            fs::remove_file(entry.path())?;
            removed += 1;
        }
    }
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_folder::tests::scratch;

    #[test]
    fn replaces_a_file_and_leaves_no_temporary_behind() {
        let dir = scratch("atomic-replace");
        let path = dir.join("last.safetensors");
        write(&path, b"one").unwrap();
        write(&path, b"second").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert_eq!(fs::read_dir(&*dir).unwrap().count(), 1);
    }

    #[test]
    fn a_failed_write_keeps_the_old_file() {
        let dir = scratch("atomic-failure");
        // The target is a folder: the rename fails after everything was written.
        let path = dir.join("target");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("inside"), b"x").unwrap();
        assert!(write(&path, b"new").is_err());
        assert_eq!(fs::read(path.join("inside")).unwrap(), b"x");
        assert_eq!(fs::read_dir(&*dir).unwrap().count(), 1);
        assert!(write(&dir.join("missing/last"), b"new").is_err());
    }

    #[test]
    fn cleaning_removes_only_stray_temporaries() {
        let dir = scratch("atomic-clean");
        fs::write(dir.join(".last.safetensors.quickstudy-tmp77"), b"half").unwrap();
        fs::write(dir.join(".keep"), b"x").unwrap();
        fs::write(dir.join("last.safetensors"), b"x").unwrap();
        assert_eq!(clean(&dir).unwrap(), 1);
        assert_eq!(clean(&dir).unwrap(), 0);
        assert_eq!(fs::read_dir(&*dir).unwrap().count(), 2);
    }
}
