//! How a connection is closed, so that whoever asked can still read the answer.

use std::io::{ErrorKind, Read};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// Time in which the other side reads the answer and closes.
const LINGER: Duration = Duration::from_secs(1);
/// Bytes that are still taken from it at most.
const UNREAD: usize = 256 << 10;

/// When a connection that has its answer now is closed at the latest.
pub(super) fn deadline() -> Instant {
    Instant::now() + LINGER
}

/// Closes a connection that has its answer: says that no more comes, and reads what the other side still sends until it
/// closes or the time is up. A socket that is closed with bytes of a request unread is *reset*, and the answer is lost.
pub(super) fn close(mut stream: TcpStream, until: Instant) {
    let _ = stream.shutdown(Shutdown::Write);
    let mut piece = [0; 4096];
    let mut unread = UNREAD;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        // A timeout of nothing would be none at all: what has arrived is read all the same.
        let wait = left.max(Duration::from_millis(1));
        if stream.set_read_timeout(Some(wait)).is_err() {
            return;
        }
        match stream.read(&mut piece) {
            Ok(0) => return,
            Ok(n) if n < unread => unread -= n,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            _ => return,
        }
    }
}
