//! Trainings as processes of this program, several at once: `train` with several algorithms or environments, and
//! `sweep`.
//!
//! A process of its own keeps the failure of one training from the others. Each prints lines of JSON
//! ([`TrainLine`](crate::json::train::TrainLine)), and stops with a snapshot when its standard input ends: however this
//! process ends, nothing goes on without it, and nothing is lost.

mod board;
mod process;
mod remote;

use crate::outcome::{INTERRUPTED, Stop};
use crate::ranks::job::{Job, JobEnd};
use crate::ranks::message::JobReport;
use crate::studies::jobs::remote::Remote;
use crate::terminal::activity::{self, Work};
use crate::terminal::signals;
pub(crate) use board::Board;
pub(crate) use process::{JobEvent, JobProcess};
use std::collections::VecDeque;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Looks at signals this often.
const LOOK: Duration = Duration::from_millis(50);

/// Runs the jobs in order, `at_once` at a time on each rank, and returns how each ended. A job that fails does not keep
/// the others from going on; Ctrl-C stops all. Of so many `threads` of the CPU each job has begun with its share; those
/// of jobs that ended, once none waits, are handed to those that go on.
pub(crate) fn run(jobs: &[Job], at_once: usize, threads: usize, board: &mut Board) -> Result<Vec<JobEnd>, Stop> {
    activity::begin(Work::Jobs);
    let mut ends: Vec<Option<JobEnd>> = jobs.iter().map(|_| None).collect();
    let mut waiting: VecDeque<usize> = (0..jobs.len()).collect();
    let mut running: Vec<JobProcess> = Vec::new();
    let mut remote = Remote::new();
    let (sender, events) = channel();
    let mut presses = 0;
    let most = at_once.max(1);
    while !running.is_empty() || !remote.is_empty() || (!waiting.is_empty() && presses == 0) {
        while let Some(number) = waiting.front().copied().filter(|_| presses == 0) {
            // Where the fewest run.
            match remote.free(most).filter(|rank| remote.of(*rank) < running.len() || running.len() >= most) {
                Some(rank) => remote.start(rank, number, &jobs[number]),
                None if running.len() < most => running.push(JobProcess::start(number, &jobs[number], &sender)?),
                None => break,
            }
            waiting.pop_front();
            board.begin(number);
        }
        while let Some(report) = remote.receive() {
            match report {
                JobReport::Line(number, line) => board.line(number, line),
                JobReport::Said(number, text) => board.said(number, &text),
                JobReport::Ended(number, end) => {
                    let end = JobEnd::from(end);
                    board.end(number, &end);
                    ends[number] = Some(end);
                }
            }
        }
        match events.recv_timeout(LOOK) {
            Ok(JobEvent::Line(number, line)) => {
                if let Some(process) = running.iter_mut().find(|process| process.number == number) {
                    process.note(&line);
                }
                board.line(number, line);
            }
            Ok(JobEvent::Said(number, text)) => {
                if let Some(process) = running.iter_mut().find(|process| process.number == number) {
                    board.said(number, &text);
                    process.hear(text);
                }
            }
            Ok(JobEvent::Ended(number)) => {
                if let Some(at) = running.iter().position(|process| process.number == number) {
                    let end = running.swap_remove(at).end(&jobs[number]);
                    board.end(number, &end);
                    ends[number] = Some(end);
                    if waiting.is_empty() && presses == 0 {
                        hand_threads(&mut running, (threads / most).max(1), threads);
                    }
                }
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
        let now = signals::presses();
        for _ in presses..now {
            running.iter_mut().for_each(JobProcess::press);
            remote.press();
        }
        presses = presses.max(now);
        board.stopping(signals::waited(), running.len() + remote.len());
        board.tick(running.len() + remote.len(), waiting.len());
    }
    board.finish();
    Ok(ends.into_iter().map(|end| end.unwrap_or(JobEnd::Stopped)).collect())
}

/// Hands threads that nobody has to processes which began with `share` each.
fn hand_threads(running: &mut [JobProcess], share: usize, threads: usize) {
    let held: Vec<usize> = running.iter().map(|process| share + process.handed).collect();
    for number in next_threads(held, threads) {
        running[number].hand_thread();
    }
}

/// The processes that get the threads which nobody holds, in order: those that hold the fewest first.
fn next_threads(mut held: Vec<usize>, threads: usize) -> Vec<usize> {
    let free = threads.saturating_sub(held.iter().sum());
    let mut next = |_| {
        let (number, fewest) = held.iter_mut().enumerate().min_by_key(|(_, held)| **held)?;
        *fewest += 1;
        Some(number)
    };
    (0..free).map_while(&mut next).collect()
}

/// The error of jobs that failed, if any did; `again` says what to do.
pub(crate) fn check(jobs: &[Job], ends: &[JobEnd], again: &str) -> Result<(), Stop> {
    let failed: Vec<(&Job, &Stop)> = jobs
        .iter()
        .zip(ends)
        .filter_map(|(job, end)| if let JobEnd::Failed(stop) = end { Some((job, stop)) } else { None })
        .collect();
    let Some((job, stop)) = failed.first() else { return Ok(()) };
    let message = format!("{} of {} trainings failed; {}: {}", failed.len(), jobs.len(), job.name, stop.message);
    let code = if stop.code == INTERRUPTED { 1 } else { stop.code };
    Err(Stop { code, message, ..Stop::user("") }.hint(again))
}

#[cfg(test)]
mod tests {
    use super::next_threads;

    #[test]
    fn free_threads_go_to_those_with_the_fewest() {
        assert_eq!(next_threads(vec![1, 1, 1], 8), [0, 1, 2, 0, 1]);
        assert_eq!(next_threads(vec![3, 1], 6), [1, 1]);
        // All threads are held, or nobody is left to have them.
        for held in [vec![1; 4], vec![2, 2], Vec::new()] {
            assert_eq!(next_threads(held, 4), Vec::<usize>::new());
        }
    }
}
