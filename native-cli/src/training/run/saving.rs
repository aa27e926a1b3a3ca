//! Snapshots of a run on their way to the disk.

use super::seed_run::SeedRun;
use super::session::Training;
use crate::files::disk;
use crate::folder::file;
use crate::machine::memory;
use crate::outcome::Stop;
use crate::settings::keep_snapshots::Keep;
use crate::terminal::activity::{self, Work};
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::thread::ScopedJoinHandle;
use std::time::Duration;

impl SeedRun {
    /// Metrics first, the policy of a better evaluation second: what a snapshot builds on is always there.
    fn save_before(&mut self) -> Result<(), Stop> {
        self.log.sync()?;
        match self.best_policy.take() {
            Some((env_steps, policy)) => self.folder.write_better(env_steps, &policy),
            None => Ok(()),
        }
    }

    /// Then new rows of the replay buffer and, last, the snapshot after `made` environment steps. What
    /// only the one before needed goes after it.
    fn save(&mut self, made: u64, snapshot: &[u8]) -> Result<(), Stop> {
        self.save_before()?;
        self.segments.sync()?;
        self.folder.write(file::LAST, snapshot)?;
        self.folder.settle_best(made)?;
        self.segments.keep()?;
        self.keep_recent_history()
    }

    /// Whatever is newer than it is read from the rows, so it need not follow each of many snapshots.
    fn keep_recent_history(&mut self) -> Result<(), Stop> {
        match self.kept.is_none_or(|kept| kept.elapsed() > Duration::from_secs(1)) {
            true => self.keep_history(),
            false => Ok(()),
        }
    }
}

/// A seed to be saved.
#[derive(Clone, Copy, Debug)]
pub(super) struct Changed {
    /// Its number, from 0.
    pub index: usize,
    /// Its snapshot stays beside the last one, and is there before that moves on.
    pub stays: bool,
}

/// Writes the files of these seeds, which are in order of their numbers. Most of the time goes into waiting for
/// the disk, which many threads do as fast as one; but where the address space is limited, their stacks and heaps
/// would take what training has counted on.
pub(super) fn save(session: &dyn Training, runs: &mut [SeedRun], keep: Keep, changed: &[Changed]) -> Result<(), Stop> {
    const TOGETHER: usize = 32;
    let of = |index: usize| changed.iter().find(|changed| changed.index == index);
    let runs = runs.iter_mut().enumerate().filter_map(|(index, run)| Some((*of(index)?, run)));
    let mut runs: Vec<(Changed, &mut SeedRun)> = runs.collect();
    if keep == Keep::None {
        return runs.iter_mut().try_for_each(|(_, run)| run.log.sync().and_then(|()| run.keep_recent_history()));
    }
    let copy = session.snapshots(&changed.iter().map(|changed| changed.index).collect::<Vec<_>>())?;
    for runs in runs.chunks_mut(TOGETHER) {
        // The rows of a replay buffer are in it, as segments go with the last snapshot; one at a time, as each has all
        // of its own.
        for (Changed { index, .. }, run) in runs.iter_mut().filter(|(changed, _)| changed.stays) {
            run.save_before()?;
            run.folder.keep(session.steps_made(*index), &copy.whole(*index)?)?;
        }
        let one = |(Changed { index, .. }, run): &mut (Changed, &mut SeedRun)| copy.parts(*index, &mut run.segments);
        let snapshots: Vec<Vec<u8>> = runs.iter_mut().map(one).collect::<Result<_, _>>()?;
        let saves = runs.iter_mut().zip(&snapshots);
        let saves = saves.map(|((changed, run), snapshot)| (session.steps_made(changed.index), run, snapshot));
        let saves = saves.map(|(made, run, snapshot)| move || run.save(made, snapshot)).collect();
        side_by_side(saves, !memory::is_limited() && !disk::is_counted())?;
    }
    Ok(())
}

/// Saves the seeds that have changed since they were saved; the snapshots of those that `stay` are kept.
pub(super) fn save_changed(
    session: &dyn Training,
    runs: &mut [SeedRun],
    keep: Keep,
    changed: &mut BTreeSet<usize>,
    stay: &[usize],
) -> Result<(), Stop> {
    if changed.is_empty() {
        return Ok(());
    }
    activity::begin(Work::Saving);
    let all: Vec<Changed> =
        changed.iter().map(|index| Changed { index: *index, stays: stay.contains(index) }).collect();
    save(session, runs, keep, &all)?;
    changed.clear();
    Ok(())
}

/// Writes the first snapshots of runs that have none.
pub(crate) fn save_first(session: &dyn Training, runs: &mut [SeedRun]) -> Result<(), Stop> {
    let all: Vec<Changed> = (0..runs.len()).map(|index| Changed { index, stays: false }).collect();
    save(session, runs, Keep::Last, &all)
}

/// Does all of it, with `threads` on a thread each; where the system gives no thread, on this one. The first error
/// counts.
pub(super) fn side_by_side<F: FnOnce() -> Result<(), Stop> + Send>(works: Vec<F>, threads: bool) -> Result<(), Stop> {
    if !threads || works.len() < 2 {
        return works.into_iter().map(|work| work()).fold(Ok(()), Result::and);
    }
    // Each is taken by its thread, or by this one where there is none.
    let works: Vec<Mutex<Option<F>>> = works.into_iter().map(|work| Mutex::new(Some(work))).collect();
    let run = |work: &Mutex<Option<F>>| {
        let work = work.lock().unwrap_or_else(PoisonError::into_inner).take();
        work.map_or(Ok(()), |work| work())
    };
    std::thread::scope(|scope| {
        let start = |work| std::thread::Builder::new().spawn_scoped(scope, move || run(work));
        let started: Vec<_> = works.iter().map(|work| (work, start(work))).collect();
        let ended = |(work, thread): (_, std::io::Result<ScopedJoinHandle<'_, Result<(), Stop>>>)| match thread {
            Ok(thread) => thread.join().unwrap_or_else(|_| Err(Stop::failure("a thread that saves has panicked"))),
            Err(_) => run(work),
        };
        started.into_iter().map(ended).fold(Ok(()), Result::and)
    })
}
