//! Results of learning: the policy that acts, and how it adapts to a task.

use std::fmt::Debug;
use std::rc::Rc;

use super::{Algorithm, Family, Held};
use crate::credit::Paths;
use crate::policy::{Acting, Policy};

/// The course by which a policy adapts to a task. Its numbers are those of training; a test may ask for others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Course {
    /// The way in which the policy adapts.
    pub family: Family,
    /// Rounds before the policy is measured; in each it collects rollouts and [adapts](Learned::adapt) to them.
    pub rounds: usize,
    /// Rollouts on each task in each round.
    pub rollouts: usize,
    /// Episodes of a trial: the policy plays them one after the other on a task and remembers the earlier ones.
    pub episodes: usize,
    /// The most steps of an episode.
    pub steps: usize,
    /// The discount γ of returns.
    pub discount: f64,
}

impl Course {
    /// The course of a policy that acts as it is, in episodes of at most `steps` steps.
    #[must_use]
    pub fn fixed(steps: usize, discount: f64) -> Course {
        Course { family: Family::SingleTask, rounds: 0, rollouts: 1, episodes: 1, steps, discount }
    }

    /// True if the policy acts by other values on each task: [`Acting`] then has a row for each task of each seed,
    /// instead of one per seed.
    #[must_use]
    pub fn per_task(&self) -> bool {
        self.family.in_rounds()
    }
}

/// A policy as training leaves it, in traces. Evaluations, meta-tests, recordings and viewers play it, on devices and
/// on the host.
///
/// The functions get a state with [the entries of a policy](super::Algorithm::policy_entries), `[S, …]` each.
pub trait Learned: Debug {
    /// The policy.
    fn policy(&self) -> Box<dyn Policy + '_>;

    /// The course by which the policy adapts to a task.
    fn course(&self) -> Course;

    /// The values by which the policy acts before it has seen anything of its tasks; each seed has `tasks` of them.
    fn start(&self, held: &Held, tasks: usize) -> Acting;

    /// The values by which the policy acts after the episodes `seen`, `[T, K, N, …]`, on the same tasks.
    fn adapt(&self, _held: &Held, acting: &Acting, _seen: &Paths) -> Acting {
        acting.clone()
    }

    /// The algorithm once per particle, with that particle as the policy; empty if it learns a single policy.
    fn particles(&self) -> Vec<Rc<dyn Algorithm>> {
        Vec::new()
    }
}
