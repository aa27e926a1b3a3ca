//! Ctrl-C: the first asks for a stop after what runs, the second for one within it, the third ends the process at once.
//!
//! Before training there is nothing to wait for, and the first ends the process.

use crate::outcome::{INTERRUPTED, tell};
use crate::terminal::activity::{self, Work};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

static PRESSED: AtomicUsize = AtomicUsize::new(0);
/// When a stop was asked for first.
static SINCE: OnceLock<Instant> = OnceLock::new();

/// Installs the handler (SIGINT, SIGTERM and SIGHUP; console events on Windows). A second call changes nothing.
///
/// The handler itself only sets flags and says what is waited for: snapshots are never written from within it.
pub(crate) fn install() {
    // Without a handler Ctrl-C ends the process at once, and the last snapshot is still there.
    if let Err(error) = ctrlc::set_handler(pressed)
        && !matches!(error, ctrlc::Error::MultipleHandlers)
    {
        tell(&format!("warning: Ctrl-C will stop without saving: {error}"));
    }
}

/// Takes no notice of Ctrl-C, which is for another process to decide on.
pub(crate) fn ignore() {
    // Without a handler it ends this process, and with it the others.
    let _ = ctrlc::set_handler(|| {});
}

/// Makes writing beyond `ulimit -f` an error of the file instead of the end of the process, for this thread and those
/// that it starts.
#[cfg(unix)]
pub(crate) fn hold_file_size() {
    use nix::sys::signal::{SigSet, Signal};
    let mut held = SigSet::empty();
    held.add(Signal::SIGXFSZ);
    // Where it fails, the process ends as it would have.
    let _ = held.thread_block();
}

/// Nothing: elsewhere there is no such limit.
#[cfg(not(unix))]
pub fn hold_file_size() {}

/// Handles Ctrl-C, on a thread of its own.
fn pressed() {
    let times = PRESSED.fetch_add(1, Ordering::SeqCst);
    if times > 1 {
        end();
    }
    SINCE.get_or_init(Instant::now);
    let mut now = activity::now();
    match (times, now.work) {
        // While the guard is kept, no work begins that could write something.
        (0, Work::SettingUp) => {
            tell("\nstopped while setting up: nothing was trained");
            end();
        }
        // Whoever watches changes nothing, so that there is nothing to save.
        (_, Work::Watching) => {
            tell("\nstopped watching; the run itself is untouched");
            std::process::exit(0);
        }
        // They began at different times, and none of them when this work did.
        (0, Work::Jobs) => tell(
            "\nstopping: waiting for the iterations that run and for their snapshots; press Ctrl-C again to stop \
             within them and go back to the last snapshots",
        ),
        (0, work) => tell(&format!(
            "\nstopping: waiting for {}, which has taken {:.0} s so far, and for its snapshot; press Ctrl-C again to \
             stop within it and go back to the last snapshot",
            work.name(),
            now.elapsed().as_secs_f64(),
        )),
        (_, work) => {
            now.stop();
            let waited = waited().as_secs_f64();
            tell(&format!(
                "\nstopping within {}, {waited:.0} s after the first Ctrl-C; press Ctrl-C again to end at once",
                work.name()
            ));
        }
    }
}

/// Times after the end of standard input that count as a further Ctrl-C each: nobody is there to press it.
const FURTHER: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(30)];

/// The byte of standard input that hands over a thread.
pub(crate) const THREAD: u8 = b'+';
/// Threads of the CPU that were handed to this process since it began.
static HANDED: AtomicUsize = AtomicUsize::new(0);

/// Threads of the CPU that the program which started this one has handed over since then.
pub(crate) fn handed_threads() -> usize {
    HANDED.load(Ordering::SeqCst)
}

/// Takes each byte of standard input as a Ctrl-C, but [`THREAD`] as a further thread of the CPU, and the end as a
/// Ctrl-C too: another program stops this one by it, and this one stops when that one has ended, however it did.
pub(crate) fn follow_input() {
    std::thread::spawn(|| {
        let mut input = std::io::stdin().lock();
        let mut byte = [0];
        while std::io::Read::read(&mut input, &mut byte).is_ok_and(|read| read > 0) {
            match byte[0] {
                THREAD => drop(HANDED.fetch_add(1, Ordering::SeqCst)),
                _ => pressed(),
            }
        }
        pressed();
        for pause in FURTHER {
            std::thread::sleep(pause);
            pressed();
        }
    });
}

fn end() -> ! {
    std::process::exit(i32::from(INTERRUPTED))
}

/// Tells whether a stop within what runs was asked for.
pub(crate) fn stop_within_asked() -> bool {
    PRESSED.load(Ordering::SeqCst) > 1
}

/// How long ago a stop was asked for first; zero where none was.
pub(crate) fn waited() -> Duration {
    SINCE.get().map_or(Duration::ZERO, Instant::elapsed)
}

/// The number of times that a stop was asked for.
pub(crate) fn presses() -> usize {
    PRESSED.load(Ordering::SeqCst)
}

/// Tells whether a stop was asked for.
pub(crate) fn stop_asked() -> bool {
    PRESSED.load(Ordering::SeqCst) > 0
}
