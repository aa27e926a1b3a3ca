//! The process's current activity, for Ctrl-C to name and for the lines which say that long work goes on.

use crate::text::numbers::{duration, grouped};
use quickstudy_core::backend::{Interrupt, Reached};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A piece of work that takes time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// Reading, planning and drawing first parameters. Nothing has been written.
    SettingUp,
    /// Showing a run that another process makes. Nothing is written.
    Watching,
    /// Writing files.
    Saving,
    /// The iteration that begins after so many environment steps.
    Iteration(u64),
    /// The evaluation after so many environment steps.
    Evaluation(u64),
    /// Processes that train.
    Jobs,
}

impl Work {
    /// In words: `the iteration from step 8 192 on`.
    pub(crate) fn name(self) -> String {
        match self {
            Work::SettingUp => "setting up".to_owned(),
            Work::Watching => "watching".to_owned(),
            Work::Saving => "writing files".to_owned(),
            Work::Iteration(steps) => format!("the iteration from step {} on", grouped(steps)),
            Work::Evaluation(steps) => format!("the evaluation at step {}", grouped(steps)),
            Work::Jobs => "the iterations that run".to_owned(),
        }
    }
}

/// The work of the moment, and how to ask it to stop.
#[derive(Debug)]
pub(crate) struct Now {
    /// The work that is being done.
    pub work: Work,
    since: Option<Instant>,
    set_up: Duration,
    interrupts: Vec<Interrupt>,
    /// A stop within the work was asked for.
    stopped: bool,
}

static NOW: Mutex<Now> = Mutex::new(Now {
    work: Work::SettingUp,
    since: None,
    set_up: Duration::ZERO,
    interrupts: Vec::new(),
    stopped: false,
});

/// The work of the moment. It does not change as long as the guard is kept.
pub(crate) fn now() -> MutexGuard<'static, Now> {
    NOW.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notes that other work begins.
pub(crate) fn begin(work: Work) {
    let mut now = now();
    if now.work == Work::SettingUp && work != Work::SettingUp {
        now.set_up = now.elapsed();
    }
    (now.work, now.since) = (work, Some(Instant::now()));
}

/// How long it took to set up what runs.
pub(crate) fn time_to_set_up() -> Duration {
    now().set_up
}

/// Work on a device is stopped by [`Now::stop`] from here on.
pub(crate) fn watch(interrupt: Interrupt) {
    let mut now = now();
    if now.stopped {
        interrupt.ask();
    }
    // Of a device that was lost nothing runs any more.
    now.interrupts = vec![interrupt];
}

impl Now {
    /// How long it has taken.
    pub(crate) fn elapsed(&self) -> Duration {
        self.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Asks programs to stop in their middle.
    pub(crate) fn stop(&mut self) {
        self.stopped = true;
        self.interrupts.iter().for_each(Interrupt::ask);
    }

    /// In words: `the iteration from step 8 192 on: 0:42, part 3 of 9, step 12 of 40`.
    pub(crate) fn describe(&self) -> String {
        let runs = matches!(self.work, Work::Iteration(_) | Work::Evaluation(_));
        let reached = self.interrupts.first().filter(|_| runs).map(Interrupt::reached).unwrap_or_default();
        format!("{}: {}{}", self.work.name(), duration(self.elapsed().as_secs_f64()), of_program(reached))
    }
}

fn of_program(reached: Reached) -> String {
    let Reached { part, parts, step, steps } = reached;
    let mut text = String::new();
    if parts > 1 {
        text += &format!(", part {part} of {parts}");
    }
    if steps > 1 {
        text += &format!(", step {} of {}", grouped(step as u64 + 1), grouped(steps as u64));
    } else if step > 0 {
        text += &format!(", {} dispatches", grouped(step as u64));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_described_with_what_is_known() {
        let text = |part, parts, step, steps| of_program(Reached { part, parts, step, steps });
        assert_eq!(text(3, 9, 11, 1200), ", part 3 of 9, step 12 of 1 200");
        assert_eq!(text(1, 1, 4096, 0), ", 4 096 dispatches");
        assert_eq!(text(0, 0, 0, 0), "");
        assert_eq!(Work::Iteration(8192).name(), "the iteration from step 8 192 on");
    }
}
