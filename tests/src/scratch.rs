//! Where tests keep their files.

use std::path::{Path, PathBuf};

/// A folder's path for the files of one test of this process: in memory where the system has a folder for that with
/// room for all tests, elsewhere with temporary files. Disks take most of the time of tests that make and remove files
/// by the thousand. The folder is not made.
#[must_use]
pub fn scratch(name: &str) -> PathBuf {
    let shm = Path::new("/dev/shm");
    let parent = if has_room(shm) { shm.to_owned() } else { std::env::temp_dir() };
    parent.join(format!("quickstudy-{name}-{}", std::process::id()))
}

/// Tells if a folder has room for a gibibyte: in containers it often has 64 MiB.
#[cfg(target_os = "linux")]
fn has_room(folder: &Path) -> bool {
    nix::sys::statvfs::statvfs(folder).is_ok_and(|disk| disk.blocks_available() * disk.fragment_size() >= 1 << 30)
}

#[cfg(not(target_os = "linux"))]
fn has_room(_: &Path) -> bool {
    false
}
