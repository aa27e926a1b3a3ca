//! The lines that a worker and its environments print.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read};
use std::process::ChildStderr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Lines that are kept for an error.
const KEPT: usize = 64;
/// Lines of one worker that are shown while it works.
const SHOWN: usize = 20;
/// Bytes of a line that are kept.
const LONGEST: usize = 500;

/// The lines that a worker has printed last. A thread reads them as they come, as a full pipe would stop the worker.
#[derive(Debug, Default)]
struct Lines {
    last: VecDeque<String>,
    /// Lines that nobody has been shown.
    fresh: Vec<String>,
    /// The number of different lines so far.
    different: usize,
}

/// A worker's standard error.
#[derive(Clone, Debug)]
pub(crate) struct StandardError(Arc<Mutex<Lines>>);

impl StandardError {
    /// Reads until the worker and all its children have closed it.
    pub fn watch(pipe: ChildStderr) -> StandardError {
        let watched = StandardError(Arc::default());
        let of_thread = watched.clone();
        // Without a thread the worker's prints fill the pipe, and the time limit ends it.
        let _ = thread::Builder::new().name("prints of Python".to_owned()).spawn(move || of_thread.read(pipe));
        watched
    }

    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self, pipe: ChildStderr) {
        let mut pipe = BufReader::new(pipe);
        let mut line = Vec::new();
        loop {
            line.clear();
            match (&mut pipe).take(LONGEST as u64).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) => self.lines().add(&String::from_utf8_lossy(&line)),
            }
        }
    }

    /// Takes the lines that were not shown yet, each once.
    pub fn take_fresh(&self) -> Vec<String> {
        std::mem::take(&mut self.lines().fresh)
    }

    /// The last lines, `count` of them at most.
    pub fn last(&self, count: usize) -> Vec<String> {
        let lines = self.lines();
        lines.last.iter().skip(lines.last.len().saturating_sub(count)).cloned().collect()
    }
}

impl Lines {
    /// Notes a line, unless it is among the last ones.
    fn add(&mut self, line: &str) {
        let line = plain(line);
        if line.is_empty() || self.last.contains(&line) {
            return;
        }
        self.different += 1;
        match self.different {
            shown if shown <= SHOWN => self.fresh.push(line.clone()),
            shown if shown == SHOWN + 1 => self.fresh.push("… further lines are not shown".to_owned()),
            _ => {}
        }
        if self.last.len() == KEPT {
            self.last.pop_front();
        }
        self.last.push_back(line);
    }
}

/// A line without colours, which Gymnasium sends to whatever reads.
fn plain(line: &str) -> String {
    let mut parts = line.trim_end().split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |mut all, part| {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        all.push_str(rest.strip_prefix('m').unwrap_or(rest));
        all
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_lines_are_kept_once_and_many_are_cut() {
        let mut lines = Lines::default();
        for _ in 0..3 {
            lines.add("\u{1b}[33mwarning\u{1b}[0m\n");
        }
        assert_eq!((&lines.last[0][..], lines.last.len(), lines.fresh.len()), ("warning", 1, 1));
        (0..100).for_each(|i| lines.add(&format!("line {i}")));
        assert_eq!((lines.last.len(), lines.fresh.len()), (KEPT, SHOWN + 1));
        assert_eq!(lines.last.back().unwrap(), "line 99");
        assert!(lines.fresh[SHOWN].contains("not shown"));
    }
}
