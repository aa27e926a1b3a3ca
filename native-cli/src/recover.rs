//! Training that outlives its device: where that is lost, it goes on from the last snapshots on another one.

use crate::activity;
use crate::known;
use crate::outcome::{self, LOST, NON_FINITE, Stop};
use crate::progress::{grouped, say};
use crate::provenance;
use crate::ranks::lead::Led;
use crate::ranks::{self, Team};
use crate::run::{self, End, Pace, SeedRun};
use crate::run_folder::{self, file};
use crate::segments;
use quickstudy_core::backend::Device;
use quickstudy_core::train::{Own, Saved, Session};
use std::rc::Rc;

/// Said where a run goes on in other episodes than those in which it stopped.
pub const NEW_EPISODES: &str = "note: the environment cannot save where it is in its episodes, so that new ones begin; \
     resuming again gives the same";

/// A session and the runs of its seeds.
#[derive(Debug)]
pub struct RecordedSession {
    /// The session that trains.
    pub session: Session,
    /// The run of each seed.
    pub runs: Vec<SeedRun>,
    /// True if the session is in debug mode.
    pub debug: bool,
}

impl RecordedSession {
    /// Trains as [`run::run`] does. After a loss `reopen` gives a device to go on on, and with `true` one that cannot
    /// be lost: where the first one was lost before it saved anything. `threads` is for the record.
    ///
    /// # Errors
    /// As [`run::run`]; a lost device only if the run cannot go on on what `reopen` gives.
    pub fn train(
        &mut self,
        pace: Pace,
        stop_asked: &dyn Fn() -> bool,
        threads: usize,
        reopen: &dyn Fn(bool) -> Device,
    ) -> Result<End, Stop> {
        if let Some(team) = ranks::team() {
            return self.train_together(&team, pace, stop_asked);
        }
        let (mut lost_at, mut in_vain) = (None, 0);
        loop {
            let stop = match run::run(&mut self.session, &mut self.runs, pace, stop_asked) {
                Err(stop) if stop.kind == LOST && in_vain < 2 => stop,
                // Debug mode has named the operation already, and would name the same one again.
                Err(stop) if self.debug && stop.code == NON_FINITE => {
                    return Err(stop.hint("the last snapshot is intact"));
                }
                ended => return ended,
            };
            // Of several errors the first one matters.
            let mut device = reopen(false);
            activity::watch(device.interrupt());
            let Ok(mut steps) = self.move_to(&device, threads) else { return Err(stop) };
            in_vain = if lost_at == Some(steps) { in_vain + 1 } else { 0 };
            if in_vain > 0 {
                device = reopen(true);
                activity::watch(device.interrupt());
                let Ok(moved) = self.move_to(&device, threads) else { return Err(stop) };
                steps = moved;
            }
            lost_at = Some(steps);
            say(&format!("note: {}; going on from {} steps on {}", stop.message, grouped(steps), device.caps().name));
        }
    }

    /// Trains with all ranks.
    fn train_together(&mut self, team: &Rc<Team>, pace: Pace, stop_asked: &dyn Fn() -> bool) -> Result<End, Stop> {
        let begun = self.runs.iter().filter(|run| run.folder.join(file::LAST).exists());
        let read = |run: &SeedRun| run_folder::read_snapshot(run.folder.path(), file::LAST);
        let snapshots = begun.map(read).collect::<Result<Vec<_>, _>>()?;
        let mut led = Led::begin(&mut self.session, team.clone(), &snapshots, self.debug);
        match run::run(&mut led, &mut self.runs, pace, stop_asked) {
            Ok(end) => {
                led.end();
                Ok(end)
            }
            // The others may be in the middle of something.
            Err(stop) => team.abort(outcome::report(&stop)),
        }
    }

    /// Restores the last snapshots on another device; environment steps made until then.
    fn move_to(&mut self, device: &Device, threads: usize) -> Result<u64, Stop> {
        let read = |run: &SeedRun| run_folder::read_snapshot(run.folder.path(), file::LAST);
        let snapshots = self.runs.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        let folders = self.runs.iter().map(|run| run.folder.path());
        let readers: Vec<_> =
            folders.map(|folder| |name: &str, bytes: u64| segments::read(folder, name, bytes)).collect();
        let saved: Vec<Saved<'_>> =
            snapshots.iter().zip(&readers).map(|(file, read)| Saved::in_parts(file, read)).collect();
        let setup = self.session.setup();
        let own = Own { env: Some(setup.env.clone()), ..known::own() };
        let mut session = Session::restore_trials(device, own, &saved)?;
        session.set_length(setup.length())?;
        session.set_debug(self.debug);
        if session.begins_anew() {
            say(NEW_EPISODES);
        }
        let steps = session.env_steps();
        self.session = session;
        for (index, run) in self.runs.iter_mut().enumerate() {
            run.rewind(self.session.steps_made(index), self.session.segments(index))?;
            provenance::note_change(&run.folder, &device.caps().name);
            provenance::record(&run.folder, &device.caps().name, threads, steps)?;
        }
        Ok(steps)
    }
}
