//! The process of a job.

use crate::json::train::TrainLine;
use crate::outcome::{INTERRUPTED, Stop};
use crate::ranks::launch;
use crate::ranks::message::{Job, JobEnd};
use crate::terminal::signals;
use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Sender;

/// Lines of standard error that are remembered, for the message of a failure.
const REMEMBERED: usize = 40;

/// A thing that happened to the job of this number.
pub(crate) enum JobEvent {
    /// It printed a line of JSON.
    Line(usize, TrainLine),
    /// It said something to people.
    Said(usize, String),
    /// It has closed both streams.
    Ended(usize),
}

/// A job that runs.
pub(crate) struct JobProcess {
    pub(crate) number: usize,
    /// True unless a run was saved before its end.
    pub(crate) finished: bool,
    /// Runs that it has saved at its end.
    pub(crate) saved: usize,
    /// Threads of the CPU that were handed to it since it began.
    pub(crate) handed: usize,
    child: Child,
    input: Option<ChildStdin>,
    heard: VecDeque<String>,
}

impl JobProcess {
    /// Starts this program with the job's arguments.
    pub(crate) fn start(number: usize, job: &Job, events: &Sender<JobEvent>) -> Result<Self, Stop> {
        let cannot = |error: std::io::Error| {
            Stop::failure(format!("cannot start a process for {}: {error}", job.name))
                .hint("free some memory or raise the limit of processes; the same command continues")
        };
        let mut command = Command::new(std::env::current_exe().map_err(cannot)?);
        command.args(&job.arguments).args(["--json", "--follow-input"]);
        // It is no rank, though this process may be one.
        for (name, _) in std::env::vars_os().filter(|(name, _)| launch::is_of_launcher(name)) {
            command.env_remove(name);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl-C of the terminal comes to this process alone, which passes it on.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn().map_err(cannot)?;
        let open = Arc::new(AtomicUsize::new(2));
        if let Some(out) = child.stdout.take() {
            read(out, number, events, &open, move |line| {
                TrainLine::parse(&line).map(|line| JobEvent::Line(number, line))
            });
        }
        if let Some(errors) = child.stderr.take() {
            read(errors, number, events, &open, move |line| Some(JobEvent::Said(number, line)));
        }
        let input = child.stdin.take();
        Ok(Self { number, finished: true, saved: 0, handed: 0, child, input, heard: VecDeque::new() })
    }

    /// Passes a Ctrl-C on.
    pub(crate) fn press(&mut self) {
        self.send(b'c');
    }

    /// Hands over a thread of the CPU.
    pub(crate) fn hand_thread(&mut self) {
        self.handed += 1;
        self.send(signals::THREAD);
    }

    fn send(&mut self, byte: u8) {
        if let Some(input) = &mut self.input {
            // One that has ended meanwhile needs none.
            let _ = input.write_all(&[byte]).and_then(|()| input.flush());
        }
    }

    /// Notes a run that was saved.
    pub(crate) fn note(&mut self, line: &TrainLine) {
        if let TrainLine::Trained { finished, .. } = line {
            self.finished &= finished;
            self.saved += 1;
        }
    }

    /// Remembers a line of standard error.
    pub(crate) fn hear(&mut self, line: String) {
        if self.heard.len() == REMEMBERED {
            self.heard.pop_front();
        }
        self.heard.push_back(line);
    }

    /// Waits for the process, and says how it ended.
    pub(crate) fn end(mut self, job: &Job) -> JobEnd {
        drop(self.input.take());
        let status = self.child.wait().ok();
        match status.and_then(|status| status.code()) {
            Some(0) if self.finished && self.saved >= job.runs => JobEnd::Finished,
            Some(0) => JobEnd::Stopped,
            Some(code) if code == i32::from(INTERRUPTED) => JobEnd::Stopped,
            _ => JobEnd::Failed(self.failure(status)),
        }
    }

    fn failure(&self, status: Option<ExitStatus>) -> Stop {
        let code = status.and_then(|status| status.code());
        let after = |mark: &str| {
            let mut lines = self.heard.iter().rev();
            lines.find_map(|line| line.split_once(mark).filter(|(before, _)| before.is_empty()))
        };
        let message = match (after("error: "), status) {
            (Some((_, message)), _) if code.is_some() => message.to_owned(),
            // `exit status: 101`, `signal: 9 (SIGKILL)`
            (_, Some(status)) => format!("it ended by {status}{}", self.last_words()),
            (_, None) => format!("it ended in an unknown way{}", self.last_words()),
        };
        let hint = after("hint: ").map_or("", |(_, hint)| hint);
        let code = code.and_then(|code| u8::try_from(code).ok()).filter(|code| (1..=3).contains(code)).unwrap_or(1);
        Stop { code, hint: hint.to_owned(), ..Stop::failure(message) }
    }

    /// The last line that tells of an error: most lines are of progress. The Python package looks for the same
    /// (`_ERROR` in `python/quickstudy/_training.py`).
    fn last_words(&self) -> String {
        let is_error = |line: &&String| {
            ["error: ", "fatal", "memory allocation of "].iter().any(|begin| line.starts_with(begin))
                || line.contains("panicked at ")
        };
        self.heard.iter().rfind(is_error).map_or_else(String::new, |line| format!("; it said last: {line}"))
    }
}

impl Drop for JobProcess {
    fn drop(&mut self) {
        // Without its input it stops with a snapshot. Nothing waits for it after an error of this process.
        drop(self.input.take());
    }
}

/// Reads lines on a thread of its own; the second stream to end tells that the job has.
fn read(
    stream: impl Read + Send + 'static,
    number: usize,
    events: &Sender<JobEvent>,
    open: &Arc<AtomicUsize>,
    event: impl Fn(String) -> Option<JobEvent> + Send + 'static,
) {
    let (events, open) = (events.clone(), open.clone());
    std::thread::spawn(move || {
        let mut lines = BufReader::new(stream);
        let mut bytes = Vec::new();
        while lines.read_until(b'\n', &mut bytes).is_ok_and(|read| read > 0) {
            let line = String::from_utf8_lossy(&bytes).trim_end().to_owned();
            bytes.clear();
            if let Some(event) = event(line)
                && events.send(event).is_err()
            {
                break;
            }
        }
        if open.fetch_sub(1, Ordering::SeqCst) == 1 {
            let _ = events.send(JobEvent::Ended(number));
        }
    });
}
