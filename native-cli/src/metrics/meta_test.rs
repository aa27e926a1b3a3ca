//! The results of a meta-test.

use super::number;
use quickstudy_core::env::Classes;
use quickstudy_core::meta::{AVERAGE, EpisodeOutcome, Performance, TestSizes, by_class};
use quickstudy_core::train::Episode;

/// How well the episodes after adaptation went, under garage's names. Where tasks have classes, so does each class, and
/// success at the end is told.
pub(crate) fn rows(episodes: &[Episode], classes: Option<&Classes>, iteration: u64) -> Vec<(String, f64)> {
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
pub(crate) fn measures(episodes: &[Episode], classes: Option<&Classes>) -> Vec<(String, f64)> {
    let mut rows = rows(episodes, classes, 0);
    rows.retain(|(name, _)| !name.ends_with("/Iteration"));
    rows
}

/// One row per task and test episode.
pub(crate) fn table(episodes: &[Episode], sizes: TestSizes) -> String {
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
    fn a_table_has_a_row_per_episode() {
        let sizes = TestSizes { n_exploration_eps: 10, n_test_episodes: 2, n_test_tasks: 2 };
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
        assert_eq!(measures(&all, None)[0], ("MetaTest/Average/NumEpisodes".to_owned(), 4.0));
    }
}
