//! Meta-tests in programs, with the sizes of [`MetaEvaluator`](super::MetaEvaluator) on the host.

use super::adaptation::{MEASURED, Trial, Tried, held_out, repeated, try_adapting};
use crate::algo::{Family, Held, Learned};
use crate::dist::fold_in;
use crate::env::EnvDef;
use crate::play::{Amount, Keys, Play};
use crate::policy::How;
use crate::rng::streams;
use crate::{Error, Result, Tensor};

/// The size of a meta-test, with the names of garage's `MetaEvaluator`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TestSizes {
    /// Episodes that explore each task: before each adaptation, or in a single trial for policies that adapt by memory.
    pub n_exploration_eps: usize,
    /// Episodes on each task that measure the adapted policy.
    pub n_test_episodes: usize,
    /// The number of held-out tasks.
    pub n_test_tasks: usize,
}

impl Default for TestSizes {
    /// garage's defaults, on 20 tasks.
    fn default() -> Self {
        TestSizes { n_exploration_eps: 10, n_test_episodes: 1, n_test_tasks: 20 }
    }
}

impl TestSizes {
    /// The names of the sizes.
    pub const KEYS: [&str; 3] = ["n_exploration_eps", "n_test_episodes", "n_test_tasks"];
    /// The largest value of each size.
    pub const MOST: usize = 1 << 14;

    /// The number of episodes that measure, over all tasks.
    #[must_use]
    pub fn episodes(&self) -> usize {
        self.n_test_tasks.saturating_mul(self.n_test_episodes)
    }

    /// Checks that each size is in its range.
    ///
    /// # Errors
    /// [`Error::Config`] that names the first size out of range.
    pub fn validate(&self) -> Result<()> {
        let values = [self.n_exploration_eps, self.n_test_episodes, self.n_test_tasks];
        match TestSizes::KEYS.iter().zip(values).find(|(_, value)| *value == 0 || *value > TestSizes::MOST) {
            Some((key, value)) => Err(Error::config(*key, format!("{value} is not in 1 to {}", TestSizes::MOST))),
            None => Ok(()),
        }
    }
}

/// Explores held-out tasks that `key`, words `[S, 1]`, names, adapts to them, and plays the episodes that measure. The
/// rows of the one stage are in order of seed, task and episode. If `deterministic`, the most probable actions
/// measure; exploration always draws its actions.
///
/// Policies that adapt by gradients or by inference explore before each adaptation, of which there is at least one. A
/// memory lasts through all episodes of exploration, and each episode that measures begins with a copy of that memory.
#[track_caller]
pub fn try_exploring(
    learned: &dyn Learned,
    env: &EnvDef,
    held: &Held,
    key: [Tensor; 2],
    (sizes, deterministic): (TestSizes, bool),
) -> Tried {
    let TestSizes { n_exploration_eps, n_test_episodes, n_test_tasks } = sizes;
    let (course, seeds) = (learned.course(), key[0].size(0));
    if course.family != Family::Memory {
        let trial = Trial {
            tasks: n_test_tasks,
            rollouts: n_exploration_eps,
            rounds: course.rounds.max(1),
            episodes: 1,
            measured: n_test_episodes,
            deterministic,
            last_only: true,
        };
        return try_adapting(learned, env, held, key, None, trial);
    }
    let tasks = held_out(env, key, None, n_test_tasks);
    let key = fold_in(key, Tensor::constant_u32(streams::HELD_OUT_EPISODES));
    let (policy, acting) = (learned.policy(), learned.start(held, n_test_tasks));
    let play = |key, of_each: usize, how| {
        let tasks = tasks.map(|tasks| repeated(tasks, of_each));
        let rows = [seeds, n_test_tasks * of_each];
        Play { env, policy: &*policy, acting: &acting, how, rows, tasks, keys: Keys::of(key) }
    };
    let explored =
        play(key, 1, How::Explore).remembered(n_exploration_eps, n_exploration_eps.saturating_mul(course.steps));
    let memory = explored.iter().map(|(name, x)| (name, repeated(x, n_test_episodes))).collect();
    let measuring = if deterministic { How::Exploit } else { How::Explore };
    let test = play(fold_in(key, Tensor::constant_u32(MEASURED)), n_test_episodes, measuring);
    let stages = vec![test.episodes_from(Some(memory), Amount::Episodes(1), course.steps).steps];
    Tried { tasks, stages, acting: vec![acting] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_cannot_be_are_named() {
        assert_eq!(TestSizes::default().validate(), Ok(()));
        let problem = |sizes: TestSizes| sizes.validate().unwrap_err().to_string();
        let none = TestSizes { n_test_episodes: 0, ..TestSizes::default() };
        assert_eq!(problem(none), "n_test_episodes: 0 is not in 1 to 16384");
        let many = TestSizes { n_exploration_eps: 1 << 20, ..TestSizes::default() };
        assert_eq!(problem(many), "n_exploration_eps: 1048576 is not in 1 to 16384");
    }
}
