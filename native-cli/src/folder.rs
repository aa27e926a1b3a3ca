//! Run folders: one folder holds everything about one training run.
//!
//! ```text
//! runs/cartpole-ppo-s1/
//!   config.toml         every resolved setting, loadable with --config
//!   command.txt         the commands that made it, one per line
//!   version.json        program version, operating system, device
//!   metrics.csv  metrics.jsonl  events.out.tfevents.quickstudy
//!   events.out.tfevents.hparams  its settings and whether it has ended, for TensorBoard
//!   last.safetensors    everything needed to resume, bit for bit
//!   segments/           with a replay buffer, its rows, which last.safetensors names
//!   snapshots/          those that are kept beside it, by their environment steps
//!   best.safetensors    the policy with the best evaluation
//!   best-512.safetensors  that of an evaluation after 512 steps, while the snapshot after it is written
//!   curve.svg           learning curve
//!   curve.csv           its points and the best evaluation, from which a resume goes on
//!   run.lock            held by the process that writes here
//!   copying.txt         while a kept snapshot and its metrics are copied here: where they come from
//! ```
//!
//! No file in it is reached through a symbolic link by whoever writes ([`links`]).

mod begun;
mod best;
pub mod file;
mod finding;
mod guard;
pub(crate) mod links;
pub(crate) mod provenance;
pub(crate) mod segments;

use crate::files::lock::Lock;
use crate::files::reading::read;
use crate::files::{atomic, cannot, cannot_keep, disk, make_folder};
use crate::outcome::{EXISTS, Stop};
use crate::text::quote::shell_quote;
pub(crate) use begun::Begun;
pub(crate) use finding::{find_evaluable, find_resumable, find_runs, find_started, has_rows, is_started};
pub(crate) use guard::{check_descriptors, check_plain, is_locked, is_of_run};
use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// An open run folder, locked for writing until dropped.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    _lock: Lock,
}

/// The name of a kept snapshot.
pub(crate) fn kept_name(env_steps: u64) -> String {
    format!("{env_steps}.safetensors")
}

/// Names a run as `<env>-<algo>-s<seed>`.
pub(crate) fn default_name(env: &str, algorithm: &str, seed: u64) -> String {
    seeds_name(env, algorithm, &seed.to_string())
}

/// Names runs of some seeds as `<env>-<algo>-s<seeds>`.
pub(crate) fn seeds_name(env: &str, algorithm: &str, seeds: &str) -> String {
    // Parameters of an environment, `bandit:arms=10,pulls=100`, hold signs that some file systems do not take. The
    // Python package writes the same for them (`_SIGNS` in `python/quickstudy/_training.py`).
    let env = env.replace([':', ',', '/', '?', '&', '\\'], "-").replace(['=', '"'], "");
    format!("{env}-{algorithm}-s{seeds}")
}

impl RunFolder {
    /// Creates a fresh folder below `parent`: `name`, or `name-2`, `name-3`, … if that is taken.
    pub fn create_numbered(parent: &Path, name: &str) -> Result<Self, Stop> {
        make_folder(parent)?;
        for k in 1..10_000_u32 {
            let path = parent.join(if k == 1 { name.to_owned() } else { format!("{name}-{k}") });
            match disk::create_dir(&path) {
                Ok(()) => return Self::lock_and_check(path),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    // A run that was killed there may have left half a file, which nobody else removes.
                    if !links::is_link(&path)
                        && path.join(file::LOCK).is_file()
                        && let Ok(other) = Self::lock_and_check(path)
                    {
                        let _ = other.clean();
                    }
                }
                Err(error) => return Err(cannot("create the run folder", &path, &error)),
            }
        }
        Err(Stop::user(format!("{} holds 10000 runs named {name}", parent.display()))
            .hint("choose another folder with --out"))
    }

    /// Creates `path` (parents included) for a new run; an existing folder must not hold a run.
    pub fn create(path: &Path) -> Result<Self, Stop> {
        make_folder(path)?;
        let folder = Self::lock_and_check(path.to_owned())?;
        folder.clean()?;
        folder.clear_copy()?;
        folder.check_unbegun()?;
        Ok(folder)
    }

    /// Checks that no run has begun here. Without a snapshot there is no run yet: one that was
    /// killed before its first is started over.
    pub fn check_unbegun(&self) -> Result<(), Stop> {
        let path = self.path();
        for name in [file::LAST, file::BEST] {
            if self.join(name).exists() {
                let stop = Stop::user(format!("{} already holds a run", path.display()));
                let hint = format!("continue it with `quickstudy train --resume {}`", shell_quote(path));
                return Err(Stop { kind: EXISTS, ..stop.hint(format!("{hint}, or choose another --out")) });
            }
        }
        // Rows come after the first snapshot: where there are some, a run has lost its snapshots.
        for name in [file::CSV, file::JSONL] {
            let path = self.join(name);
            if fs::metadata(&path).is_ok_and(|meta| meta.len() > 0) {
                return Err(Stop::user(format!(
                    "{} holds rows of a run that has no snapshot any more",
                    path.display()
                ))
                .hint("move them away if they may be lost, or choose another --out"));
            }
        }
        if fs::read_dir(self.join(file::KEPT)).is_ok_and(|mut kept| kept.next().is_some()) {
            let message = format!("{} holds the kept snapshots of a run", self.join(file::KEPT).display());
            return Err(Stop::user(message).hint("move them away, or choose another --out"));
        }
        Ok(())
    }

    /// Removes an unfinished copy of a run: the run itself still has everything.
    fn clear_copy(&self) -> Result<(), Stop> {
        if !self.join(file::COPYING).exists() {
            return Ok(());
        }
        // Its mark goes last.
        for name in file::ALL.into_iter().filter(|name| ![file::LOCK, file::COPYING].contains(name)) {
            self.remove(name)?;
        }
        self.remove(file::COPYING)
    }

    /// Removes a file of the folder, if it is there.
    pub fn remove(&self, name: &str) -> Result<(), Stop> {
        let path = self.join(name);
        match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            _ => disk::remove_file(&path).map_err(|error| cannot_keep(&path, &error, "")),
        }
    }

    /// Opens the folder of an existing run for writing and removes what a killed process left half-written.
    pub fn open(path: &Path) -> Result<Self, Stop> {
        require_folder(path)?;
        let folder = Self::lock_and_check(path.to_owned())?;
        folder.clean()?;
        Ok(folder)
    }

    fn clean(&self) -> Result<(), Stop> {
        let kept = self.join(file::KEPT);
        for folder in [Some(&self.path), kept.is_dir().then_some(&kept)].into_iter().flatten() {
            atomic::clean(folder).map_err(|error| cannot("clean up", folder, &error))?;
        }
        Ok(())
    }

    fn lock_and_check(path: PathBuf) -> Result<Self, Stop> {
        let lock_path = path.join(file::LOCK);
        check_plain(&path)?;
        let lock = Lock::take(&lock_path, &path)?;
        Ok(Self { path, _lock: lock })
    }

    /// Where the folder is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A path inside the folder.
    pub fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Replaces a file of the folder crash-safely; on return it is on disk.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Stop> {
        self.replaced(name, atomic::write(&self.join(name), bytes))
    }

    /// Replaces a file of the folder that can be made again: readers see the old or the new one, but a power cut may
    /// lose it.
    pub fn write_unsynced(&self, name: &str, bytes: &[u8]) -> Result<(), Stop> {
        self.replaced(name, atomic::write_unsynced(&self.join(name), bytes))
    }

    /// Keeps a snapshot under its environment steps; on return it is on disk.
    pub fn keep(&self, env_steps: u64, snapshot: &[u8]) -> Result<(), Stop> {
        let folder = self.join(file::KEPT);
        let path = folder.join(kept_name(env_steps));
        let made = match disk::create_dir(&folder) {
            Ok(()) => atomic::sync_folder(&folder),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => disk::expect_no_link(&folder),
            Err(error) => Err(error),
        };
        made.and_then(|()| atomic::write(&path, snapshot))
            .map_err(|error| cannot_keep(&path, &error, "; the last snapshot is intact"))
    }

    fn replaced(&self, name: &str, result: io::Result<()>) -> Result<(), Stop> {
        result.map_err(|error| {
            let path = self.join(name);
            let kept = if path.is_file() { "; the previous file is intact" } else { "" };
            cannot_keep(&path, &error, kept)
        })
    }

    /// Tells whether the snapshot to resume from is there.
    pub fn resumable(&self) -> bool {
        self.join(file::LAST).is_file()
    }

    /// Appends a command to `command.txt`.
    pub fn record_command(&self, arguments: &[impl AsRef<OsStr>]) -> Result<(), Stop> {
        let path = self.join(file::COMMAND);
        let line: Vec<String> = arguments.iter().map(shell_quote).collect();
        let line = line.join(" ") + "\n";
        disk::open(OpenOptions::new().create(true).append(true), &path)
            .and_then(|mut file| disk::write_all(&mut file, line.as_bytes()))
            .map_err(|error| cannot_keep(&path, &error, ""))
    }
}

/// Reads a snapshot of the run in `folder`.
pub fn read_snapshot(folder: &Path, name: &str) -> Result<Vec<u8>, Stop> {
    read(&snapshot_path(folder, name)?)
}

fn snapshot_path(folder: &Path, name: &str) -> Result<PathBuf, Stop> {
    require_folder(folder)?;
    let path = folder.join(name);
    if !path.exists() {
        return Err(Stop::user(format!("{} holds no {name}", folder.display()))
            .hint("expected a run folder made by `quickstudy train`; the folder may be one level off"));
    }
    if !path.is_file() {
        let found = if path.is_dir() { "a folder" } else { "a device or a pipe" };
        return Err(Stop::user(format!("{} is {found}, expected a snapshot", path.display())));
    }
    Ok(path)
}

/// Where the policy of a run folder is: the best one if there is one and `last` does not ask for the
/// last; or the snapshot file `path` itself.
pub(crate) fn policy(path: &Path, last: bool, best: bool) -> Result<PathBuf, Stop> {
    if path.is_file() {
        return Ok(path.to_owned());
    }
    let name = if last || (!best && !path.join(file::BEST).exists()) { file::LAST } else { file::BEST };
    snapshot_path(path, name)
}

fn require_folder(path: &Path) -> Result<(), Stop> {
    match fs::metadata(path) {
        Ok(meta) if meta.is_dir() => Ok(()),
        Ok(_) => Err(Stop::user(format!("{} is a file, expected a run folder", path.display()))),
        Err(error) => Err(cannot("open the run folder", path, &error)),
    }
}

#[cfg(test)]
pub(crate) mod tests;
