//! The sizes of a meta-test among arguments and settings, and its results.

use crate::metrics::number;
use crate::run_settings::RunSettings;
use clap::{ArgMatches, Command, FromArgMatches};
use quickstudy_core::env::Classes;
use quickstudy_core::meta::{AVERAGE, EpisodeOutcome, Performance, TestSizes, by_class};
use quickstudy_core::train::{Episode, Evaluation};

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
    #[must_use]
    pub fn values(&self) -> [Option<u64>; 3] {
        [self.n_exploration_eps, self.n_test_episodes, self.n_test_tasks]
    }

    /// Arguments with these values, in order of [`TestSizes::KEYS`].
    #[must_use]
    pub fn of([n_exploration_eps, n_test_episodes, n_test_tasks]: [Option<u64>; 3]) -> MetaTestArgs {
        MetaTestArgs { n_exploration_eps, n_test_episodes, n_test_tasks }
    }

    /// The sizes of the meta-test, on so many tasks if none says how many; none if nothing is given.
    #[must_use]
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
    #[must_use]
    pub fn evaluation(&self, episodes: u64) -> Evaluation {
        let episodes_of_each = usize::try_from(episodes).unwrap_or(usize::MAX);
        self.sizes(episodes).map_or(Evaluation::Episodes(episodes_of_each), Evaluation::MetaTest)
    }
}

/// How well the episodes after adaptation went, under garage's names. Where tasks have classes, so does each class, and
/// success at the end is told.
#[must_use]
pub fn rows(episodes: &[Episode], classes: Option<&Classes>, iteration: u64) -> Vec<(String, f64)> {
    let adapted: Vec<EpisodeOutcome> = episodes.iter().filter_map(|episode| episode.adapted).collect();
    let average = Performance::of(iteration, &adapted);
    let mut rows = average.rows(PREFIX, AVERAGE);
    let Some(classes) = classes else { return rows };
    let measure = |class: &str, name: &str, value: f64| (format!("{PREFIX}/{class}/{name}"), value);
    rows.push(measure(AVERAGE, "SuccessAtEndRate", average.success_at_end_rate));
    for (class, own) in by_class(classes, &adapted) {
        let of_class = Performance::of(iteration, &own);
        rows.push(measure(class, "AverageReturn", of_class.mean));
        rows.push(measure(class, "SuccessRate", of_class.success_rate));
        rows.push(measure(class, "SuccessAtEndRate", of_class.success_at_end_rate));
    }
    rows
}

/// The beginning of the names of measures.
const PREFIX: &str = "MetaTest";

/// The measures of a meta-test that is of no iteration.
#[must_use]
pub fn measures(episodes: &[Episode], classes: Option<&Classes>) -> Vec<(String, f64)> {
    let mut rows = rows(episodes, classes, 0);
    rows.retain(|(name, _)| !name.ends_with("/Iteration"));
    rows
}

/// One line per measure of a meta-test.
#[must_use]
pub fn lines(episodes: &[Episode], classes: Option<&Classes>) -> Vec<String> {
    measures(episodes, classes).iter().map(|(name, value)| format!("{name:<42}{:>12}", number(*value))).collect()
}

/// One row per task and test episode.
#[must_use]
pub fn table(episodes: &[Episode], sizes: TestSizes) -> String {
    let mut text = "task,episode,return,length,terminated,success\n".to_owned();
    for (i, episode) in episodes.iter().enumerate() {
        let (task, number_of) = (i / sizes.n_test_episodes.max(1), i % sizes.n_test_episodes.max(1));
        let success = episode.adapted.and_then(|outcome| outcome.success).map_or("", |x| if x { "1" } else { "0" });
        let (ret, terminated) = (number(episode.ret), u8::from(episode.terminated));
        text += &format!("{task},{number_of},{ret},{},{terminated},{success}\n", episode.length);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_size_makes_a_meta_test_and_a_table_has_a_row_per_episode() {
        let none = MetaTestArgs::default();
        assert_eq!((none.sizes(7), none.evaluation(7)), (None, Evaluation::Episodes(7)));
        let some = MetaTestArgs { n_test_episodes: Some(2), ..none };
        let sizes = TestSizes { n_exploration_eps: 10, n_test_episodes: 2, n_test_tasks: 2 };
        assert_eq!(some.sizes(2), Some(sizes));
        let outcome = |success| EpisodeOutcome {
            ret: 1.5,
            discounted: 1.0,
            terminated: true,
            success,
            success_at_end: None,
            class: None,
        };
        let episode = |success| Episode { ret: 1.5, length: 3, terminated: true, adapted: Some(outcome(success)) };
        let all = [episode(Some(true)), episode(Some(false)), episode(Some(true)), episode(None)];
        let text = table(&all, sizes);
        assert_eq!(
            text.lines().skip(1).collect::<Vec<_>>(),
            ["0,0,1.5,3,1,1", "0,1,1.5,3,1,0", "1,0,1.5,3,1,1", "1,1,1.5,3,1,"]
        );
        assert!(
            lines(&all, None)[0].starts_with("MetaTest/Average/NumEpisodes") && lines(&all, None)[0].ends_with(" 4")
        );
    }
}
