//! The best policy's file, which changes with the last snapshot.
//!
//! The policy of a better evaluation is first written beside the best one, under the environment steps of that
//! evaluation, and takes its place once a snapshot is on the disk that is not older. After a kill in between, the
//! metrics go back to the snapshot before, and so does the policy.

use super::{RunFolder, cannot_keep, file};
use crate::files::disk;
use crate::outcome::Stop;
use std::fs;
use std::path::Path;

/// The name of the policy of a better evaluation after so many environment steps, until a snapshot follows.
fn name(env_steps: u64) -> String {
    format!("best-{env_steps}.safetensors")
}

/// The environment steps in such a name.
fn steps_in(file: &str) -> Option<u64> {
    let steps = file.strip_prefix("best-")?.strip_suffix(".safetensors")?.parse().ok()?;
    (name(steps) == file).then_some(steps)
}

/// The names of better policies for which no snapshot is there yet.
pub(super) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| steps_in(name).is_some()).collect()
}

impl RunFolder {
    /// Writes the policy of a better evaluation, made after so many environment steps;
    /// [`RunFolder::settle_best`] makes it the best one.
    pub fn write_better(&self, env_steps: u64, policy: &[u8]) -> Result<(), Stop> {
        self.write(&name(env_steps), policy)
    }

    /// Makes the last of the better policies up to `env_steps`, those of the snapshot in place, the best one, and
    /// removes all others.
    pub fn settle_best(&self, env_steps: u64) -> Result<(), Stop> {
        let mut better: Vec<u64> = names(self.path()).iter().filter_map(|name| steps_in(name)).collect();
        better.sort_unstable();
        let best = better.iter().rposition(|steps| *steps <= env_steps).map(|last| better.remove(last));
        better.into_iter().try_for_each(|steps| self.remove(&name(steps)))?;
        let Some(better) = best.map(|steps| self.join(&name(steps))) else { return Ok(()) };
        let path = self.join(file::BEST);
        disk::rename(&better, &path).map_err(|error| cannot_keep(&path, &error, ""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::tests::scratch;

    #[test]
    fn better_policies_become_the_best_one_with_a_snapshot_that_is_not_older() {
        let dir = scratch("better");
        let folder = RunFolder::create(&dir).unwrap();
        let best = || fs::read(dir.join(file::BEST)).ok();
        folder.settle_best(100).unwrap();
        folder.write_better(300, b"third").unwrap();
        folder.write_better(100, b"first").unwrap();
        folder.write_better(200, b"second").unwrap();
        fs::write(dir.join("best-07.safetensors"), "of somebody else").unwrap();
        assert_eq!(best(), None);
        folder.settle_best(250).unwrap();
        assert_eq!(best().as_deref(), Some(&b"second"[..]));
        folder.write_better(300, b"third").unwrap();
        folder.settle_best(299).unwrap();
        assert_eq!(best().as_deref(), Some(&b"second"[..]));
        assert_eq!(fs::read_dir(&*dir).unwrap().count(), 3, "the lock, the best and the other file");
    }
}
