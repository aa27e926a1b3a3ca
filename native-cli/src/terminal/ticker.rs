//! Lines that say that long work goes on.

use crate::machine::memory;
use crate::terminal::activity::{self, Work};
use crate::terminal::output::say;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Between looks at the work.
const LOOK: Duration = Duration::from_secs(1);
/// Work that has taken less is not talked about on a terminal.
const LONG: Duration = Duration::from_secs(2);
/// The longest silence without a terminal.
pub(crate) const SILENCE: Duration = Duration::from_secs(30);
/// The longest silence before training, where a user wants to know whether anything happens at all.
const SETTING_UP: Duration = Duration::from_secs(2);

/// Where to show what goes on; gets the text.
type Show = Box<dyn Fn(&str) + Send>;

/// A thread that looks at the work from time to time, until this is dropped.
#[derive(Debug)]
pub(crate) struct Ticker {
    stop: Arc<(Mutex<bool>, Condvar)>,
    /// Milliseconds from `start` to the last line.
    spoke: Arc<AtomicU64>,
    start: Instant,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    /// Shows long work on a terminal by `show`, otherwise in a line after each half minute of silence.
    pub(crate) fn new(show: Option<Show>) -> Self {
        let (stop, spoke, start) =
            (Arc::new((Mutex::new(false), Condvar::new())), Arc::new(AtomicU64::new(0)), Instant::now());
        let (ends, last) = (stop.clone(), spoke.clone());
        let look = move || {
            let (ended, wake) = &*ends;
            let mut ended = ended.lock().unwrap_or_else(PoisonError::into_inner);
            while !*ended {
                ended = wake.wait_timeout(ended, LOOK).unwrap_or_else(PoisonError::into_inner).0;
                if *ended {
                    break;
                }
                let now = activity::now();
                let silence = start.elapsed().saturating_sub(Duration::from_millis(last.load(Ordering::Relaxed)));
                let first = now.work == Work::SettingUp && last.load(Ordering::Relaxed) == 0;
                match &show {
                    Some(show) if now.elapsed() >= LONG => show(&now.describe()),
                    Some(_) => {}
                    None if silence >= (if first { SETTING_UP } else { SILENCE }) => {
                        say(&now.describe());
                        last.store(start.elapsed().as_millis() as u64, Ordering::Relaxed);
                    }
                    None => {}
                }
            }
        };
        // Without a thread, long work is silent as it was.
        let start_thread = || std::thread::Builder::new().name("ticker".to_owned()).spawn(look).ok();
        let thread = if memory::is_short() { None } else { start_thread() };
        Self { stop, spoke, start, thread }
    }

    /// Notes that something was shown.
    pub(crate) fn spoke(&self) {
        self.spoke.store(self.start.elapsed().as_millis() as u64, Ordering::Relaxed);
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        *self.stop.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.stop.1.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
