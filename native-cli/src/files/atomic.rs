//! Crash-safe file replacement: a reader sees the old bytes or the new bytes, never a mixture.
//!
//! The steps are: a temporary file in the same folder (rename needs one file system), write everything, sync the
//! file (or the rename may land before the data), rename, sync the folder (or the rename itself may be lost).
//!
//! Only files are replaced, and no symbolic link is followed. A path that the user named for a result is another
//! thing ([`write_named`]): a link stays there and the file that it leads to is replaced; into a device, a pipe or a
//! file that is open already (`/dev/fd/63`) the bytes are written straight, behind those that are there.

use crate::files::disk;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

const MARK: &str = ".quickstudy-tmp";

/// Path of the `number`th temporary file of this process for `path`.
fn temp_path(path: &Path, number: u32) -> io::Result<PathBuf> {
    let name =
        path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path has no file name"))?;
    // A name may be as long as a file system takes, and this one is longer.
    let name: String = name.to_string_lossy().chars().take(40).collect();
    Ok(path.with_file_name(format!(".{name}{MARK}{}-{number}", std::process::id())))
}

/// Makes a temporary file beside `path`. One that is there already is left alone: it may be a link that somebody
/// planted.
fn create_temp(path: &Path) -> io::Result<(PathBuf, File)> {
    const MOST: u32 = 100;
    for number in 0..MOST {
        let temp = temp_path(path, number)?;
        match disk::create_new(&temp) {
            Ok(file) => return Ok((temp, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("a hundred temporary files are beside it already"))
}

/// The place where bytes for a path go.
enum Target {
    /// Replaces this file, or makes it.
    File(PathBuf),
    /// Writes into what exists here.
    Stream(PathBuf),
}

/// The most links that are followed on the way to a file, which are those that Linux follows.
const MOST_LINKS: usize = 40;

impl Target {
    /// Follows symbolic links, also to a file that does not exist yet.
    fn of(path: &Path) -> io::Result<Self> {
        let mut place = path.to_owned();
        for _ in 0..MOST_LINKS {
            let name = place
                .file_name()
                .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path ends with no name of a file"))?;
            let parent = place.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
            let folder = fs::canonicalize(parent)?;
            // The links of /proc lead to what is open, whatever name it had.
            if folder.starts_with("/proc") {
                return Ok(Self::Stream(place));
            }
            let here = folder.join(name);
            match fs::symlink_metadata(&here) {
                Ok(meta) if meta.is_symlink() => place = folder.join(fs::read_link(&here)?),
                // A folder in the way is the error of the rename.
                Ok(meta) if meta.is_file() || meta.is_dir() => return Ok(Self::File(here)),
                Ok(_) => return Ok(Self::Stream(here)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::File(here)),
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other("the symbolic links lead in a circle"))
    }
}

/// Replaces `path` by `bytes`; when it returns `Ok`, they survive a power cut.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    put(path, bytes, true)
}

/// Replaces `path` by `bytes` at once for every reader, without waiting for the disk: for what can be made again.
pub(crate) fn write_unsynced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    put(path, bytes, false)
}

fn put(path: &Path, bytes: &[u8], sync: bool) -> io::Result<()> {
    expect_file(path)?;
    replace(path, sync, &mut |out| out.write_all(bytes))
}

/// Writes what the user named, as [`write()`] does, through symbolic links and into devices and pipes.
pub(crate) fn write_named(path: &Path, bytes: &[u8]) -> io::Result<()> {
    match Target::of(path)? {
        Target::File(file) => replace(&file, true, &mut |out| out.write_all(bytes)),
        Target::Stream(stream) => OpenOptions::new().append(true).open(stream)?.write_all(bytes),
    }
}

/// Replaces the file at `path` by what `fill` writes piece by piece.
pub(crate) fn rewrite(path: &Path, fill: &mut dyn FnMut(&mut File) -> io::Result<()>) -> io::Result<()> {
    expect_file(path)?;
    replace(path, true, fill)
}

/// Checks that there is a file or nothing. A folder in the way is the error of the rename.
fn expect_file(path: &Path) -> io::Result<()> {
    disk::expect_no_link(path)?;
    match fs::symlink_metadata(path).is_ok_and(|meta| !meta.is_file() && !meta.is_dir()) {
        true => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file")),
        false => Ok(()),
    }
}

fn replace(path: &Path, sync: bool, fill: &mut dyn FnMut(&mut File) -> io::Result<()>) -> io::Result<()> {
    let (temp, mut file) = create_temp(path)?;
    let result = (|| {
        fill(&mut file)?;
        if let Ok(before) = fs::metadata(path) {
            // What only its owner could read stays so; where a file system has no permissions there are none to keep.
            let _ = file.set_permissions(before.permissions());
        }
        if sync {
            file.sync_all()?;
        }
        drop(file);
        disk::rename(&temp, path)
    })();
    if result.is_err() {
        let _ = fs::remove_file(&temp);
    }
    if sync && result.is_ok() {
        sync_folder(path)?;
    }
    result
}

/// Waits until the folder of a file is on the disk, so that the file is found there after a power cut.
#[cfg(unix)]
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}

/// Nothing: elsewhere a folder cannot be opened for syncing, and the rename itself is journalled.
#[cfg(not(unix))]
#[allow(clippy::unnecessary_wraps)]
pub fn sync_folder(_path: &Path) -> io::Result<()> {
    Ok(())
}

/// Removes temporary files that a killed process left in `folder`; returns how many.
///
/// Call it only while holding the folder's lock, so that no live writer loses its file.
pub(crate) fn clean(folder: &Path) -> io::Result<usize> {
    let mut removed = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with('.') && name.contains(MARK) && !entry.file_type()?.is_dir() {
            disk::remove_file(&entry.path())?;
            removed += 1;
        }
    }
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::tests::scratch;

    #[test]
    fn replaces_a_file_and_leaves_no_temporary_behind() {
        let dir = scratch("atomic-replace");
        let path = dir.join("last.safetensors");
        write(&path, b"one").unwrap();
        write(&path, b"second").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert_eq!(fs::read_dir(&*dir).unwrap().count(), 1);
        // As long as names may be.
        write(&dir.join("x".repeat(255)), b"long").unwrap();
        assert_eq!(fs::read_dir(&*dir).unwrap().count(), 2);
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
    #[cfg(unix)]
    fn links_stay_and_lead_to_the_file_that_is_replaced() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let dir = scratch("atomic-links");
        fs::create_dir(dir.join("below")).unwrap();
        fs::write(dir.join("below/file"), b"old").unwrap();
        fs::set_permissions(dir.join("below/file"), fs::Permissions::from_mode(0o600)).unwrap();
        symlink("file", dir.join("below/second")).unwrap();
        symlink("below/second", dir.join("first")).unwrap();
        write_named(&dir.join("first"), b"new").unwrap();
        assert_eq!(fs::read(dir.join("below/file")).unwrap(), b"new");
        assert_eq!(fs::metadata(dir.join("below/file")).unwrap().permissions().mode() & 0o777, 0o600);
        for link in ["first", "below/second"] {
            assert!(fs::symlink_metadata(dir.join(link)).unwrap().is_symlink(), "{link}");
        }
        // A link to nothing yet makes what it names; a circle is an error.
        symlink("below/later", dir.join("dangling")).unwrap();
        write_named(&dir.join("dangling"), b"made").unwrap();
        assert_eq!(fs::read(dir.join("below/later")).unwrap(), b"made");
        symlink("circle", dir.join("circle")).unwrap();
        assert!(write_named(&dir.join("circle"), b"x").is_err());
        assert_eq!(fs::read_dir(dir.join("below")).unwrap().count(), 3);
        // Nobody named what a link in a run folder leads to.
        symlink("below/never", dir.join("planted")).unwrap();
        for link in ["first", "planted"] {
            let path = dir.join(link);
            for result in [
                write(&path, b"x"),
                write_unsynced(&path, b"x"),
                rewrite(&path, &mut |file| file.write_all(b"x")),
                disk::create(&path).map(|_| ()),
                disk::open(OpenOptions::new().append(true).create(true), &path).map(|_| ()),
                disk::copy(&dir.join("below/later"), &path),
            ] {
                assert!(result.unwrap_err().to_string().contains("it is a link"), "{link}");
            }
            assert!(fs::symlink_metadata(&path).unwrap().is_symlink(), "{link}");
        }
        assert_eq!(fs::read(dir.join("below/file")).unwrap(), b"new");
        assert!(!dir.join("below/never").exists());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn bytes_go_straight_into_what_is_no_file() {
        use std::os::fd::AsRawFd as _;
        use std::os::unix::fs::FileTypeExt as _;
        let dir = scratch("atomic-streams");
        // A device behind a link, as nobody but root could replace the device itself.
        std::os::unix::fs::symlink("/dev/full", dir.join("full")).unwrap();
        let error = write_named(&dir.join("full"), b"x").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull, "{error}");
        let device = || fs::metadata("/dev/full").unwrap().file_type().is_char_device();
        assert!(device() && fs::symlink_metadata(dir.join("full")).unwrap().is_symlink());
        write_named(Path::new("/dev/null"), b"x").unwrap();

        let fifo = dir.join("fifo");
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let reader = std::thread::spawn({
            let fifo = fifo.clone();
            move || fs::read(fifo).unwrap()
        });
        write_named(&fifo, b"through").unwrap();
        assert_eq!(reader.join().unwrap(), b"through");
        assert!(fs::symlink_metadata(&fifo).unwrap().file_type().is_fifo());

        // What is open already has no name that could be replaced.
        let file = File::create(dir.join("open")).unwrap();
        write_named(Path::new(&format!("/proc/self/fd/{}", file.as_raw_fd())), b"by number").unwrap();
        write_named(Path::new(&format!("/proc/self/fd/{}", file.as_raw_fd())), b", behind").unwrap();
        assert_eq!(fs::read(dir.join("open")).unwrap(), b"by number, behind");
        assert_eq!(fs::read_dir(&*dir).unwrap().count(), 3);
    }

    #[test]
    #[cfg(unix)]
    fn a_link_in_the_place_of_the_temporary_file_is_not_followed() {
        let dir = scratch("atomic-planted");
        fs::write(dir.join("victim"), b"whole").unwrap();
        let path = dir.join("result");
        std::os::unix::fs::symlink("victim", temp_path(&path, 0).unwrap()).unwrap();
        write(&path, b"new").unwrap();
        assert_eq!(fs::read(dir.join("victim")).unwrap(), b"whole");
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert!(!fs::symlink_metadata(&path).unwrap().is_symlink());
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
