//! Meta-tests in programs, with the sizes of [`MetaEvaluator`](super::MetaEvaluator) on the host.

use super::adaptation::{MEASURED, Trial, Tried, held_out, repeated, try_in_rounds};
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
    /// Episodes that explore each task, in all: divided over the rounds in which a policy adapts, or in a single trial
    /// for policies that adapt by memory.
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

    /// Checks that each size is in its range, and that each of the `rounds` in which a policy adapts has an episode.
    ///
    /// # Errors
    /// [`Error::Config`] that names the first size that cannot be.
    pub fn validate(&self, rounds: usize) -> Result<()> {
        let values = [self.n_exploration_eps, self.n_test_episodes, self.n_test_tasks];
        if let Some((key, value)) =
            TestSizes::KEYS.iter().zip(values).find(|(_, value)| *value == 0 || *value > TestSizes::MOST)
        {
            return Err(Error::config(*key, format!("{value} is not in 1 to {}", TestSizes::MOST)));
        }
        expect_rounds(self.n_exploration_eps, rounds)
    }
}

/// Checks that each of the `rounds` in which a policy adapts has an episode that explores.
///
/// # Errors
/// [`Error::Config`] that names the number of rounds.
pub(super) fn expect_rounds(n_exploration_eps: usize, rounds: usize) -> Result<()> {
    if n_exploration_eps >= rounds {
        return Ok(());
    }
    let problem = format!(
        "{n_exploration_eps} episodes are fewer than the {rounds} rounds in which the policy adapts, each after at \
         least one; give at least {rounds}"
    );
    Err(Error::config(TestSizes::KEYS[0], problem))
}

/// The share of a round among the episodes that explore a task: early rounds have one more where `rounds` do not divide
/// them.
pub(super) fn explored_in(round: usize, n_exploration_eps: usize, rounds: usize) -> usize {
    n_exploration_eps / rounds + usize::from(round < n_exploration_eps % rounds)
}

/// Explores held-out tasks that `key`, words `[S, 1]`, names, adapts to them, and plays the episodes that measure. The
/// rows of the one stage are in order of seed, task and episode. If `deterministic`, the deterministic actions
/// measure; exploration always draws its actions.
///
/// Policies that adapt by gradients or by inference explore before each adaptation, of which there is at least one;
/// their episodes of exploration are divided over these rounds. A memory lasts through all episodes of exploration, and
/// each episode that measures begins with a copy of that memory.
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
        let rounds = course.rounds.max(1);
        let trial = Trial {
            tasks: n_test_tasks,
            rollouts: n_exploration_eps,
            rounds,
            episodes: 1,
            measured: n_test_episodes,
            deterministic,
            last_only: true,
        };
        // The round after the last adaptation measures by episodes of its own.
        let share = |round: usize| if round < rounds { explored_in(round, n_exploration_eps, rounds) } else { 1 };
        return try_in_rounds(learned, env, held, key, None, (trial, &share));
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
        assert_eq!(TestSizes::default().validate(10), Ok(()));
        let problem = |sizes: TestSizes| sizes.validate(3).unwrap_err().to_string();
        let none = TestSizes { n_test_episodes: 0, ..TestSizes::default() };
        assert_eq!(problem(none), "n_test_episodes: 0 is not in 1 to 16384");
        let many = TestSizes { n_exploration_eps: 1 << 20, ..TestSizes::default() };
        assert_eq!(problem(many), "n_exploration_eps: 1048576 is not in 1 to 16384");
        let few = TestSizes { n_exploration_eps: 2, ..TestSizes::default() };
        assert_eq!(
            problem(few),
            "n_exploration_eps: 2 episodes are fewer than the 3 rounds in which the policy adapts, each after at least \
             one; give at least 3"
        );
    }

    #[test]
    fn episodes_of_exploration_are_divided_over_rounds() {
        let shares = |all: usize, rounds: usize| (0..rounds).map(|k| explored_in(k, all, rounds)).collect::<Vec<_>>();
        assert_eq!(shares(10, 1), [10]);
        assert_eq!(shares(10, 3), [4, 3, 3]);
        assert_eq!(shares(3, 3), [1, 1, 1]);
    }
}
