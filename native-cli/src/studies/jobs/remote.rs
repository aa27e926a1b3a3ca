//! Trainings that other ranks run for rank 0, as processes.

use crate::ranks::Team;
use crate::ranks::message::{self, Job, JobReport, Order, read, write};
use quickstudy_core::backend::Ranks as _;
use std::rc::Rc;

/// Trainings on other ranks.
#[derive(Debug, Default)]
pub(super) struct Remote {
    team: Option<Rc<Team>>,
    /// The numbers of the trainings that each rank runs; rank 0 runs its own elsewhere.
    running: Vec<Vec<usize>>,
}

impl Remote {
    /// The other ranks of this command, with no jobs yet.
    pub(super) fn new() -> Self {
        let team = crate::ranks::team();
        let ranks = team.as_ref().map_or(1, |team| team.count());
        Self { team, running: vec![Vec::new(); ranks] }
    }

    /// The number of trainings that run.
    pub(super) fn len(&self) -> usize {
        self.running.iter().map(Vec::len).sum()
    }

    /// True if none runs.
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rank that runs the fewest trainings, fewer than `most`.
    pub(super) fn free(&self, most: usize) -> Option<usize> {
        let others = (1..self.running.len()).filter(|rank| self.running[*rank].len() < most);
        others.min_by_key(|rank| self.running[*rank].len())
    }

    /// The number of trainings of a rank.
    pub(super) fn of(&self, rank: usize) -> usize {
        self.running[rank].len()
    }

    /// Starts a training on a rank.
    pub(super) fn start(&mut self, rank: usize, number: usize, job: &Job) {
        if let Some(team) = &self.team {
            team.send(rank, &write(&Order::Job(number, job.clone()), &[]));
            self.running[rank].push(number);
        }
    }

    /// Passes a Ctrl-C on.
    pub(super) fn press(&self) {
        if let Some(team) = &self.team {
            message::order(team, &Order::Press, &[]);
        }
    }

    /// The next thing that has happened, if any has.
    pub(super) fn receive(&mut self) -> Option<JobReport> {
        let (rank, bytes) = self.team.as_ref()?.receive()?;
        let (report, _) = read::<JobReport>(&bytes)?;
        if let JobReport::Ended(number, _) = &report {
            self.running[rank].retain(|running| running != number);
        }
        Some(report)
    }
}
