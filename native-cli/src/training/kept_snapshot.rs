//! Kept snapshots, from which a run goes on in a new folder: nothing of the run that they are of is lost.

use crate::files::{atomic, cannot, cannot_keep, disk};
use crate::folder::links::{self, is_link};
use crate::folder::{RunFolder, file};
use crate::outcome::Stop;
use crate::settings::register;
use crate::terminal::output::say;
use crate::training::run;
use quickstudy_core::Device;
use quickstudy_core::train::Evaluator;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// A snapshot in the folder `snapshots` of a run.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    path: PathBuf,
    run: PathBuf,
}

impl Kept {
    /// The snapshot at `path`, `RUN/snapshots/N.safetensors`.
    pub(super) fn find(path: &Path) -> Result<Self, Stop> {
        let real = fs::canonicalize(path).map_err(|error| cannot("read", path, &error))?;
        let run = real.parent().filter(|folder| folder.ends_with(file::KEPT)).and_then(Path::parent);
        match run.filter(|run| run.join(file::CONFIG).is_file()) {
            Some(run) => {
                // As it was named, for messages, where the name tells.
                let named = path.ancestors().nth(2);
                let named = named.filter(|named| fs::canonicalize(named).is_ok_and(|real| real == run));
                Ok(Self { path: path.to_owned(), run: named.unwrap_or(run).to_owned() })
            }
            None => Err(Stop::user(format!("{} is no kept snapshot of a run", path.display())).hint(
                "name a run folder, or RUN/snapshots/N.safetensors; any other snapshot with everything resumes as the \
                 last.safetensors of a folder of its own",
            )),
        }
    }

    /// Path of the snapshot.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The folder of its run.
    pub(super) fn run(&self) -> &Path {
        &self.run
    }

    /// A new folder in which the run goes on from here, after `made` environment steps: `out`, in `out` if there
    /// are `several`, otherwise one beside the run. From [`Kept::begin`] to [`Kept::end`] it is marked as a copy
    /// that is being made, which may be begun again.
    pub(super) fn begin(&self, made: u64, out: Option<&Path>, several: bool) -> Result<RunFolder, Stop> {
        let real = fs::canonicalize(&self.run).map_err(|error| cannot("read", &self.run, &error))?;
        let name = real.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let name = format!("{name}-from-{made}");
        let folder = match out {
            Some(out) if several => {
                links::check_below(out, &out.join(&name))?;
                RunFolder::create(&out.join(name))?
            }
            Some(out) => RunFolder::create(out)?,
            None if is_link(&self.path) || self.path.parent().is_some_and(is_link) => {
                let message = format!("{} is reached by a link, beside which no run is made", self.path.display());
                return Err(Stop::user(message).hint("name its new folder with --out"));
            }
            None => RunFolder::create_numbered(self.run.parent().unwrap_or(&real), &name)?,
        };
        folder.write_unsynced(file::COPYING, (self.path.to_string_lossy() + "\n").as_bytes())?;
        Ok(folder)
    }

    /// Copies into that folder what the run had until here: its metrics, and its best policy unless that is newer.
    /// `config` is the configuration from here on; the snapshot comes last.
    pub(super) fn copy(&self, folder: &RunFolder, made: u64, config: &str) -> Result<(), Stop> {
        // The policy before the rows: those of its evaluation are on the disk before it, also where the run goes on
        // meanwhile.
        let best = self.copied(file::BEST)?;
        let metrics = [file::CSV, file::JSONL, file::EVENTS, file::SESSION];
        for name in [file::CONFIG, file::COMMAND, file::VERSION, file::HISTORY].into_iter().chain(metrics) {
            let (from, to) = (self.run.join(name), folder.join(name));
            if from.is_file() {
                disk::copy(&from, &to).map_err(|error| cannot_keep(&to, &error, ""))?;
            }
        }
        // By the configuration until here.
        run::mend(folder, made)?;
        let is_older = |policy: &Vec<u8>| {
            Evaluator::load_with(&Device::cpu(1), register::own(), policy)
                .is_ok_and(|policy| policy.env_steps() <= made)
        };
        if let Some(best) = best.filter(is_older) {
            folder.write(file::BEST, &best)?;
        }
        if !config.is_empty() {
            folder.write(file::CONFIG, config.as_bytes())?;
        }
        let last = folder.join(file::LAST);
        File::open(&self.path)
            .and_then(|mut snapshot| atomic::rewrite(&last, &mut |to| io::copy(&mut snapshot, to).map(|_| ())))
            .map_err(|error| cannot_keep(&last, &error, ""))?;
        say(&format!("{} resumes in {}", self.path.display(), folder.path().display()));
        Ok(())
    }

    /// Takes the mark away: all of the folder is there.
    pub(super) fn end(folder: &RunFolder) -> Result<(), Stop> {
        folder.remove(file::COPYING)
    }

    fn copied(&self, name: &str) -> Result<Option<Vec<u8>>, Stop> {
        let path = self.run.join(name);
        match fs::read(&path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(cannot("read", &path, &error)),
        }
    }
}
