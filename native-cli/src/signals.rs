//! Ctrl-C: the first asks for a clean stop, the second ends the process at once.

use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);

/// Installs the handler (SIGINT, SIGTERM and SIGHUP; console events on Windows). A second call changes nothing.
///
/// The handler itself only sets a flag: snapshots are never written from within it.
pub fn install() {
    let result = ctrlc::set_handler(|| {
        if ASKED.swap(true, Ordering::SeqCst) {
            // 128 + SIGINT, what shells report for an interrupted command.
            std::process::exit(130);
        }
        let _ = std::io::Write::write_all(
            &mut std::io::stderr(),
            b"\nstopping after this iteration; press Ctrl-C again to abort without saving\n",
        );
    });
    // Without a handler Ctrl-C ends the process at once, and the last snapshot is still there.
    if let Err(error) = result
        && !matches!(error, ctrlc::Error::MultipleHandlers)
    {
        let _ = std::io::Write::write_fmt(
            &mut std::io::stderr(),
            format_args!("warning: Ctrl-C will stop without saving: {error}\n"),
        );
    }
}

/// Whether a stop was asked for.
#[must_use]
pub fn stop_asked() -> bool {
    ASKED.load(Ordering::SeqCst)
}
