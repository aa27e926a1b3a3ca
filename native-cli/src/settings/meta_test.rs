//! The sizes of a meta-test among arguments and settings.

use crate::settings::run_settings::RunSettings;
use clap::{ArgMatches, Command, FromArgMatches};
use quickstudy_core::meta::TestSizes;
use quickstudy_core::train::Evaluation;

/// The sizes of a meta-test, as far as they are given; with one of them, the others are as by default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MetaTestArgs {
    /// Episodes of exploration on each task.
    pub n_exploration_eps: Option<u64>,
    /// Episodes of the adapted policy on each task, which are measured.
    pub n_test_episodes: Option<u64>,
    /// Held-out tasks.
    pub n_test_tasks: Option<u64>,
}

/// As settings of a run declare them.
impl clap::Args for MetaTestArgs {
    fn augment_args(command: Command) -> Command {
        let all = RunSettings::arguments().into_iter();
        command.args(all.filter(|argument| TestSizes::KEYS.contains(&argument.get_id().as_str())))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for MetaTestArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self::of(TestSizes::KEYS.map(|key| matches.get_one(key).copied())))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl MetaTestArgs {
    /// The values in order of [`TestSizes::KEYS`].
    pub fn values(&self) -> [Option<u64>; 3] {
        [self.n_exploration_eps, self.n_test_episodes, self.n_test_tasks]
    }

    /// Arguments with these values, in order of [`TestSizes::KEYS`].
    pub fn of([n_exploration_eps, n_test_episodes, n_test_tasks]: [Option<u64>; 3]) -> MetaTestArgs {
        MetaTestArgs { n_exploration_eps, n_test_episodes, n_test_tasks }
    }

    /// The sizes of the meta-test, on so many tasks if none says how many; none if nothing is given.
    pub fn sizes(&self, tasks: u64) -> Option<TestSizes> {
        let size = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        let standard = TestSizes::default();
        self.values().iter().any(Option::is_some).then(|| TestSizes {
            n_exploration_eps: self.n_exploration_eps.map_or(standard.n_exploration_eps, size),
            n_test_episodes: self.n_test_episodes.map_or(standard.n_test_episodes, size),
            n_test_tasks: size(self.n_test_tasks.unwrap_or(tasks)),
        })
    }

    /// The meta-test that evaluations play, or a number of episodes.
    pub fn evaluation(&self, episodes: u64) -> Evaluation {
        let episodes_of_each = usize::try_from(episodes).unwrap_or(usize::MAX);
        self.sizes(episodes).map_or(Evaluation::Episodes(episodes_of_each), Evaluation::MetaTest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_size_makes_a_meta_test() {
        let none = MetaTestArgs::default();
        assert_eq!((none.sizes(7), none.evaluation(7)), (None, Evaluation::Episodes(7)));
        let some = MetaTestArgs { n_test_episodes: Some(2), ..none };
        let sizes = TestSizes { n_exploration_eps: 10, n_test_episodes: 2, n_test_tasks: 2 };
        assert_eq!(some.sizes(2), Some(sizes));
    }
}
