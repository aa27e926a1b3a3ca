//! The folders that a command makes for its runs.

use super::{RunFolder, file};
use crate::files::disk;
use crate::outcome::Stop;
use std::path::{Path, PathBuf};

/// Run folders that are made one after the other: all of them, or none is left.
#[derive(Default)]
pub(crate) struct Begun {
    folders: Vec<RunFolder>,
    /// Folders that were not there before, each behind the one that it lies in.
    new: Vec<PathBuf>,
}

impl Begun {
    /// Adds the folder that `make` makes at this path, or in it.
    pub(crate) fn add(mut self, at: &Path, make: impl FnOnce(&Path) -> Result<RunFolder, Stop>) -> Result<Self, Stop> {
        let missing = at.ancestors().take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists());
        let mut missing: Vec<_> = missing.map(Path::to_owned).collect();
        missing.reverse();
        self.new.extend(missing);
        match make(at) {
            Ok(folder) => {
                if !self.new.iter().any(|new| new == folder.path()) && folder.path() != at {
                    self.new.push(folder.path().to_owned());
                }
                self.folders.push(folder);
                Ok(self)
            }
            Err(stop) => {
                self.remove();
                Err(stop)
            }
        }
    }

    /// The folders, to be kept.
    pub(crate) fn all(self) -> Vec<RunFolder> {
        self.folders
    }

    fn remove(self) {
        // While the locks are held: a file that another process has opened meanwhile would be its lock.
        for folder in self.folders.iter().filter(|folder| self.new.iter().any(|new| new == folder.path())) {
            let _ = disk::remove_file(&folder.join(file::LOCK));
        }
        drop(self.folders);
        // A folder in which there is more stays.
        self.new.iter().rev().for_each(|folder| drop(disk::remove_dir(folder)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::tests::scratch;
    use std::fs;

    #[test]
    fn a_command_that_cannot_make_all_folders_leaves_none() {
        let dir = scratch("begun");
        let (out, other) = (dir.join("a/b"), dir.join("c"));
        fs::create_dir_all(&other).unwrap();
        fs::write(other.join("file"), "").unwrap();
        let begun = Begun::default().add(&out.join("one"), RunFolder::create).unwrap();
        let begun = begun.add(&out, |parent| RunFolder::create_numbered(parent, "two")).unwrap();
        assert!(out.join("one").is_dir() && out.join("two").is_dir());
        assert_eq!(begun.add(&other.join("file"), RunFolder::create).err().unwrap().code, 2);
        assert!(!dir.join("a").exists() && other.join("file").is_file());
        let begun = Begun::default().add(&out.join("one"), RunFolder::create).unwrap();
        assert_eq!(begun.all().len(), 1);
        // What was there stays.
        let begun = Begun::default().add(&out.join("one"), RunFolder::create).unwrap();
        assert!(begun.add(&other.join("file/below"), RunFolder::create).is_err());
        assert!(out.join("one").is_dir());
    }
}
