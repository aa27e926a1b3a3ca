//! A process of Python with environments.

use std::io::{ErrorKind, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;
use quickstudy_core::host::FaultKind;

use crate::failure::{Failure, Raised};
use crate::group::Group;
use crate::interpreter::Interpreter;
use crate::message::{HEAD, kind};
use crate::name::Options;
use crate::standard_error::StandardError;

/// The worker's program.
const SOURCE: &str = concat!(
    include_str!("python/pipes.py"),
    include_str!("python/batch.py"),
    include_str!("python/observation.py"),
    include_str!("python/gymnasium_source.py"),
    include_str!("python/metaworld_source.py"),
    include_str!("python/loop.py"),
);

/// The program in Python's arguments, which takes so many bytes of its input for the worker's program. So modules are
/// looked for in the user's folder first, and no file is needed. A buffer of one byte takes none that belongs to a
/// message.
const LOADER: &str = "import io, sys; \
    exec(io.BufferedReader(io.FileIO(0, closefd=False), 1).read(int(sys.argv[1])))  # A worker of quickstudy";

/// Libraries of Python that would start a thread per core in each worker.
const SINGLE: [&str; 3] = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"];

/// Time between two looks whether a silent worker still lives: a child that it left behind may keep its pipe open.
const LOOK: Duration = Duration::from_millis(200);
/// Time for which a worker that is silent in a step or a reset is waited for when a stop was asked for, or twice the
/// longest that it has taken for one.
const HURRY: Duration = Duration::from_secs(3);
/// Time in which a process that has closed its pipe ends.
const ENDING: Duration = Duration::from_secs(2);
/// Time in which a worker closes its environments.
const CLOSING: Duration = Duration::from_secs(1);
/// Time in which it does so when this program has ended, until it is killed.
const LEFT_BEHIND: Duration = Duration::from_secs(2);
/// Bytes of an exception's text and traceback at most, and of anything else that is as short.
const LONGEST_ERROR: usize = 1 << 17;
/// Lines of a worker's prints that an error quotes.
const QUOTED: usize = 8;

/// A process with environments. It ends with all of its children when this is dropped, and when this program ends.
#[derive(Debug)]
pub(crate) struct Worker {
    group: Group,
    /// The pipe of messages; none once it is closed.
    to: Option<ChildStdin>,
    from: ChildStdout,
    said: StandardError,
    /// The last answer.
    answer: Vec<u8>,
    /// True when it has failed: it is not asked to end, but killed.
    broken: bool,
    /// True while it waits in a pool.
    pub idle: bool,
    patience: Patience,
}

/// How long a worker is waited for.
#[derive(Clone, Copy, Debug)]
struct Patience {
    /// Tells whether waiting is to stop.
    stop: fn() -> bool,
    /// Tells whether it is to stop unless the worker answers soon.
    hurry: fn() -> bool,
    /// When the last message was sent; none where its answer may have been there long before anybody looked.
    sent: Option<Instant>,
    /// The longest that an answer to a step or a reset has taken.
    slowest: Duration,
}

impl Patience {
    /// The patience with a worker that is in no step. It may import what takes long, and an iteration that did not wait
    /// for it would be lost; a time limit ends it, and a stop.
    fn unhurried(self) -> Patience {
        Patience { hurry: || false, ..self }
    }
}

/// How an answer went wrong.
#[derive(Clone, Debug)]
pub(crate) enum Wrong {
    /// The worker lives, and tells of an exception.
    Raised(Box<Raised>),
    /// The worker is of no use any more.
    Failed(Failure),
}

impl From<Failure> for Wrong {
    fn from(failure: Failure) -> Wrong {
        Wrong::Failed(failure)
    }
}

impl From<Wrong> for Failure {
    fn from(wrong: Wrong) -> Failure {
        match wrong {
            Wrong::Raised(raised) => raised.failure(),
            Wrong::Failed(failure) => failure,
        }
    }
}

impl Worker {
    /// Starts a process, which takes its program within the time limit.
    pub fn start(interpreter: &Interpreter, options: &Options, limit: Duration) -> Result<Worker, Failure> {
        let failed = |what: &str, error: &dyn std::fmt::Display| {
            let problem = format!("{} ({}) {what}: {error}", interpreter.path.display(), interpreter.found);
            Failure::new(FaultKind::Died, problem)
        };
        let mut command = Command::new(&interpreter.path);
        // The last argument is for people, who see in a list of processes whose worker it is.
        command.args(["-u", "-c", LOADER, &SOURCE.len().to_string(), &std::process::id().to_string()]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        SINGLE.iter().filter(|name| std::env::var_os(name).is_none()).for_each(|name| {
            command.env(name, "1");
        });
        let mut group = Group::start(&mut command, LEFT_BEHIND).map_err(|error| failed("cannot be started", &error))?;
        let pipes = (group.child.stdin.take(), group.child.stdout.take(), group.child.stderr.take());
        let (Some(to), Some(from), Some(prints)) = pipes else {
            return Err(failed("has no pipes", &"they were asked for"));
        };
        // A stopped worker takes no more than its pipe holds, and a write must not wait for it without an end.
        let set = fcntl(to.as_fd(), FcntlArg::F_SETFL(OFlag::O_NONBLOCK));
        let (said, answer) = (StandardError::watch(prints), vec![0; 1 << 16]);
        let patience = Patience { stop: options.stop, hurry: options.hurry, sent: None, slowest: Duration::ZERO };
        let mut worker = Worker { group, to: Some(to), from, said, answer, broken: false, idle: false, patience };
        set.map_err(|error| failed("has a pipe that cannot be set", &error))?;
        worker.send(SOURCE.as_bytes(), limit)?;
        Ok(worker)
    }

    /// Tells whether the process has not ended.
    pub fn lives(&mut self) -> bool {
        self.group.lives()
    }

    /// The lines that it and its environments print.
    pub fn said(&self) -> &StandardError {
        &self.said
    }

    /// Sends a message.
    pub fn send(&mut self, message: &[u8], limit: Duration) -> Result<(), Failure> {
        self.patience.sent = Some(Instant::now());
        self.sent(message, limit).inspect_err(|_| self.broken = true)
    }

    fn sent(&mut self, mut message: &[u8], limit: Duration) -> Result<(), Failure> {
        let until = Instant::now() + limit;
        while !message.is_empty() {
            let Some(to) = &mut self.to else { return Err(self.ended()) };
            match to.write(message) {
                Ok(count) => message = &message[count..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let patience = self.patience.unhurried();
                    wait(&mut self.group.child, to.as_fd(), PollFlags::POLLOUT, (until, limit), patience)
                        .map_err(|failure| quoting(&self.said, failure))?;
                }
                Err(_) => return Err(self.ended()),
            }
        }
        Ok(())
    }

    /// Leaves the time that its answer takes out of account, as other things are waited for first.
    pub fn leave_untimed(&mut self) {
        self.patience.sent = None;
    }

    /// Waits for the answer, which must be of kind `wanted` and have at most `most` bytes.
    pub fn receive(&mut self, wanted: u8, most: usize, limit: Duration) -> Result<&[u8], Wrong> {
        let taken = self.received(wanted, most, limit);
        if wanted == kind::OUTCOME
            && let Some(sent) = self.patience.sent
        {
            self.patience.slowest = self.patience.slowest.max(sent.elapsed());
        }
        self.broken |= matches!(taken, Err(Wrong::Failed(_)));
        taken.map(|length| &self.answer[..length])
    }

    fn received(&mut self, wanted: u8, most: usize, limit: Duration) -> Result<usize, Wrong> {
        let until = Instant::now() + limit;
        let patience = if wanted == kind::OUTCOME { self.patience } else { self.patience.unhurried() };
        let (mut got, mut end) = (0, HEAD);
        while got < end {
            wait(&mut self.group.child, self.from.as_fd(), PollFlags::POLLIN, (until, limit), patience)
                .map_err(|failure| quoting(&self.said, failure))?;
            match self.from.read(&mut self.answer[got..]) {
                Ok(0) => return Err(self.ended().into()),
                Ok(count) => got += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Err(self.ended().into()),
            }
            if let Some(length) = self.answer[..got].first_chunk() {
                end = 4 + u32::from_le_bytes(*length) as usize;
                if end < HEAD || end > most.max(LONGEST_ERROR) {
                    return Err(Failure::garbled(&format!("a message of {end} bytes")).into());
                }
                if self.answer.len() < end {
                    self.answer.resize(end, 0);
                }
            }
        }
        let message = &self.answer[..end];
        match message[4] {
            _ if got > end => Err(Failure::garbled("more than it was asked for").into()),
            found if found == wanted => Ok(end),
            kind::ERROR => match serde_json::from_slice(&message[HEAD..]) {
                Ok(raised) => Err(Wrong::Raised(Box::new(raised))),
                Err(_) => Err(Failure::garbled("an error that cannot be read").into()),
            },
            found => Err(Failure::garbled(&format!("a message of kind {found}")).into()),
        }
    }

    /// The failure of a process that has closed its pipe: how it ended, and what it printed last.
    fn ended(&mut self) -> Failure {
        let until = Instant::now() + ENDING;
        while self.lives() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(2));
        }
        let failure = match self.group.child.try_wait() {
            Ok(Some(status)) => died(status),
            _ => Failure::new(FaultKind::Died, "the process closed its pipe"),
        };
        // Its last words may still be on the way.
        std::thread::sleep(Duration::from_millis(20));
        quoting(&self.said, failure)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // At the end of its messages it closes its environments.
        drop(self.to.take());
        let until = Instant::now() + CLOSING;
        while !self.broken && self.lives() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(2));
        }
        // The whole group is killed with its field, as environments may have started processes.
    }
}

/// Waits until a pipe is ready, the process has ended, or the time is over. After a pause of this whole process, an
/// answer that is there counts, however late it is.
fn wait(
    child: &mut Child,
    pipe: BorrowedFd,
    ready: PollFlags,
    (until, limit): (Instant, Duration),
    Patience { stop, hurry, slowest, .. }: Patience,
) -> Result<(), Failure> {
    let mut asked: Option<Instant> = None;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let timeout = PollTimeout::try_from(left.min(LOOK)).unwrap_or(PollTimeout::ZERO);
        match poll(&mut [PollFd::new(pipe, ready)], timeout) {
            Ok(0) if left.is_zero() => {
                return Err(Failure::new(FaultKind::Hung, format!("took longer than {limit:?}")));
            }
            Ok(0) if stop() => return Err(Failure::stopped()),
            Ok(0) => {
                if hurry() && asked.get_or_insert_with(Instant::now).elapsed() > HURRY.max(2 * slowest) {
                    return Err(Failure::stopped());
                }
                if let Ok(Some(status)) = child.try_wait() {
                    return Err(died(status));
                }
            }
            Ok(_) => return Ok(()),
            Err(Errno::EINTR) => {}
            Err(error) => return Err(Failure::new(FaultKind::Died, format!("its pipe failed: {error}"))),
        }
    }
}

/// How a process ended.
fn died(status: ExitStatus) -> Failure {
    let how = match (status.code(), status.signal()) {
        (Some(code), _) => format!("the process ended with exit code {code}"),
        (_, Some(number)) => {
            let name = Signal::try_from(number).map_or_else(|_| number.to_string(), |signal| signal.to_string());
            format!("the process was ended by {name}")
        }
        _ => "the process ended".to_owned(),
    };
    Failure::new(FaultKind::Died, how)
}

/// A failure, with the last lines that the process printed.
fn quoting(said: &StandardError, failure: Failure) -> Failure {
    let last = said.last(QUOTED);
    if last.is_empty() {
        return failure;
    }
    Failure { problem: format!("{}; it printed last: {}", failure.problem, last.join(" | ")), ..failure }
}
