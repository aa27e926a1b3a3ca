//! A short program that is run to its end, within a time limit.

use std::io::Result;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// Runs a command without input, and ends all that it has started; none if it takes longer than `limit`.
#[cfg(unix)]
pub(crate) fn run(command: &mut Command, limit: Duration) -> Result<Option<Output>> {
    use std::sync::mpsc::{RecvTimeoutError, channel};
    use std::time::Instant;

    /// Time between two looks whether it has ended.
    const LOOK: Duration = Duration::from_millis(2);
    /// Time in which what was printed is read to its end: a child that has left the group may keep the pipe open.
    const READING: Duration = Duration::from_millis(500);

    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut group = crate::group::Group::start(command, Duration::ZERO)?;
    let (sender, printed) = channel();
    let pipes = (group.child.stdout.take(), group.child.stderr.take());
    pipes.0.into_iter().for_each(|out| read(out, false, &sender));
    pipes.1.into_iter().for_each(|errors| read(errors, true, &sender));
    drop(sender);
    let until = Instant::now() + limit;
    let status = loop {
        match group.child.try_wait()? {
            Some(status) => break status,
            None if Instant::now() >= until => return Ok(None),
            None => std::thread::sleep(LOOK),
        }
    };
    drop(group);
    let until = Instant::now() + READING;
    let mut output = Output { status, stdout: Vec::new(), stderr: Vec::new() };
    loop {
        match printed.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok((false, bytes)) => output.stdout = bytes,
            Ok((true, bytes)) => output.stderr = bytes,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return Ok(Some(output)),
        }
    }
}

/// Reads a pipe on a thread of its own: unread it fills, and what prints into it waits.
#[cfg(unix)]
fn read(pipe: impl std::io::Read + Send + 'static, is_errors: bool, sender: &std::sync::mpsc::Sender<(bool, Vec<u8>)>) {
    /// Bytes that are kept; whoever prints more is no interpreter, and gets a closed pipe.
    const LONGEST: u64 = 1 << 20;
    let sender = sender.clone();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = std::io::Read::read_to_end(&mut pipe.take(LONGEST), &mut bytes);
        // Nobody may wait for it any more.
        let _ = sender.send((is_errors, bytes));
    });
}

/// Runs a command without input to its end.
#[cfg(not(unix))]
pub(crate) fn run(command: &mut Command, _limit: Duration) -> Result<Option<Output>> {
    command.stdin(Stdio::null()).output().map(Some)
}
