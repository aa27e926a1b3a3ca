//! Training that outlives its device: from the last snapshots it resumes on another one, where the first is lost, or
//! where more threads of the CPU have become free.

use crate::folder::{self, file, provenance, segments};
use crate::machine::device::Reopen;
use crate::outcome::{self, LOST, NON_FINITE, Stop};
use crate::ranks::{self, Team};
use crate::settings::keep_snapshots::Keep;
use crate::settings::register;
use crate::terminal::output::say;
use crate::terminal::{activity, signals};
use crate::text::numbers::grouped;
use crate::training::lead::Led;
use crate::training::run::{self, End, Pace, SeedRun};
use quickstudy_core::backend::Device;
use quickstudy_core::train::{Own, Saved, Session};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Said where a run goes on in other episodes than those in which it stopped.
pub(crate) const NEW_EPISODES: &str = "note: the environment cannot save where it is in its episodes, so that new ones \
     begin; resuming again gives the same";

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
    /// Trains as [`run::run`] does, at first with `threads` threads of the CPU. After a loss `reopen` gives a device to
    /// continue on, and [`Reopen::Cpu`] where the first one was lost before it saved anything. Threads that are handed
    /// to this process ([`signals::handed_threads`]) are taken after an iteration: results do not depend on their
    /// number.
    pub fn train(
        mut self,
        pace: Pace,
        stop_asked: &dyn Fn() -> bool,
        mut threads: usize,
        reopen: &dyn Fn(Reopen) -> Device,
    ) -> Result<(End, Self), Stop> {
        if let Some(team) = ranks::team() {
            let end = self.train_together(&team, pace, stop_asked)?;
            return Ok((end, self));
        }
        let (began, before) = (Instant::now(), self.steps());
        // Without a snapshot nothing can move, and not every environment of the host can save where it is.
        let moves = pace.keep != Keep::None && !self.session.setup().env.on_host();
        let mut taken = 0;
        let (mut lost_at, mut in_vain) = (None, 0);
        loop {
            let handed = || moves && signals::handed_threads() > taken;
            let leave = || stop_asked() || handed();
            let stop = match run::run(&mut self.session, &mut self.runs, pace, &leave) {
                Ok(End::Interrupted) if !stop_asked() && handed() => {
                    let all = signals::handed_threads();
                    let more = threads + all - taken;
                    taken = all;
                    // What ends sooner than it would be set up again stays where it is.
                    if self.time_left(began, before) > activity::time_to_set_up() {
                        threads = more;
                        self = self.moved(reopen(Reopen::Threads(threads)), threads)?.0;
                    }
                    continue;
                }
                Err(stop) if stop.kind == LOST && in_vain < 2 => stop,
                // Debug mode has named the operation already, and would name the same one again.
                Err(stop) if self.debug && stop.code == NON_FINITE => {
                    return Err(stop.hint("the last snapshot is intact"));
                }
                ended => return Ok((ended?, self)),
            };
            // Of several errors the first one matters.
            let device = reopen(Reopen::Same);
            let mut name = device.caps().name.clone();
            let Ok((moved, mut steps)) = self.moved(device, threads) else { return Err(stop) };
            self = moved;
            in_vain = if lost_at == Some(steps) { in_vain + 1 } else { 0 };
            if in_vain > 0 {
                let device = reopen(Reopen::Cpu);
                name.clone_from(&device.caps().name);
                let Ok(moved) = self.moved(device, threads) else { return Err(stop) };
                (self, steps) = moved;
            }
            lost_at = Some(steps);
            say(&format!("note: {}; resuming from {} steps on {name}", stop.message, grouped(steps)));
        }
    }

    /// Trains with all ranks.
    fn train_together(&mut self, team: &Rc<Team>, pace: Pace, stop_asked: &dyn Fn() -> bool) -> Result<End, Stop> {
        let begun = self.runs.iter().filter(|run| run.folder.join(file::LAST).exists());
        let read = |run: &SeedRun| folder::read_snapshot(run.folder.path(), file::LAST);
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

    /// Environment steps that all seeds have made.
    fn steps(&self) -> u64 {
        (0..self.runs.len()).map(|index| self.session.steps_made(index)).sum()
    }

    /// How long the steps that are left will take, at the speed since `began`, when all seeds had made `before`.
    fn time_left(&self, began: Instant, before: u64) -> Duration {
        let made = self.steps();
        let left = (self.session.total_steps() * self.runs.len() as u64).saturating_sub(made);
        Duration::try_from_secs_f64(began.elapsed().as_secs_f64() * left as f64 / (made - before) as f64)
            .unwrap_or(Duration::MAX)
    }

    /// Restores the last snapshots on another device, where this session leaves its memory to the new one; environment
    /// steps made until then.
    fn moved(self, device: Device, threads: usize) -> Result<(Self, u64), Stop> {
        activity::watch(device.interrupt());
        let Self { session, mut runs, debug } = self;
        let (length, env) = (session.setup().length(), session.setup().env.clone());
        drop(session);
        let read = |run: &SeedRun| folder::read_snapshot(run.folder.path(), file::LAST);
        let snapshots = runs.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        let folders = runs.iter().map(|run| run.folder.path());
        let readers: Vec<_> =
            folders.map(|folder| |name: &str, bytes: u64| segments::read(folder, name, bytes)).collect();
        let saved: Vec<Saved<'_>> =
            snapshots.iter().zip(&readers).map(|(file, read)| Saved::in_parts(file, read)).collect();
        let own = Own { env: Some(env), ..register::own() };
        let mut session = Session::restore_trials(&device, own, &saved)?;
        session.set_length(length)?;
        session.set_debug(debug);
        if session.begins_anew() {
            say(NEW_EPISODES);
        }
        let steps = session.env_steps();
        for (index, run) in runs.iter_mut().enumerate() {
            run.rewind(session.steps_made(index), session.segments(index))?;
            provenance::note_of_change(&run.folder, &device.caps().name).iter().for_each(|note| say(note));
            provenance::record(&run.folder, &device.caps().name, threads, steps)?;
        }
        Ok((Self { session, runs, debug }, steps))
    }
}
