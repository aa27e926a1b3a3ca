//! Ranks that hang are noticed: each tells the next one, time and again, that it is there.
//!
//! A launcher ends all ranks when one of them dies. One that was stopped, or waits for a disk that does not answer,
//! would keep all others waiting.

use crate::outcome::tell;
use crate::text::one_line;
use ::mpi::topology::SimpleCommunicator;
use ::mpi::traits::{Communicator as _, Destination as _, Source as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// The tag of heartbeats.
const BEAT: i32 = 2;
/// The time between two looks.
const LOOK: Duration = Duration::from_millis(100);
/// A rank says that it is there after so many looks.
const BEATS: u32 = 5;
/// A rank is gone after so many looks without a word. Looks are counted and not time, as all ranks may have been
/// stopped together.
const GONE: u32 = 70;

/// A thread that says that this rank is there, and listens to the one before it.
#[derive(Debug)]
pub(crate) struct Heartbeat {
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Heartbeat {
    /// Begins, as rank `rank` of `count`.
    pub(crate) fn begin(rank: usize, count: usize) -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let asked = ends.clone();
        let [next, before] = [(rank + 1) % count, (rank + count - 1) % count];
        let thread = std::thread::Builder::new().name("heartbeat".to_owned()).spawn(move || beat(next, before, &asked));
        Self { ends, thread: thread.ok() }
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn beat(next: usize, before: usize, ends: &AtomicBool) {
    let world = SimpleCommunicator::world();
    let process = |rank: usize| world.process_at_rank(i32::try_from(rank).unwrap_or(0));
    let (next, from) = (process(next), process(before));
    let (mut looks, mut silent) = (0, 0);
    while !ends.load(Ordering::SeqCst) {
        if looks % BEATS == 0 {
            next.send_with_tag(&[0u8][..], BEAT);
        }
        silent += 1;
        while let Some((message, _)) = from.immediate_matched_probe_with_tag(BEAT) {
            message.matched_receive_into(&mut [0u8][..]);
            silent = 0;
        }
        if silent > GONE {
            let seconds = LOOK.as_secs_f64() * f64::from(GONE);
            let text = format!("error: rank {before} has not answered for {seconds:.0} s; all ranks end");
            tell(&one_line(&text));
            world.abort(1);
        }
        looks += 1;
        std::thread::sleep(LOOK);
    }
}
