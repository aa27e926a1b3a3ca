//! The table at the end of a study: what each algorithm reached on each environment.

use super::StudyPart;
use crate::columns::aligned;
use crate::comparison::aggregate::Aggregate;
use crate::comparison::bootstrap::estimate;
use crate::history::History;
use crate::stats::{NONE, interval_text};

/// Resamples of each interval.
const RESAMPLES: usize = 10_000;

/// The lines of the table: for each part its runs, and the mean over seeds of the last evaluation (of training
/// episodes, where nothing was evaluated), with a 95 % bootstrap interval.
#[must_use]
pub fn table(parts: &[StudyPart]) -> Vec<String> {
    let head = ["environment", "algorithm", "runs", "return", "95 % interval"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for part in parts {
        let setup = &part.plan.setup;
        let histories: Vec<History> =
            part.runs.iter().filter_map(|run| History::load(&run.folder, u64::MAX).ok()).collect();
        let evaluations: Vec<f64> = histories.iter().filter_map(History::last_evaluation).collect();
        let returns: Vec<f64> = histories.iter().filter_map(History::last_return).collect();
        let scores = if evaluations.is_empty() { returns } else { evaluations };
        let (value, interval) = match scores.is_empty() {
            true => (NONE.to_owned(), NONE.to_owned()),
            false => {
                let methods = [scores];
                let found = estimate(&[&methods[..]], RESAMPLES, |all| vec![Aggregate::Mean.of(&all[0])]);
                (format!("{:.1}", found[0].value), interval_text(found[0].interval, 1))
            }
        };
        let runs = format!("{} of {}", part.finished(), part.runs.len());
        rows.push(vec![setup.env.spec().name.clone(), setup.algorithm.name.to_owned(), runs, value, interval]);
    }
    aligned(&rows, |column| column >= 2)
}
