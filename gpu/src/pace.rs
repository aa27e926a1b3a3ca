//! How many dispatches go into one submission: as many as take some 35 ms, by how long earlier ones took. Much longer
//! ones would be killed by watchdogs, hold up a browser's page, and let the host run far ahead.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::clock::now;

/// Seconds that a submission should take: below 50 ms also where a part of a program is slower than the rest.
const AIM: f64 = 0.035;
/// Dispatches per submission before anything is known.
const FIRST: usize = 256;
/// Dispatches per submission at least: a submission costs the host as much as some ten of them.
const LEAST: usize = 16;
/// Dispatches per submission at most.
const MOST: usize = 4096;
/// Seconds: whoever waited for longer has seen the end of a submission, not found it over.
const WAITED: f64 = 200e-6;

/// The next number of dispatches per submission after one of `dispatches` that took `seconds`. Unless its end was
/// `seen` when it came, it may have taken less.
fn adapted(size: usize, dispatches: usize, seconds: f64, seen: bool) -> usize {
    let fits = (dispatches as f64 * AIM / seconds.max(1e-6)) as usize;
    let next = if fits >= size {
        fits.min(2 * size)
    } else if seen {
        fits
    } else {
        size
    };
    next.clamp(LEAST, MOST)
}

/// Dispatches per submission of a program.
#[derive(Clone, Debug)]
pub(crate) struct Pace(Arc<AtomicUsize>);

impl Default for Pace {
    fn default() -> Self {
        Pace(Arc::new(AtomicUsize::new(FIRST)))
    }
}

impl Pace {
    /// Dispatches per submission.
    pub fn size(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// A submission on its way.
#[derive(Debug)]
pub(crate) struct Load {
    pace: Pace,
    dispatches: usize,
    /// When it went off.
    from: f64,
    /// Seconds that this took.
    held: f64,
}

impl Load {
    /// Describes dispatches that went off at `from`, for which the host was held up for `held` seconds.
    pub fn new(pace: &Pace, dispatches: usize, from: f64, held: f64) -> Load {
        Load { pace: pace.clone(), dispatches, from, held }
    }
}

/// Times submissions: they run one after the other, each from when it is submitted and the one before is done.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stopwatch(Arc<Mutex<f64>>);

impl Stopwatch {
    /// A submission is done now; it may have been for a while unless somebody waited for it, for so many seconds.
    pub fn done(&self, load: Option<&Load>, waited: f64) {
        let now = now();
        let Ok(mut last) = self.0.lock() else { return };
        if let Some(load) = load {
            let seconds = now - load.from.max(*last);
            let size = adapted(load.pace.size(), load.dispatches, seconds, waited.max(load.held) > WAITED);
            load.pace.0.store(size, Ordering::Relaxed);
        }
        *last = now;
    }
}

#[cfg(test)]
mod tests {
    use super::{FIRST, LEAST, MOST, adapted};

    /// Sizes after some submissions on a device that takes so many seconds per dispatch.
    fn settled(mut size: usize, each: f64) -> usize {
        for _ in 0..12 {
            size = adapted(size, size, size as f64 * each, true);
        }
        size
    }

    #[test]
    fn submissions_settle_below_50_ms() {
        for each in [1e-6, 9e-6, 30e-6, 100e-6, 1e-3] {
            let size = settled(FIRST, each);
            let seconds = size as f64 * each;
            assert!(seconds <= 0.05, "{size} dispatches of {each} s");
            assert!(seconds > 0.03 || size == MOST, "{size} dispatches of {each} s");
        }
        assert_eq!(settled(FIRST, 1e-6), MOST);
        // Nothing shorter is worth a submission.
        assert_eq!(settled(FIRST, 1.0), LEAST);
        assert_eq!(settled(FIRST, 0.0), MOST);
    }

    #[test]
    fn a_device_that_slows_down_gets_less_at_once_and_one_that_speeds_up_gets_more_by_and_by() {
        assert_eq!(adapted(4096, 4096, 1.0, true), 143);
        assert_eq!(adapted(256, 256, 1e-3, true), 512);
        // A short program tells what a long submission would take.
        assert_eq!(adapted(256, 10, 0.05, true), LEAST);
        assert_eq!(adapted(256, 10, 0.005, true), 70);
    }

    #[test]
    fn what_is_found_done_late_does_not_count_as_slow() {
        assert_eq!(adapted(256, 256, 10.0, false), 256);
        assert_eq!(adapted(256, 256, 0.01, false), 512);
    }
}
