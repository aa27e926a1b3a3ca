//! The result of learning: who acts, and how it adapts to a task.

use std::fmt::Debug;
use std::rc::Rc;

use super::{Algorithm, Family, Held};
use crate::credit::Paths;
use crate::policy::{Acting, Policy};

/// How a policy comes to a task; the numbers are those of training, where a test asks for no others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Course {
    /// The means by which it adapts.
    pub family: Family,
    /// It collects rollouts and [adapts](Learned::adapt) to them so many times before it is measured.
    pub rounds: usize,
    /// Rollouts on each task, in each round.
    pub rollouts: usize,
    /// Episodes that it plays one after the other on a task, remembering the ones before: a trial.
    pub episodes: usize,
    /// Most steps of an episode.
    pub steps: usize,
    /// Discount γ of its returns.
    pub discount: f64,
}

impl Course {
    /// The course of a policy that acts as it is, in episodes of at most so many steps.
    #[must_use]
    pub fn fixed(steps: usize, discount: f64) -> Course {
        Course { family: Family::SingleTask, rounds: 0, rollouts: 1, episodes: 1, steps, discount }
    }

    /// True if it acts by other values on each task: a row of [`Acting`] for each task of each seed, instead of one per
    /// seed.
    #[must_use]
    pub fn per_task(&self) -> bool {
        self.family.in_rounds()
    }
}

/// A policy as training leaves it, in traces: evaluations, meta-tests, recordings and viewers play it, on devices and
/// on the host.
///
/// The state that its functions get holds [what a policy consists of](super::Algorithm::policy_entries), `[S, …]` each.
pub trait Learned: Debug {
    /// Who acts.
    fn policy(&self) -> Box<dyn Policy + '_>;

    /// The steps by which it comes to a task.
    fn course(&self) -> Course;

    /// The values by which it acts before it has seen anything of its tasks, of which each seed has `tasks`.
    fn start(&self, held: &Held, tasks: usize) -> Acting;

    /// The values by which it acts after it has `seen` episodes of its own, `[T, K, N, …]`, on the same tasks.
    fn adapt(&self, _held: &Held, acting: &Acting, _seen: &Paths) -> Acting {
        acting.clone()
    }

    /// The algorithm with each of its particles in turn as the policy that acts; empty if it learns a single policy.
    fn particles(&self) -> Vec<Rc<dyn Algorithm>> {
        Vec::new()
    }
}
